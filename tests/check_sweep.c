/* SPDX-License-Identifier: MIT */
/* The sweep: stretches of time, their states, clipping at the window, values of curves. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/sweep.h"
#include "vocabulary.h"
#include "workload.h"

#define TIME_LIMIT (INT64_C(1) << 61)

/* One stretch of time by hand; rates in sixtieths of a token per ns. */
typedef struct stretch {
    int64_t duration_ns;
    uint64_t queued, active, prefill, decode;
    uint64_t prefill_rate, decode_rate;
    uint64_t tokens;
} stretch;

static void check_stretch(const twi_stretches *got, size_t at, const stretch *wanted)
{
    const double prefill = exact_rate(wanted->prefill_rate, 60);
    const double decode = exact_rate(wanted->decode_rate, 60);

    assert_u64(got->duration_ns[at], (uint64_t)wanted->duration_ns);
    assert_u64(got->values.count[TWI_COUNT_QUEUED][at], wanted->queued);
    assert_u64(got->values.count[TWI_COUNT_ACTIVE][at], wanted->active);
    assert_u64(got->values.count[TWI_COUNT_PREFILL][at], wanted->prefill);
    assert_u64(got->values.count[TWI_COUNT_DECODE][at], wanted->decode);
    assert_same(got->values.real[TWI_REAL_PREFILL_RATE][at], prefill);
    assert_same(got->values.real[TWI_REAL_DECODE_RATE][at], decode);
    assert_same(got->values.real[TWI_REAL_TOTAL_RATE][at],
                exact_double(twi_add(exact_whole(prefill), exact_whole(decode))));
    assert_same(got->values.real[TWI_REAL_PREFILL_RATE_PER_USER][at],
                exact_per_user(prefill, wanted->prefill));
    assert_same(got->values.real[TWI_REAL_DECODE_RATE_PER_USER][at],
                exact_per_user(decode, wanted->decode));
    assert_same(got->values.real[TWI_REAL_TOKENS][at],
                exact_double(twi_shl(twi_from64(wanted->tokens), 44)));
}

static void check_run(const run *r, bool wide, int64_t begin, int64_t end,
                      const stretch *wanted, size_t count)
{
    twi_timeline timeline = timeline_of(r, INT64_MIN, INT64_MAX);
    twi_stretches stretches;
    twi_sweep sweep;
    size_t next = 0;

    assert_that(timeline.wide == wide);
    twi_sweep_begin(&sweep, &timeline, &twi_kernel_portable, begin, end);
    while (twi_sweep_next(&sweep, &stretches)) {
        assert_that(stretches.count > 0);
        for (size_t i = 0; i < stretches.count; i++, next++) {
            vocabulary_context("%s [%" PRId64 ", %" PRId64 "), stretch %zu",
                               wide ? "wide" : "lanes", begin, end, next);
            assert_that(next < count);
            check_stretch(&stretches, i, &wanted[next]);
        }
    }
    assert_u64(next, count);
    assert_u64(stretches.count, 0);
    assert_that(!twi_sweep_next(&sweep, &stretches)); /* it stays done */
    twi_timeline_release(&timeline);
    vocabulary_context("%s", "");
}

/* In lanes, and in wide states: with 2^39 tokens in a nanosecond, long before or long
 * after, no lane would do. */
static void check_sweep(const tw_record *records, size_t record_count, int64_t begin,
                        int64_t end, const stretch *wanted, size_t count)
{
    enum { MOST = 8, FAR = 1 << 20 };
    const int64_t tokens = INT64_C(1) << 39;
    const int64_t far[] = {begin - FAR, end + FAR};
    run r = run_of(records, record_count);

    check_run(&r, false, begin, end, wanted, count);
    run_free(&r);
    for (int i = 0; i < 2; i++) {
        tw_record all[MOST + 1];

        assert_that(record_count <= MOST);
        all[0] = record(far[i], far[i] + 1, far[i] + 2, tokens, 1);
        if (record_count)
            memcpy(all + 1, records, record_count * sizeof *all);
        if (all[0].start_ns < -TIME_LIMIT || all[0].end_ns > TIME_LIMIT)
            continue;
        r = run_of(all, record_count + 1);
        check_run(&r, true, begin, end, wanted, count);
        run_free(&r);
    }
}

/* A waits from -5 on, prefills 20 tokens over [0, 10), decodes 20 more over [10, 30).
 * B is due at 25, after its start at 20, has no prefill and one token, and ends at 40. */
static void make_two(tw_record two[2])
{
    two[0] = with_credit(record(0, 10, 30, 20, 21), -5);
    two[1] = with_credit(record(20, 20, 40, 5, 1), 25);
}

static const stretch of_two[] = {
    {5, 0, 0, 0, 0, 0, 0, 0},     /* [-10, -5) */
    {5, 1, 0, 0, 0, 0, 0, 0},     /* [-5, 0) */
    {10, 0, 1, 1, 0, 120, 0, 20}, /* [0, 10) */
    {10, 0, 1, 0, 1, 0, 60, 41},  /* [10, 20) */
    {10, 0, 2, 0, 2, 0, 60, 47},  /* [20, 30) */
    {10, 0, 1, 0, 1, 0, 0, 6},    /* [30, 40) */
    {10, 0, 0, 0, 0, 0, 0, 0},    /* [40, 50) */
};
enum { OF_TWO = sizeof of_two / sizeof of_two[0] };

/* [C0] [C1] [C2] [C3] [C4] [C5] [C6] [C9] */
START_TEST(states_by_hand)
{
    tw_record two[2];

    make_two(two);
    check_sweep(two, 2, -10, 50, of_two, OF_TWO);
    /* the records' order does not matter */
    check_sweep((tw_record[]){two[1], two[0]}, 2, -10, 50, of_two, OF_TWO);
}
END_TEST

/* [CLIP] */
START_TEST(windows_clip)
{
    tw_record two[2];
    stretch part[OF_TWO];

    make_two(two);
    /* all windows over whole and half stretches */
    for (int64_t begin = -10; begin <= 50; begin++) {
        for (int64_t end = begin; end <= 50; end++) {
            int64_t from = -10;
            size_t count = 0;

            for (int i = 0; i < OF_TWO; i++) {
                const int64_t to = from + of_two[i].duration_ns;
                const int64_t left = from > begin ? from : begin;
                const int64_t right = to < end ? to : end;

                if (left < right) {
                    part[count] = of_two[i];
                    part[count++].duration_ns = right - left;
                }
                from = to;
            }
            check_sweep(two, 2, begin, end, part, count);
        }
    }
}
END_TEST

START_TEST(windows_outside)
{
    static const stretch nothing = {100, 0, 0, 0, 0, 0, 0, 0};
    tw_record two[2];

    make_two(two);
    check_sweep(two, 2, -200, -100, &nothing, 1);
    check_sweep(two, 2, 40, 140, &nothing, 1); /* begins where the last one ends */
    check_sweep(two, 2, 1000, 1100, &nothing, 1);
    check_sweep(two, 2, 7, 7, NULL, 0);
    check_sweep(two, 2, 1000, 1000, NULL, 0);
    check_sweep(NULL, 0, 0, 100, &nothing, 1);
    check_sweep(NULL, 0, 5, 5, NULL, 0);
}
END_TEST

START_TEST(windows_of_all_of_time)
{
    const int64_t limit = INT64_C(1) << 61;
    const tw_record all = record(-limit, NEVER, limit, UNKNOWN, UNKNOWN);
    const stretch wanted = {2 * limit, 0, 1, 0, 0, 0, 0, 0};

    check_sweep(&all, 1, -limit, limit, &wanted, 1);
}
END_TEST

/* [OPEN] [STREAMING] */
START_TEST(requests_in_flight)
{
    /* Until the window's end, wherever that is. Streams in prefill count there. */
    const tw_record records[] = {
        record(0, NEVER, NEVER, 9, 9),
        with_flags(record(10, NEVER, NEVER, 3, UNKNOWN), TW_RECORD_STREAMING),
        record(20, 30, NEVER, 10, 4),
        with_status(with_flags(record(40, NEVER, 60, 8, 1), TW_RECORD_STREAMING),
                    TW_RECORD_FAILED),
    };
    static const stretch wanted[] = {
        {10, 0, 1, 0, 0, 0, 0, 0},   /* [0, 10) */
        {10, 0, 2, 1, 0, 0, 0, 3},   /* [10, 20) */
        {10, 0, 3, 2, 0, 60, 0, 13}, /* [20, 30) */
        {10, 0, 3, 1, 1, 0, 0, 17},  /* [30, 40): its 4 tokens so far, and no rate */
        {20, 0, 4, 2, 1, 0, 0, 25},  /* [40, 60) */
        {940, 0, 3, 1, 1, 0, 0, 17}, /* [60, 1000) */
    };

    check_sweep(records, 4, 0, 1000, wanted, 6);
}
END_TEST

/* [C5'] [C9-OUT] */
START_TEST(chunks_by_hand)
{
    /* First token at 10 with 1 token; 3 more tokens at 20, 3 at 50; then nothing until the
     * end at 60. A second record has the same with counts: 3 at first, 3 at 20, 1 at 50. */
    static const int64_t at[] = {10, 20, 20, 50}, tokens[] = {1, 2, 1, 1};
    const tw_record even = with_chunks(record(0, 10, 60, UNKNOWN, 7), at, NULL, 4);
    const tw_record counted = with_chunks(record(0, 10, 60, UNKNOWN, 7), at, tokens, 4);
    const tw_record flying = with_chunks(record(0, 10, NEVER, UNKNOWN, 7), at, NULL, 4);
    static const stretch of_even[] = {
        {10, 0, 1, 1, 0, 0, 0, 0},  /* [0, 10) */
        {10, 0, 1, 0, 1, 0, 18, 1}, /* [10, 20): 3 tokens in 10 ns */
        {30, 0, 1, 0, 1, 0, 6, 4},  /* [20, 50): 3 in 30 */
        {10, 0, 1, 0, 1, 0, 0, 7},  /* [50, 60) */
        {10, 0, 0, 0, 0, 0, 0, 0},
    };
    static const stretch of_counted[] = {
        {10, 0, 1, 1, 0, 0, 0, 0}, {10, 0, 1, 0, 1, 0, 18, 3},
        {30, 0, 1, 0, 1, 0, 2, 6}, /* 1 in 30 */
        {10, 0, 1, 0, 1, 0, 0, 7}, {10, 0, 0, 0, 0, 0, 0, 0},
    };
    stretch of_flying[4];

    check_sweep(&even, 1, 0, 70, of_even, 5);
    check_sweep(&counted, 1, 0, 70, of_counted, 5);
    memcpy(of_flying, of_even, sizeof of_flying);
    of_flying[3].duration_ns = 20; /* the arrivals so far, and then open */
    check_sweep(&flying, 1, 0, 70, of_flying, 4);
}
END_TEST

START_TEST(chunks_at_one_instant)
{
    /* No positive gap: all tokens with the first, and no rate. */
    static const int64_t at[] = {10, 10};
    const tw_record r = with_chunks(record(0, 10, 60, 6, 7), at, NULL, 2);
    static const stretch wanted[] = {
        {10, 0, 1, 1, 0, 36, 0, 6},
        {50, 0, 1, 0, 1, 0, 0, 13},
    };

    check_sweep(&r, 1, 0, 60, wanted, 2);
}
END_TEST

START_TEST(records_of_no_duration)
{
    /* They come and go at one instant and are never seen. */
    const tw_record records[] = {record(5, 5, 5, 100, 100), record(5, NEVER, 5, 1, 1),
                                 record(0, NEVER, 10, 1, 1)};
    static const stretch wanted[] = {{5, 0, 1, 0, 0, 0, 0, 0}, {5, 0, 1, 0, 0, 0, 0, 0}};

    check_sweep(records, 3, 0, 10, wanted, 2);
}
END_TEST

/* One request hands over to the next at the same instant, in whatever order. */
START_TEST(handover)
{
    const tw_record a = record(0, 5, 10, 5, 6), b = record(10, 15, 20, 5, 6);
    static const stretch wanted[] = {
        {5, 0, 1, 1, 0, 60, 0, 5},
        {5, 0, 1, 0, 1, 0, 60, 11},
        {5, 0, 1, 1, 0, 60, 0, 5},
        {5, 0, 1, 0, 1, 0, 60, 11},
    };

    check_sweep((tw_record[]){a, b}, 2, 0, 20, wanted, 4);
    check_sweep((tw_record[]){b, a}, 2, 0, 20, wanted, 4);
}
END_TEST

/* ---- Values of curves -------------------------------------------------------------- */

/* The values over the stretches of of_two[] from the second on. */
static void check_curve(const twi_stretches *stretches, twi_curve curve, double unit,
                        const double *wanted)
{
    vocabulary_context("curve %d", (int)curve);
    assert_that((twi_sweep_real(stretches, curve) == NULL) !=
                (twi_sweep_counts(stretches, curve) == NULL));
    for (size_t i = 0; i < OF_TWO - 1; i++) {
        const double value = wanted[i] * unit;

        assert_same(twi_sweep_value(stretches, curve, i), value);
        if (twi_sweep_real(stretches, curve))
            assert_same(twi_sweep_real(stretches, curve)[i], value);
        else
            assert_u64(twi_sweep_counts(stretches, curve)[i], (uint64_t)value);
    }
}

START_TEST(values_of_curves)
{
    static const double queued[] = {1, 0, 0, 0, 0, 0}, active[] = {0, 1, 1, 2, 1, 0},
                        prefill[] = {0, 1, 0, 0, 0, 0}, decode[] = {0, 0, 1, 2, 1, 0},
                        prefill_rate[] = {0, 2, 0, 0, 0, 0},
                        decode_rate[] = {0, 0, 1, 1, 0, 0}, total[] = {0, 2, 1, 1, 0, 0},
                        decode_user[] = {0, 0, 1, 0.5, 0, 0},
                        tokens[] = {0, 20, 41, 47, 6, 0};
    const double rates = 1e9 * 0x1p59, amounts = 0x1p44; /* tokens/ns, tokens */
    tw_record two[2];
    twi_timeline timeline;
    twi_sweep sweep;
    twi_stretches stretches;
    run r;

    make_two(two);
    r = run_of(two, 2);
    timeline = timeline_of(&r, INT64_MIN, INT64_MAX);
    twi_sweep_begin(&sweep, &timeline, &twi_kernel_portable, -10, 50);
    /* what lies before the first event comes alone */
    assert_that(twi_sweep_next(&sweep, &stretches));
    assert_u64(stretches.count, 1);
    assert_u64(stretches.duration_ns[0], 5);
    for (int c = 0; c < TWI_CURVE_COUNT; c++)
        assert_same(twi_sweep_value(&stretches, (twi_curve)c, 0), 0.0);
    twi_sweep_begin(&sweep, &timeline, &twi_kernel_portable, -5, 50);
    assert_that(twi_sweep_next(&sweep, &stretches));
    assert_u64(stretches.count, OF_TWO - 1);
    check_curve(&stretches, TWI_CURVE_QUEUED, 1, queued);
    check_curve(&stretches, TWI_CURVE_CONCURRENCY, 1, active);
    check_curve(&stretches, TWI_CURVE_PREFILL_CONCURRENCY, 1, prefill);
    check_curve(&stretches, TWI_CURVE_DECODE_CONCURRENCY, 1, decode);
    check_curve(&stretches, TWI_CURVE_PREFILL_RATE, rates, prefill_rate);
    check_curve(&stretches, TWI_CURVE_DECODE_RATE, rates, decode_rate);
    check_curve(&stretches, TWI_CURVE_TOTAL_RATE, rates, total);
    check_curve(&stretches, TWI_CURVE_DECODE_RATE_PER_USER, rates, decode_user);
    check_curve(&stretches, TWI_CURVE_PREFILL_RATE_PER_USER, rates, prefill_rate);
    check_curve(&stretches, TWI_CURVE_TOKENS, amounts, tokens);
    twi_timeline_release(&timeline);
    run_free(&r);
}
END_TEST

/* Quotients of a few units are rounded down to the unit, those of large rates to a double:
 * where 53 bits do not hold the quotient, to the nearest. */
/* [C7] [C8] */
START_TEST(values_per_user)
{
    static const struct {
        double rate;
        uint32_t users;
        double wanted;
    } cases[] = {
        {5, 1, 5},
        {10, 2, 5},
        {11, 3, 3},
        {2, 3, 0},
        {7, 0, 0},
        {0, 7, 0},
        {0x1p53, 3, 3002399751580330.0},   /* of ...330.67 */
        {0x1p54, 3, 6004799503160661.0},   /* of ...661.33 */
        {0x1p60, 3, 384307168202282304.0}, /* of ...325.3, to a multiple of 64 */
    };
    const size_t count = sizeof cases / sizeof cases[0];
    twi_batch batch;
    twi_values values;

    memset(&batch, 0, sizeof batch);
    batch.count = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t *lane = batch.state[i];
        twi_state state;

        vocabulary_context("case %zu", i);
        twi_split_rate(cases[i].rate, &lane[TWI_LANE_DECODE_HIGH],
                       &lane[TWI_LANE_DECODE_LOW]);
        twi_split_rate(cases[i].rate, &lane[TWI_LANE_PREFILL_HIGH],
                       &lane[TWI_LANE_PREFILL_LOW]);
        lane[TWI_LANE_DECODE_PREFILL] = cases[i].users * (TWI_DECODE + TWI_PREFILL);
        twi_kernel_portable.values(&batch, &values);
        assert_same(values.real[TWI_REAL_DECODE_RATE_PER_USER][i], cases[i].wanted);
        assert_same(values.real[TWI_REAL_PREFILL_RATE_PER_USER][i], cases[i].wanted);
        assert_same(exact_per_user(cases[i].rate, cases[i].users), cases[i].wanted);
        state = twi_state_from_lanes(lane);
        twi_state_values(&state, &values, 7);
        assert_same(values.real[TWI_REAL_DECODE_RATE_PER_USER][7], cases[i].wanted);
        assert_same(values.real[TWI_REAL_PREFILL_RATE_PER_USER][7], cases[i].wanted);
    }
}
END_TEST

/* ---- Long runs --------------------------------------------------------------------- */

/* More stretches than one batch holds: nothing is lost or doubled between batches. */
static void check_batches(bool wide)
{
    enum { COUNT = 1000 };
    tw_record records[COUNT + 1];
    run r;
    twi_timeline timeline;
    twi_sweep sweep;
    twi_stretches stretches;
    uint64_t count = 0, time = 0, area = 0;

    for (int i = 0; i < COUNT; i++) /* levels 1 2 3 ... then down again */
        records[i] = record(i, NEVER, 2 * COUNT - i, 1, 1);
    records[COUNT] = record(5000, 5001, 5002, INT64_C(1) << 39, 1);
    r = run_of(records, COUNT + wide);
    timeline = timeline_of(&r, INT64_MIN, INT64_MAX);
    assert_that(timeline.wide == wide);
    twi_sweep_begin(&sweep, &timeline, &twi_kernel_portable, 0, 2 * COUNT);
    while (twi_sweep_next(&sweep, &stretches)) {
        assert_that(stretches.count <= TWI_BATCH_SIZE);
        for (size_t i = 0; i < stretches.count; i++) {
            const uint32_t active = stretches.values.count[TWI_COUNT_ACTIVE][i];
            const uint64_t level = count < COUNT ? count + 1 : 2 * COUNT - 1 - count;

            assert_u64(active, level);
            count++;
            time += stretches.duration_ns[i];
            area += stretches.duration_ns[i] * active;
        }
    }
    assert_u64(count, 2 * COUNT - 1);
    assert_u64(time, 2 * COUNT);
    /* sum of 2 (COUNT - i) */
    assert_u64(area, (uint64_t)COUNT * (COUNT + 1));
    twi_timeline_release(&timeline);
    run_free(&r);
}

START_TEST(batches)
{
    check_batches(false);
    check_batches(true);
}
END_TEST

/* After the last event every sum is exactly what it was before the first. */
START_TEST(state_returns_to_zero)
{
    const twi_state nothing = {{{0}}, {{0}}, {{0}}, 0, 0};
    int wide = 0;

    for (uint64_t seed = 1; seed <= 500; seed++) {
        size_t count = 0;
        twi_timeline timeline;
        twi_place_in_time place;
        twi_state state;
        workload w;
        run r;

        vocabulary_context("seed %" PRIu64, seed);
        assert_i64(workload_new(&w, seed, 60), 0);
        for (size_t i = 0; i < w.count; i++) { /* those that have ended */
            if (w.records[i].end_ns != NEVER) {
                const tw_record ended = w.records[i];
                w.records[i] = w.records[count];
                w.records[count++] = ended;
            }
        }
        r = run_of(w.records, count);
        timeline = timeline_of(&r, INT64_MIN, INT64_MAX);
        place = twi_timeline_seek(&timeline, UINT64_C(1) << 63);
        assert_u64(place.next, timeline.event_count);
        if (!timeline.wide)
            for (int i = 0; i < TWI_LANES; i++)
                assert_u64(place.lanes[i], 0);
        state = timeline.wide ? place.state : twi_state_from_lanes(place.lanes);
        assert_that(memcmp(&state, &nothing, sizeof state) == 0);
        wide += timeline.wide;
        twi_timeline_release(&timeline);
        run_free(&r);
        workload_free(&w);
    }
    assert_that(wide > 10 && wide < 490); /* there are some of either kind */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep");
    TCase *states = vocabulary_case(suite, "states"),
          *values = vocabulary_case(suite, "values"),
          *runs = vocabulary_case(suite, "runs");

    tcase_add_test(states, states_by_hand);
    tcase_add_test(states, windows_clip);
    tcase_add_test(states, windows_outside);
    tcase_add_test(states, windows_of_all_of_time);
    tcase_add_test(states, requests_in_flight);
    tcase_add_test(states, chunks_by_hand);
    tcase_add_test(states, chunks_at_one_instant);
    tcase_add_test(states, records_of_no_duration);
    tcase_add_test(states, handover);
    tcase_add_test(values, values_of_curves);
    tcase_add_test(values, values_per_user);
    tcase_add_test(runs, batches);
    tcase_add_test(runs, state_returns_to_zero);
    return vocabulary_main(suite);
}
