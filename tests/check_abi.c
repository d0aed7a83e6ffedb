/* SPDX-License-Identifier: MIT */
/* The layouts of 0.1, frozen: never edit a struct of this file. Today's library is called
 * with yesterday's structs at the end of heap blocks of their exact size, so that a byte
 * read or written too far is seen by a sanitizer, and with tomorrow's. */

#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "vocabulary.h"

/* ---- Layouts of 0.1 ---------------------------------------------------------------- */

struct allocator_0_1 {
    uint32_t struct_size, flags;
    void *user_data;
    void *(*alloc)(void *, size_t, size_t);
    void (*free)(void *, void *, size_t, size_t);
};

struct record_0_1 {
    int64_t credit_issued_ns, start_ns, generation_start_ns, end_ns;
    int64_t input_tokens, output_tokens;
    const int64_t *chunk_arrival_ns, *chunk_tokens;
    uint64_t chunk_count;
    int32_t status;
    uint32_t flags;
};

struct column_0_1 {
    const void *values;
    const uint8_t *validity;
    uint64_t stride;
    uint32_t flags, reserved;
};

struct columns_0_1 {
    uint32_t struct_size, flags;
    uint64_t count;
    struct column_0_1 credit_issued_ns, start_ns, generation_start_ns, end_ns;
    struct column_0_1 input_tokens, output_tokens, status, record_flags;
    const uint64_t *chunk_offsets;
    const int64_t *chunk_arrival_ns, *chunk_tokens;
    uint64_t chunk_value_count;
};

struct recorder_options_0_1 {
    uint32_t struct_size, flags;
    const void *allocator;
};

struct clock_0_1 {
    uint32_t struct_size, flags;
    int64_t offset_ns;
};

struct balance_0_1 {
    uint32_t struct_size, flags;
    uint64_t issued, ok, failed, cancelled, in_flight, refused;
    uint64_t credit_after_start, chunk_tokens_ignored;
    uint64_t refused_by_rule[32];
    uint64_t overlapping, members, cut_at_begin, cut_at_end;
};

struct error_0_1 {
    uint32_t struct_size;
    int32_t status, rule, field;
    uint64_t row, index;
    int64_t value_a, value_b;
};

struct metric_row_0_1 {
    uint32_t struct_size;
    int32_t id, group, kind, mask, better;
    const char *tag, *header, *unit, *description;
};

struct options_0_1 {
    uint32_t struct_size, flags;
    int64_t window_begin_ns, window_end_ns;
    int32_t kernel;
    uint32_t threads;
    int32_t (*executor)(void *, void (*)(void *, uint32_t), void *, uint32_t);
    void *executor_data;
    const double *quantiles;
    const void *allocator;
    uint64_t quantile_count;
};

struct summary_0_1 {
    uint32_t struct_size, fields, flags, reserved;
    double error_bound, avg, min, max, std, sum;
    int64_t weight_ns, active_ns;
    uint64_t count;
};

struct report_options_0_1 {
    uint32_t struct_size, flags;
    const char *const *counter_names;
    const uint64_t *counter_values;
    uint64_t counter_count;
};

/* Where a member lies and how large it is, then and now. */
#define SAME(then, now, member)                                                     \
    do {                                                                            \
        assert_u64(offsetof(now, member), offsetof(struct then, member));           \
        assert_u64(sizeof(((now *)0)->member), sizeof(((struct then *)0)->member)); \
    } while (0)

START_TEST(members_stay_where_they_were)
{
    SAME(allocator_0_1, tw_allocator, struct_size);
    SAME(allocator_0_1, tw_allocator, flags);
    SAME(allocator_0_1, tw_allocator, user_data);
    SAME(allocator_0_1, tw_allocator, alloc);
    SAME(allocator_0_1, tw_allocator, free);

    SAME(record_0_1, tw_record, credit_issued_ns);
    SAME(record_0_1, tw_record, start_ns);
    SAME(record_0_1, tw_record, generation_start_ns);
    SAME(record_0_1, tw_record, end_ns);
    SAME(record_0_1, tw_record, input_tokens);
    SAME(record_0_1, tw_record, output_tokens);
    SAME(record_0_1, tw_record, chunk_arrival_ns);
    SAME(record_0_1, tw_record, chunk_tokens);
    SAME(record_0_1, tw_record, chunk_count);
    SAME(record_0_1, tw_record, status);
    SAME(record_0_1, tw_record, flags);

    /* A column lies inside tw_columns: it can never grow. */
    assert_u64(sizeof(tw_column), sizeof(struct column_0_1));
    SAME(column_0_1, tw_column, values);
    SAME(column_0_1, tw_column, validity);
    SAME(column_0_1, tw_column, stride);
    SAME(column_0_1, tw_column, flags);
    SAME(column_0_1, tw_column, reserved);

    SAME(columns_0_1, tw_columns, struct_size);
    SAME(columns_0_1, tw_columns, flags);
    SAME(columns_0_1, tw_columns, count);
    SAME(columns_0_1, tw_columns, credit_issued_ns);
    SAME(columns_0_1, tw_columns, start_ns);
    SAME(columns_0_1, tw_columns, generation_start_ns);
    SAME(columns_0_1, tw_columns, end_ns);
    SAME(columns_0_1, tw_columns, input_tokens);
    SAME(columns_0_1, tw_columns, output_tokens);
    SAME(columns_0_1, tw_columns, status);
    SAME(columns_0_1, tw_columns, record_flags);
    SAME(columns_0_1, tw_columns, chunk_offsets);
    SAME(columns_0_1, tw_columns, chunk_arrival_ns);
    SAME(columns_0_1, tw_columns, chunk_tokens);
    SAME(columns_0_1, tw_columns, chunk_value_count);

    SAME(recorder_options_0_1, tw_recorder_options, struct_size);
    SAME(recorder_options_0_1, tw_recorder_options, flags);
    SAME(recorder_options_0_1, tw_recorder_options, allocator);

    SAME(clock_0_1, tw_clock, struct_size);
    SAME(clock_0_1, tw_clock, flags);
    SAME(clock_0_1, tw_clock, offset_ns);

    SAME(balance_0_1, tw_balance, struct_size);
    SAME(balance_0_1, tw_balance, flags);
    SAME(balance_0_1, tw_balance, issued);
    SAME(balance_0_1, tw_balance, ok);
    SAME(balance_0_1, tw_balance, failed);
    SAME(balance_0_1, tw_balance, cancelled);
    SAME(balance_0_1, tw_balance, in_flight);
    SAME(balance_0_1, tw_balance, refused);
    SAME(balance_0_1, tw_balance, credit_after_start);
    SAME(balance_0_1, tw_balance, chunk_tokens_ignored);
    SAME(balance_0_1, tw_balance, refused_by_rule);
    SAME(balance_0_1, tw_balance, overlapping);
    SAME(balance_0_1, tw_balance, members);
    SAME(balance_0_1, tw_balance, cut_at_begin);
    SAME(balance_0_1, tw_balance, cut_at_end);

    SAME(error_0_1, tw_error, struct_size);
    SAME(error_0_1, tw_error, status);
    SAME(error_0_1, tw_error, rule);
    SAME(error_0_1, tw_error, field);
    SAME(error_0_1, tw_error, row);
    SAME(error_0_1, tw_error, index);
    SAME(error_0_1, tw_error, value_a);
    SAME(error_0_1, tw_error, value_b);

    SAME(metric_row_0_1, tw_metric_row, struct_size);
    SAME(metric_row_0_1, tw_metric_row, id);
    SAME(metric_row_0_1, tw_metric_row, group);
    SAME(metric_row_0_1, tw_metric_row, kind);
    SAME(metric_row_0_1, tw_metric_row, mask);
    SAME(metric_row_0_1, tw_metric_row, better);
    SAME(metric_row_0_1, tw_metric_row, tag);
    SAME(metric_row_0_1, tw_metric_row, header);
    SAME(metric_row_0_1, tw_metric_row, unit);
    SAME(metric_row_0_1, tw_metric_row, description);

    SAME(options_0_1, tw_options, struct_size);
    SAME(options_0_1, tw_options, flags);
    SAME(options_0_1, tw_options, window_begin_ns);
    SAME(options_0_1, tw_options, window_end_ns);
    SAME(options_0_1, tw_options, kernel);
    SAME(options_0_1, tw_options, threads);
    SAME(options_0_1, tw_options, executor);
    SAME(options_0_1, tw_options, executor_data);
    SAME(options_0_1, tw_options, quantiles);
    SAME(options_0_1, tw_options, allocator);
    SAME(options_0_1, tw_options, quantile_count);

    SAME(summary_0_1, tw_summary, struct_size);
    SAME(summary_0_1, tw_summary, fields);
    SAME(summary_0_1, tw_summary, flags);
    SAME(summary_0_1, tw_summary, reserved);
    SAME(summary_0_1, tw_summary, error_bound);
    SAME(summary_0_1, tw_summary, avg);
    SAME(summary_0_1, tw_summary, min);
    SAME(summary_0_1, tw_summary, max);
    SAME(summary_0_1, tw_summary, std);
    SAME(summary_0_1, tw_summary, sum);
    SAME(summary_0_1, tw_summary, weight_ns);
    SAME(summary_0_1, tw_summary, active_ns);
    SAME(summary_0_1, tw_summary, count);

    SAME(report_options_0_1, tw_report_options, struct_size);
    SAME(report_options_0_1, tw_report_options, flags);
    SAME(report_options_0_1, tw_report_options, counter_names);
    SAME(report_options_0_1, tw_report_options, counter_values);
    SAME(report_options_0_1, tw_report_options, counter_count);
}
END_TEST

START_TEST(numbers_stay_what_they_were)
{
    const int32_t statuses[] = {TW_OK,         TW_ERR_NOMEM,  TW_ERR_INVAL, TW_ERR_RANGE,
                                TW_ERR_NODATA, TW_ERR_NOTSUP, TW_ERR_IO,    TW_ERR_ABI};
    const int32_t rules[] = {TW_RULE_NONE,
                             TW_RULE_START_MISSING,
                             TW_RULE_TIME_RANGE,
                             TW_RULE_GENERATION_BEFORE_START,
                             TW_RULE_END_BEFORE_START,
                             TW_RULE_END_BEFORE_GENERATION,
                             TW_RULE_END_MISSING,
                             TW_RULE_STATUS_UNKNOWN,
                             TW_RULE_TOKENS_RANGE,
                             TW_RULE_CHUNK_ARRIVAL_MISSING,
                             TW_RULE_CHUNK_COUNT_RANGE,
                             TW_RULE_CHUNK_BEFORE_GENERATION,
                             TW_RULE_CHUNK_ORDER,
                             TW_RULE_CHUNK_AFTER_END,
                             TW_RULE_CHUNK_TOKENS_RANGE,
                             TW_RULE_NUMBER_INEXACT,
                             TW_RULE_CHUNK_TOKENS_COUNT};
    const struct {
        const char *tag;
        int32_t id;
    } metrics[] = {{"effective_concurrency", 100},
                   {"effective_decode_throughput", 101},
                   {"effective_prefill_throughput", 102},
                   {"effective_decode_concurrency", 103},
                   {"effective_prefill_concurrency", 104},
                   {"effective_total_throughput", 105},
                   {"effective_decode_throughput_per_user", 106},
                   {"effective_prefill_throughput_per_user", 107},
                   {"tokens_in_flight", 108},
                   {"effective_queue_depth", 109},
                   {"effective_latency", 130},
                   {"adj_effective_latency", 131},
                   {"active_decode_throughput", 200},
                   {"active_prefill_throughput", 201},
                   {"active_decode_throughput_per_user", 202},
                   {"active_prefill_throughput_per_user", 203},
                   {"active_total_throughput", 204},
                   {"time_to_first_token", 800},
                   {"time_to_second_token", 801},
                   {"request_latency", 802},
                   {"inter_token_latency", 803},
                   {"inter_chunk_latency", 804},
                   {"output_token_throughput_per_user", 805},
                   {"output_sequence_length", 806},
                   {"input_sequence_length", 807},
                   {"credit_to_start_latency", 808},
                   {"adj_request_latency", 809},
                   {"request_count", 840},
                   {"error_request_count", 841},
                   {"benchmark_duration", 842},
                   {"request_throughput", 843},
                   {"output_token_throughput", 844},
                   {"total_token_throughput", 845}};

    for (int32_t i = 0; i < (int32_t)(sizeof statuses / sizeof statuses[0]); i++)
        assert_i64(statuses[i], -i);
    for (int32_t i = 0; i < (int32_t)(sizeof rules / sizeof rules[0]); i++)
        assert_i64(rules[i], i);
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        int32_t id = 0;
        vocabulary_context("%s", metrics[i].tag);
        assert_ok(tw_metric_find(metrics[i].tag, &id));
        assert_i64(id, metrics[i].id);
    }
    vocabulary_context("all");
    assert_i64(TW_RULE_LIMIT, 32);
    assert_i64(TW_TIME_NONE, INT64_MIN);
    assert_i64(TW_TOKENS_NONE, -1);
    assert_i64(TW_RECORD_STREAMING, 1);
    assert_i64(TW_APPEND_SKIP_INVALID, 1);
    assert_i64(TW_WINDOW_BEGIN | TW_WINDOW_END << 4, 1 | 2 << 4);
    assert_i64(TW_FORMAT_TEXT * 100 + TW_FORMAT_CSV * 10 + TW_FORMAT_JSON, 123);
    assert_i64(TW_GROUP_EFFECTIVE * 100 + TW_GROUP_ACTIVE * 10 + TW_GROUP_DEFAULT, 128);
    assert_i64(TW_KIND_CURVE * 100 + TW_KIND_SAMPLE * 10 + TW_KIND_SCALAR, 123);
}
END_TEST

/* ---- Structs of other versions ----------------------------------------------------- */

/* A struct of `size` bytes at the end of a block of just that size, its first `known` bytes
 * copied and the rest filled with `fill`. The caller frees it. */
static void *struct_of(const void *from, size_t known, size_t size, int fill)
{
    unsigned char *block = malloc(size);

    assert_that(block != NULL);
    memset(block, fill, size);
    memcpy(block, from, known < size ? known : size);
    memcpy(block, &(uint32_t){(uint32_t)size}, size < 4 ? size : 4);
    return block;
}

/* How a call takes an in-struct of some size. */
typedef int32_t (*taker)(const void *in);

static int32_t take_recorder_options(const void *in)
{
    tw_recorder *recorder = NULL;
    const int32_t status = tw_recorder_new(&recorder, in);
    tw_recorder_free(recorder);
    return status;
}

static int32_t take_clock(const void *in)
{
    tw_recorder *recorder = recorder_new();
    const int32_t status = tw_recorder_set_clock(recorder, in);
    tw_recorder_free(recorder);
    return status;
}

static int32_t take_columns(const void *in)
{
    tw_recorder *recorder = recorder_new();
    const int32_t status = tw_recorder_append_columns(recorder, in, 0, NULL);
    tw_recorder_free(recorder);
    return status;
}

static int32_t take_options(const void *in)
{
    tw_analysis *analysis = NULL;
    const int32_t status = tw_analyze(&analysis, NULL, 0, in);
    tw_analysis_free(analysis);
    return status;
}

static int32_t take_report_options(const void *in)
{
    tw_analysis *analysis = analysis_of(NULL, 0, NULL);
    sink out = {0};
    const int32_t status = tw_report_write(analysis, TW_FORMAT_JSON, in, sink_write,
                                           &out);
    sink_free(&out);
    tw_analysis_free(analysis);
    return status;
}

static int32_t take_allocator(const void *in)
{
    const tw_recorder_options options = {sizeof options, 0, in};
    return take_recorder_options(&options);
}

START_TEST(in_structs)
{
    memory m;
    const struct recorder_options_0_1 recorder_options = {0, 0, NULL};
    const struct clock_0_1 clock = {0, 0, 5};
    const struct columns_0_1 columns = {0};
    const struct options_0_1 options = {0};
    const struct report_options_0_1 report_options = {0};
    memory_init(&m);
    {
        const struct {
            const char *name;
            taker take;
            const void *known;
            size_t size;
        } structs[] = {
            {"recorder options", take_recorder_options, &recorder_options,
             sizeof recorder_options},
            {"clock", take_clock, &clock, sizeof clock},
            {"columns", take_columns, &columns, sizeof columns},
            {"options", take_options, &options, sizeof options},
            {"report options", take_report_options, &report_options,
             sizeof report_options},
            {"allocator", take_allocator, &m.allocator, sizeof(struct allocator_0_1)},
        };

        for (size_t i = 0; i < sizeof structs / sizeof structs[0]; i++) {
            const size_t first = structs[i].size;
            const struct {
                size_t size;
                int fill;
                int32_t status;
            } cases[] = {
                {first, 0, TW_OK},          /* today's */
                {first + 8, 0, TW_OK},      /* tomorrow's, new fields not set */
                {first + 8, 1, TW_ERR_ABI}, /* tomorrow's, new fields set */
                {4096, 0, TW_OK},           /* the largest there will be */
                {4097, 0, TW_ERR_ABI},      /* no struct of this interface */
                {first - 1, 0, TW_ERR_ABI}, /* older than the first */
                {sizeof(uint32_t), 0, TW_ERR_ABI},
            };

            for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
                void *in = struct_of(structs[i].known, first, cases[c].size,
                                     cases[c].fill);
                vocabulary_context("%s of %zu bytes", structs[i].name, cases[c].size);
                assert_status(structs[i].take(in), cases[c].status);
                free(in);
            }
        }
    }
    memory_done(&m);
}
END_TEST

/* How a call fills an out-struct of some size. */
static tw_recorder *out_recorder;
static tw_analysis *out_analysis;

static int32_t fill_error(void *out)
{
    return tw_recorder_last_error(out_recorder, out);
}

static int32_t fill_balance(void *out)
{
    return tw_recorder_balance(out_recorder, out);
}

static int32_t fill_analysis_balance(void *out)
{
    return tw_analysis_balance(out_analysis, out);
}

static int32_t fill_summary(void *out)
{
    return tw_analysis_summary(out_analysis, TW_EFFECTIVE_CONCURRENCY, out);
}

static int32_t fill_metric_row(void *out)
{
    return tw_metric_info(0, out);
}

START_TEST(out_structs)
{
    const struct {
        const char *name;
        int32_t (*fill)(void *out);
        size_t size;
    } structs[] = {
        {"error", fill_error, sizeof(struct error_0_1)},
        {"balance", fill_balance, sizeof(struct balance_0_1)},
        {"balance of an analysis", fill_analysis_balance, sizeof(struct balance_0_1)},
        {"summary", fill_summary, sizeof(struct summary_0_1)},
        {"metric row", fill_metric_row, sizeof(struct metric_row_0_1)},
    };
    const tw_record one = record(0, 10, 100, 20, 11);

    out_recorder = recorder_of(&one, 1);
    out_analysis = analysis_of(&one, 1, NULL);
    for (size_t i = 0; i < sizeof structs / sizeof structs[0]; i++) {
        const size_t first = structs[i].size;
        unsigned char *today = struct_of("", 0, first, 0x55);
        unsigned char *tomorrow = struct_of("", 0, first + 8, 0x55);
        unsigned char *older = struct_of("", 0, first - 1, 0x55);
        uint32_t size;

        vocabulary_context("%s", structs[i].name);
        assert_ok(structs[i].fill(today));
        assert_ok(structs[i].fill(tomorrow));
        assert_status(structs[i].fill(older), TW_ERR_ABI);
        memcpy(&size, tomorrow, sizeof size);
        assert_u64(size, first + 8); /* the caller's stays */
        assert_that(memcmp(today + 4, tomorrow + 4, first - 4) == 0);
        for (size_t byte = first; byte < first + 8; byte++)
            assert_u64(tomorrow[byte], 0); /* not known: reads as zero */
        for (size_t byte = 4; byte < first - 1; byte++)
            assert_u64(older[byte], 0x55); /* untouched by the failure */
        free(today);
        free(tomorrow);
        free(older);
    }
    tw_analysis_free(out_analysis);
    tw_recorder_free(out_recorder);
}
END_TEST

START_TEST(records_of_other_sizes)
{
    const tw_record known = record(5, 6, 7, 8, 9);
    const size_t sizes[] = {sizeof(struct record_0_1), sizeof(struct record_0_1) + 8,
                            4096};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t size = sizes[i];
        unsigned char *array = malloc(3 * size), *back = malloc(3 * size);
        tw_recorder *recorder = recorder_new();
        size_t count = 0;

        vocabulary_context("%zu bytes", size);
        assert_that(array && back);
        memset(array, 0x55, 3 * size); /* a later field counts only with its flag */
        memset(back, 0x55, 3 * size);
        for (size_t r = 0; r < 3; r++)
            memcpy(array + r * size, &known, sizeof(struct record_0_1));
        assert_ok(
            tw_recorder_append(recorder, (tw_record *)(void *)array, 3, size, 0, &count));
        assert_u64(count, 3);
        assert_ok(
            tw_recorder_read(recorder, 0, (tw_record *)(void *)back, 3, size, &count));
        assert_u64(count, 3);
        for (size_t r = 0; r < 3; r++) {
            assert_that(memcmp(back + r * size, &known, sizeof(struct record_0_1)) == 0);
            for (size_t byte = sizeof(struct record_0_1); byte < size; byte++)
                assert_u64(back[r * size + byte], 0);
        }
        tw_recorder_free(recorder);
        free(array);
        free(back);
    }
}
END_TEST

/* As it will be when an element has grown: the library knows more than the caller. */
START_TEST(elements_of_an_older_caller)
{
    const uint64_t known[3] = {1, 2, 3};
    uint64_t *array = malloc(2 * sizeof *array), read[3] = {9, 9, 9};

    assert_that(array != NULL);
    twi_abi_write_element(array, 1, sizeof *array, known, sizeof known);
    twi_abi_write_element(array, 0, sizeof *array, known + 1, sizeof known - 8);
    assert_u64(array[0], 2);
    assert_u64(array[1], 1);
    twi_abi_read_element(read, sizeof read, array, 1, sizeof *array);
    assert_u64(read[0], 1);
    assert_u64(read[1], 0);
    assert_u64(read[2], 0);
    free(array);
}
END_TEST

START_TEST(arrays_that_overflow)
{
    const tw_record one = record(0, 10, 100, 20, 11);
    tw_recorder *recorder = recorder_of(&one, 1);
    tw_analysis *analysis = analysis_of(&one, 1, NULL);
    tw_record back;
    tw_segment segment;
    tw_bin bin;
    size_t written;
    int64_t next;

    assert_status(tw_recorder_append(recorder, &one, SIZE_MAX / 8, sizeof one, 0, NULL),
                  TW_ERR_INVAL);
    assert_status(
        tw_recorder_read(recorder, 0, &back, SIZE_MAX / 8, sizeof back, &written),
        TW_ERR_INVAL);
    assert_status(tw_analysis_curve(analysis, TW_EFFECTIVE_CONCURRENCY, 0, &segment,
                                    SIZE_MAX / 8, sizeof segment, &written, &next),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_series(analysis, TW_EFFECTIVE_CONCURRENCY, 0, 1, &bin,
                                     SIZE_MAX / 8, sizeof bin),
                  TW_ERR_INVAL);
    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(misaligned_chunks)
{
    unsigned char room[64] = {0};
    const int64_t *const odd = (const int64_t *)(const void *)(room + 1);
    const uint64_t *const odd_offsets = (const uint64_t *)(const void *)(room + 1);
    const int64_t arrivals[] = {20};
    const tw_record plain = record(0, 10, 100, 20, 11);
    const tw_record wrong[] = {with_chunks(plain, odd, NULL, 1),
                               with_chunks(plain, arrivals, odd, 1)};
    const int32_t fields[] = {TW_FIELD_CHUNK_ARRIVAL_NS, TW_FIELD_CHUNK_TOKENS};
    tw_columns columns = {.struct_size = sizeof columns, .count = 1};
    tw_recorder *recorder = recorder_new();

    for (int i = 0; i < 2; i++) {
        const tw_record both[] = {plain, wrong[i]};

        for (uint32_t flags = 0; flags <= TW_APPEND_SKIP_INVALID; flags++) {
            assert_status(
                tw_recorder_append(recorder, both, 2, sizeof both[0], flags, NULL),
                TW_ERR_INVAL);
            assert_i64(error_of(recorder).field, fields[i]);
            assert_u64(error_of(recorder).row, 1);
        }
    }
    columns.chunk_offsets = odd_offsets;
    assert_status(tw_recorder_append_columns(recorder, &columns, 0, NULL), TW_ERR_INVAL);
    assert_u64(tw_recorder_count(recorder), 0);
    assert_u64(balance_of(recorder).refused, 0);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(records_of_no_size)
{
    const tw_record known = record(5, 6, 7, 8, 9);
    const size_t sizes[] = {0, 1, sizeof(struct record_0_1) - 1, 4097, SIZE_MAX};
    tw_recorder *recorder = recorder_new();

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        tw_record back;
        size_t count = 77;
        assert_status(tw_recorder_append(recorder, &known, 1, sizes[i], 0, &count),
                      TW_ERR_ABI);
        assert_status(tw_recorder_read(recorder, 0, &back, 1, sizes[i], &count),
                      TW_ERR_ABI);
        assert_u64(count, 77);
    }
    assert_u64(tw_recorder_count(recorder), 0);
    tw_recorder_free(recorder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi");
    TCase *layout = vocabulary_case(suite, "layout");
    TCase *versions = vocabulary_case(suite, "versions");

    tcase_add_test(layout, members_stay_where_they_were);
    tcase_add_test(layout, numbers_stay_what_they_were);
    tcase_add_test(versions, in_structs);
    tcase_add_test(versions, out_structs);
    tcase_add_test(versions, records_of_other_sizes);
    tcase_add_test(versions, records_of_no_size);
    tcase_add_test(versions, elements_of_an_older_caller);
    tcase_add_test(versions, arrays_that_overflow);
    tcase_add_test(versions, misaligned_chunks);
    return vocabulary_main(suite);
}
