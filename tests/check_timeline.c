/* SPDX-License-Identifier: MIT */
/* The timeline: which records count in which curves, what they add, the order of events,
 * and slices of time. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stat/dist.h"
#include "sweep/sweep.h"
#include "timeline/curve.h"
#include "timeline/order.h"
#include "vocabulary.h"
#include "workload.h"

/* ---- Eligibility ------------------------------------------------------------------- */

#define SET(curve) (1u << TWI_CURVE_##curve)

enum {
    C0 = SET(QUEUED),
    C1 = SET(CONCURRENCY),
    C2 = SET(PREFILL_CONCURRENCY),
    C3 = SET(DECODE_CONCURRENCY),
    C4 = SET(PREFILL_RATE) | SET(PREFILL_RATE_PER_USER), /* and C8 */
    C5 = SET(DECODE_RATE) | SET(DECODE_RATE_PER_USER),   /* and C7 */
    C6 = SET(TOTAL_RATE),
    C9 = SET(TOKENS)
};

static const int64_t arrivals[] = {10, 15, 20}, counts[] = {1, 1, 1};

/* [EMIT] */
START_TEST(eligible_records)
{
    const tw_record chunks = with_chunks(record(0, 10, 20, 1, 4), arrivals, counts, 3);
    const struct {
        const char *what;
        tw_record record;
        uint32_t curves;
    } cases[] = {
        {"start alone", record(0, NEVER, NEVER, UNKNOWN, UNKNOWN), C1},
        {"and end", record(0, NEVER, 20, UNKNOWN, UNKNOWN), C1},
        {"and tokens", record(0, NEVER, 20, 5, 6), C1},
        {"credit", with_credit(record(0, NEVER, 20, 5, 6), -1), C0 | C1},
        {"credit after start", with_credit(record(0, NEVER, 20, 5, 6), 7), C0 | C1},
        {"first token", record(0, 10, 20, UNKNOWN, UNKNOWN), C1 | C2 | C3},
        {"with input", record(0, 10, 20, 0, UNKNOWN), C1 | C2 | C3 | C4 | C6 | C9},
        {"with no output", record(0, 10, 20, UNKNOWN, 0), C1 | C2 | C3 | C9},
        {"with one output", record(0, 10, 20, UNKNOWN, 1), C1 | C2 | C3 | C5 | C6 | C9},
        {"with all", record(0, 10, 20, 5, 6), C1 | C2 | C3 | C4 | C5 | C6 | C9},
        {"no phases of any length", record(0, 0, 0, 5, 6),
         C1 | C2 | C3 | C4 | C5 | C6 | C9},
        {"failed", with_status(record(0, 10, 20, 5, 6), TW_RECORD_FAILED),
         C1 | C2 | C3 | C4 | C5 | C6 | C9},
        {"cancelled", with_status(record(0, NEVER, 20, 5, 6), TW_RECORD_CANCELLED), C1},
        {"in flight, decoding", record(0, 10, NEVER, 5, 6), C1 | C2 | C3 | C4 | C6 | C9},
        {"without input", record(0, 10, NEVER, UNKNOWN, 6), C1 | C2 | C3 | C9},
        {"streaming, no token", with_flags(record(0, NEVER, 20, 5, 6), 1), C1 | C2 | C9},
        {"without input", with_flags(record(0, NEVER, 20, UNKNOWN, 6), 1), C1 | C2},
        {"in flight", with_flags(record(0, NEVER, NEVER, 5, 6), 1), C1 | C2 | C9},
        {"streaming with token", with_flags(record(0, 10, 20, 5, 6), 1),
         C1 | C2 | C3 | C4 | C5 | C6 | C9},
        {"chunks", chunks, C1 | C2 | C3 | C4 | C5 | C6 | C9},
        {"chunks in flight",
         with_chunks(record(0, 10, NEVER, UNKNOWN, 4), arrivals, NULL, 3),
         C1 | C2 | C3 | C5 | C6 | C9},
        {"chunks at one instant",
         with_chunks(record(0, 10, NEVER, UNKNOWN, 4), arrivals, NULL, 1),
         C1 | C2 | C3 | C5 | C6 | C9},
        {"chunks, no output known",
         with_chunks(record(0, 10, 20, UNKNOWN, UNKNOWN), arrivals, NULL, 3),
         C1 | C2 | C3},
        {"chunks, no output",
         with_chunks(record(0, 10, 20, UNKNOWN, 0), arrivals, NULL, 3),
         C1 | C2 | C3 | C9},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run r = run_of(&cases[i].record, 1);
        twi_row row;

        vocabulary_context("%s", cases[i].what);
        twi_block_read(r.spans[0].block, 0, 0, &row);
        assert_u64(twi_curve_eligible(&row), cases[i].curves);
        run_free(&r);
    }
}
END_TEST

/* ---- What records add -------------------------------------------------------------- */

/* tokens * 2^88 / ns, rounded down. */
static twi_u192 rate(uint64_t tokens, uint64_t ns)
{
    return twi_quotient64(twi_shl(twi_from64(tokens), 88), ns);
}

static twi_u192 amount(uint64_t tokens)
{
    return twi_shl(twi_from64(tokens), 44);
}

static twi_u192 wide(const uint64_t w[2])
{
    return (twi_u192){{w[0], w[1], 0}};
}

static void check_event(const twi_timeline *t, uint64_t i, int64_t time_ns, unsigned kind,
                        uint64_t index)
{
    vocabulary_context("event %" PRIu64, i);
    assert_i64((int64_t)(t->events[i].key + (uint64_t)t->origin_ns), time_ns);
    assert_u64(t->events[i].what, index << TWI_EVENT_KIND_BITS | kind);
    vocabulary_context("%s", "");
}

START_TEST(events_of_a_record)
{
    const tw_record r = with_credit(record(100, 110, 130, 20, 21), 95);
    run one = run_of(&r, 1);
    twi_timeline t = timeline_of(&one, INT64_MIN, INT64_MAX);
    const twi_state none = {0, 0, 0, 0, {{0, 0, 0}}, {{0, 0, 0}}, {{0, 0, 0}}};

    assert_i64(t.origin_ns, 95);
    assert_that(memcmp(&t.carry, &none, sizeof none) == 0);
    assert_u64(t.event_count, 4);
    check_event(&t, 0, 95, TWI_EVENT_CREDIT, 0);
    check_event(&t, 1, 100, TWI_EVENT_START, 0);
    check_event(&t, 2, 110, TWI_EVENT_GENERATION, 0);
    check_event(&t, 3, 130, TWI_EVENT_END, 0);
    assert_u64(t.entries[0].has,
               TWI_ENTRY_CREDIT | TWI_ENTRY_PREFILL | TWI_ENTRY_GENERATION);
    assert_u192(wide(t.entries[0].prefill_rate), rate(20, 10));
    assert_u192(wide(t.entries[0].decode_rate), rate(20, 20));
    assert_u64(t.entries[0].input, 20);
    assert_u64(t.entries[0].output_first, 21);
    assert_u64(t.entries[0].output_total, 21);
    twi_timeline_release(&t);
    run_free(&one);
}
END_TEST

START_TEST(events_of_other_records)
{
    const tw_record records[] = {
        with_credit(record(7, NEVER, NEVER, 3, 4), 9), /* due after its start */
        with_flags(record(1, NEVER, 5, 3, 4), TW_RECORD_STREAMING),
        record(2, 2, NEVER, 3, 4),
        record(3, 4, 4, UNKNOWN, UNKNOWN),
    };
    run r = run_of(records, 4);
    twi_timeline t = timeline_of(&r, INT64_MIN, INT64_MAX);
    const twi_u192 none = {{0, 0, 0}};

    assert_i64(t.origin_ns, 1);
    assert_u64(t.event_count, 2 + 2 + 2 + 3);
    assert_u64(t.entries[0].has, TWI_ENTRY_CREDIT);
    assert_u64(t.entries[0].input, 0);
    assert_u64(t.entries[0].output_total, 0);
    assert_u64(t.entries[1].has, TWI_ENTRY_PREFILL);
    assert_u64(t.entries[1].input, 3);
    assert_u64(t.entries[1].output_total, 0);
    assert_u192(wide(t.entries[1].prefill_rate), none);
    assert_u64(t.entries[2].has, TWI_ENTRY_PREFILL | TWI_ENTRY_GENERATION);
    assert_u192(wide(t.entries[2].prefill_rate), none); /* no time */
    assert_u192(wide(t.entries[2].decode_rate), none);  /* no end */
    assert_u64(t.entries[2].output_first, 4);
    assert_u64(t.entries[3].has, TWI_ENTRY_PREFILL | TWI_ENTRY_GENERATION);
    assert_u64(t.entries[3].input, 0);
    assert_u64(t.entries[3].output_first, 0);
    twi_timeline_release(&t);
    run_free(&r);
}
END_TEST

/* [BITS] */
START_TEST(rates_at_the_limits)
{
    const int64_t limit = INT64_C(1) << 61, most = (INT64_C(1) << 40) - 1;
    const tw_record records[] = {
        record(0, 1, 2, most, most),        /* as fast as can be */
        record(-limit, limit, limit, 1, 0), /* as slow */
        record(-limit, -limit, limit, 0, 2),
        record(0, 3, 10, 1, 2),
    };
    run r = run_of(records, 4);
    twi_timeline t = timeline_of(&r, INT64_MIN, INT64_MAX);

    assert_u192(wide(t.entries[0].prefill_rate), twi_shl(twi_from64((uint64_t)most), 88));
    assert_u192(wide(t.entries[0].decode_rate),
                twi_shl(twi_from64((uint64_t)most - 1), 88));
    assert_u192(wide(t.entries[1].prefill_rate), twi_from64(UINT64_C(1) << (88 - 62)));
    assert_u192(wide(t.entries[2].decode_rate), twi_from64(UINT64_C(1) << (88 - 62)));
    /* 2^88 / 3 and 2^88 / 7, rounded down: 0x55..55 and 0x2492..492 */
    assert_u192(wide(t.entries[3].prefill_rate),
                ((twi_u192){{UINT64_C(0x5555555555555555), UINT64_C(0x555555), 0}}));
    assert_u192(wide(t.entries[3].decode_rate),
                ((twi_u192){{UINT64_C(0x2492492492492492), UINT64_C(0x249249), 0}}));
    twi_timeline_release(&t);
    run_free(&r);
}
END_TEST

/* [CHUNK] [C5'] */
START_TEST(gaps_without_counts)
{
    /* First token at 0, arrivals at 0, 10, 10, 40: two gaps with 3 of 6 tokens each. */
    static const int64_t at[] = {0, 10, 10, 40};
    const tw_record r = with_chunks(record(0, 0, 100, 5, 7), at, NULL, 4);
    run one = run_of(&r, 1);
    twi_timeline t = timeline_of(&one, INT64_MIN, INT64_MAX);

    assert_u64(t.event_count, 5);
    assert_u64(t.gap_room, 2);
    check_event(&t, 2, 10, TWI_EVENT_CHUNK, 0);
    check_event(&t, 3, 40, TWI_EVENT_CHUNK_LAST, 1);
    check_event(&t, 4, 100, TWI_EVENT_END, 0);
    assert_that(t.entries[0].has & TWI_ENTRY_GAPS);
    assert_u64(t.entries[0].output_first, 1);
    assert_u64(t.entries[0].output_total, 7);
    assert_u192(wide(t.entries[0].decode_rate), rate(3, 10));
    assert_u192(wide(t.gaps[0].rate), rate(3, 10));
    assert_u192(wide(t.gaps[1].rate), rate(3, 30));
    assert_u192(wide(t.gaps[0].tokens), amount(3));
    assert_u192(wide(t.gaps[1].tokens), amount(3));
    twi_timeline_release(&t);
    run_free(&one);
}
END_TEST

/* [CHUNK] */
START_TEST(gaps_with_counts)
{
    /* Beside the first token 1, then 2 + 1, then 1; 2 of the 7 are not accounted for and
     * came with the first token. */
    static const int64_t at[] = {0, 10, 10, 40}, tokens[] = {1, 2, 1, 1},
                         too_many[] = {1, 2, 1, 4};
    const tw_record records[] = {
        with_chunks(record(0, 0, 100, 5, 7), at, tokens, 4),
        with_chunks(record(0, 0, 100, 5, 7), at, too_many, 4), /* ignored */
        with_chunks(record(0, 0, 100, 5, 8), at, too_many, 4), /* none left */
    };
    run r = run_of(records, 3);
    twi_timeline t = timeline_of(&r, INT64_MIN, INT64_MAX);

    assert_u64(t.entries[0].output_first, 3);
    assert_u192(wide(t.entries[0].decode_rate), rate(3, 10));
    assert_u192(wide(t.gaps[0].rate), rate(3, 10));
    assert_u192(wide(t.gaps[0].tokens), amount(3));
    assert_u192(wide(t.gaps[1].rate), rate(1, 30));
    assert_u192(wide(t.gaps[1].tokens), amount(1));
    assert_u64(t.entries[1].output_first, 1);
    assert_u192(wide(t.gaps[2].tokens), amount(3));
    assert_u192(wide(t.gaps[3].tokens), amount(3));
    assert_u64(t.entries[2].output_first, 1);
    assert_u192(wide(t.gaps[5].rate), rate(4, 30));
    twi_timeline_release(&t);
    run_free(&r);
}
END_TEST

START_TEST(no_gaps)
{
    static const int64_t at[] = {10, 10, 10};
    const tw_record records[] = {
        with_chunks(record(0, 10, 100, 5, 7), at, NULL, 3),
        with_chunks(record(0, 10, 100, 5, 0), arrivals, NULL, 3),
        with_chunks(record(0, 10, 100, 5, UNKNOWN), arrivals, NULL, 3),
    };
    run r = run_of(records, 3);
    twi_timeline t = timeline_of(&r, INT64_MIN, INT64_MAX);

    for (int i = 0; i < 3; i++) {
        const uint64_t output = i ? 0 : 7;
        assert_that(!(t.entries[i].has & TWI_ENTRY_GAPS));
        assert_u192(wide(t.entries[i].decode_rate), twi_from64(0));
        assert_u64(t.entries[i].output_first, output);
        assert_u64(t.entries[i].output_total, output);
    }
    assert_u64(t.event_count, 9);
    twi_timeline_release(&t);
    run_free(&r);
}
END_TEST

/* Whatever the rounding, a record's tokens are all there in the end, and none comes
 * twice. */
/* [C9-OUT] */
START_TEST(tokens_of_gaps_sum_exactly)
{
    enum { MOST = 40 };
    uint64_t random = 1;

    for (int k = 0; k < 3000; k++) {
        int64_t at[MOST], tokens[MOST];
        const uint64_t count = 1 + random_below(&random, MOST);
        const int64_t output = random_between(&random, 1, 100000);
        const int with_tokens = random_below(&random, 2) == 0;
        int64_t left = output, time = 0;
        uint64_t positive = 0;
        twi_u192 sum = {{0, 0, 0}};
        tw_record r;
        run one;
        twi_timeline t;

        vocabulary_context("run %d", k);
        for (uint64_t i = 0; i < count; i++) {
            const int64_t gap = random_below(&random, 3) ? random_between(&random, 0, 99)
                                                         : 0;
            positive += gap > 0;
            at[i] = time += gap;
            tokens[i] = random_between(&random, 0, left < 200 ? left : 200);
            left -= tokens[i];
        }
        r = with_chunks(record(0, 0, time, 0, output), at, with_tokens ? tokens : NULL,
                        count);
        one = run_of(&r, 1);
        t = timeline_of(&one, INT64_MIN, INT64_MAX);
        assert_u64(t.gap_room, positive);
        for (uint64_t i = 0; i < positive; i++)
            sum = twi_add(sum, wide(t.gaps[i].tokens));
        sum = twi_add(sum, amount(t.entries[0].output_first));
        assert_u192(sum, amount((uint64_t)output));
        if (!with_tokens) /* even to the unit */
            for (uint64_t i = 0; i < positive; i++) {
                const twi_u192 share = twi_quotient64(amount((uint64_t)output - 1),
                                                      positive);
                const twi_u192 over = twi_sub(wide(t.gaps[i].tokens), share);
                assert_that(!twi_less(twi_from64(1), over));
            }
        twi_timeline_release(&t);
        run_free(&one);
    }
}
END_TEST

/* ---- Order ------------------------------------------------------------------------- */

static int by_key(const void *left, const void *right)
{
    const twi_event *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static int by_what(const void *left, const void *right)
{
    const twi_event *a = left, *b = right;
    return (a->what > b->what) - (a->what < b->what);
}

/* Sorts copies of the events, which are numbered here. */
static void check_order(twi_event *events, size_t count)
{
    twi_event *sorted = malloc((count + 1) * sizeof *sorted);
    memory m;

    assert_that(sorted != NULL);
    for (size_t i = 0; i < count; i++)
        events[i].what = i;
    memcpy(sorted, events, count * sizeof *sorted);
    memory_init(&m);
    assert_ok(twi_order_events(&m.allocator, sorted, count));
    memory_done(&m);
    for (size_t i = 1; i < count; i++)
        assert_that(sorted[i - 1].key <= sorted[i].key);
    /* each event is there, once, with its key */
    qsort(sorted, count, sizeof *sorted, by_what);
    for (size_t i = 0; i < count; i++) {
        assert_u64(sorted[i].what, i);
        assert_u64(sorted[i].key, events[i].key);
    }
    free(sorted);
}

START_TEST(order_of_events)
{
    static const size_t sizes[] = {0, 1, 2, 3, 10, 24, 25, 26, 100, 2047, 2048, 5000};
    enum { MOST = 5000 };
    static twi_event events[MOST];
    uint64_t random = 2;

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t count = sizes[s];

        for (unsigned bits = 1; bits <= 64; bits += 3) { /* narrow and wide keys */
            vocabulary_context("%zu events, %u bits", count, bits);
            for (size_t i = 0; i < count; i++)
                events[i].key = random_next(&random) >> (64 - bits);
            check_order(events, count);
            qsort(events, count, sizeof *events, by_key); /* ascending */
            check_order(events, count);
            for (size_t i = 0; i < count / 2; i++) { /* descending */
                const uint64_t key = events[i].key;
                events[i].key = events[count - 1 - i].key;
                events[count - 1 - i].key = key;
            }
            check_order(events, count);
            if (count) /* almost ascending */
                events[count - 1].key = 0;
            check_order(events, count);
            for (size_t i = 0; i < count; i++) /* all close together but one */
                events[i].key = random_next(&random) >> (64 - bits) >> 1;
            if (count)
                events[count / 3].key = UINT64_C(1) << 63;
            check_order(events, count);
        }
        for (size_t i = 0; i < count; i++)
            events[i].key = UINT64_MAX; /* all the same */
        check_order(events, count);
        if (count) /* the lowest and the highest bit alone */
            events[count / 2].key = UINT64_MAX - 1;
        check_order(events, count);
        if (count)
            events[count / 2].key = UINT64_MAX >> 1;
        check_order(events, count);
        for (size_t i = 0; i < count; i++)
            events[i].key = i % 2 ? 0 : UINT64_C(1) << 63 | i % 3;
        check_order(events, count);
    }
}
END_TEST

START_TEST(order_without_memory)
{
    twi_event events[100];
    memory m;

    for (uint64_t i = 0; i < 100; i++)
        events[i] = (twi_event){i * 7 % 100, i};
    memory_init(&m);
    memory_fail_nth(&m, 1);
    assert_status(twi_order_events(&m.allocator, events, 100), TW_ERR_NOMEM);
    assert_ok(twi_order_events(&m.allocator, events, 100)); /* they are all still there */
    for (uint64_t i = 0; i < 100; i++)
        assert_u64(events[i].key, i);
    memory_done(&m);
}
END_TEST

START_TEST(order_of_a_timeline)
{
    workload w;

    for (uint64_t seed = 1; seed < 200; seed++) {
        run r;
        twi_timeline t;

        vocabulary_context("seed %" PRIu64, seed);
        assert_i64(workload_new(&w, seed, 100), 0);
        r = run_of(w.records, w.count);
        t = timeline_of(&r, INT64_MIN, INT64_MAX);
        assert_u64(t.event_count, t.event_room);
        for (uint64_t i = 1; i < t.event_count; i++)
            assert_that(t.events[i - 1].key <= t.events[i].key);
        twi_timeline_release(&t);
        run_free(&r);
        workload_free(&w);
    }
}
END_TEST

/* ---- Slices ------------------------------------------------------------------------ */

enum { SLICES = 16 };

typedef struct dists {
    twi_dist of[TWI_CURVE_COUNT];
} dists;

static void dists_init(dists *d)
{
    const tw_allocator allocator = twi_mem_default();
    for (int c = 0; c < TWI_CURVE_COUNT; c++)
        twi_dist_init(&d->of[c], &allocator);
}

static void dists_release(dists *d)
{
    for (int c = 0; c < TWI_CURVE_COUNT; c++)
        twi_dist_release(&d->of[c]);
}

/* All curves of a timeline over a window. */
static void dists_feed(dists *d, const twi_timeline *timeline, int64_t begin, int64_t end)
{
    twi_sweep sweep;
    twi_batch batch;
    twi_pairs pairs;

    twi_sweep_begin(&sweep, timeline, begin, end);
    while (twi_sweep_next(&sweep, &batch)) {
        for (int c = 0; c < TWI_CURVE_COUNT; c++) {
            twi_sweep_curve(&batch, (twi_curve)c, &pairs);
            assert_ok(twi_dist_feed(&d->of[c], &pairs));
        }
    }
}

static void check_same_dists(const dists *got, const dists *wanted)
{
    for (int c = 0; c < TWI_CURVE_COUNT; c++) {
        const twi_dist *a = &got->of[c], *b = &wanted->of[c];

        assert_u64(a->weight, b->weight);
        assert_u64(a->zero_weight, b->zero_weight);
        assert_u192(a->least, b->least);
        assert_u192(a->most, b->most);
        assert_that(memcmp(a->sum, b->sum, sizeof a->sum) == 0);
        assert_that(memcmp(a->square_sum, b->square_sum, sizeof a->square_sum) == 0);
        for (unsigned page = 0; page < TWI_BIN_PAGES; page++) {
            assert_that(!a->page[page] == !b->page[page]);
            if (a->page[page])
                assert_that(memcmp(a->page[page], b->page[page],
                                   TWI_BIN_SLOTS * sizeof(uint64_t)) == 0);
        }
    }
}

static int by_time(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Begin and end of the window and cuts between them, many at events. */
static void make_cuts(uint64_t *random, const twi_timeline *t, int64_t begin, int64_t end,
                      int64_t cuts[SLICES + 1])
{
    for (int i = 0; i <= SLICES; i++) {
        cuts[i] = random_between(random, begin, end);
        if (t->event_count && random_below(random, 2)) {
            const uint64_t key = t->events[random_below(random, t->event_count)].key;
            const int64_t at = (int64_t)(key + (uint64_t)t->origin_ns);
            if (at > begin && at < end)
                cuts[i] = at;
        }
    }
    cuts[0] = begin;
    cuts[SLICES] = end;
    qsort(cuts, SLICES + 1, sizeof cuts[0], by_time);
}

/* [BITS] */
START_TEST(slices_recombined_are_the_whole)
{
    const uint64_t count = vocabulary_count("TIMEWEIGHT_TEST_WORKLOADS", 300);

    for (uint64_t seed = 1; seed <= count; seed++) {
        uint64_t random = seed;
        int64_t begin, end, cuts[SLICES + 1];
        dists whole, parts[SLICES], together;
        int order[SLICES];
        twi_timeline t;
        workload w;
        run r;

        vocabulary_context("seed %" PRIu64, seed);
        assert_i64(workload_new(&w, seed, 60), 0);
        r = run_of(w.records, w.count);
        t = timeline_of(&r, INT64_MIN, INT64_MAX);
        begin = w.has_begin ? w.begin_ns : t.origin_ns - 1;
        end = w.has_end ? w.end_ns : begin;
        if (t.event_count && !w.has_end)
            end = (int64_t)(t.events[t.event_count - 1].key + (uint64_t)t.origin_ns) + 1;
        if (end < begin)
            end = begin;
        dists_init(&whole);
        dists_feed(&whole, &t, begin, end);

        make_cuts(&random, &t, begin, end, cuts);
        for (int i = 0; i < SLICES; i++) {
            twi_timeline slice = timeline_of(&r, cuts[i], cuts[i + 1]);

            for (uint64_t k = 0; k < slice.event_count; k++) { /* [begin, end) */
                const int64_t at = (int64_t)(slice.events[k].key +
                                             (uint64_t)slice.origin_ns);
                assert_that(at >= cuts[i] && at < cuts[i + 1]);
            }
            assert_that(slice.event_count <= t.event_count);
            dists_init(&parts[i]);
            dists_feed(&parts[i], &slice, cuts[i], cuts[i + 1]);
            twi_timeline_release(&slice);
        }
        for (int i = 0; i < SLICES; i++) {
            const int other = (int)random_below(&random, (uint64_t)i + 1);
            order[i] = order[other];
            order[other] = i;
        }
        dists_init(&together);
        for (int i = 0; i < SLICES; i++)
            for (int c = 0; c < TWI_CURVE_COUNT; c++)
                assert_ok(twi_dist_merge(&together.of[c], &parts[order[i]].of[c]));
        check_same_dists(&together, &whole);

        for (int i = 0; i < SLICES; i++)
            dists_release(&parts[i]);
        dists_release(&together);
        dists_release(&whole);
        twi_timeline_release(&t);
        run_free(&r);
        workload_free(&w);
    }
}
END_TEST

/* The state before the first event at `at` or later. */
static twi_state state_before(const twi_timeline *t, int64_t at)
{
    twi_state state = t->carry;

    for (uint64_t i = 0; i < t->event_count; i++) {
        if ((int64_t)(t->events[i].key + (uint64_t)t->origin_ns) >= at)
            break;
        twi_timeline_apply(t, t->events[i].what, &state);
    }
    return state;
}

static void check_same_state(const twi_state *got, const twi_state *wanted)
{
    assert_u64(got->queued, wanted->queued);
    assert_u64(got->active, wanted->active);
    assert_u64(got->prefill, wanted->prefill);
    assert_u64(got->decode, wanted->decode);
    assert_u192(got->prefill_rate, wanted->prefill_rate);
    assert_u192(got->decode_rate, wanted->decode_rate);
    assert_u192(got->tokens, wanted->tokens);
}

START_TEST(slice_with_carry_is_the_whole)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed;
        twi_timeline t;
        workload w;
        run r;

        vocabulary_context("seed %" PRIu64, seed);
        assert_i64(workload_new(&w, seed, 60), 0);
        r = run_of(w.records, w.count);
        t = timeline_of(&r, INT64_MIN, INT64_MAX);
        for (int k = 0; k < 5 && t.event_count; k++) {
            const uint64_t key = t.events[random_below(&random, t.event_count)].key;
            const int64_t at = (int64_t)(key + (uint64_t)t.origin_ns) +
                               random_between(&random, -1, 1);
            const int64_t end =
                (int64_t)(t.events[t.event_count - 1].key + (uint64_t)t.origin_ns) + 1;
            twi_timeline slice = timeline_of(&r, at, INT64_MAX);
            const twi_state before = state_before(&t, at);
            dists whole, part;

            check_same_state(&slice.carry, &before);
            assert_u64(state_before(&slice, at).active, before.active);
            dists_init(&whole);
            dists_init(&part);
            dists_feed(&whole, &t, at, end);
            dists_feed(&part, &slice, at, end);
            check_same_dists(&part, &whole);
            dists_release(&whole);
            dists_release(&part);
            twi_timeline_release(&slice);
        }
        twi_timeline_release(&t);
        run_free(&r);
        workload_free(&w);
    }
}
END_TEST

START_TEST(empty_timeline)
{
    run r = run_of(NULL, 0);
    twi_timeline t = timeline_of(&r, INT64_MIN, INT64_MAX);

    assert_u64(t.event_count, 0);
    assert_i64(t.origin_ns, 0);
    twi_timeline_release(&t);
    run_free(&r);
}
END_TEST

START_TEST(timeline_without_memory)
{
    const tw_record records[] = {
        with_chunks(record(0, 10, 20, 1, 4), arrivals, counts, 3),
        record(0, 10, 20, 1, 4)};
    const twi_slice whole = {INT64_MIN, INT64_MAX};
    run r = run_of(records, 2);
    int32_t status = TW_ERR_NOMEM;

    for (uint64_t n = 1; status; n++) {
        twi_timeline t;
        memory m;

        memory_init(&m);
        memory_fail_nth(&m, n);
        status = twi_timeline_build(&t, &m.allocator, r.spans, r.span_count, whole);
        if (status)
            assert_status(status, TW_ERR_NOMEM);
        else
            twi_timeline_release(&t);
        memory_done(&m);
    }
    run_free(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timeline");
    TCase *curve = vocabulary_case(suite, "curve"),
          *entries = vocabulary_case(suite, "entries"),
          *order = vocabulary_case(suite, "order"),
          *slices = vocabulary_case(suite, "slices");

    tcase_add_test(curve, eligible_records);
    tcase_add_test(entries, events_of_a_record);
    tcase_add_test(entries, events_of_other_records);
    tcase_add_test(entries, rates_at_the_limits);
    tcase_add_test(entries, gaps_without_counts);
    tcase_add_test(entries, gaps_with_counts);
    tcase_add_test(entries, no_gaps);
    tcase_add_test(entries, tokens_of_gaps_sum_exactly);
    tcase_add_test(order, order_of_events);
    tcase_add_test(order, order_without_memory);
    tcase_add_test(order, order_of_a_timeline);
    tcase_add_test(slices, slices_recombined_are_the_whole);
    tcase_add_test(slices, slice_with_carry_is_the_whole);
    tcase_add_test(slices, empty_timeline);
    tcase_add_test(slices, timeline_without_memory);
    return vocabulary_main(suite);
}
