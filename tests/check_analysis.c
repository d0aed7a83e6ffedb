/* SPDX-License-Identifier: MIT */
/* Analyses of small runs, calculated by hand: windows, members, metrics, quantiles, and
 * the arguments of each function. */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vocabulary.h"

#define MS INT64_C(1000000)
#define TIME_LIMIT (INT64_C(1) << 61)

/* ---- A run by hand ----------------------------------------------------------------- */

/* A record with times in ms. */
static tw_record in_ms(int64_t start, int64_t generation, int64_t end, int64_t input,
                       int64_t output)
{
    return record(start * MS, generation == NEVER ? NEVER : generation * MS,
                  end == NEVER ? NEVER : end * MS, input, output);
}

static tw_record due_at(tw_record r, int64_t credit_ms)
{
    return with_credit(r, credit_ms * MS);
}

/* A waits from -5 on, prefills 20 tokens over [0, 10) ms, decodes 20 more over [10, 30).
 * B is due at 25, after its start at 20, has no prefill and one token, and ends at 40.
 *
 *           -5     0      10     20     30     40
 *  queued    1      0
 *  active           1      1      2      1
 *  prefill          2000
 *  decode                  1000   1000   0          tokens per second
 *  tokens           20     41     47     6
 */
static void make_two(tw_record two[2])
{
    two[0] = due_at(in_ms(0, 10, 30, 20, 21), -5);
    two[1] = due_at(in_ms(20, 20, 40, 5, 1), 25);
}

typedef struct expected {
    int32_t metric;
    double avg, min, max, std;
    double p25, p50, p90;
    int64_t active_ms; /* of Active metrics, else 0 */
} expected;

static void check_curve(const tw_analysis *analysis, const expected *wanted,
                        int64_t window_ms)
{
    const tw_summary s = summary_of(analysis, wanted->metric);
    const uint32_t fields = TW_HAS_AVG | TW_HAS_MIN | TW_HAS_MAX | TW_HAS_STD |
                            TW_HAS_WEIGHT;

    vocabulary_context("metric %d", (int)wanted->metric);
    assert_u64(s.fields, fields | (wanted->active_ms ? TW_HAS_ACTIVE : 0));
    assert_near(s.avg, wanted->avg, 1e-15, 0);
    assert_same(s.min, wanted->min);
    assert_same(s.max, wanted->max);
    assert_near(s.std, wanted->std, 1e-15, 0);
    assert_same(s.sum, 0.0);
    assert_u64(s.count, 0);
    assert_i64(s.weight_ns, window_ms * MS);
    assert_i64(s.active_ns, wanted->active_ms * MS);
    assert_u64(s.flags, 0);
    assert_same(s.error_bound, 0.0);
    assert_same(quantile_of(analysis, wanted->metric, 0.25), wanted->p25);
    assert_same(quantile_of(analysis, wanted->metric, 0.5), wanted->p50);
    assert_same(quantile_of(analysis, wanted->metric, 0.9), wanted->p90);
}

/* sqrt of the weighted mean square minus the square of the mean, over so many ms. */
static double deviation(double squares, double sum, double ms)
{
    return sqrt((squares * ms - sum * sum) / (ms * ms));
}

START_TEST(curves_by_hand)
{
    const expected curves[] = {
        {TW_EFFECTIVE_CONCURRENCY, 50 / 45.0, 0, 2, sqrt(26) / 9, 1, 1, 2, 0},
        {TW_EFFECTIVE_DECODE_THROUGHPUT, 20 / 0.045, 0, 1000, deviation(20e6, 20e3, 45),
         0, 0, 1000, 0},
        {TW_EFFECTIVE_PREFILL_THROUGHPUT, 20 / 0.045, 0, 2000, deviation(40e6, 20e3, 45),
         0, 0, 2000, 0},
        {TW_EFFECTIVE_DECODE_CONCURRENCY, 40 / 45.0, 0, 2, deviation(60, 40, 45), 0, 1, 2,
         0},
        {TW_EFFECTIVE_PREFILL_CONCURRENCY, 10 / 45.0, 0, 1, deviation(10, 10, 45), 0, 0,
         1, 0},
        {TW_EFFECTIVE_TOTAL_THROUGHPUT, 40 / 0.045, 0, 2000, deviation(60e6, 40e3, 45), 0,
         1000, 2000, 0},
        {TW_EFFECTIVE_DECODE_THROUGHPUT_PER_USER, 15e3 / 45, 0, 1000,
         deviation(12.5e6, 15e3, 45), 0, 0, 1000, 0},
        {TW_EFFECTIVE_PREFILL_THROUGHPUT_PER_USER, 20 / 0.045, 0, 2000,
         deviation(40e6, 20e3, 45), 0, 0, 2000, 0},
        {TW_TOKENS_IN_FLIGHT, 1140 / 45.0, 0, 47,
         deviation(10 * (400 + 1681 + 2209 + 36), 1140, 45), 6, 20, 47, 0},
        {TW_EFFECTIVE_QUEUE_DEPTH, 5 / 45.0, 0, 1, deviation(5, 5, 45), 0, 0, 1, 0},
        {TW_ACTIVE_DECODE_THROUGHPUT, 20 / 0.030, 0, 1000, deviation(20e6, 20e3, 30), 0,
         1000, 1000, 30},
        {TW_ACTIVE_PREFILL_THROUGHPUT, 2000, 2000, 2000, 0, 2000, 2000, 2000, 10},
        {TW_ACTIVE_DECODE_THROUGHPUT_PER_USER, 500, 0, 1000, deviation(12.5e6, 15e3, 30),
         0, 500, 1000, 30},
        {TW_ACTIVE_PREFILL_THROUGHPUT_PER_USER, 2000, 2000, 2000, 0, 2000, 2000, 2000,
         10},
        {TW_ACTIVE_TOTAL_THROUGHPUT, 1000, 0, 2000, deviation(60e6, 40e3, 40), 0, 1000,
         2000, 40},
    };
    tw_record two[2];
    tw_analysis *analysis;

    make_two(two);
    analysis = analysis_of(two, 2, NULL);
    for (size_t i = 0; i < sizeof curves / sizeof curves[0]; i++)
        check_curve(analysis, &curves[i], 45);
    tw_analysis_free(analysis);
}
END_TEST

typedef struct sampled {
    int32_t metric;
    uint64_t count;
    double avg, min, max, std, sum, p50, p90;
} sampled;

static void check_sampled(const tw_analysis *analysis, const sampled *wanted)
{
    const tw_summary s = summary_of(analysis, wanted->metric);

    vocabulary_context("metric %d", (int)wanted->metric);
    assert_u64(s.fields, TW_HAS_AVG | TW_HAS_MIN | TW_HAS_MAX | TW_HAS_STD | TW_HAS_SUM |
                             TW_HAS_COUNT);
    assert_u64(s.count, wanted->count);
    assert_near(s.avg, wanted->avg, 1e-15, 0);
    assert_near(s.min, wanted->min, 1e-15, 0);
    assert_near(s.max, wanted->max, 1e-15, 0);
    assert_near(s.std, wanted->std, 1e-15, 0);
    assert_near(s.sum, wanted->sum, 1e-15, 0);
    assert_i64(s.weight_ns, 0);
    assert_i64(s.active_ns, 0);
    assert_near(quantile_of(analysis, wanted->metric, 0.5), wanted->p50, 1e-15, 0);
    assert_near(quantile_of(analysis, wanted->metric, 0.9), wanted->p90, 1e-15, 0);
    assert_same(quantile_of(analysis, wanted->metric, 0), s.min);
    assert_same(quantile_of(analysis, wanted->metric, 1), s.max);
}

static void check_scalar(const tw_analysis *analysis, int32_t metric, double wanted)
{
    const tw_summary s = summary_of(analysis, metric);

    vocabulary_context("metric %d", (int)metric);
    assert_u64(s.fields, TW_HAS_AVG);
    assert_near(s.avg, wanted, 1e-15, 0);
    assert_same(s.min, 0.0);
    assert_same(s.sum, 0.0);
    assert_i64(s.weight_ns, 0);
    assert_u64(s.count, 0);
}

START_TEST(samples_by_hand)
{
    const sampled samples[] = {
        {TW_EFFECTIVE_LATENCY, 2, 27.5, 20, 35, 7.5, 55, 27.5, 33.5},
        {TW_TIME_TO_FIRST_TOKEN, 2, 5, 0, 10, 5, 10, 5, 9},
        {TW_REQUEST_LATENCY, 2, 25, 20, 30, 5, 50, 25, 29},
        {TW_INTER_TOKEN_LATENCY, 1, 1, 1, 1, 0, 1, 1, 1},
        {TW_OUTPUT_TOKEN_THROUGHPUT_PER_USER, 1, 1000, 1000, 1000, 0, 1000, 1000, 1000},
        {TW_OUTPUT_SEQUENCE_LENGTH, 2, 11, 1, 21, 10, 22, 11, 19},
        {TW_INPUT_SEQUENCE_LENGTH, 2, 12.5, 5, 20, 7.5, 25, 12.5, 18.5},
        {TW_CREDIT_TO_START_LATENCY, 2, 2.5, 0, 5, 2.5, 5, 2.5, 4.5},
    };
    static const int32_t none[] = {TW_ADJ_EFFECTIVE_LATENCY, TW_TIME_TO_SECOND_TOKEN,
                                   TW_INTER_CHUNK_LATENCY, TW_ADJ_REQUEST_LATENCY};
    tw_record two[2];
    tw_analysis *analysis;

    make_two(two);
    analysis = analysis_of(two, 2, NULL);
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        check_sampled(analysis, &samples[i]);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_status(summary_status(analysis, none[i]), TW_ERR_NODATA);
    check_scalar(analysis, TW_REQUEST_COUNT, 2);
    check_scalar(analysis, TW_ERROR_REQUEST_COUNT, 0);
    check_scalar(analysis, TW_BENCHMARK_DURATION, 0.045);
    check_scalar(analysis, TW_REQUEST_THROUGHPUT, 2 / 0.045);
    check_scalar(analysis, TW_OUTPUT_TOKEN_THROUGHPUT, 22 / 0.045);
    check_scalar(analysis, TW_TOTAL_TOKEN_THROUGHPUT, 47 / 0.045);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(chunks_by_hand)
{
    /* First token at 10; chunks at 10, 20, 20 and 50: gaps of 0, 10, 0 and 30 ms. */
    static const int64_t at[] = {10 * MS, 20 * MS, 20 * MS, 50 * MS};
    const tw_record r = with_chunks(in_ms(0, 10, 60, 8, 7), at, NULL, 4);
    const sampled gaps = {TW_INTER_CHUNK_LATENCY, 4, 10, 0, 30, sqrt(150), 40, 5, 24};
    const sampled second = {TW_TIME_TO_SECOND_TOKEN, 1, 0, 0, 0, 0, 0, 0, 0};
    const sampled token = {TW_INTER_TOKEN_LATENCY,
                           1,
                           50 / 6.0,
                           50 / 6.0,
                           50 / 6.0,
                           0,
                           50 / 6.0,
                           50 / 6.0,
                           50 / 6.0};
    /* 3 tokens in 10 ms, then 3 in 30, then none for 10, and nothing before. */
    const expected decode = {TW_EFFECTIVE_DECODE_THROUGHPUT,
                             100,
                             0,
                             300,
                             deviation(900e3 + 300e3, 6e3, 60),
                             0,
                             100,
                             300,
                             0};
    tw_analysis *analysis = analysis_of(&r, 1, NULL);

    check_sampled(analysis, &gaps);
    check_sampled(analysis, &second);
    check_sampled(analysis, &token);
    check_curve(analysis, &decode, 60);
    tw_analysis_free(analysis);
}
END_TEST

/* ---- Failed and cancelled ---------------------------------------------------------- */

/* [ADJ] */
START_TEST(error_adjusted_by_hand)
{
    const tw_record records[] = {
        due_at(in_ms(0, NEVER, 10, 1, 1), 0),
        due_at(in_ms(0, NEVER, 20, 1, 1), -10),
        in_ms(0, NEVER, 30, 1, 1),
        with_status(due_at(in_ms(0, NEVER, 5, 1, 1), 0), TW_RECORD_FAILED),
        with_status(in_ms(0, NEVER, 7, 1, 1), TW_RECORD_CANCELLED),
    };
    static const double q[] = {0, 0.2, 0.21, 0.4, 0.5, 0.6, 0.600000000001, 0.9, 1};
    const double request[] = {10, 10, 20, 20, 30, 30, HUGE_VAL, HUGE_VAL, HUGE_VAL};
    /* 10 and 30 ms, and the one failure that has a credit */
    const double effective[] = {10, 10, 10, 30, 30, 30, 30, HUGE_VAL, HUGE_VAL};
    const sampled plain = {TW_REQUEST_LATENCY, 3,  20, 10, 30,
                           sqrt(200 / 3.0),    60, 20, 28};
    const sampled waits = {TW_EFFECTIVE_LATENCY, 2, 20, 10, 30, 10, 40, 20, 28};
    tw_analysis *analysis = analysis_of(records, 5, NULL);
    double values[9];

    check_sampled(analysis, &plain); /* failures are no samples */
    check_sampled(analysis, &waits);
    for (int i = 0; i < 2; i++) {
        const int32_t metric = i ? TW_ADJ_EFFECTIVE_LATENCY : TW_ADJ_REQUEST_LATENCY;
        const tw_summary s = summary_of(analysis, metric);

        vocabulary_context("metric %d", (int)metric);
        assert_u64(s.fields,
                   TW_HAS_AVG | TW_HAS_MIN | TW_HAS_MAX | TW_HAS_SUM | TW_HAS_COUNT);
        assert_u64(s.count, i ? 3 : 5);
        assert_same(s.avg, HUGE_VAL);
        assert_same(s.max, HUGE_VAL);
        assert_same(s.sum, HUGE_VAL);
        assert_same(s.min, 10.0);
        assert_same(s.std, 0.0);
        assert_ok(tw_analysis_quantiles(analysis, metric, q, values, 9));
        for (int k = 0; k < 9; k++)
            assert_same(values[k], i ? effective[k] : request[k]);
    }
    check_scalar(analysis, TW_REQUEST_COUNT, 3);
    check_scalar(analysis, TW_ERROR_REQUEST_COUNT, 2);
    check_scalar(analysis, TW_OUTPUT_TOKEN_THROUGHPUT, 3 / 0.040); /* from -10 to 30 */
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(error_adjusted_needs_both)
{
    const tw_record good = due_at(in_ms(0, NEVER, 10, 1, 1), 0);
    const tw_record bad = with_status(good, TW_RECORD_FAILED);
    const tw_record bad_without_credit = with_status(in_ms(0, NEVER, 10, 1, 1),
                                                     TW_RECORD_FAILED);
    const tw_record later = with_status(in_ms(0, NEVER, 20, 1, 1), TW_RECORD_FAILED);
    const tw_options options = options_window(0, 15 * MS);
    const struct {
        tw_record records[2];
        size_t count;
        const tw_options *options;
        int32_t request, effective;
    } cases[] = {
        {{good, good}, 2, NULL, TW_ERR_NODATA, TW_ERR_NODATA},
        {{bad, bad}, 2, NULL, TW_ERR_NODATA, TW_ERR_NODATA},
        {{good, bad}, 2, NULL, TW_OK, TW_OK},
        {{good, bad_without_credit}, 2, NULL, TW_OK, TW_ERR_NODATA},
        {{good, later}, 2, NULL, TW_OK, TW_ERR_NODATA},
        {{good, later}, 2, &options, TW_ERR_NODATA, TW_ERR_NODATA}, /* no member */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tw_analysis *analysis = analysis_of(cases[i].records, cases[i].count,
                                            cases[i].options);
        vocabulary_context("case %zu", i);
        assert_status(summary_status(analysis, TW_ADJ_REQUEST_LATENCY), cases[i].request);
        assert_status(summary_status(analysis, TW_ADJ_EFFECTIVE_LATENCY),
                      cases[i].effective);
        tw_analysis_free(analysis);
    }
}
END_TEST

START_TEST(failed_records_count_in_curves)
{
    /* It held a slot for 20 ms and decoded 10 tokens before it failed. */
    const tw_record r = with_status(in_ms(0, 10, 20, 6, 11), TW_RECORD_FAILED);
    tw_analysis *analysis = analysis_of(&r, 1, NULL);

    assert_same(summary_of(analysis, TW_EFFECTIVE_CONCURRENCY).avg, 1.0);
    assert_same(summary_of(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT).avg, 500.0);
    assert_same(summary_of(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT).avg, 300.0);
    assert_status(summary_status(analysis, TW_REQUEST_LATENCY), TW_ERR_NODATA);
    assert_status(summary_status(analysis, TW_TIME_TO_FIRST_TOKEN), TW_ERR_NODATA);
    check_scalar(analysis, TW_REQUEST_COUNT, 0);
    check_scalar(analysis, TW_REQUEST_THROUGHPUT, 0);
    check_scalar(analysis, TW_OUTPUT_TOKEN_THROUGHPUT, 0);
    tw_analysis_free(analysis);
}
END_TEST

/* ---- In flight --------------------------------------------------------------------- */

/* [OPEN] */
START_TEST(requests_in_flight)
{
    static const int64_t at[] = {20 * MS, 50 * MS};
    const tw_record records[] = {
        in_ms(0, NEVER, NEVER, 9, 9),
        with_flags(in_ms(10, NEVER, NEVER, 3, UNKNOWN), TW_RECORD_STREAMING),
        with_chunks(in_ms(0, 10, NEVER, 20, 5), at, NULL, 2), /* known until 50 */
    };
    tw_options options = options_window(0, 100 * MS);
    tw_analysis *analysis = analysis_of(records, 3, NULL);
    int64_t begin, end;
    tw_balance balance;

    assert_ok(tw_analysis_bounds(analysis, &begin, &end));
    assert_i64(begin, 0);
    assert_i64(end, 50 * MS);
    tw_analysis_free(analysis);

    analysis = analysis_of(records, 3, &options);
    assert_near(summary_of(analysis, TW_EFFECTIVE_CONCURRENCY).avg, 2.9, 1e-15, 0);
    assert_near(summary_of(analysis, TW_EFFECTIVE_PREFILL_CONCURRENCY).avg, 1, 1e-15, 0);
    assert_near(summary_of(analysis, TW_EFFECTIVE_DECODE_CONCURRENCY).avg, 0.9, 1e-15, 0);
    assert_same(summary_of(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT).max, 2000.0);
    /* 2 tokens over [10, 20), 2 over [20, 50), and no more so far */
    assert_near(summary_of(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT).avg, 40, 1e-15, 0);
    assert_same(summary_of(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT).max, 200.0);
    /* 20 until 10, then 3 + 20 + 1, then 2 more at 20 and at 50 */
    assert_near(summary_of(analysis, TW_TOKENS_IN_FLIGHT).avg,
                (20 * 10 + 24 * 10 + 26 * 30 + 28 * 50) / 100.0, 1e-15, 0);
    balance = analysis_balance(analysis);
    assert_u64(balance.in_flight, 3);
    assert_u64(balance.overlapping, 3);
    assert_u64(balance.members, 0);
    assert_u64(balance.cut_at_begin, 0);
    assert_u64(balance.cut_at_end, 0); /* nothing is known later than 100 */
    assert_status(summary_status(analysis, TW_REQUEST_LATENCY), TW_ERR_NODATA);
    check_scalar(analysis, TW_REQUEST_COUNT, 0);
    tw_analysis_free(analysis);

    options = options_window(15 * MS, 30 * MS);
    analysis = analysis_of(records, 3, &options);
    balance = analysis_balance(analysis);
    assert_u64(balance.cut_at_begin, 3);
    assert_u64(balance.cut_at_end, 1);
    tw_analysis_free(analysis);
}
END_TEST

/* ---- Windows ----------------------------------------------------------------------- */

START_TEST(window_edges)
{
    const tw_record r = due_at(in_ms(10, 20, 30, 1, 1), 5);
    const struct {
        uint32_t flags;
        int64_t begin, end;
        int32_t status;
        int64_t wanted_begin, wanted_end;
    } cases[] = {
        {0, 0, 0, TW_OK, 5 * MS, 30 * MS},
        {0, TW_TIME_NONE, INT64_MAX, TW_OK, 5 * MS, 30 * MS}, /* not looked at */
        {TW_WINDOW_BEGIN, 12 * MS, 0, TW_OK, 12 * MS, 30 * MS},
        {TW_WINDOW_BEGIN, 30 * MS, 0, TW_OK, 30 * MS, 30 * MS},
        {TW_WINDOW_BEGIN, 30 * MS + 1, 0, TW_ERR_INVAL, 0, 0}, /* after the default end */
        {TW_WINDOW_END, 0, 12 * MS, TW_OK, 5 * MS, 12 * MS},
        {TW_WINDOW_END, 0, 5 * MS, TW_OK, 5 * MS, 5 * MS},
        {TW_WINDOW_END, 0, 5 * MS - 1, TW_ERR_INVAL, 0, 0},
        {TW_WINDOW_BEGIN | TW_WINDOW_END, -7, 9, TW_OK, -7, 9},
        {TW_WINDOW_BEGIN | TW_WINDOW_END, 9, 9, TW_OK, 9, 9},
        {TW_WINDOW_BEGIN | TW_WINDOW_END, 10, 9, TW_ERR_INVAL, 0, 0},
        {TW_WINDOW_BEGIN | TW_WINDOW_END, -TIME_LIMIT, TIME_LIMIT, TW_OK, -TIME_LIMIT,
         TIME_LIMIT},
        {TW_WINDOW_BEGIN | TW_WINDOW_END, -TIME_LIMIT - 1, 0, TW_ERR_INVAL, 0, 0},
        {TW_WINDOW_BEGIN | TW_WINDOW_END, 0, TIME_LIMIT + 1, TW_ERR_INVAL, 0, 0},
        {TW_WINDOW_BEGIN, TW_TIME_NONE, 0, TW_ERR_INVAL, 0, 0},
        {TW_WINDOW_END, 0, INT64_MAX, TW_ERR_INVAL, 0, 0},
    };
    tw_recorder *recorder = recorder_of(&r, 1);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tw_options options = options_new();
        tw_analysis *analysis = NULL;
        int64_t begin, end;

        vocabulary_context("case %zu", i);
        options.flags = cases[i].flags;
        options.window_begin_ns = cases[i].begin;
        options.window_end_ns = cases[i].end;
        assert_status(tw_analyze(&analysis, &recorder, 1, &options), cases[i].status);
        if (cases[i].status) {
            assert_that(!analysis);
            continue;
        }
        assert_ok(tw_analysis_bounds(analysis, &begin, &end));
        assert_i64(begin, cases[i].wanted_begin);
        assert_i64(end, cases[i].wanted_end);
        tw_analysis_free(analysis);
    }
    tw_recorder_free(recorder);
}
END_TEST

/* [WIN] */
START_TEST(window_by_default)
{
    static const int64_t at[] = {70};
    const struct {
        tw_record records[2];
        int64_t begin, end;
    } cases[] = {
        {{record(10, 20, 30, 1, 1), record(15, 20, 50, 1, 1)}, 10, 50},
        {{record(10, 20, 30, 1, 1), with_credit(record(15, 20, 50, 1, 1), 3)}, 3, 50},
        {{record(10, 20, 30, 1, 1), with_credit(record(15, 20, 50, 1, 1), 60)}, 10, 50},
        {{record(10, 20, 30, 1, 1), with_credit(record(5, 20, 50, 1, 1), 7)}, 5, 50},
        {{record(10, 20, 30, 1, 1), record(60, NEVER, NEVER, 1, 1)}, 10, 60},
        {{record(10, 20, 30, 1, 1), record(15, 65, NEVER, 1, 1)}, 10, 65},
        {{record(10, 20, 30, 1, 1),
          with_chunks(record(15, 65, NEVER, 1, 1), at, NULL, 1)},
         10,
         70},
        {{record(10, 20, 80, 1, 1),
          with_chunks(record(15, 65, NEVER, 1, 1), at, NULL, 1)},
         10,
         80},
        {{record(10, 20, 30, 1, 1), with_status(record(0, NEVER, 90, 1, 1), 1)}, 0, 90},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tw_analysis *analysis = analysis_of(cases[i].records, 2, NULL);
        int64_t begin, end;

        vocabulary_context("case %zu", i);
        assert_ok(tw_analysis_bounds(analysis, &begin, &end));
        assert_i64(begin, cases[i].begin);
        assert_i64(end, cases[i].end);
        tw_analysis_free(analysis);
    }
}
END_TEST

/* [CLIP] */
START_TEST(window_clips)
{
    /* The run by hand over [5, 25): half of A's prefill, its decode until 25, 5 of B. */
    const expected curves[] = {
        {TW_EFFECTIVE_CONCURRENCY, 25 / 20.0, 1, 2, deviation(35, 25, 20), 1, 1, 2, 0},
        {TW_EFFECTIVE_PREFILL_THROUGHPUT, 500, 0, 2000, deviation(20e6, 10e3, 20), 0, 0,
         2000, 0},
        {TW_EFFECTIVE_DECODE_THROUGHPUT, 750, 0, 1000, deviation(15e6, 15e3, 20), 0, 1000,
         1000, 0},
        {TW_EFFECTIVE_QUEUE_DEPTH, 0, 0, 0, 0, 0, 0, 0, 0},
        {TW_TOKENS_IN_FLIGHT, (20 * 5 + 41 * 10 + 47 * 5) / 20.0, 20, 47,
         deviation(400 * 5 + 1681 * 10 + 2209 * 5, 745, 20), 20, 41, 47, 0},
        {TW_ACTIVE_PREFILL_THROUGHPUT, 2000, 2000, 2000, 0, 2000, 2000, 2000, 5},
    };
    const tw_options options = options_window(5 * MS, 25 * MS);
    tw_record two[2];
    tw_analysis *analysis;
    tw_balance balance;

    make_two(two);
    analysis = analysis_of(two, 2, &options);
    for (size_t i = 0; i < sizeof curves / sizeof curves[0]; i++)
        check_curve(analysis, &curves[i], 20);
    balance = analysis_balance(analysis);
    assert_u64(balance.overlapping, 2);
    assert_u64(balance.members, 0);
    assert_u64(balance.cut_at_begin, 1);
    assert_u64(balance.cut_at_end, 2);
    assert_status(summary_status(analysis, TW_REQUEST_LATENCY), TW_ERR_NODATA);
    check_scalar(analysis, TW_REQUEST_COUNT, 0);
    check_scalar(analysis, TW_REQUEST_THROUGHPUT, 0);
    tw_analysis_free(analysis);
}
END_TEST

/* Emitted for what the records are, not for what the window shows. */
START_TEST(window_without_work)
{
    const tw_options options = options_window(1000 * MS, 1010 * MS);
    tw_record two[2];
    tw_analysis *analysis;

    make_two(two);
    analysis = analysis_of(two, 2, &options);
    for (int32_t metric = TW_EFFECTIVE_CONCURRENCY; metric <= TW_EFFECTIVE_QUEUE_DEPTH;
         metric++) {
        const expected nothing = {metric, 0, 0, 0, 0, 0, 0, 0, 0};
        check_curve(analysis, &nothing, 10);
    }
    for (int32_t metric = TW_ACTIVE_DECODE_THROUGHPUT;
         metric <= TW_ACTIVE_TOTAL_THROUGHPUT; metric++)
        assert_status(summary_status(analysis, metric), TW_ERR_NODATA);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(window_of_no_length)
{
    const tw_options options = options_window(20 * MS, 20 * MS);
    tw_record two[2];
    tw_analysis *analysis;
    tw_balance balance;
    double q = 0.5, value = 7;

    make_two(two);
    analysis = analysis_of(two, 2, &options);
    for (int32_t metric = TW_EFFECTIVE_CONCURRENCY; metric <= TW_ACTIVE_TOTAL_THROUGHPUT;
         metric++) {
        tw_summary s = {.struct_size = sizeof s};
        const int32_t status = tw_analysis_summary(analysis, metric, &s);
        assert_that(status == TW_ERR_NODATA || status == TW_ERR_NOTSUP);
    }
    assert_status(
        tw_analysis_quantiles(analysis, TW_EFFECTIVE_CONCURRENCY, &q, &value, 1),
        TW_ERR_NODATA);
    assert_same(value, 7.0);
    assert_status(summary_status(analysis, TW_REQUEST_THROUGHPUT), TW_ERR_NODATA);
    assert_status(summary_status(analysis, TW_OUTPUT_TOKEN_THROUGHPUT), TW_ERR_NODATA);
    check_scalar(analysis, TW_BENCHMARK_DURATION, 0);
    check_scalar(analysis, TW_REQUEST_COUNT, 0);
    balance = analysis_balance(analysis);
    assert_u64(balance.overlapping, 0);
    assert_u64(balance.cut_at_begin, 1); /* A; B starts there */
    assert_u64(balance.cut_at_end, 1);
    tw_analysis_free(analysis);
}
END_TEST

/* [MEMBER] */
START_TEST(members)
{
    /* Ends at 5 (the first credit), 10, 20, 30, and one in flight. */
    const tw_record records[] = {
        with_credit(record(5, NEVER, 5, 1, 1), 5), record(6, NEVER, 10, 1, 1),
        with_status(record(6, NEVER, 20, 1, 1), 2), record(6, NEVER, 30, 1, 1),
        record(6, NEVER, NEVER, 1, 1)};
    const struct {
        int64_t begin, end;
        uint64_t ok, errors;
    } cases[] = {
        {5, 30, 3, 1},  {5, 29, 2, 1},  {5, 10, 2, 0},  {5, 9, 1, 0},   {5, 5, 1, 0},
        {4, 30, 3, 1},  {0, 5, 1, 0},   {0, 4, 0, 0},   {6, 30, 2, 1},  {10, 30, 1, 1},
        {10, 20, 0, 1}, {10, 19, 0, 0}, {19, 20, 0, 1}, {20, 30, 1, 0}, {20, 20, 0, 0},
        {30, 30, 0, 0}, {30, 99, 0, 0}, {29, 30, 1, 0},
    };
    tw_recorder *recorder = recorder_of(records, 5);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tw_options options = options_window(cases[i].begin, cases[i].end);
        tw_analysis *analysis = analysis_new(&recorder, 1, &options);

        vocabulary_context("[%d, %d]", (int)cases[i].begin, (int)cases[i].end);
        assert_u64(analysis_balance(analysis).members, cases[i].ok + cases[i].errors);
        check_scalar(analysis, TW_REQUEST_COUNT, (double)cases[i].ok);
        check_scalar(analysis, TW_ERROR_REQUEST_COUNT, (double)cases[i].errors);
        if (cases[i].ok)
            assert_u64(summary_of(analysis, TW_REQUEST_LATENCY).count, cases[i].ok);
        else
            assert_status(summary_status(analysis, TW_REQUEST_LATENCY), TW_ERR_NODATA);
        tw_analysis_free(analysis);
    }
    tw_recorder_free(recorder);
}
END_TEST

/* [BALANCE] */
START_TEST(balance_of_a_window)
{
    const struct {
        tw_record record;
        uint64_t overlapping, members, cut_at_begin, cut_at_end;
    } cases[] = {
        /* the window is [100, 200) */
        {record(0, NEVER, 99, 1, 1), 0, 0, 0, 0},
        {record(0, NEVER, 100, 1, 1), 0, 0, 0, 0},
        {record(0, NEVER, 101, 1, 1), 1, 1, 1, 0},
        {record(100, NEVER, 101, 1, 1), 1, 1, 0, 0},
        {record(0, NEVER, 200, 1, 1), 1, 1, 1, 0},
        {record(0, NEVER, 201, 1, 1), 1, 0, 1, 1},
        {record(99, NEVER, 300, 1, 1), 1, 0, 1, 1},
        {record(100, NEVER, 300, 1, 1), 1, 0, 0, 1},
        {record(150, NEVER, 150, 1, 1), 1, 1, 0, 0}, /* a member of no duration */
        {record(199, NEVER, 201, 1, 1), 1, 0, 0, 1},
        {record(200, NEVER, 200, 1, 1), 1, 1, 0, 0},
        {record(200, NEVER, 201, 1, 1), 0, 0, 0, 0},
        {record(300, NEVER, 400, 1, 1), 0, 0, 0, 0},
        {record(0, NEVER, NEVER, 1, 1), 1, 0, 1, 0},
        {record(0, 50, NEVER, 1, 1), 1, 0, 1, 0},
        {record(0, 201, NEVER, 1, 1), 1, 0, 1, 1},
        {record(150, NEVER, NEVER, 1, 1), 1, 0, 0, 0},
        {record(200, NEVER, NEVER, 1, 1), 0, 0, 0, 0},
        {record(300, NEVER, NEVER, 1, 1), 0, 0, 0, 0},
    };
    const tw_options options = options_window(100, 200);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        /* beside one that gives the run an earlier begin */
        const tw_record records[] = {cases[i].record, record(-10, NEVER, -5, 1, 1)};
        tw_analysis *analysis = analysis_of(records, 2, &options);
        const tw_balance b = analysis_balance(analysis);

        vocabulary_context("case %zu", i);
        assert_u64(b.issued, 2);
        assert_u64(b.overlapping, cases[i].overlapping);
        assert_u64(b.members, cases[i].members);
        assert_u64(b.cut_at_begin, cases[i].cut_at_begin);
        assert_u64(b.cut_at_end, cases[i].cut_at_end);
        tw_analysis_free(analysis);
    }
}
END_TEST

/* ---- Quantiles --------------------------------------------------------------------- */

START_TEST(quantiles_interpolate_samples)
{
    const tw_record records[] = {in_ms(0, NEVER, 40, 1, 1), in_ms(0, NEVER, 10, 1, 1),
                                 in_ms(0, NEVER, 20, 1, 1)};
    static const struct {
        double q, value;
    } wanted[] = {
        {0, 10},   {0.01, 10.2}, {0.25, 15}, {0.5, 20}, {0.75, 30},
        {0.9, 36}, {0.99, 39.6}, {1, 40},    {0.3, 16}, {0.123456789012, 12.46913578024}};
    tw_analysis *analysis = analysis_of(records, 3, NULL);

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_near(quantile_of(analysis, TW_REQUEST_LATENCY, wanted[i].q),
                    wanted[i].value, 1e-15, 0);
    tw_analysis_free(analysis);
}
END_TEST

/* [Q] */
START_TEST(quantiles_of_exact_shares)
{
    /* One request all the time, and a second one in the last tenth of it. */
    const tw_record records[] = {in_ms(0, NEVER, 10, 1, 1), in_ms(9, NEVER, 10, 1, 1)};
    static const struct {
        double q, value;
    } wanted[] = {{0, 1},           {0.5, 1}, {0.9, 1},
                  {0.9 + 1e-14, 1}, {1, 2},   {0.900000000001, 2},
                  {0.95, 2}};
    tw_analysis *analysis = analysis_of(records, 2, NULL);

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_same(quantile_of(analysis, TW_EFFECTIVE_CONCURRENCY, wanted[i].q),
                    wanted[i].value);
    tw_analysis_free(analysis);
}
END_TEST

/* Many records, so that quantiles take several passes. */
enum { MANY = 3000 };

static tw_record *make_many(uint64_t seed)
{
    tw_record *records = malloc(MANY * sizeof *records);

    assert_that(records != NULL);
    for (int i = 0; i < MANY; i++) {
        const int64_t start = random_between(&seed, 0, 1000 * MS);
        const int64_t first = start + random_between(&seed, 0, 10 * MS);

        records[i] = with_credit(
            record(start, first, first + random_between(&seed, 0, 100 * MS),
                   random_between(&seed, 0, 1000), random_between(&seed, 0, 1000)),
            start - random_between(&seed, 0, 5 * MS));
        if (i % 20 == 0)
            records[i].status = TW_RECORD_FAILED;
    }
    return records;
}

static results one_result, other_result;

START_TEST(quantiles_at_once_are_the_same)
{
    enum { ASKED = 300 };
    double q[ASKED], values[ASKED], named[TW_QUANTILES_LIMIT];
    tw_record *records = make_many(1);
    tw_recorder *recorder = recorder_of(records, MANY);
    tw_options options = options_new();
    tw_analysis *plain = analysis_new(&recorder, 1, NULL), *with_names;
    uint64_t random = 2;

    for (int i = 0; i < ASKED; i++) /* unordered, repeated, standard ones between them */
        q[i] = i % 7 == 0   ? 0.5
               : i % 7 == 1 ? (double)random_below(&random, 11) / 10
                            : (double)random_below(&random, 1000001) / 1e6;
    for (int i = 0; i < TW_QUANTILES_LIMIT; i++)
        named[i] = q[i];
    options.quantiles = named;
    options.quantile_count = TW_QUANTILES_LIMIT;
    with_names = analysis_new(&recorder, 1, &options);
    memset(named, 0xff, sizeof named); /* they were copied */
    for (size_t m = 0; m < tw_metric_count(); m++) {
        tw_metric_row row = {.struct_size = sizeof row};

        assert_ok(tw_metric_info(m, &row));
        if (row.kind == TW_KIND_SCALAR || summary_status(plain, row.id))
            continue;
        vocabulary_context("%s", row.tag);
        assert_ok(tw_analysis_quantiles(plain, row.id, q, values, ASKED));
        for (int i = 0; i < ASKED; i += 3)
            assert_same(values[i], quantile_of(with_names, row.id, q[i]));
        for (int i = 0; i < ASKED; i += 50)
            assert_same(values[i], quantile_of(plain, row.id, q[i]));
    }
    assert_ok(results_take(&one_result, plain));
    assert_ok(results_take(&other_result, with_names));
    assert_same_results(&other_result, &one_result);
    tw_analysis_free(plain);
    tw_analysis_free(with_names);
    tw_recorder_free(recorder);
    free(records);
}
END_TEST

START_TEST(quantiles_arguments)
{
    const double wrong[] = {-1e-9, 1 + 1e-9, (double)NAN, HUGE_VAL, -HUGE_VAL};
    const double good = 0.5, two[] = {0.5, 2};
    double values[2] = {7, 7};
    tw_record list[2];
    tw_analysis *analysis;

    make_two(list);
    analysis = analysis_of(list, 2, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_status(
            tw_analysis_quantiles(analysis, TW_REQUEST_LATENCY, &wrong[i], values, 1),
            TW_ERR_INVAL);
    assert_status(tw_analysis_quantiles(analysis, TW_REQUEST_LATENCY, two, values, 2),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_quantiles(NULL, TW_REQUEST_LATENCY, &good, values, 1),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_quantiles(analysis, TW_REQUEST_LATENCY, NULL, values, 1),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_quantiles(analysis, TW_REQUEST_LATENCY, &good, NULL, 1),
                  TW_ERR_INVAL);
    assert_status(tw_analysis_quantiles(analysis, TW_REQUEST_COUNT, &good, values, 1),
                  TW_ERR_NOTSUP);
    assert_status(tw_analysis_quantiles(analysis, 12345, &good, values, 1),
                  TW_ERR_NOTSUP);
    assert_status(
        tw_analysis_quantiles(analysis, TW_ADJ_REQUEST_LATENCY, &good, values, 1),
        TW_ERR_NODATA);
    assert_same(values[0], 7.0);
    assert_ok(tw_analysis_quantiles(analysis, TW_REQUEST_LATENCY, NULL, NULL, 0));
    tw_analysis_free(analysis);
}
END_TEST

/* ---- Options ----------------------------------------------------------------------- */

START_TEST(options_refused)
{
    const tw_record r = in_ms(0, 1, 2, 3, 4);
    double q[TW_QUANTILES_LIMIT + 1] = {0};
    tw_recorder *recorder = recorder_of(&r, 1);
    tw_analysis *const untouched = (tw_analysis *)(void *)&q;
    tw_analysis *analysis = untouched;
    tw_allocator allocator;
    memory m;

    memory_init(&m);
#define REFUSED(change, status)                                               \
    do {                                                                      \
        tw_options options = options_new();                                   \
        change;                                                               \
        assert_status(tw_analyze(&analysis, &recorder, 1, &options), status); \
        assert_that(analysis == untouched);                                   \
    } while (0)
    REFUSED(options.flags = 4, TW_ERR_NOTSUP);
    REFUSED(options.flags = UINT32_C(1) << 31, TW_ERR_NOTSUP);
    REFUSED(options.kernel = TW_KERNEL_NEON + 1, TW_ERR_NOTSUP);
    REFUSED(options.kernel = -1, TW_ERR_NOTSUP);
    REFUSED(options.quantile_count = 1, TW_ERR_INVAL);
    REFUSED((options.quantiles = q, options.quantile_count = TW_QUANTILES_LIMIT + 1),
            TW_ERR_INVAL);
    REFUSED((options.quantiles = q, options.quantile_count = UINT64_MAX), TW_ERR_INVAL);
    q[3] = 1.5;
    REFUSED((options.quantiles = q, options.quantile_count = 4), TW_ERR_INVAL);
    q[3] = (double)NAN;
    REFUSED((options.quantiles = q, options.quantile_count = 4), TW_ERR_INVAL);
    allocator = m.allocator;
    allocator.free = NULL;
    REFUSED(options.allocator = &allocator, TW_ERR_INVAL);
    allocator = m.allocator;
    allocator.flags = 1;
    REFUSED(options.allocator = &allocator, TW_ERR_NOTSUP);
    allocator = m.allocator;
    allocator.struct_size = 0;
    REFUSED(options.allocator = &allocator, TW_ERR_ABI);
    REFUSED(options.struct_size = 0, TW_ERR_ABI);
    REFUSED(options.struct_size = 8, TW_ERR_ABI);
    REFUSED(options.struct_size = 1 << 20, TW_ERR_ABI);
#undef REFUSED
    memory_done(&m);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(options_of_other_versions)
{
    const tw_record r = in_ms(0, 1, 2, 3, 4);
    const tw_options plain = options_window(0, MS);
    unsigned char *bytes = malloc(sizeof plain + 16);
    const uint32_t size = sizeof plain + 16;
    tw_recorder *recorder = recorder_of(&r, 1);
    tw_analysis *analysis = NULL;
    int64_t begin, end;

    /* Newer: accepted as long as it wants nothing that is not known here. */
    assert_that(bytes != NULL);
    memset(bytes, 0, size);
    memcpy(bytes, &plain, sizeof plain);
    memcpy(bytes, &size, sizeof size);
    assert_ok(tw_analyze(&analysis, &recorder, 1, (tw_options *)(void *)bytes));
    assert_ok(tw_analysis_bounds(analysis, &begin, &end));
    assert_i64(end, MS);
    tw_analysis_free(analysis);
    bytes[size - 1] = 1;
    assert_status(tw_analyze(&analysis, &recorder, 1, (tw_options *)(void *)bytes),
                  TW_ERR_ABI);
    free(bytes);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(options_init)
{
    unsigned char bytes[sizeof(tw_options) + 16];
    tw_options options;
    uint32_t size;

    tw_options_init(NULL, 8);
    memset(bytes, 0x22, sizeof bytes);
    tw_options_init((tw_options *)(void *)bytes, sizeof options + 8);
    memcpy(&options, bytes, sizeof options);
    memcpy(&size, bytes, sizeof size);
    assert_u64(size, sizeof options + 8);
    assert_that(!options.flags && !options.kernel && !options.threads);
    assert_that(!options.executor && !options.quantiles && !options.allocator);
    for (size_t i = sizeof size; i < sizeof bytes; i++)
        assert_u64(bytes[i], i < sizeof options + 8 ? 0 : 0x22);
}
END_TEST

static int32_t run_tasks(void *executor_data, void (*task)(void *context, uint32_t index),
                         void *context, uint32_t count)
{
    (void)executor_data;
    for (uint32_t i = 0; i < count; i++)
        task(context, i);
    return 0;
}

/* Kernels and threads are no matter of results. */
START_TEST(options_of_no_consequence)
{
    tw_record *records = make_many(3);
    tw_recorder *recorder = recorder_of(records, MANY);
    tw_analysis *analysis = analysis_new(&recorder, 1, NULL);
    tw_options options[4];

    assert_ok(results_take_at_hand(&one_result, analysis));
    tw_analysis_free(analysis);
    for (int i = 0; i < 4; i++)
        options[i] = options_new();
    options[0].kernel = TW_KERNEL_PORTABLE;
    options[1].threads = 1;
    options[2].threads = 7;
    options[3].threads = 7;
    options[3].executor = run_tasks;
    for (int i = 0; i < 4; i++) {
        analysis = analysis_new(&recorder, 1, &options[i]);
        assert_ok(results_take_at_hand(&other_result, analysis));
        assert_same_results(&other_result, &one_result);
        assert_same_balance(&other_result.balance, &one_result.balance);
        tw_analysis_free(analysis);
    }
    tw_recorder_free(recorder);
    free(records);
}
END_TEST

/* ---- Recorders --------------------------------------------------------------------- */

START_TEST(no_records_at_all)
{
    const struct {
        uint32_t flags;
        int64_t begin, end, wanted_begin, wanted_end;
        int32_t status;
    } cases[] = {
        {0, 3, 4, 0, 0, TW_OK},
        {TW_WINDOW_BEGIN, 3, 4, 3, 3, TW_OK},
        {TW_WINDOW_END, 3, 4, 4, 4, TW_OK},
        {TW_WINDOW_BEGIN | TW_WINDOW_END, 3, 4, 3, 4, TW_OK},
        {TW_WINDOW_BEGIN | TW_WINDOW_END, 4, 3, 0, 0, TW_ERR_INVAL},
    };
    tw_recorder *recorder = recorder_new();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t recorders = 0; recorders < 2; recorders++) {
            tw_options options = options_new();
            tw_analysis *analysis = NULL;
            tw_balance balance, none = {.struct_size = sizeof none};
            int64_t begin, end;
            sink s;

            vocabulary_context("case %zu, %zu recorders", i, recorders);
            options.flags = cases[i].flags;
            options.window_begin_ns = cases[i].begin;
            options.window_end_ns = cases[i].end;
            assert_status(
                tw_analyze(&analysis, recorders ? &recorder : NULL, recorders, &options),
                cases[i].status);
            if (!analysis)
                continue;
            assert_ok(tw_analysis_bounds(analysis, &begin, &end));
            assert_i64(begin, cases[i].wanted_begin);
            assert_i64(end, cases[i].wanted_end);
            balance = analysis_balance(analysis);
            assert_same_balance(&balance, &none);
            for (size_t m = 0; m < tw_metric_count(); m++) {
                tw_metric_row row = {.struct_size = sizeof row};
                assert_ok(tw_metric_info(m, &row));
                assert_status(summary_status(analysis, row.id), TW_ERR_NODATA);
            }
            s = report_of(analysis, TW_FORMAT_TEXT, NULL);
            sink_free(&s);
            tw_analysis_free(analysis);
        }
    }
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(several_recorders_are_one)
{
    enum { RECORDERS = 4 };
    tw_record *records = make_many(4);
    const tw_record bad = record(1, NEVER, 0, 1, 1);
    tw_recorder *recorders[RECORDERS + 1], *one = recorder_of(records, MANY);
    tw_analysis *analysis = analysis_new(&one, 1, NULL);

    assert_ok(results_take_at_hand(&one_result, analysis));
    tw_analysis_free(analysis);
    for (int i = 0; i <= RECORDERS; i++)
        recorders[i] = recorder_new(); /* the last one stays empty */
    for (int i = 0; i < MANY; i++)
        recorder_append(recorders[i * i % RECORDERS], &records[i], 1);
    analysis = analysis_new(recorders, RECORDERS + 1, NULL);
    assert_ok(results_take_at_hand(&other_result, analysis));
    tw_analysis_free(analysis);
    assert_same_results(&other_result, &one_result);
    assert_same_balance(&other_result.balance, &one_result.balance);

    /* Refusals of all of them. */
    for (int i = 0; i <= RECORDERS; i++)
        assert_status(tw_recorder_append(recorders[i], &bad, 1, sizeof bad, 0, NULL),
                      TW_ERR_RANGE);
    analysis = analysis_new(recorders, RECORDERS + 1, NULL);
    assert_u64(analysis_balance(analysis).refused, RECORDERS + 1);
    assert_u64(analysis_balance(analysis).refused_by_rule[TW_RULE_END_BEFORE_START],
               RECORDERS + 1);
    assert_u64(analysis_balance(analysis).issued, MANY);
    tw_analysis_free(analysis);
    for (int i = 0; i <= RECORDERS; i++)
        tw_recorder_free(recorders[i]);
    tw_recorder_free(one);
    free(records);
}
END_TEST

static void set_clock(tw_recorder *recorder, int64_t offset_ns)
{
    const tw_clock clock = {sizeof clock, 0, offset_ns};
    assert_ok(tw_recorder_set_clock(recorder, &clock));
}

/* [TIME] */
START_TEST(clocks)
{
    /* The run by hand, told by two clocks. */
    static const int64_t at[] = {30 * MS};
    tw_record two[2];
    tw_recorder *recorders[2];
    tw_analysis *analysis;

    make_two(two);
    two[1] = with_chunks(two[1], at, NULL, 1);
    analysis = analysis_of(two, 2, NULL);
    assert_ok(results_take(&one_result, analysis));
    tw_analysis_free(analysis);
    for (int i = 0; i < 2; i++) {
        int64_t *arrivals;
        const int64_t by = i ? -1000 * MS : TIME_LIMIT - 100 * MS;
        const tw_record moved = with_shift(two[i], by, &arrivals);

        recorders[i] = recorder_of(&moved, 1);
        set_clock(recorders[i], -by);
        free(arrivals);
    }
    analysis = analysis_new(recorders, 2, NULL);
    assert_ok(results_take(&other_result, analysis));
    assert_same_results(&other_result, &one_result);
    assert_i64(other_result.begin_ns, one_result.begin_ns);
    assert_i64(other_result.end_ns, one_result.end_ns);
    assert_same_balance(&other_result.balance, &one_result.balance);

    /* A clock set later is no matter of an analysis that is there. */
    set_clock(recorders[0], 0);
    assert_ok(results_take(&other_result, analysis));
    assert_same_results(&other_result, &one_result);
    tw_analysis_free(analysis);
    tw_recorder_free(recorders[0]);
    tw_recorder_free(recorders[1]);
}
END_TEST

START_TEST(clocks_that_leave_the_range)
{
    static const int64_t at[] = {TIME_LIMIT};
    const struct {
        tw_record record;
        int64_t offset_ns;
        int32_t status;
    } cases[] = {
        {record(0, 10, TIME_LIMIT, 1, 1), 0, TW_OK},
        {record(0, 10, TIME_LIMIT, 1, 1), 1, TW_ERR_RANGE},
        {record(0, 10, TIME_LIMIT, 1, 1), TIME_LIMIT, TW_ERR_RANGE},
        {record(0, 10, TIME_LIMIT - 1, 1, 1), 1, TW_OK},
        {record(-TIME_LIMIT, 10, 20, 1, 1), -1, TW_ERR_RANGE},
        {record(-TIME_LIMIT + 1, 10, 20, 1, 1), -1, TW_OK},
        {record(-TIME_LIMIT, 10, 20, 1, 1), -TIME_LIMIT, TW_ERR_RANGE},
        {record(-TIME_LIMIT, 10, 20, 1, 1), TIME_LIMIT, TW_ERR_RANGE},
        {record(-TIME_LIMIT, -10, 0, 1, 1), TIME_LIMIT, TW_OK},
        {with_credit(record(0, 10, 20, 1, 1), -TIME_LIMIT), -1, TW_ERR_RANGE},
        {record(0, TIME_LIMIT, NEVER, 1, 1), 1, TW_ERR_RANGE},
        {record(TIME_LIMIT, NEVER, NEVER, 1, 1), 1, TW_ERR_RANGE},
        {with_chunks(record(0, 10, NEVER, 1, 1), at, NULL, 1), 1, TW_ERR_RANGE},
        {with_chunks(record(0, 10, NEVER, 1, 1), at, NULL, 1), 0, TW_OK},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tw_recorder *recorder = recorder_of(&cases[i].record, 1);
        tw_analysis *analysis = NULL;

        vocabulary_context("case %zu", i);
        set_clock(recorder, cases[i].offset_ns);
        assert_status(tw_analyze(&analysis, &recorder, 1, NULL), cases[i].status);
        assert_that(!analysis == (cases[i].status != TW_OK));
        tw_analysis_free(analysis);
        /* With another clock it goes on. */
        set_clock(recorder, 0);
        analysis = analysis_new(&recorder, 1, NULL);
        tw_analysis_free(analysis);
        tw_recorder_free(recorder);
    }
}
END_TEST

START_TEST(recorders_refused)
{
    const tw_record r = in_ms(0, 1, 2, 3, 4);
    tw_recorder *a = recorder_of(&r, 1), *b = recorder_of(&r, 1);
    tw_analysis *const untouched = (tw_analysis *)(void *)&a;
    tw_analysis *analysis = untouched;

    assert_status(tw_analyze(NULL, &a, 1, NULL), TW_ERR_INVAL);
    assert_status(tw_analyze(&analysis, NULL, 1, NULL), TW_ERR_INVAL);
    assert_status(tw_analyze(&analysis, (tw_recorder *[]){a, NULL}, 2, NULL),
                  TW_ERR_INVAL);
    assert_status(tw_analyze(&analysis, (tw_recorder *[]){a, b, a}, 3, NULL),
                  TW_ERR_INVAL);
    assert_status(tw_analyze(&analysis, (tw_recorder *[]){b, b}, 2, NULL), TW_ERR_INVAL);
    assert_that(analysis == untouched);
    tw_recorder_free(a);
    tw_recorder_free(b);
}
END_TEST

START_TEST(freeing_in_any_order)
{
    enum { RECORDERS = 3, ANALYSES = 4, THINGS = RECORDERS + ANALYSES };
    tw_record *records = make_many(5);
    uint64_t random = 6;

    for (int round = 0; round < 20; round++) {
        memory m;
        const tw_recorder_options options = {sizeof options, 0, &m.allocator};
        tw_options analysis_options = options_new();
        tw_recorder *recorders[RECORDERS];
        tw_analysis *analyses[ANALYSES];
        int order[THINGS];

        vocabulary_context("round %d", round);
        memory_init(&m);
        analysis_options.allocator = &m.allocator;
        for (int i = 0; i < RECORDERS; i++) {
            assert_ok(tw_recorder_new(&recorders[i], &options));
            recorder_append(recorders[i], records + 500 * i, 500 + 500 * (size_t)i);
        }
        for (int i = 0; i < ANALYSES; i++)
            analyses[i] = analysis_new(recorders, 1 + (size_t)i % RECORDERS,
                                       &analysis_options);
        for (int i = 0; i < THINGS; i++) {
            const int other = (int)random_below(&random, (uint64_t)i + 1);
            order[i] = order[other];
            order[other] = i;
        }
        for (int i = 0; i < THINGS; i++) {
            if (order[i] < RECORDERS) {
                tw_recorder_free(recorders[order[i]]);
            } else {
                assert_ok(
                    results_take_at_hand(&one_result, analyses[order[i] - RECORDERS]));
                tw_analysis_free(analyses[order[i] - RECORDERS]);
            }
        }
        memory_done(&m);
    }
    tw_analysis_free(NULL);
    free(records);
}
END_TEST

/* ---- Arguments of queries ---------------------------------------------------------- */

START_TEST(query_arguments)
{
    unsigned char bytes[sizeof(tw_balance) + 64];
    uint32_t size;
    tw_record two[2];
    tw_analysis *analysis;
    tw_summary s = {.struct_size = sizeof s};
    tw_balance b = {.struct_size = sizeof b};
    int64_t begin = 7, end = 7;

    make_two(two);
    analysis = analysis_of(two, 2, NULL);
    assert_status(tw_analysis_bounds(NULL, &begin, &end), TW_ERR_INVAL);
    assert_status(tw_analysis_bounds(analysis, NULL, &end), TW_ERR_INVAL);
    assert_status(tw_analysis_bounds(analysis, &begin, NULL), TW_ERR_INVAL);
    assert_i64(begin + end, 14);
    assert_status(tw_analysis_balance(NULL, &b), TW_ERR_INVAL);
    assert_status(tw_analysis_balance(analysis, NULL), TW_ERR_INVAL);
    assert_status(tw_analysis_summary(NULL, TW_REQUEST_COUNT, &s), TW_ERR_INVAL);
    assert_status(tw_analysis_summary(analysis, TW_REQUEST_COUNT, NULL), TW_ERR_INVAL);
    assert_status(tw_analysis_summary(analysis, 0, &s), TW_ERR_NOTSUP);
    assert_status(tw_analysis_summary(analysis, 110, &s), TW_ERR_NOTSUP);
    assert_status(tw_analysis_summary(analysis, -1, &s), TW_ERR_NOTSUP);
    s.avg = 7;
    assert_status(tw_analysis_summary(analysis, TW_ADJ_REQUEST_LATENCY, &s),
                  TW_ERR_NODATA);
    s.struct_size = sizeof s - 1;
    assert_status(tw_analysis_summary(analysis, TW_REQUEST_COUNT, &s), TW_ERR_ABI);
    assert_same(s.avg, 7.0);
    b.struct_size = 3;
    assert_status(tw_analysis_balance(analysis, &b), TW_ERR_ABI);

    /* The structs of a later version: what is not known here is zero. */
    memset(bytes, 0x11, sizeof bytes);
    size = sizeof s + 8;
    memcpy(bytes, &size, sizeof size);
    assert_ok(
        tw_analysis_summary(analysis, TW_REQUEST_COUNT, (tw_summary *)(void *)bytes));
    for (size_t i = sizeof s; i < sizeof bytes; i++)
        assert_u64(bytes[i], i < size ? 0 : 0x11);
    memset(bytes, 0x11, sizeof bytes);
    size = sizeof b + 8;
    memcpy(bytes, &size, sizeof size);
    assert_ok(tw_analysis_balance(analysis, (tw_balance *)(void *)bytes));
    for (size_t i = sizeof b; i < sizeof bytes; i++)
        assert_u64(bytes[i], i < size ? 0 : 0x11);
    tw_analysis_free(analysis);
}
END_TEST

/* Not emitted is an answer of its own: for what the records lack. */
/* [EMIT] */
START_TEST(emitted_by_fields)
{
    const tw_record bare = in_ms(0, NEVER, 10, UNKNOWN, UNKNOWN);
    const tw_record still = in_ms(0, 10, 10, 5, 2); /* a decode phase of no length */
    static const int32_t of_bare[] = {
        TW_EFFECTIVE_CONCURRENCY,   TW_REQUEST_LATENCY,        TW_REQUEST_COUNT,
        TW_ERROR_REQUEST_COUNT,     TW_BENCHMARK_DURATION,     TW_REQUEST_THROUGHPUT,
        TW_OUTPUT_TOKEN_THROUGHPUT, TW_TOTAL_TOKEN_THROUGHPUT, 0};
    tw_analysis *analysis = analysis_of(&bare, 1, NULL);

    for (size_t m = 0; m < tw_metric_count(); m++) {
        tw_metric_row row = {.struct_size = sizeof row};
        size_t i = 0;

        assert_ok(tw_metric_info(m, &row));
        vocabulary_context("%s", row.tag);
        while (of_bare[i] && of_bare[i] != row.id)
            i++;
        assert_status(summary_status(analysis, row.id),
                      of_bare[i] ? TW_OK : TW_ERR_NODATA);
    }
    tw_analysis_free(analysis);

    analysis = analysis_of(&still, 1, NULL);
    vocabulary_context("%s", "a decode phase of no length");
    /* a measured zero */
    assert_same(summary_of(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT).max, 0.0);
    assert_status(summary_status(analysis, TW_ACTIVE_DECODE_THROUGHPUT), TW_ERR_NODATA);
    assert_same(summary_of(analysis, TW_ACTIVE_PREFILL_THROUGHPUT).avg, 500.0);
    assert_same(summary_of(analysis, TW_INTER_TOKEN_LATENCY).avg, 0.0);
    assert_status(summary_status(analysis, TW_OUTPUT_TOKEN_THROUGHPUT_PER_USER),
                  TW_ERR_NODATA);
    tw_analysis_free(analysis);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("analysis");
    TCase *runs = vocabulary_case(suite, "runs"),
          *windows = vocabulary_case(suite, "windows"),
          *quantiles = vocabulary_case(suite, "quantiles"),
          *options = vocabulary_case(suite, "options"),
          *recorders = vocabulary_case(suite, "recorders"),
          *queries = vocabulary_case(suite, "queries");

    tcase_add_test(runs, curves_by_hand);
    tcase_add_test(runs, samples_by_hand);
    tcase_add_test(runs, chunks_by_hand);
    tcase_add_test(runs, error_adjusted_by_hand);
    tcase_add_test(runs, error_adjusted_needs_both);
    tcase_add_test(runs, failed_records_count_in_curves);
    tcase_add_test(runs, requests_in_flight);
    tcase_add_test(windows, window_edges);
    tcase_add_test(windows, window_by_default);
    tcase_add_test(windows, window_clips);
    tcase_add_test(windows, window_without_work);
    tcase_add_test(windows, window_of_no_length);
    tcase_add_test(windows, members);
    tcase_add_test(windows, balance_of_a_window);
    tcase_add_test(quantiles, quantiles_interpolate_samples);
    tcase_add_test(quantiles, quantiles_of_exact_shares);
    tcase_add_test(quantiles, quantiles_at_once_are_the_same);
    tcase_add_test(quantiles, quantiles_arguments);
    tcase_add_test(options, options_refused);
    tcase_add_test(options, options_of_other_versions);
    tcase_add_test(options, options_init);
    tcase_add_test(options, options_of_no_consequence);
    tcase_add_test(recorders, no_records_at_all);
    tcase_add_test(recorders, several_recorders_are_one);
    tcase_add_test(recorders, clocks);
    tcase_add_test(recorders, clocks_that_leave_the_range);
    tcase_add_test(recorders, recorders_refused);
    tcase_add_test(recorders, freeing_in_any_order);
    tcase_add_test(queries, query_arguments);
    tcase_add_test(queries, emitted_by_fields);
    return vocabulary_main(suite);
}
