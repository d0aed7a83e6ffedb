/* SPDX-License-Identifier: MIT */
/* Each allocation fails once, and once it and all after it: objects stay as they were and
 * usable, and nothing is lost. */

#include <stdlib.h>
#include <string.h>

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
enum way { ALL_OR_NOTHING, SKIPPING, BY_COLUMNS, ONE_BY_ONE, WAYS };

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
    tcase_add_test(analysis, queries_allocate_nothing);
    return vocabulary_main(suite);
}
