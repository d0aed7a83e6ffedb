/* SPDX-License-Identifier: MIT */
/* Records from Arrow arrays and streams [ARROW], results as streams. */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "vocabulary.h"

static const int64_t limit = INT64_C(1) << 61;
static const int64_t two_53 = INT64_C(1) << 53;

/* ---- Appending --------------------------------------------------------------------- */

/* Appends a batch; it is released once, moved before, and its type is left alone. */
static int32_t append_flags(tw_recorder *recorder, batch *b, uint32_t flags,
                            size_t *accepted)
{
    struct ArrowSchema schema = batch_schema(b);
    struct ArrowArray array = batch_array(b);
    const int before = b->array_releases;
    const int32_t status = tw_recorder_append_arrow(recorder, &schema, &array, flags,
                                                    accepted);

    assert_that(!array.release);
    assert_i64(b->array_releases, before + (b->root.array.release != NULL));
    assert_that(b->last_at != &array); /* it was moved: the copy was released */
    assert_that(schema.release == b->root.schema.release);
    assert_i64(b->schema_releases, 0);
    assert_i64(b->child_releases, 0);
    return status;
}

static int32_t append(tw_recorder *recorder, batch *b)
{
    return append_flags(recorder, b, 0, NULL);
}

/* Its chunks stay valid for some more calls. */
static tw_record read_one(const tw_recorder *recorder, uint64_t i)
{
    enum { ROOM = 1 << 14 };
    static int64_t arrival_ns[ROOM], tokens[ROOM];
    static size_t used;
    tw_record r;
    size_t written, count;

    assert_ok(tw_recorder_read(recorder, i, &r, 1, sizeof r, &written));
    assert_u64(written, 1);
    count = (size_t)r.chunk_count;
    assert_that(count <= ROOM / 4);
    if (used + count > ROOM)
        used = 0;
    assert_ok(tw_recorder_read_chunks(recorder, i, &r, 1, sizeof r, arrival_ns + used,
                                      tokens + used, count, &written));
    assert_u64(written, count);
    used += count;
    return r;
}

static void assert_same_record(const tw_record *got, const tw_record *wanted)
{
    assert_i64(got->credit_issued_ns, wanted->credit_issued_ns);
    assert_i64(got->start_ns, wanted->start_ns);
    assert_i64(got->generation_start_ns, wanted->generation_start_ns);
    assert_i64(got->end_ns, wanted->end_ns);
    assert_i64(got->input_tokens, wanted->input_tokens);
    assert_i64(got->output_tokens, wanted->output_tokens);
    assert_i64(got->status, wanted->status);
    assert_u64(got->flags, wanted->flags);
    assert_u64(got->chunk_count, wanted->chunk_count);
    assert_i64(got->chunk_tokens != NULL && got->chunk_count,
               wanted->chunk_tokens != NULL && wanted->chunk_count);
    for (uint64_t k = 0; k < got->chunk_count; k++) {
        assert_i64(got->chunk_arrival_ns[k], wanted->chunk_arrival_ns[k]);
        if (got->chunk_tokens)
            assert_i64(got->chunk_tokens[k], wanted->chunk_tokens[k]);
    }
}

/* Refused with these words in the end, and nothing of it was stored. */
static void assert_refused(tw_recorder *recorder, batch *b, int32_t wanted, int32_t field,
                           const char *words)
{
    const uint64_t count = tw_recorder_count(recorder);
    const tw_balance balance = balance_of(recorder);
    tw_balance after;
    size_t accepted = 77;

    assert_status(append_flags(recorder, b, 0, &accepted), wanted);
    after = balance_of(recorder);
    assert_u64(accepted, 77);
    assert_u64(tw_recorder_count(recorder), count);
    assert_same_balance(&after, &balance);
    assert_i64(error_of(recorder).status, wanted);
    assert_i64(error_of(recorder).field, field);
    assert_text(tw_recorder_arrow_error(recorder), words);
    /* Whatever the flags. */
    assert_status(append_flags(recorder, b, TW_APPEND_SKIP_INVALID, &accepted), wanted);
    assert_u64(tw_recorder_count(recorder), count);
}

/* One row whose start is 0 and what the test adds. */
static const int64_t zeros[64];

static void one_row(batch *b)
{
    batch_init(b, 1);
    (void)batch_add(b, "start_ns", "l", NULL, zeros);
}

/* ---- Numbers ----------------------------------------------------------------------- */

/* What a column says: a value that is stored, or the rule that refuses it. */
typedef struct number {
    const char *format;
    const void *value;
    int64_t wanted;
    int32_t rule;
} number;

#define VALUE(type, value) \
    &(const type[])        \
    {                      \
        value              \
    }

static void check_number(const number *n, const char *column)
{
    tw_recorder *recorder = recorder_new();
    batch b;
    int32_t status;

    vocabulary_context("%s of format %s", column, n->format);
    batch_init(&b, 1);
    if (strcmp(column, "start_ns") != 0)
        (void)batch_add(&b, "start_ns", "l", NULL, &limit);
    (void)batch_add(&b, column, n->format, NULL, n->value);
    if (strcmp(column, "start_ns") != 0)
        b.root.array.children = b.arrays;
    status = append(recorder, &b);
    if (n->rule) {
        const tw_error error = error_of(recorder);

        assert_status(status, TW_ERR_RANGE);
        assert_i64(error.rule, n->rule);
        assert_text(tw_field_name(error.field), column);
        assert_i64(error.value_a, n->wanted);
        assert_u64(balance_of(recorder).refused_by_rule[n->rule], 1);
    } else {
        const tw_record r = read_one(recorder, 0);

        assert_ok(status);
        assert_i64(strcmp(column, "start_ns") == 0 ? r.start_ns : r.input_tokens,
                   n->wanted);
    }
    tw_recorder_free(recorder);
}

/* [ARROW] */
START_TEST(times)
{
    const int32_t range = TW_RULE_TIME_RANGE, inexact = TW_RULE_NUMBER_INEXACT;
    const number all[] = {
        {"c", VALUE(int8_t, -128), -128, 0},
        {"C", VALUE(uint8_t, 255), 255, 0},
        {"s", VALUE(int16_t, -32768), -32768, 0},
        {"S", VALUE(uint16_t, 65535), 65535, 0},
        {"i", VALUE(int32_t, INT32_MIN), INT32_MIN, 0},
        {"I", VALUE(uint32_t, UINT32_MAX), UINT32_MAX, 0},
        {"l", VALUE(int64_t, -limit), -limit, 0},
        {"l", VALUE(int64_t, limit), limit, 0},
        {"l", VALUE(int64_t, limit + 1), limit + 1, range},
        {"l", VALUE(int64_t, INT64_MAX), INT64_MAX, range},
        {"l", VALUE(int64_t, INT64_MIN), INT64_MIN, range}, /* no "not recorded" */
        {"L", VALUE(uint64_t, (uint64_t)limit), limit, 0},
        {"L", VALUE(uint64_t, UINT64_MAX), INT64_MAX, range},
        {"L", VALUE(uint64_t, UINT64_C(1) << 63), INT64_MAX, range},
        {"f", VALUE(float, -16777216.0f), -16777216, 0},
        {"f", VALUE(float, 0.5f), 0, inexact},
        {"g", VALUE(double, -7.0), -7, 0},
        {"g", VALUE(double, -0.0), 0, 0},
        {"g", VALUE(double, 9007199254740992.0), two_53, 0},
        {"g", VALUE(double, -9007199254740992.0), -two_53, 0},
        {"g", VALUE(double, 9007199254740994.0), 0, inexact},
        {"g", VALUE(double, 1e300), 0, inexact},
        {"g", VALUE(double, 2.5), 0, inexact},
        {"g", VALUE(double, -1e-300), 0, inexact},
        {"g", VALUE(double, HUGE_VAL), 0, inexact},
        {"g", VALUE(double, -HUGE_VAL), 0, inexact},
        {"g", VALUE(double, NAN), 0, inexact},
        {"tsn:", VALUE(int64_t, 1700000000123456789), 1700000000123456789, 0},
        {"tsu:UTC", VALUE(int64_t, 1700000000123456), 1700000000123456000, 0},
        {"tsm:Europe/Berlin", VALUE(int64_t, -1700000000123), -1700000000123000000, 0},
        {"tss:+02:00", VALUE(int64_t, 1700000000), 1700000000000000000, 0},
        /* 2^61 ns are 2305843009.213693952 s. */
        {"tss:", VALUE(int64_t, 2305843009), 2305843009000000000, 0},
        {"tss:", VALUE(int64_t, 2305843010), 2305843010000000000, range},
        {"tss:", VALUE(int64_t, -2305843010), -2305843010000000000, range},
        /* 2^63 ns are 9223372036.854775808 s. */
        {"tss:", VALUE(int64_t, 9223372036), 9223372036000000000, range},
        {"tss:", VALUE(int64_t, 9223372037), INT64_MAX, range},
        {"tss:", VALUE(int64_t, -9223372037), INT64_MIN, range},
        {"tsm:", VALUE(int64_t, INT64_MAX), INT64_MAX, range},
        {"tsu:", VALUE(int64_t, INT64_MIN), INT64_MIN, range},
        {"tsn:", VALUE(int64_t, INT64_MIN), INT64_MIN, range},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        check_number(&all[i], "start_ns");
}
END_TEST

START_TEST(token_counts)
{
    const int32_t range = TW_RULE_TOKENS_RANGE, inexact = TW_RULE_NUMBER_INEXACT;
    const int64_t most = (INT64_C(1) << 40) - 1;
    const number all[] = {
        {"c", VALUE(int8_t, 127), 127, 0},
        {"c", VALUE(int8_t, -1), -1, range}, /* no "not recorded" */
        {"C", VALUE(uint8_t, 255), 255, 0},
        {"s", VALUE(int16_t, -1), -1, range},
        {"S", VALUE(uint16_t, 65535), 65535, 0},
        {"i", VALUE(int32_t, -5), -5, range},
        {"I", VALUE(uint32_t, UINT32_MAX), UINT32_MAX, 0},
        {"l", VALUE(int64_t, most), most, 0},
        {"l", VALUE(int64_t, most + 1), most + 1, range},
        {"l", VALUE(int64_t, INT64_MIN), INT64_MIN, range},
        {"L", VALUE(uint64_t, 12), 12, 0},
        {"L", VALUE(uint64_t, UINT64_MAX), INT64_MAX, range},
        {"f", VALUE(float, 3.0f), 3, 0},
        {"g", VALUE(double, 200.0), 200, 0},
        {"g", VALUE(double, -1.0), -1, range},
        {"g", VALUE(double, 200.5), 0, inexact},
        {"g", VALUE(double, NAN), 0, inexact},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        check_number(&all[i], "input_tokens");
}
END_TEST

/* ---- Texts and booleans ------------------------------------------------------------ */

static void check_statuses(batch *b, const int32_t *wanted, size_t count)
{
    tw_recorder *recorder = recorder_new();

    assert_ok(append(recorder, b));
    assert_u64(tw_recorder_count(recorder), count);
    for (size_t i = 0; i < count; i++) {
        vocabulary_context("row %zu", i);
        assert_i64(read_one(recorder, i).status, wanted[i]);
    }
    tw_recorder_free(recorder);
}

static void status_batch(batch *b, int64_t rows)
{
    batch_init(b, rows);
    (void)batch_add(b, "start_ns", "l", NULL, zeros);
    (void)batch_add(b, "end_ns", "l", NULL, zeros);
}

/* A view of at most 12 bytes lies in place. */
static void put_view(unsigned char *view, const char *text)
{
    const int32_t length = (int32_t)strlen(text);

    memset(view, 0, 16);
    memcpy(view, &length, sizeof length);
    memcpy(view + 4, text, (size_t)length < 12 ? (size_t)length : 12);
}

START_TEST(statuses)
{
    static const char text[] = "okcancelledfailedXfailed";
    const int32_t wanted[] = {TW_RECORD_OK, TW_RECORD_CANCELLED, TW_RECORD_FAILED,
                              TW_RECORD_OK, TW_RECORD_FAILED};
    /* The fourth is null, and its text no status. */
    const int32_t narrow[] = {0, 2, 11, 17, 18, 24};
    const int64_t wide[] = {0, 2, 11, 17, 18, 24};
    const uint8_t valid = 0x17;
    unsigned char views[5][16];
    batch b;
    batch_part *p;

    status_batch(&b, 5);
    p = batch_add(&b, "status", "u", &valid, narrow);
    p->buffers[2] = text;
    check_statuses(&b, wanted, 5);
    status_batch(&b, 5);
    p = batch_add(&b, "status", "U", &valid, wide);
    p->buffers[2] = text;
    check_statuses(&b, wanted, 5);
    put_view(views[0], "ok");
    put_view(views[1], "cancelled");
    put_view(views[2], "failed");
    put_view(views[3], "something longer");
    put_view(views[4], "failed");
    status_batch(&b, 5);
    p = batch_add(&b, "status", "vu", &valid, views);
    check_statuses(&b, wanted, 5);
    p->array.n_buffers = 4; /* one buffer of long texts, and its length */
    check_statuses(&b, wanted, 5);
    status_batch(&b, 5);
    (void)batch_add(&b, "status", "n", NULL, NULL);
    check_statuses(&b, (const int32_t[]){0, 0, 0, 0, 0}, 5);
}
END_TEST

START_TEST(dictionaries)
{
    static const char text[] = "failedokcancelled";
    const int32_t offsets[] = {0, 6, 8, 17, 17};
    const int64_t wide[] = {0, 6, 8, 17, 17};
    const int32_t wanted[] = {TW_RECORD_CANCELLED, TW_RECORD_OK, TW_RECORD_FAILED,
                              TW_RECORD_OK, TW_RECORD_OK};
    /* Index 3 is a null in the dictionary; the last row is null itself. */
    const uint8_t valid = 0x0f, dictionary_valid = 0x07;
    const int8_t i8[] = {2, 1, 0, 3, -1};
    const uint8_t u8[] = {2, 1, 0, 3, 255};
    const int16_t i16[] = {2, 1, 0, 3, -1};
    const uint16_t u16[] = {2, 1, 0, 3, 999};
    const int32_t i32[] = {2, 1, 0, 3, -1};
    const uint32_t u32[] = {2, 1, 0, 3, 999};
    const int64_t i64[] = {2, 1, 0, 3, -1};
    const uint64_t u64[] = {2, 1, 0, 3, UINT64_MAX};
    const struct {
        const char *format;
        const void *indices;
    } all[] = {{"c", i8},  {"C", u8},  {"s", i16}, {"S", u16},
               {"i", i32}, {"I", u32}, {"l", i64}, {"L", u64}};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (int large = 0; large < 2; large++) {
            batch b;
            batch_part *p;

            vocabulary_context("index of format %s", all[i].format);
            status_batch(&b, 5);
            (void)batch_add(&b, "status", all[i].format, &valid, all[i].indices);
            p = batch_add_dictionary(&b, large ? "U" : "u", 4,
                                     large ? (const void *)wide : offsets, text);
            p->buffers[0] = &dictionary_valid;
            p->array.null_count = 1;
            check_statuses(&b, wanted, 5);
        }
    }
}
END_TEST

/* The dictionary is a slice: index 0 is its third value. */
START_TEST(dictionary_slices)
{
    static const char text[] = "nonsenseokfailed";
    const int32_t offsets[] = {0, 3, 8, 10, 16};
    const uint8_t indices[] = {9, 9, 1, 0, 1};
    const int32_t wanted[] = {TW_RECORD_FAILED, TW_RECORD_OK, TW_RECORD_FAILED};
    batch b;
    batch_part *p;

    status_batch(&b, 3);
    p = batch_add(&b, "status", "C", NULL, indices);
    p->array.offset = 2;
    p = batch_add_dictionary(&b, "u", 2, offsets, text);
    p->array.offset = 2;
    check_statuses(&b, wanted, 3);
}
END_TEST

START_TEST(statuses_that_are_none)
{
    static const char *const words[] = {
        "",       "o",          "okay",           "OK",
        "faileD", "cancelledd", "failed\xc3\xa9", "a rather long status"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const int32_t offsets[] = {0, (int32_t)strlen(words[i])};
        tw_recorder *recorder = recorder_new();
        unsigned char view[16];
        batch b;
        batch_part *p;

        vocabulary_context("\"%s\"", words[i]);
        put_view(view, words[i]);
        for (int how = 0; how < 2; how++) {
            status_batch(&b, 1);
            p = batch_add(&b, "status", how ? "vu" : "u", NULL,
                          how ? (const void *)view : offsets);
            p->buffers[2] = *words[i] || how ? words[i] : NULL; /* no bytes, no buffer */
            assert_status(append(recorder, &b), TW_ERR_RANGE);
            assert_i64(error_of(recorder).rule, TW_RULE_STATUS_UNKNOWN);
            assert_i64(error_of(recorder).field, TW_FIELD_STATUS);
        }
        assert_u64(balance_of(recorder).refused_by_rule[TW_RULE_STATUS_UNKNOWN], 2);
        tw_recorder_free(recorder);
    }
}
END_TEST

START_TEST(streaming)
{
    /* From bit 3 on: 1 0 1 1 0 1 0 1 1 0, of which the third is null. */
    const uint8_t bits[] = {0x68, 0x0d}, valid[] = {0xdf, 0xff};
    const uint32_t wanted[] = {1, 0, 0, 1, 0, 1, 0, 1, 1, 0};
    tw_recorder *recorder = recorder_new();
    batch b;
    batch_part *p;

    batch_init(&b, 10);
    (void)batch_add(&b, "start_ns", "l", NULL, zeros);
    p = batch_add(&b, "streaming", "b", valid, bits);
    p->array.offset = 3;
    assert_ok(append(recorder, &b));
    for (uint64_t i = 0; i < 10; i++) {
        vocabulary_context("row %d", (int)i);
        assert_u64(read_one(recorder, i).flags, wanted[i]);
    }
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Slices and nulls -------------------------------------------------------------- */

START_TEST(offsets_add_up)
{
    int64_t values[30];
    uint8_t valid[4] = {0};
    tw_recorder *recorder = recorder_new();
    batch b;
    batch_part *p;

    for (int i = 0; i < 30; i++)
        values[i] = 1000 + i;
    /* The root begins at 5, the child at 7: row 0 is value 12. Odd values are null. */
    for (int i = 0; i < 30; i += 2)
        valid[i / 8] |= (uint8_t)(1 << i % 8);
    batch_init(&b, 4);
    b.root.array.offset = 5;
    p = batch_add(&b, "start_ns", "l", NULL, values);
    p->array.offset = 7;
    p->array.length = 9;
    p = batch_add(&b, "end_ns", "l", valid, values);
    p->array.offset = 7;
    p->array.length = 9;
    assert_ok(append(recorder, &b));
    for (uint64_t i = 0; i < 4; i++) {
        const tw_record r = read_one(recorder, i);

        assert_i64(r.start_ns, 1012 + (int64_t)i);
        assert_i64(r.end_ns, i % 2 ? TW_TIME_NONE : 1012 + (int64_t)i);
    }
    /* One value less does not do. */
    p->array.length = 8;
    assert_refused(recorder, &b, TW_ERR_INVAL, TW_FIELD_END_NS,
                   "end_ns: has too few values");
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(null_counts)
{
    const int64_t starts[] = {1, 2, 3}, ends[] = {11, 12, 13};
    const uint8_t second = 0x05; /* is null */
    const struct {
        int64_t null_count;
        const uint8_t *bitmap;
        int64_t middle;
    } all[] = {
        {-1, &second, TW_TIME_NONE},
        {1, &second, TW_TIME_NONE},
        {2, &second, TW_TIME_NONE}, /* the bitmap says it */
        {0, &second, 12},           /* no bitmap is looked at */
        {0, NULL, 12},
        {-1, NULL, 12},
    };
    batch b;
    batch_part *p;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        tw_recorder *recorder = recorder_new();

        vocabulary_context("case %zu", i);
        batch_init(&b, 3);
        (void)batch_add(&b, "start_ns", "l", NULL, starts);
        p = batch_add(&b, "end_ns", "l", all[i].bitmap, ends);
        p->array.null_count = all[i].null_count;
        assert_ok(append(recorder, &b));
        assert_i64(read_one(recorder, 0).end_ns, 11);
        assert_i64(read_one(recorder, 1).end_ns, all[i].middle);
        assert_i64(read_one(recorder, 2).end_ns, 13);
        tw_recorder_free(recorder);
    }
}
END_TEST

/* A row that is null as a whole has no start, whatever its children hold. */
START_TEST(null_rows)
{
    const int64_t starts[] = {1, 2, 3, 4};
    const uint8_t rows = 0x0a; /* counted from the root's offset on: null, not */
    tw_recorder *recorder = recorder_new();
    size_t accepted;
    batch b;

    batch_init(&b, 2);
    b.root.array.offset = 2;
    b.root.buffers[0] = &rows;
    b.root.array.null_count = -1;
    batch_add(&b, "start_ns", "l", NULL, starts)->array.length = 4;
    assert_status(append(recorder, &b), TW_ERR_RANGE);
    assert_i64(error_of(recorder).rule, TW_RULE_START_MISSING);
    assert_u64(error_of(recorder).row, 0);
    assert_ok(append_flags(recorder, &b, TW_APPEND_SKIP_INVALID, &accepted));
    assert_u64(accepted, 1);
    assert_i64(read_one(recorder, 0).start_ns, 4);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(no_rows)
{
    tw_recorder *recorder = recorder_new();
    size_t accepted = 77;
    batch b;

    batch_init(&b, 0);
    (void)batch_add(&b, "start_ns", "l", NULL, NULL);
    (void)batch_add(&b, "status", "u", NULL, NULL);
    (void)batch_add(&b, "chunk_arrival_ns", "+l", NULL, NULL);
    (void)batch_add_items(&b, "l", 0, NULL, NULL);
    (void)batch_add(&b, "chunk_tokens", "+vl", NULL, NULL);
    (void)batch_add_items(&b, "n", 0, NULL, NULL);
    assert_ok(append_flags(recorder, &b, 0, &accepted));
    assert_u64(accepted, 0);
    assert_u64(tw_recorder_count(recorder), 0);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(other_columns)
{
    const int64_t starts[] = {5};
    tw_recorder *recorder = recorder_new();
    batch b;
    batch_part *p;

    batch_init(&b, 1);
    p = batch_add(&b, "model", "+m", NULL, NULL);
    p->schema.format = "what is this"; /* no one looks */
    p->array.n_buffers = -3;
    p = batch_add(&b, "x", "l", NULL, NULL);
    p->schema.name = NULL;
    b.arrays[1] = NULL;
    (void)batch_add(&b, "start_ns", "l", NULL, starts);
    (void)batch_add(&b, "START_NS", "z", NULL, NULL);
    (void)batch_add(&b, "generation_start_ns", "n", NULL, NULL);
    (void)batch_add(&b, "output_tokens", "n", NULL, NULL);
    (void)batch_add(&b, "streaming", "n", NULL, NULL);
    (void)batch_add(&b, "chunk_arrival_ns", "n", NULL, NULL);
    assert_ok(append(recorder, &b));
    {
        const tw_record wanted = record(5, NEVER, NEVER, UNKNOWN, UNKNOWN);
        const tw_record got = read_one(recorder, 0);
        assert_same_record(&got, &wanted);
    }
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Chunks ------------------------------------------------------------------------ */

/* Three rows of chunks [10 20] [] [30 40 50], in the items from `skip` on. */
typedef struct lists {
    int32_t offsets[8], sizes[8];
    int64_t wide_offsets[8], wide_sizes[8];
} lists;

static void make_lists(lists *l, int skip)
{
    const int32_t ends[] = {0, 2, 2, 5};

    for (int i = 0; i < 4; i++)
        l->wide_offsets[i] = l->offsets[i] = ends[i] + skip;
    for (int i = 0; i < 3; i++)
        l->wide_sizes[i] = l->sizes[i] = ends[i + 1] - ends[i];
}

static void add_list(batch *b, const char *name, const char *format, const lists *l)
{
    const int wide = strchr(format, 'L') != NULL;
    batch_part *p = batch_add(b, name, format, NULL,
                              wide ? (const void *)l->wide_offsets : l->offsets);
    if (format[1] == 'v')
        p->buffers[2] = wide ? (const void *)l->wide_sizes : l->sizes;
}

static void chunk_batch(batch *b)
{
    static const int64_t ends[] = {60, 60, 60};

    batch_init(b, 3);
    (void)batch_add(b, "start_ns", "l", NULL, zeros);
    (void)batch_add(b, "generation_start_ns", "l", NULL, zeros);
    (void)batch_add(b, "end_ns", "l", NULL, ends);
}

static void check_chunks(batch *b, int64_t unit, const int64_t *tokens)
{
    const int64_t wanted[][3] = {{10, 20}, {0}, {30, 40, 50}};
    const uint64_t counts[] = {2, 0, 3};
    tw_recorder *recorder = recorder_new();

    assert_ok(append(recorder, b));
    for (uint64_t i = 0; i < 3; i++) {
        const tw_record r = read_one(recorder, i);

        vocabulary_context("row %d", (int)i);
        assert_u64(r.chunk_count, counts[i]);
        for (uint64_t k = 0; k < counts[i]; k++) {
            assert_i64(r.chunk_arrival_ns[k], wanted[i][k] * unit);
            if (tokens)
                assert_i64(r.chunk_tokens[k], *tokens++);
        }
    }
    tw_recorder_free(recorder);
}

START_TEST(chunk_lists)
{
    static const char *const formats[] = {"+l", "+L", "+vl", "+vL"};
    const int64_t i64[] = {-1, 10, 20, 30, 40, 50};
    const uint64_t u64[] = {99, 10, 20, 30, 40, 50};
    const int32_t i32[] = {-1, 10, 20, 30, 40, 50};
    const uint8_t u8[] = {99, 10, 20, 30, 40, 50};
    const double real[] = {NAN, 10, 20, 30, 40, 50};
    const uint8_t all_valid = 0x3f;
    const struct {
        const char *format;
        const void *items;
        int64_t unit;
    } all[] = {{"l", i64, 1},       {"L", u64, 1},          {"i", i32, 1},
               {"C", u8, 1},        {"g", real, 1},         {"tsn:", i64, 1},
               {"tsu:", i64, 1000}, {"tsm:", i64, 1000000}, {"tss:", i64, 1000000000}};

    for (size_t f = 0; f < 4; f++)
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            for (int how = 0; how < 4; how++) {
                const int64_t ends[] = {60 * all[i].unit, 60 * all[i].unit,
                                        60 * all[i].unit};
                lists l;
                batch b;
                batch_part *p;

                vocabulary_context("%s of %s, way %d", formats[f], all[i].format, how);
                /* The first item is skipped by the lists, or by the items' offset. */
                make_lists(&l, how % 2);
                chunk_batch(&b);
                batch_column(&b, "end_ns")->buffers[1] = ends;
                add_list(&b, "chunk_arrival_ns", formats[f], &l);
                p = batch_add_items(&b, all[i].format, 5 + how % 2,
                                    how < 2 ? NULL : &all_valid, all[i].items);
                p->array.offset = 1 - how % 2;
                check_chunks(&b, all[i].unit, NULL);
            }
}
END_TEST

/* Times of one row lie anywhere; ints need not be aligned. */
START_TEST(chunk_items_not_aligned)
{
    const int64_t items[] = {10, 20, 30, 40, 50}, tokens[] = {1, 2, 3, 4, 5};
    unsigned char moved[2][sizeof items + 1];
    lists l;
    batch b;

    memcpy(moved[0] + 1, items, sizeof items);
    memcpy(moved[1] + 1, tokens, sizeof tokens);
    make_lists(&l, 0);
    chunk_batch(&b);
    add_list(&b, "chunk_arrival_ns", "+l", &l);
    (void)batch_add_items(&b, "l", 5, NULL, moved[0] + 1);
    add_list(&b, "chunk_tokens", "+L", &l);
    (void)batch_add_items(&b, "l", 5, NULL, moved[1] + 1);
    check_chunks(&b, 1, tokens);
}
END_TEST

START_TEST(chunk_gaps)
{
    /* [10 +10] [] [30 +10 +10] after the first token. */
    const int64_t gaps[] = {10, 10, 30, 10, 10}, tokens[] = {5, 4, 3, 2, 1};
    const struct {
        const char *format;
        int64_t unit;
    } all[] = {{"tDn", 1}, {"tDu", 1000}, {"tDm", 1000000}, {"tDs", 1000000000}};

    for (size_t i = 0; i < 4; i++)
        for (int later = 0; later < 2; later++) {
            const int64_t base = later ? 7 : 0, end = 60 * all[i].unit + base;
            const int64_t starts[] = {base, base, base}, ends[] = {end, end, end};
            tw_recorder *recorder = recorder_new();
            lists l;
            batch b;

            vocabulary_context("%s", all[i].format);
            make_lists(&l, 0);
            batch_init(&b, 3);
            (void)batch_add(&b, "start_ns", "l", NULL, zeros);
            (void)batch_add(&b, "generation_start_ns", "l", NULL, starts);
            (void)batch_add(&b, "end_ns", "l", NULL, ends);
            add_list(&b, "chunk_arrival_ns", "+L", &l);
            (void)batch_add_items(&b, all[i].format, 5, NULL, gaps);
            add_list(&b, "chunk_tokens", "+vl", &l);
            (void)batch_add_items(&b, "l", 5, NULL, tokens);
            assert_ok(append(recorder, &b));
            {
                const int64_t arrivals[] = {30 * all[i].unit + base,
                                            40 * all[i].unit + base,
                                            50 * all[i].unit + base};
                const tw_record r = read_one(recorder, 2);

                for (int k = 0; k < 3; k++) {
                    assert_i64(r.chunk_arrival_ns[k], arrivals[k]);
                    assert_i64(r.chunk_tokens[k], 3 - k);
                }
                assert_i64(read_one(recorder, 0).chunk_arrival_ns[1],
                           20 * all[i].unit + base);
            }
            tw_recorder_free(recorder);
        }
}
END_TEST

/* One row with chunks, and what refuses it. */
typedef struct chunk_case {
    const char *what;
    const char *arrival_format;
    int64_t arrivals[3];
    int arrival_count;
    uint8_t arrival_valid;
    int64_t tokens[3];
    int token_count; /* -1: no such column */
    uint8_t token_valid;
    int32_t rule, field;
    uint64_t index;
    int64_t value_a, value_b;
} chunk_case;

START_TEST(chunk_rules)
{
    enum { T = TW_FIELD_CHUNK_TOKENS, A = TW_FIELD_CHUNK_ARRIVAL_NS };
    const int64_t most = INT64_C(1) << 40;
    const chunk_case all[] = {
        {"good", "l", {10, 20, 30}, 3, 7, {1, 2, 3}, 3, 7, 0, 0, 0, 0, 0},
        {"null arrival",
         "l",
         {10, 20, 30},
         3,
         5,
         {0},
         -1,
         7,
         TW_RULE_CHUNK_ARRIVAL_MISSING,
         A,
         1,
         0,
         0},
        {"null token",
         "l",
         {10, 20, 30},
         3,
         7,
         {1, 2, 3},
         3,
         3,
         TW_RULE_CHUNK_TOKENS_RANGE,
         T,
         2,
         -1,
         most},
        {"token of -1",
         "l",
         {10, 20, 30},
         3,
         7,
         {1, -1, 3},
         3,
         7,
         TW_RULE_CHUNK_TOKENS_RANGE,
         T,
         1,
         -1,
         most},
        {"too few tokens",
         "l",
         {10, 20, 30},
         3,
         7,
         {1, 2, 3},
         2,
         7,
         TW_RULE_CHUNK_TOKENS_COUNT,
         T,
         0,
         2,
         3},
        {"no tokens in a list",
         "l",
         {10, 20, 30},
         3,
         7,
         {0},
         0,
         7,
         TW_RULE_CHUNK_TOKENS_COUNT,
         T,
         0,
         0,
         3},
        {"tokens without arrivals",
         "l",
         {0},
         0,
         7,
         {1, 2, 3},
         3,
         7,
         TW_RULE_CHUNK_TOKENS_COUNT,
         T,
         0,
         3,
         0},
        {"neither", "l", {0}, 0, 7, {0}, 0, 7, 0, 0, 0, 0, 0},
        /* Read as doubles these integers are next to nothing, but not 0. */
        {"no whole arrival",
         "g",
         {0, 20, 30},
         3,
         7,
         {0},
         -1,
         7,
         TW_RULE_NUMBER_INEXACT,
         A,
         1,
         0,
         0},
        {"back in time",
         "l",
         {10, 20, 19},
         3,
         7,
         {0},
         -1,
         7,
         TW_RULE_CHUNK_ORDER,
         A,
         2,
         19,
         20},
        {"before the first token",
         "l",
         {4, 20, 30},
         3,
         7,
         {0},
         -1,
         7,
         TW_RULE_CHUNK_BEFORE_GENERATION,
         A,
         0,
         4,
         5},
        {"after the end",
         "l",
         {10, 20, 99},
         3,
         7,
         {0},
         -1,
         7,
         TW_RULE_CHUNK_AFTER_END,
         A,
         2,
         99,
         60},
        {"not recorded",
         "l",
         {INT64_MIN, 20, 30},
         3,
         7,
         {0},
         -1,
         7,
         TW_RULE_CHUNK_BEFORE_GENERATION,
         A,
         0,
         INT64_MIN,
         5},
        {"beyond int64",
         "tss:",
         {INT64_MAX, INT64_MAX, INT64_MAX},
         3,
         7,
         {0},
         -1,
         7,
         TW_RULE_CHUNK_AFTER_END,
         A,
         2,
         INT64_MAX,
         60},
        {"gap back",
         "tDn",
         {10, -11, 3},
         3,
         7,
         {0},
         -1,
         7,
         TW_RULE_CHUNK_ORDER,
         A,
         1,
         4,
         15},
        {"gap below 0",
         "tDn",
         {-1, 11, 3},
         3,
         7,
         {0},
         -1,
         7,
         TW_RULE_CHUNK_BEFORE_GENERATION,
         A,
         0,
         4,
         5},
        {"gaps beyond int64",
         "tDn",
         {INT64_MAX, INT64_MAX, 3},
         3,
         7,
         {0},
         -1,
         7,
         TW_RULE_CHUNK_AFTER_END,
         A,
         2,
         INT64_MAX,
         60},
        {"gaps below int64",
         "tDs",
         {INT64_MIN, INT64_MIN, 3},
         3,
         7,
         {0},
         -1,
         7,
         TW_RULE_CHUNK_BEFORE_GENERATION,
         A,
         0,
         INT64_MIN + 5,
         5},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const chunk_case *c = &all[i];
        const int64_t start = 5, end = 60;
        const int32_t arrival_offsets[] = {0, c->arrival_count};
        const int32_t token_offsets[] = {0, c->token_count};
        tw_recorder *recorder = recorder_new();
        batch b;

        vocabulary_context("%s", c->what);
        batch_init(&b, 1);
        (void)batch_add(&b, "chunk_arrival_ns", "+l", NULL, arrival_offsets);
        (void)batch_add_items(&b, c->arrival_format, 3, &c->arrival_valid, c->arrivals);
        if (c->token_count >= 0) {
            (void)batch_add(&b, "chunk_tokens", "+l", NULL, token_offsets);
            (void)batch_add_items(&b, "l", 3, &c->token_valid, c->tokens);
        }
        (void)batch_add(&b, "end_ns", "l", NULL, &end);
        (void)batch_add(&b, "generation_start_ns", "l", NULL, &start);
        (void)batch_add(&b, "start_ns", "l", NULL, &start);
        if (c->rule) {
            assert_status(append(recorder, &b), TW_ERR_RANGE);
            assert_i64(error_of(recorder).rule, c->rule);
            assert_i64(error_of(recorder).field, c->field);
            assert_u64(error_of(recorder).index, c->index);
            assert_i64(error_of(recorder).value_a, c->value_a);
            assert_i64(error_of(recorder).value_b, c->value_b);
            assert_text(tw_recorder_arrow_error(recorder), ""); /* the rule says it */
        } else {
            assert_ok(append(recorder, &b));
            assert_u64(read_one(recorder, 0).chunk_count, (uint64_t)c->arrival_count);
        }
        tw_recorder_free(recorder);
    }
}
END_TEST

/* As many chunks as no record has are refused before one is read. */
START_TEST(chunk_counts_beyond_belief)
{
    const int64_t offsets[] = {0, INT64_C(1) << 41};
    tw_recorder *recorder = recorder_new();
    batch b;

    one_row(&b);
    (void)batch_add(&b, "chunk_arrival_ns", "+L", NULL, offsets);
    (void)batch_add_items(&b, "i", offsets[1], NULL, zeros);
    if (sizeof(void *) == 8) {
        assert_status(append(recorder, &b), TW_ERR_RANGE);
        assert_i64(error_of(recorder).rule, TW_RULE_CHUNK_COUNT_RANGE);
    } else {
        assert_status(append(recorder, &b), TW_ERR_INVAL);
    }
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Records in random types ------------------------------------------------------- */

enum { ROWS = 40, CHUNKS = 5, SLACK = 9, VALUES = ROWS + 2 * SLACK };

/* Buffers of one column; each is used by one type at a time. */
typedef struct room {
    uint8_t valid[VALUES / 8 + 1];
    union {
        int64_t i64[VALUES * CHUNKS];
        int32_t i32[VALUES * CHUNKS];
        uint32_t u32[VALUES * CHUNKS];
        uint64_t u64[VALUES * CHUNKS];
        double f64[VALUES * CHUNKS];
        uint8_t u8[VALUES];
        unsigned char views[VALUES][16];
    } values;
    int64_t offsets[VALUES + 1], sizes[VALUES];
    int32_t narrow[VALUES + 1], narrow_sizes[VALUES];
    uint8_t item_valid[VALUES * CHUNKS / 8 + 1];
    char text[VALUES * 10];
} room;

static void set_bit(uint8_t *bits, int64_t i, int on)
{
    bits[i / 8] = (uint8_t)((bits[i / 8] & ~(1 << i % 8)) | on << i % 8);
}

/* Writes a number into a buffer of one of the types that hold it; NULL: none does. */
static const char *put_number(room *r, unsigned type, int64_t i, int64_t value)
{
    switch (type) {
    case 0:
        r->values.i64[i] = value;
        return "l";
    case 1:
        r->values.u64[i] = (uint64_t)value;
        return value >= 0 ? "L" : NULL;
    case 2:
        r->values.i32[i] = (int32_t)value;
        return value >= INT32_MIN && value <= INT32_MAX ? "i" : NULL;
    case 3:
        r->values.u32[i] = (uint32_t)value;
        return value >= 0 && value <= UINT32_MAX ? "I" : NULL;
    case 4:
        r->values.f64[i] = (double)value;
        return value >= -two_53 && value <= two_53 ? "g" : NULL;
    case 5:
        r->values.i64[i] = value;
        return "tsn:UTC";
    default:
        r->values.i64[i] = value / 1000;
        return value % 1000 == 0 ? "tsu:" : NULL;
    }
}

/* A column of numbers in the first type from a random one on that holds them all. */
static void add_numbers(batch *b, room *r, uint64_t *random, const char *name,
                        const int64_t *values, int64_t none, int64_t count, int64_t first,
                        unsigned types)
{
    const unsigned from = (unsigned)random_below(random, types);
    const char *format = NULL;
    batch_part *p;

    memset(r->valid, 0xff, sizeof r->valid);
    for (unsigned t = 0; t < types && !format; t++) {
        for (int64_t i = 0; i < count; i++) {
            set_bit(r->valid, first + i, values[i] != none);
            format = put_number(r, (from + t) % types, first + i,
                                values[i] == none ? 0 : values[i]);
            if (!format)
                break;
        }
    }
    assert_that(format || count == 0);
    p = batch_add(b, name, format ? format : "l", r->valid, &r->values);
    p->array.offset = first;
    p->array.length = count;
}

static void add_chunks(batch *b, room *r, uint64_t *random, const char *name,
                       const tw_record *records, int64_t count, int64_t first, int tokens)
{
    static const char *const formats[] = {"+l", "+L", "+vl", "+vL"};
    const uint64_t how = random_below(random, 4);
    const int gaps = !tokens && random_below(random, 2) == 0;
    const int with_bits = random_below(random, 2) == 0;
    int64_t items = 0;
    batch_part *p;

    memset(r->valid, 0xff, sizeof r->valid);
    memset(r->item_valid, 0xff, sizeof r->item_valid);
    for (int64_t i = 0; i < count; i++) {
        const tw_record *c = &records[i];
        const int64_t *from = tokens ? c->chunk_tokens : c->chunk_arrival_ns;
        int64_t last = c->generation_start_ns;

        set_bit(r->valid, first + i, from && (c->chunk_count || random_below(random, 2)));
        r->narrow[first + i] = (int32_t)items;
        r->offsets[first + i] = items;
        r->narrow_sizes[first + i] = (int32_t)(from ? c->chunk_count : 0);
        r->sizes[first + i] = r->narrow_sizes[first + i];
        for (uint64_t k = 0; from && k < c->chunk_count; k++, items++) {
            r->values.i64[items] = gaps ? from[k] - last : from[k];
            last = from[k];
        }
    }
    r->narrow[first + count] = (int32_t)items;
    r->offsets[first + count] = items;
    p = batch_add(b, name, formats[how], r->valid,
                  how % 2 ? (const void *)r->offsets : r->narrow);
    p->buffers[2] = how % 2 ? (const void *)r->sizes : r->narrow_sizes;
    p->array.offset = first;
    p->array.length = count;
    (void)batch_add_items(b, gaps ? "tDn" : "l", items, with_bits ? r->item_valid : NULL,
                          &r->values);
}

static void add_status(batch *b, room *r, uint64_t *random, const tw_record *records,
                       int64_t count, int64_t first)
{
    static const char *const words[] = {"ok", "failed", "cancelled"};
    static const int32_t ends[] = {0, 2, 8, 17};
    const int how = (int)random_below(random, 4);
    int64_t end = 0;
    batch_part *p;

    memset(r->valid, 0xff, sizeof r->valid);
    for (int64_t i = 0; i < count; i++) {
        const int status = records[i].status;
        const char *word = words[status];
        const int is_null = status == TW_RECORD_OK && random_below(random, 3) == 0;

        set_bit(r->valid, first + i, !is_null);
        r->offsets[first + i] = end;
        r->narrow[first + i] = (int32_t)end;
        memcpy(r->text + end, word, strlen(word));
        end += (int64_t)strlen(word);
        if (how == 2)
            put_view(r->values.views[first + i], word);
        if (how == 3)
            r->values.u8[first + i] = (uint8_t)status;
    }
    r->offsets[first + count] = end;
    r->narrow[first + count] = (int32_t)end;
    switch (how) {
    case 0:
        p = batch_add(b, "status", "u", r->valid, r->narrow);
        break;
    case 1:
        p = batch_add(b, "status", "U", r->valid, r->offsets);
        break;
    case 2:
        p = batch_add(b, "status", "vu", r->valid, r->values.views);
        break;
    default:
        p = batch_add(b, "status", "C", r->valid, r->values.u8);
        (void)batch_add_dictionary(b, "u", 3, ends, "okfailedcancelled");
    }
    p->buffers[2] = r->text;
    p->array.offset = first;
    p->array.length = count;
}

static void add_streaming(batch *b, room *r, const tw_record *records, int64_t count,
                          int64_t first)
{
    batch_part *p = batch_add(b, "streaming", "b", NULL, r->values.u8);

    for (int64_t i = 0; i < count; i++)
        set_bit(r->values.u8, first + i, records[i].flags != 0);
    p->array.offset = first;
    p->array.length = count;
}

static void make_random_records(uint64_t *random, tw_record *records,
                                int64_t pool[][2 * CHUNKS], int64_t count)
{
    const int64_t base = random_below(random, 2) ? INT64_C(1700000000000000000) : 0;
    const int64_t unit = random_below(random, 2) ? 1000 : 1;

    for (int64_t i = 0; i < count; i++) {
        const int64_t start = base + unit * random_between(random, 0, 1000);
        const int64_t first = start + unit * random_between(random, 0, 1000);
        tw_record r = record(
            start, random_below(random, 4) ? first : NEVER,
            first + unit * random_between(random, 0, 1000),
            random_below(random, 5) ? random_between(random, 0, 99) : UNKNOWN,
            random_below(random, 5) ? random_between(random, 0, 99) : UNKNOWN);

        if (random_below(random, 2))
            r.credit_issued_ns = start - unit * random_between(random, -5, 1000);
        r.status = (int32_t)random_below(random, 3);
        if (r.status == TW_RECORD_OK && random_below(random, 4) == 0)
            r.end_ns = NEVER;
        r.flags = (uint32_t)random_below(random, 2);
        if (r.generation_start_ns != NEVER && random_below(random, 2)) {
            const int64_t end = r.end_ns == NEVER ? first + 999 : r.end_ns;

            r.chunk_count = random_below(random, CHUNKS);
            for (uint64_t k = 0; k < r.chunk_count; k++) {
                pool[i][k] = random_between(random, k ? pool[i][k - 1] : first, end);
                pool[i][CHUNKS + k] = random_between(random, 0, 5);
            }
            r.chunk_arrival_ns = pool[i];
            if (random_below(random, 2))
                r.chunk_tokens = pool[i] + CHUNKS;
        }
        if (random_below(random, 20) == 0)
            r.end_ns = r.start_ns - 1; /* refused */
        records[i] = r;
    }
}

/* Any way to write records as an array stores the same as the records themselves: the same
 * rows, counters and errors. */
START_TEST(random_types)
{
    static room rooms[10];
    static const struct {
        const char *name;
        size_t at;
        int64_t none;
        unsigned types;
    } numbers[] = {
        {"start_ns", offsetof(tw_record, start_ns), TW_TIME_NONE, 7},
        {"credit_issued_ns", offsetof(tw_record, credit_issued_ns), TW_TIME_NONE, 7},
        {"generation_start_ns", offsetof(tw_record, generation_start_ns), TW_TIME_NONE,
         7},
        {"end_ns", offsetof(tw_record, end_ns), TW_TIME_NONE, 7},
        {"input_tokens", offsetof(tw_record, input_tokens), TW_TOKENS_NONE, 5},
        {"output_tokens", offsetof(tw_record, output_tokens), TW_TOKENS_NONE, 5},
    };
    const uint64_t rounds = vocabulary_count("TIMEWEIGHT_TEST_WORKLOADS", 2000);

    for (uint64_t seed = 1; seed <= rounds; seed++) {
        uint64_t random = seed;
        tw_record records[ROWS];
        int64_t pool[ROWS][2 * CHUNKS];
        const int64_t count = random_between(&random, 1, ROWS);
        const int64_t root_first = random_between(&random, 0, 3);
        const uint32_t flags = random_below(&random, 2) ? TW_APPEND_SKIP_INVALID : 0;
        tw_recorder *wanted = recorder_new(), *got = recorder_new();
        size_t wanted_accepted = 0, got_accepted = 0;
        tw_error wanted_error, got_error;
        tw_balance wanted_balance, got_balance;
        batch b;

        vocabulary_context("seed %d", (int)seed);
        make_random_records(&random, records, pool, count);
        /* The root leaves the first rows out. */
        batch_init(&b, count - (count > root_first ? root_first : 0));
        b.root.array.offset = count > root_first ? root_first : 0;
        for (size_t n = 0; n < 6; n++) {
            int64_t values[ROWS];

            for (int64_t i = 0; i < count; i++)
                memcpy(&values[i], (const char *)&records[i] + numbers[n].at,
                       sizeof values[i]);
            add_numbers(&b, &rooms[n], &random, numbers[n].name, values, numbers[n].none,
                        count, random_between(&random, 0, SLACK), numbers[n].types);
        }
        add_status(&b, &rooms[6], &random, records, count,
                   random_between(&random, 0, SLACK));
        add_streaming(&b, &rooms[7], records, count, random_between(&random, 0, SLACK));
        add_chunks(&b, &rooms[8], &random, "chunk_arrival_ns", records, count,
                   random_between(&random, 0, SLACK), 0);
        add_chunks(&b, &rooms[9], &random, "chunk_tokens", records, count,
                   random_between(&random, 0, SLACK), 1);

        assert_i64(append_flags(got, &b, flags, &got_accepted),
                   tw_recorder_append(wanted, records + b.root.array.offset,
                                      (size_t)b.root.array.length, sizeof records[0],
                                      flags, &wanted_accepted));
        assert_u64(got_accepted, wanted_accepted);
        assert_u64(tw_recorder_count(got), tw_recorder_count(wanted));
        wanted_balance = balance_of(wanted);
        got_balance = balance_of(got);
        assert_same_balance(&got_balance, &wanted_balance);
        wanted_error = error_of(wanted);
        got_error = error_of(got);
        assert_that(memcmp(&got_error, &wanted_error, sizeof got_error) == 0);
        for (uint64_t i = 0; i < tw_recorder_count(got); i++) {
            const tw_record a = read_one(got, i), w = read_one(wanted, i);
            assert_same_record(&a, &w);
        }
        tw_recorder_free(got);
        tw_recorder_free(wanted);
    }
}
END_TEST

/* ---- Arrays that contradict themselves --------------------------------------------- */

/* A batch with everything in it, good as it is. */
typedef struct everything {
    batch b;
    int64_t times[4];
    int32_t offsets[4], sizes[4], texts[4];
    int64_t items[4];
    uint8_t indices[4];
} everything;

static void make_everything(everything *e)
{
    batch *b = &e->b;

    memcpy(e->times, (const int64_t[]){0, 1, 2, 3}, sizeof e->times);
    memcpy(e->offsets, (const int32_t[]){0, 1, 1, 3}, sizeof e->offsets);
    memcpy(e->sizes, (const int32_t[]){1, 0, 2, 0}, sizeof e->sizes);
    memcpy(e->texts, (const int32_t[]){0, 2, 8, 8}, sizeof e->texts);
    memcpy(e->items, (const int64_t[]){5, 6, 7, 8}, sizeof e->items);
    memset(e->indices, 0, sizeof e->indices);
    batch_init(b, 2);
    (void)batch_add(b, "start_ns", "l", NULL, e->times);
    (void)batch_add(b, "generation_start_ns", "l", NULL, e->times);
    (void)batch_add(b, "end_ns", "tss:", NULL, e->times + 1);
    (void)batch_add(b, "chunk_arrival_ns", "+l", NULL, e->offsets);
    (void)batch_add_items(b, "l", 3, NULL, e->items);
    (void)batch_add(b, "status", "C", NULL, e->indices);
    (void)batch_add_dictionary(b, "u", 3, e->texts, "okfailed");
    (void)batch_add(b, "streaming", "b", NULL, e->indices);
}

enum { START, GENERATION, END, ARRIVALS, STATUS, STREAMING };

/* What is done to it, and what is said of that. */
typedef struct hostile {
    void (*harm)(everything *e);
    int32_t status, field;
    const char *words;
} hostile;

#define HARM(name, code)                                                             \
    static void name(everything *e)                                                  \
    {                                                                                \
        batch *b = &e->b;                                                            \
        batch_part *root = &b->root;                                                 \
        batch_part *start = &b->column[START], *list = &b->column[ARRIVALS];         \
        batch_part *items = &b->inner[ARRIVALS], *status = &b->column[STATUS];       \
        batch_part *words = &b->inner[STATUS];                                       \
        (void)root, (void)start, (void)list, (void)items, (void)status, (void)words; \
        code;                                                                        \
    }

HARM(schema_released, root->schema.release = NULL)
HARM(schema_format_null, root->schema.format = NULL)
HARM(schema_no_struct, root->schema.format = "l")
HARM(schema_format_long,
     root->schema.format =
         "+ud:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,"
         "17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,"
         "43,44,45,"
         "46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70")
HARM(schema_children_negative, root->schema.n_children = -1)
HARM(schema_children_null, root->schema.children = NULL)
HARM(schema_child_null, b->schemas[END] = NULL)
HARM(schema_dictionary, root->schema.dictionary = &words->schema)
HARM(schema_twice, b->column[END].schema.name = "start_ns")
HARM(schema_no_start, start->schema.name = "begin_ns")
HARM(schema_child_released, start->schema.release = NULL)
HARM(schema_child_format, start->schema.format = NULL)
HARM(schema_date, start->schema.format = "tdD")
HARM(schema_no_zone, start->schema.format = "tss")
HARM(schema_unit, start->schema.format = "tsx:")
HARM(schema_duration, start->schema.format = "tDn")
HARM(schema_text, start->schema.format = "u")
HARM(schema_child_children, start->schema.n_children = 1)
HARM(schema_child_dictionary, start->schema.dictionary = &words->schema)
HARM(schema_flags, b->column[STREAMING].schema.format = "l")
HARM(schema_no_list, list->schema.format = "l"; list->schema.n_children = 0)
HARM(schema_no_items, list->schema.n_children = 0)
HARM(schema_items_null, list->schema.children = NULL)
HARM(schema_item_null, b->inner_schemas[ARRIVALS] = NULL)
HARM(schema_item_children, items->schema.n_children = 1)
HARM(schema_item_dictionary, items->schema.dictionary = &words->schema)
HARM(schema_deep, items->schema.format = "+l")
HARM(schema_index, status->schema.format = "g")
HARM(schema_index_children, status->schema.n_children = 1)
HARM(schema_words, words->schema.format = "z")
HARM(schema_words_deep, words->schema.dictionary = &items->schema)
HARM(schema_words_released, words->schema.release = NULL)

HARM(array_released, root->array.release = NULL)
HARM(array_length, root->array.length = -1)
HARM(array_offset, root->array.offset = -1)
HARM(array_huge, root->array.length = INT64_MAX)
HARM(array_overflow, root->array.length = INT64_MAX; root->array.offset = INT64_MAX)
HARM(array_nulls, root->array.null_count = -2)
HARM(array_more_nulls, root->array.null_count = 3)
HARM(array_no_bitmap, root->array.null_count = 1)
HARM(array_buffers, root->array.n_buffers = 2)
HARM(array_buffers_null, root->array.buffers = NULL)
HARM(array_children, root->array.n_children = 5)
HARM(array_children_null, root->array.children = NULL)
HARM(array_dictionary, root->array.dictionary = &words->array)
HARM(child_null, b->arrays[START] = NULL)
HARM(child_released, start->array.release = NULL)
HARM(child_length, start->array.length = 1)
HARM(child_length_negative, start->array.length = INT64_MIN)
HARM(child_offset, start->array.offset = INT64_MIN)
HARM(child_huge, start->array.offset = INT64_MAX - 1)
HARM(child_nulls, start->array.null_count = 1)
HARM(child_buffers, start->array.n_buffers = 1)
HARM(child_buffers_negative, start->array.n_buffers = -2)
HARM(child_buffers_null, start->array.buffers = NULL)
HARM(child_values_null, start->buffers[1] = NULL)
HARM(child_children, start->array.n_children = 1)
HARM(child_dictionary, start->array.dictionary = &words->array)
HARM(list_children, list->array.n_children = 0)
HARM(list_children_null, list->array.children = NULL)
HARM(list_item_null, b->inner_arrays[ARRIVALS] = NULL)
HARM(list_items_released, items->array.release = NULL)
HARM(list_items_short, items->array.length = 0)
HARM(list_items_negative, items->array.length = -2)
HARM(list_items_buffers, items->array.n_buffers = 3)
HARM(list_items_null, items->buffers[1] = NULL)
HARM(list_items_dictionary, items->array.dictionary = &words->array)
HARM(list_backwards, e->offsets[1] = 2)
HARM(list_beyond, e->offsets[2] = INT32_MAX)
HARM(list_below, e->offsets[0] = -1)
HARM(view_no_sizes, list->schema.format = "+vl"; list->array.n_buffers = 3)
HARM(view_buffers, list->schema.format = "+vl")
HARM(view_negative, list->schema.format = "+vl"; list->array.n_buffers = 3;
     e->sizes[0] = -1; list->buffers[2] = e->sizes)
HARM(view_beyond, list->schema.format = "+vl"; list->array.n_buffers = 3; e->sizes[0] = 4;
     list->buffers[2] = e->sizes)
HARM(view_straddles, list->schema.format = "+vl"; list->array.n_buffers = 3;
     e->offsets[0] = e->sizes[0] = 2; list->buffers[2] = e->sizes)
HARM(view_before, list->schema.format = "+vl"; list->array.n_buffers = 3;
     e->offsets[0] = INT32_MIN; list->buffers[2] = e->offsets + 1)
HARM(dictionary_none, status->array.dictionary = NULL)
HARM(dictionary_released, words->array.release = NULL)
HARM(dictionary_buffers, words->array.n_buffers = 2)
HARM(dictionary_children, words->array.n_children = 1)
HARM(index_beyond, e->indices[1] = 3)
HARM(text_backwards, e->texts[0] = 3)
HARM(text_beyond, e->texts[1] = 9)
HARM(text_below, e->texts[0] = -1)
HARM(text_null, words->buffers[2] = NULL)
HARM(view_text_below, words->schema.format = "vu"; e->texts[0] = -1)

START_TEST(contradictions)
{
    const int32_t invalid = TW_ERR_INVAL, unknown = TW_ERR_NOTSUP;
    const int32_t start = TW_FIELD_START_NS;
    const int32_t arrivals = TW_FIELD_CHUNK_ARRIVAL_NS, status = TW_FIELD_STATUS;
    const hostile all[] = {
        {schema_released, invalid, 0, "schema: the schema was released"},
        {schema_format_null, invalid, 0, "schema: there is no format"},
        {schema_no_struct, unknown, 0,
         "schema: must be a struct with a column for each field, not of format \"l\""},
        {schema_children_negative, invalid, 0, "schema: there are no children"},
        {schema_children_null, invalid, 0, "schema: there are no children"},
        {schema_child_null, invalid, 0, "schema: a child is NULL"},
        {schema_dictionary, invalid, 0, "schema: must not be dictionary-encoded"},
        {schema_twice, invalid, start, "start_ns: there are two columns of this name"},
        {schema_no_start, invalid, start, "start_ns: there is no such column"},
        {schema_child_released, invalid, start, "start_ns: the schema was released"},
        {schema_child_format, invalid, start, "start_ns: there is no format"},
        {schema_date, unknown, start,
         "start_ns: must be an integer, a float or a timestamp, not of format \"tdD\""},
        {schema_no_zone, unknown, start,
         "start_ns: must be an integer, a float or a timestamp, not of format \"tss\""},
        {schema_unit, unknown, start,
         "start_ns: must be an integer, a float or a timestamp, not of format \"tsx:\""},
        {schema_duration, unknown, start,
         "start_ns: must be an integer, a float or a timestamp, not of format \"tDn\""},
        {schema_text, unknown, start,
         "start_ns: must be an integer, a float or a timestamp, not of format \"u\""},
        {schema_child_children, invalid, start, "start_ns: must not have children"},
        {schema_child_dictionary, unknown, start,
         "start_ns: must not be dictionary-encoded"},
        {schema_flags, unknown, TW_FIELD_FLAGS,
         "streaming: must be a boolean, not of format \"l\""},
        {schema_no_list, unknown, arrivals,
         "chunk_arrival_ns: must be a list, not of format \"l\""},
        {schema_no_items, invalid, arrivals,
         "chunk_arrival_ns: a list must have one child, its items"},
        {schema_items_null, invalid, arrivals,
         "chunk_arrival_ns: a list must have one child, its items"},
        {schema_item_null, invalid, arrivals,
         "chunk_arrival_ns: a list must have one child, its items"},
        {schema_item_children, unknown, arrivals,
         "chunk_arrival_ns: items: must not have children"},
        {schema_item_dictionary, unknown, arrivals,
         "chunk_arrival_ns: items: must not be dictionary-encoded"},
        {schema_deep, unknown, arrivals,
         "chunk_arrival_ns: items: must be an integer, a float, a timestamp or a "
         "duration, "
         "not of format \"+l\""},
        {schema_index, unknown, status,
         "status: index: must be an integer, not of format \"g\""},
        {schema_index_children, invalid, status, "status: must not have children"},
        {schema_words, unknown, status,
         "status: dictionary: must be utf8, not of format \"z\""},
        {schema_words_deep, unknown, status,
         "status: dictionary: must not be dictionary-encoded"},
        {schema_words_released, invalid, status,
         "status: dictionary: the schema was released"},
        {array_released, invalid, 0, "array: the array was released"},
        {array_length, invalid, 0, "array: the length is negative"},
        {array_offset, invalid, 0, "array: the offset is negative"},
        {array_huge, invalid, 0, "array: length and offset are too large"},
        {array_overflow, invalid, 0, "array: length and offset are too large"},
        {array_nulls, invalid, 0, "array: null_count is out of range"},
        {array_more_nulls, invalid, 0, "array: null_count is out of range"},
        {array_no_bitmap, invalid, 0, "array: there are nulls and no validity bitmap"},
        {array_buffers, invalid, 0, "array: there is a wrong number of buffers"},
        {array_buffers_null, invalid, 0, "array: there are no buffers"},
        {array_children, invalid, 0, "array: there is a wrong number of children"},
        {array_children_null, invalid, 0, "array: there are no children"},
        {array_dictionary, invalid, 0, "array: there must be no dictionary"},
        {child_null, invalid, start, "start_ns: the array is NULL"},
        {child_released, invalid, start, "start_ns: the array was released"},
        {child_length, invalid, start, "start_ns: has too few values"},
        {child_length_negative, invalid, start, "start_ns: the length is negative"},
        {child_offset, invalid, start, "start_ns: the offset is negative"},
        {child_huge, invalid, start, "start_ns: length and offset are too large"},
        {child_nulls, invalid, start, "start_ns: there are nulls and no validity bitmap"},
        {child_buffers, invalid, start, "start_ns: there is a wrong number of buffers"},
        {child_buffers_negative, invalid, start,
         "start_ns: there is a wrong number of buffers"},
        {child_buffers_null, invalid, start, "start_ns: there are no buffers"},
        {child_values_null, invalid, start, "start_ns: the buffer of the values is NULL"},
        {child_children, invalid, start, "start_ns: there is a wrong number of children"},
        {child_dictionary, invalid, start, "start_ns: there must be no dictionary"},
        {list_children, invalid, arrivals,
         "chunk_arrival_ns: there is a wrong number of children"},
        {list_children_null, invalid, arrivals,
         "chunk_arrival_ns: there are no children"},
        {list_item_null, invalid, arrivals, "chunk_arrival_ns: items: the array is NULL"},
        {list_items_released, invalid, arrivals,
         "chunk_arrival_ns: items: the array was released"},
        {list_items_short, invalid, arrivals,
         "chunk_arrival_ns: a list's offsets go back or lead outside"},
        {list_items_negative, invalid, arrivals,
         "chunk_arrival_ns: items: the length is negative"},
        {list_items_buffers, invalid, arrivals,
         "chunk_arrival_ns: items: there is a wrong number of buffers"},
        {list_items_null, invalid, arrivals,
         "chunk_arrival_ns: items: the buffer of the values is NULL"},
        {list_items_dictionary, invalid, arrivals,
         "chunk_arrival_ns: items: there must be no dictionary"},
        {list_backwards, invalid, arrivals,
         "chunk_arrival_ns: a list's offsets go back or lead outside"},
        {list_beyond, invalid, arrivals,
         "chunk_arrival_ns: a list's offsets go back or lead outside"},
        {list_below, invalid, arrivals,
         "chunk_arrival_ns: a list's offsets go back or lead outside"},
        {view_no_sizes, invalid, arrivals,
         "chunk_arrival_ns: the buffer of the sizes is NULL"},
        {view_buffers, invalid, arrivals,
         "chunk_arrival_ns: there is a wrong number of buffers"},
        {view_negative, invalid, arrivals,
         "chunk_arrival_ns: a list's offsets go back or lead outside"},
        {view_beyond, invalid, arrivals,
         "chunk_arrival_ns: a list's offsets go back or lead outside"},
        {view_straddles, invalid, arrivals,
         "chunk_arrival_ns: a list's offsets go back or lead outside"},
        {view_before, invalid, arrivals,
         "chunk_arrival_ns: a list's offsets go back or lead outside"},
        {dictionary_none, invalid, status, "status: there is no dictionary"},
        {dictionary_released, invalid, status,
         "status: dictionary: the array was released"},
        {dictionary_buffers, invalid, status,
         "status: dictionary: there is a wrong number of buffers"},
        {dictionary_children, invalid, status,
         "status: dictionary: there is a wrong number of children"},
        {index_beyond, invalid, status,
         "status: an index leads outside of the dictionary"},
        {text_backwards, invalid, status,
         "status: the offsets of a text contradict each other"},
        {text_beyond, invalid, status,
         "status: the offsets of a text contradict each other"},
        {text_below, invalid, status,
         "status: the offsets of a text contradict each other"},
        {text_null, invalid, status,
         "status: the offsets of a text contradict each other"},
        {view_text_below, invalid, status,
         "status: the offsets of a text contradict each other"},
    };
    static everything e;
    tw_recorder *recorder = recorder_new();

    make_everything(&e);
    assert_ok(append(recorder, &e.b));
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        vocabulary_context("case %zu, %s", i, all[i].words);
        make_everything(&e);
        all[i].harm(&e);
        assert_refused(recorder, &e.b, all[i].status, all[i].field, all[i].words);
    }
    /* A long format is cut. */
    vocabulary_context("a long format");
    make_everything(&e);
    schema_format_long(&e);
    assert_status(append(recorder, &e.b), unknown);
    assert_u64(strlen(tw_recorder_arrow_error(recorder)), 255);
    make_everything(&e);
    assert_ok(append(recorder, &e.b));
    assert_u64(tw_recorder_count(recorder), 4);
    tw_recorder_free(recorder);
}
END_TEST

/* A row deep in the array is named. */
START_TEST(rows_are_named)
{
    int64_t starts[3000], ends[3000];
    int32_t offsets[3001];
    tw_recorder *recorder = recorder_new();
    size_t accepted = 77;
    batch b;

    for (int i = 0; i < 3000; i++) {
        starts[i] = ends[i] = i;
        offsets[i] = 0;
    }
    offsets[3000] = 0;
    batch_init(&b, 3000);
    (void)batch_add(&b, "start_ns", "l", NULL, starts);
    (void)batch_add(&b, "end_ns", "l", NULL, ends);
    (void)batch_add(&b, "chunk_arrival_ns", "+l", NULL, offsets);
    (void)batch_add_items(&b, "l", 0, NULL, NULL);
    ends[2345] = 7;
    ends[2900] = 8;
    assert_status(append(recorder, &b), TW_ERR_RANGE);
    assert_u64(error_of(recorder).row, 2345);
    assert_i64(error_of(recorder).rule, TW_RULE_END_BEFORE_START);
    assert_i64(error_of(recorder).value_a, 7);
    assert_i64(error_of(recorder).value_b, 2345);
    assert_u64(tw_recorder_count(recorder), 0);
    assert_ok(append_flags(recorder, &b, TW_APPEND_SKIP_INVALID, &accepted));
    assert_u64(accepted, 2998);
    assert_u64(balance_of(recorder).refused, 3);
    assert_u64(error_of(recorder).row, 2345);
    offsets[2000] = 1;
    assert_status(append_flags(recorder, &b, TW_APPEND_SKIP_INVALID, &accepted),
                  TW_ERR_INVAL);
    assert_u64(error_of(recorder).row, 1999);
    assert_text(tw_recorder_arrow_error(recorder),
                "chunk_arrival_ns: a list's offsets go back or lead outside");
    assert_u64(tw_recorder_count(recorder), 2998);
    assert_u64(balance_of(recorder).refused, 3);
    /* What is said goes with the last failure. */
    assert_status(tw_recorder_append(recorder, NULL, 1, sizeof(tw_record), 0, NULL),
                  TW_ERR_INVAL);
    assert_text(tw_recorder_arrow_error(recorder), "");
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Ownership --------------------------------------------------------------------- */

START_TEST(always_released)
{
    tw_recorder *recorder = recorder_new();
    struct ArrowSchema schema;
    struct ArrowArray array;
    batch b;

    one_row(&b);
    schema = batch_schema(&b);
    array = batch_array(&b);
    assert_status(tw_recorder_append_arrow(NULL, &schema, &array, 0, NULL), TW_ERR_INVAL);
    assert_that(!array.release && schema.release);
    assert_i64(b.array_releases, 1);
    array = batch_array(&b);
    assert_status(tw_recorder_append_arrow(recorder, NULL, &array, 0, NULL),
                  TW_ERR_INVAL);
    assert_text(tw_recorder_arrow_error(recorder), "schema: is NULL");
    assert_that(!array.release);
    assert_i64(b.array_releases, 2);
    array = batch_array(&b);
    assert_status(tw_recorder_append_arrow(recorder, &schema, &array, 2, NULL),
                  TW_ERR_NOTSUP);
    assert_that(!array.release);
    assert_i64(b.array_releases, 3);
    assert_status(tw_recorder_append_arrow(recorder, &schema, &array, 0, NULL),
                  TW_ERR_INVAL); /* it was released already */
    assert_text(tw_recorder_arrow_error(recorder), "array: the array was released");
    assert_i64(b.array_releases, 3);
    assert_status(tw_recorder_append_arrow(recorder, &schema, NULL, 0, NULL),
                  TW_ERR_INVAL);
    assert_status(tw_recorder_append_arrow(NULL, NULL, NULL, 0, NULL), TW_ERR_INVAL);
    assert_u64(tw_recorder_count(recorder), 0);
    assert_text(tw_recorder_arrow_error(NULL), "");
    tw_recorder_clear(recorder);
    assert_text(tw_recorder_arrow_error(recorder), "");
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Streams ----------------------------------------------------------------------- */

static int32_t append_stream(tw_recorder *recorder, feed *f, uint32_t flags,
                             size_t *accepted)
{
    struct ArrowArrayStream stream = feed_stream(f);
    int32_t status;

    f->next = f->next_calls = f->error_calls = f->releases = 0;
    for (int i = 0; i < f->count; i++)
        f->batches[i]->array_releases = f->batches[i]->schema_releases = 0;
    status = tw_recorder_append_arrow_stream(recorder, &stream, flags, accepted);
    assert_that(!stream.release);
    assert_i64(f->releases, 1);
    for (int i = 0; i < f->count; i++) {
        assert_i64(f->batches[i]->array_releases, i < f->next);
        assert_i64(f->batches[i]->schema_releases, i == 0 && !f->schema_code);
        assert_i64(f->batches[i]->child_releases, 0);
    }
    return status;
}

enum { STREAM_ROWS = 700, STREAM_BATCHES = 5 };

/* Batches of 700 rows, with ends that a test may spoil; the third has none. */
typedef struct batches {
    int64_t starts[STREAM_BATCHES][STREAM_ROWS], ends[STREAM_BATCHES][STREAM_ROWS];
    batch batch[STREAM_BATCHES];
    batch *list[STREAM_BATCHES];
} batches;

static void make_batches(batches *all)
{
    for (int k = 0; k < STREAM_BATCHES; k++) {
        for (int i = 0; i < STREAM_ROWS; i++) {
            all->starts[k][i] = k * STREAM_ROWS + i;
            all->ends[k][i] = all->starts[k][i] + 10;
        }
        batch_init(&all->batch[k], k == 2 ? 0 : STREAM_ROWS);
        (void)batch_add(&all->batch[k], "start_ns", "l", NULL, all->starts[k]);
        (void)batch_add(&all->batch[k], "end_ns", "l", NULL, all->ends[k]);
        all->list[k] = &all->batch[k];
    }
}

static batches stream_batches;

START_TEST(streams)
{
    batches *all = &stream_batches;
    feed f = {.batches = all->list, .count = STREAM_BATCHES};
    tw_recorder *recorder = recorder_new();
    size_t accepted = 77;

    make_batches(all);
    assert_ok(append_stream(recorder, &f, 0, &accepted));
    assert_u64(accepted, 4 * STREAM_ROWS);
    assert_u64(tw_recorder_count(recorder), 4 * STREAM_ROWS);
    assert_i64(f.next_calls, STREAM_BATCHES + 1);
    assert_i64(f.error_calls, 0);
    assert_i64(read_one(recorder, 2 * STREAM_ROWS + 5).start_ns, 3 * STREAM_ROWS + 5);
    /* No batches at all: the type is looked at nevertheless. */
    f.count = 0;
    assert_ok(append_stream(recorder, &f, 0, &accepted));
    assert_u64(accepted, 0);
    all->batch[0].column[0].schema.name = "begin_ns";
    assert_status(append_stream(recorder, &f, 0, &accepted), TW_ERR_INVAL);
    assert_i64(f.next_calls, 0);
    assert_i64(error_of(recorder).rule, TW_RULE_START_MISSING);
    assert_i64(error_of(recorder).field, TW_FIELD_START_NS);
    assert_u64(tw_recorder_count(recorder), 4 * STREAM_ROWS);
    tw_recorder_free(recorder);
}
END_TEST

/* A failure in a batch takes back those before, in either mode; rows count over all. */
START_TEST(streams_are_all_or_nothing)
{
    batches *all = &stream_batches;
    feed f = {.batches = all->list, .count = STREAM_BATCHES};
    tw_recorder *recorder = recorder_new();
    tw_balance before, after;
    size_t accepted = 77;

    make_batches(all);
    assert_ok(append(recorder, &all->batch[0]));
    before = balance_of(recorder);

    all->ends[1][3] = -5; /* breaks a rule */
    all->ends[3][4] = -6;
    assert_status(append_stream(recorder, &f, 0, &accepted), TW_ERR_RANGE);
    assert_i64(f.next, 2); /* no more was asked for */
    assert_u64(accepted, 77);
    assert_u64(tw_recorder_count(recorder), STREAM_ROWS);
    assert_u64(error_of(recorder).row, STREAM_ROWS + 3);
    assert_i64(error_of(recorder).value_a, -5);
    before.refused++;
    before.refused_by_rule[TW_RULE_END_BEFORE_START]++;
    after = balance_of(recorder);
    assert_same_balance(&after, &before);

    all->batch[4].column[1].array.length = 3; /* contradicts itself */
    assert_status(append_stream(recorder, &f, TW_APPEND_SKIP_INVALID, &accepted),
                  TW_ERR_INVAL);
    assert_u64(error_of(recorder).row, 3 * STREAM_ROWS);
    assert_text(tw_recorder_arrow_error(recorder), "end_ns: has too few values");
    after = balance_of(recorder);
    assert_same_balance(&after, &before);
    assert_u64(tw_recorder_count(recorder), STREAM_ROWS);

    all->batch[4].column[1].array.length = STREAM_ROWS;
    assert_ok(append_stream(recorder, &f, TW_APPEND_SKIP_INVALID, &accepted));
    assert_u64(accepted, 4 * STREAM_ROWS - 2);
    assert_u64(error_of(recorder).row, STREAM_ROWS + 3); /* the first of them */
    assert_i64(error_of(recorder).rule, TW_RULE_END_BEFORE_START);
    assert_u64(balance_of(recorder).refused, 3);
    assert_u64(tw_recorder_count(recorder), 5 * STREAM_ROWS - 2);
    assert_i64(read_one(recorder, 5 * STREAM_ROWS - 3).start_ns, 5 * STREAM_ROWS - 1);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(streams_that_fail)
{
    batches *all = &stream_batches;
    feed f = {.batches = all->list, .count = STREAM_BATCHES};
    tw_recorder *recorder = recorder_new();
    struct ArrowArrayStream stream;
    size_t accepted = 77;

    make_batches(all);
    f.schema_code = EIO;
    f.words = "disk on fire";
    assert_status(append_stream(recorder, &f, 0, &accepted), TW_ERR_IO);
    assert_i64(error_of(recorder).value_a, EIO);
    assert_i64(error_of(recorder).status, TW_ERR_IO);
    assert_text(tw_recorder_arrow_error(recorder), "stream: get_schema: disk on fire");
    assert_i64(f.next_calls, 0);

    f.schema_code = 0;
    f.next_code = ENOMEM;
    f.words = NULL;
    assert_status(append_stream(recorder, &f, TW_APPEND_SKIP_INVALID, &accepted),
                  TW_ERR_IO);
    assert_i64(error_of(recorder).value_a, ENOMEM);
    assert_u64(error_of(recorder).row, 4 * STREAM_ROWS);
    assert_text(tw_recorder_arrow_error(recorder), "stream: get_next: failed");
    assert_u64(tw_recorder_count(recorder), 0);
    assert_u64(accepted, 77);
    assert_i64(f.error_calls, 1);

    /* Long words are cut, but no character of them: 18 bytes of ours, 237 of room. */
    {
        char words[600], wanted[256];

        for (int i = 0; i < 299; i++)
            memcpy(words + 2 * i, "\xc3\xa9", 2);
        words[598] = 0;
        f.words = words;
        assert_status(append_stream(recorder, &f, 0, NULL), TW_ERR_IO);
        memcpy(wanted, "stream: get_next: ", 18);
        memcpy(wanted + 18, words, 236);
        wanted[254] = 0;
        assert_text(tw_recorder_arrow_error(recorder), wanted);
    }

    /* Streams that are none. */
    f.next_code = 0;
    stream = feed_stream(&f);
    stream.get_next = NULL;
    assert_status(tw_recorder_append_arrow_stream(recorder, &stream, 0, NULL),
                  TW_ERR_INVAL);
    assert_text(tw_recorder_arrow_error(recorder), "stream: a function is missing");
    assert_that(!stream.release);
    assert_status(tw_recorder_append_arrow_stream(recorder, &stream, 0, NULL),
                  TW_ERR_INVAL);
    assert_text(tw_recorder_arrow_error(recorder), "stream: was released");
    stream = feed_stream(&f);
    f.releases = 0;
    assert_status(tw_recorder_append_arrow_stream(NULL, &stream, 0, NULL), TW_ERR_INVAL);
    assert_i64(f.releases, 1);
    stream = feed_stream(&f);
    assert_status(tw_recorder_append_arrow_stream(recorder, &stream, 8, NULL),
                  TW_ERR_NOTSUP);
    assert_i64(f.releases, 2);
    assert_status(tw_recorder_append_arrow_stream(recorder, NULL, 0, NULL), TW_ERR_INVAL);
    /* get_schema that gives a released one; a stream without words. */
    f.next_code = 7;
    stream = feed_stream(&f);
    stream.get_last_error = NULL;
    f.next = 0;
    assert_status(tw_recorder_append_arrow_stream(recorder, &stream, 0, NULL), TW_ERR_IO);
    assert_text(tw_recorder_arrow_error(recorder), "stream: get_next: failed");
    all->batch[0].root.schema.release = NULL;
    stream = feed_stream(&f);
    assert_status(tw_recorder_append_arrow_stream(recorder, &stream, 0, NULL),
                  TW_ERR_INVAL);
    assert_text(tw_recorder_arrow_error(recorder), "schema: the schema was released");
    assert_u64(tw_recorder_count(recorder), 0);
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Results ----------------------------------------------------------------------- */

enum { RUN = 9000 };

/* Overlapping requests at irregular times: more than one array of segments. */
static tw_recorder *make_run(memory *m)
{
    static tw_record records[RUN];
    tw_recorder *recorder = recorder_in(m);
    uint64_t random = 42;

    for (int i = 0; i < RUN; i++) {
        const int64_t start = random_between(&random, 0, 10000000);
        const int64_t first = start + random_between(&random, 1, 3000);

        records[i] = record(start, first, first + random_between(&random, 1, 9000),
                            i % 90, i % 70);
        if (i % 3 == 0)
            records[i].status = TW_RECORD_FAILED;
        if (i % 2)
            records[i] = with_credit(records[i], start - 17);
    }
    recorder_append(recorder, records, RUN);
    return recorder;
}

static tw_analysis *analysis_in(memory *m, tw_recorder *recorder)
{
    static const double more[] = {0.999, 0.5};
    tw_options options = options_new();
    tw_analysis *analysis;

    memory_init(m);
    options.allocator = &m->allocator;
    options.quantiles = more;
    options.quantile_count = 2;
    assert_ok(tw_analyze(&analysis, &recorder, 1, &options));
    return analysis;
}

static struct ArrowArray next_array(struct ArrowArrayStream *stream)
{
    struct ArrowArray array;

    memset(&array, 0x55, sizeof array);
    assert_i64(stream->get_next(stream, &array), 0);
    return array;
}

/* A cell of an exported array: false if it is null. */
static int get_cell(const struct ArrowArray *array, int64_t column, int64_t row,
                    void *value)
{
    const struct ArrowArray *child = array->children[column];
    const uint8_t *valid = child->buffers[0];

    if (valid && !(valid[row / 8] >> row % 8 & 1))
        return 0;
    memcpy(value, (const char *)child->buffers[1] + row * 8, 8);
    return 1;
}

static void get_text(const struct ArrowArray *array, int64_t column, int64_t row,
                     char *text, size_t size)
{
    const struct ArrowArray *child = array->children[column];
    const int32_t *offsets = child->buffers[1];
    const size_t length = (size_t)(offsets[row + 1] - offsets[row]);

    assert_that(length < size);
    memcpy(text, (const char *)child->buffers[2] + offsets[row], length);
    text[length] = 0;
}

static void check_field(const struct ArrowSchema *schema, int64_t i, const char *name,
                        const char *format, int64_t flags)
{
    assert_text(schema->children[i]->name, name);
    assert_text(schema->children[i]->format, format);
    assert_i64(schema->children[i]->flags, flags);
    assert_that(schema->children[i]->release && !schema->children[i]->dictionary);
}

static void check_layout(const struct ArrowArray *array, int64_t columns)
{
    assert_that(array->release && array->length > 0 && array->length <= 8192);
    assert_i64(array->null_count, 0);
    assert_i64(array->offset, 0);
    assert_i64(array->n_buffers, 1);
    assert_that(!array->buffers[0] && !array->dictionary);
    assert_i64(array->n_children, columns);
    for (int64_t c = 0; c < columns; c++) {
        const struct ArrowArray *child = array->children[c];
        int64_t nulls = 0;

        assert_that(child->release && !child->dictionary && !child->children);
        assert_i64(child->length, array->length);
        assert_i64(child->offset, 0);
        assert_i64(child->n_children, 0);
        for (int64_t i = 0; child->buffers[0] && i < child->length; i++)
            nulls += !(((const uint8_t *)child->buffers[0])[i / 8] >> i % 8 & 1);
        assert_i64(child->null_count, nulls);
        assert_that((child->buffers[0] != NULL) == (nulls > 0));
    }
}

static void check_real(const struct ArrowArray *array, int64_t column, int64_t row,
                       int present, double wanted)
{
    double got = 0;

    assert_i64(get_cell(array, column, row, &got), present);
    if (present)
        assert_same(got, wanted);
}

static void check_whole(const struct ArrowArray *array, int64_t column, int64_t row,
                        int present, int64_t wanted)
{
    int64_t got = 0;

    assert_i64(get_cell(array, column, row, &got), present);
    if (present)
        assert_i64(got, wanted);
}

static void check_metric_row(const struct ArrowArray *array, int64_t row,
                             const tw_analysis *analysis, const tw_metric_row *metric,
                             const tw_summary *s)
{
    static const double q[] = {0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999};
    static const char *const groups[] = {[TW_GROUP_EFFECTIVE] = "EFFECTIVE",
                                         [TW_GROUP_ACTIVE] = "ACTIVE",
                                         [TW_GROUP_DEFAULT] = "DEFAULT"};
    const int ranked = metric->kind != TW_KIND_SCALAR;
    double values[10] = {0};
    char text[64];

    get_text(array, 0, row, text, sizeof text);
    assert_text(text, metric->tag);
    get_text(array, 1, row, text, sizeof text);
    assert_text(text, groups[metric->group]);
    get_text(array, 2, row, text, sizeof text);
    assert_text(text, metric->header);
    get_text(array, 3, row, text, sizeof text);
    assert_text(text, metric->unit);
    check_real(array, 4, row, !!(s->fields & TW_HAS_AVG), s->avg);
    check_real(array, 5, row, !!(s->fields & TW_HAS_MIN), s->min);
    check_real(array, 6, row, !!(s->fields & TW_HAS_MAX), s->max);
    check_real(array, 7, row, !!(s->fields & TW_HAS_STD), s->std);
    if (ranked)
        assert_ok(tw_analysis_quantiles(analysis, metric->id, q, values, 10));
    for (int i = 0; i < 10; i++)
        check_real(array, 8 + i, row, ranked, values[i]);
    check_whole(array, 18, row, !!(s->fields & TW_HAS_COUNT), (int64_t)s->count);
    check_real(array, 19, row, !!(s->fields & TW_HAS_SUM), s->sum);
    check_whole(array, 20, row, !!(s->fields & TW_HAS_ACTIVE), s->active_ns);
    check_real(array, 21, row, !!(s->fields & TW_HAS_ACTIVE),
               (double)s->active_ns / (double)s->weight_ns);
}

START_TEST(metrics)
{
    static const char *const columns[] = {"metric",    "group",
                                          "header",    "unit",
                                          "avg",       "min",
                                          "max",       "std",
                                          "p1",        "p5",
                                          "p10",       "p25",
                                          "p50",       "p75",
                                          "p90",       "p95",
                                          "p99",       "p99.9",
                                          "count",     "sum",
                                          "active_ns", "active_fraction"};
    memory of_records, m;
    tw_recorder *recorder = make_run(&of_records);
    tw_analysis *analysis = analysis_in(&m, recorder);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array, end;
    int64_t row = 0;

    assert_ok(tw_arrow_metrics(&stream, analysis));
    assert_i64(stream.get_schema(&stream, &schema), 0);
    array = next_array(&stream);
    end = next_array(&stream);
    assert_that(!end.release);
    end = next_array(&stream);
    assert_that(!end.release); /* it stays at its end */
    stream.release(&stream);
    assert_that(!stream.release);

    assert_text(schema.format, "+s");
    assert_i64(schema.n_children, 22);
    for (int64_t i = 0; i < 22; i++)
        check_field(&schema, i, columns[i],
                    i < 4                ? "u"
                    : i == 18 || i == 20 ? "l"
                                         : "g",
                    i < 4 ? 0 : ARROW_FLAG_NULLABLE);
    check_layout(&array, 22);
    for (size_t i = 0; i < tw_metric_count(); i++) {
        tw_metric_row metric = {.struct_size = sizeof metric};
        tw_summary summary = {.struct_size = sizeof summary};

        assert_ok(tw_metric_info(i, &metric));
        vocabulary_context("%s", metric.tag);
        if (tw_analysis_summary(analysis, metric.id, &summary) == TW_OK)
            check_metric_row(&array, row++, analysis, &metric, &summary);
    }
    vocabulary_context("all");
    assert_i64(row, array.length);
    assert_that(row > 25);
    array.release(&array);
    schema.release(&schema);
    assert_that(!array.release && !schema.release);
    tw_analysis_free(analysis);
    memory_done(&m);
    tw_recorder_free(recorder);
    memory_done(&of_records);
}
END_TEST

/* Nothing is emitted: a type, and no rows. */
START_TEST(metrics_of_nothing)
{
    tw_analysis *analysis = analysis_of(NULL, 0, NULL);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;

    assert_ok(tw_arrow_metrics(&stream, analysis));
    tw_analysis_free(analysis);
    assert_i64(stream.get_schema(&stream, &schema), 0);
    assert_i64(schema.n_children, 21);
    schema.release(&schema);
    array = next_array(&stream);
    assert_that(!array.release);
    stream.release(&stream);
}
END_TEST

static int64_t check_segments(struct ArrowArrayStream *stream, const tw_segment *wanted,
                              size_t count)
{
    int64_t arrays = 0;
    size_t seen = 0;

    for (;; arrays++) {
        struct ArrowArray array = next_array(stream);

        if (!array.release)
            break;
        check_layout(&array, 3);
        assert_that(seen + (size_t)array.length <= count);
        for (int64_t i = 0; i < array.length; i++, seen++) {
            check_whole(&array, 0, i, 1, wanted[seen].begin_ns);
            check_whole(&array, 1, i, 1, wanted[seen].end_ns);
            check_real(&array, 2, i, 1, wanted[seen].value);
        }
        array.release(&array);
    }
    assert_u64(seen, count);
    return arrays;
}

/* Read after all that it was made of is gone. */
START_TEST(curves)
{
    enum { MOST = 3 * RUN };
    static const int32_t all[] = {TW_EFFECTIVE_CONCURRENCY, TW_ACTIVE_PREFILL_THROUGHPUT,
                                  TW_EFFECTIVE_QUEUE_DEPTH};
    tw_segment *segments = malloc(MOST * sizeof *segments);

    assert_that(segments);
    for (size_t k = 0; k < 3; k++) {
        memory of_records, m;
        tw_recorder *recorder = make_run(&of_records);
        tw_analysis *analysis = analysis_in(&m, recorder);
        struct ArrowArrayStream stream;
        struct ArrowSchema schema;
        size_t count;
        int64_t next;

        vocabulary_context("metric %d", (int)all[k]);
        assert_ok(tw_analysis_curve(analysis, all[k], INT64_MIN, segments, MOST,
                                    sizeof *segments, &count, &next));
        assert_that(count < MOST);
        assert_ok(tw_arrow_curve(&stream, analysis, all[k]));
        tw_analysis_free(analysis);
        tw_recorder_free(recorder);
        assert_i64(stream.get_schema(&stream, &schema), 0);
        assert_i64(schema.n_children, 3);
        check_field(&schema, 0, "begin_ns", "l", 0);
        check_field(&schema, 1, "end_ns", "l", 0);
        check_field(&schema, 2, "value", "g", 0);
        schema.release(&schema);
        assert_i64(check_segments(&stream, segments, count),
                   (int64_t)((count + 8191) / 8192));
        assert_that(k || count > 2 * 8192);
        stream.release(&stream);
        memory_done(&m);
        memory_done(&of_records);
    }
    free(segments);
}
END_TEST

START_TEST(series)
{
    enum { BINS = 20000 };
    memory of_records, m;
    tw_recorder *recorder = make_run(&of_records);
    tw_analysis *analysis = analysis_in(&m, recorder);
    tw_bin *bins = malloc(BINS * sizeof *bins);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    size_t seen = 0, empty = 0;

    assert_that(bins);
    assert_ok(tw_analysis_series(analysis, TW_ACTIVE_PREFILL_THROUGHPUT, -5000, 501, bins,
                                 BINS, sizeof *bins));
    assert_ok(tw_arrow_series(&stream, analysis, TW_ACTIVE_PREFILL_THROUGHPUT, -5000, 501,
                              BINS));
    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
    assert_i64(stream.get_schema(&stream, &schema), 0);
    assert_i64(schema.n_children, 5);
    check_field(&schema, 0, "begin_ns", "l", 0);
    check_field(&schema, 1, "weight_ns", "l", 0);
    check_field(&schema, 2, "mean", "g", ARROW_FLAG_NULLABLE);
    check_field(&schema, 3, "min", "g", ARROW_FLAG_NULLABLE);
    check_field(&schema, 4, "max", "g", ARROW_FLAG_NULLABLE);
    schema.release(&schema);
    for (;;) {
        struct ArrowArray array = next_array(&stream);

        if (!array.release)
            break;
        check_layout(&array, 5);
        for (int64_t i = 0; i < array.length; i++, seen++) {
            const tw_bin *bin = &bins[seen];
            const int present = bin->weight_ns != 0;

            vocabulary_context("bin %zu", seen);
            assert_that(seen < BINS);
            check_whole(&array, 0, i, 1, bin->begin_ns);
            check_whole(&array, 1, i, 1, bin->weight_ns);
            check_real(&array, 2, i, present, bin->mean);
            check_real(&array, 3, i, present, bin->min);
            check_real(&array, 4, i, present, bin->max);
            empty += !present;
        }
        array.release(&array);
    }
    assert_u64(seen, BINS);
    assert_that(empty > 0 && empty < BINS);
    stream.release(&stream);
    free(bins);
    memory_done(&m);
    memory_done(&of_records);
}
END_TEST

START_TEST(results_refused)
{
    const tw_record one = record(0, NEVER, 10, UNKNOWN, UNKNOWN);
    tw_analysis *analysis = analysis_of(&one, 1, NULL);
    struct ArrowArrayStream stream, untouched;

    memset(&stream, 0x55, sizeof stream);
    untouched = stream;
    assert_status(tw_arrow_metrics(NULL, analysis), TW_ERR_INVAL);
    assert_status(tw_arrow_metrics(&stream, NULL), TW_ERR_INVAL);
    assert_status(tw_arrow_curve(NULL, analysis, TW_EFFECTIVE_CONCURRENCY), TW_ERR_INVAL);
    assert_status(tw_arrow_curve(&stream, NULL, TW_EFFECTIVE_CONCURRENCY), TW_ERR_INVAL);
    assert_status(tw_arrow_curve(&stream, analysis, TW_REQUEST_LATENCY), TW_ERR_NOTSUP);
    assert_status(tw_arrow_curve(&stream, analysis, -1), TW_ERR_NOTSUP);
    assert_status(tw_arrow_curve(&stream, analysis, TW_TOKENS_IN_FLIGHT), TW_ERR_NODATA);
    assert_status(tw_arrow_series(NULL, analysis, TW_EFFECTIVE_CONCURRENCY, 0, 1, 1),
                  TW_ERR_INVAL);
    assert_status(tw_arrow_series(&stream, NULL, TW_EFFECTIVE_CONCURRENCY, 0, 1, 1),
                  TW_ERR_INVAL);
    assert_status(tw_arrow_series(&stream, analysis, TW_REQUEST_COUNT, 0, 1, 1),
                  TW_ERR_NOTSUP);
    assert_status(tw_arrow_series(&stream, analysis, TW_TOKENS_IN_FLIGHT, 0, 1, 1),
                  TW_ERR_NODATA);
    assert_status(tw_arrow_series(&stream, analysis, TW_TOKENS_IN_FLIGHT, 0, 0, 1),
                  TW_ERR_INVAL);
    assert_status(tw_arrow_series(&stream, analysis, TW_EFFECTIVE_CONCURRENCY, 0, -1, 1),
                  TW_ERR_INVAL);
    assert_status(
        tw_arrow_series(&stream, analysis, TW_EFFECTIVE_CONCURRENCY, limit, 1, 1),
        TW_ERR_INVAL);
    assert_status(
        tw_arrow_series(&stream, analysis, TW_EFFECTIVE_CONCURRENCY, 0, 1, UINT64_MAX),
        TW_ERR_INVAL);
    assert_that(memcmp(&stream, &untouched, sizeof stream) == 0);
    assert_ok(tw_arrow_series(&stream, analysis, TW_EFFECTIVE_CONCURRENCY, 0, 1, 0));
    assert_that(!next_array(&stream).release);
    stream.release(&stream);
    tw_analysis_free(analysis);
}
END_TEST

/* Children that are moved out live on without their parent; all in any order. */
START_TEST(children_are_moved)
{
    memory of_records, m;
    tw_recorder *recorder = make_run(&of_records);
    tw_analysis *analysis = analysis_in(&m, recorder);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema, name;
    struct ArrowArray array, tags, averages;
    double average;

    assert_ok(tw_arrow_metrics(&stream, analysis));
    assert_i64(stream.get_schema(&stream, &schema), 0);
    array = next_array(&stream);
    stream.release(&stream);
    tw_analysis_free(analysis);
    tags = *array.children[0];
    array.children[0]->release = NULL;
    averages = *array.children[4];
    array.children[4]->release = NULL;
    array.release(&array);
    name = *schema.children[4];
    schema.children[4]->release = NULL;
    schema.release(&schema);
    assert_that(atomic_load(&m.live_blocks) == 2);
    assert_text(name.name, "avg");
    assert_that(memcmp(tags.buffers[2], "effective_concurrency", 21) == 0);
    tags.release(&tags);
    assert_that(!tags.release);
    memcpy(&average, averages.buffers[1], sizeof average);
    assert_that(average > 1);
    averages.release(&averages);
    name.release(&name);
    memory_done(&m);
    tw_recorder_free(recorder);
    memory_done(&of_records);
}
END_TEST

/* A curve that was exported is no set of records, and says so. */
START_TEST(results_are_no_records)
{
    const tw_record one = record(0, NEVER, 10, UNKNOWN, UNKNOWN);
    tw_analysis *analysis = analysis_of(&one, 1, NULL);
    tw_recorder *recorder = recorder_new();
    struct ArrowArrayStream stream;

    assert_ok(tw_arrow_curve(&stream, analysis, TW_EFFECTIVE_CONCURRENCY));
    tw_analysis_free(analysis);
    assert_status(tw_recorder_append_arrow_stream(recorder, &stream, 0, NULL),
                  TW_ERR_INVAL);
    assert_text(tw_recorder_arrow_error(recorder), "start_ns: there is no such column");
    tw_recorder_free(recorder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arrow");
    TCase *values = vocabulary_case(suite, "values"),
          *chunks = vocabulary_case(suite, "chunks"),
          *refusals = vocabulary_case(suite, "refusals"),
          *in = vocabulary_case(suite, "streams in"),
          *out = vocabulary_case(suite, "results");

    tcase_add_test(values, times);
    tcase_add_test(values, token_counts);
    tcase_add_test(values, statuses);
    tcase_add_test(values, dictionaries);
    tcase_add_test(values, dictionary_slices);
    tcase_add_test(values, statuses_that_are_none);
    tcase_add_test(values, streaming);
    tcase_add_test(values, offsets_add_up);
    tcase_add_test(values, null_counts);
    tcase_add_test(values, null_rows);
    tcase_add_test(values, no_rows);
    tcase_add_test(values, other_columns);
    tcase_add_test(values, random_types);
    tcase_add_test(chunks, chunk_lists);
    tcase_add_test(chunks, chunk_items_not_aligned);
    tcase_add_test(chunks, chunk_gaps);
    tcase_add_test(chunks, chunk_rules);
    tcase_add_test(chunks, chunk_counts_beyond_belief);
    tcase_add_test(refusals, contradictions);
    tcase_add_test(refusals, rows_are_named);
    tcase_add_test(refusals, always_released);
    tcase_add_test(in, streams);
    tcase_add_test(in, streams_are_all_or_nothing);
    tcase_add_test(in, streams_that_fail);
    tcase_add_test(out, metrics);
    tcase_add_test(out, metrics_of_nothing);
    tcase_add_test(out, curves);
    tcase_add_test(out, series);
    tcase_add_test(out, results_refused);
    tcase_add_test(out, children_are_moved);
    tcase_add_test(out, results_are_no_records);
    return vocabulary_main(suite);
}
