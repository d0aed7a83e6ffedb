/* SPDX-License-Identifier: MIT */
/* Statistics of weighted values: distributions, ranks, selection. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stat/dist.h"
#include "stat/rank.h"
#include "stat/select.h"
#include "vocabulary.h"

static const twi_scale whole = {1, 1, 0};

/* ---- Weighted values --------------------------------------------------------------- */

typedef struct weighted {
    twi_u192 value;
    uint64_t weight;
} weighted;

static twi_dist dist_new(void)
{
    const tw_allocator allocator = twi_mem_default();
    twi_dist dist;

    twi_dist_init(&dist, &allocator);
    return dist;
}

static void feed(twi_dist *dist, const weighted *values, size_t count)
{
    while (count) {
        twi_pairs pairs = {.count = count < TWI_BATCH_SIZE ? count : TWI_BATCH_SIZE};

        for (size_t i = 0; i < pairs.count; i++) {
            pairs.value[i] = values[i].value;
            pairs.weight[i] = values[i].weight;
        }
        assert_ok(twi_dist_feed(dist, &pairs));
        values += pairs.count;
        count -= pairs.count;
    }
}

static twi_dist dist_of(const weighted *values, size_t count)
{
    twi_dist dist = dist_new();
    feed(&dist, values, count);
    return dist;
}

static int by_value(const void *left, const void *right)
{
    const weighted *a = left, *b = right;
    return twi_less(b->value, a->value) - twi_less(a->value, b->value);
}

/* How random values may be spread. */
enum spread {
    ALL_SIZES,   /* of any length up to 190 bits */
    SMALL,       /* below 2^11: each has a bin of its own */
    TIED,        /* five values */
    MOSTLY_ZERO, /* and a few others */
    ONE_BIN,     /* distinct, but alike in their leading bits */
    TWO_LEVELS,  /* alike until some bits further down, in clusters */
    NEIGHBOURS,  /* consecutive, around the borders of bins */
    HUGE_AND_TINY,
    ONE_VALUE,
    SPREADS
};

static twi_u192 random_value(uint64_t *random, int spread, size_t i)
{
    static const twi_u192 base = {{UINT64_C(0x0123456789abcdef),
                                   UINT64_C(0xfedcba9876543210), UINT64_C(0x2abcdef0)}};
    twi_u192 value = {{0, 0, 0}};

    switch (spread) {
    case ALL_SIZES:
        return random_u192(random, 190);
    case SMALL:
        return twi_from64(random_below(random, 2048));
    case TIED:
        return twi_shl(twi_from64(random_below(random, 5)), 100);
    case MOSTLY_ZERO:
        return random_below(random, 10) ? value : random_u192(random, 130);
    case ONE_BIN:
        return twi_add(base, twi_from64(i * 7919));
    case TWO_LEVELS:
        value = twi_shl(twi_from64(random_below(random, 6)), 90);
        value = twi_add(value, twi_shl(twi_from64(random_below(random, 70)), 20));
        return twi_add(base, twi_add(value, twi_from64(random_below(random, 3))));
    case NEIGHBOURS:
        value = twi_shl(twi_from64(1024 + random_below(random, 2)), 50);
        return twi_add(twi_sub(value, twi_from64(50)),
                       twi_from64(random_below(random, 100)));
    case HUGE_AND_TINY:
        return random_below(random, 2) ? twi_from64(random_below(random, 3))
                                       : twi_sub(twi_shl(twi_from64(1), 190),
                                                 twi_from64(random_below(random, 3)));
    default:
        return base;
    }
}

static void make_values(uint64_t *random, int spread, weighted *values, size_t count)
{
    const unsigned bits = (unsigned)random_below(random, 3) * 20;

    for (size_t i = 0; i < count; i++) {
        values[i].value = random_value(random, spread, i);
        values[i].weight = 1 + (random_next(random) & ((UINT64_C(1) << bits) - 1));
    }
    for (size_t i = count; i > 1; i--) {
        const size_t other = (size_t)random_below(random, i);
        const weighted kept = values[i - 1];
        values[i - 1] = values[other];
        values[other] = kept;
    }
}

/* ---- Distributions ----------------------------------------------------------------- */

static weighted small(uint64_t value, uint64_t weight)
{
    return (weighted){{{value, 0, 0}}, weight};
}

/* [AVG] */
START_TEST(moments_by_hand)
{
    const weighted values[] = {small(3, 1), small(0, 2), small(1, 1)};
    const twi_scale thirds = {2, 3, 1}; /* n * 2 / 3 / 2 */
    twi_dist dist = dist_of(values, 3);
    twi_moments m;

    assert_u64(dist.weight, 4);
    assert_u64(dist.zero_weight, 2);
    assert_u192(dist.least, twi_from64(1));
    assert_u192(dist.most, twi_from64(3));
    m = twi_dist_moments(&dist, 0, whole);
    assert_same(m.avg, 1.0);
    assert_same(m.sum, 4.0);
    assert_same(m.min, 0.0);
    assert_same(m.max, 3.0);
    assert_same(m.std, sqrt(1.5)); /* (2 * 1 + 0 + 4) / 4 */
    m = twi_dist_moments(&dist, 1, whole);
    assert_same(m.avg, 4 / 3.0);
    assert_same(m.min, 0.0);
    m = twi_dist_moments(&dist, 2, whole); /* without the zeros: 1 and 3 */
    assert_same(m.avg, 2.0);
    assert_same(m.min, 1.0);
    assert_same(m.std, 1.0);
    m = twi_dist_moments(&dist, 0, thirds);
    assert_same(m.avg, 1 / 3.0);
    assert_same(m.sum, 4 / 3.0);
    assert_same(m.max, 1.0);
    assert_near(m.std, sqrt(1.5) / 3, 1e-15, 0);
    twi_dist_release(&dist);
}
END_TEST

START_TEST(moments_of_one_value)
{
    const weighted zero = small(0, 7), seven = small(7, UINT64_MAX);
    twi_dist dist = dist_of(&zero, 1);
    twi_moments m = twi_dist_moments(&dist, 0, whole);

    assert_same(m.avg, 0.0);
    assert_same(m.std, 0.0);
    assert_same(m.min, 0.0);
    assert_same(m.max, 0.0);
    assert_same(m.sum, 0.0);
    twi_dist_release(&dist);
    dist = dist_of(&seven, 1);
    m = twi_dist_moments(&dist, 0, whole);
    assert_same(m.avg, 7.0);
    assert_same(m.std, 0.0); /* not a rounding error */
    assert_same(m.min, 7.0);
    assert_same(m.max, 7.0);
    twi_dist_release(&dist);
}
END_TEST

/* The spread of values that hardly differ: nothing cancels. */
START_TEST(moments_of_close_values)
{
    const weighted values[] = {small(UINT64_C(1) << 62, 1),
                               small((UINT64_C(1) << 62) + 2, 1)};
    twi_dist dist = dist_of(values, 2);

    assert_same(twi_dist_moments(&dist, 0, whole).std, 1.0);
    assert_same(twi_dist_moments(&dist, 0, whole).avg, 0x1p62);
    twi_dist_release(&dist);
}
END_TEST

/* Small values, against long double. */
/* What the recomputation in long double is good for: little more than double where that is
 * all that a long double is (valgrind, some machines). */
static double precision(void)
{
    volatile long double one = 1, little = 0x1p-60L;
    return one + little > one ? 5e-16 : 1e-13;
}

START_TEST(moments_recomputed)
{
    enum { COUNT = 300 };
    weighted values[COUNT];
    uint64_t random = 1;

    for (int k = 0; k < 300; k++) {
        long double weight = 0, sum = 0, squares = 0, least = INFINITY, most = 0;
        twi_moments m;
        twi_dist dist;

        for (int i = 0; i < COUNT; i++) {
            values[i] = small(random_below(&random, 30000),
                              1 + random_below(&random, 9999));
            weight += (long double)values[i].weight;
            sum += (long double)values[i].weight * (long double)values[i].value.w[0];
            least = fminl(least, (long double)values[i].value.w[0]);
            most = fmaxl(most, (long double)values[i].value.w[0]);
        }
        for (int i = 0; i < COUNT; i++) {
            const long double off = (long double)values[i].value.w[0] - sum / weight;
            squares += off * off * (long double)values[i].weight;
        }
        dist = dist_of(values, COUNT);
        m = twi_dist_moments(&dist, 0, whole);
        assert_near(m.avg, (double)(sum / weight), precision(), 0);
        assert_near(m.sum, (double)sum, precision(), 0);
        assert_same(m.min, (double)least);
        assert_same(m.max, (double)most);
        assert_near(m.std, (double)sqrtl(squares / weight), precision(), 0);
        twi_dist_release(&dist);
    }
}
END_TEST

/* Large values: the sums, limb for limb, against long multiplication. */
START_TEST(sums_recomputed)
{
    enum { MOST = 400 };
    weighted values[MOST];
    uint64_t random = 2;

    for (int k = 0; k < 400; k++) {
        const size_t count = 1 + (size_t)random_below(&random, MOST);
        twi_big sum = twi_big_from64(0), squares = sum, got;
        uint64_t weight = 0, zero = 0;
        twi_dist dist;

        make_values(&random, k % SPREADS, values, count);
        if (k % 5 == 0) /* as large as can be */
            values[0] = (weighted){{{UINT64_MAX, UINT64_MAX, UINT64_MAX}},
                                   UINT64_C(1) << 62};
        for (size_t i = 0; i < count; i++) {
            const twi_big value = twi_big_from(values[i].value.w, 3);
            twi_big square = twi_big_multiply(&value, &value), part = value;

            twi_big_multiply64(&part, values[i].weight);
            twi_big_add(&sum, &part);
            twi_big_multiply64(&square, values[i].weight);
            twi_big_add(&squares, &square);
            weight += values[i].weight;
            zero += twi_is_zero(values[i].value) ? values[i].weight : 0;
        }
        dist = dist_of(values, count);
        got = twi_big_from(dist.sum, 4);
        assert_i64(twi_big_compare(&got, &sum), 0);
        got = twi_big_from(dist.square_sum, 7);
        assert_i64(twi_big_compare(&got, &squares), 0);
        assert_u64(dist.weight, weight);
        assert_u64(dist.zero_weight, zero);
        twi_dist_release(&dist);
    }
}
END_TEST

/* Parts in any order and any tree of merges: the same bits. */
START_TEST(merges)
{
    enum { COUNT = 500, PARTS = 7 };
    weighted values[COUNT];
    uint64_t random = 3;

    for (int k = 0; k < 100; k++) {
        twi_dist all, parts[PARTS];
        size_t begin = 0, left = PARTS;

        vocabulary_context("run %d", k);
        make_values(&random, k % SPREADS, values, COUNT);
        all = dist_of(values, COUNT);
        for (int p = 0; p < PARTS; p++) { /* some of them empty */
            const size_t some = p + 1 < PARTS ? (size_t)random_below(&random, 100) : 400;
            const size_t count = some < COUNT - begin ? some : COUNT - begin;
            parts[p] = dist_of(values + begin, count);
            begin += count;
        }
        feed(&parts[0], values + begin, COUNT - begin);
        while (left > 1) { /* any two become one */
            const size_t into = (size_t)random_below(&random, left);
            const size_t from = (into + 1 + (size_t)random_below(&random, left - 1)) %
                                left;

            assert_ok(twi_dist_merge(&parts[into], &parts[from]));
            twi_dist_release(&parts[from]);
            parts[from] = parts[--left];
        }
        assert_same_dist(&parts[0], &all);
        twi_dist_release(&parts[0]);
        twi_dist_release(&all);
    }
}
END_TEST

START_TEST(merge_with_nothing)
{
    const weighted values[] = {small(5, 2), small(0, 1)};
    twi_dist a = dist_of(values, 2), b = dist_of(values, 2), none = dist_new();

    assert_ok(twi_dist_merge(&a, &none));
    assert_same_dist(&a, &b);
    assert_ok(twi_dist_merge(&none, &a));
    assert_same_dist(&none, &b);
    twi_dist_release(&a);
    twi_dist_release(&b);
    twi_dist_release(&none);
}
END_TEST

START_TEST(dist_without_memory)
{
    twi_pairs pairs = {.count = 3, .weight = {1, 1, 1}};
    memory m;
    twi_dist dist, from = dist_new();

    pairs.value[0] = twi_from64(0); /* takes no page */
    pairs.value[1] = twi_from64(1);
    pairs.value[2] = twi_shl(twi_from64(1), 100);
    assert_ok(twi_dist_feed(&from, &pairs));
    for (uint64_t n = 1; n <= 3; n++) {
        memory_init(&m);
        memory_fail_nth(&m, n);
        twi_dist_init(&dist, &m.allocator);
        assert_status(twi_dist_feed(&dist, &pairs), n <= 2 ? TW_ERR_NOMEM : TW_OK);
        twi_dist_release(&dist);
        memory_done(&m);
        memory_fail_nth(&m, n);
        twi_dist_init(&dist, &m.allocator);
        assert_status(twi_dist_merge(&dist, &from), n <= 2 ? TW_ERR_NOMEM : TW_OK);
        twi_dist_release(&dist);
        memory_done(&m);
    }
    twi_dist_release(&from);
}
END_TEST

START_TEST(bins_ascend)
{
    uint64_t random = 4;

    for (uint64_t i = 1; i < 2048; i++) /* one bin each */
        assert_that(twi_bin_number(twi_from64(i)) < twi_bin_number(twi_from64(i + 1)));
    for (int i = 0; i < 100000; i++) {
        const twi_u192 a = twi_add(random_u192(&random, 190), twi_from64(1));
        const twi_u192 b = twi_add(a, random_u192(&random, 190));
        assert_that(twi_bin_number(a) <= twi_bin_number(b));
        assert_that(twi_bin_number(b) < TWI_BIN_PAGES * TWI_BIN_SLOTS);
    }
}
END_TEST

/* The place of each rank, against the sorted values. */
START_TEST(bins_of_ranks)
{
    enum { COUNT = 400 };
    weighted values[COUNT];
    uint64_t random = 5;

    for (int k = 0; k < 5 * SPREADS; k++) {
        uint64_t upto = 0;
        twi_dist dist;

        vocabulary_context("run %d", k);
        make_values(&random, k % SPREADS, values, COUNT);
        dist = dist_of(values, COUNT);
        qsort(values, COUNT, sizeof *values, by_value);
        for (int i = 0; i < COUNT; i++) {
            const uint64_t ranks[] = {upto + 1, upto + values[i].weight};

            for (int r = 0; r < 2; r++) {
                const twi_bin bin = twi_dist_find(&dist, ranks[r]);
                uint64_t before = 0;

                assert_that(!twi_less(values[i].value, bin.low));
                assert_that(twi_less(twi_sub(values[i].value, bin.low),
                                     twi_shl(twi_from64(1), bin.bits)));
                for (int j = 0; j < COUNT && twi_less(values[j].value, bin.low); j++)
                    before += values[j].weight;
                assert_u64(bin.before, before);
                if (twi_bits(values[i].value) <= TWI_BIN_BITS + 1)
                    assert_u64(bin.bits, 0);
            }
            upto += values[i].weight;
        }
        assert_u64(upto, dist.weight);
        twi_dist_release(&dist);
    }
}
END_TEST

START_TEST(values_in_units)
{
    assert_same(twi_dist_value(twi_from64(1234567), (twi_scale){1, 1000000, 0}),
                1.234567);
    assert_same(
        twi_dist_value(twi_shl(twi_from64(3), 87), (twi_scale){1000000000, 1, 88}),
        1.5e9);
    assert_same(twi_dist_value(twi_from64(0), (twi_scale){1000000000, 1, 88}), 0.0);
}
END_TEST

/* ---- Ranks ------------------------------------------------------------------------- */

/* [Q] */
START_TEST(quantiles_are_rounded_to_12_places)
{
    static const struct {
        double q;
        uint64_t quantile;
    } known[] = {
        {0, 0},
        {-0.0, 0},
        {1, 1000000000000},
        {0.9, 900000000000},
        {0.1, 100000000000},
        {0.5, 500000000000},
        {0.99, 990000000000},
        {0.999, 999000000000},
        {1 / 3.0, 333333333333},
        {2 / 3.0, 666666666667},
        {0.123456789012, 123456789012},
        {0.1234567890124, 123456789012},
        {0.1234567890126, 123456789013},
        {1e-12, 1},
        {1.4e-12, 1},
        {1.6e-12, 2},
        {6e-13, 1},
        {4e-13, 0},
        {1e-13, 0},
        {1e-100, 0},
        {0x1p-1074, 0},
        {1 - 1e-12, 999999999999},
        {1 - 1e-13, 1000000000000},
        {1 - 0x1p-53, 1000000000000},
    };
    uint64_t random = 6, quantile;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        vocabulary_context("%.17g", known[i].q);
        quantile = 77;
        assert_that(twi_quantile_from(known[i].q, &quantile));
        assert_u64(quantile, known[i].quantile);
    }
    for (int i = 0; i < 100000; i++) {
        const uint64_t wanted = random_below(&random, 1000000000001);
        assert_that(twi_quantile_from((double)wanted / 1e12, &quantile));
        assert_u64(quantile, wanted);
    }
}
END_TEST

START_TEST(quantiles_refused)
{
    const double wrong[] = {1 + 0x1p-52, 2,         -0x1p-1074,  -0.1,
                            HUGE_VAL,    -HUGE_VAL, (double)NAN, -(double)NAN};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint64_t quantile;
        vocabulary_context("%g", wrong[i]);
        assert_that(!twi_quantile_from(wrong[i], &quantile));
    }
}
END_TEST

static void check_place(twi_place got, uint64_t rank, uint64_t fraction)
{
    assert_u64(got.rank, rank);
    assert_u64(got.fraction, fraction);
}

/* [Q] */
START_TEST(places_least)
{
    const uint64_t one = TWI_QUANTILE_ONE, most = UINT64_C(1) << 62;
    uint64_t random = 7;

    check_place(twi_place_least(0, 10), 1, 0);
    check_place(twi_place_least(1, 10), 1, 0);
    check_place(twi_place_least(one / 10, 10), 1, 0);
    check_place(twi_place_least(one / 10 + 1, 10), 2, 0);
    check_place(twi_place_least(one / 10 * 9, 10), 9,
                0); /* nine tenths are nine tenths */
    check_place(twi_place_least(one / 10 * 9 + 1, 10), 10, 0);
    check_place(twi_place_least(one, 10), 10, 0);
    check_place(twi_place_least(0, 1), 1, 0);
    check_place(twi_place_least(one, 1), 1, 0);
    check_place(twi_place_least(one, most), most, 0);
    check_place(twi_place_least(one / 2, most), most / 2, 0);
    check_place(twi_place_least(one, UINT64_MAX), UINT64_MAX, 0);
    for (int i = 0; i < 50000; i++) { /* the least rank with rank * ONE >= q * weight */
        const uint64_t weight = 1 + (random_next(&random) >> random_below(&random, 64));
        const uint64_t quantile = random_below(&random, one + 1);
        const twi_place place = twi_place_least(quantile, weight ? weight : 1);
        const twi_u192 wanted = twi_product(quantile, weight ? weight : 1);

        assert_that(!twi_less(twi_product(place.rank, one), wanted));
        assert_that(place.rank == 1 ||
                    twi_less(twi_product(place.rank - 1, one), wanted));
        assert_u64(place.fraction, 0);
    }
}
END_TEST

/* [SAMPLE] */
START_TEST(places_interpolated)
{
    const uint64_t one = TWI_QUANTILE_ONE;
    uint64_t random = 8;

    check_place(twi_place_interpolated(0, 5), 1, 0);
    check_place(twi_place_interpolated(one / 2, 5), 3, 0);
    check_place(twi_place_interpolated(one / 10 * 9, 5), 4, one / 10 * 6); /* 3.6 */
    check_place(twi_place_interpolated(one / 4, 4), 1, one / 4 * 3);       /* 0.75 */
    check_place(twi_place_interpolated(one, 5), 5, 0);
    check_place(twi_place_interpolated(one / 3, 1), 1, 0);
    check_place(twi_place_interpolated(1, 2), 1, 1);
    for (int i = 0; i < 50000; i++) { /* (rank - 1) ONE + fraction = q (n - 1) */
        const uint64_t count = 1 +
                               (random_next(&random) >> (1 + random_below(&random, 63)));
        const uint64_t quantile = random_below(&random, one + 1);
        const twi_place place = twi_place_interpolated(quantile, count);

        assert_that(place.fraction < one);
        assert_u192(twi_add(twi_product(place.rank - 1, one), twi_from64(place.fraction)),
                    twi_product(quantile, count - 1));
        assert_that(place.rank < count || (place.rank == count && !place.fraction));
    }
}
END_TEST

/* ---- Selection --------------------------------------------------------------------- */

static twi_u192 value_at_rank(const weighted *sorted, uint64_t rank)
{
    for (uint64_t upto = 0;; sorted++) {
        upto += sorted->weight;
        if (rank <= upto)
            return sorted->value;
    }
}

/* Selects and compares with a full sort; returns the number of passes. */
static int check_select(weighted *values, size_t count, const uint64_t *ranks,
                        size_t rank_count)
{
    twi_target *targets = malloc(rank_count * sizeof *targets);
    twi_dist dist = dist_of(values, count);
    twi_range *ranges;
    twi_select select;
    size_t open;
    int passes = 0;

    assert_that(targets != NULL);
    memset(targets, 0x77, rank_count * sizeof *targets);
    for (size_t i = 0; i < rank_count; i++) {
        targets[i].rank = ranks[i];
        targets[i].owner = i;
    }
    open = twi_select_locate(&select, &dist, targets, rank_count);
    assert_that(open <= rank_count);
    ranges = malloc(open * sizeof *ranges + 1); /* no more than it asked for */
    assert_that(ranges != NULL);
    twi_select_begin(&select, ranges);
    while (!twi_select_done(&select)) {
        for (size_t i = 0; i < count; i += TWI_BATCH_SIZE) {
            twi_pairs pairs = {.count = count - i < TWI_BATCH_SIZE ? count - i
                                                                   : TWI_BATCH_SIZE};
            for (size_t k = 0; k < pairs.count; k++) {
                pairs.value[k] = values[i + k].value;
                pairs.weight[k] = values[i + k].weight;
            }
            twi_select_feed(&select, &pairs);
        }
        twi_select_narrow(&select);
        passes++;
        assert_that(passes <= 1 + (192 - TWI_BIN_BITS) / TWI_SELECT_SPLIT_BITS);
    }
    qsort(values, count, sizeof *values, by_value);
    for (size_t i = 0; i < rank_count; i++) {
        assert_that(targets[i].found);
        assert_u64(targets[i].rank, ranks[targets[i].owner]);
        assert_u192(targets[i].value, value_at_rank(values, targets[i].rank));
    }
    free(ranges);
    free(targets);
    twi_dist_release(&dist);
    return passes;
}

START_TEST(selection_against_sorting)
{
    enum { MOST = 4000, RANKS = 60 };
    weighted *values = malloc(MOST * sizeof *values);
    uint64_t random = 9, ranks[RANKS];
    static const size_t sizes[] = {1, 2, 31, 32, 33, 34, 100, 257, 1000, MOST};

    assert_that(values != NULL);
    for (int spread = 0; spread < SPREADS; spread++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            for (int k = 0; k < 6; k++) {
                const size_t wanted = 1 + (size_t)random_below(&random, RANKS);
                uint64_t weight = 0;

                vocabulary_context("spread %d, %zu values, run %d", spread, sizes[s], k);
                make_values(&random, spread, values, sizes[s]);
                for (size_t i = 0; i < sizes[s]; i++)
                    weight += values[i].weight;
                for (size_t i = 0; i < wanted; i++)
                    ranks[i] = 1 + random_below(&random, weight);
                ranks[0] = weight;
                if (wanted > 2) {
                    ranks[1] = 1;
                    ranks[2] = ranks[wanted - 1]; /* twice the same */
                }
                check_select(values, sizes[s], ranks, wanted);
            }
        }
    }
    free(values);
}
END_TEST

START_TEST(selection_of_every_rank)
{
    enum { COUNT = 120 };
    weighted values[COUNT];
    uint64_t random = 10;

    for (int spread = 0; spread < SPREADS; spread++) {
        uint64_t ranks[COUNT];

        vocabulary_context("spread %d", spread);
        make_values(&random, spread, values, COUNT);
        for (uint64_t i = 0; i < COUNT; i++) {
            values[i].weight = 1;
            ranks[i] = COUNT - i;
        }
        check_select(values, COUNT, ranks, COUNT);
    }
}
END_TEST

START_TEST(selection_takes_few_passes)
{
    enum { COUNT = 4000 };
    weighted *values = malloc(COUNT * sizeof *values);
    const uint64_t middle = COUNT / 2;

    assert_that(values != NULL);
    for (size_t i = 0; i < COUNT; i++) /* 32 values in the bin of 2^100 */
        values[i] = (weighted){
            twi_add(twi_shl(twi_from64(1), 100), twi_from64(i % TWI_SELECT_FEW)), 1};
    assert_i64(check_select(values, COUNT, &middle, 1), 1);
    for (size_t i = 0; i < COUNT; i++) /* a bin of their own: none at all */
        values[i] = small(i % 1000, 1);
    assert_i64(check_select(values, COUNT, &middle, 1), 0);
    for (size_t i = 0; i < COUNT; i++) /* 4000 values spread evenly over one bin */
        values[i] = (weighted){
            twi_add(twi_shl(twi_from64(1), 100), twi_shl(twi_from64(i), 77)), 1};
    assert_i64(check_select(values, COUNT, &middle, 1), 2);
    free(values);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stat");
    TCase *dist = vocabulary_case(suite, "dist"), *rank = vocabulary_case(suite, "rank"),
          *selection = vocabulary_case(suite, "selection");

    tcase_add_test(dist, moments_by_hand);
    tcase_add_test(dist, moments_of_one_value);
    tcase_add_test(dist, moments_of_close_values);
    tcase_add_test(dist, moments_recomputed);
    tcase_add_test(dist, sums_recomputed);
    tcase_add_test(dist, merges);
    tcase_add_test(dist, merge_with_nothing);
    tcase_add_test(dist, dist_without_memory);
    tcase_add_test(dist, bins_ascend);
    tcase_add_test(dist, bins_of_ranks);
    tcase_add_test(dist, values_in_units);
    tcase_add_test(rank, quantiles_are_rounded_to_12_places);
    tcase_add_test(rank, quantiles_refused);
    tcase_add_test(rank, places_least);
    tcase_add_test(rank, places_interpolated);
    tcase_add_test(selection, selection_against_sorting);
    tcase_add_test(selection, selection_of_every_rank);
    tcase_add_test(selection, selection_takes_few_passes);
    return vocabulary_main(suite);
}
