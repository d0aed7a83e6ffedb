/* SPDX-License-Identifier: MIT */
/* The laws that every analysis obeys, on random workloads. Where a law is exact it is
 * tested on the integers behind the results or on the bits of the results.
 * TIMEWEIGHT_TEST_WORKLOADS says how many workloads each law sees. */

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "vocabulary.h"
#include "workload.h"

#define RATE_UNIT 0x1p-59 /* tokens/s */
#define TIME_LIMIT (INT64_C(1) << 61)

enum { MOST_RECORDS = 60, MOST_PARTS = 6 };

/* ---- Workloads --------------------------------------------------------------------- */

typedef void (*law_fn)(const workload *w, uint64_t *random);

static void for_each_workload(law_fn law)
{
    const uint64_t count = vocabulary_count("TIMEWEIGHT_TEST_WORKLOADS", 500);
    const uint64_t first = vocabulary_count("TIMEWEIGHT_TEST_SEED", 1);

    for (uint64_t seed = first; seed < first + count; seed++) {
        uint64_t random = ~seed;
        workload w;

        vocabulary_context("seed %" PRIu64, seed);
        assert_i64(workload_new(&w, seed, MOST_RECORDS), 0);
        law(&w, &random);
        workload_free(&w);
    }
}

static tw_analysis *analyze(const workload *w)
{
    const tw_options options = options_of(w);
    return analysis_of(w->records, w->count, &options);
}

static void take(results *all, const tw_analysis *analysis)
{
    assert_ok(results_take(all, analysis));
}

static void take_of(results *all, const tw_record *records, size_t count,
                    const tw_options *options)
{
    tw_analysis *analysis = analysis_of(records, count, options);
    take(all, analysis);
    tw_analysis_free(analysis);
}

static tw_record *copy_of(const workload *w)
{
    tw_record *copy = malloc((w->count + 1) * sizeof *copy);
    assert_that(copy != NULL);
    memcpy(copy, w->records, w->count * sizeof *copy);
    return copy;
}

/* The records that a filter lets through. */
static tw_record *filtered(const workload *w, int (*passes)(const tw_record *r),
                           size_t *count)
{
    tw_record *copy = copy_of(w);

    *count = 0;
    for (size_t i = 0; i < w->count; i++)
        if (passes(&w->records[i]))
            copy[(*count)++] = w->records[i];
    return copy;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Length of [from, to) inside [begin, end). */
static uint64_t inside(int64_t from, int64_t to, int64_t begin, int64_t end)
{
    from = most(from, begin);
    to = least(to, end);
    return to > from ? (uint64_t)to - (uint64_t)from : 0;
}

static double allowance(const workload *w)
{
    uint64_t roundings = w->count + 1;
    for (size_t i = 0; i < w->count; i++)
        roundings += w->records[i].chunk_count;
    return (double)roundings * RATE_UNIT;
}

/* ---- 1: Little's law --------------------------------------------------------------- */

/* True if got is a double nearest to a / b. */
static int is_nearest(double got, twi_big a, uint64_t b)
{
    int exponent;
    const uint64_t mantissa = (uint64_t)ldexp(frexp(got, &exponent), 53);
    twi_big value = twi_big_from64(b), half, off;

    exponent -= 53; /* got = mantissa * 2^exponent, an ulp is 2^exponent */
    if (a.used == 0)
        return got == 0;
    half = value;
    twi_big_multiply64(&value, mantissa);
    twi_big_shift(&a, 1);
    twi_big_shift(&value, 1);
    if (exponent < 0) {
        twi_big_shift(&a, (size_t)-exponent);
    } else {
        twi_big_shift(&value, (size_t)exponent);
        twi_big_shift(&half, (size_t)exponent);
    }
    /* 2 |a - b got| <= b ulp, all times 2^-exponent */
    if (twi_big_compare(&a, &value) >= 0) {
        off = a;
        twi_big_subtract(&off, &value);
    } else {
        off = value;
        twi_big_subtract(&off, &a);
    }
    return twi_big_compare(&off, &half) <= 0;
}

static void add(twi_big *sum, uint64_t part)
{
    const twi_big big = twi_big_from64(part);
    if (part)
        twi_big_add(sum, &big);
}

static void little(const workload *w, uint64_t *random)
{
    tw_analysis *analysis = analyze(w);
    twi_big time = twi_big_from64(0), wait = twi_big_from64(0);
    int64_t begin, end;
    int credits = 0;

    (void)random;
    assert_ok(tw_analysis_bounds(analysis, &begin, &end));
    for (size_t i = 0; i < w->count; i++) {
        const tw_record *r = &w->records[i];

        add(&time, inside(r->start_ns, r->end_ns == NEVER ? end : r->end_ns, begin, end));
        if (r->credit_issued_ns != NEVER) {
            credits = 1;
            add(&wait, inside(r->credit_issued_ns, r->start_ns, begin, end));
        }
    }
    if (w->count && begin < end) {
        const uint64_t window = (uint64_t)end - (uint64_t)begin;
        assert_that(
            is_nearest(summary_of(analysis, TW_EFFECTIVE_CONCURRENCY).avg, time, window));
        if (credits)
            assert_that(is_nearest(summary_of(analysis, TW_EFFECTIVE_QUEUE_DEPTH).avg,
                                   wait, window));
    }
    tw_analysis_free(analysis);
}

START_TEST(little_law)
{
    for_each_workload(little);
}
END_TEST

/* ---- 2: tokens --------------------------------------------------------------------- */

static int has_counts(const tw_record *r)
{
    int64_t sum = 0;

    if (!r->chunk_tokens || r->output_tokens == UNKNOWN)
        return 0;
    for (uint64_t i = 0; i < r->chunk_count; i++)
        sum += r->chunk_tokens[i];
    return sum <= r->output_tokens;
}

/* The tokens that a record decodes over some time. */
static int64_t decoded(const tw_record *r)
{
    int64_t tokens = 0;

    if (r->generation_start_ns == NEVER || r->output_tokens < 1)
        return 0;
    if (r->chunk_count == 0)
        return r->end_ns != NEVER && r->end_ns > r->generation_start_ns
                   ? r->output_tokens - 1
                   : 0;
    if (r->chunk_arrival_ns[r->chunk_count - 1] == r->generation_start_ns)
        return 0;
    if (!has_counts(r))
        return r->output_tokens - 1;
    for (uint64_t i = 0; i < r->chunk_count; i++)
        if (r->chunk_arrival_ns[i] > r->generation_start_ns)
            tokens += r->chunk_tokens[i];
    return tokens;
}

static void check_tokens(const tw_analysis *analysis, int32_t metric, int64_t tokens,
                         uint64_t window, double absolute)
{
    if (summary_status(analysis, metric) == TW_ERR_NODATA)
        assert_i64(tokens, 0);
    else
        assert_near(summary_of(analysis, metric).avg,
                    (double)tokens * 1e9 / (double)window, 1e-12, absolute);
}

static void tokens(const workload *w, uint64_t *random)
{
    tw_analysis *analysis = analysis_of(w->records, w->count, NULL);
    const double absolute = allowance(w);
    int64_t input = 0, output = 0, begin, end;

    (void)random;
    assert_ok(tw_analysis_bounds(analysis, &begin, &end));
    for (size_t i = 0; i < w->count; i++) {
        const tw_record *r = &w->records[i];
        if (r->generation_start_ns > r->start_ns && r->input_tokens != UNKNOWN)
            input += r->input_tokens;
        output += decoded(r);
    }
    if (begin < end) {
        const uint64_t window = (uint64_t)end - (uint64_t)begin;
        check_tokens(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT, input, window, absolute);
        check_tokens(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT, output, window, absolute);
        check_tokens(analysis, TW_EFFECTIVE_TOTAL_THROUGHPUT, input + output, window,
                     absolute);
    }
    tw_analysis_free(analysis);
}

START_TEST(tokens_law)
{
    for_each_workload(tokens);
}
END_TEST

static twi_big sum_of(const tw_analysis *analysis, twi_curve curve)
{
    return twi_big_from(analysis->dist[curve].tally.sum.w, TWI_SUM_LIMBS);
}

/* Of each value of C4, C5 and C6 up to half an ulp was rounded away: on either side 2^-53
 * of it. The states behind them add up exactly: below, 4 and 5. */
static void total(const workload *w, uint64_t *random)
{
    tw_analysis *analysis = analyze(w);
    const twi_big decode = sum_of(analysis, TWI_CURVE_DECODE_RATE),
                  both = sum_of(analysis, TWI_CURVE_TOTAL_RATE);
    twi_big sum = sum_of(analysis, TWI_CURVE_PREFILL_RATE), off;

    (void)random;
    twi_big_add(&sum, &decode);
    off = twi_big_compare(&sum, &both) > 0 ? sum : both;
    twi_big_subtract(&off, twi_big_compare(&sum, &both) > 0 ? &both : &sum);
    twi_big_shift(&off, 52);
    assert_that(twi_big_compare(&off, &both) <= 0);
    tw_analysis_free(analysis);
}

START_TEST(total_is_prefill_plus_decode)
{
    for_each_workload(total);
}
END_TEST

/* ---- 3: active time ---------------------------------------------------------------- */

static void active(const workload *w, uint64_t *random)
{
    static const struct {
        int32_t active, effective;
    } pairs[] = {
        {TW_ACTIVE_PREFILL_THROUGHPUT, TW_EFFECTIVE_PREFILL_THROUGHPUT},
        {TW_ACTIVE_DECODE_THROUGHPUT, TW_EFFECTIVE_DECODE_THROUGHPUT},
        {TW_ACTIVE_TOTAL_THROUGHPUT, TW_EFFECTIVE_TOTAL_THROUGHPUT},
    };
    tw_analysis *analysis = analyze(w);

    (void)random;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        tw_summary a, e;

        if (summary_status(analysis, pairs[i].active) == TW_ERR_NODATA) {
            /* then the curve was 0 all along, or is none */
            if (summary_status(analysis, pairs[i].effective) == TW_OK)
                assert_same(summary_of(analysis, pairs[i].effective).max, 0.0);
            continue;
        }
        a = summary_of(analysis, pairs[i].active);
        e = summary_of(analysis, pairs[i].effective);
        assert_i64(a.weight_ns, e.weight_ns);
        assert_that(a.active_ns > 0 && a.active_ns <= a.weight_ns);
        /* each average is rounded once, and so is each product here */
        assert_near(a.avg * (double)a.active_ns, e.avg * (double)e.weight_ns,
                    4 * DBL_EPSILON, 0);
        assert_same(a.max, e.max);
    }
    tw_analysis_free(analysis);
}

/* [ACTIVE] */
START_TEST(active_law)
{
    for_each_workload(active);
}
END_TEST

/* ---- 4 and 5: on the states of a sweep --------------------------------------------- */

/* What the curves are at some time: their exact sums, and the values made of them. */
typedef struct moment {
    bool wide;
    twi_state state;
    twi_values values; /* [0] */
    size_t records;
} moment;

typedef void (*moment_fn)(const moment *m);

static uint32_t queued(const twi_state *state)
{
    return (uint32_t)(state->active_queued >> 32);
}

static uint32_t in_flight(const twi_state *state)
{
    return (uint32_t)state->active_queued;
}

static uint32_t in_prefill(const twi_state *state)
{
    return (uint32_t)(state->decode_prefill >> 32);
}

static uint32_t in_decode(const twi_state *state)
{
    return (uint32_t)state->decode_prefill;
}

static twi_state state_at(const twi_timeline *timeline, int64_t at_ns)
{
    const twi_state nothing = {{{0}}, {{0}}, {{0}}, 0, 0};
    twi_place_in_time place;

    if (at_ns < timeline->origin_ns)
        return nothing;
    place = twi_timeline_seek(timeline, (uint64_t)at_ns - (uint64_t)timeline->origin_ns);
    return timeline->wide ? place.state : twi_state_from_lanes(place.lanes);
}

/* Shows each moment from before the run until after it; gives the last state. */
static twi_state sweep_all(const tw_record *records, size_t count, moment_fn look)
{
    tw_analysis *analysis = analysis_of(records, count, NULL);
    const twi_window *window = &analysis->run.window;
    const twi_timeline *timeline = &analysis->core->timeline;
    int64_t at_ns = window->begin_ns - 1;
    twi_stretches stretches;
    twi_sweep sweep;
    moment m;

    memset(&m, 0, sizeof m);
    m.wide = timeline->wide;
    m.records = count;
    twi_sweep_begin(&sweep, timeline, analysis->run.kernel, at_ns, window->end_ns + 1);
    while (twi_sweep_next(&sweep, &stretches)) {
        for (size_t i = 0; i < stretches.count; i++) {
            for (int c = 0; c < TWI_COUNTS; c++)
                m.values.count[c][0] = stretches.values.count[c][i];
            for (int c = 0; c < TWI_REALS; c++)
                m.values.real[c][0] = stretches.values.real[c][i];
            m.state = state_at(timeline, at_ns);
            look(&m);
            at_ns += (int64_t)stretches.duration_ns[i];
        }
    }
    assert_i64(at_ns, window->end_ns + 1);
    tw_analysis_free(analysis);
    return m.state;
}

/* [BITS] Every value is its exact sum, rounded once; those per user once more. */
static void values_are_rounded_once(const moment *m)
{
    const twi_state *s = &m->state;
    const double prefill = exact_double(s->prefill_rate);
    const double decode = exact_double(s->decode_rate);

    assert_u64(m->values.count[TWI_COUNT_QUEUED][0], queued(s));
    assert_u64(m->values.count[TWI_COUNT_ACTIVE][0], in_flight(s));
    assert_u64(m->values.count[TWI_COUNT_PREFILL][0], in_prefill(s));
    assert_u64(m->values.count[TWI_COUNT_DECODE][0], in_decode(s));
    assert_same(m->values.real[TWI_REAL_PREFILL_RATE][0], prefill);
    assert_same(m->values.real[TWI_REAL_DECODE_RATE][0], decode);
    assert_same(m->values.real[TWI_REAL_TOTAL_RATE][0],
                exact_double(twi_add(s->prefill_rate, s->decode_rate)));
    assert_same(m->values.real[TWI_REAL_TOKENS][0], exact_double(s->tokens));
    assert_same(m->values.real[TWI_REAL_PREFILL_RATE_PER_USER][0],
                exact_per_user(prefill, in_prefill(s)));
    assert_same(m->values.real[TWI_REAL_DECODE_RATE_PER_USER][0],
                exact_per_user(decode, in_decode(s)));
}

static void rounded(const workload *w, uint64_t *random)
{
    (void)random;
    sweep_all(w->records, w->count, values_are_rounded_once);
}

START_TEST(values_are_exact_sums_rounded_once)
{
    for_each_workload(rounded);
}
END_TEST

static int has_generation(const tw_record *r)
{
    return r->generation_start_ns != NEVER;
}

static void phases_add_up(const moment *m)
{
    assert_u64((uint64_t)in_prefill(&m->state) + in_decode(&m->state),
               in_flight(&m->state));
}

static void phases(const workload *w, uint64_t *random)
{
    size_t count;
    tw_record *records = filtered(w, has_generation, &count);
    tw_options options = options_of(w);
    tw_analysis *analysis;
    twi_big sum, decode, all;

    (void)random;
    if (!w->has_begin || !w->has_end)
        options.flags = 0; /* an edge alone may not fit what is left of the run */
    sweep_all(records, count, phases_add_up);
    analysis = analysis_of(records, count, &options);
    sum = sum_of(analysis, TWI_CURVE_PREFILL_CONCURRENCY);
    decode = sum_of(analysis, TWI_CURVE_DECODE_CONCURRENCY);
    all = sum_of(analysis, TWI_CURVE_CONCURRENCY);
    twi_big_add(&sum, &decode);
    assert_i64(twi_big_compare(&sum, &all), 0);
    tw_analysis_free(analysis);
    free(records);
}

START_TEST(prefill_plus_decode_is_concurrency)
{
    for_each_workload(phases);
}
END_TEST

static int has_ended(const tw_record *r)
{
    return r->end_ns != NEVER;
}

/* A sum below zero would wrap around: lanes to 2^64 * 2^44, wide sums to 2^192. No record
 * has a rate of 2^130 units. */
static void is_not_negative(const moment *m)
{
    const unsigned most = m->wide ? 140 : 97;

    assert_that(queued(&m->state) <= m->records);
    assert_that(in_flight(&m->state) <= m->records);
    assert_that(in_prefill(&m->state) <= m->records);
    assert_that(in_decode(&m->state) <= m->records);
    assert_that(twi_bits(m->state.prefill_rate) < most);
    assert_that(twi_bits(m->state.decode_rate) < most);
    assert_that(twi_bits(m->state.tokens) < most);
}

static void zero(const workload *w, uint64_t *random)
{
    const twi_u192 nothing = {{0, 0, 0}};
    size_t count;
    tw_record *records = filtered(w, has_ended, &count);
    const twi_state last = sweep_all(records, count, is_not_negative);

    (void)random;
    sweep_all(w->records, w->count, is_not_negative);
    assert_u64(last.active_queued, 0);
    assert_u64(last.decode_prefill, 0);
    assert_u192(last.prefill_rate, nothing);
    assert_u192(last.decode_rate, nothing);
    assert_u192(last.tokens, nothing);
    free(records);
}

START_TEST(curves_are_never_negative_and_end_at_zero)
{
    for_each_workload(zero);
}
END_TEST

/* ---- 6: the same bits -------------------------------------------------------------- */

static results first, second; /* too large for the stack of some */

static void permuted(const workload *w, uint64_t *random)
{
    const tw_options options = options_of(w);
    tw_record *records = copy_of(w);

    take_of(&first, w->records, w->count, &options);
    random_shuffle(random, records, w->count);
    take_of(&second, records, w->count, &options);
    assert_same_results(&second, &first);
    assert_same_balance(&second.balance, &first.balance);
    assert_i64(second.begin_ns, first.begin_ns);
    assert_i64(second.end_ns, first.end_ns);
    free(records);
}

/* [BITS] */
START_TEST(order_of_records_does_not_matter)
{
    for_each_workload(permuted);
}
END_TEST

/* The range of shifts that keep all times and edges in range. */
static void shift_range(const workload *w, int64_t *down, int64_t *up)
{
    int64_t lowest = TIME_LIMIT, highest = -TIME_LIMIT;

    for (size_t i = 0; i < w->count; i++) {
        const tw_record *r = &w->records[i];
        const int64_t times[] = {
            r->credit_issued_ns, r->start_ns, r->generation_start_ns, r->end_ns,
            r->chunk_count ? r->chunk_arrival_ns[r->chunk_count - 1] : NEVER};

        for (size_t k = 0; k < sizeof times / sizeof times[0]; k++) {
            if (times[k] != NEVER) {
                lowest = least(lowest, times[k]);
                highest = most(highest, times[k]);
            }
        }
    }
    if (w->has_begin) {
        lowest = least(lowest, w->begin_ns);
        highest = most(highest, w->begin_ns);
    }
    if (w->has_end) {
        lowest = least(lowest, w->end_ns);
        highest = most(highest, w->end_ns);
    }
    *down = -TIME_LIMIT - lowest;
    *up = TIME_LIMIT - highest;
}

/* Near and far, most of the times. */
static int64_t some_shift(const workload *w, uint64_t *random)
{
    int64_t down, up;

    shift_range(w, &down, &up);
    if (random_below(random, 2)) {
        down = most(down, -1000);
        up = least(up, 1000);
    }
    return random_between(random, down, up);
}

static void set_clock(tw_recorder *recorder, int64_t offset_ns)
{
    const tw_clock clock = {sizeof clock, 0, offset_ns};
    assert_ok(tw_recorder_set_clock(recorder, &clock));
}

static void split(const workload *w, uint64_t *random)
{
    const size_t parts = 1 + (size_t)random_below(random, MOST_PARTS);
    const tw_options options = options_of(w);
    tw_recorder *recorders[MOST_PARTS];
    int64_t offset[MOST_PARTS];
    tw_analysis *analysis;

    take_of(&first, w->records, w->count, &options);
    for (size_t i = 0; i < parts; i++) {
        recorders[i] = recorder_new();
        offset[i] = most(-TIME_LIMIT, least(TIME_LIMIT, -some_shift(w, random)));
    }
    for (size_t i = 0; i < w->count; i++) {
        const size_t part = (size_t)random_below(random, parts);
        int64_t *arrivals;
        const tw_record r = with_shift(w->records[i], -offset[part], &arrivals);

        recorder_append(recorders[part], &r, 1);
        free(arrivals);
    }
    for (size_t i = 0; i < parts; i++)
        set_clock(recorders[i], offset[i]);
    analysis = analysis_new(recorders, parts, &options);
    for (size_t i = 0; i < parts; i++)
        tw_recorder_free(recorders[i]);
    take(&second, analysis);
    tw_analysis_free(analysis);
    assert_same_results(&second, &first);
    assert_same_balance(&second.balance, &first.balance);
    assert_i64(second.begin_ns, first.begin_ns);
    assert_i64(second.end_ns, first.end_ns);
}

START_TEST(split_over_recorders_does_not_matter)
{
    for_each_workload(split);
}
END_TEST

static void shift(const workload *w, uint64_t *random)
{
    const int64_t by = some_shift(w, random);
    tw_options options = options_of(w);
    tw_recorder *recorder = recorder_new();
    tw_analysis *analysis;

    take_of(&first, w->records, w->count, &options);
    for (size_t i = 0; i < w->count; i++) {
        int64_t *arrivals;
        const tw_record r = with_shift(w->records[i], by, &arrivals);

        recorder_append(recorder, &r, 1);
        free(arrivals);
    }
    if (w->has_begin)
        options.window_begin_ns += by;
    if (w->has_end)
        options.window_end_ns += by;
    analysis = analysis_new(&recorder, 1, &options);
    tw_recorder_free(recorder);
    take(&second, analysis);
    tw_analysis_free(analysis);
    assert_same_results(&second, &first);
    assert_same_balance(&second.balance, &first.balance);
    if (w->count) {
        assert_i64(second.begin_ns, first.begin_ns + by);
        assert_i64(second.end_ns, first.end_ns + by);
    }
}

/* [TIME] */
START_TEST(origin_of_time_does_not_matter)
{
    for_each_workload(shift);
}
END_TEST

static void explicit_window(const workload *w, uint64_t *random)
{
    tw_options options;

    (void)random;
    take_of(&first, w->records, w->count, NULL);
    options = options_window(first.begin_ns, first.end_ns);
    take_of(&second, w->records, w->count, &options);
    assert_same_results(&second, &first);
    assert_same_balance(&second.balance, &first.balance);
}

/* [WIN] */
START_TEST(default_window_asked_for_is_the_default)
{
    for_each_workload(explicit_window);
}
END_TEST

/* ---- 6: tiling windows ------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void check_tile_sums(const tw_analysis *whole, tw_analysis *const *tiles,
                            size_t count)
{
    for (size_t m = 0; m < tw_metric_count(); m++) {
        tw_metric_row row = {.struct_size = sizeof row};
        double sum = 0, weight;
        tw_summary all;

        assert_ok(tw_metric_info(m, &row));
        if (row.group != TW_GROUP_EFFECTIVE || row.kind != TW_KIND_CURVE ||
            summary_status(whole, row.id))
            continue;
        all = summary_of(whole, row.id);
        weight = (double)all.weight_ns;
        for (size_t i = 0; i < count; i++) {
            const tw_summary part = summary_of(tiles[i], row.id);
            sum += part.avg * ((double)part.weight_ns / weight);
        }
        assert_near(sum, all.avg, 1e-12, 0);
    }
}

static void tile(const workload *w, uint64_t *random)
{
    tw_analysis *whole = analyze(w), *tiles[MOST_PARTS];
    tw_recorder *recorder = recorder_of(w->records, w->count);
    const tw_allocator *allocator = &whole->allocator;
    int64_t begin, end, cuts[MOST_PARTS + 1];
    const size_t wanted = 2 + (size_t)random_below(random, MOST_PARTS - 1);
    uint64_t members = 0;
    size_t count = 0;

    assert_ok(tw_analysis_bounds(whole, &begin, &end));
    for (size_t i = 0; i < wanted; i++)
        cuts[i] = w->count && random_below(random, 2)
                      ? w->records[random_below(random, w->count)].start_ns
                      : random_between(random, begin, end);
    cuts[0] = begin;
    qsort(cuts, wanted, sizeof cuts[0], by_time);
    /* Distinct, inside the window, and no edge between two windows at the first credit or
     * before: a record that ends there belongs to both. */
    for (size_t i = 0; i < wanted; i++)
        if (cuts[i] >= begin && cuts[i] < end &&
            (!count ||
             (cuts[i] > cuts[count - 1] && cuts[i] > whole->run.window.first_ns)))
            cuts[count++] = cuts[i];
    if (count) {
        cuts[count] = end;
        for (size_t i = 0; i < count; i++) {
            const tw_options options = options_window(cuts[i], cuts[i + 1]);
            tiles[i] = analysis_new(&recorder, 1, &options);
            members += tiles[i]->balance.members;
        }
        assert_u64(members, whole->balance.members);
        for (int source = 0; source < TWI_SOURCE_COUNT; source++) {
            const twi_dist *all = &whole->dist[source];
            twi_dist together;

            twi_dist_init(&together, allocator, all->bin_bits);
            for (size_t i = 0; i < count; i++)
                assert_ok(twi_dist_merge(&together, &tiles[i]->dist[source]));
            assert_same_sums(&together, all);
            if (all->level) { /* the moments of others have units of their own */
                together.moments.factor = 1;
                for (size_t i = 0; i < count; i++)
                    twi_moments_merge(&together.moments, &tiles[i]->dist[source].moments);
                assert_same_dist(&together, all);
            }
            twi_dist_release(&together);
        }
        check_tile_sums(whole, tiles, count);
        for (size_t i = 0; i < count; i++)
            tw_analysis_free(tiles[i]);
    }
    tw_recorder_free(recorder);
    tw_analysis_free(whole);
}

/* [MEMBER] */
START_TEST(windows_that_tile_add_up)
{
    for_each_workload(tile);
}
END_TEST

/* ---- 6: scaling tokens ------------------------------------------------------------- */

static int is_one_of(int32_t id, const int32_t *ids)
{
    while (*ids && *ids != id)
        ids++;
    return *ids != 0;
}

/* The listed metrics of `second` are those of `first` times 2^by, and all that is no
 * matter of tokens is as it was. */
static void check_scaled(const int32_t *ids, int by)
{
    for (size_t m = 0; m < first.count; m++) {
        const tw_summary *a = &first.summary[m], *b = &second.summary[m];

        if (!is_one_of(first.id[m], ids))
            continue;
        assert_status(second.status[m], first.status[m]);
        assert_u64(b->fields, a->fields);
        assert_same(b->avg, ldexp(a->avg, by));
        assert_same(b->min, ldexp(a->min, by));
        assert_same(b->max, ldexp(a->max, by));
        assert_same(b->std, ldexp(a->std, by));
        assert_same(b->sum, ldexp(a->sum, by));
        assert_i64(b->weight_ns, a->weight_ns);
        assert_i64(b->active_ns, a->active_ns);
        for (int q = 0; q < RESULT_QUANTILES; q++)
            assert_same(second.quantile[m][q], ldexp(first.quantile[m][q], by));
    }
}

static int64_t reduced(int64_t token_count)
{
    return token_count == UNKNOWN ? UNKNOWN : token_count & 0xfffff;
}

/* Tokens in flight, where no token is spread over time. */
static void scale_amounts(const workload *w, uint64_t *random)
{
    static const int32_t ids[] = {TW_TOKENS_IN_FLIGHT,        TW_INPUT_SEQUENCE_LENGTH,
                                  TW_OUTPUT_SEQUENCE_LENGTH,  TW_TOTAL_TOKEN_THROUGHPUT,
                                  TW_OUTPUT_TOKEN_THROUGHPUT, 0};
    const int by = 1 + (int)random_below(random, 19);
    tw_options options = options_of(w);
    tw_record *records = copy_of(w);
    int64_t counts[MOST_RECORDS];

    if (!w->has_begin || !w->has_end)
        options.flags = 0; /* an edge alone may not fit what is left of the run */

    for (size_t i = 0; i < w->count; i++) {
        records[i].chunk_count = 0;
        records[i].input_tokens = reduced(records[i].input_tokens);
        records[i].output_tokens = reduced(records[i].output_tokens);
        if (has_counts(&w->records[i]) && w->records[i].chunk_count == 1 &&
            w->records[i].output_tokens < 0xfffff)
            records[i].chunk_count = 1;
    }
    take_of(&first, records, w->count, &options);
    for (size_t i = 0; i < w->count; i++) {
        if (records[i].input_tokens != UNKNOWN)
            records[i].input_tokens *= INT64_C(1) << by;
        if (records[i].output_tokens != UNKNOWN)
            records[i].output_tokens *= INT64_C(1) << by;
        if (records[i].chunk_count) {
            counts[i] = records[i].chunk_tokens[0] * (INT64_C(1) << by);
            records[i].chunk_tokens = &counts[i];
        }
    }
    take_of(&second, records, w->count, &options);
    check_scaled(ids, by);
    free(records);
}

START_TEST(token_amounts_scale_by_powers_of_two)
{
    for_each_workload(scale_amounts);
}
END_TEST

static int64_t power_of_two(uint64_t *random)
{
    return INT64_C(1) << random_below(random, 32);
}

/* Rates, where they are multiples of the unit: phases of 2^n ns. */
static void scale_rates(const workload *w, uint64_t *random)
{
    static const int32_t ids[] = {
        TW_EFFECTIVE_PREFILL_THROUGHPUT, TW_EFFECTIVE_DECODE_THROUGHPUT,
        TW_EFFECTIVE_TOTAL_THROUGHPUT,   TW_ACTIVE_PREFILL_THROUGHPUT,
        TW_ACTIVE_DECODE_THROUGHPUT,     TW_ACTIVE_TOTAL_THROUGHPUT,
        TW_INPUT_SEQUENCE_LENGTH,        0};
    const int by = 1 + (int)random_below(random, 19);
    tw_record *records = copy_of(w);

    for (size_t i = 0; i < w->count; i++) {
        tw_record *r = &records[i];

        r->chunk_count = 0;
        r->start_ns &= INT64_C(0xffffffffff);
        r->credit_issued_ns = NEVER;
        if (r->generation_start_ns != NEVER)
            r->generation_start_ns = r->start_ns + power_of_two(random);
        if (r->end_ns != NEVER)
            r->end_ns = power_of_two(random) + (r->generation_start_ns != NEVER
                                                    ? r->generation_start_ns
                                                    : r->start_ns);
        r->input_tokens = reduced(r->input_tokens);
        r->output_tokens = reduced(r->output_tokens);
    }
    take_of(&first, records, w->count, NULL);
    for (size_t i = 0; i < w->count; i++) {
        if (records[i].input_tokens != UNKNOWN)
            records[i].input_tokens *= INT64_C(1) << by;
        if (records[i].output_tokens >= 1)
            records[i].output_tokens = 1 + (records[i].output_tokens - 1) *
                                               (INT64_C(1) << by);
    }
    take_of(&second, records, w->count, NULL);
    check_scaled(ids, by);
    free(records);
}

START_TEST(token_rates_scale_by_powers_of_two)
{
    for_each_workload(scale_rates);
}
END_TEST

/* ---- Order of the numbers of one metric -------------------------------------------- */

static void ordered(const workload *w, uint64_t *random)
{
    tw_analysis *analysis = analyze(w);

    (void)random;
    take(&first, analysis);
    for (size_t m = 0; m < first.count; m++) {
        const tw_summary *s = &first.summary[m];
        tw_metric_row row = {.struct_size = sizeof row};

        assert_ok(tw_metric_info(m, &row));
        if (first.status[m] || row.kind == TW_KIND_SCALAR)
            continue;
        assert_that(s->min >= 0 && s->min <= s->avg && s->avg <= s->max);
        assert_that(s->min <= first.quantile[m][0]);
        for (int q = 1; q < RESULT_STANDARD; q++)
            assert_that(first.quantile[m][q - 1] <= first.quantile[m][q]);
        assert_that(first.quantile[m][RESULT_STANDARD - 1] <= s->max);
        assert_same(quantile_of(analysis, first.id[m], 0), s->min);
        assert_same(quantile_of(analysis, first.id[m], 1), s->max);
        /* The moments count in 2^-47 of the largest value or less, rounded down: that
         * moves std by half of it at most. */
        if (s->fields & TW_HAS_STD)
            assert_that(s->std >= 0 &&
                        s->std <=
                            (s->max - s->min) / 2 + (0x1p-48 + 4 * DBL_EPSILON) * s->max);
    }
    tw_analysis_free(analysis);
}

START_TEST(min_quantiles_avg_and_max_are_in_order)
{
    for_each_workload(ordered);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("laws");
    TCase *sums = vocabulary_case(suite, "sums"), *bits = vocabulary_case(suite, "bits");

    tcase_add_test(sums, little_law);
    tcase_add_test(sums, tokens_law);
    tcase_add_test(sums, total_is_prefill_plus_decode);
    tcase_add_test(sums, active_law);
    tcase_add_test(sums, prefill_plus_decode_is_concurrency);
    tcase_add_test(sums, values_are_exact_sums_rounded_once);
    tcase_add_test(sums, curves_are_never_negative_and_end_at_zero);
    tcase_add_test(sums, windows_that_tile_add_up);
    tcase_add_test(sums, min_quantiles_avg_and_max_are_in_order);
    tcase_add_test(bits, order_of_records_does_not_matter);
    tcase_add_test(bits, split_over_recorders_does_not_matter);
    tcase_add_test(bits, origin_of_time_does_not_matter);
    tcase_add_test(bits, default_window_asked_for_is_the_default);
    tcase_add_test(bits, token_amounts_scale_by_powers_of_two);
    tcase_add_test(bits, token_rates_scale_by_powers_of_two);
    return vocabulary_main(suite);
}
