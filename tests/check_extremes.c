/* SPDX-License-Identifier: MIT */
/* Inputs at the edges of what is accepted, each with a result worked out by hand. Times
 * and tokens are powers of two wherever that makes the result an exact double. */

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/mem.h"
#include "timeline/order.h"
#include "vocabulary.h"

#define TIME_LIMIT (INT64_C(1) << 61)
#define MOST_TOKENS ((INT64_C(1) << 40) - 1)
#define EPOCH INT64_C(1760000000123456789)

/* ---- Words ------------------------------------------------------------------------- */

static void *make(size_t count, size_t size)
{
    void *made = calloc(count, size);
    assert_that(made != NULL);
    return made;
}

static void about(int32_t metric)
{
    vocabulary_context("metric %" PRId32, metric);
}

static void has(const tw_analysis *analysis, int32_t metric, double avg, double min,
                double max)
{
    const tw_summary s = summary_of(analysis, metric);

    about(metric);
    assert_same(s.avg, avg);
    assert_same(s.min, min);
    assert_same(s.max, max);
}

/* The same all the time. */
static void is_always(const tw_analysis *analysis, int32_t metric, double value)
{
    has(analysis, metric, value, value, value);
    assert_same(summary_of(analysis, metric).std, 0.0);
    assert_same(quantile_of(analysis, metric, 0.5), value);
}

/* A sample of equal values: `times` of them, each whole / parts. */
static void is_sample(const tw_analysis *analysis, int32_t metric, double times,
                      double whole, double parts)
{
    const tw_summary s = summary_of(analysis, metric);

    is_always(analysis, metric, whole / parts);
    assert_same(s.sum, times * whole / parts);
    assert_same((double)s.count, times);
}

static void is_scalar(const tw_analysis *analysis, int32_t metric, double value)
{
    about(metric);
    assert_same(summary_of(analysis, metric).avg, value);
}

static void is_missing(const tw_analysis *analysis, int32_t metric)
{
    about(metric);
    assert_status(summary_status(analysis, metric), TW_ERR_NODATA);
}

/* Every metric of a kind (and of a group, if that is not 0). */
typedef void (*metric_fn)(const tw_analysis *analysis, int32_t metric);

static void for_each_metric(const tw_analysis *analysis, int32_t kind, int32_t group,
                            metric_fn check)
{
    for (size_t m = 0; m < tw_metric_count(); m++) {
        tw_metric_row row = {.struct_size = sizeof row};

        assert_ok(tw_metric_info(m, &row));
        if (row.kind == kind && (group == 0 || row.group == group))
            check(analysis, row.id);
    }
}

static void is_zero(const tw_analysis *analysis, int32_t metric)
{
    is_always(analysis, metric, 0.0);
}

static void has_bounds(const tw_analysis *analysis, int64_t begin_ns, int64_t end_ns)
{
    int64_t begin = 1, end = -1;

    assert_ok(tw_analysis_bounds(analysis, &begin, &end));
    assert_i64(begin, begin_ns);
    assert_i64(end, end_ns);
}

static tw_analysis *windowed(const tw_record *records, size_t count, int64_t begin_ns,
                             int64_t end_ns)
{
    const tw_options options = options_window(begin_ns, end_ns);
    return analysis_of(records, count, &options);
}

static const twi_dist *dist_of(const tw_analysis *analysis, twi_curve curve)
{
    return &analysis->dist[curve];
}

/* 48 ns in the queue, 16 ns of prefill at 8 tokens/ns, 64 ns of decode at 1/16. */
static tw_record typical(int64_t at_ns)
{
    return with_credit(record(at_ns + 48, at_ns + 64, at_ns + 128, 128, 5), at_ns);
}

/* n of them at once, in a window of 128 ns, which is the default one. */
static void is_typical(const tw_analysis *analysis, double n)
{
    has(analysis, TW_EFFECTIVE_QUEUE_DEPTH, n * 0.375, 0, n);
    has(analysis, TW_EFFECTIVE_CONCURRENCY, n * 0.625, 0, n);
    assert_same(summary_of(analysis, TW_EFFECTIVE_CONCURRENCY).std,
                sqrt(n * n * 15 / 64)); /* p (1 - p) with p = 5/8 */
    has(analysis, TW_EFFECTIVE_PREFILL_CONCURRENCY, n * 0.125, 0, n);
    has(analysis, TW_EFFECTIVE_DECODE_CONCURRENCY, n * 0.5, 0, n);
    has(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT, n * 1e9, 0, n * 8e9);
    has(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT, n * 31250000, 0, n * 62500000);
    has(analysis, TW_EFFECTIVE_TOTAL_THROUGHPUT, n * 1031250000, 0, n * 8e9);
    has(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT_PER_USER, 1e9, 0, 8e9);
    has(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT_PER_USER, 31250000, 0, 62500000);
    has(analysis, TW_TOKENS_IN_FLIGHT, n * 82.5, 0, n * 133);
    is_always(analysis, TW_ACTIVE_PREFILL_THROUGHPUT, n * 8e9);
    is_always(analysis, TW_ACTIVE_DECODE_THROUGHPUT, n * 62500000);
    is_always(analysis, TW_ACTIVE_PREFILL_THROUGHPUT_PER_USER, 8e9);
    is_always(analysis, TW_ACTIVE_DECODE_THROUGHPUT_PER_USER, 62500000);
    has(analysis, TW_ACTIVE_TOTAL_THROUGHPUT, n * 1650000000, n * 62500000, n * 8e9);
    assert_i64(summary_of(analysis, TW_ACTIVE_PREFILL_THROUGHPUT).active_ns, 16);
    assert_i64(summary_of(analysis, TW_ACTIVE_DECODE_THROUGHPUT).active_ns, 64);
    assert_i64(summary_of(analysis, TW_ACTIVE_TOTAL_THROUGHPUT).active_ns, 80);

    is_sample(analysis, TW_EFFECTIVE_LATENCY, n, 128, 1e6);
    is_sample(analysis, TW_CREDIT_TO_START_LATENCY, n, 48, 1e6);
    is_sample(analysis, TW_REQUEST_LATENCY, n, 80, 1e6);
    is_sample(analysis, TW_TIME_TO_FIRST_TOKEN, n, 16, 1e6);
    is_sample(analysis, TW_INTER_TOKEN_LATENCY, n, 16, 1e6);
    is_sample(analysis, TW_OUTPUT_TOKEN_THROUGHPUT_PER_USER, n, 62500000, 1);
    is_sample(analysis, TW_OUTPUT_SEQUENCE_LENGTH, n, 5, 1);
    is_sample(analysis, TW_INPUT_SEQUENCE_LENGTH, n, 128, 1);
    is_missing(analysis, TW_TIME_TO_SECOND_TOKEN);
    is_missing(analysis, TW_INTER_CHUNK_LATENCY);
    is_missing(analysis, TW_ADJ_EFFECTIVE_LATENCY);
    is_missing(analysis, TW_ADJ_REQUEST_LATENCY);

    is_scalar(analysis, TW_REQUEST_COUNT, n);
    is_scalar(analysis, TW_ERROR_REQUEST_COUNT, 0);
    is_scalar(analysis, TW_BENCHMARK_DURATION, 128 / 1e9);
    is_scalar(analysis, TW_REQUEST_THROUGHPUT, n * 7812500);
    is_scalar(analysis, TW_OUTPUT_TOKEN_THROUGHPUT, n * 39062500);
    is_scalar(analysis, TW_TOTAL_TOKEN_THROUGHPUT, n * 1039062500);
}

/* ---- Few records ------------------------------------------------------------------- */

static void is_empty(const tw_analysis *analysis)
{
    const tw_balance none = {.struct_size = sizeof none};
    const tw_balance balance = analysis_balance(analysis);

    assert_same_balance(&balance, &none);
    for_each_metric(analysis, TW_KIND_CURVE, 0, is_missing);
    for_each_metric(analysis, TW_KIND_SAMPLE, 0, is_missing);
    for_each_metric(analysis, TW_KIND_SCALAR, 0, is_missing);
    for (int32_t format = TW_FORMAT_TEXT; format <= TW_FORMAT_JSON; format++) {
        sink report = report_of(analysis, format, NULL);
        assert_that(report.length > 0);
        sink_free(&report);
    }
}

START_TEST(no_record_has_a_balance_and_nothing_else)
{
    const tw_options window = options_window(5, 10);
    tw_recorder *empty = recorder_new();
    tw_analysis *none = analysis_new(NULL, 0, NULL);
    tw_analysis *one = analysis_new(&empty, 1, NULL);
    tw_analysis *in_window = analysis_new(&empty, 1, &window);

    has_bounds(none, 0, 0);
    has_bounds(one, 0, 0);
    has_bounds(in_window, 5, 10);
    is_empty(none);
    is_empty(one);
    is_empty(in_window);
    tw_analysis_free(in_window);
    tw_analysis_free(one);
    tw_analysis_free(none);
    tw_recorder_free(empty);
}
END_TEST

START_TEST(one_record)
{
    const tw_record only = typical(0);
    tw_analysis *analysis = analysis_of(&only, 1, NULL);

    has_bounds(analysis, 0, 128);
    is_typical(analysis, 1);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(one_record_without_a_length)
{
    const tw_record only = record(7, 7, 7, 3, 3);
    tw_analysis *analysis = analysis_of(&only, 1, NULL);

    has_bounds(analysis, 7, 7);
    for_each_metric(analysis, TW_KIND_CURVE, 0, is_missing);
    is_sample(analysis, TW_REQUEST_LATENCY, 1, 0, 1);
    is_sample(analysis, TW_TIME_TO_FIRST_TOKEN, 1, 0, 1);
    is_sample(analysis, TW_INTER_TOKEN_LATENCY, 1, 0, 1);
    is_missing(analysis, TW_OUTPUT_TOKEN_THROUGHPUT_PER_USER); /* 2 tokens in no time */
    is_scalar(analysis, TW_REQUEST_COUNT, 1);
    is_scalar(analysis, TW_BENCHMARK_DURATION, 0);
    is_missing(analysis, TW_REQUEST_THROUGHPUT);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(two_records_that_touch_are_one_at_a_time)
{
    const tw_record both[] = {record(0, NEVER, 64, UNKNOWN, UNKNOWN),
                              record(64, NEVER, 128, UNKNOWN, UNKNOWN)};
    tw_analysis *analysis = analysis_of(both, 2, NULL);

    is_always(analysis, TW_EFFECTIVE_CONCURRENCY, 1);
    is_sample(analysis, TW_REQUEST_LATENCY, 2, 64, 1e6);
    tw_analysis_free(analysis);
}
END_TEST

/* One for 32 ns, two for 32 ns, one for 64 ns; latencies of 64 and 96 ns. */
START_TEST(two_records_that_overlap)
{
    const tw_record both[] = {record(0, NEVER, 64, UNKNOWN, UNKNOWN),
                              record(32, NEVER, 128, UNKNOWN, UNKNOWN)};
    tw_analysis *analysis = analysis_of(both, 2, NULL);

    has(analysis, TW_EFFECTIVE_CONCURRENCY, 1.25, 1, 2);
    assert_same(summary_of(analysis, TW_EFFECTIVE_CONCURRENCY).std, sqrt(3.0 / 16));
    assert_same(quantile_of(analysis, TW_EFFECTIVE_CONCURRENCY, 0.75), 1.0);
    assert_same(quantile_of(analysis, TW_EFFECTIVE_CONCURRENCY, 0.750000000001), 2.0);
    has(analysis, TW_REQUEST_LATENCY, 80 / 1e6, 64 / 1e6, 96 / 1e6);
    assert_same(summary_of(analysis, TW_REQUEST_LATENCY).std, sqrt(16 * 16 / 1e12));
    assert_same(quantile_of(analysis, TW_REQUEST_LATENCY, 0.25), 72 / 1e6);
    assert_same(quantile_of(analysis, TW_REQUEST_LATENCY, 0.5), 80 / 1e6);
    tw_analysis_free(analysis);
}
END_TEST

/* ---- One instant ------------------------------------------------------------------- */

enum { MANY = 1000 };

static tw_record *copies(tw_record r, size_t count)
{
    tw_record *all = make(count, sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = r;
    return all;
}

START_TEST(all_at_one_instant)
{
    tw_record *all = copies(with_credit(record(EPOCH, EPOCH, EPOCH, 10, 3), EPOCH), MANY);
    tw_analysis *analysis = analysis_of(all, MANY, NULL);
    tw_balance balance = analysis_balance(analysis);

    has_bounds(analysis, EPOCH, EPOCH);
    assert_u64(balance.ok, MANY);
    assert_u64(balance.members, MANY);
    assert_u64(balance.overlapping, MANY);
    for_each_metric(analysis, TW_KIND_CURVE, 0, is_missing);
    is_sample(analysis, TW_EFFECTIVE_LATENCY, MANY, 0, 1);
    is_scalar(analysis, TW_REQUEST_COUNT, MANY);
    is_scalar(analysis, TW_BENCHMARK_DURATION, 0);
    is_missing(analysis, TW_TOTAL_TOKEN_THROUGHPUT);
    tw_analysis_free(analysis);

    /* What has no length contributes nothing: measured zeros, and no active time. */
    analysis = windowed(all, MANY, EPOCH - 1, EPOCH + 1);
    balance = analysis_balance(analysis);
    assert_u64(balance.members, MANY);
    assert_u64(balance.cut_at_begin + balance.cut_at_end, 0);
    for_each_metric(analysis, TW_KIND_CURVE, TW_GROUP_EFFECTIVE, is_zero);
    for_each_metric(analysis, TW_KIND_CURVE, TW_GROUP_ACTIVE, is_missing);
    is_scalar(analysis, TW_REQUEST_THROUGHPUT, MANY * 1e9 / 2);
    tw_analysis_free(analysis);
    free(all);
}
END_TEST

/* At 64 ns a thousand records end, a thousand begin, and a thousand do both. At 32 and 96
 * ns a thousand first tokens arrive. */
START_TEST(ties_are_never_seen)
{
    const tw_record kinds[] = {record(0, 32, 64, 10, 3), record(64, 96, 128, 10, 3),
                               record(64, 64, 64, 10, 3)};
    tw_record *all = make(3 * MANY, sizeof *all);
    tw_analysis *analysis;

    for (size_t i = 0; i < 3 * MANY; i++)
        all[i] = kinds[i % 3];
    analysis = analysis_of(all, 3 * MANY, NULL);
    is_always(analysis, TW_EFFECTIVE_CONCURRENCY, MANY);
    has(analysis, TW_EFFECTIVE_PREFILL_CONCURRENCY, MANY / 2, 0, MANY);
    has(analysis, TW_EFFECTIVE_DECODE_CONCURRENCY, MANY / 2, 0, MANY);
    has(analysis, TW_TOKENS_IN_FLIGHT, 11.5 * MANY, 10 * MANY, 13 * MANY);
    has(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT, MANY * 31250000.0, 0,
        MANY * 62500000.0);
    tw_analysis_free(analysis);
    free(all);
}
END_TEST

/* ---- Long runs --------------------------------------------------------------------- */

/* One record that is in prefill for half the run and then decodes, and in its middle one
 * with phases of 1 ns. half_ns is a power of two. */
static void check_long_run(int64_t begin_ns, int64_t half_ns)
{
    const int64_t middle_ns = begin_ns + half_ns, end_ns = middle_ns + half_ns;
    const int64_t half_tokens = INT64_C(1) << 39; /* rates of the long record: below */
    const double length = 2 * (double)half_ns, tokens = (double)half_tokens;
    const double rate = tokens * 1e9 / (double)half_ns;
    const tw_record both[] = {
        record(begin_ns, middle_ns, end_ns, half_tokens, half_tokens + 1),
        record(middle_ns, middle_ns + 1, middle_ns + 2, 1, 2)};
    tw_analysis *analysis = analysis_of(both, 2, NULL);
    tw_summary s;

    has_bounds(analysis, begin_ns, end_ns);
    /* 1 + 2^-60 or less is 1; the 2 ns are there all the same. */
    has(analysis, TW_EFFECTIVE_CONCURRENCY, 1, 1, 2);
    s = summary_of(analysis, TW_EFFECTIVE_CONCURRENCY);
    assert_same(s.std, sqrt(2 / length));
    assert_i64(s.weight_ns, (int64_t)(2 * (uint64_t)half_ns));
    assert_same(quantile_of(analysis, TW_EFFECTIVE_CONCURRENCY, 1 - 1e-12), 1.0);
    assert_same(quantile_of(analysis, TW_EFFECTIVE_CONCURRENCY, 1), 2.0);
    assert_u64(dist_of(analysis, TWI_CURVE_DECODE_RATE)->zero_weight, (uint64_t)half_ns);
    assert_u64(dist_of(analysis, TWI_CURVE_PREFILL_RATE)->zero_weight,
               (uint64_t)half_ns - 1);
    /* 2^39 + 1 tokens each. */
    has(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT, (tokens + 1) * 1e9 / length, 0, 1e9);
    has(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT, (tokens + 1) * 1e9 / length, 0,
        1e9 + rate);
    /* For 1 ns two share 1 token/ns and the long record's rate. */
    s = summary_of(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT_PER_USER);
    assert_near(s.avg, (tokens * 1e9 + (1e9 - rate) / 2) / length, 2 * DBL_EPSILON, 0);
    assert_same(s.max, (1e9 + rate) / 2);
    s = summary_of(analysis, TW_ACTIVE_PREFILL_THROUGHPUT);
    assert_i64(s.active_ns, half_ns + 1);
    assert_same(s.min, rate);
    assert_same(s.max, 1e9);
    /* Input all the time, output for half of it, and 4 token ns of the short record. */
    has(analysis, TW_TOKENS_IN_FLIGHT, tokens + tokens / 2 + 0.5, tokens, 2 * tokens + 4);
    has(analysis, TW_REQUEST_LATENCY, (length / 2 + 1) / 1e6, 2 / 1e6, length / 1e6);
    assert_same(quantile_of(analysis, TW_REQUEST_LATENCY, 0.5), (length / 2 + 1) / 1e6);
    is_scalar(analysis, TW_BENCHMARK_DURATION, length / 1e9);
    is_scalar(analysis, TW_REQUEST_THROUGHPUT, 2e9 / length);
    tw_analysis_free(analysis);
}

START_TEST(long_run_beside_a_nanosecond)
{
    check_long_run(0, TIME_LIMIT / 2);
    check_long_run(-TIME_LIMIT, TIME_LIMIT / 2);
    check_long_run(-TIME_LIMIT, TIME_LIMIT);
}
END_TEST

/* The first and the last nanosecond that there are: 2 of 2^62. */
START_TEST(nanosecond_at_either_end_of_time)
{
    const tw_record both[] = {
        record(-TIME_LIMIT, NEVER, -TIME_LIMIT + 1, UNKNOWN, UNKNOWN),
        record(TIME_LIMIT - 1, NEVER, TIME_LIMIT, UNKNOWN, UNKNOWN)};
    tw_analysis *analysis = analysis_of(both, 2, NULL);

    has_bounds(analysis, -TIME_LIMIT, TIME_LIMIT);
    has(analysis, TW_EFFECTIVE_CONCURRENCY, 0x1p-61, 0, 1);
    assert_same(summary_of(analysis, TW_EFFECTIVE_CONCURRENCY).std, sqrt(0x1p-61));
    assert_same(quantile_of(analysis, TW_EFFECTIVE_CONCURRENCY, 1 - 1e-12), 0.0);
    tw_analysis_free(analysis);

    analysis = windowed(both, 2, -TIME_LIMIT, -TIME_LIMIT + 1);
    is_always(analysis, TW_EFFECTIVE_CONCURRENCY, 1);
    tw_analysis_free(analysis);
    analysis = windowed(both, 2, TIME_LIMIT - 1, TIME_LIMIT);
    is_always(analysis, TW_EFFECTIVE_CONCURRENCY, 1);
    assert_u64(analysis_balance(analysis).members, 1);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(in_flight_from_one_end_of_time_to_the_other)
{
    const tw_record only = record(-TIME_LIMIT, -TIME_LIMIT, NEVER, 8, 8);
    tw_analysis *analysis = windowed(&only, 1, -TIME_LIMIT, TIME_LIMIT);

    is_always(analysis, TW_EFFECTIVE_CONCURRENCY, 1);
    is_always(analysis, TW_EFFECTIVE_DECODE_CONCURRENCY, 1);
    is_always(analysis, TW_TOKENS_IN_FLIGHT, 16);
    is_missing(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT);
    assert_u64(analysis_balance(analysis).in_flight, 1);
    tw_analysis_free(analysis);
}
END_TEST

/* ---- Many tokens ------------------------------------------------------------------- */

enum { GIANTS = 100000 };

/* n times a whole double, exactly. */
static twi_u192 times(double value, uint64_t n)
{
    const twi_u192 whole = exact_whole(value);
    twi_big big = twi_big_from(whole.w, 3);

    twi_big_multiply64(&big, n);
    assert_that(big.used <= 3);
    return (twi_u192){{big.w[0], big.w[1], big.w[2]}};
}

/* The exact sum of value * ns. */
static void has_sum(const twi_dist *dist, twi_u192 wanted)
{
    const twi_big got = twi_big_from(dist->tally.sum.w, TWI_SUM_LIMBS);
    twi_big sum = twi_big_from(wanted.w, 3);

    twi_big_shift(&sum, TWI_SUM_SHIFT);
    assert_i64(twi_big_compare(&got, &sum), 0);
}

/* 100,000 records with 2^40 - 1 tokens in and out, 1 ns each, and as many 1 ns later:
 *
 *      [0, 1)    [1, 2)              [2, 3)    [3, 4)
 *      prefill   prefill + decode    decode    nothing
 *
 * A sum has up to 147 bits in the unit of rates: lanes do not hold it. */
START_TEST(most_tokens_in_a_nanosecond_many_times_at_once)
{
    const uint64_t most = (uint64_t)MOST_TOKENS, all_tokens = GIANTS * most;
    const double in = (double)all_tokens, one = (double)MOST_TOKENS;
    const double out = (double)(GIANTS * (most - 1));
    const twi_u192 all_in = times(exact_rate(most, 1), GIANTS),
                   all_out = times(exact_rate(most - 1, 1), GIANTS);
    const double prefills = exact_double(all_in), decodes = exact_double(all_out),
                 both = exact_double(twi_add(all_in, all_out));
    tw_record *all = make(2 * GIANTS, sizeof *all);
    const twi_dist *prefill, *decode, *total;
    tw_analysis *analysis;

    for (int64_t i = 0; i < 2 * GIANTS; i++)
        all[i] = record(i % 2, i % 2 + 1, i % 2 + 2, MOST_TOKENS, MOST_TOKENS);
    analysis = windowed(all, 2 * GIANTS, 0, 4);
    prefill = dist_of(analysis, TWI_CURVE_PREFILL_RATE);
    decode = dist_of(analysis, TWI_CURVE_DECODE_RATE);
    total = dist_of(analysis, TWI_CURVE_TOTAL_RATE);

    /* Exact sums, each rounded once. */
    assert_that(analysis->core->timeline.wide);
    assert_that(both >= 0x1p146);
    assert_same(prefill->tally.least, prefills);
    assert_same(prefill->tally.most, prefills);
    assert_u64(prefill->zero_weight, 2);
    has_sum(prefill, times(prefills, 2));
    assert_same(decode->tally.least, decodes);
    assert_same(decode->tally.most, decodes);
    assert_u64(decode->zero_weight, 2);
    assert_same(total->tally.least, decodes);
    assert_same(total->tally.most, both);
    assert_u64(total->zero_weight, 1);
    has_sum(total, twi_add(twi_add(exact_whole(prefills), exact_whole(decodes)),
                           exact_whole(both)));

    /* And what is made of them: each of some three roundings moves by 2^-53 at most. */
    has(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT, prefills * 0x1p-60, 0,
        prefills * 0x1p-59);
    assert_near(prefills * 0x1p-59, in * 1e9, 2 * DBL_EPSILON, 0);
    assert_near(summary_of(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT).std, in * 1e9 / 2,
                0x1p-47, 0); /* moments count in 2^-47 of the largest value */
    has(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT, decodes * 0x1p-60, 0,
        decodes * 0x1p-59);
    assert_near(decodes * 0x1p-59, out * 1e9, 2 * DBL_EPSILON, 0);
    assert_same(summary_of(analysis, TW_EFFECTIVE_TOTAL_THROUGHPUT).max, both * 0x1p-59);
    assert_near(summary_of(analysis, TW_EFFECTIVE_TOTAL_THROUGHPUT).avg,
                (in + out) * 1e9 / 2, 2 * DBL_EPSILON, 0);
    is_always(analysis, TW_ACTIVE_PREFILL_THROUGHPUT_PER_USER,
              exact_per_user(prefills, GIANTS) * 0x1p-59);
    assert_near(exact_per_user(prefills, GIANTS) * 0x1p-59, one * 1e9, 2 * DBL_EPSILON,
                0);
    is_always(analysis, TW_ACTIVE_DECODE_THROUGHPUT_PER_USER,
              exact_per_user(decodes, GIANTS) * 0x1p-59);
    has(analysis, TW_TOKENS_IN_FLIGHT, in * 1.5, 0, in * 3);
    is_sample(analysis, TW_INPUT_SEQUENCE_LENGTH, 2 * GIANTS, one, 1);
    is_scalar(analysis, TW_TOTAL_TOKEN_THROUGHPUT, in * 1e9);
    tw_analysis_free(analysis);
    free(all);
}
END_TEST

/* Beside them one token in 2^61 ns, which is 10^9 / 4 units of the rate: what is left when
 * they have gone is exactly that. */
START_TEST(giants_leave_nothing_behind)
{
    tw_record *all = copies(record(0, 1, 2, MOST_TOKENS, MOST_TOKENS), GIANTS + 1);
    const twi_u192 giants = times(exact_rate((uint64_t)MOST_TOKENS, 1), GIANTS);
    const uint64_t tokens = GIANTS * (uint64_t)MOST_TOKENS;
    const double tiny = 250000000;
    const double together = exact_double(twi_add(giants, exact_whole(tiny)));
    const twi_dist *prefill;
    tw_analysis *analysis;

    all[GIANTS / 2] = record(0, TIME_LIMIT, TIME_LIMIT, 1, 0);
    analysis = analysis_of(all, GIANTS + 1, NULL);
    prefill = dist_of(analysis, TWI_CURVE_PREFILL_RATE);
    assert_same(prefill->tally.least, tiny);
    assert_same(prefill->tally.most, together);
    assert_u64(prefill->zero_weight, 0);
    has_sum(prefill,
            twi_add(exact_whole(together), times(tiny, (uint64_t)TIME_LIMIT - 1)));
    assert_same(quantile_of(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT, 0.5),
                1e9 * 0x1p-61);
    has(analysis, TW_TOKENS_IN_FLIGHT, summary_of(analysis, TW_TOKENS_IN_FLIGHT).avg, 1,
        2.0 * (double)tokens + 1);
    tw_analysis_free(analysis);
    free(all);
}
END_TEST

/* Rates of n/3 and n/7 tokens/ns, which no binary number holds, come and go one by one;
 * 100 ns after the last there is nothing. */
START_TEST(uneven_rates_sum_to_nothing_in_the_end)
{
    tw_record *all = make(GIANTS, sizeof *all);
    tw_analysis *analysis;

    for (int64_t i = 0; i < GIANTS; i++)
        all[i] = record(i, i + 3, i + 10, 10 + i % 7, 2 + i % 5);
    analysis = windowed(all, GIANTS, 0, GIANTS - 1 + 10 + 100);
    assert_u64(dist_of(analysis, TWI_CURVE_CONCURRENCY)->zero_weight, 100);
    assert_u64(dist_of(analysis, TWI_CURVE_TOKENS)->zero_weight, 100);
    assert_u64(dist_of(analysis, TWI_CURVE_TOTAL_RATE)->zero_weight, 100);
    assert_u64(dist_of(analysis, TWI_CURVE_PREFILL_RATE)->zero_weight, 7 + 100);
    assert_u64(dist_of(analysis, TWI_CURVE_DECODE_RATE)->zero_weight, 3 + 100);
    tw_analysis_free(analysis);
    free(all);
}
END_TEST

/* ---- Many records ------------------------------------------------------------------ */

START_TEST(a_million_identical_records)
{
    enum { MILLION = 1000000 };
    tw_record *all = copies(typical(EPOCH), MILLION);
    tw_analysis *analysis = analysis_of(all, MILLION, NULL);

    has_bounds(analysis, EPOCH, EPOCH + 128);
    is_typical(analysis, MILLION);
    assert_u64(analysis_balance(analysis).members, MILLION);
    tw_analysis_free(analysis);
    free(all);
}
END_TEST

/* One after the other, each in a recorder of its own: always exactly one. */
START_TEST(ten_thousand_recorders_of_one_record)
{
    enum { RECORDERS = 10000 };
    static results apart, together;
    tw_recorder **recorders = make(RECORDERS, sizeof *recorders);
    tw_record *all = make(RECORDERS, sizeof *all);
    tw_balance of_apart, of_together;
    tw_analysis *analysis;

    for (int64_t i = 0; i < RECORDERS; i++) {
        all[i] = record(64 * i, 64 * i + 32, 64 * i + 64, 32, 33);
        recorders[i] = recorder_of(&all[i], 1);
    }
    analysis = analysis_new(recorders, RECORDERS, NULL);
    for (size_t i = 0; i < RECORDERS; i++)
        tw_recorder_free(recorders[i]);
    assert_ok(results_take(&apart, analysis));
    of_apart = analysis_balance(analysis);
    is_always(analysis, TW_EFFECTIVE_CONCURRENCY, 1);
    is_always(analysis, TW_EFFECTIVE_TOTAL_THROUGHPUT, 1e9);
    is_scalar(analysis, TW_REQUEST_COUNT, RECORDERS);
    tw_analysis_free(analysis);

    analysis = analysis_of(all, RECORDERS, NULL);
    assert_ok(results_take(&together, analysis));
    of_together = analysis_balance(analysis);
    assert_same_results(&apart, &together);
    assert_same_balance(&of_apart, &of_together);
    tw_analysis_free(analysis);
    free(all);
    free(recorders);
}
END_TEST

/* ---- Orders ------------------------------------------------------------------------ */

/* The same things in one order or another. */
enum order { SORTED, REVERSED, SAWTOOTH, ORGAN_PIPE, MEDIAN_KILLER, RANDOM, ORDERS };

/* Which of `count` things comes at place i: a permutation, for an even count. */
static size_t place_in(enum order order, size_t count, size_t i)
{
    const size_t half = count / 2;

    switch (order) {
    case REVERSED:
        return count - 1 - i;
    case SAWTOOTH: /* eight steps up, all the way, and down in one; for multiples of 8 */
        return i % 8 * (count / 8) + i / 8;
    case ORGAN_PIPE: /* up and down again */
        return i < half ? 2 * i : 2 * (count - 1 - i) + 1;
    case MEDIAN_KILLER: /* the middle of first, middle and last is always nearly the least
                           (Musser 1997) */
        return i >= half ? 2 * (i - half) + 1 : i % 2 ? half + i - 1 : i;
    default: /* RANDOM: shuffled by the caller */
        return i;
    }
}

static void check_orders(const tw_record *records, size_t count,
                         void (*check)(const tw_analysis *analysis, double n))
{
    static results first, other;
    tw_record *moved = make(count, sizeof *moved);
    sink wanted = {0};

    for (int order = SORTED; order < ORDERS; order++) {
        uint64_t random = 1;
        tw_analysis *analysis;
        sink report;

        for (size_t i = 0; i < count; i++)
            moved[i] = records[place_in((enum order)order, count, i)];
        if (order == RANDOM)
            random_shuffle(&random, moved, count);
        analysis = analysis_of(moved, count, NULL);
        check(analysis, (double)count);
        vocabulary_context("order %d", order);
        assert_ok(results_take(order ? &other : &first, analysis));
        report = report_of(analysis, TW_FORMAT_JSON, NULL);
        if (order == SORTED) {
            wanted = report;
        } else {
            assert_same_results(&other, &first);
            assert_text(report.text, wanted.text);
            sink_free(&report);
        }
        tw_analysis_free(analysis);
    }
    sink_free(&wanted);
    free(moved);
}

/* Up a stair to n, 1 ns a step, and down again: 2 ns at each level but the highest. */
static void is_staircase(const tw_analysis *analysis, double n)
{
    has(analysis, TW_EFFECTIVE_CONCURRENCY, n * n / (2 * n - 1), 1, n);
    assert_same(quantile_of(analysis, TW_EFFECTIVE_CONCURRENCY, 0.5), n / 2);
    is_sample(analysis, TW_REQUEST_LATENCY, n, n, 1e6);
    is_sample(analysis, TW_TIME_TO_SECOND_TOKEN, n, n / 8, 1e6);
}

START_TEST(order_of_distinct_times_does_not_matter)
{
    enum { STEPS = 8192 };
    tw_record *all = make(STEPS, sizeof *all);
    int64_t *arrivals = make(STEPS, 2 * sizeof *arrivals);

    for (int64_t i = 0; i < STEPS; i++) {
        int64_t *own = &arrivals[2 * i];

        own[0] = i + STEPS / 2 + STEPS / 8;
        own[1] = i + STEPS / 2 + STEPS / 4;
        all[i] = record(i, i + STEPS / 2, i + STEPS, 7, 4);
        all[i] = with_chunks(with_credit(all[i], i), own, NULL, 2);
    }
    check_orders(all, STEPS, is_staircase);
    free(arrivals);
    free(all);
}
END_TEST

/* n / 8 records in each of eight slots of 64 ns; half of each is prefill. */
static void is_crowd(const tw_analysis *analysis, double n)
{
    is_always(analysis, TW_EFFECTIVE_CONCURRENCY, n / 8);
    has(analysis, TW_EFFECTIVE_PREFILL_CONCURRENCY, n / 16, 0, n / 8);
    is_always(analysis, TW_EFFECTIVE_TOTAL_THROUGHPUT, n / 8 * 1e9);
    has(analysis, TW_TOKENS_IN_FLIGHT, n / 8 * (32 + 33 / 2.0), n / 8 * 32, n / 8 * 65);
}

START_TEST(order_of_many_ties_does_not_matter)
{
    enum { CROWD = 65536 };
    tw_record *all = make(CROWD, sizeof *all);

    for (int64_t i = 0; i < CROWD; i++) {
        const int64_t at = i / (CROWD / 8) * 64;
        all[i] = record(at, at + 32, at + 64, 32, 33);
    }
    check_orders(all, CROWD, is_crowd);
    free(all);
}
END_TEST

/* What makes other ways of ordering quadratic, and what this one could get wrong: a
 * million keys each, so that the suite ends in time only if the work is linear. */
enum { EVENTS = 1 << 20, NUMBER_BITS = 20 };

static uint64_t reversed_bits(uint64_t a, unsigned bits)
{
    uint64_t b = 0;
    for (unsigned i = 0; i < bits; i++)
        b = b << 1 | (a >> i & 1);
    return b;
}

/* Patterns beside the permutations of enum order. */
enum keys {
    ALL_EQUAL = ORDERS,
    BIT_REVERSED,    /* neighbours are far apart, in the low bits or in the high ones */
    HIGH_BITS,       /* only the highest bits differ */
    ENDS,            /* 0 and 2^64 - 1 in turn */
    FEW,             /* 16 distinct keys, spread over all bits */
    ONE_OUT_OF_LINE, /* ascending, the last is the least */
    SPREAD,          /* any 64 bits */
    TEETH,           /* many short ascents */
    KEYS
};

static uint64_t key_in(int pattern, uint64_t i, uint64_t *random)
{
    switch (pattern) {
    case ALL_EQUAL:
        return UINT64_C(0x0123456789abcdef);
    case BIT_REVERSED:
        return reversed_bits(i, i % 2 ? 20 : 64);
    case HIGH_BITS:
        return ~i << 44;
    case ENDS:
        return i % 2 ? 0 : UINT64_MAX;
    case FEW:
        return (random_next(random) & 15) * UINT64_C(0x1000200040008001);
    case ONE_OUT_OF_LINE:
        return i == EVENTS - 1 ? 0 : i + 1;
    case SPREAD:
    case RANDOM:
        return random_next(random);
    case TEETH:
        return i % 1000;
    default:
        return place_in((enum order)pattern, EVENTS, (size_t)i);
    }
}

/* Ascending from `from_bit` on, and the same keys as before. */
static void is_in_order(const uint64_t *keys, const uint64_t *before, uint64_t count,
                        unsigned from_bit)
{
    uint64_t wrong = 0, sum = 0, squares = 0;

    for (uint64_t i = 0; i < count; i++) {
        wrong += i && keys[i] >> from_bit < keys[i - 1] >> from_bit;
        sum += keys[i] - before[i];
        squares += keys[i] * keys[i] - before[i] * before[i];
    }
    assert_u64(wrong, 0);
    assert_u64(sum, 0);
    assert_u64(squares, 0);
}

/* Keys that end with their number: each is there once, and still has what it came with. */
static void are_all_there(const uint64_t *keys, const uint64_t *before, uint64_t count)
{
    unsigned char *seen = make((size_t)count + 1, 1);
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < count; i++) {
        const uint64_t number = keys[i] % EVENTS;

        if (number >= count || keys[i] != before[number] || seen[number]++)
            wrong++;
    }
    assert_u64(wrong, 0);
    free(seen);
}

/* Orders a pattern of 64 bits, and one of 44 above numbers that do not count. */
static void check_ordering(int pattern, uint64_t *keys, uint64_t *before,
                           uint64_t *scratch, uint64_t count)
{
    uint64_t random = 7;

    for (uint64_t i = 0; i < count; i++)
        keys[i] = before[i] = key_in(pattern, i, &random);
    twi_order_keys(&twi_kernel_portable, keys, scratch, count, 0);
    is_in_order(keys, before, count, 0);
    for (uint64_t i = 0; i < count; i++)
        keys[i] = before[i] = key_in(pattern, i, &random) << NUMBER_BITS | i;
    twi_order_keys(&twi_kernel_portable, keys, scratch, count, NUMBER_BITS);
    is_in_order(keys, before, count, NUMBER_BITS);
    are_all_there(keys, before, count);
}

START_TEST(ordering_withstands_any_pattern)
{
    uint64_t *keys = make(EVENTS, sizeof *keys), *before = make(EVENTS, sizeof *before),
             *scratch = make(EVENTS, sizeof *scratch);

    for (int pattern = SORTED; pattern < KEYS; pattern++) {
        vocabulary_context("pattern %d", pattern);
        check_ordering(pattern, keys, before, scratch, EVENTS);
    }
    free(scratch);
    free(before);
    free(keys);
}
END_TEST

START_TEST(ordering_of_few_events)
{
    enum { MOST = TWI_SORT_MOST + 9 };
    uint64_t keys[MOST], before[MOST];

    for (uint64_t count = 0; count <= MOST; count++) {
        uint64_t *scratch = make((size_t)count + 1, sizeof *scratch);

        for (int pattern = ALL_EQUAL; pattern < KEYS; pattern++) {
            vocabulary_context("%" PRIu64 " events, pattern %d", count, pattern);
            check_ordering(pattern, keys, before, count > TWI_SORT_MOST ? scratch : NULL,
                           count);
        }
        free(scratch);
    }
}
END_TEST

/* ---- Many chunks ------------------------------------------------------------------- */

enum { CHUNKS = 100000 };

/* A prefill of 100,000 ns, then a chunk each `every` ns and as long a silence. */
static tw_record chunked(int64_t *arrivals, const int64_t *tokens, int64_t every,
                         int64_t output)
{
    for (int64_t i = 0; i < CHUNKS; i++)
        arrivals[i] = CHUNKS + every * (i + 1);
    return with_chunks(
        record(0, CHUNKS, CHUNKS + 2 * every * CHUNKS + (every ? 0 : CHUNKS), 0, output),
        arrivals, tokens, CHUNKS);
}

/* A token each nanosecond: 1 token/ns for a third of the time. */
START_TEST(a_hundred_thousand_chunks)
{
    int64_t *arrivals = make(CHUNKS, sizeof *arrivals);
    const tw_record only = chunked(arrivals, NULL, 1, CHUNKS + 1);
    tw_analysis *analysis = analysis_of(&only, 1, NULL);

    has(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT, 1e9 / 3, 0, 1e9);
    assert_u64(dist_of(analysis, TWI_CURVE_DECODE_RATE)->zero_weight, 2 * CHUNKS);
    is_sample(analysis, TW_INTER_CHUNK_LATENCY, CHUNKS, 1, 1e6);
    is_sample(analysis, TW_TIME_TO_SECOND_TOKEN, 1, 1, 1e6);
    /* 1 token at first, one more after each nanosecond, all of them until the end. */
    has(analysis, TW_TOKENS_IN_FLIGHT,
        (CHUNKS * (CHUNKS + 1.0) / 2 + CHUNKS * (CHUNKS + 1.0)) / (3.0 * CHUNKS), 0,
        CHUNKS + 1);
    tw_analysis_free(analysis);
    free(arrivals);
}
END_TEST

/* 0 and 2 tokens in turn, by count. */
START_TEST(a_hundred_thousand_counted_chunks)
{
    int64_t *arrivals = make(CHUNKS, sizeof *arrivals);
    int64_t *tokens = make(CHUNKS, sizeof *tokens);
    tw_record only = chunked(arrivals, tokens, 1, CHUNKS);
    tw_analysis *analysis;

    for (size_t i = 1; i < CHUNKS; i += 2)
        tokens[i] = 2;
    analysis = analysis_of(&only, 1, NULL);
    has(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT, 1e9 / 3, 0, 2e9);
    assert_u64(dist_of(analysis, TWI_CURVE_DECODE_RATE)->zero_weight,
               2 * CHUNKS + CHUNKS / 2);
    assert_same(summary_of(analysis, TW_TOKENS_IN_FLIGHT).max, (double)CHUNKS);
    tw_analysis_free(analysis);

    only.output_tokens = CHUNKS - 1; /* fewer than the chunks claim */
    analysis = analysis_of(&only, 1, NULL);
    assert_u64(analysis_balance(analysis).chunk_tokens_ignored, 1);
    tw_analysis_free(analysis);
    free(tokens);
    free(arrivals);
}
END_TEST

/* One token over 100,000 gaps: each carries as many parts of it, rounded; the parts of the
 * token sum to one all the same. */
START_TEST(one_token_in_a_hundred_thousand_chunks)
{
    int64_t *arrivals = make(CHUNKS, sizeof *arrivals);
    const tw_record only = chunked(arrivals, NULL, 1, 2);
    const double part = exact_share(1, 1, CHUNKS);
    tw_analysis *analysis = analysis_of(&only, 1, NULL);

    assert_same(dist_of(analysis, TWI_CURVE_DECODE_RATE)->tally.least, part);
    assert_same(dist_of(analysis, TWI_CURVE_DECODE_RATE)->tally.most, part);
    assert_same(part, ldexp(10000, 59)); /* 10^9 / 10^5 tokens/s */
    assert_same(dist_of(analysis, TWI_CURVE_TOKENS)->tally.most, ldexp(2, 44));
    assert_near(summary_of(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT).avg, 1e9 / 3e5,
                1e-12, 0);
    tw_analysis_free(analysis);
    free(arrivals);
}
END_TEST

/* All with the first token: no positive gap, so no rate, and all tokens from then on. */
START_TEST(a_hundred_thousand_chunks_at_one_instant)
{
    int64_t *arrivals = make(CHUNKS, sizeof *arrivals);
    const tw_record only = chunked(arrivals, NULL, 0, CHUNKS + 1);
    tw_analysis *analysis = analysis_of(&only, 1, NULL);

    is_always(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT, 0);
    is_always(analysis, TW_ACTIVE_DECODE_THROUGHPUT, 0);
    is_sample(analysis, TW_INTER_CHUNK_LATENCY, CHUNKS, 0, 1);
    has(analysis, TW_TOKENS_IN_FLIGHT, (CHUNKS + 1) / 2.0, 0, CHUNKS + 1);
    tw_analysis_free(analysis);
    free(arrivals);
}
END_TEST

/* ---- Ends of time ------------------------------------------------------------------ */

START_TEST(any_origin_of_time)
{
    const int64_t origins[] = {0, -64, EPOCH, -EPOCH, -TIME_LIMIT, TIME_LIMIT - 128};

    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        const tw_record only = typical(origins[i]);
        tw_analysis *analysis = analysis_of(&only, 1, NULL);

        has_bounds(analysis, origins[i], origins[i] + 128);
        is_typical(analysis, 1);
        tw_analysis_free(analysis);
    }
}
END_TEST

START_TEST(any_clock_that_stays_in_range)
{
    static const struct clock_case {
        int64_t at_ns, offset_ns;
        int32_t status;
    } cases[] = {
        {0, -TIME_LIMIT, TW_OK},
        {0, TIME_LIMIT - 128, TW_OK},
        {-TIME_LIMIT, TIME_LIMIT, TW_OK},
        {TIME_LIMIT - 128, -TIME_LIMIT, TW_OK},
        {-128, TIME_LIMIT, TW_OK},
        {-1, -TIME_LIMIT, TW_ERR_RANGE},
        {0, TIME_LIMIT - 127, TW_ERR_RANGE},
        {TIME_LIMIT - 128, TIME_LIMIT, TW_ERR_RANGE},
        {-TIME_LIMIT, -TIME_LIMIT, TW_ERR_RANGE},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct clock_case *c = &cases[i];
        const tw_clock clock = {sizeof clock, 0, c->offset_ns};
        const tw_record only = typical(c->at_ns);
        tw_recorder *recorder = recorder_of(&only, 1);
        tw_analysis *analysis = NULL;

        vocabulary_context("case %zu", i);
        assert_ok(tw_recorder_set_clock(recorder, &clock));
        assert_status(tw_analyze(&analysis, &recorder, 1, NULL), c->status);
        assert_that((analysis != NULL) == (c->status == TW_OK));
        if (analysis) {
            has_bounds(analysis, c->at_ns + c->offset_ns, c->at_ns + c->offset_ns + 128);
            is_typical(analysis, 1);
        }
        tw_analysis_free(analysis);
        tw_recorder_free(recorder);
    }
}
END_TEST

START_TEST(times_beyond_the_ends_are_refused)
{
    const int64_t beyond[] = {TIME_LIMIT + 1, -TIME_LIMIT - 1, INT64_MAX, INT64_MIN + 1};
    tw_recorder *recorder = recorder_new();

    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        const tw_record r = record(beyond[i], NEVER, NEVER, UNKNOWN, UNKNOWN);
        const tw_clock clock = {sizeof clock, 0, beyond[i]};

        vocabulary_context("case %zu", i);
        assert_status(tw_recorder_append(recorder, &r, 1, sizeof r, 0, NULL),
                      TW_ERR_RANGE);
        assert_i64(error_of(recorder).rule, TW_RULE_TIME_RANGE);
        assert_status(tw_recorder_set_clock(recorder, &clock), TW_ERR_INVAL);
    }
    assert_u64(tw_recorder_count(recorder), 0);
    assert_u64(balance_of(recorder).refused_by_rule[TW_RULE_TIME_RANGE], 4);
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Ends of the window ------------------------------------------------------------ */

START_TEST(window_of_all_time)
{
    const tw_record only = typical(0);
    tw_analysis *analysis = windowed(&only, 1, -TIME_LIMIT, TIME_LIMIT);

    has(analysis, TW_EFFECTIVE_CONCURRENCY, 80 * 0x1p-62, 0, 1);
    assert_same(summary_of(analysis, TW_EFFECTIVE_CONCURRENCY).std, sqrt(80 * 0x1p-62));
    assert_i64(summary_of(analysis, TW_EFFECTIVE_CONCURRENCY).weight_ns, 2 * TIME_LIMIT);
    assert_same(quantile_of(analysis, TW_EFFECTIVE_CONCURRENCY, 1 - 1e-12), 0.0);
    has(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT, 128e9 * 0x1p-62, 0, 8e9);
    has(analysis, TW_TOKENS_IN_FLIGHT, 82.5 * 128 * 0x1p-62, 0, 133);
    is_always(analysis, TW_ACTIVE_DECODE_THROUGHPUT, 62500000);
    is_scalar(analysis, TW_BENCHMARK_DURATION, 0x1p62 / 1e9);
    is_scalar(analysis, TW_TOTAL_TOKEN_THROUGHPUT, 133e9 * 0x1p-62);
    assert_u64(analysis_balance(analysis).members, 1);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(window_of_a_nanosecond)
{
    const tw_record only = typical(0);
    tw_analysis *analysis = windowed(&only, 1, 48, 49);
    tw_balance balance = analysis_balance(analysis);

    is_always(analysis, TW_EFFECTIVE_CONCURRENCY, 1);
    is_always(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT, 8e9);
    is_always(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT, 0);
    is_always(analysis, TW_TOKENS_IN_FLIGHT, 128);
    is_missing(analysis, TW_ACTIVE_DECODE_THROUGHPUT);
    is_missing(analysis, TW_REQUEST_LATENCY);
    is_scalar(analysis, TW_REQUEST_COUNT, 0);
    assert_u64(balance.overlapping, 1);
    assert_u64(balance.members, 0);
    assert_u64(balance.cut_at_begin, 0);
    assert_u64(balance.cut_at_end, 1);
    tw_analysis_free(analysis);

    analysis = windowed(&only, 1, 127, 128); /* the last one, which holds its end */
    balance = analysis_balance(analysis);
    is_always(analysis, TW_EFFECTIVE_CONCURRENCY, 1);
    is_sample(analysis, TW_EFFECTIVE_LATENCY, 1, 128, 1e6);
    assert_u64(balance.members, 1);
    assert_u64(balance.cut_at_begin, 1);
    assert_u64(balance.cut_at_end, 0);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(window_beside_the_run)
{
    static const int64_t edges[][2] = {{-TIME_LIMIT, 0},
                                       {-TIME_LIMIT, -TIME_LIMIT + 1},
                                       {128, TIME_LIMIT},
                                       {TIME_LIMIT - 1, TIME_LIMIT}};
    const tw_record only = typical(0);

    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        tw_analysis *analysis = windowed(&only, 1, edges[i][0], edges[i][1]);

        for_each_metric(analysis, TW_KIND_CURVE, TW_GROUP_EFFECTIVE, is_zero);
        for_each_metric(analysis, TW_KIND_CURVE, TW_GROUP_ACTIVE, is_missing);
        for_each_metric(analysis, TW_KIND_SAMPLE, 0, is_missing);
        is_scalar(analysis, TW_REQUEST_THROUGHPUT, 0);
        assert_u64(analysis_balance(analysis).overlapping, 0);
        tw_analysis_free(analysis);
    }
}
END_TEST

START_TEST(empty_window)
{
    const int64_t edges[] = {-TIME_LIMIT, 0, 64, TIME_LIMIT};
    const tw_record only = typical(0);

    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        tw_analysis *analysis = windowed(&only, 1, edges[i], edges[i]);

        has_bounds(analysis, edges[i], edges[i]);
        for_each_metric(analysis, TW_KIND_CURVE, 0, is_missing);
        for_each_metric(analysis, TW_KIND_SAMPLE, 0, is_missing);
        is_scalar(analysis, TW_REQUEST_COUNT, 0);
        is_scalar(analysis, TW_BENCHMARK_DURATION, 0);
        is_missing(analysis, TW_REQUEST_THROUGHPUT);
        tw_analysis_free(analysis);
    }
}
END_TEST

START_TEST(windows_that_cannot_be)
{
    static const struct window_case {
        uint32_t flags;
        int64_t begin_ns, end_ns;
    } cases[] = {
        {TW_WINDOW_BEGIN | TW_WINDOW_END, 1, 0},
        {TW_WINDOW_BEGIN | TW_WINDOW_END, TIME_LIMIT, -TIME_LIMIT},
        {TW_WINDOW_BEGIN, 129, 0}, /* after the last response */
        {TW_WINDOW_END, 0, -1},    /* before the first credit */
        {TW_WINDOW_BEGIN, -TIME_LIMIT - 1, 0},
        {TW_WINDOW_END, 0, TIME_LIMIT + 1},
        {TW_WINDOW_BEGIN, INT64_MIN, 0},
        {TW_WINDOW_END, 0, INT64_MAX},
    };
    const tw_record only = typical(0);
    tw_recorder *recorder = recorder_of(&only, 1);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tw_options options = options_window(cases[i].begin_ns, cases[i].end_ns);
        tw_analysis *analysis = NULL;

        vocabulary_context("case %zu", i);
        options.flags = cases[i].flags;
        assert_status(tw_analyze(&analysis, &recorder, 1, &options), TW_ERR_INVAL);
        assert_that(analysis == NULL);
    }
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Ends of the quantiles --------------------------------------------------------- */

#define TRILLION INT64_C(1000000000000)

/* Nothing for `idle` ns, then one record, and two in the last `both` ns of `length`. */
static tw_analysis *rare(int64_t idle, int64_t both, int64_t length,
                         const tw_options *options)
{
    const tw_record records[] = {
        with_credit(record(idle, NEVER, length, UNKNOWN, UNKNOWN), 0),
        record(length - both, NEVER, length, UNKNOWN, UNKNOWN)};
    return analysis_of(records, 2, options);
}

static const double at_ends[] = {0,         4e-13,     6e-13,     1e-12,     2e-12,
                                 1 - 2e-12, 1 - 1e-12, 1 - 6e-13, 1 - 4e-13, 1};
enum { AT_ENDS = sizeof at_ends / sizeof at_ends[0] };

static void check_ends(int64_t idle, int64_t both, int64_t length, const double *wanted)
{
    tw_options options = options_new();
    tw_analysis *analysis = rare(idle, both, length, NULL), *named;

    options.quantiles = at_ends;
    options.quantile_count = AT_ENDS;
    named = rare(idle, both, length, &options);
    for (size_t i = 0; i < AT_ENDS; i++) {
        vocabulary_context("q = %.13f", at_ends[i]);
        assert_same(quantile_of(analysis, TW_EFFECTIVE_CONCURRENCY, at_ends[i]),
                    wanted[i]);
        assert_same(quantile_of(named, TW_EFFECTIVE_CONCURRENCY, at_ends[i]), wanted[i]);
    }
    tw_analysis_free(named);
    tw_analysis_free(analysis);
}

/* [Q]: q is rounded to 12 places; the least value whose time is at least q of all. */
START_TEST(one_part_in_a_trillion)
{
    /* Exactly 1e-12 of the time is spent at 0, and at 2. */
    static const double exactly[] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2};
    /* Of a nanosecond more, 1e-12 is more than the 1 ns at 0. */
    static const double more[] = {0, 0, 1, 1, 1, 1, 1, 1, 2, 2};
    /* Of a nanosecond less, 1 - 1e-12 is more than all but the 1 ns at 2. */
    static const double less[] = {0, 0, 0, 0, 1, 1, 2, 2, 2, 2};

    check_ends(1, 1, TRILLION, exactly);
    check_ends(1, 1, TRILLION + 1, more);
    check_ends(1, 1, TRILLION - 1, less);
}
END_TEST

/* Latencies of 0 and 10^12 ns: the rank is q (n - 1), so 1e-12 of the way is 1 ns. */
START_TEST(one_part_in_a_trillion_of_a_sample)
{
    const tw_record both[] = {record(0, NEVER, 0, UNKNOWN, UNKNOWN),
                              record(0, NEVER, TRILLION, UNKNOWN, UNKNOWN)};
    tw_analysis *analysis = analysis_of(both, 2, NULL);
    const double wanted_ns[AT_ENDS] = {0,
                                       0,
                                       1,
                                       1,
                                       2,
                                       (double)(TRILLION - 2),
                                       (double)(TRILLION - 1),
                                       (double)(TRILLION - 1),
                                       (double)TRILLION,
                                       (double)TRILLION};

    for (size_t i = 0; i < AT_ENDS; i++) {
        vocabulary_context("q = %.13f", at_ends[i]);
        assert_same(quantile_of(analysis, TW_REQUEST_LATENCY, at_ends[i]),
                    wanted_ns[i] / 1e6);
    }
    tw_analysis_free(analysis);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("extremes");
    TCase *few = vocabulary_case(suite, "few"), *times = vocabulary_case(suite, "times"),
          *tokens = vocabulary_case(suite, "tokens"),
          *many = vocabulary_case(suite, "many"),
          *window = vocabulary_case(suite, "window");

    tcase_add_test(few, no_record_has_a_balance_and_nothing_else);
    tcase_add_test(few, one_record);
    tcase_add_test(few, one_record_without_a_length);
    tcase_add_test(few, two_records_that_touch_are_one_at_a_time);
    tcase_add_test(few, two_records_that_overlap);
    tcase_add_test(times, all_at_one_instant);
    tcase_add_test(times, ties_are_never_seen);
    tcase_add_test(times, long_run_beside_a_nanosecond);
    tcase_add_test(times, nanosecond_at_either_end_of_time);
    tcase_add_test(times, in_flight_from_one_end_of_time_to_the_other);
    tcase_add_test(times, any_origin_of_time);
    tcase_add_test(times, any_clock_that_stays_in_range);
    tcase_add_test(times, times_beyond_the_ends_are_refused);
    tcase_add_test(tokens, most_tokens_in_a_nanosecond_many_times_at_once);
    tcase_add_test(tokens, giants_leave_nothing_behind);
    tcase_add_test(tokens, uneven_rates_sum_to_nothing_in_the_end);
    tcase_add_test(many, a_million_identical_records);
    tcase_add_test(many, ten_thousand_recorders_of_one_record);
    tcase_add_test(many, order_of_distinct_times_does_not_matter);
    tcase_add_test(many, order_of_many_ties_does_not_matter);
    tcase_add_test(many, ordering_withstands_any_pattern);
    tcase_add_test(many, ordering_of_few_events);
    tcase_add_test(many, a_hundred_thousand_chunks);
    tcase_add_test(many, a_hundred_thousand_counted_chunks);
    tcase_add_test(many, one_token_in_a_hundred_thousand_chunks);
    tcase_add_test(many, a_hundred_thousand_chunks_at_one_instant);
    tcase_add_test(window, window_of_all_time);
    tcase_add_test(window, window_of_a_nanosecond);
    tcase_add_test(window, window_beside_the_run);
    tcase_add_test(window, empty_window);
    tcase_add_test(window, windows_that_cannot_be);
    tcase_add_test(window, one_part_in_a_trillion);
    tcase_add_test(window, one_part_in_a_trillion_of_a_sample);
    return vocabulary_main(suite);
}
