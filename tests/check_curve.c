/* SPDX-License-Identifier: MIT */
/* Windows, curves and series of an analysis. */

#include <stdlib.h>
#include <string.h>

#include "vocabulary.h"

/* [0, 100) alone, then a second one in [40, 60); decode from 10 and from 50 on. */
static void make_two(tw_record two[2])
{
    two[0] = record(0, 10, 100, 20, 91);
    two[1] = record(40, 50, 60, 30, 11);
}

/* ---- Curves ------------------------------------------------------------------------ */

static void check_segments(const tw_analysis *analysis, int32_t metric, int64_t from_ns,
                           const tw_segment *wanted, size_t count)
{
    for (size_t capacity = 1; capacity <= count + 1; capacity++) {
        int64_t next = from_ns, begin, end;
        size_t seen = 0, written;

        assert_ok(tw_analysis_bounds(analysis, &begin, &end));
        do {
            tw_segment page[16];

            memset(page, 0x55, sizeof page);
            assert_ok(tw_analysis_curve(analysis, metric, next, page, capacity,
                                        sizeof page[0], &written, &next));
            for (size_t i = 0; i < written; i++, seen++) {
                vocabulary_context("segment %zu, pages of %zu", seen, capacity);
                assert_that(seen < count);
                assert_i64(page[i].begin_ns, wanted[seen].begin_ns);
                assert_i64(page[i].end_ns, wanted[seen].end_ns);
                assert_near(page[i].value, wanted[seen].value, 1e-15, 0);
            }
        } while (written == capacity);
        assert_u64(seen, count);
        assert_i64(next, end);
    }
}

START_TEST(curves_by_hand)
{
    const tw_segment concurrency[] = {{0, 40, 1}, {40, 60, 2}, {60, 100, 1}};
    const tw_segment late[] = {{55, 60, 2}, {60, 100, 1}};
    const tw_segment prefill[] = {{0, 10, 2e9}, {10, 40, 0}, {40, 50, 3e9}, {50, 100, 0}};
    const tw_segment active[] = {{0, 10, 2e9}, {40, 50, 3e9}};
    const tw_segment decode[] = {{10, 50, 1e9}, {50, 60, 2e9}, {60, 100, 1e9}};
    tw_record two[2];
    tw_analysis *analysis, *part;

    make_two(two);
    analysis = analysis_of(two, 2, NULL);
    check_segments(analysis, TW_EFFECTIVE_CONCURRENCY, INT64_MIN, concurrency, 3);
    check_segments(analysis, TW_EFFECTIVE_CONCURRENCY, 55, late, 2);
    check_segments(analysis, TW_EFFECTIVE_CONCURRENCY, 100, NULL, 0);
    check_segments(analysis, TW_EFFECTIVE_CONCURRENCY, INT64_MAX, NULL, 0);
    check_segments(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT, 0, prefill, 4);
    check_segments(analysis, TW_ACTIVE_PREFILL_THROUGHPUT, 0, active, 2);
    check_segments(analysis, TW_ACTIVE_DECODE_THROUGHPUT, 0, decode, 3);

    assert_ok(tw_analysis_window(&part, analysis, 55, 100));
    check_segments(part, TW_EFFECTIVE_CONCURRENCY, 0, late, 2);
    tw_analysis_free(part);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(curve_arguments)
{
    const tw_record old[] = {record(0, NEVER, 100, UNKNOWN, UNKNOWN)};
    tw_analysis *analysis = analysis_of(old, 1, NULL);
    tw_segment s[2];
    size_t written = 77;
    int64_t next = 77;

    assert_status(tw_analysis_curve(NULL, 100, 0, s, 2, sizeof s[0], &written, &next),
                  TW_ERR_INVAL);
    assert_status(
        tw_analysis_curve(analysis, 100, 0, NULL, 2, sizeof s[0], &written, &next),
        TW_ERR_INVAL);
    assert_status(tw_analysis_curve(analysis, 100, 0, s, 2, sizeof s[0], NULL, &next),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_curve(analysis, 100, 0, s, 2, sizeof s[0], &written, NULL),
                  TW_ERR_INVAL);
    assert_status(
        tw_analysis_curve(analysis, 100, 0, s, 2, sizeof s[0] - 1, &written, &next),
        TW_ERR_ABI);
    assert_status(tw_analysis_curve(analysis, TW_REQUEST_LATENCY, 0, s, 2, sizeof s[0],
                                    &written, &next),
                  TW_ERR_NOTSUP);
    assert_status(tw_analysis_curve(analysis, TW_REQUEST_COUNT, 0, s, 2, sizeof s[0],
                                    &written, &next),
                  TW_ERR_NOTSUP);
    assert_status(tw_analysis_curve(analysis, 1, 0, s, 2, sizeof s[0], &written, &next),
                  TW_ERR_NOTSUP);
    assert_status(tw_analysis_curve(analysis, TW_TOKENS_IN_FLIGHT, 0, s, 2, sizeof s[0],
                                    &written, &next),
                  TW_ERR_NODATA);
    assert_u64(written, 77);
    assert_i64(next, 77);
    /* No room: nothing is written, and the page begins where it would. */
    assert_ok(
        tw_analysis_curve(analysis, 100, -5, NULL, 0, sizeof s[0], &written, &next));
    assert_u64(written, 0);
    assert_i64(next, 0);
    tw_analysis_free(analysis);
}
END_TEST

/* ---- Series ------------------------------------------------------------------------ */

static void check_bin(const tw_bin *got, int64_t begin_ns, int64_t weight_ns, double mean,
                      double min, double max)
{
    assert_i64(got->begin_ns, begin_ns);
    assert_i64(got->weight_ns, weight_ns);
    assert_near(got->mean, mean, 1e-15, 0);
    assert_near(got->min, min, 1e-15, 0);
    assert_near(got->max, max, 1e-15, 0);
}

START_TEST(series_by_hand)
{
    tw_record two[2];
    tw_analysis *analysis;
    tw_bin bins[6];

    make_two(two);
    analysis = analysis_of(two, 2, NULL);
    assert_ok(tw_analysis_series(analysis, TW_EFFECTIVE_CONCURRENCY, -50, 50, bins, 4,
                                 sizeof bins[0]));
    check_bin(&bins[0], -50, 0, 0, 0, 0); /* before the window */
    check_bin(&bins[1], 0, 50, 1.2, 1, 2);
    check_bin(&bins[2], 50, 50, 1.2, 1, 2);
    check_bin(&bins[3], 100, 0, 0, 0, 0);
    assert_ok(tw_analysis_series(analysis, TW_EFFECTIVE_CONCURRENCY, -30, 60, bins, 1,
                                 sizeof bins[0]));
    check_bin(&bins[0], -30, 30, 1, 1, 1); /* half of it */
    assert_ok(tw_analysis_series(analysis, TW_ACTIVE_PREFILL_THROUGHPUT, 5, 20, bins, 3,
                                 sizeof bins[0]));
    check_bin(&bins[0], 5, 5, 2e9, 2e9, 2e9);
    check_bin(&bins[1], 25, 5, 3e9, 3e9, 3e9);
    check_bin(&bins[2], 45, 5, 3e9, 3e9, 3e9);
    assert_ok(tw_analysis_series(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT, 5, 20, bins,
                                 3, sizeof bins[0]));
    check_bin(&bins[0], 5, 20, 0.5e9, 0, 2e9);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(series_arguments)
{
    const int64_t most = INT64_C(1) << 61;
    const tw_record one = record(0, 10, 100, 20, 91);
    tw_analysis *analysis = analysis_of(&one, 1, NULL);
    tw_bin b[4];

    assert_status(tw_analysis_series(NULL, 100, 0, 1, b, 4, sizeof b[0]), TW_ERR_INVAL);
    assert_status(tw_analysis_series(analysis, 100, 0, 1, NULL, 4, sizeof b[0]),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_series(analysis, 100, 0, 0, b, 4, sizeof b[0]),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_series(analysis, 100, 0, -1, b, 4, sizeof b[0]),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_series(analysis, 100, most + 1, 1, b, 1, sizeof b[0]),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_series(analysis, 100, 0, most / 4 + 1, b, 4, sizeof b[0]),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_series(analysis, 100, 0, 1, b, SIZE_MAX, sizeof b[0]),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_series(analysis, 100, 0, 1, b, 4, sizeof b[0] - 1),
                  TW_ERR_ABI);
    assert_status(
        tw_analysis_series(analysis, TW_REQUEST_LATENCY, 0, 1, b, 4, sizeof b[0]),
        TW_ERR_NOTSUP);
    assert_status(tw_analysis_series(analysis, 1, 0, 1, b, 4, sizeof b[0]),
                  TW_ERR_NOTSUP);
    assert_status(
        tw_analysis_series(analysis, TW_EFFECTIVE_QUEUE_DEPTH, 0, 1, b, 4, sizeof b[0]),
        TW_ERR_NODATA);
    assert_ok(tw_analysis_series(analysis, 100, 0, 1, NULL, 0, sizeof b[0]));
    /* All of time in four bins, of which the middle ones hold the run. */
    assert_ok(tw_analysis_series(analysis, 100, -most, most / 2, b, 4, sizeof b[0]));
    check_bin(&b[1], -most / 2, 0, 0, 0, 0);
    check_bin(&b[2], 0, 100, 1, 1, 1);
    check_bin(&b[3], most / 2, 0, 0, 0, 0);
    tw_analysis_free(analysis);
}
END_TEST

/* ---- Random workloads -------------------------------------------------------------- */

/* All segments, read in pages of a random size. The caller frees them. */
static tw_segment *read_curve(const tw_analysis *analysis, int32_t metric,
                              uint64_t *random, size_t *count)
{
    const size_t capacity = (size_t)random_below(random, 40) + 1;
    tw_segment *all = NULL;
    int64_t next = INT64_MIN;
    size_t written;

    *count = 0;
    do {
        all = realloc(all, (*count + capacity) * sizeof *all);
        assert_that(all != NULL);
        assert_ok(tw_analysis_curve(analysis, metric, next, all + *count, capacity,
                                    sizeof *all, &written, &next));
        *count += written;
    } while (written == capacity);
    return all;
}

/* The curve says the same as the summary, and its segments are in order and maximal. */
static void check_curve(const tw_analysis *analysis, int32_t metric, uint64_t *random)
{
    const tw_summary summary = summary_of(analysis, metric);
    size_t count;
    tw_segment *s = read_curve(analysis, metric, random, &count);
    long double integral = 0;
    double min = s[0].value, max = s[0].value;
    int64_t weight = 0;

    for (size_t i = 0; i < count; i++) {
        const int64_t length = s[i].end_ns - s[i].begin_ns;

        assert_that(length > 0);
        assert_that(i == 0 || s[i - 1].end_ns <= s[i].begin_ns);
        integral += (long double)s[i].value * (long double)length;
        weight += length;
        min = s[i].value < min ? s[i].value : min;
        max = s[i].value > max ? s[i].value : max;
    }
    assert_i64(weight,
               summary.fields & TW_HAS_ACTIVE ? summary.active_ns : summary.weight_ns);
    assert_same(min, summary.min);
    assert_same(max, summary.max);
    assert_near((double)(integral / (long double)weight), summary.avg, 1e-12, 0);
    free(s);
}

/* Each bin is what the analysis of that window says, to the bit. */
static void check_series(const tw_analysis *analysis, int32_t metric, uint64_t *random)
{
    enum { BINS = 7 };
    int64_t begin, end, width;
    tw_bin bins[BINS];

    assert_ok(tw_analysis_bounds(analysis, &begin, &end));
    width = (end - begin) / (int64_t)(random_below(random, BINS) + 1) + 1;
    if (width > ((INT64_C(1) << 61) - begin) / BINS)
        return;
    assert_ok(
        tw_analysis_series(analysis, metric, begin, width, bins, BINS, sizeof bins[0]));
    for (int i = 0; i < BINS; i++) {
        const int64_t from = begin + i * width;
        const int64_t to = from + width < end ? from + width : end;
        tw_analysis *part;
        tw_summary summary;

        if (from >= end) {
            assert_i64(bins[i].weight_ns, 0);
            continue;
        }
        assert_ok(tw_analysis_window(&part, analysis, from, to));
        if (summary_status(part, metric) == TW_ERR_NODATA) { /* the mask is off */
            assert_i64(bins[i].weight_ns, 0);
        } else {
            summary = summary_of(part, metric);
            assert_i64(bins[i].weight_ns, summary.fields & TW_HAS_ACTIVE
                                              ? summary.active_ns
                                              : summary.weight_ns);
            assert_same(bins[i].mean, summary.avg);
            assert_same(bins[i].min, summary.min);
            assert_same(bins[i].max, summary.max);
        }
        tw_analysis_free(part);
    }
}

static void check_curves(const tw_analysis *analysis, uint64_t *random)
{
    for (size_t i = 0; i < tw_metric_count(); i++) {
        tw_metric_row row = {.struct_size = sizeof row};

        assert_ok(tw_metric_info(i, &row));
        if (row.kind != TW_KIND_CURVE || summary_status(analysis, row.id) != TW_OK)
            continue;
        check_curve(analysis, row.id, random);
        check_series(analysis, row.id, random);
    }
}

/* A window of an analysis is what tw_analyze() says with that window, to the bit, also when
 * the analysis it came from is gone. */
static void check_window(const tw_record *records, size_t count, tw_analysis *analysis,
                         uint64_t *random)
{
    int64_t begin, end, from, to;
    tw_options options;
    tw_analysis *whole, *window, *again;
    results *wanted = malloc(sizeof *wanted), *got = malloc(sizeof *got);

    assert_that(wanted && got);
    assert_ok(tw_analysis_bounds(analysis, &begin, &end));
    from = random_between(random, begin, end);
    to = random_between(random, from, end);
    options = options_window(from, to);
    whole = analysis_of(records, count, &options);
    assert_ok(results_take(wanted, whole));
    assert_ok(tw_analysis_window(&window, analysis, from, to));
    assert_ok(tw_analysis_window(&again, window, begin, end)); /* out of it again */
    tw_analysis_free(whole);

    assert_ok(results_take(got, window));
    assert_same_results(got, wanted);
    assert_same_balance(&got->balance, &wanted->balance);
    assert_i64(got->begin_ns, from);
    assert_i64(got->end_ns, to);
    assert_ok(results_take(wanted, analysis));
    tw_analysis_free(analysis);
    tw_analysis_free(window);
    assert_ok(results_take(got, again));
    assert_same_results(got, wanted);
    tw_analysis_free(again);
    free(wanted);
    free(got);
}

/* [CLIP] [MEMBER] */
START_TEST(random_workloads)
{
    const uint64_t workloads = vocabulary_count("TIMEWEIGHT_TEST_WORKLOADS", 600);

    for (uint64_t seed = 1; seed <= workloads; seed++) {
        /* Some are long enough for several cells. */
        const size_t most = seed % 50 == 0 ? 6000 : 30;
        uint64_t random = seed;
        workload w;
        tw_options options;
        tw_analysis *analysis;

        vocabulary_context("seed %llu", (unsigned long long)seed);
        assert_that(workload_new(&w, seed, most) == 0);
        options = options_of(&w);
        analysis = analysis_of(w.records, w.count, &options);
        if (most < 100 || seed % 100 == 0)
            check_curves(analysis, &random);
        check_window(w.records, w.count, analysis, &random);
        workload_free(&w);
    }
}
END_TEST

START_TEST(window_arguments)
{
    const int64_t most = INT64_C(1) << 61;
    const tw_record one = record(0, 10, 100, 20, 91);
    tw_analysis *analysis = analysis_of(&one, 1, NULL);
    tw_analysis *const untouched = (tw_analysis *)(void *)&most;
    tw_analysis *window = untouched;

    assert_status(tw_analysis_window(NULL, analysis, 0, 1), TW_ERR_INVAL);
    assert_status(tw_analysis_window(&window, NULL, 0, 1), TW_ERR_INVAL);
    assert_status(tw_analysis_window(&window, analysis, 2, 1), TW_ERR_INVAL);
    assert_status(tw_analysis_window(&window, analysis, -most - 1, 1), TW_ERR_INVAL);
    assert_status(tw_analysis_window(&window, analysis, 0, most + 1), TW_ERR_INVAL);
    assert_that(window == untouched);
    assert_ok(tw_analysis_window(&window, analysis, -most, most));
    assert_near(summary_of(window, TW_EFFECTIVE_CONCURRENCY).avg, 100 / 0x1p62, 1e-15, 0);
    tw_analysis_free(window);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(window_keeps_quantiles)
{
    const double odd[] = {0.999, 0.123};
    const tw_record one = record(0, 10, 100, 20, 91);
    tw_options options = options_new();
    tw_analysis *analysis, *window;
    sink report;

    options.quantiles = odd;
    options.quantile_count = 2;
    analysis = analysis_of(&one, 1, &options);
    assert_ok(tw_analysis_window(&window, analysis, 20, 30));
    tw_analysis_free(analysis);
    report = report_of(window, TW_FORMAT_CSV, NULL);
    assert_that(strstr(report.text, ",p99,p12.3,p99.9,count") != NULL);
    sink_free(&report);
    tw_analysis_free(window);
}
END_TEST

START_TEST(window_without_memory)
{
    const tw_record one = record(0, 10, 100, 20, 91);
    memory m;
    tw_options options = options_new();
    tw_analysis *analysis, *window = NULL;
    results before, after;
    int32_t status;
    uint64_t n = 0;

    memory_init(&m);
    options.allocator = &m.allocator;
    analysis = analysis_of(&one, 1, &options);
    assert_ok(results_take(&before, analysis));
    do {
        memory_fail_nth(&m, ++n);
        status = tw_analysis_window(&window, analysis, 20, 30);
        assert_that(status == TW_OK || status == TW_ERR_NOMEM);
    } while (status != TW_OK);
    memory_fail_never(&m);
    assert_that(n > 5);
    assert_ok(results_take(&after, analysis));
    assert_same_results(&after, &before);
    tw_analysis_free(analysis);
    tw_analysis_free(window);
    memory_done(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("curve");
    TCase *by_hand = vocabulary_case(suite, "by hand");
    TCase *windows = vocabulary_case(suite, "windows");

    tcase_add_test(by_hand, curves_by_hand);
    tcase_add_test(by_hand, curve_arguments);
    tcase_add_test(by_hand, series_by_hand);
    tcase_add_test(by_hand, series_arguments);
    tcase_add_test(windows, random_workloads);
    tcase_add_test(windows, window_arguments);
    tcase_add_test(windows, window_keeps_quantiles);
    tcase_add_test(windows, window_without_memory);
    return vocabulary_main(suite);
}
