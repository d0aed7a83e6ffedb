/* SPDX-License-Identifier: MIT */
/* Each allocation fails once, and once it and all after it: objects stay as they were and
 * usable, and nothing is lost. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "vocabulary.h"

/* ---- Records ----------------------------------------------------------------------- */

enum { FIRST = 1500, SECOND = 2000, COUNT = FIRST + SECOND, CHUNKS = 12 };

static tw_record records[COUNT];
static int64_t pool[COUNT][2 * CHUNKS];

static void make_records(void)
{
    uint64_t random = 1;

    for (int i = 0; i < COUNT; i++) {
        const int64_t start = random_between(&random, 0, 1000000);
        const int64_t first = start + random_between(&random, 0, 20000);
        const int64_t end = first + random_between(&random, 0, 50000);

        records[i] = with_credit(record(start, first, end,
                                        random_between(&random, 0, 999),
                                        random_between(&random, 0, 99)),
                                 start - random_between(&random, 0, 3000));
        records[i].status = i % 7 == 0   ? TW_RECORD_FAILED
                            : i % 9 == 0 ? TW_RECORD_CANCELLED
                                         : TW_RECORD_OK;
        if (i % 50 == 1 && records[i].status == TW_RECORD_OK)
            records[i].end_ns = NEVER;
        if (i % 3 == 0) {
            for (int k = 0; k < CHUNKS; k++) {
                pool[i][k] = k ? pool[i][k - 1] : first;
                pool[i][k] += random_between(&random, 0, (end - pool[i][k]) / 2);
                pool[i][CHUNKS + k] = random_between(&random, 0, 9);
            }
            records[i] = with_chunks(records[i], pool[i], i % 2 ? pool[i] + CHUNKS : NULL,
                                     CHUNKS);
        }
    }
}

static void take_of(results *all, const tw_recorder *recorder)
{
    tw_recorder *const list = (tw_recorder *)(uintptr_t)recorder;
    tw_analysis *analysis = analysis_new(&list, 1, NULL);

    assert_ok(results_take_at_hand(all, analysis));
    tw_analysis_free(analysis);
}

/* Fails from the n-th allocation on: that one alone, or all. */
static void let_fail(memory *m, uint64_t n, int all)
{
    if (all)
        memory_fail_from(m, n);
    else
        memory_fail_nth(m, n);
}

/* ---- Recorders --------------------------------------------------------------------- */

START_TEST(recorder_new_fails)
{
    int32_t status = TW_ERR_NOMEM;

    for (uint64_t n = 1; status; n++) {
        memory m;
        const tw_recorder_options options = {sizeof options, 0, &m.allocator};
        tw_recorder *const untouched = (tw_recorder *)(void *)&m;
        tw_recorder *recorder = untouched;

        memory_init(&m);
        memory_fail_nth(&m, n);
        status = tw_recorder_new(&recorder, &options);
        if (status) {
            assert_status(status, TW_ERR_NOMEM);
            assert_that(recorder == untouched);
        } else {
            assert_that(n > 1);
            tw_recorder_free(recorder);
        }
        memory_done(&m);
    }
}
END_TEST

static results untouched, now, complete;

/* How to append the second part. */
enum way { ALL_OR_NOTHING, SKIPPING, BY_COLUMNS, ONE_BY_ONE, BY_ARROW, BY_STREAM, WAYS };

static tw_columns columns_of(const tw_record *r, size_t count, uint64_t *offsets,
                             int64_t *arrivals)
{
    const uint64_t stride = sizeof *r;

    for (size_t i = 0; i < count; i++) {
        offsets[i + 1] = offsets[i] + r[i].chunk_count;
        for (uint64_t k = 0; k < r[i].chunk_count; k++)
            arrivals[offsets[i] + k] = r[i].chunk_arrival_ns[k];
    }
    return (tw_columns){
        .struct_size = sizeof(tw_columns),
        .count = count,
        .credit_issued_ns = {.values = &r->credit_issued_ns, .stride = stride},
        .start_ns = {.values = &r->start_ns, .stride = stride},
        .generation_start_ns = {.values = &r->generation_start_ns, .stride = stride},
        .end_ns = {.values = &r->end_ns, .stride = stride},
        .input_tokens = {.values = &r->input_tokens, .stride = stride},
        .output_tokens = {.values = &r->output_tokens, .stride = stride},
        .status = {.values = &r->status, .stride = stride},
        .chunk_offsets = offsets,
        .chunk_arrival_ns = arrivals,
        .chunk_value_count = offsets[count],
    };
}

/* Buffers of an array of records, whose chunks are gaps, so that they need a copy. */
typedef struct arrow_buffers {
    int64_t field[6][SECOND];
    uint8_t valid[6][SECOND / 8 + 1], has_tokens[SECOND / 8 + 1];
    int32_t offsets[SECOND + 1];
    int64_t gaps[SECOND * CHUNKS], tokens[SECOND * CHUNKS];
    uint8_t status[SECOND];
    batch b;
} arrow_buffers;

/* The first time; the records are always the same. */
static void fill_arrow(arrow_buffers *a, const tw_record *r, int count)
{
    static const char *const names[] = {"credit_issued_ns",    "start_ns",
                                        "generation_start_ns", "end_ns",
                                        "input_tokens",        "output_tokens"};
    static const int32_t words[] = {0, 2, 8, 17};

    a->b.array_releases = a->b.schema_releases = 0;
    if (a->b.columns)
        return;
    batch_init(&a->b, count);
    for (int i = 0; i < count; i++) {
        const int64_t values[] = {r[i].credit_issued_ns,    r[i].start_ns,
                                  r[i].generation_start_ns, r[i].end_ns,
                                  r[i].input_tokens,        r[i].output_tokens};
        int64_t last = r[i].generation_start_ns;
        int32_t at = a->offsets[i];

        for (int f = 0; f < 6; f++) {
            a->field[f][i] = values[f];
            if (values[f] != (f < 4 ? TW_TIME_NONE : TW_TOKENS_NONE))
                a->valid[f][i / 8] |= (uint8_t)(1 << i % 8);
        }
        if (r[i].chunk_tokens)
            a->has_tokens[i / 8] |= (uint8_t)(1 << i % 8);
        a->status[i] = (uint8_t)r[i].status;
        for (uint64_t k = 0; k < r[i].chunk_count; k++, at++) {
            a->gaps[at] = r[i].chunk_arrival_ns[k] - last;
            a->tokens[at] = r[i].chunk_tokens ? r[i].chunk_tokens[k] : 0;
            last = r[i].chunk_arrival_ns[k];
        }
        a->offsets[i + 1] = at;
    }
    for (int f = 0; f < 6; f++)
        (void)batch_add(&a->b, names[f], "l", a->valid[f], a->field[f]);
    (void)batch_add(&a->b, "status", "C", NULL, a->status);
    (void)batch_add_dictionary(&a->b, "u", 3, words, "okfailedcancelled");
    (void)batch_add(&a->b, "chunk_arrival_ns", "+l", NULL, a->offsets);
    (void)batch_add_items(&a->b, "tDn", a->offsets[count], NULL, a->gaps);
    (void)batch_add(&a->b, "chunk_tokens", "+l", a->has_tokens, a->offsets);
    (void)batch_add_items(&a->b, "l", a->offsets[count], NULL, a->tokens);
}

static int32_t append_arrow(tw_recorder *recorder, size_t *accepted)
{
    static arrow_buffers all;
    struct ArrowSchema schema;
    struct ArrowArray array;
    int32_t status;

    fill_arrow(&all, records + FIRST, SECOND);
    schema = batch_schema(&all.b);
    array = batch_array(&all.b);
    status = tw_recorder_append_arrow(recorder, &schema, &array, 0, accepted);
    assert_i64(all.b.array_releases, 1);
    return status;
}

static int32_t append_stream(tw_recorder *recorder, size_t *accepted)
{
    enum { PART = SECOND / 2 };
    static arrow_buffers parts[2];
    batch *const list[] = {&parts[0].b, &parts[1].b};
    feed f = {.batches = list, .count = 2};
    struct ArrowArrayStream stream = feed_stream(&f);
    int32_t status;

    fill_arrow(&parts[0], records + FIRST, PART);
    fill_arrow(&parts[1], records + FIRST + PART, PART);
    status = tw_recorder_append_arrow_stream(recorder, &stream, 0, accepted);
    assert_i64(f.releases, 1);
    assert_i64(parts[0].b.schema_releases, 1);
    for (int i = 0; i < 2; i++)
        assert_i64(parts[i].b.array_releases, i < f.next);
    return status;
}

static int32_t append_second(tw_recorder *recorder, int way, size_t *accepted)
{
    static uint64_t offsets[SECOND + 1];
    static int64_t arrivals[SECOND * CHUNKS + 1];
    tw_columns columns;
    int32_t status = TW_OK;

    switch (way) {
    case BY_COLUMNS:
        columns = columns_of(records + FIRST, SECOND, offsets, arrivals);
        return tw_recorder_append_columns(recorder, &columns, 0, accepted);
    case ONE_BY_ONE: /* only the last of them fails */
        while (!status && tw_recorder_count(recorder) < COUNT)
            status = tw_recorder_append(recorder, &records[tw_recorder_count(recorder)],
                                        1, sizeof *records, 0, NULL);
        return status;
    case BY_ARROW:
        return append_arrow(recorder, accepted);
    case BY_STREAM:
        return append_stream(recorder, accepted);
    default:
        return tw_recorder_append(recorder, records + FIRST, SECOND, sizeof *records,
                                  way == SKIPPING ? TW_APPEND_SKIP_INVALID : 0, accepted);
    }
}

START_TEST(append_fails)
{
    const int way = _i / 2, all = _i % 2;
    int32_t status = TW_ERR_NOMEM;
    uint64_t n;

    make_records();
    {
        tw_recorder *recorder = recorder_of(records, FIRST);
        take_of(&untouched, recorder);
        assert_ok(append_second(recorder, way, NULL));
        take_of(&complete, recorder);
        tw_recorder_free(recorder);
    }
    for (n = 1; status; n++) {
        memory m;
        tw_recorder *recorder = recorder_in(&m);
        size_t accepted = 77;

        vocabulary_context("way %d, allocation %d fails%s", way, (int)n,
                           all ? " and all after it" : "");
        recorder_append(recorder, records, FIRST);
        let_fail(&m, n, all);
        status = append_second(recorder, way, &accepted);
        memory_fail_never(&m);
        if (status) {
            assert_status(status, TW_ERR_NOMEM);
            assert_u64(accepted, 77);
            assert_i64(error_of(recorder).status, TW_ERR_NOMEM);
            assert_u64(tw_recorder_memory(recorder), atomic_load(&m.live_bytes));
            if (way != ONE_BY_ONE) {
                assert_u64(tw_recorder_count(recorder), FIRST);
                take_of(&now, recorder);
                assert_same_results(&now, &untouched);
                assert_same_balance(&now.balance, &untouched.balance);
            }
            assert_ok(append_second(recorder, way, NULL));
        }
        assert_u64(tw_recorder_count(recorder), COUNT);
        take_of(&now, recorder);
        assert_same_results(&now, &complete);
        assert_same_balance(&now.balance, &complete.balance);
        tw_recorder_free(recorder);
        memory_done(&m);
    }
    assert_that(n > 4); /* blocks, their tables of chunks, slabs */
}
END_TEST

START_TEST(reserve_fails)
{
    const int all = _i;
    int32_t status = TW_ERR_NOMEM;
    uint64_t n;

    make_records();
    {
        tw_recorder *recorder = recorder_of(records, FIRST);
        take_of(&untouched, recorder);
        recorder_append(recorder, records + FIRST, SECOND);
        take_of(&complete, recorder);
        tw_recorder_free(recorder);
    }
    for (n = 1; status; n++) {
        memory m;
        tw_recorder *recorder = recorder_in(&m);
        uint64_t held;

        vocabulary_context("allocation %d fails", (int)n);
        recorder_append(recorder, records, FIRST);
        held = tw_recorder_memory(recorder);
        let_fail(&m, n, all);
        status = tw_recorder_reserve(recorder, 10000);
        memory_fail_never(&m);
        if (status) {
            assert_status(status, TW_ERR_NOMEM);
            assert_u64(tw_recorder_memory(recorder), held);
            assert_u64(tw_recorder_memory(recorder), atomic_load(&m.live_bytes));
        }
        take_of(&now, recorder);
        assert_same_results(&now, &untouched);
        recorder_append(recorder, records + FIRST, SECOND);
        take_of(&now, recorder);
        assert_same_results(&now, &complete);
        tw_recorder_free(recorder);
        memory_done(&m);
    }
    assert_u64(n, (10000 + 1023) / 1024 + 1 + 1); /* and the run in which none failed */
}
END_TEST

/* ---- Analyses ---------------------------------------------------------------------- */

START_TEST(analyze_fails)
{
    enum { RECORDERS = 3, PART = 500 };
    static const double quantiles[] = {0.123, 0.999, 0.5, 0.001};
    const int all = _i;
    memory of_recorders, m;
    tw_recorder *recorders[RECORDERS];
    const tw_recorder_options recorder_options = {sizeof recorder_options, 0,
                                                  &of_recorders.allocator};
    tw_options options = options_window(1000, 900000);
    int32_t status = TW_ERR_NOMEM;
    tw_analysis *analysis;
    uint64_t n, calls, bytes;

    make_records();
    memory_init(&of_recorders);
    for (int i = 0; i < RECORDERS; i++) {
        assert_ok(tw_recorder_new(&recorders[i], &recorder_options));
        recorder_append(recorders[i], records + i * PART, PART);
    }
    options.quantiles = quantiles;
    options.quantile_count = sizeof quantiles / sizeof quantiles[0];
    analysis = analysis_new(recorders, RECORDERS, &options);
    assert_ok(results_take_at_hand(&complete, analysis));
    tw_analysis_free(analysis);
    calls = atomic_load(&of_recorders.calls);
    bytes = atomic_load(&of_recorders.live_bytes);

    for (n = 1; status; n++) {
        tw_analysis *const none = (tw_analysis *)(void *)&m;

        vocabulary_context("allocation %d fails%s", (int)n,
                           all ? " and all after it" : "");
        memory_init(&m);
        options.allocator = &m.allocator;
        analysis = none;
        let_fail(&m, n, all);
        status = tw_analyze(&analysis, recorders, RECORDERS, &options);
        if (status) {
            assert_status(status, TW_ERR_NOMEM);
            assert_that(analysis == none);
        } else {
            const uint64_t made = atomic_load(&m.calls);

            assert_ok(results_take_at_hand(&now, analysis));
            assert_same_results(&now, &complete);
            assert_same_balance(&now.balance, &complete.balance);
            assert_u64(atomic_load(&m.calls), made);
            tw_analysis_free(analysis);
        }
        memory_done(&m);
        /* An analysis takes nothing from the recorders' allocator, and leaves nothing. */
        assert_u64(atomic_load(&of_recorders.calls), calls);
        assert_u64(atomic_load(&of_recorders.live_bytes), bytes);
    }
    assert_that(n > 50);
    /* No failed analysis has kept a block: all can be filled again. */
    for (int i = 0; i < RECORDERS; i++) {
        tw_recorder_clear(recorders[i]);
        recorder_append(recorders[i], records + i * PART, PART);
        assert_u64(atomic_load(&of_recorders.calls), calls);
        tw_recorder_free(recorders[i]);
    }
    memory_done(&of_recorders);
}
END_TEST

/* ---- Streams ----------------------------------------------------------------------- */

static int32_t make_stream(struct ArrowArrayStream *stream, const tw_analysis *analysis,
                           int which)
{
    switch (which) {
    case 0:
        return tw_arrow_metrics(stream, analysis);
    case 1:
        return tw_arrow_curve(stream, analysis, TW_EFFECTIVE_CONCURRENCY);
    default:
        return tw_arrow_series(stream, analysis, TW_EFFECTIVE_CONCURRENCY, 0, 100, 9000);
    }
}

/* Reads all that a stream has, with an allocation that fails; each is tried again then.
 * The rows, or -1 if there was no stream. */
static int64_t read_stream(memory *m, const tw_analysis *analysis, int which, uint64_t n,
                           int all, int *failures)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    int64_t rows = 0;
    int code;

    let_fail(m, n, all);
    if (make_stream(&stream, analysis, which) == TW_ERR_NOMEM) {
        ++*failures;
        memory_fail_never(m);
        assert_ok(make_stream(&stream, analysis, which));
    }
    if (stream.get_schema(&stream, &schema)) {
        assert_text(stream.get_last_error(&stream), tw_strerror(TW_ERR_NOMEM));
        ++*failures;
        memory_fail_never(m);
        assert_i64(stream.get_schema(&stream, &schema), 0);
    }
    for (;;) {
        struct ArrowArray array;

        code = stream.get_next(&stream, &array);
        if (code) {
            assert_i64(code, ENOMEM);
            assert_text(stream.get_last_error(&stream), tw_strerror(TW_ERR_NOMEM));
            ++*failures;
            memory_fail_never(m);
            continue;
        }
        if (!array.release)
            break;
        rows += array.length;
        array.release(&array);
    }
    memory_fail_never(m);
    schema.release(&schema);
    stream.release(&stream);
    return rows;
}

START_TEST(stream_fails)
{
    const int which = _i / 2, all = _i % 2;
    tw_options options = options_new();
    tw_recorder *recorder;
    tw_analysis *analysis;
    memory m;
    uint64_t n, live;
    int64_t wanted;
    int failures = 0;

    make_records();
    recorder = recorder_of(records, COUNT);
    memory_init(&m);
    options.allocator = &m.allocator;
    analysis = analysis_new(&recorder, 1, &options);
    tw_recorder_free(recorder);
    live = atomic_load(&m.live_bytes);
    wanted = read_stream(&m, analysis, which, UINT32_MAX, 0, &failures);
    assert_that(wanted > 0 && failures == 0);
    for (n = 1;; n++) {
        vocabulary_context("stream %d, allocation %d fails", which, (int)n);
        failures = 0;
        assert_i64(read_stream(&m, analysis, which, n, all, &failures), wanted);
        assert_u64(atomic_load(&m.live_bytes), live);
        if (failures == 0)
            break;
        assert_i64(failures, 1);
    }
    assert_that(n >= (which == 2 ? 5 : 4)); /* stream, schema, arrays, and none */
    tw_analysis_free(analysis);
    memory_done(&m);
}
END_TEST

/* Queries and reports take no memory, whatever they ask for. */
START_TEST(queries_allocate_nothing)
{
    memory m;
    tw_options options = options_new();
    tw_recorder *recorder;
    tw_analysis *analysis;
    sink text, json;
    uint64_t calls;

    make_records();
    recorder = recorder_of(records, FIRST);
    memory_init(&m);
    options.allocator = &m.allocator;
    analysis = analysis_new(&recorder, 1, &options);
    tw_recorder_free(recorder);
    calls = atomic_load(&m.calls);
    memory_fail_from(&m, 1);
    assert_ok(results_take(&now, analysis));
    text = report_of(analysis, TW_FORMAT_TEXT, NULL);
    json = report_of(analysis, TW_FORMAT_JSON, NULL);
    assert_u64(atomic_load(&m.calls), calls);
    sink_free(&text);
    sink_free(&json);
    tw_analysis_free(analysis);
    memory_done(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oom");
    TCase *recorder = vocabulary_case(suite, "recorder"),
          *analysis = vocabulary_case(suite, "analysis");

    tcase_add_test(recorder, recorder_new_fails);
    tcase_add_loop_test(recorder, append_fails, 0, 2 * WAYS);
    tcase_add_loop_test(recorder, reserve_fails, 0, 2);
    tcase_add_loop_test(analysis, analyze_fails, 0, 2);
    tcase_add_loop_test(analysis, stream_fails, 0, 6);
    tcase_add_test(analysis, queries_allocate_nothing);
    return vocabulary_main(suite);
}
