/* SPDX-License-Identifier: MIT */
/* The cases that AIPerf pins in its own tests, told as records and answered by the public
 * interface. Where our definitions differ on purpose, a row asserts our result and its
 * `differs` says what AIPerf gives. Times are nanoseconds, rates tokens/sec, latencies
 * milliseconds. */

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

#define NONE TW_TIME_NONE
#define UNKNOWN TW_TOKENS_NONE
#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define PER_NS 1e9 /* tokens/ns in tokens/sec */

enum { MOST_CHUNKS = 128 };

/* ---- Requests ---------------------------------------------------------------------- */

typedef struct numbers {
    const int64_t *at;
    size_t count;
} numbers;

#define ARRAY(type, ...) \
    (const type[]){__VA_ARGS__}, sizeof((const type[]){__VA_ARGS__}) / sizeof(type)
#define NUMBERS(...)                \
    {                               \
        ARRAY(int64_t, __VA_ARGS__) \
    }

typedef struct request {
    int64_t start, generation, end;
    int64_t input, output;
    numbers gaps;   /* between the arrivals of chunks, from the first token on */
    numbers counts; /* tokens of each chunk; none: not known */
    int64_t credit; /* used if has_credit */
    bool has_credit;
    int32_t status;
    unsigned copies; /* 0 means one */
} request;

#define PHASES(start, generation, end, input, output)                \
    {                                                                \
        (start), (generation), (end), (input), (output), .copies = 1 \
    }
#define INTERVAL(start, end, number)                               \
    {                                                              \
        (start), NONE, (end), UNKNOWN, UNKNOWN, .copies = (number) \
    }
#define DECODE(generation, end, tokens) \
    PHASES(generation, generation, end, UNKNOWN, tokens)
#define CHUNKED(start, generation, end, input, output, ...)                    \
    {                                                                          \
        (start), (generation), (end), (input), (output), NUMBERS(__VA_ARGS__), \
            .copies = 1                                                        \
    }
/* A finished request whose credit is as given. */
#define CREDITED(when, start, end, how, number)                                       \
    {                                                                                 \
        (start), NONE, (end), UNKNOWN, UNKNOWN, .credit = (when), .has_credit = true, \
                                                .status = (how), .copies = (number)   \
    }

static void append(tw_recorder *recorder, const request *r)
{
    int64_t arrivals[MOST_CHUNKS], arrival = r->generation == NONE ? 0 : r->generation;
    tw_record record;

    tw_record_init(&record, sizeof record);
    record.start_ns = r->start;
    record.generation_start_ns = r->generation;
    record.end_ns = r->end;
    record.input_tokens = r->input;
    record.output_tokens = r->output;
    record.status = r->status;
    if (r->has_credit)
        record.credit_issued_ns = r->credit;
    ck_assert_uint_le(r->gaps.count, MOST_CHUNKS);
    for (size_t i = 0; i < r->gaps.count; i++)
        arrivals[i] = arrival += r->gaps.at[i];
    record.chunk_count = r->gaps.count;
    record.chunk_arrival_ns = arrivals;
    record.chunk_tokens = r->counts.count ? r->counts.at : NULL;
    for (unsigned i = 0; i < (r->copies ? r->copies : 1); i++)
        ck_assert_int_eq(tw_recorder_append(recorder, &record, 1, sizeof record,
                                            TW_APPEND_SKIP_INVALID, NULL),
                         TW_OK);
}

static tw_recorder *recorder_of(const request *requests, size_t count)
{
    tw_recorder *recorder = NULL;

    ck_assert_int_eq(tw_recorder_new(&recorder, NULL), TW_OK);
    for (size_t i = 0; i < count; i++)
        append(recorder, &requests[i]);
    return recorder;
}

/* ---- Windows and numbers ----------------------------------------------------------- */

typedef struct window {
    bool is_set;
    int64_t begin, end;
} window;

#define EDGES(begin, end) ((window){true, (begin), (end)})

static tw_analysis *analyze(tw_recorder *recorder, window edges)
{
    tw_analysis *analysis = NULL;
    tw_options options;

    tw_options_init(&options, sizeof options);
    if (edges.is_set) {
        options.flags = TW_WINDOW_BEGIN | TW_WINDOW_END;
        options.window_begin_ns = edges.begin;
        options.window_end_ns = edges.end;
    }
    ck_assert_int_eq(tw_analyze(&analysis, &recorder, 1, &options), TW_OK);
    return analysis;
}

static tw_summary summary_of(const tw_analysis *analysis, int32_t metric)
{
    tw_summary summary = {.struct_size = sizeof summary};
    ck_assert_int_eq(tw_analysis_summary(analysis, metric, &summary), TW_OK);
    return summary;
}

static double quantile_of(const tw_analysis *analysis, int32_t metric, double q)
{
    double value = -1;
    ck_assert_int_eq(tw_analysis_quantiles(analysis, metric, &q, &value, 1), TW_OK);
    return value;
}

/* The value of a curve at an instant: its mean over the nanosecond that begins there. */
static double value_at(tw_recorder *recorder, int32_t metric, int64_t at)
{
    tw_analysis *analysis = analyze(recorder, EDGES(at, at + 1));
    const tw_summary summary = summary_of(analysis, metric);

    tw_analysis_free(analysis);
    return summary.avg;
}

static bool near(double got, double wanted)
{
    if (isinf(wanted))
        return isinf(got) && (got > 0) == (wanted > 0);
    return fabs(got - wanted) <= 1e-12 * fabs(wanted);
}

/* ---- Cases ------------------------------------------------------------------------- */

typedef enum number {
    NOT_EMITTED,
    AVG_IS,
    MIN_IS,
    MAX_IS,
    STD_IS,
    NO_STD,
    SUM_IS,
    COUNT_IS,
    ACTIVE_NS_IS,
    QUANTILE_IS,
    VALUE_AT_IS
} number;

typedef struct expectation {
    int32_t metric;
    number number;
    double value;
    double q;
    int64_t at;
} expectation;

#define ABSENT(metric)                 \
    {                                  \
        (metric), NOT_EMITTED, 0, 0, 0 \
    }
#define AVG(metric, value)              \
    {                                   \
        (metric), AVG_IS, (value), 0, 0 \
    }
#define MIN(metric, value)              \
    {                                   \
        (metric), MIN_IS, (value), 0, 0 \
    }
#define MAX(metric, value)              \
    {                                   \
        (metric), MAX_IS, (value), 0, 0 \
    }
#define STD(metric, value)              \
    {                                   \
        (metric), STD_IS, (value), 0, 0 \
    }
#define WITHOUT_STD(metric)       \
    {                             \
        (metric), NO_STD, 0, 0, 0 \
    }
#define SUM(metric, value)              \
    {                                   \
        (metric), SUM_IS, (value), 0, 0 \
    }
#define COUNT(metric, value)              \
    {                                     \
        (metric), COUNT_IS, (value), 0, 0 \
    }
#define ACTIVE_NS(metric, value)              \
    {                                         \
        (metric), ACTIVE_NS_IS, (value), 0, 0 \
    }
#define P(percent, metric, value)                            \
    {                                                        \
        (metric), QUANTILE_IS, (value), (percent) / 100.0, 0 \
    }
#define AT(time, metric, value)                   \
    {                                             \
        (metric), VALUE_AT_IS, (value), 0, (time) \
    }

typedef struct pinned {
    const char *id;      /* short label */
    const char *source;  /* where AIPerf pins it, or whose case it is */
    const char *differs; /* what AIPerf gives instead; NULL: the same */
    const request *requests;
    size_t request_count;
    window window; /* not set: the default one */
    const expectation *expectations;
    size_t expectation_count;
    int32_t rule; /* the rule that refuses `refused` of the records */
    uint64_t refused;
} pinned;

#define WINDOW(from, to) .window = {true, (from), (to)}
#define REQUESTS(...) .requests = ARRAY(request, __VA_ARGS__)
#define EXPECT(...) .expectations = ARRAY(expectation, __VA_ARGS__)
#define REFUSED(broken, number) .rule = (broken), .refused = (number)

static const char *number_name(number n)
{
    static const char *const names[] = {"emission",  "avg",      "min",  "max",
                                        "std",       "std",      "sum",  "count",
                                        "active_ns", "quantile", "value"};
    return names[n];
}

static const char *tag_of(int32_t metric)
{
    tw_metric_row row = {.struct_size = sizeof row};

    for (size_t i = 0; tw_metric_info(i, &row) == TW_OK; i++)
        if (row.id == metric)
            return row.tag;
    return "unknown metric";
}

static double number_of(const tw_summary *summary, number which)
{
    switch (which) {
    case AVG_IS:
        return summary->avg;
    case MIN_IS:
        return summary->min;
    case MAX_IS:
        return summary->max;
    case STD_IS:
        return summary->std;
    case SUM_IS:
        return summary->sum;
    case COUNT_IS:
        return (double)summary->count;
    case ACTIVE_NS_IS:
        return (double)summary->active_ns;
    default:
        return NAN;
    }
}

/* The case in one line, to stand in front of what is wrong with it. */
static const char *title(const pinned *c)
{
    static char line[512];
    snprintf(line, sizeof line, "%s (%s%s%s)", c->id, c->source,
             c->differs ? "; AIPerf differs: " : "", c->differs ? c->differs : "");
    return line;
}

static void check_number(const pinned *c, tw_recorder *recorder,
                         const tw_analysis *analysis, const expectation *e)
{
    tw_summary summary = {.struct_size = sizeof summary};
    const char *tag = tag_of(e->metric);
    double got;

    if (e->number == NOT_EMITTED) {
        if (tw_analysis_summary(analysis, e->metric, &summary) != TW_ERR_NODATA)
            ck_abort_msg("%s: %s is emitted", title(c), tag);
        return;
    }
    if (e->number == VALUE_AT_IS) {
        got = value_at(recorder, e->metric, e->at);
    } else if (e->number == QUANTILE_IS) {
        got = quantile_of(analysis, e->metric, e->q);
    } else {
        summary = summary_of(analysis, e->metric);
        if (e->number == NO_STD) {
            if (summary.fields & TW_HAS_STD)
                ck_abort_msg("%s: %s has a std", title(c), tag);
            return;
        }
        got = number_of(&summary, e->number);
    }
    if (!near(got, e->value))
        ck_abort_msg("%s: %s of %s (q %g, at %lld) is %.17g, not %.17g", title(c),
                     number_name(e->number), tag, e->q, (long long)e->at, got, e->value);
}

static void check_case(const pinned *c)
{
    tw_recorder *recorder = recorder_of(c->requests, c->request_count);
    tw_analysis *analysis = analyze(recorder, c->window);
    tw_balance balance = {.struct_size = sizeof balance};

    ck_assert_int_eq(tw_recorder_balance(recorder, &balance), TW_OK);
    if (balance.refused != c->refused || balance.refused_by_rule[c->rule] != c->refused)
        ck_abort_msg("%s: %llu refused, %llu of them by rule %d, not %llu", title(c),
                     (unsigned long long)balance.refused,
                     (unsigned long long)balance.refused_by_rule[c->rule], (int)c->rule,
                     (unsigned long long)c->refused);
    for (size_t i = 0; i < c->expectation_count; i++)
        check_number(c, recorder, analysis, &c->expectations[i]);
    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
}

#define TEST_SWEEP "AIPerf tests/unit/analysis/test_sweep.py"
#define TEST_SWEEP_RS "AIPerf rust sweepline/mod.rs tests"
#define TEST_KV_RS "AIPerf rust sweepline/kv_cache.rs tests"
#define TEST_STATS_RS "AIPerf rust sweepline/stats.rs tests"
#define TEST_LATENCY "AIPerf tests/unit/metrics/test_derived_latency.py"
#define TEST_KERNEL_RS "AIPerf rust kernel.rs tests"
#define TEST_CHUNKS "AIPerf tests/unit/metrics/test_inter_chunk_latency_metric.py"
#define TEST_LAG "AIPerf tests/unit/metrics/test_replay_sched_lag_metrics.py"
#define TEST_SLICES "AIPerf tests/unit/metrics/test_accumulator_timeslice_phase_mask.py"
#define NEAREST_RANK "AIPerf numpy percentile, method nearest"
#define OURS "ours"

#define CONCURRENCY TW_EFFECTIVE_CONCURRENCY
#define DECODE_RATE TW_EFFECTIVE_DECODE_THROUGHPUT
#define PREFILL_RATE TW_EFFECTIVE_PREFILL_THROUGHPUT
#define TOTAL_RATE TW_EFFECTIVE_TOTAL_THROUGHPUT
#define DECODE_PER_USER TW_EFFECTIVE_DECODE_THROUGHPUT_PER_USER
#define PREFILL_PER_USER TW_EFFECTIVE_PREFILL_THROUGHPUT_PER_USER
#define ACTIVE_DECODE TW_ACTIVE_DECODE_THROUGHPUT
#define TOKENS TW_TOKENS_IN_FLIGHT
#define LATENCY TW_EFFECTIVE_LATENCY
#define ADJ_LATENCY TW_ADJ_EFFECTIVE_LATENCY
#define WAIT TW_CREDIT_TO_START_LATENCY
#define CHUNK_GAP TW_INTER_CHUNK_LATENCY

/* ---- Concurrency ------------------------------------------------------------------- */

static const pinned concurrency[] = {
    {"C1", TEST_SWEEP, "an empty curve, whose statistics are 0",
     EXPECT(ABSENT(CONCURRENCY))},
    {"C2", TEST_SWEEP, "an empty curve from rows of NaN; here a start is required",
     REQUESTS(INTERVAL(NONE, NONE, 2)), EXPECT(ABSENT(CONCURRENCY)),
     REFUSED(TW_RULE_START_MISSING, 2)},
    {"C3", TEST_SWEEP, NULL, REQUESTS(INTERVAL(100, 200, 1)),
     EXPECT(AT(99, CONCURRENCY, 0), AT(100, CONCURRENCY, 1), AT(199, CONCURRENCY, 1),
            AT(200, CONCURRENCY, 0), AVG(CONCURRENCY, 1))},
    {"C4", TEST_SWEEP, NULL,
     REQUESTS(INTERVAL(100, 200, 1), INTERVAL(300, 400, 1), INTERVAL(500, 600, 1)),
     EXPECT(MIN(CONCURRENCY, 0), MAX(CONCURRENCY, 1), AVG(CONCURRENCY, 0.6),
            P(40, CONCURRENCY, 0), P(41, CONCURRENCY, 1))},
    {"C5", TEST_SWEEP, NULL,
     REQUESTS(INTERVAL(0, 100, 1), INTERVAL(1, 101, 1), INTERVAL(2, 102, 1),
              INTERVAL(3, 103, 1), INTERVAL(4, 104, 1), INTERVAL(5, 105, 1),
              INTERVAL(6, 106, 1), INTERVAL(7, 107, 1), INTERVAL(8, 108, 1),
              INTERVAL(9, 109, 1)),
     EXPECT(MAX(CONCURRENCY, 10), AT(9, CONCURRENCY, 10), AT(109, CONCURRENCY, 0))},
    {"C6", TEST_SWEEP, "the row of NaN is left out without a count",
     REQUESTS(INTERVAL(100, 200, 1), INTERVAL(NONE, NONE, 1), INTERVAL(300, 400, 1)),
     EXPECT(MAX(CONCURRENCY, 1)), REFUSED(TW_RULE_START_MISSING, 1)},
    {"C7", TEST_SWEEP, NULL, REQUESTS(INTERVAL(0, 100, 3)),
     EXPECT(MAX(CONCURRENCY, 3), MIN(CONCURRENCY, 3))},
    {"C8", TEST_SWEEP_RS, "points of zero length at the tie, without weight",
     REQUESTS(INTERVAL(0, 10, 1), INTERVAL(10, 20, 1)),
     EXPECT(MIN(CONCURRENCY, 1), MAX(CONCURRENCY, 1), AT(10, CONCURRENCY, 1),
            AT(20, CONCURRENCY, 0))},
    {"C9", TEST_SWEEP_RS,
     "the last 1 is below 1e-9 of the peak and snapped to 0; the end is 0 here and there",
     REQUESTS(PHASES(0, 0, 2, 1000000000000, UNKNOWN), PHASES(1, 1, 3, 1, UNKNOWN)),
     EXPECT(AT(0, TOKENS, 1e12), AT(1, TOKENS, 1e12 + 1), AT(2, TOKENS, 1),
            AT(3, TOKENS, 0))},
};

/* ---- Decode throughput without chunks ---------------------------------------------- */

static const pinned decode[] = {
    {"D1", TEST_SWEEP, "an empty curve, whose statistics are 0",
     EXPECT(ABSENT(DECODE_RATE))},
    {"D2", TEST_SWEEP, NULL, REQUESTS(DECODE(0, 100, 101)),
     EXPECT(AT(0, DECODE_RATE, 1 * PER_NS), AT(99, DECODE_RATE, 1 * PER_NS),
            AT(100, DECODE_RATE, 0), AVG(DECODE_RATE, 1 * PER_NS))},
    {"D3", TEST_SWEEP, NULL, REQUESTS(DECODE(0, 100, 1), DECODE(50, 150, 11)),
     EXPECT(AT(25, DECODE_RATE, 0), AT(75, DECODE_RATE, 0.1 * PER_NS),
            MAX(DECODE_RATE, 0.1 * PER_NS))},
    {"D3, first row alone", TEST_SWEEP, NULL, REQUESTS(DECODE(0, 100, 1)),
     EXPECT(MAX(DECODE_RATE, 0), AVG(DECODE_RATE, 0))},
    {"D4", TEST_SWEEP, NULL,
     REQUESTS(DECODE(0, 100, 11), PHASES(0, NONE, 200, UNKNOWN, UNKNOWN)),
     EXPECT(MAX(DECODE_RATE, 0.1 * PER_NS), AVG(DECODE_RATE, 0.05 * PER_NS))},
    {"D5", TEST_SWEEP_RS, "an empty curve, whose statistics are 0",
     REQUESTS(DECODE(0, 100, 0)), EXPECT(ABSENT(DECODE_RATE), ABSENT(ACTIVE_DECODE))},
};

/* ---- Prefill and total throughput -------------------------------------------------- */

static const pinned prefill[] = {
    {"P1", TEST_SWEEP, NULL, REQUESTS(PHASES(0, 50, 50, 100, UNKNOWN)),
     EXPECT(AT(0, PREFILL_RATE, 2 * PER_NS), AT(50, PREFILL_RATE, 0))},
    {"P2", TEST_SWEEP, NULL,
     REQUESTS(PHASES(0, 50, 50, 100, UNKNOWN), PHASES(0, NONE, 50, 100, UNKNOWN),
              PHASES(0, 50, 50, UNKNOWN, UNKNOWN)),
     EXPECT(MAX(PREFILL_RATE, 2 * PER_NS), MIN(PREFILL_RATE, 2 * PER_NS))},
    {"P3", TEST_SWEEP, "an empty curve; here what was measured is 0",
     REQUESTS(PHASES(100, 100, 200, 50, UNKNOWN)),
     EXPECT(MAX(PREFILL_RATE, 0), ABSENT(TW_ACTIVE_PREFILL_THROUGHPUT))},
    {"P3, tokens in flight", TEST_SWEEP,
     "0: the input tokens of a prefill of zero length never arrive",
     REQUESTS(PHASES(100, 100, 200, 50, UNKNOWN)), EXPECT(AT(150, TOKENS, 50))},
    {"P4", TEST_SWEEP, NULL,
     REQUESTS(PHASES(0, 50, 60, 100, UNKNOWN), PHASES(10, 60, 60, 150, UNKNOWN)),
     EXPECT(MAX(PREFILL_RATE, 5 * PER_NS), AT(5, PREFILL_RATE, 2 * PER_NS),
            AT(55, PREFILL_RATE, 3 * PER_NS))},
};

static const pinned total[] = {
    {"X1", TEST_SWEEP, NULL, REQUESTS(PHASES(0, 50, 150, 100, 101)),
     EXPECT(MAX(TOTAL_RATE, 2 * PER_NS), AT(100, TOTAL_RATE, 1 * PER_NS),
            AVG(TOTAL_RATE, 200.0 / 150 * PER_NS))},
    {"X2", TEST_SWEEP, NULL,
     REQUESTS(PHASES(0, 50, 150, 100, 101), PHASES(10, 60, 160, 200, 51),
              PHASES(20, 70, 170, 150, 76)),
     EXPECT(AVG(TOTAL_RATE, 675.0 / 170 * PER_NS), MAX(TOTAL_RATE, 9 * PER_NS),
            AVG(PREFILL_RATE, 450.0 / 170 * PER_NS),
            AVG(DECODE_RATE, 225.0 / 170 * PER_NS), AT(55, TOTAL_RATE, 8 * PER_NS))},
    {"X3", TEST_SWEEP, NULL, REQUESTS(PHASES(0, 50, 50, 100, UNKNOWN)),
     EXPECT(MAX(TOTAL_RATE, 2 * PER_NS), ABSENT(DECODE_RATE))},
    {"X4", TEST_SWEEP,
     "its start is NaN; here a start is required, so it is the first token",
     REQUESTS(DECODE(0, 100, 101)),
     EXPECT(MAX(TOTAL_RATE, 1 * PER_NS), ABSENT(PREFILL_RATE))},
    {"F1, F2", TEST_SWEEP, NULL, REQUESTS(PHASES(0, 50, 100, 250, UNKNOWN)),
     EXPECT(MAX(TOTAL_RATE, 5 * PER_NS), AVG(TOTAL_RATE, 2.5 * PER_NS))},
    {"F3", TEST_SWEEP, "its sum of curves; its total throughput ignores chunks",
     REQUESTS(PHASES(0, 100, 100, 1000, UNKNOWN), PHASES(50, 100, 100, 500, UNKNOWN),
              {0, 0, 100, UNKNOWN, 501, NUMBERS(50, 50), NUMBERS(150, 350), .copies = 1}),
     EXPECT(AT(25, TOTAL_RATE, 13 * PER_NS), AT(75, TOTAL_RATE, 27 * PER_NS),
            AT(100, TOTAL_RATE, 0))},
    {"F4", TEST_SWEEP, NULL,
     REQUESTS(PHASES(0, 100, 100, 1000, UNKNOWN), DECODE(50, 100, 251)),
     EXPECT(AT(0, TOTAL_RATE, 10 * PER_NS), AT(50, TOTAL_RATE, 15 * PER_NS),
            AT(100, TOTAL_RATE, 0))},
};

/* ---- Decode throughput with chunks ------------------------------------------------- */

static const pinned chunked[] = {
    {"K1", TEST_SWEEP, "an empty curve, whose statistics are 0",
     EXPECT(ABSENT(DECODE_RATE))},
    {"K2", TEST_SWEEP, NULL, REQUESTS(CHUNKED(0, 0, 30, UNKNOWN, 3, 10, 10, 10)),
     EXPECT(MAX(DECODE_RATE, 2.0 / 30 * PER_NS), MIN(DECODE_RATE, 2.0 / 30 * PER_NS))},
    {"K3", TEST_SWEEP,
     "no rate, the row counts otherwise; here chunks need a first token",
     REQUESTS(CHUNKED(0, NONE, 30, UNKNOWN, 5, 10)), EXPECT(ABSENT(DECODE_RATE)),
     REFUSED(TW_RULE_CHUNK_BEFORE_GENERATION, 1)},
    {"K4", TEST_SWEEP, NULL,
     REQUESTS(CHUNKED(0, 0, 20, UNKNOWN, 2, 10, 10),
              CHUNKED(5, 5, 25, UNKNOWN, 2, 10, 10)),
     EXPECT(MAX(DECODE_RATE, 0.1 * PER_NS), AT(2, DECODE_RATE, 0.05 * PER_NS),
            AT(22, DECODE_RATE, 0.05 * PER_NS), AT(25, DECODE_RATE, 0))},
    {"K5", TEST_SWEEP, NULL,
     REQUESTS(CHUNKED(0, 0, 20, UNKNOWN, 3, 10, 10), CHUNKED(5, 5, 25, UNKNOWN, 4, 0, 0)),
     EXPECT(MAX(DECODE_RATE, 0.1 * PER_NS), AT(22, DECODE_RATE, 0))},
    {"K6", TEST_SWEEP ", " TEST_KV_RS, NULL,
     REQUESTS(CHUNKED(0, 0, 30, UNKNOWN, 6, 10, 10, 10)),
     EXPECT(MAX(DECODE_RATE, 5.0 / 30 * PER_NS), AVG(DECODE_RATE, 5.0 / 30 * PER_NS))},
    {"K7", TEST_KV_RS, NULL, REQUESTS(CHUNKED(10, 10, 20, UNKNOWN, 5, 0, 10)),
     EXPECT(MAX(DECODE_RATE, 0.4 * PER_NS), AVG(DECODE_RATE, 0.4 * PER_NS))},
};

/* ---- Time-weighted statistics ------------------------------------------------------ */

static const pinned weighted[] = {
    {"W1", TEST_SWEEP, NULL, REQUESTS(INTERVAL(0, 100, 5)), WINDOW(0, 100),
     EXPECT(AVG(CONCURRENCY, 5), MIN(CONCURRENCY, 5), MAX(CONCURRENCY, 5),
            STD(CONCURRENCY, 0), P(50, CONCURRENCY, 5), P(90, CONCURRENCY, 5),
            P(95, CONCURRENCY, 5), P(99, CONCURRENCY, 5))},
    {"W2", TEST_SWEEP, NULL, REQUESTS(INTERVAL(0, 80, 2), INTERVAL(80, 100, 10)),
     WINDOW(0, 100),
     EXPECT(AVG(CONCURRENCY, 3.6), MIN(CONCURRENCY, 2), MAX(CONCURRENCY, 10),
            STD(CONCURRENCY, 3.2))},
    {"W3", TEST_SWEEP, NULL, REQUESTS(INTERVAL(0, 1000, 1), INTERVAL(900, 1000, 99)),
     WINDOW(0, 1000),
     EXPECT(P(50, CONCURRENCY, 1), P(90, CONCURRENCY, 1), P(95, CONCURRENCY, 100),
            P(99, CONCURRENCY, 100))},
    {"W4", TEST_SWEEP, NULL, REQUESTS(INTERVAL(0, 100, 1), INTERVAL(50, 100, 4)),
     WINDOW(50, 100),
     EXPECT(AVG(CONCURRENCY, 5), MIN(CONCURRENCY, 5), MAX(CONCURRENCY, 5),
            STD(CONCURRENCY, 0))},
    {"W5", TEST_SWEEP, NULL, REQUESTS(INTERVAL(0, 100, 2)), WINDOW(25, 75),
     EXPECT(AVG(CONCURRENCY, 2))},
    {"W6", TEST_SWEEP, NULL, REQUESTS(INTERVAL(0, NONE, 3)), WINDOW(0, 100),
     EXPECT(AVG(CONCURRENCY, 3), MIN(CONCURRENCY, 3), MAX(CONCURRENCY, 3))},
    {"W7", TEST_SWEEP, "all statistics are 0", WINDOW(0, 100),
     EXPECT(ABSENT(CONCURRENCY))},
    {"W8", TEST_SWEEP, "all statistics are 0", REQUESTS(INTERVAL(0, 100, 5)),
     WINDOW(50, 50), EXPECT(ABSENT(CONCURRENCY))},
    {"W9", TEST_SWEEP_RS, NULL,
     REQUESTS(INTERVAL(0, 5, 10), INTERVAL(5, 15, 1), INTERVAL(15, 40, 100),
              INTERVAL(40, 90, 5), INTERVAL(90, 100, 50)),
     WINDOW(0, 100),
     EXPECT(MIN(CONCURRENCY, 1), P(50, CONCURRENCY, 5), P(90, CONCURRENCY, 100),
            P(95, CONCURRENCY, 100), MAX(CONCURRENCY, 100), AVG(CONCURRENCY, 33.1))},
};

/* ---- Active statistics: a rate under the mask of its phase ------------------------- */

static const pinned active[] = {
    {"A1", TEST_SWEEP, "all statistics are 0", WINDOW(0, 100),
     EXPECT(ABSENT(ACTIVE_DECODE))},
    {"A2", TEST_SWEEP, "all statistics are 0", REQUESTS(DECODE(0, 50, 5001)),
     WINDOW(10, 10), EXPECT(ABSENT(ACTIVE_DECODE))},
    {"A3, as far as a rate has a phase", TEST_SWEEP,
     "all statistics are 0 where the mask is never on", REQUESTS(DECODE(0, 50, 5001)),
     WINDOW(50, 100), EXPECT(ABSENT(ACTIVE_DECODE), AVG(DECODE_RATE, 0))},
    {"A4", TEST_SWEEP, NULL, REQUESTS(DECODE(0, 50, 5001)), WINDOW(0, 100),
     EXPECT(AVG(DECODE_RATE, 50 * PER_NS), AVG(ACTIVE_DECODE, 100 * PER_NS),
            MIN(ACTIVE_DECODE, 100 * PER_NS), MAX(ACTIVE_DECODE, 100 * PER_NS),
            P(99, ACTIVE_DECODE, 100 * PER_NS), ACTIVE_NS(ACTIVE_DECODE, 50))},
    {"A5", TEST_SWEEP, NULL, REQUESTS(DECODE(0, 20, 1001), DECODE(10, 20, 1001)),
     WINDOW(0, 1000),
     EXPECT(AVG(ACTIVE_DECODE, 100 * PER_NS), P(50, ACTIVE_DECODE, 50 * PER_NS),
            P(99, ACTIVE_DECODE, 150 * PER_NS), ACTIVE_NS(ACTIVE_DECODE, 20))},
    {"A6", TEST_SWEEP, NULL, REQUESTS(DECODE(0, 100, 20001)), WINDOW(50, 80),
     EXPECT(AVG(ACTIVE_DECODE, 200 * PER_NS), MIN(ACTIVE_DECODE, 200 * PER_NS))},
    {"A7", TEST_SWEEP, NULL,
     REQUESTS(DECODE(0, 10, 51), DECODE(10, 15, 51), DECODE(20, 30, 9991)),
     WINDOW(10, 20),
     EXPECT(AVG(ACTIVE_DECODE, 10 * PER_NS), MIN(ACTIVE_DECODE, 10 * PER_NS),
            MAX(ACTIVE_DECODE, 10 * PER_NS), ACTIVE_NS(ACTIVE_DECODE, 5))},
    {"A8", TEST_SWEEP, "its edges are 5000.25 and 5001.25; here times are integers",
     REQUESTS(DECODE(0, 10000, 1000001)), WINDOW(5000, 5001),
     EXPECT(AVG(ACTIVE_DECODE, 100 * PER_NS))},
};

/* ---- Per user ---------------------------------------------------------------------- */

static const pinned per_user[] = {
    {"U1", TEST_SWEEP, NULL, REQUESTS(DECODE(0, 100, 101)),
     EXPECT(MAX(DECODE_PER_USER, 1 * PER_NS))},
    {"U2", TEST_SWEEP, NULL, REQUESTS({0, 0, 100, UNKNOWN, 101, .copies = 5}),
     EXPECT(MAX(DECODE_RATE, 5 * PER_NS), MAX(DECODE_PER_USER, 1 * PER_NS))},
    {"U3", TEST_SWEEP, "the row of NaN is left out without a count",
     REQUESTS(DECODE(0, 100, 101), PHASES(NONE, NONE, NONE, UNKNOWN, UNKNOWN)),
     EXPECT(MAX(DECODE_PER_USER, 1 * PER_NS)), REFUSED(TW_RULE_START_MISSING, 1)},
    {"U4", TEST_SWEEP, "an empty curve, whose statistics are 0",
     EXPECT(ABSENT(DECODE_PER_USER), ABSENT(PREFILL_PER_USER))},
    {"U5", TEST_SWEEP, NULL, REQUESTS(PHASES(0, 50, 50, 100, UNKNOWN)),
     EXPECT(MAX(PREFILL_PER_USER, 2 * PER_NS))},
    {"U6", TEST_SWEEP, NULL, REQUESTS({0, 50, 50, 100, UNKNOWN, .copies = 3}),
     EXPECT(MAX(PREFILL_RATE, 6 * PER_NS), MAX(PREFILL_PER_USER, 2 * PER_NS))},
    {"F6", TEST_SWEEP, NULL,
     REQUESTS(
         {0, 0, 100, UNKNOWN, 1501, NUMBERS(50, 50), NUMBERS(500, 1000), .copies = 1},
         DECODE(0, 100, 1), {50, 50, 100, UNKNOWN, 1, .copies = 3}),
     EXPECT(AT(25, DECODE_PER_USER, 5 * PER_NS), AT(75, DECODE_PER_USER, 4 * PER_NS),
            AT(100, DECODE_PER_USER, 0))},
    {"F8", TEST_SWEEP, NULL,
     REQUESTS(
         {0, 0, 100, UNKNOWN, 1501, NUMBERS(50, 50), NUMBERS(500, 1000), .copies = 1},
         {0, 0, 100, UNKNOWN, 1, .copies = 4}),
     EXPECT(AT(25, DECODE_PER_USER, 2 * PER_NS), AT(75, DECODE_PER_USER, 4 * PER_NS),
            AT(100, DECODE_PER_USER, 0))},
    {"F9", TEST_SWEEP, NULL, REQUESTS(DECODE(0, 50, 11)), WINDOW(0, 100),
     EXPECT(AT(50, DECODE_PER_USER, 0), MIN(DECODE_PER_USER, 0))},
};

/* ---- Tokens in flight -------------------------------------------------------------- */

static const pinned tokens[] = {
    {"Q1", TEST_SWEEP ", " TEST_KV_RS, NULL, REQUESTS(PHASES(0, 10, 60, 100, 50)),
     EXPECT(AT(5, TOKENS, 100), AT(30, TOKENS, 150), AT(60, TOKENS, 0))},
    {"Q2", TEST_SWEEP, NULL,
     REQUESTS(PHASES(0, 10, 60, 100, 50), PHASES(5, 15, 65, 200, 80)),
     EXPECT(AT(7, TOKENS, 300), AT(12, TOKENS, 350), AT(62, TOKENS, 280))},
    {"Q3", TEST_SWEEP,
     "its second start is NaN; here a start is required, so it is the first token",
     REQUESTS(PHASES(0, 10, 60, 100, 50), DECODE(15, 65, 80)),
     EXPECT(AT(5, TOKENS, 100), AT(20, TOKENS, 230), AT(62, TOKENS, 80))},
    {"Q4", TEST_SWEEP, "100 at 50 ns: no output part without an end, and never freed",
     REQUESTS(PHASES(0, 10, NONE, 100, 50)), WINDOW(0, 100),
     EXPECT(AT(5, TOKENS, 100), AT(50, TOKENS, 150), MAX(TOKENS, 150))},
    {"Q5", TEST_SWEEP,
     "its start is NaN; here a start is required, so it is the first token",
     REQUESTS(DECODE(10, 60, 50)), EXPECT(MAX(TOKENS, 50), AT(60, TOKENS, 0))},
    {"Q6", TEST_SWEEP, NULL, REQUESTS(PHASES(0, 100, 1000, 4096, 2048)),
     EXPECT(AT(50, TOKENS, 4096), MAX(TOKENS, 6144))},
    {"Z1", TEST_SWEEP, NULL, REQUESTS(PHASES(0, 10, 60, 100, 50)),
     EXPECT(AT(5, TOKENS, 100), AT(10, TOKENS, 150), AT(59, TOKENS, 150))},
    {"Z2", TEST_SWEEP, NULL,
     REQUESTS(CHUNKED(0, 100, 600, 200, 50, 100, 100, 100, 100, 100)),
     EXPECT(AT(50, TOKENS, 200), AT(105, TOKENS, 201), AT(205, TOKENS, 210.8),
            AT(405, TOKENS, 230.4), AT(600, TOKENS, 0))},
    {"Z3", TEST_SWEEP, NULL, REQUESTS(CHUNKED(0, 10, 111, 1000, 500, 20, 20, 20, 20, 20)),
     EXPECT(MAX(TOKENS, 1500), AT(109, TOKENS, 1000 + 1 + 4 * 499 / 5.0),
            AT(110, TOKENS, 1500))},
    {"Z4", TEST_SWEEP, NULL,
     REQUESTS(CHUNKED(0, 10, 110, 100, 20, 50, 50),
              CHUNKED(50, 60, 160, 200, 40, 50, 50)),
     EXPECT(AT(65, TOKENS, 311.5), AT(160, TOKENS, 0))},
    {"Z5", TEST_SWEEP, NULL,
     REQUESTS(CHUNKED(0, 10, 110, 100, 100, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10)),
     EXPECT(AT(25, TOKENS, 110.9))},
    {"Z5, without chunks", TEST_SWEEP, NULL, REQUESTS(PHASES(0, 10, 110, 100, 100)),
     EXPECT(AT(25, TOKENS, 200))},
    {"Z6", TEST_SWEEP, NULL, REQUESTS(CHUNKED(0, 10, 110, 0, 0, 20, 20, 20, 20, 20)),
     EXPECT(MIN(TOKENS, 0), MAX(TOKENS, 0))},
    {"Z7", TEST_SWEEP ", " TEST_KV_RS,
     "the row without a start is left out without a count",
     REQUESTS(CHUNKED(0, 10, 110, 100, 20, 50, 50),
              CHUNKED(NONE, NONE, 120, UNKNOWN, 40, 30, 30)),
     EXPECT(AT(60, TOKENS, 110.5), AT(110, TOKENS, 0), MIN(TOKENS, 100)),
     REFUSED(TW_RULE_START_MISSING, 1)},
    {"Z8", TEST_SWEEP ", " TEST_KV_RS, NULL,
     REQUESTS(CHUNKED(0, 10, 110, 100, 20, 50, 50),
              CHUNKED(5, 15, 120, 50, UNKNOWN, 30, 30)),
     EXPECT(AT(30, TOKENS, 151), AT(115, TOKENS, 50), AT(120, TOKENS, 0))},
    {"Z9", TEST_KV_RS,
     "103 at 15 ns: a gap of zero has a share in tokens in flight, not in rates",
     REQUESTS(CHUNKED(0, 10, 21, 100, 5, 0, 10)),
     EXPECT(AT(15, TOKENS, 101), AT(20, TOKENS, 105), AT(21, TOKENS, 0))},
    {"Z10", TEST_KV_RS, "the last chunk is moved to 256 ns before the end",
     REQUESTS(CHUNKED(1700000000000000000 - 2048, 1700000000000000000 - 1024,
                      1700000000000000000, 10, 2, 1024)),
     EXPECT(MIN(TOKENS, 10), MAX(TOKENS, 11), AT(1700000000000000000 - 1, TOKENS, 11),
            AT(1700000000000000000, TOKENS, 0))},
};

/* ---- Latencies and percentiles of records ------------------------------------------ */

#define T0 INT64_C(1751800000000000000)
#define OK_ROW(i) \
    CREDITED(T0 + ((i)-1) * MS, T0 + (i)*MS, T0 + ((i) + 10) * MS, TW_RECORD_OK, 1)
#define BAD_ROW(i) \
    CREDITED(T0 + ((i)-1) * MS, T0 + (i)*MS, T0 + ((i) + 500) * MS, TW_RECORD_FAILED, 1)
#define MANY(status, number) CREDITED(T0 - MS, T0, T0 + 10 * MS, status, number)
#define MANY_OK(number) MANY(TW_RECORD_OK, number)
#define MANY_BAD(number) MANY(TW_RECORD_FAILED, number)

static const pinned latency[] = {
    {"E1", TEST_LATENCY, NULL, REQUESTS(OK_ROW(0), OK_ROW(1), BAD_ROW(2), BAD_ROW(3)),
     EXPECT(COUNT(LATENCY, 2), MAX(LATENCY, 11), AVG(LATENCY, 11), P(99, LATENCY, 11))},
    {"E2", TEST_LATENCY, NULL, REQUESTS(BAD_ROW(0), BAD_ROW(1)),
     EXPECT(ABSENT(LATENCY), ABSENT(ADJ_LATENCY))},
    {"E3", TEST_LATENCY, "a mask of rows; here the window leaves the first one out",
     REQUESTS(OK_ROW(0), OK_ROW(1), OK_ROW(2), BAD_ROW(3)),
     WINDOW(T0 + 10 * MS, T0 + SECOND), EXPECT(COUNT(LATENCY, 2), COUNT(ADJ_LATENCY, 3))},
    {"E4", TEST_LATENCY, NULL, REQUESTS(OK_ROW(0), OK_ROW(1), OK_ROW(2), BAD_ROW(3)),
     EXPECT(COUNT(ADJ_LATENCY, 4), AVG(ADJ_LATENCY, HUGE_VAL), MAX(ADJ_LATENCY, HUGE_VAL),
            SUM(ADJ_LATENCY, HUGE_VAL), P(99, ADJ_LATENCY, HUGE_VAL),
            P(50, ADJ_LATENCY, 11), MIN(ADJ_LATENCY, 11), WITHOUT_STD(ADJ_LATENCY))},
    {"E5", TEST_LATENCY, "p50 is +inf: half the share is reached at the second of four",
     REQUESTS(OK_ROW(0), OK_ROW(1), BAD_ROW(2), BAD_ROW(3)),
     EXPECT(P(25, ADJ_LATENCY, 11), P(50, ADJ_LATENCY, 11),
            P(51, ADJ_LATENCY, HUGE_VAL))},
    {"E6", TEST_LATENCY, NULL, REQUESTS(OK_ROW(0), OK_ROW(1)),
     EXPECT(ABSENT(ADJ_LATENCY), COUNT(LATENCY, 2))},
    {"E7", TEST_LATENCY, NULL,
     REQUESTS(CREDITED(T0 + 200, T0, T0 + MS, TW_RECORD_OK, 1),
              CREDITED(T0 + 1200, T0 + 1000, T0 + MS, TW_RECORD_OK, 1)),
     EXPECT(MIN(WAIT, 0), AVG(WAIT, 0), MAX(WAIT, 0), P(1, WAIT, 0), P(50, WAIT, 0),
            P(99, WAIT, 0))},
    {"E8", TEST_LATENCY, NULL,
     REQUESTS(CREDITED(T0 - 5 * MS, T0, T0 + MS, TW_RECORD_OK, 1),
              CREDITED(T0 - 5 * MS + 1000, T0 + 1000, T0 + MS, TW_RECORD_OK, 1)),
     EXPECT(MIN(WAIT, 5), AVG(WAIT, 5))},
    {"E9", TEST_LATENCY, NULL, REQUESTS(OK_ROW(0), OK_ROW(1), BAD_ROW(2), BAD_ROW(3)),
     EXPECT(COUNT(LATENCY, 2), COUNT(ADJ_LATENCY, 4))},
    {"E10", TEST_KERNEL_RS, NULL,
     REQUESTS(CREDITED(T0, T0, T0 + 10 * MS, TW_RECORD_OK, 1),
              CREDITED(T0, T0, T0 + 20 * MS, TW_RECORD_OK, 1),
              CREDITED(T0, T0, T0 + 5 * MS, TW_RECORD_CANCELLED, 1)),
     EXPECT(WITHOUT_STD(ADJ_LATENCY), MAX(ADJ_LATENCY, HUGE_VAL),
            P(99, ADJ_LATENCY, HUGE_VAL), P(50, ADJ_LATENCY, 20))},
    {"E11", "AIPerf rust derived.rs tests", NULL,
     REQUESTS(INTERVAL(3500000, 1000000, 1), INTERVAL(1000000, 3500000, 1)),
     EXPECT(AVG(TW_REQUEST_LATENCY, 2.5), COUNT(TW_REQUEST_LATENCY, 1)),
     REFUSED(TW_RULE_END_BEFORE_START, 1)},
    {"E, 3 ok and 3 failed", NEAREST_RANK, NULL, REQUESTS(MANY_OK(3), MANY_BAD(3)),
     EXPECT(P(50, ADJ_LATENCY, 11))},
    {"E, 10 ok and 10 failed", NEAREST_RANK, "p50 is +inf: rank 9.5 is rounded to 10",
     REQUESTS(MANY_OK(10), MANY_BAD(10)),
     EXPECT(P(50, ADJ_LATENCY, 11), P(51, ADJ_LATENCY, HUGE_VAL))},
    {"E, 95 ok and 5 failed", NEAREST_RANK, NULL, REQUESTS(MANY_OK(95), MANY_BAD(5)),
     EXPECT(P(95, ADJ_LATENCY, 11), P(99, ADJ_LATENCY, HUGE_VAL))},
    {"E, 94 ok and 6 failed", NEAREST_RANK, NULL, REQUESTS(MANY_OK(94), MANY_BAD(6)),
     EXPECT(P(95, ADJ_LATENCY, HUGE_VAL))},
    {"E, 99 ok and 1 failed", NEAREST_RANK, NULL, REQUESTS(MANY_OK(99), MANY_BAD(1)),
     EXPECT(P(99, ADJ_LATENCY, 11))},
    {"E, 19 ok and 1 failed", NEAREST_RANK, NULL, REQUESTS(MANY_OK(19), MANY_BAD(1)),
     EXPECT(P(95, ADJ_LATENCY, 11), P(99, ADJ_LATENCY, HUGE_VAL))},
    {"E, 9 ok and 1 failed", NEAREST_RANK, NULL, REQUESTS(MANY_OK(9), MANY_BAD(1)),
     EXPECT(P(90, ADJ_LATENCY, 11), P(95, ADJ_LATENCY, HUGE_VAL))},
    {"N1", TEST_KERNEL_RS, NULL,
     REQUESTS(DECODE(0, 9, 1), DECODE(0, 9, 2), DECODE(0, 9, 3), DECODE(0, 9, 4)),
     EXPECT(AVG(TW_OUTPUT_SEQUENCE_LENGTH, 2.5), P(50, TW_OUTPUT_SEQUENCE_LENGTH, 2.5),
            STD(TW_OUTPUT_SEQUENCE_LENGTH, 1.118033988749895))},
    {"N2", TEST_KERNEL_RS, NULL,
     REQUESTS(DECODE(0, 9, 3), DECODE(0, 9, 1), DECODE(0, 9, 2), DECODE(0, 9, 1),
              DECODE(0, 9, 3), DECODE(0, 9, 1)),
     EXPECT(P(50, TW_OUTPUT_SEQUENCE_LENGTH, 1.5), SUM(TW_OUTPUT_SEQUENCE_LENGTH, 11),
            STD(TW_OUTPUT_SEQUENCE_LENGTH, 0.89752746785575066))},
    {"G1", TEST_LAG, "the least lag is taken off first; here it is off in the records",
     REQUESTS(CREDITED(0, 0, SECOND, TW_RECORD_OK, 2),
              CREDITED(0, 10 * MS, SECOND, TW_RECORD_OK, 1),
              CREDITED(0, 100 * MS, SECOND, TW_RECORD_OK, 1)),
     EXPECT(P(50, WAIT, 5), P(90, WAIT, 73), P(99, WAIT, 97.3))},
    {"G2", TEST_LAG, "the least lag is taken off first; here it is off in the records",
     REQUESTS(CREDITED(700 * MS, 700 * MS, SECOND, TW_RECORD_OK, 3)),
     EXPECT(P(99, WAIT, 0))},
    {"G3", TEST_LAG, NULL, REQUESTS(INTERVAL(0, 9, 3)),
     EXPECT(ABSENT(WAIT), ABSENT(LATENCY), ABSENT(TW_EFFECTIVE_QUEUE_DEPTH))},
    {"G5", TEST_LAG, NULL, REQUESTS(CREDITED(2 * MS, 5 * MS, 9 * MS, TW_RECORD_OK, 1)),
     EXPECT(AVG(WAIT, 3))},
};

/* ---- Gaps between chunks ----------------------------------------------------------- */

static const pinned chunk_gaps[] = {
    {"I1", TEST_CHUNKS, NULL, REQUESTS(CHUNKED(100, 110, 135, UNKNOWN, UNKNOWN, 10, 15)),
     EXPECT(COUNT(CHUNK_GAP, 2), MIN(CHUNK_GAP, 10e-6), MAX(CHUNK_GAP, 15e-6),
            AVG(CHUNK_GAP, 12.5e-6))},
    {"I2", TEST_CHUNKS, NULL, REQUESTS(CHUNKED(100, 110, 125, UNKNOWN, UNKNOWN, 15)),
     EXPECT(COUNT(CHUNK_GAP, 1), AVG(CHUNK_GAP, 15e-6))},
    {"I3", TEST_CHUNKS, NULL,
     REQUESTS(CHUNKED(50, 1000, 1200, UNKNOWN, UNKNOWN, 40, 40, 40, 80)),
     EXPECT(COUNT(CHUNK_GAP, 4), MIN(CHUNK_GAP, 40e-6), P(50, CHUNK_GAP, 40e-6),
            MAX(CHUNK_GAP, 80e-6), SUM(CHUNK_GAP, 200e-6))},
    {"I4", TEST_CHUNKS, NULL,
     REQUESTS(CHUNKED(1000, 1050, 1330, UNKNOWN, UNKNOWN, 30, 40, 60, 70, 80)),
     EXPECT(COUNT(CHUNK_GAP, 5), P(25, CHUNK_GAP, 40e-6), P(50, CHUNK_GAP, 60e-6),
            P(75, CHUNK_GAP, 70e-6), MIN(CHUNK_GAP, 30e-6), MAX(CHUNK_GAP, 80e-6))},
    {"I5", TEST_CHUNKS, NULL,
     REQUESTS(PHASES(100, 110, 125, UNKNOWN, UNKNOWN), INTERVAL(100, 125, 1)),
     EXPECT(ABSENT(CHUNK_GAP), ABSENT(TW_TIME_TO_SECOND_TOKEN))},
    {"I6, 120 110 130", TEST_CHUNKS, "the record counts without a value",
     REQUESTS(CHUNKED(100, 120, 200, UNKNOWN, 4, -10, 20)), EXPECT(ABSENT(CHUNK_GAP)),
     REFUSED(TW_RULE_CHUNK_BEFORE_GENERATION, 1)},
    {"I6, 100 90 110", TEST_CHUNKS, "the record counts without a value",
     REQUESTS(CHUNKED(80, 100, 200, UNKNOWN, 4, -10, 20)), EXPECT(ABSENT(CHUNK_GAP)),
     REFUSED(TW_RULE_CHUNK_BEFORE_GENERATION, 1)},
    {"I6, 100 110 105", TEST_CHUNKS, "the record counts without a value",
     REQUESTS(CHUNKED(80, 100, 200, UNKNOWN, 4, 10, -5)), EXPECT(ABSENT(CHUNK_GAP)),
     REFUSED(TW_RULE_CHUNK_ORDER, 1)},
    {"I6, 100 110 120 115", TEST_CHUNKS, "the record counts without a value",
     REQUESTS(CHUNKED(80, 100, 200, UNKNOWN, 4, 10, 10, -5)), EXPECT(ABSENT(CHUNK_GAP)),
     REFUSED(TW_RULE_CHUNK_ORDER, 1)},
};

/* ---- Windows, and cases of our own ------------------------------------------------- */

#define AFTER(k) INTERVAL(T0 + (k)*SECOND, T0 + ((k) + 1) * SECOND, 1)

static const pinned windows[] = {
    {"T1", TEST_SLICES, NULL,
     REQUESTS(AFTER(0), AFTER(1), AFTER(2), AFTER(3), AFTER(4), AFTER(5), AFTER(6),
              AFTER(7), AFTER(8), AFTER(9), AFTER(10), AFTER(11), AFTER(12), AFTER(13),
              AFTER(14)),
     WINDOW(T0 + 10 * SECOND, T0 + 15 * SECOND),
     EXPECT(AVG(TW_REQUEST_THROUGHPUT, 1), AVG(TW_REQUEST_COUNT, 5),
            AVG(TW_BENCHMARK_DURATION, 5))},
    {"T2", "AIPerf rust window.rs tests",
     "rows that start in [10, 20) are members; here those that end in (10, 20]",
     REQUESTS(INTERVAL(8, 9, 1), INTERVAL(8, 10, 1), INTERVAL(9, 11, 1),
              INTERVAL(12, 20, 1), INTERVAL(19, 21, 1)),
     WINDOW(10, 20), EXPECT(AVG(TW_REQUEST_COUNT, 2))},
    {"O3", OURS, "0.8 in an export of the rows that start in the window",
     REQUESTS(INTERVAL(0, 100, 4), INTERVAL(60, 140, 1)), WINDOW(50, 150),
     EXPECT(AVG(CONCURRENCY, 2.8))},
    {"O4, slice 0", OURS, NULL, REQUESTS(INTERVAL(0, 35 * SECOND, 1)),
     WINDOW(0, 10 * SECOND), EXPECT(AVG(CONCURRENCY, 1))},
    {"O4, slice 1", OURS, "0: only the slice of the start sees the request",
     REQUESTS(INTERVAL(0, 35 * SECOND, 1)), WINDOW(10 * SECOND, 20 * SECOND),
     EXPECT(AVG(CONCURRENCY, 1))},
    {"O4, slice 2", OURS, "0: only the slice of the start sees the request",
     REQUESTS(INTERVAL(0, 35 * SECOND, 1)), WINDOW(20 * SECOND, 30 * SECOND),
     EXPECT(AVG(CONCURRENCY, 1))},
    {"O4, slice 3", OURS, "0: only the slice of the start sees the request",
     REQUESTS(INTERVAL(0, 35 * SECOND, 1)), WINDOW(30 * SECOND, 35 * SECOND),
     EXPECT(AVG(CONCURRENCY, 1))},
    {"O5", OURS, "1.98e6 tokens/sec for the 50 us from the only chunk to the usage frame",
     REQUESTS(CHUNKED(0, MS, MS + 50000, 10, 100, 0)),
     EXPECT(MAX(DECODE_RATE, 0), AT(MS, TOKENS, 110))},
    {"O6", OURS, "rows of 0.00",
     REQUESTS({0, NONE, 100, 10, 20, .copies = 1}, {50, NONE, 150, 10, 20, .copies = 1}),
     EXPECT(ABSENT(DECODE_RATE), ABSENT(PREFILL_RATE), ABSENT(TOTAL_RATE), ABSENT(TOKENS),
            ABSENT(DECODE_PER_USER), ABSENT(PREFILL_PER_USER), ABSENT(ACTIVE_DECODE),
            ABSENT(TW_EFFECTIVE_DECODE_CONCURRENCY),
            ABSENT(TW_EFFECTIVE_PREFILL_CONCURRENCY), AVG(CONCURRENCY, 200.0 / 150))},
    {"O7", OURS, "a concurrency of -1 from the end to the start",
     REQUESTS(INTERVAL(100, 50, 1), INTERVAL(0, 200, 1)),
     EXPECT(MIN(CONCURRENCY, 1), MAX(CONCURRENCY, 1)),
     REFUSED(TW_RULE_END_BEFORE_START, 1)},
    {"O8", OURS, "0: below 1e-9 of the peak a rate is snapped",
     REQUESTS(DECODE(0, SECOND, 1000001), DECODE(2 * SECOND, 2002 * SECOND, 2)),
     EXPECT(MAX(DECODE_RATE, 1e6), AT(1000 * SECOND, DECODE_RATE, 5e-4),
            MIN(ACTIVE_DECODE, 5e-4), P(50, ACTIVE_DECODE, 5e-4))},
    {"O9", OURS,
     "the 49 tokens of the request without chunks are lost from decode throughput",
     REQUESTS(CHUNKED(0, 0, 100, UNKNOWN, 11, 50, 50), DECODE(0, 100, 50)),
     EXPECT(AVG(DECODE_RATE, 0.59 * PER_NS), AVG(TOTAL_RATE, 0.59 * PER_NS))},
};

/* ---- One test per table, run for each of its rows ---------------------------------- */

#define TABLE_TEST(table)       \
    START_TEST(check_##table)   \
    {                           \
        check_case(&table[_i]); \
    }                           \
    END_TEST

TABLE_TEST(concurrency)
TABLE_TEST(decode)
TABLE_TEST(prefill)
TABLE_TEST(total)
TABLE_TEST(chunked)
TABLE_TEST(weighted)
TABLE_TEST(active)
TABLE_TEST(per_user)
TABLE_TEST(tokens)
TABLE_TEST(latency)
TABLE_TEST(chunk_gaps)
TABLE_TEST(windows)

/* ---- Cases that are computed ------------------------------------------------------- */

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % limit;
}

/* C10, AIPerf rust sweepline/mod.rs tests: whatever the intervals, no value is negative
 * and the last one is exactly 0. */
START_TEST(random_intervals_end_at_zero)
{
    uint64_t state = 42;

    for (unsigned size = 1; size <= 128; size++) {
        tw_recorder *recorder = recorder_of(NULL, 0);
        int64_t last = 0;
        tw_analysis *analysis;

        for (unsigned i = 0; i < size; i++) {
            const int64_t start = (int64_t)random_below(&state, 10000);
            const int64_t end = start + 1 + (int64_t)random_below(&state, 1000);
            const int64_t weight = (int64_t)random_below(&state, 1000);
            const request r = PHASES(start, start, end, weight, weight);
            append(recorder, &r);
            last = end > last ? end : last;
        }
        analysis = analyze(recorder, (window){0});
        ck_assert_double_ge(summary_of(analysis, CONCURRENCY).min, 0);
        ck_assert_double_ge(summary_of(analysis, TOKENS).min, 0);
        ck_assert_double_ge(summary_of(analysis, DECODE_RATE).min, 0);
        ck_assert_double_eq(value_at(recorder, CONCURRENCY, last), 0);
        ck_assert_double_eq(value_at(recorder, TOKENS, last), 0);
        ck_assert_double_eq(value_at(recorder, DECODE_RATE, last), 0);
        tw_analysis_free(analysis);
        tw_recorder_free(recorder);
    }
}
END_TEST

/* `count` gaps that sum to `sum`, the first `zeros` of them 0: even ones whose edges are
 * moved by up to a fifth. */
static void jittered(int64_t *gaps, size_t count, size_t zeros, int64_t sum,
                     uint64_t *state)
{
    const int64_t even = sum / (int64_t)(count - zeros);
    int64_t moved = 0;

    for (size_t i = 0; i < count; i++) {
        const int64_t by = (int64_t)random_below(state, (uint64_t)even / 5);
        gaps[i] = i < zeros ? 0 : i + 1 == count ? sum : even + by - moved;
        moved = i < zeros ? 0 : by;
        sum -= gaps[i];
    }
}

/* Z11 and Z12, AIPerf tests/unit/analysis/test_sweep.py, with a jitter of our own: all
 * tokens after the first are delivered, nothing is negative and nothing remains. */
static void check_jittered(size_t rows, size_t gap_count, size_t zeros)
{
    int64_t gaps[MOST_CHUNKS];
    tw_recorder *recorder = recorder_of(NULL, 0);
    tw_analysis *analysis;
    tw_summary rate;
    uint64_t state = 7;
    int64_t last = 0;

    for (size_t i = 0; i < rows; i++) {
        const int64_t start = (int64_t)i * 50 * MS, generation = start + 22 * MS;
        request r = PHASES(start, generation, generation + 500 * MS, 200, 100);

        jittered(gaps, gap_count, i == 0 ? zeros : 0, 500 * MS, &state);
        r.gaps = (numbers){gaps, gap_count};
        append(recorder, &r);
        last = r.end;
    }
    ck_assert_uint_eq(tw_recorder_count(recorder), rows);
    analysis = analyze(recorder, (window){0});
    rate = summary_of(analysis, DECODE_RATE);
    ck_assert(near(rate.avg * 1e-9 * (double)rate.weight_ns, 99.0 * (double)rows));
    ck_assert_double_ge(rate.min, 0);
    ck_assert_double_ge(summary_of(analysis, TOKENS).min, 0);
    ck_assert_double_eq(value_at(recorder, DECODE_RATE, last), 0);
    ck_assert_double_eq(value_at(recorder, TOKENS, last), 0);
    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
}

START_TEST(jittered_chunks_deliver_all_tokens)
{
    check_jittered(16, 49, 0);
    check_jittered(4, 9, 2);
}
END_TEST

/* Z13, AIPerf rust sweepline/kv_cache.rs tests. */
static const request enumerated[] = {
    CHUNKED(0, 10, 70, 100, 5, 10, 0, 20, 30),
    CHUNKED(17, 30, 90, 50, 7, 5, 15, 10, 30),
    CHUNKED(53, 70, 140, 80, 4, 20, 20, 20, 10),
};

static double enumerated_rate(const request *r, int64_t at)
{
    int64_t edge = r->generation;
    int positive = 0;
    double rate = 0;

    for (size_t i = 0; i < r->gaps.count; i++)
        positive += r->gaps.at[i] > 0;
    for (size_t i = 0; i < r->gaps.count; i++) {
        if (edge <= at && at < edge + r->gaps.at[i])
            rate = (double)(r->output - 1) / positive / (double)r->gaps.at[i];
        edge += r->gaps.at[i];
    }
    return rate;
}

static double enumerated_tokens(const request *r, int64_t at)
{
    int64_t edge = r->generation;
    int positive = 0, arrived = 0;

    if (at < r->start || at >= r->end)
        return 0;
    if (at < r->generation)
        return (double)r->input;
    for (size_t i = 0; i < r->gaps.count; i++) {
        edge += r->gaps.at[i];
        positive += r->gaps.at[i] > 0;
        arrived += r->gaps.at[i] > 0 && edge <= at;
    }
    return (double)r->input + 1 + (double)((r->output - 1) * arrived) / positive;
}

/* The zero gap of the first row has no share of its tokens here, in no curve. */
START_TEST(chunks_equal_their_enumeration)
{
    tw_recorder *recorder = recorder_of(enumerated, 3);
    tw_analysis *analysis = analyze(recorder, (window){0});
    const tw_summary rate = summary_of(analysis, DECODE_RATE);

    for (int64_t at = -1; at <= 140; at++) {
        double wanted_rate = 0, wanted_tokens = 0;
        for (int i = 0; i < 3; i++) {
            wanted_rate += enumerated_rate(&enumerated[i], at);
            wanted_tokens += enumerated_tokens(&enumerated[i], at);
        }
        ck_assert(near(value_at(recorder, DECODE_RATE, at), wanted_rate * PER_NS));
        ck_assert(near(value_at(recorder, TOKENS, at), wanted_tokens));
    }
    ck_assert(near(rate.avg * 1e-9 * (double)rate.weight_ns, 13));
    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
}
END_TEST

static const request z14[] = {
    CHUNKED(0, 100, 400, 10, 4, 10, 20, 30),
    CHUNKED(1000, 1100, 1500, 20, 3, 40, 50),
    CHUNKED(2000, 2100, 2600, 30, 5, 60, 70),
};
static const request z15[] = {
    CHUNKED(0, 10, 40, 100, 3, 10, 20),
    CHUNKED(0, 10, 40, 100, 3, 10, 20),
    CHUNKED(50, 60, 100, 80, 3, 15, 25),
};

static void assert_same_bits(const request *requests, const int *order)
{
    request moved[3];
    tw_recorder *recorders[2];
    tw_analysis *analyses[2];
    tw_metric_row row = {.struct_size = sizeof row};

    for (int i = 0; i < 3; i++)
        moved[i] = requests[order[i]];
    for (int i = 0; i < 2; i++) {
        recorders[i] = recorder_of(i ? moved : requests, 3);
        analyses[i] = analyze(recorders[i], (window){0});
    }
    for (size_t m = 0; tw_metric_info(m, &row) == TW_OK; m++) {
        tw_summary of[2];
        int32_t status[2];
        memset(of, 0, sizeof of);
        for (int i = 0; i < 2; i++) {
            of[i].struct_size = sizeof of[i];
            status[i] = tw_analysis_summary(analyses[i], row.id, &of[i]);
        }
        ck_assert_int_eq(status[0], status[1]);
        ck_assert_mem_eq(&of[0], &of[1], sizeof of[0]);
    }
    for (int i = 0; i < 2; i++) {
        tw_analysis_free(analyses[i]);
        tw_recorder_free(recorders[i]);
    }
}

/* Z14 and Z15, AIPerf rust sweepline/kv_cache.rs tests: there of the two curves with
 * chunks, here of all metrics. */
START_TEST(order_of_records_changes_no_bit)
{
    static const int orders[][3] = {
        {2, 0, 1}, {2, 1, 0}, {0, 2, 1}, {1, 2, 0}, {1, 0, 2}};

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        assert_same_bits(z14, orders[i]);
        assert_same_bits(z15, orders[i]);
        assert_same_bits(enumerated, orders[i]);
    }
}
END_TEST

/* E7: what was changed in silence elsewhere is counted. E9: the words of the pair. */
START_TEST(late_credits_are_counted)
{
    static const request late[] = {CREDITED(T0 + 200, T0, T0 + MS, TW_RECORD_OK, 1)};
    tw_recorder *recorder = recorder_of(late, 1);
    tw_balance balance = {.struct_size = sizeof balance};

    ck_assert_int_eq(tw_recorder_balance(recorder, &balance), TW_OK);
    ck_assert_uint_eq(balance.credit_after_start, 1);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(adjusted_latency_is_named_as_in_the_field)
{
    tw_metric_row row = {.struct_size = sizeof row};

    for (size_t i = 0; tw_metric_info(i, &row) == TW_OK && row.id != ADJ_LATENCY; i++)
        ;
    ck_assert_str_eq(row.tag, "adj_effective_latency");
    ck_assert_str_eq(row.header, "Effective Latency (CO-aware) (error-adjusted)");
    ck_assert_str_eq(row.unit, "ms");
}
END_TEST

/* O1 and O2, ours: one stream at epoch times. In double nanoseconds, a grid of 256 ns,
 * its gaps miss or overlap: AIPerf gives 147 segments, 12288 ns of them at rate 0, for
 * the even stream, and a max of 100.81 tokens/sec where 50.64 is true for one draw of
 * the uneven one. */
static void check_epoch_stream(int64_t even, uint64_t spread)
{
    const int64_t base = INT64_C(1760000000000000000), first = base + 100000017;
    int64_t gaps[99], end = first, least = INT64_MAX, most = 0;
    request r = PHASES(base, first, 0, 200, 100);
    tw_recorder *recorder;
    tw_analysis *analysis;
    tw_summary rate;
    uint64_t state = 1;

    for (int i = 0; i < 99; i++) {
        gaps[i] = even;
        for (int k = 0; spread && k < 12; k++)
            gaps[i] += (int64_t)random_below(&state, 2 * spread) - (int64_t)spread;
        least = gaps[i] < least ? gaps[i] : least;
        most = gaps[i] > most ? gaps[i] : most;
        end += gaps[i];
    }
    r.end = end;
    r.gaps = (numbers){gaps, 99};
    recorder = recorder_of(&r, 1);
    ck_assert_uint_eq(tw_recorder_count(recorder), 1);
    analysis = analyze(recorder, EDGES(first, end));
    rate = summary_of(analysis, DECODE_RATE);
    ck_assert(near(rate.max, 1e9 / (double)least));
    ck_assert(near(rate.min, 1e9 / (double)most));
    ck_assert(near(rate.avg, 99e9 / (double)(end - first)));
    ck_assert_int_eq(summary_of(analysis, ACTIVE_DECODE).active_ns, end - first);
    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
}

START_TEST(epoch_streams_are_exact)
{
    check_epoch_stream(20000123, 0);
    check_epoch_stream(20000000, 50000);
}
END_TEST

/* O10, ours: 200 requests on 16 slots, 200 tokens in, 100 out, first token after 0.1 s,
 * then one each 20 ms; the window is 27.06 s. */
START_TEST(closed_loop_of_the_documentation)
{
    const int64_t length = 100 * MS + 99 * 20 * MS;
    const double seconds = 27.06;
    tw_recorder *recorder = recorder_of(NULL, 0);
    tw_analysis *analysis;

    for (int64_t i = 0; i < 200; i++) {
        const int64_t start = i / 16 * length;
        const request r = PHASES(start, start + 100 * MS, start + length, 200, 100);
        append(recorder, &r);
    }
    analysis = analyze(recorder, EDGES(0, 27060 * MS));
    ck_assert(near(summary_of(analysis, CONCURRENCY).avg, 200 * 2.08 / seconds));
    ck_assert_double_eq_tol(summary_of(analysis, CONCURRENCY).avg, 15.38, 0.01);
    ck_assert(near(summary_of(analysis, PREFILL_RATE).avg, 200 * 200 / seconds));
    ck_assert_double_eq_tol(summary_of(analysis, PREFILL_RATE).avg, 1478, 1);
    ck_assert(near(summary_of(analysis, TW_EFFECTIVE_DECODE_CONCURRENCY).avg,
                   200 * 1.98 / seconds));
    ck_assert_double_eq_tol(summary_of(analysis, TW_EFFECTIVE_DECODE_CONCURRENCY).avg,
                            14.63, 0.01);
    ck_assert(near(summary_of(analysis, DECODE_RATE).avg, 200 * 99 / seconds));
    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
}
END_TEST

/* ---- The suite --------------------------------------------------------------------- */

#define ADD_TABLE(suite, name)                                                           \
    do {                                                                                 \
        TCase *table_ = tcase_create(#name);                                             \
        tcase_add_loop_test(table_, check_##name, 0, (int)(sizeof name / sizeof *name)); \
        suite_add_tcase(suite, table_);                                                  \
    } while (0)

int main(void)
{
    Suite *suite = suite_create("aiperf_cases");
    TCase *computed = tcase_create("computed");
    SRunner *runner = srunner_create(suite);
    int failed;

    ADD_TABLE(suite, concurrency);
    ADD_TABLE(suite, decode);
    ADD_TABLE(suite, prefill);
    ADD_TABLE(suite, total);
    ADD_TABLE(suite, chunked);
    ADD_TABLE(suite, weighted);
    ADD_TABLE(suite, active);
    ADD_TABLE(suite, per_user);
    ADD_TABLE(suite, tokens);
    ADD_TABLE(suite, latency);
    ADD_TABLE(suite, chunk_gaps);
    ADD_TABLE(suite, windows);

    tcase_add_test(computed, random_intervals_end_at_zero);
    tcase_add_test(computed, jittered_chunks_deliver_all_tokens);
    tcase_add_test(computed, chunks_equal_their_enumeration);
    tcase_add_test(computed, order_of_records_changes_no_bit);
    tcase_add_test(computed, late_credits_are_counted);
    tcase_add_test(computed, adjusted_latency_is_named_as_in_the_field);
    tcase_add_test(computed, epoch_streams_are_exact);
    tcase_add_test(computed, closed_loop_of_the_documentation);
    suite_add_tcase(suite, computed);

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
