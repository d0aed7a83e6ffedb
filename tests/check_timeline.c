/* SPDX-License-Identifier: MIT */
/* The timeline: which records count in which curves, what they add, the order of events,
 * the state at any time, and slices of time. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/big.h"
#include "base/mem.h"
#include "sweep/sweep.h"
#include "timeline/curve.h"
#include "timeline/order.h"
#include "vocabulary.h"
#include "workload.h"

#define TIME_LIMIT (INT64_C(1) << 61)
#define MOST_TOKENS ((INT64_C(1) << 40) - 1)

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

/* As many tokens in a nanosecond as no lane holds. */
static tw_record giant(int64_t start_ns)
{
    return record(start_ns, start_ns + 1, start_ns + 2, INT64_C(1) << 39, 1);
}

/* Time and meaning of the i-th event in the order of the timeline. */
typedef struct event {
    int64_t time_ns;
    uint64_t what;
} event;

static event event_at(const twi_timeline *t, uint64_t i)
{
    const uint64_t key = t->events.keys[i];
    uint64_t bucket = 0, time;

    while (t->events.bucket_end[bucket] <= i)
        bucket++;
    time = (bucket << t->events.bucket_shift) + (key >> t->events.what_bits);
    assert_that(time >> t->events.bucket_shift == bucket);
    return (event){(int64_t)(time + (uint64_t)t->origin_ns),
                   key & ((UINT64_C(1) << t->events.what_bits) - 1)};
}

static void check_event(const twi_timeline *t, uint64_t i, int64_t time_ns, unsigned kind,
                        uint64_t index)
{
    const event e = event_at(t, i);

    vocabulary_context("event %" PRIu64, i);
    assert_i64(e.time_ns, time_ns);
    assert_u64(e.what, index << TWI_KIND_BITS | kind);
    vocabulary_context("%s", "");
}

/* The rate that an entry holds. */
static double rate_of(const twi_timeline *t, uint64_t index, int word)
{
    const uint64_t *w = &t->events.entries[index].w[word];

    if (t->wide)
        return twi_f64_from_bits(w[0]);
    assert_that(w[1] <= TWI_LOW_MASK);
    return exact_double(
        twi_add(twi_shl(twi_from64(w[0]), TWI_LOW_BITS), twi_from64(w[1])));
}

static void check_entry(const twi_timeline *t, uint64_t index, double prefill,
                        double decode, uint64_t input, uint64_t output, uint64_t all)
{
    const uint64_t *w = t->events.entries[index].w;

    vocabulary_context("entry %" PRIu64, index);
    assert_same(rate_of(t, index, TWI_ENTRY_PREFILL), prefill);
    assert_same(rate_of(t, index, TWI_ENTRY_DECODE), decode);
    assert_u64(w[TWI_ENTRY_INPUT], input);
    assert_u64(w[TWI_ENTRY_OUTPUT], output);
    assert_u64(w[TWI_ENTRY_ALL], all);
    vocabulary_context("%s", "");
}

START_TEST(events_of_a_record)
{
    const tw_record r = with_credit(record(100, 110, 130, 20, 21), 95);
    run one = run_of(&r, 1);
    twi_timeline t = timeline_of(&one, INT64_MIN, INT64_MAX);

    assert_that(!t.wide);
    assert_i64(t.origin_ns, 95);
    assert_u64(t.event_count, 4);
    check_event(&t, 0, 95, TWI_KIND_CREDIT, 0);
    check_event(&t, 1, 100, TWI_KIND_START_PREFILL_CREDIT, 0);
    check_event(&t, 2, 110, TWI_KIND_GENERATION, 0);
    check_event(&t, 3, 130, TWI_KIND_END_DECODE, 0);
    check_entry(&t, 0, exact_rate(20, 10), exact_rate(20, 20), 20, 21, 41);
    for (uint64_t i = 0; i < TWI_LOOK_AHEAD; i++) /* may be read, and means nothing */
        assert_u64(t.events.keys[t.event_count + i], 0);
    assert_u64((uintptr_t)t.events.entries % 64, 0);
    twi_timeline_release(&t);
    run_free(&one);
}
END_TEST

START_TEST(events_of_other_records)
{
    const tw_record records[] = {
        with_credit(record(7, NEVER, NEVER, 3, 4), 9), /* due after its start */
        with_flags(record(1, NEVER, 6, 3, 4), TW_RECORD_STREAMING),
        record(2, 2, NEVER, 3, 4),
        record(3, 4, 5, UNKNOWN, UNKNOWN),
        record(8, NEVER, 9, 3, 4),
    };
    run r = run_of(records, 5);
    twi_timeline t = timeline_of(&r, INT64_MIN, INT64_MAX);

    assert_i64(t.origin_ns, 1);
    assert_u64(t.event_count, 2 + 2 + 2 + 3 + 2);
    check_event(&t, 0, 1, TWI_KIND_START_PREFILL, 1);
    check_event(&t, 1, 2, TWI_KIND_START_PREFILL, 2);
    check_event(&t, 2, 2, TWI_KIND_GENERATION, 2);
    check_event(&t, 3, 3, TWI_KIND_START_PREFILL, 3);
    check_event(&t, 4, 4, TWI_KIND_GENERATION, 3);
    check_event(&t, 5, 5, TWI_KIND_END_DECODE, 3);
    check_event(&t, 6, 6, TWI_KIND_END_PREFILL, 1);
    check_event(&t, 7, 7, TWI_KIND_CREDIT, 0);
    check_event(&t, 8, 7, TWI_KIND_START_CREDIT, 0);
    check_event(&t, 9, 8, TWI_KIND_START, 4);
    check_event(&t, 10, 9, TWI_KIND_END, 4);
    check_entry(&t, 0, 0, 0, 0, 0, 0);
    check_entry(&t, 1, 0, 0, 3, 0, 3);
    check_entry(&t, 2, 0, 0, 3, 4, 7); /* no time, and no end */
    check_entry(&t, 3, 0, 0, 0, 0, 0);
    check_entry(&t, 4, 0, 0, 0, 0, 0);
    twi_timeline_release(&t);
    run_free(&r);
}
END_TEST

/* [BITS] */
START_TEST(rates_at_the_limits)
{
    const tw_record records[] = {
        record(-TIME_LIMIT, TIME_LIMIT, TIME_LIMIT, 1, 0), /* as slow as can be */
        record(-TIME_LIMIT, -TIME_LIMIT, TIME_LIMIT, 0, 2), record(0, 3, 10, 1, 2),
        record(0, 1, 2, MOST_TOKENS, MOST_TOKENS), /* as fast */
    };

    for (int fast = 0; fast < 2; fast++) {
        run r = run_of(records, fast ? 4 : 3);
        twi_timeline t = timeline_of(&r, INT64_MIN, INT64_MAX);

        assert_i64(t.wide, fast);
        /* 10^9 * 2^59 / 2^62 */
        assert_same(rate_of(&t, 0, TWI_ENTRY_PREFILL), 125000000.0);
        assert_same(rate_of(&t, 1, TWI_ENTRY_DECODE), 125000000.0);
        /* 10^9 * 2^59 / 3 and / 7, to 53 bits */
        assert_same(rate_of(&t, 2, TWI_ENTRY_PREFILL), 0x1.3de4355555555p+87);
        assert_same(rate_of(&t, 2, TWI_ENTRY_DECODE), 0x1.107a76db6db6ep+86);
        if (fast) { /* (2^40 - 1) * 10^9 * 2^59, and a token less */
            assert_same(rate_of(&t, 3, TWI_ENTRY_PREFILL), 0x1.dcd64ffffe233p+128);
            assert_same(rate_of(&t, 3, TWI_ENTRY_DECODE), 0x1.dcd64ffffc465p+128);
        }
        twi_timeline_release(&t);
        run_free(&r);
    }
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
    const twi_chunk_table *table = &t.events.chunks;
    const twi_chunked *of = &table->records[0];

    assert_u64(t.event_count, 5);
    check_event(&t, 2, 10, TWI_KIND_CHUNK, 0);
    check_event(&t, 3, 40, TWI_KIND_CHUNK_LAST, 1);
    check_event(&t, 4, 100, TWI_KIND_END_CHUNKED, 0);
    check_entry(&t, 0, 0, exact_rate(3, 10), 5, 1, 12);
    assert_u64(of->gap_count, 2);
    assert_that(twi_chunked_of(table, 1) == of);
    assert_u64(twi_gap_ns(table, 0), 10);
    assert_u64(twi_gap_ns(table, 1), 30);
    assert_same(twi_gap_rate(table, of, 0), exact_rate(3, 10));
    assert_same(twi_gap_rate(table, of, 1), exact_rate(3, 30));
    assert_u64(twi_spread(of, 0).whole, 0);
    assert_u64(twi_spread(of, 1).whole, 3);
    assert_u64(twi_spread(of, 1).part, 0);
    assert_u64(twi_spread(of, 2).whole, 6);
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
    const twi_chunk_table *table = &t.events.chunks;

    check_entry(&t, 0, 0, exact_rate(3, 10), 5, 3, 12);
    check_entry(&t, 1, 0, exact_rate(3, 10), 5, 1, 12);
    check_entry(&t, 2, 0, exact_rate(3, 10), 5, 1, 13);
    assert_u64(table->records[0].counts, 1);
    assert_u64(table->records[1].counts, 0);
    assert_u64(table->records[2].counts, 3);
    assert_u64(table->tokens[0], 3);
    assert_u64(table->tokens[1], 1);
    assert_u64(table->tokens[2], 3);
    assert_u64(table->tokens[3], 4);
    assert_same(twi_gap_rate(table, &table->records[0], 0), exact_rate(3, 10));
    assert_same(twi_gap_rate(table, &table->records[0], 1), exact_rate(1, 30));
    assert_same(twi_gap_rate(table, &table->records[1], 3), exact_rate(3, 30));
    assert_same(twi_gap_rate(table, &table->records[2], 5), exact_rate(4, 30));
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

    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t output = i ? 0 : 7;
        check_entry(&t, i, exact_rate(5, 10), 0, 5, output, 5 + output);
    }
    assert_u64(t.event_count, 9);
    for (uint64_t i = 0; i < 9; i++)
        assert_that((event_at(&t, i).what & 15) != TWI_KIND_END_CHUNKED);
    twi_timeline_release(&t);
    run_free(&r);
}
END_TEST

/* Gaps around 2^32 ns, which a gap's 32 bits hold or do not, among many others. */
START_TEST(long_gaps)
{
    enum { RECORDS = 40, GAPS = 50 };
    static const uint64_t special[] = {UINT32_MAX - 1,    UINT32_MAX,
                                       UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1,
                                       UINT64_C(1) << 33, UINT64_C(1) << 50};
    static int64_t at[RECORDS][GAPS], tokens[RECORDS][GAPS];
    uint64_t wanted[RECORDS * GAPS], random = 5, longer = 0, gap = 0;
    tw_record records[RECORDS];
    twi_timeline t;
    run r;

    for (int i = 0; i < RECORDS; i++) {
        int64_t time = 0;
        for (int k = 0; k < GAPS; k++) {
            const uint64_t ns = random_below(&random, 3)
                                    ? 1 + random_below(&random, 1000)
                                    : special[random_below(&random, 6)];
            wanted[i * GAPS + k] = ns;
            longer += ns >= UINT32_MAX;
            at[i][k] = time += (int64_t)ns;
            tokens[i][k] = k + 1;
        }
        records[i] = with_chunks(record(0, 0, time, 0, 1 + GAPS * (GAPS + 1) / 2), at[i],
                                 i % 2 ? tokens[i] : NULL, GAPS);
    }
    r = run_of(records, RECORDS);
    t = timeline_of(&r, INT64_MIN, INT64_MAX);
    assert_u64(t.events.chunks.longer_count, longer);
    for (int i = 0; i < RECORDS; i++) {
        for (int k = 0; k < GAPS; k++, gap++) {
            const twi_chunked *of = twi_chunked_of(&t.events.chunks, gap);

            vocabulary_context("gap %" PRIu64, gap);
            assert_u64((uint64_t)(of - t.events.chunks.records), (uint64_t)i);
            assert_u64(twi_gap_ns(&t.events.chunks, gap), wanted[gap]);
            assert_same(twi_gap_rate(&t.events.chunks, of, gap),
                        i % 2 ? exact_rate((uint64_t)k + 1, wanted[gap])
                              : exact_share(GAPS * (GAPS + 1) / 2, wanted[gap], GAPS));
        }
    }
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
        uint64_t positive = 0, sum;
        tw_record r;
        run one;
        twi_timeline t;
        const twi_chunked *of;

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
        assert_u64(t.event_count, 3 + positive);
        of = t.events.chunks.records;
        sum = t.events.entries[0].w[TWI_ENTRY_OUTPUT];
        for (uint64_t i = 0; i < positive && with_tokens; i++)
            sum += t.events.chunks.tokens[i];
        if (positive && !with_tokens) { /* even, to the unit */
            for (uint64_t i = 0; i <= positive; i++) {
                const twi_amount got = twi_spread(of, i);
                const twi_u192 amount = twi_add(
                    twi_shl(twi_from64(got.whole), TWI_LOW_BITS), twi_from64(got.part));
                const twi_u192 even = twi_quotient64(
                    twi_shl(twi_product(i, (uint64_t)output - 1), TWI_LOW_BITS),
                    positive);

                assert_that(got.part <= TWI_LOW_MASK);
                assert_that(!twi_less(even, amount));
                assert_that(!twi_less(twi_from64(1), twi_sub(even, amount)));
            }
            assert_u64(twi_spread(of, positive).part, 0);
            sum += twi_spread(of, positive).whole;
        }
        assert_u64(sum, (uint64_t)output);
        assert_u64(t.events.entries[0].w[TWI_ENTRY_ALL], (uint64_t)output);
        twi_timeline_release(&t);
        run_free(&one);
    }
}
END_TEST

/* ---- Order ------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

enum { LARGEST_BUCKET = 5000 };

/* Orders copies of the keys, between guards. */
static void check_order(const uint64_t *keys, size_t count, unsigned from_bit)
{
    static uint64_t sorted[LARGEST_BUCKET + 2], scratch[LARGEST_BUCKET + 2],
        wanted[LARGEST_BUCKET];
    const uint64_t guard = UINT64_C(0x0123456789abcdef);

    sorted[0] = sorted[count + 1] = scratch[0] = scratch[count + 1] = guard;
    memcpy(sorted + 1, keys, count * sizeof *keys);
    memcpy(wanted, keys, count * sizeof *keys);
    twi_order_keys(&twi_kernel_portable, sorted + 1,
                   count > TWI_SORT_MOST ? scratch + 1 : NULL, count, from_bit);
    assert_u64(sorted[0], guard);
    assert_u64(sorted[count + 1], guard);
    assert_u64(scratch[0], guard);
    assert_u64(scratch[count + 1], guard);
    for (size_t i = 1; i < count; i++)
        assert_that(sorted[i] >> from_bit <= sorted[i + 1] >> from_bit);
    /* each key is there as often as it was */
    qsort(sorted + 1, count, sizeof *sorted, by_number);
    qsort(wanted, count, sizeof *wanted, by_number);
    assert_that(memcmp(sorted + 1, wanted, count * sizeof *wanted) == 0);
}

START_TEST(order_of_buckets)
{
    static const size_t sizes[] = {0,  1,  2,  3,  10,  24,   25,   26,
                                   63, 64, 65, 66, 100, 2047, 2048, LARGEST_BUCKET};
    static const unsigned lowest[] = {0, 5, 20, 40, 56, 63};
    static uint64_t keys[LARGEST_BUCKET];
    uint64_t random = 2;

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t count = sizes[s];

        for (unsigned bits = 1; bits <= 64; bits += 3) { /* narrow and wide keys */
            const unsigned from = lowest[random_below(&random, 6)];

            vocabulary_context("%zu keys, %u bits, from %u", count, bits, from);
            for (size_t i = 0; i < count; i++)
                keys[i] = random_next(&random) >> (64 - bits);
            check_order(keys, count, from);
            qsort(keys, count, sizeof *keys, by_number); /* ascending */
            check_order(keys, count, from);
            for (size_t i = 0; i < count / 2; i++) { /* descending */
                const uint64_t key = keys[i];
                keys[i] = keys[count - 1 - i];
                keys[count - 1 - i] = key;
            }
            check_order(keys, count, from);
            if (count) /* almost ascending */
                keys[count - 1] = 0;
            check_order(keys, count, from);
            for (size_t i = 0; i < count; i++) /* all close together but one */
                keys[i] = random_next(&random) >> (64 - bits) >> 1;
            if (count)
                keys[count / 3] = UINT64_C(1) << 63;
            check_order(keys, count, from);
        }
        for (size_t i = 0; i < count; i++)
            keys[i] = UINT64_MAX; /* all the same */
        check_order(keys, count, 0);
        if (count) /* the lowest and the highest bit alone */
            keys[count / 2] = UINT64_MAX - 1;
        check_order(keys, count, 0);
        if (count)
            keys[count / 2] = UINT64_MAX >> 1;
        check_order(keys, count, 0);
        for (size_t i = 0; i < count; i++)
            keys[i] = i % 2 ? 0 : UINT64_C(1) << 63 | i % 3;
        check_order(keys, count, 0);
    }
}
END_TEST

static void check_ascending(const twi_timeline *t)
{
    int64_t before = INT64_MIN;
    uint64_t i = 0, begin = 0;

    for (uint64_t b = 0; b < t->events.bucket_count; b++) {
        assert_that(t->events.bucket_end[b] >= begin);
        begin = t->events.bucket_end[b];
    }
    assert_u64(begin, t->event_count);
    for (uint64_t b = 0; b < t->events.bucket_count; b++) {
        for (; i < t->events.bucket_end[b]; i++) {
            const uint64_t inside = t->events.keys[i] >> t->events.what_bits;
            const int64_t time = (int64_t)((b << t->events.bucket_shift) + inside +
                                           (uint64_t)t->origin_ns);

            assert_that(inside >> t->events.bucket_shift == 0);
            assert_that(time >= before);
            before = time;
        }
    }
}

/* Number of events of a record, by its fields. */
static uint64_t events_of(const tw_record *r)
{
    uint64_t count = 1u + (r->credit_issued_ns != NEVER) +
                     (r->generation_start_ns != NEVER) + (r->end_ns != NEVER);
    int64_t before = r->generation_start_ns;

    for (uint64_t i = 0; i < r->chunk_count && r->output_tokens >= 1; i++) {
        count += r->chunk_arrival_ns[i] > before;
        before = r->chunk_arrival_ns[i];
    }
    return count;
}

START_TEST(order_of_a_timeline)
{
    workload w;

    for (uint64_t seed = 1; seed < 200; seed++) {
        uint64_t count = 0;
        run r;
        twi_timeline t;

        vocabulary_context("seed %" PRIu64, seed);
        assert_i64(workload_new(&w, seed, 100), 0);
        r = run_of(w.records, w.count);
        t = timeline_of(&r, INT64_MIN, INT64_MAX);
        for (size_t i = 0; i < w.count; i++)
            count += events_of(&w.records[i]);
        assert_u64(t.event_count, count);
        check_ascending(&t);
        twi_timeline_release(&t);
        run_free(&r);
        workload_free(&w);
    }
}
END_TEST

/* ---- Work -------------------------------------------------------------------------- */

/* A kernel that counts what it is given to sort. */
static struct {
    uint64_t calls, keys, squares, largest;
} sorted;

static void count_sort(uint64_t *keys, size_t count)
{
    sorted.calls++;
    sorted.keys += count;
    sorted.squares += (uint64_t)count * count;
    sorted.largest = count > sorted.largest ? count : sorted.largest;
    twi_kernel_portable.sort(keys, count);
}

enum { CROWD = 50000 };

enum pattern {
    PRESORTED,
    REVERSED,
    SCATTERED,
    ONE_INSTANT,
    TIES,      /* a hundred instants */
    OUTLIER,   /* and one record hours away */
    BURSTS,    /* of a microsecond, a second apart */
    GEOMETRIC, /* each as far away as all before together */
    PATTERNS
};

static int64_t start_of(int pattern, int64_t i, uint64_t *random)
{
    switch (pattern) {
    case PRESORTED:
        return 1000 * i;
    case REVERSED:
        return 1000 * (CROWD - i);
    case SCATTERED:
        return random_between(random, 0, INT64_C(1000) * CROWD);
    case ONE_INSTANT:
        return 0;
    case TIES:
        return 1000000 * (int64_t)random_below(random, 100);
    case OUTLIER:
        return i == CROWD / 2 ? INT64_C(36000000000000)
                              : random_between(random, 0, 1000000);
    case BURSTS:
        return INT64_C(1000000000) * (int64_t)random_below(random, 50) +
               random_between(random, 0, 1000);
    default:
        return (INT64_C(1) << random_below(random, 60)) + random_between(random, 0, 99);
    }
}

/* The most events from where a seek may begin to where it may end. */
static uint64_t farthest_seek(const twi_timeline *t)
{
    uint64_t farthest = 0, mark = 0, begin = 0;

    for (uint64_t c = 0; c < t->cell_count; c++) {
        const uint64_t behind = (c + 1) << t->cell_shift;
        const uint64_t end = behind < t->events.bucket_count ? t->bucket_end[behind - 1]
                                                             : t->event_count;

        for (; mark < t->mark_count && t->marks[mark].next < end; mark++) {
            farthest = t->marks[mark].next - begin > farthest
                           ? t->marks[mark].next - begin
                           : farthest;
            begin = t->marks[mark].next;
        }
        farthest = end - begin > farthest ? end - begin : farthest;
        begin = end;
    }
    return farthest;
}

/* Whatever the order of the records and wherever their times lie: what is sorted in
 * quadratic time has TWI_SORT_MOST keys at most, all else takes up to eight passes over a
 * bucket; buckets and cells are fewer than events, and a seek takes few of them. */
START_TEST(work_is_linear)
{
    const tw_allocator allocator = twi_mem_default();
    const twi_slice whole = {INT64_MIN, INT64_MAX};
    twi_kernel counting = twi_kernel_portable;
    tw_record *records = malloc(CROWD * sizeof *records);

    assert_that(records != NULL);
    counting.sort = count_sort;
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        uint64_t random = 3, small = 0, begin = 0;
        twi_timeline t;
        run r;

        vocabulary_context("pattern %d", pattern);
        for (int64_t i = 0; i < CROWD; i++) {
            const int64_t at = start_of(pattern, i, &random);
            records[i] = with_credit(record(at + 10000, at + 50000, at + 100000, 5, 6),
                                     at);
        }
        r = run_of(records, CROWD);
        memset(&sorted, 0, sizeof sorted);
        assert_ok(twi_timeline_build(&t, &allocator, &counting, &one_thread, r.spans,
                                     r.span_count, whole));
        assert_that(!t.wide); /* else all was sorted twice */
        assert_u64(t.event_count, 4 * CROWD);
        check_ascending(&t);
        assert_that(t.events.bucket_count <= t.event_count);
        assert_that(t.cell_count <= t.event_count / 64);
        for (uint64_t b = 0; b < t.events.bucket_count; b++) {
            const uint64_t size = t.events.bucket_end[b] - begin;
            small += size <= TWI_SORT_MOST ? size : 0;
            begin = t.events.bucket_end[b];
        }
        assert_u64(sorted.keys, small); /* each once, and never many at a time */
        assert_that(sorted.largest <= TWI_SORT_MOST);
        assert_that(sorted.calls <= t.events.bucket_count);
        assert_that(sorted.squares <= TWI_SORT_MOST * small);
        assert_that(farthest_seek(&t) <= 8192);
        if (pattern == PRESORTED || pattern == REVERSED || pattern == SCATTERED)
            assert_that(small > 4 * CROWD - 4 * CROWD / 10); /* buckets are even */
        twi_timeline_release(&t);
        run_free(&r);
    }
    free(records);
}
END_TEST

/* ---- The state at any time --------------------------------------------------------- */

/* What a record adds on [from_ns, to_ns), after the definitions of the curves. */
typedef struct piece {
    int64_t from_ns, to_ns;
    twi_state add;
    bool inexact; /* the tokens may be one unit fewer */
} piece;

typedef struct pieces {
    piece *at;
    size_t count, room;
} pieces;

static piece *put(pieces *p, int64_t from_ns, int64_t to_ns)
{
    if (p->count == p->room) {
        p->room = p->room ? 2 * p->room : 64;
        p->at = realloc(p->at, p->room * sizeof *p->at);
        assert_that(p->at != NULL);
    }
    memset(&p->at[p->count], 0, sizeof p->at[0]);
    p->at[p->count].from_ns = from_ns;
    p->at[p->count].to_ns = to_ns;
    return &p->at[p->count++];
}

static void put_decode_rate(pieces *p, int64_t from_ns, int64_t to_ns, double rate)
{
    put(p, from_ns, to_ns)->add.decode_rate = exact_whole(rate);
}

static void put_tokens(pieces *p, int64_t from_ns, int64_t to_ns, int64_t tokens)
{
    put(p, from_ns, to_ns)->add.tokens = twi_shl(twi_from64((uint64_t)tokens), 44);
}

static void put_chunks(pieces *p, const tw_record *r, int64_t end_ns, uint64_t gaps)
{
    int64_t sum = 0, first = 1, before = r->generation_start_ns;
    uint64_t gap = 0;
    bool counted = r->chunk_tokens != NULL;

    for (uint64_t i = 0; i < r->chunk_count && counted; i++)
        sum += r->chunk_tokens[i];
    counted = counted && sum <= r->output_tokens;
    if (counted) {
        first = r->output_tokens;
        for (uint64_t i = 0; i < r->chunk_count; i++)
            if (r->chunk_arrival_ns[i] > r->generation_start_ns)
                first -= r->chunk_tokens[i];
    }
    put_tokens(p, r->generation_start_ns, end_ns, first);
    for (uint64_t i = 0; i < r->chunk_count; i++) {
        const int64_t at = r->chunk_arrival_ns[i];
        const uint64_t all = (uint64_t)r->output_tokens - 1, ns = (uint64_t)(at - before);

        if (at == before)
            continue;
        gap++;
        if (counted) {
            int64_t tokens = 0;
            for (uint64_t k = 0; k < r->chunk_count; k++)
                tokens += r->chunk_arrival_ns[k] == at ? r->chunk_tokens[k] : 0;
            put_decode_rate(p, before, at, exact_rate((uint64_t)tokens, ns));
            put_tokens(p, at, end_ns, tokens);
        } else {
            piece *spread = NULL;
            int64_t to = end_ns;

            for (uint64_t k = i; k < r->chunk_count && to == end_ns; k++)
                if (r->chunk_arrival_ns[k] > at)
                    to = r->chunk_arrival_ns[k];
            put_decode_rate(p, before, at, exact_share(all, ns, gaps));
            spread = put(p, at, to); /* so many of its gaps are over */
            spread->add.tokens = twi_quotient64(twi_shl(twi_product(gap, all), 44), gaps);
            spread->inexact = gap < gaps;
        }
        before = at;
    }
}

static void put_record(pieces *p, const tw_record *r)
{
    const int64_t end = r->end_ns != NEVER ? r->end_ns : INT64_MAX;
    const int64_t first = r->generation_start_ns;
    const bool streaming = r->flags & TW_RECORD_STREAMING;
    uint64_t gaps = 0;

    if (r->credit_issued_ns != NEVER)
        put(p, r->credit_issued_ns, r->start_ns)->add.active_queued = TWI_QUEUED;
    put(p, r->start_ns, end)->add.active_queued = TWI_ACTIVE;
    if (first == NEVER && streaming)
        put(p, r->start_ns, end)->add.decode_prefill = TWI_PREFILL;
    if ((first != NEVER || streaming) && r->input_tokens != UNKNOWN)
        put_tokens(p, r->start_ns, end, r->input_tokens);
    if (first == NEVER)
        return;
    put(p, r->start_ns, first)->add.decode_prefill = TWI_PREFILL;
    put(p, first, end)->add.decode_prefill = TWI_DECODE;
    if (r->input_tokens != UNKNOWN && first > r->start_ns)
        put(p, r->start_ns, first)->add.prefill_rate = exact_whole(
            exact_rate((uint64_t)r->input_tokens, (uint64_t)(first - r->start_ns)));
    if (r->output_tokens < 1)
        return;
    for (uint64_t i = 0; i < r->chunk_count; i++)
        gaps += r->chunk_arrival_ns[i] > (i ? r->chunk_arrival_ns[i - 1] : first);
    if (gaps) {
        put_chunks(p, r, end, gaps);
        return;
    }
    put_tokens(p, first, end, r->output_tokens);
    if (!r->chunk_count && r->end_ns != NEVER && end > first)
        put_decode_rate(
            p, first, end,
            exact_rate((uint64_t)r->output_tokens - 1, (uint64_t)(end - first)));
}

static pieces pieces_of(const tw_record *records, size_t count)
{
    pieces p = {NULL, 0, 0};

    for (size_t i = 0; i < count; i++)
        put_record(&p, &records[i]);
    return p;
}

static twi_state sum_at(const pieces *p, int64_t at_ns, uint64_t *inexact)
{
    twi_state sum = {{{0}}, {{0}}, {{0}}, 0, 0};

    *inexact = 0;
    for (size_t i = 0; i < p->count; i++) {
        const piece *one = &p->at[i];

        if (at_ns < one->from_ns || at_ns >= one->to_ns)
            continue;
        sum.prefill_rate = twi_add(sum.prefill_rate, one->add.prefill_rate);
        sum.decode_rate = twi_add(sum.decode_rate, one->add.decode_rate);
        sum.tokens = twi_add(sum.tokens, one->add.tokens);
        sum.active_queued += one->add.active_queued;
        sum.decode_prefill += one->add.decode_prefill;
        *inexact += one->inexact;
    }
    return sum;
}

static twi_state state_at(const twi_timeline *t, int64_t at_ns)
{
    const twi_place_in_time place = twi_timeline_seek(t, (uint64_t)at_ns -
                                                             (uint64_t)t->origin_ns);
    uint64_t before = 0;

    /* all events at or before the time lie before the place, and no others */
    for (uint64_t b = 0; b < place.bucket && b < t->events.bucket_count; b++)
        before = t->events.bucket_end[b];
    assert_that(place.next >= before);
    if (place.next)
        assert_that(event_at(t, place.next - 1).time_ns <= at_ns);
    if (place.next < t->event_count)
        assert_that(event_at(t, place.next).time_ns > at_ns);
    return t->wide ? place.state : twi_state_from_lanes(place.lanes);
}

static void check_state(const twi_timeline *t, const pieces *p, int64_t at_ns)
{
    uint64_t inexact;
    const twi_state wanted = sum_at(p, at_ns, &inexact), got = state_at(t, at_ns);

    assert_u64(got.active_queued, wanted.active_queued);
    assert_u64(got.decode_prefill, wanted.decode_prefill);
    assert_u192(got.prefill_rate, wanted.prefill_rate);
    assert_u192(got.decode_rate, wanted.decode_rate);
    assert_that(!twi_less(wanted.tokens, got.tokens));
    assert_that(!twi_less(twi_from64(inexact), twi_sub(wanted.tokens, got.tokens)));
}

/* [C0] [C1] [C2] [C3] [C4] [C5] [C5'] [C9] */
START_TEST(states_are_the_sums_of_the_records)
{
    int wide = 0;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        twi_timeline t;
        pieces p;
        workload w;
        run r;

        vocabulary_context("seed %" PRIu64, seed);
        assert_i64(workload_new(&w, seed, 50), 0);
        r = run_of(w.records, w.count);
        t = timeline_of(&r, INT64_MIN, INT64_MAX);
        p = pieces_of(w.records, w.count);
        for (uint64_t i = 0; i < t.event_count; i++) {
            const int64_t at = event_at(&t, i).time_ns;

            check_state(&t, &p, at);
            check_state(&t, &p, at + 1);
            if (at > t.origin_ns)
                check_state(&t, &p, at - 1);
        }
        wide += t.wide;
        free(p.at);
        twi_timeline_release(&t);
        run_free(&r);
        workload_free(&w);
    }
    assert_that(wide > 10 && wide < 390); /* some of either kind */
}
END_TEST

/* A phase of so slow a rate that thousands together fit the lanes, or of none. */
static int64_t some_ns(uint64_t *random)
{
    return random_below(random, 4) ? random_between(random, 5000, 40000) : 0;
}

/* Runs of many cells. */
static void check_many_states(int pattern, bool wide)
{
    enum { COUNT = 8000 };
    tw_record *records = malloc(COUNT * sizeof *records);
    int64_t(*at)[3] = malloc(COUNT * sizeof *at);
    uint64_t random = 11;
    twi_timeline t;
    pieces p;
    run r;

    vocabulary_context("pattern %d, %s", pattern, wide ? "wide" : "lanes");
    assert_that(records && at);
    for (int64_t i = 0; i < COUNT; i++) {
        const int64_t start = start_of(pattern, i, &random);
        const int64_t prefill = some_ns(&random);
        const int64_t first = start + prefill;

        at[i][0] = first + some_ns(&random);
        at[i][1] = at[i][0] + (i % 500 ? some_ns(&random) : INT64_C(5000000000));
        at[i][2] = at[i][1] + some_ns(&random);
        records[i] = record(start, first, at[i][2] + some_ns(&random),
                            random_between(&random, 0, 40),
                            random_between(&random, 0, 50));
        if (i % 3 == 0)
            records[i] = with_chunks(records[i], at[i], NULL, 3);
        if (i % 7 == 0)
            records[i] = with_credit(records[i],
                                     start - random_between(&random, 0, 40000));
    }
    if (wide)
        records[COUNT / 3] = giant(20000);
    r = run_of(records, COUNT);
    t = timeline_of(&r, INT64_MIN, INT64_MAX);
    assert_that(t.wide == wide);
    if (pattern == PRESORTED)
        assert_that(t.cell_count >= 5);
    p = pieces_of(records, COUNT);
    check_ascending(&t);
    for (uint64_t c = 0; c < t.cell_count && c < 20; c++) { /* about where cells begin */
        const int64_t begin = t.origin_ns +
                              (int64_t)(c << t.cell_shift << t.events.bucket_shift);
        check_state(&t, &p, begin);
        check_state(&t, &p, begin + 1);
        if (c)
            check_state(&t, &p, begin - 1);
    }
    for (int k = 0; k < 60; k++)
        check_state(&t, &p,
                    event_at(&t, random_below(&random, t.event_count)).time_ns +
                        random_between(&random, 0, 1));
    check_state(&t, &p, event_at(&t, t.event_count - 1).time_ns);
    check_state(&t, &p, TIME_LIMIT);
    free(p.at);
    twi_timeline_release(&t);
    run_free(&r);
    free(at);
    free(records);
}

START_TEST(states_in_many_cells)
{
    for (int pattern = PRESORTED; pattern <= BURSTS; pattern++) {
        check_many_states(pattern, false);
        check_many_states(pattern, true);
    }
}
END_TEST

/* Lanes hold 2^20 requests in flight, however many events there are at one instant. */
START_TEST(lanes_are_left_when_they_would_overflow)
{
    enum { MOST = TWI_LANES_MOST_COUNT };
    tw_record *records = malloc((MOST + 1) * sizeof *records);
    const twi_u192 rate = exact_whole(exact_rate(1, 700000));

    assert_that(records != NULL);
    for (int64_t i = 0; i <= MOST; i++)
        records[i] = record(0, 700000, 1400000, 1, 2);
    for (int more = 0; more < 2; more++) {
        run r = run_of(records, MOST + (size_t)more);
        twi_timeline t = timeline_of(&r, INT64_MIN, INT64_MAX);
        const twi_state in_prefill = state_at(&t, 699999),
                        in_decode = state_at(&t, 1399999);
        twi_big wanted = twi_big_from(rate.w, 3);

        assert_that(t.wide == (more != 0));
        twi_big_multiply64(&wanted, MOST + (uint64_t)more);
        assert_u192(in_prefill.prefill_rate, ((twi_u192){{wanted.w[0], wanted.w[1], 0}}));
        assert_u192(in_decode.decode_rate, in_prefill.prefill_rate);
        assert_u64((uint32_t)in_decode.active_queued, MOST + (uint64_t)more);
        twi_timeline_release(&t);
        run_free(&r);
    }
    free(records);
}
END_TEST

/* More events in a cell than lanes hold requests, for one record is hours away. */
START_TEST(lanes_hold_a_run_with_an_outlier)
{
    enum { COUNT = 300000 };
    tw_record *records = malloc(COUNT * sizeof *records);
    uint64_t random = 14;
    twi_timeline t;
    run r;

    assert_that(records != NULL);
    for (int64_t i = 0; i < COUNT; i++) {
        const int64_t start = random_between(&random, 0, 100000000);
        records[i] = with_credit(record(start, start + 20000, start + 80000, 20, 30),
                                 start - 5000);
    }
    records[COUNT / 2] = record(INT64_C(36000000000000), NEVER, NEVER, 1, 1);
    r = run_of(records, COUNT);
    t = timeline_of(&r, INT64_MIN, INT64_MAX);
    assert_that(!t.wide);
    assert_that(t.bucket_end[0] > TWI_LANES_MOST_COUNT);
    assert_that(farthest_seek(&t) <= 8192);
    twi_timeline_release(&t);
    run_free(&r);
    free(records);
}
END_TEST

/* ---- Slices ------------------------------------------------------------------------ */

enum { SLICES = 16 };

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
            const int64_t at = event_at(t, random_below(random, t->event_count)).time_ns;
            if (at > begin && at < end)
                cuts[i] = at;
        }
    }
    cuts[0] = begin;
    cuts[SLICES] = end;
    qsort(cuts, SLICES + 1, sizeof cuts[0], by_time);
}

/* The same stretches, bit by bit, whether a timeline is in lanes or wide. */
static void check_same_stretches(const twi_timeline *a, const twi_timeline *b,
                                 int64_t begin, int64_t end)
{
    twi_stretches of_a, of_b;
    twi_sweep sweep_a, sweep_b;
    size_t at_a = 0, at_b = 0;
    uint64_t time = 0;

    of_a.count = of_b.count = 0;
    twi_sweep_begin(&sweep_a, a, &twi_kernel_portable, begin, end);
    twi_sweep_begin(&sweep_b, b, &twi_kernel_portable, begin, end);
    for (;; at_a++, at_b++) {
        /* batches may be cut at different places */
        if (at_a == of_a.count) {
            at_a = 0;
            (void)twi_sweep_next(&sweep_a, &of_a);
        }
        if (at_b == of_b.count) {
            at_b = 0;
            (void)twi_sweep_next(&sweep_b, &of_b);
        }
        if (!of_a.count || !of_b.count)
            break;
        assert_u64(of_a.duration_ns[at_a], of_b.duration_ns[at_b]);
        for (int c = 0; c < TWI_CURVE_COUNT; c++)
            assert_same(twi_sweep_value(&of_a, (twi_curve)c, at_a),
                        twi_sweep_value(&of_b, (twi_curve)c, at_b));
        time += of_a.duration_ns[at_a];
    }
    assert_u64(of_a.count, of_b.count);
    assert_u64(time, (uint64_t)end - (uint64_t)begin);
}

/* [BITS] */
START_TEST(slices_are_parts_of_the_whole)
{
    const uint64_t count = vocabulary_count("TIMEWEIGHT_TEST_WORKLOADS", 300);

    for (uint64_t seed = 1; seed <= count; seed++) {
        uint64_t random = seed, events = 0;
        int64_t begin, end, cuts[SLICES + 1];
        twi_timeline t;
        workload w;
        run r;

        assert_i64(workload_new(&w, seed, 60), 0);
        r = run_of(w.records, w.count);
        t = timeline_of(&r, INT64_MIN, INT64_MAX);
        begin = w.has_begin ? w.begin_ns : t.origin_ns - 1;
        end = w.has_end ? w.end_ns : begin;
        if (t.event_count && !w.has_end)
            end = event_at(&t, t.event_count - 1).time_ns + 1;
        if (end < begin)
            end = begin;
        make_cuts(&random, &t, begin, end, cuts);
        for (int i = 0; i < SLICES; i++) {
            twi_timeline slice = timeline_of(&r, cuts[i], cuts[i + 1]);

            vocabulary_context("seed %" PRIu64 ", slice %d", seed, i);
            for (uint64_t k = 0; k < slice.event_count; k++) { /* [begin, end) */
                const int64_t at = event_at(&slice, k).time_ns;
                assert_that(at >= cuts[i] && at < cuts[i + 1]);
            }
            events += slice.event_count;
            check_same_stretches(&slice, &t, cuts[i], cuts[i + 1]);
            twi_timeline_release(&slice);
        }
        for (uint64_t k = 0; k < t.event_count; k++) { /* none is in two slices */
            const int64_t at = event_at(&t, k).time_ns;
            events -= at >= begin && at < end;
        }
        assert_u64(events, 0);
        twi_timeline_release(&t);
        run_free(&r);
        workload_free(&w);
    }
}
END_TEST

/* What happened before a slice is in the state that it begins with. */
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
            const int64_t at =
                event_at(&t, random_below(&random, t.event_count)).time_ns +
                random_between(&random, -1, 1);
            const int64_t end = event_at(&t, t.event_count - 1).time_ns + 1;
            twi_timeline slice = timeline_of(&r, at, INT64_MAX);

            check_same_stretches(&slice, &t, at, end);
            if (at >= t.origin_ns) {
                const twi_state got = state_at(&slice, at), wanted = state_at(&t, at);
                assert_that(memcmp(&got, &wanted, sizeof got) == 0);
            }
            twi_timeline_release(&slice);
        }
        twi_timeline_release(&t);
        run_free(&r);
        workload_free(&w);
    }
}
END_TEST

/* A hundred rates of 1 token/ns fit the lanes one by one, but not together: only the part of
 * the run where they are is wide. The values have the same bits. */
START_TEST(slices_need_not_be_as_wide_as_the_whole)
{
    enum { COUNT = 100 };
    tw_record records[COUNT + 1];
    twi_timeline t, slice;
    run r;

    for (int i = 0; i < COUNT; i++)
        records[i] = record(i, 1000 + i, 2000 + i, 1000 + i % 3, 7);
    records[COUNT] = record(5000, 5010, 5020, 3, 4);
    r = run_of(records, COUNT + 1);
    t = timeline_of(&r, INT64_MIN, INT64_MAX);
    assert_that(t.wide);
    slice = timeline_of(&r, 1150, INT64_MAX); /* all in decode */
    assert_that(!slice.wide);
    check_same_stretches(&slice, &t, 1150, 6000);
    twi_timeline_release(&slice);
    slice = timeline_of(&r, 0, 1050);
    assert_that(slice.wide);
    check_same_stretches(&slice, &t, 0, 1050);
    twi_timeline_release(&slice);
    twi_timeline_release(&t);
    run_free(&r);
}
END_TEST

/* Runs the parts one after the other, the last first; or only some of them. */
static int32_t backwards(void *data, void (*task)(void *context, uint32_t index),
                         void *context, uint32_t count)
{
    uint32_t *most = data;

    *most = count > *most ? count : *most;
    for (uint32_t i = count; i-- > 0;)
        if (*most % 2 || i % 2)
            task(context, i);
    return *most % 2 ? 0 : 1;
}

/* A timeline that is built in parts, by threads of its own or of an executor. */
static void check_parts(const run *r, bool wide, int64_t begin, int64_t end)
{
    const tw_allocator allocator = twi_mem_default();
    const twi_slice slice = {begin, end};
    const int64_t from = begin == INT64_MIN ? -1000 : begin;
    const int64_t to = end == INT64_MAX ? TIME_LIMIT : end;
    twi_timeline whole = timeline_of(r, begin, end);

    assert_that(whole.wide == wide);
    for (uint32_t threads = 2; threads <= 5; threads++) {
        uint32_t most = 0;
        const twi_parallel parallel = {threads, threads % 2 ? NULL : backwards, &most};
        twi_timeline t;

        vocabulary_context("%u threads", (unsigned)threads);
        assert_ok(twi_timeline_build(&t, &allocator, &twi_kernel_portable, &parallel,
                                     r->spans, r->span_count, slice));
        if (parallel.executor)
            assert_u64(most, threads); /* there is work for so many */
        assert_that(t.wide == whole.wide);
        assert_u64(t.event_count, whole.event_count);
        assert_u64(t.events.bucket_count, whole.events.bucket_count);
        assert_u64(t.cell_count, whole.cell_count);
        assert_that(memcmp(t.bucket_end, whole.bucket_end,
                           (size_t)t.events.bucket_count * sizeof *t.bucket_end) == 0);
        if (wide)
            assert_that(memcmp(t.states, whole.states,
                               (size_t)t.cell_count * sizeof *t.states) == 0);
        else
            assert_that(memcmp(t.cells, whole.cells,
                               (size_t)t.cell_count * sizeof *t.cells) == 0);
        check_ascending(&t);
        check_same_stretches(&t, &whole, from, to);
        twi_timeline_release(&t);
    }
    twi_timeline_release(&whole);
}

START_TEST(parts_are_the_whole)
{
    enum { COUNT = 90000 };
    tw_record *records = malloc(COUNT * sizeof *records);
    int64_t(*at)[3] = malloc(COUNT * sizeof *at);

    assert_that(records && at);
    for (int pattern = SCATTERED; pattern <= BURSTS; pattern++) {
        uint64_t random = 12;
        run r;

        for (int64_t i = 0; i < COUNT; i++) {
            const int64_t start = start_of(pattern, i % CROWD, &random);

            at[i][0] = start + 30000 + some_ns(&random);
            at[i][1] = at[i][0] + (i % 1000 ? some_ns(&random) : INT64_C(5000000000));
            at[i][2] = at[i][1] + some_ns(&random);
            records[i] = record(start, start + 20000, at[i][2], 2, 5);
            if (i % 3 == 0)
                records[i] = with_chunks(records[i], at[i], i % 2 ? counts : NULL, 3);
        }
        r = run_of(records, COUNT);
        check_parts(&r, false, INT64_MIN, INT64_MAX);
        check_parts(&r, false, 500000, 700000);
        run_free(&r);
        records[COUNT - 1] = giant(40);
        r = run_of(records, COUNT);
        check_parts(&r, true, INT64_MIN, INT64_MAX);
        run_free(&r);
    }
    free(at);
    free(records);
}
END_TEST

START_TEST(slices_beside_the_run)
{
    const tw_record records[] = {record(100, 150, 200, 5, 6),
                                 record(120, 150, NEVER, 5, 6)};
    static const struct {
        int64_t begin, end;
        uint64_t active;
    } cases[] = {{INT64_MIN, 100, 0}, {0, 50, 0},    {201, 300, 1}, {200, INT64_MAX, 1},
                 {150, 150, 2},       {130, 140, 2}, {100, 101, 1}};
    run r = run_of(records, 2);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t begin = cases[i].begin == INT64_MIN ? -50 : cases[i].begin;
        const int64_t end = cases[i].end == INT64_MAX ? 400 : cases[i].end;
        twi_timeline t = timeline_of(&r, INT64_MIN, INT64_MAX);
        twi_timeline slice = timeline_of(&r, cases[i].begin, cases[i].end);

        vocabulary_context("case %zu", i);
        check_same_stretches(&slice, &t, begin, end);
        if (begin >= 100)
            assert_u64((uint32_t)state_at(&slice, begin).active_queued, cases[i].active);
        twi_timeline_release(&slice);
        twi_timeline_release(&t);
    }
    run_free(&r);
}
END_TEST

START_TEST(empty_timeline)
{
    run r = run_of(NULL, 0);
    twi_timeline t = timeline_of(&r, INT64_MIN, INT64_MAX);

    assert_u64(t.event_count, 0);
    assert_i64(t.origin_ns, 0);
    assert_u64(twi_timeline_seek(&t, 0).next, 0);
    assert_u64(twi_timeline_seek(&t, UINT64_C(1) << 63).next, 0);
    twi_timeline_release(&t);
    twi_timeline_release(&t); /* leaves it empty */
    run_free(&r);
}
END_TEST

static void check_without_memory(const tw_record *records, size_t count)
{
    const twi_slice whole = {INT64_MIN, INT64_MAX};
    run r = run_of(records, count);
    int32_t status = TW_ERR_NOMEM;

    for (uint64_t n = 1; status; n++) {
        twi_timeline t;
        memory m;

        memory_init(&m);
        memory_fail_nth(&m, n);
        status = twi_timeline_build(&t, &m.allocator, &twi_kernel_portable, &one_thread,
                                    r.spans, r.span_count, whole);
        if (status)
            assert_status(status, TW_ERR_NOMEM);
        else
            twi_timeline_release(&t);
        memory_done(&m);
    }
    run_free(&r);
}

START_TEST(timeline_without_memory)
{
    const tw_record few[] = {with_chunks(record(0, 10, 20, 1, 4), arrivals, counts, 3),
                             record(0, 10, 20, 1, 4), giant(30)};
    tw_record many[100];

    check_without_memory(few, 2);
    check_without_memory(few, 3); /* lanes first, then wide */
    for (int i = 0; i < 100; i++) /* a bucket that takes scratch memory */
        many[i] = record(0, 10, 20, 1, 4);
    check_without_memory(many, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timeline");
    TCase *curve = vocabulary_case(suite, "curve"),
          *entries = vocabulary_case(suite, "entries"),
          *order = vocabulary_case(suite, "order"),
          *states = vocabulary_case(suite, "states"),
          *slices = vocabulary_case(suite, "slices");

    tcase_add_test(curve, eligible_records);
    tcase_add_test(entries, events_of_a_record);
    tcase_add_test(entries, events_of_other_records);
    tcase_add_test(entries, rates_at_the_limits);
    tcase_add_test(entries, gaps_without_counts);
    tcase_add_test(entries, gaps_with_counts);
    tcase_add_test(entries, no_gaps);
    tcase_add_test(entries, long_gaps);
    tcase_add_test(entries, tokens_of_gaps_sum_exactly);
    tcase_add_test(order, order_of_buckets);
    tcase_add_test(order, order_of_a_timeline);
    tcase_add_test(order, work_is_linear);
    tcase_add_test(states, states_are_the_sums_of_the_records);
    tcase_add_test(states, states_in_many_cells);
    tcase_add_test(states, lanes_are_left_when_they_would_overflow);
    tcase_add_test(states, lanes_hold_a_run_with_an_outlier);
    tcase_add_test(slices, slices_are_parts_of_the_whole);
    tcase_add_test(slices, slice_with_carry_is_the_whole);
    tcase_add_test(slices, slices_need_not_be_as_wide_as_the_whole);
    tcase_add_test(slices, parts_are_the_whole);
    tcase_add_test(slices, slices_beside_the_run);
    tcase_add_test(slices, empty_timeline);
    tcase_add_test(slices, timeline_without_memory);
    return vocabulary_main(suite);
}
