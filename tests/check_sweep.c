/* SPDX-License-Identifier: MIT */
/* The sweep: stretches of time, their states, clipping at the window, values of curves. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/sweep.h"
#include "vocabulary.h"
#include "workload.h"

/* One stretch of time by hand; rates in sixtieths of a token per ns. */
typedef struct stretch {
    int64_t duration_ns;
    uint64_t queued, active, prefill, decode;
    uint64_t prefill_rate, decode_rate;
    uint64_t tokens;
} stretch;

static twi_u192 sixtieths(uint64_t n)
{
    return twi_quotient64(twi_shl(twi_from64(n), 88), 60);
}

static void check_state(const twi_state *got, const stretch *wanted)
{
    assert_u64(got->queued, wanted->queued);
    assert_u64(got->active, wanted->active);
    assert_u64(got->prefill, wanted->prefill);
    assert_u64(got->decode, wanted->decode);
    assert_u192(got->prefill_rate, sixtieths(wanted->prefill_rate));
    assert_u192(got->decode_rate, sixtieths(wanted->decode_rate));
    assert_u192(got->tokens, twi_shl(twi_from64(wanted->tokens), 44));
}

static void check_sweep(const tw_record *records, size_t record_count, int64_t begin,
                        int64_t end, const stretch *wanted, size_t count)
{
    run r = run_of(records, record_count);
    twi_timeline timeline = timeline_of(&r, INT64_MIN, INT64_MAX);
    twi_sweep sweep;
    twi_batch batch;
    size_t next = 0;

    twi_sweep_begin(&sweep, &timeline, begin, end);
    while (twi_sweep_next(&sweep, &batch)) {
        assert_that(batch.count > 0);
        for (size_t i = 0; i < batch.count; i++, next++) {
            vocabulary_context("[%" PRId64 ", %" PRId64 "), stretch %zu", begin, end,
                               next);
            assert_that(next < count);
            assert_u64(batch.duration_ns[i], (uint64_t)wanted[next].duration_ns);
            check_state(&batch.state[i], &wanted[next]);
        }
    }
    assert_u64(next, count);
    assert_u64(batch.count, 0);
    assert_that(!twi_sweep_next(&sweep, &batch)); /* it stays done */
    twi_timeline_release(&timeline);
    run_free(&r);
    vocabulary_context("%s", "");
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

typedef struct pair {
    twi_u192 value;
    uint64_t weight;
} pair;

static void check_curve(const twi_batch *batch, twi_curve curve, const pair *wanted,
                        size_t count)
{
    twi_pairs pairs;

    vocabulary_context("curve %d", (int)curve);
    twi_sweep_curve(batch, curve, &pairs);
    assert_u64(pairs.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_u192(pairs.value[i], wanted[i].value);
        assert_u64(pairs.weight[i], wanted[i].weight);
    }
}

#define N(n, weight)        \
    {                       \
        {{n, 0, 0}}, weight \
    }
#define RATE(n, weight)                       \
    {                                         \
        {{0, (uint64_t)(n) << 24, 0}}, weight \
    } /* n tokens/ns, n * 2^88 */
#define HALF(weight)                        \
    {                                       \
        {{0, UINT64_C(1) << 23, 0}}, weight \
    }
#define TOKENS(n, weight)                     \
    {                                         \
        {{(uint64_t)(n) << 44, 0, 0}}, weight \
    }

START_TEST(values_with_equal_neighbours_merged)
{
    static const pair queued[] = {N(0, 5), N(1, 5), N(0, 50)},
                      active[] = {N(0, 10), N(1, 20), N(2, 10), N(1, 10), N(0, 10)},
                      prefill[] = {N(0, 10), N(1, 10), N(0, 40)},
                      decode[] = {N(0, 20), N(1, 10), N(2, 10), N(1, 10), N(0, 10)},
                      prefill_rate[] = {N(0, 10), RATE(2, 10), N(0, 40)},
                      decode_rate[] = {N(0, 20), RATE(1, 20), N(0, 20)},
                      total[] = {N(0, 10), RATE(2, 10), RATE(1, 20), N(0, 20)},
                      decode_user[] = {N(0, 20), RATE(1, 10), HALF(10), N(0, 20)},
                      prefill_user[] = {N(0, 10), RATE(2, 10), N(0, 40)},
                      tokens[] = {N(0, 10),       TOKENS(20, 10), TOKENS(41, 10),
                                  TOKENS(47, 10), TOKENS(6, 10),  N(0, 10)};
    tw_record two[2];
    twi_timeline timeline;
    twi_sweep sweep;
    twi_batch batch;
    run r;

    make_two(two);
    r = run_of(two, 2);
    timeline = timeline_of(&r, INT64_MIN, INT64_MAX);
    twi_sweep_begin(&sweep, &timeline, -10, 50);
    assert_that(twi_sweep_next(&sweep, &batch));
    check_curve(&batch, TWI_CURVE_QUEUED, queued, 3);
    check_curve(&batch, TWI_CURVE_CONCURRENCY, active, 5);
    check_curve(&batch, TWI_CURVE_PREFILL_CONCURRENCY, prefill, 3);
    check_curve(&batch, TWI_CURVE_DECODE_CONCURRENCY, decode, 5);
    check_curve(&batch, TWI_CURVE_PREFILL_RATE, prefill_rate, 3);
    check_curve(&batch, TWI_CURVE_DECODE_RATE, decode_rate, 3);
    check_curve(&batch, TWI_CURVE_TOTAL_RATE, total, 4);
    check_curve(&batch, TWI_CURVE_DECODE_RATE_PER_USER, decode_user, 4);
    check_curve(&batch, TWI_CURVE_PREFILL_RATE_PER_USER, prefill_user, 3);
    check_curve(&batch, TWI_CURVE_TOKENS, tokens, 6);
    twi_timeline_release(&timeline);
    run_free(&r);
}
END_TEST

/* A quotient that is the same though neither of its numbers is, and one that rounds. */
/* [C7] [C8] */
START_TEST(values_per_user)
{
    twi_batch batch = {.count = 4, .duration_ns = {1, 2, 3, 4}};
    static const pair decode[] = {N(5, 3), N(3, 3), N(0, 4)}, prefill[] = {N(0, 10)};

    batch.state[0] = (twi_state){.decode = 1, .decode_rate = {{5, 0, 0}}};
    batch.state[1] = (twi_state){.decode = 2, .decode_rate = {{10, 0, 0}}};
    batch.state[2] = (twi_state){.decode = 3, .decode_rate = {{11, 0, 0}}};
    batch.state[3] = (twi_state){.decode = 3, .decode_rate = {{2, 0, 0}}};
    check_curve(&batch, TWI_CURVE_DECODE_RATE_PER_USER, decode, 3);
    check_curve(&batch, TWI_CURVE_PREFILL_RATE_PER_USER, prefill, 1);
}
END_TEST

/* ---- Long runs --------------------------------------------------------------------- */

/* More stretches than one batch holds: nothing is lost or doubled between batches. */
START_TEST(batches)
{
    enum { COUNT = 1000 };
    tw_record records[COUNT];
    run r;
    twi_timeline timeline;
    twi_sweep sweep;
    twi_batch batch;
    twi_pairs pairs;
    uint64_t stretches = 0, time = 0, area = 0, pair_time = 0;

    for (int i = 0; i < COUNT; i++) /* levels 1 2 3 ... then down again */
        records[i] = record(i, NEVER, 2 * COUNT - i, 1, 1);
    r = run_of(records, COUNT);
    timeline = timeline_of(&r, INT64_MIN, INT64_MAX);
    twi_sweep_begin(&sweep, &timeline, 0, 2 * COUNT);
    while (twi_sweep_next(&sweep, &batch)) {
        assert_that(batch.count <= TWI_BATCH_SIZE);
        twi_sweep_curve(&batch, TWI_CURVE_CONCURRENCY, &pairs);
        for (size_t i = 0; i < batch.count; i++) {
            stretches++;
            time += batch.duration_ns[i];
            area += batch.duration_ns[i] * batch.state[i].active;
        }
        for (size_t i = 0; i < pairs.count; i++)
            pair_time += pairs.weight[i];
    }
    assert_u64(stretches, 2 * COUNT - 1);
    assert_u64(time, 2 * COUNT);
    assert_u64(pair_time, 2 * COUNT);
    /* sum of 2 (COUNT - i) */
    assert_u64(area, (uint64_t)COUNT * (COUNT + 1));
    twi_timeline_release(&timeline);
    run_free(&r);
}
END_TEST

/* After the last event every sum is exactly what it was before the first. */
START_TEST(state_returns_to_zero)
{
    static const stretch nothing = {0, 0, 0, 0, 0, 0, 0, 0};

    for (uint64_t seed = 1; seed <= 500; seed++) {
        size_t count = 0;
        twi_timeline timeline;
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
        state = timeline.carry;
        for (uint64_t i = 0; i < timeline.event_count; i++)
            twi_timeline_apply(&timeline, timeline.events[i].what, &state);
        check_state(&state, &nothing);
        twi_timeline_release(&timeline);
        run_free(&r);
        workload_free(&w);
    }
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
    tcase_add_test(values, values_with_equal_neighbours_merged);
    tcase_add_test(values, values_per_user);
    tcase_add_test(runs, batches);
    tcase_add_test(runs, state_returns_to_zero);
    return vocabulary_main(suite);
}
