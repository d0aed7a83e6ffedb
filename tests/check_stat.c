/* SPDX-License-Identifier: MIT */
/* Statistics of weighted values: exact sums, distributions, ranks, selection. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stat/dist.h"
#include "stat/rank.h"
#include "stat/select.h"
#include "stat/sum.h"
#include "vocabulary.h"

static const twi_scale whole = {1, 1, 0};
static const twi_kernel *const kernel = &twi_kernel_portable;

/* ---- Weighted values --------------------------------------------------------------- */

typedef struct weighted {
    double value;
    uint64_t weight;
} weighted;

/* Gives out values in arrays of the size that everything is fed with. */
typedef void (*batch_fn)(void *context, const double *value, const uint64_t *weight,
                         size_t count);

static void for_each_batch(const weighted *values, size_t count, batch_fn take,
                           void *context)
{
    while (count) {
        const size_t some = count < TWI_BATCH_SIZE ? count : TWI_BATCH_SIZE;
        double value[TWI_BATCH_SIZE];
        uint64_t weight[TWI_BATCH_SIZE];

        for (size_t i = 0; i < some; i++) {
            value[i] = values[i].value;
            weight[i] = values[i].weight;
        }
        take(context, value, weight, some);
        values += some;
        count -= some;
    }
}

static void dist_init(twi_dist *dist, unsigned bin_bits)
{
    const tw_allocator allocator = twi_mem_default();
    twi_dist_init(dist, &allocator, bin_bits);
}

static void feed_batch(void *context, const double *value, const uint64_t *weight,
                       size_t count)
{
    assert_ok(twi_dist_feed(context, kernel, value, weight, count));
}

static void feed_moments_batch(void *context, const double *value, const uint64_t *weight,
                               size_t count)
{
    kernel->moments(value, weight, count, &((twi_dist *)context)->moments);
}

static void feed(twi_dist *dist, const weighted *values, size_t count)
{
    for_each_batch(values, count, feed_batch, dist);
}

static void feed_moments(twi_dist *dist, const weighted *values, size_t count)
{
    for_each_batch(values, count, feed_moments_batch, dist);
}

/* Both passes. */
static void fill(twi_dist *dist, unsigned bin_bits, const weighted *values, size_t count)
{
    dist_init(dist, bin_bits);
    feed(dist, values, count);
    twi_dist_settle(dist);
    feed_moments(dist, values, count);
}

/* The same as levels: the values are small. */
static void fill_levels(twi_dist *dist, const weighted *values, size_t count)
{
    dist_init(dist, TWI_BIN_MOST_BITS);
    for (size_t i = 0; i < count; i++) {
        const uint32_t value = (uint32_t)values[i].value;
        assert_ok(twi_dist_feed_levels(dist, &value, &values[i].weight, 1));
    }
    twi_dist_settle(dist);
}

static int by_value(const void *left, const void *right)
{
    const weighted *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

/* How random values may be spread. */
enum spread {
    ALL_SIZES,   /* up to 2^190 */
    SMALL,       /* below 2^11 */
    TIED,        /* five values */
    MOSTLY_ZERO, /* and a few others */
    ONE_BIN,     /* distinct, but alike in their leading bits */
    TWO_LEVELS,  /* alike until some bits further down, in clusters */
    NEIGHBOURS,  /* consecutive, around the borders of bins */
    HUGE_AND_TINY,
    ONE_VALUE,
    SPREADS
};

static double random_value(uint64_t *random, int spread, size_t i)
{
    const uint64_t base = twi_f64_bits(0x1.234p100); /* where a bin begins */
    uint64_t bits;

    switch (spread) {
    case ALL_SIZES:
        return exact_double(random_u192(random, 190));
    case SMALL:
        return (double)random_below(random, 2048);
    case TIED:
        return ldexp((double)random_below(random, 5), 100);
    case MOSTLY_ZERO:
        return random_below(random, 10) ? 0 : exact_double(random_u192(random, 130));
    case ONE_BIN:
        return twi_f64_from_bits(base + i * 7919);
    case TWO_LEVELS:
        bits = random_below(random, 6) << 36 | random_below(random, 70) << 20;
        return twi_f64_from_bits(base + bits + random_below(random, 3));
    case NEIGHBOURS:
        bits = base + (random_below(random, 2) << 40) + random_below(random, 100);
        return twi_f64_from_bits(bits - 50);
    case HUGE_AND_TINY:
        return random_below(random, 2) ? (double)random_below(random, 3)
                                       : twi_f64_from_bits(twi_f64_bits(0x1p192) - 1 -
                                                           random_below(random, 3));
    default:
        return 0x1.23456789abcdep77;
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

/* ---- Sums -------------------------------------------------------------------------- */

static void add_times(twi_big *sum, twi_u192 value, uint64_t weight)
{
    twi_big part = twi_big_from(value.w, 3);

    twi_big_multiply64(&part, weight);
    twi_big_add(sum, &part);
}

/* The exact sum, in its unit. */
static twi_big sum_of(const weighted *values, size_t count)
{
    twi_big sum = twi_big_from64(0);

    for (size_t i = 0; i < count; i++)
        add_times(&sum, exact_whole(values[i].value), values[i].weight);
    twi_big_shift(&sum, TWI_SUM_SHIFT);
    return sum;
}

static void check_sum(const twi_sum *got, const twi_big *wanted)
{
    const twi_big big = twi_big_from(got->w, TWI_SUM_LIMBS);
    assert_i64(twi_big_compare(&big, wanted), 0);
}

START_TEST(sums_are_exact)
{
    enum { COUNT = 300 };
    weighted values[COUNT];
    uint64_t random = 21;

    for (int k = 0; k < 20 * SPREADS; k++) {
        twi_sum sum = {{0}}, parts[2] = {{{0}}, {{0}}};
        twi_big wanted;

        vocabulary_context("run %d", k);
        make_values(&random, k % SPREADS, values, COUNT);
        wanted = sum_of(values, COUNT);
        for (int i = 0; i < COUNT; i++) {
            twi_sum_add(&sum, values[i].value, values[i].weight);
            twi_sum_add(&parts[random_below(&random, 2)], values[i].value,
                        values[i].weight);
        }
        check_sum(&sum, &wanted);
        twi_sum_merge(&parts[0], &parts[1]);
        check_sum(&parts[0], &wanted);
    }
}
END_TEST

/* As large as a sum can be, and carries through all limbs. */
START_TEST(sums_at_the_limits)
{
    const double most = 0x1.fffffffffffffp191;
    const weighted values[] = {{most, INT64_MAX}, {most, INT64_MAX}, {1, 1}, {0, 77}};
    const twi_big wanted = sum_of(values, 4);
    twi_sum sum = {{0}}, carry = {{0, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0}};

    for (int i = 0; i < 4; i++)
        twi_sum_add(&sum, values[i].value, values[i].weight);
    check_sum(&sum, &wanted);
    twi_sum_add(&carry, 1, 1);
    assert_u64(carry.w[0] | carry.w[1] | carry.w[2] | carry.w[3], 0);
    assert_u64(carry.w[4], 1);
}
END_TEST

START_TEST(sums_in_units)
{
    const twi_scale milli = {1, 1000000, 0}, rate = {1, 1, 59},
                    giga = {1000000000, 1, 88};
    twi_sum sum = {{0}};

    assert_same(twi_sum_value(1234567, milli), 1.234567);
    assert_same(twi_sum_value(ldexp(3, 87), giga), 1.5e9);
    assert_same(twi_sum_value(0x1p60, rate), 2.0);
    assert_same(twi_sum_value(1, rate), 0x1p-59);
    assert_same(twi_sum_value(0, giga), 0.0);
    assert_same(twi_sum_ratio(&sum, 3, milli), 0.0);
    twi_sum_add(&sum, 7, 1000001);
    assert_same(twi_sum_ratio(&sum, 3, whole), 7000007 / 3.0);
    assert_same(twi_sum_ratio(&sum, 1, milli), 7.000007);
    /* one rounding: of (2^53 + 1) / 2 * 2^-59, a tie, to even */
    memset(&sum, 0, sizeof sum);
    twi_sum_add(&sum, 0x1p53, 1);
    twi_sum_add(&sum, 1, 1);
    assert_same(twi_sum_ratio(&sum, 2, rate), 0x1p-7);
    twi_sum_add(&sum, 2, 1);
    assert_same(twi_sum_ratio(&sum, 2, rate), 0x1.0000000000002p-7);
}
END_TEST

/* ---- Distributions ----------------------------------------------------------------- */

static void check_by_hand(const twi_dist *dist)
{
    const twi_scale thirds = {2, 3, 1}; /* n * 2 / 3 / 2 */
    twi_summary m;

    assert_u64(dist->weight, 4);
    assert_u64(dist->zero_weight, 2);
    assert_same(dist->tally.least, 1.0);
    assert_same(dist->tally.most, 3.0);
    m = twi_dist_summary(dist, 0, whole);
    assert_same(m.avg, 1.0);
    assert_same(m.sum, 4.0);
    assert_same(m.min, 0.0);
    assert_same(m.max, 3.0);
    assert_same(m.std, sqrt(1.5)); /* (2 * 1 + 0 + 4) / 4 */
    m = twi_dist_summary(dist, 1, whole);
    assert_same(m.avg, 4 / 3.0);
    assert_same(m.min, 0.0);
    m = twi_dist_summary(dist, 2, whole); /* without the zeros: 1 and 3 */
    assert_same(m.avg, 2.0);
    assert_same(m.min, 1.0);
    assert_same(m.std, 1.0);
    m = twi_dist_summary(dist, 0, thirds);
    assert_same(m.avg, 1 / 3.0);
    assert_same(m.sum, 4 / 3.0);
    assert_same(m.max, 1.0);
    assert_near(m.std, sqrt(1.5) / 3, 1e-15, 0);
}

/* [AVG] */
START_TEST(summary_by_hand)
{
    const weighted values[] = {{3, 1}, {0, 2}, {1, 1}};
    twi_dist dist;

    fill(&dist, TWI_BIN_LEAST_BITS, values, 3);
    check_by_hand(&dist);
    twi_dist_release(&dist);
    fill(&dist, TWI_BIN_MOST_BITS, values, 3);
    check_by_hand(&dist);
    twi_dist_release(&dist);
    fill_levels(&dist, values, 3);
    check_by_hand(&dist);
    twi_dist_release(&dist);
}
END_TEST

static void check_one_value(const twi_dist *dist, double value, double sum)
{
    const twi_summary m = twi_dist_summary(dist, 0, whole);

    assert_same(m.avg, value);
    assert_same(m.std, 0.0); /* not a rounding error */
    assert_same(m.min, value);
    assert_same(m.max, value);
    assert_same(m.sum, sum);
}

START_TEST(summary_of_one_value)
{
    static const weighted one[] = {
        {0, 7}, {7, INT64_MAX}, {0x1.fffffffffffffp191, INT64_MAX}, {1, 1}};
    static const double sum[] = {0, 7 * 0x1p63, 0x1.fffffffffffffp254, 1};

    for (int i = 0; i < 4; i++) {
        twi_dist dist;

        vocabulary_context("value %d", i);
        fill(&dist, TWI_BIN_MOST_BITS, &one[i], 1);
        check_one_value(&dist, one[i].value, sum[i]);
        twi_dist_release(&dist);
        if (one[i].value < 100) {
            fill_levels(&dist, &one[i], 1);
            check_one_value(&dist, one[i].value, sum[i]);
            twi_dist_release(&dist);
        }
    }
}
END_TEST

/* The spread of values that hardly differ: nothing cancels. Moments count in 2^-47 of the
 * largest value, here 2^15; below that there is nothing to see. */
/* [ACC] */
START_TEST(summary_of_close_values)
{
    const weighted values[] = {{0x1p62, 1}, {0x1p62 + 0x1p16, 1}},
                   closer[] = {{0x1p62, 1}, {0x1p62 + 0x1p10, 1}};
    twi_dist dist;

    fill(&dist, TWI_BIN_MOST_BITS, values, 2);
    assert_same(twi_dist_summary(&dist, 0, whole).std, 0x1p15);
    assert_same(twi_dist_summary(&dist, 0, whole).avg, 0x1p62 + 0x1p15);
    twi_dist_release(&dist);
    fill(&dist, TWI_BIN_MOST_BITS, closer, 2);
    assert_near(twi_dist_summary(&dist, 0, whole).std, 0x1p9, 0, 0x1p62 * 1e-12);
    assert_same(twi_dist_summary(&dist, 0, whole).avg, 0x1p62); /* a tie, to even */
    twi_dist_release(&dist);
}
END_TEST

/* What the recomputation in long double is good for: little more than double where that is
 * all that a long double is (valgrind, some machines). */
static double precision(void)
{
    volatile long double one = 1, little = 0x1p-60L;
    return one + little > one ? 5e-16 : 1e-13;
}

static void check_recomputed(const twi_dist *dist, const weighted *values, size_t count,
                             double relative, double absolute)
{
    long double weight = 0, sum = 0, squares = 0, least = INFINITY, most = 0;
    const twi_summary m = twi_dist_summary(dist, 0, whole);

    for (size_t i = 0; i < count; i++) {
        weight += (long double)values[i].weight;
        sum += (long double)values[i].weight * (long double)values[i].value;
        least = fminl(least, (long double)values[i].value);
        most = fmaxl(most, (long double)values[i].value);
    }
    for (size_t i = 0; i < count; i++) {
        const long double off = (long double)values[i].value - sum / weight;
        squares += off * off * (long double)values[i].weight;
    }
    assert_near(m.avg, (double)(sum / weight), precision(), 0);
    assert_near(m.sum, (double)sum, precision(), 0);
    assert_same(m.min, (double)least);
    assert_same(m.max, (double)most);
    assert_near(m.std, (double)sqrtl(squares / weight), relative,
                absolute * (double)most);
}

/* Against long double. */
START_TEST(summaries_recomputed)
{
    enum { COUNT = 300 };
    weighted values[COUNT];
    uint64_t random = 1;

    for (int k = 0; k < 300; k++) {
        const int spread = k % SPREADS;
        twi_dist dist;

        vocabulary_context("run %d", k);
        for (int i = 0; i < COUNT; i++)
            values[i] = (weighted){(double)random_below(&random, 30000),
                                   1 + random_below(&random, 9999)};
        fill(&dist, TWI_BIN_LEAST_BITS, values, COUNT);
        check_recomputed(&dist, values, COUNT, precision(),
                         0); /* the moments are exact */
        twi_dist_release(&dist);
        fill_levels(&dist, values, COUNT);
        check_recomputed(&dist, values, COUNT, precision(), 0);
        twi_dist_release(&dist);
        make_values(&random, spread, values, COUNT);
        fill(&dist, TWI_BIN_LEAST_BITS, values, COUNT);
        check_recomputed(&dist, values, COUNT, precision(), 0x1p-48);
        twi_dist_release(&dist);
    }
}
END_TEST

/* floor(value * factor), for a factor of 2^shift. */
static twi_u192 reduced(double value, int shift)
{
    const twi_u192 exact = exact_whole(value);
    return shift >= 0 ? twi_shl(exact, (unsigned)shift)
                      : twi_shr(exact, (unsigned)-shift);
}

/* The sums, limb for limb, against long multiplication. */
START_TEST(sums_recomputed)
{
    enum { MOST = 400 };
    weighted values[MOST];
    uint64_t random = 2;

    for (int k = 0; k < 400; k++) {
        const size_t count = 1 + (size_t)random_below(&random, MOST);
        twi_big sum, moment = twi_big_from64(0), squares = moment, got;
        uint64_t weight = 0, zero = 0;
        twi_dist dist;
        int exponent;

        vocabulary_context("run %d", k);
        make_values(&random, k % SPREADS, values, count);
        if (k % 5 == 0) /* as large as can be */
            values[0] = (weighted){0x1.fffffffffffffp191, UINT64_C(1) << 62};
        fill(&dist, TWI_BIN_MOST_BITS, values, count);
        frexp(dist.tally.most, &exponent); /* most < 2^exponent */
        for (size_t i = 0; i < count; i++) {
            const twi_u192 small = reduced(values[i].value, 48 - exponent);
            const twi_u192 square = twi_product(small.w[0], small.w[0]);

            assert_u64((small.w[1] | small.w[2]) + (small.w[0] >> 48), 0);
            add_times(&moment, small, values[i].weight);
            add_times(&squares, square, values[i].weight);
            weight += values[i].weight;
            zero += values[i].value == 0 ? values[i].weight : 0;
        }
        sum = sum_of(values, count);
        check_sum(&dist.tally.sum, &sum);
        if (dist.tally.most > 0)
            assert_same(dist.moments.factor, ldexp(1, 48 - exponent));
        got = twi_big_from(dist.moments.sum, 2);
        assert_i64(twi_big_compare(&got, &moment), 0);
        got = twi_big_from(dist.moments.square, 3);
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
        const unsigned bin_bits =
            TWI_BIN_LEAST_BITS +
            (unsigned)random_below(&random, TWI_BIN_MOST_BITS - TWI_BIN_LEAST_BITS + 1);
        twi_dist all, parts[PARTS];
        size_t begin[PARTS + 1] = {0}, order[PARTS], left = PARTS;

        vocabulary_context("run %d", k);
        make_values(&random, k % SPREADS, values, COUNT);
        fill(&all, bin_bits, values, COUNT);
        for (size_t p = 0; p < PARTS; p++) { /* some of them empty */
            const size_t some = p + 1 < PARTS ? (size_t)random_below(&random, 100)
                                              : COUNT;
            begin[p + 1] = begin[p] + some < COUNT ? begin[p] + some : COUNT;
            dist_init(&parts[p], bin_bits);
            feed(&parts[p], values + begin[p], begin[p + 1] - begin[p]);
            order[p] = p;
        }
        while (left > 1) { /* any two become one */
            const size_t into = (size_t)random_below(&random, left);
            const size_t from = (into + 1 + (size_t)random_below(&random, left - 1)) %
                                left;

            assert_ok(twi_dist_merge(&parts[order[into]], &parts[order[from]]));
            order[from] = order[--left];
        }
        twi_dist_settle(&parts[order[0]]);
        for (size_t p = 0; p < PARTS; p++) { /* the moments, each part in the same unit */
            twi_dist of_part;

            dist_init(&of_part, bin_bits);
            of_part.moments.factor = parts[order[0]].moments.factor;
            feed_moments(&of_part, values + begin[p], begin[p + 1] - begin[p]);
            twi_moments_merge(&parts[order[0]].moments, &of_part.moments);
            twi_dist_release(&of_part);
        }
        assert_same_dist(&parts[order[0]], &all);
        for (size_t p = 0; p < PARTS; p++)
            twi_dist_release(&parts[p]);
        twi_dist_release(&all);
    }
}
END_TEST

START_TEST(merges_of_levels)
{
    enum { COUNT = 300 };
    uint32_t values[COUNT];
    uint64_t weights[COUNT], random = 31;

    for (int k = 0; k < 50; k++) {
        twi_dist all, parts[2];

        dist_init(&all, 6);
        dist_init(&parts[0], 6);
        dist_init(&parts[1], 6);
        vocabulary_context("run %d", k);
        for (int i = 0; i < COUNT; i++) {
            values[i] = (uint32_t)random_below(&random, i % 2 ? 50 : 3000);
            weights[i] = 1 + random_below(&random, UINT64_C(1) << 50);
            assert_ok(twi_dist_feed_levels(&parts[i % 2], &values[i], &weights[i], 1));
        }
        assert_ok(twi_dist_feed_levels(&all, values, weights, COUNT));
        assert_ok(twi_dist_merge(&parts[k % 2], &parts[1 - k % 2]));
        twi_dist_settle(&parts[k % 2]);
        twi_dist_settle(&all);
        assert_same_dist(&parts[k % 2], &all);
        twi_dist_release(&parts[0]);
        twi_dist_release(&parts[1]);
        twi_dist_release(&all);
    }
}
END_TEST

START_TEST(merge_with_nothing)
{
    const weighted values[] = {{5, 2}, {0, 1}};
    twi_dist a, b, none;

    dist_init(&a, 8);
    dist_init(&b, 8);
    dist_init(&none, 8);
    feed(&a, values, 2);
    feed(&b, values, 2);
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
    const double value[] = {0, 1, 0x1p100}; /* the first takes no page */
    const uint64_t weight[] = {1, 1, 1};
    const uint32_t level[] = {3, 64, 1000};
    memory m;
    twi_dist dist, from, levels;

    dist_init(&from, TWI_BIN_MOST_BITS);
    dist_init(&levels, 8);
    assert_ok(twi_dist_feed(&from, kernel, value, weight, 3));
    assert_ok(twi_dist_feed_levels(&levels, level, weight, 3));
    for (uint64_t n = 1; n <= 3; n++) {
        memory_init(&m);
        memory_fail_nth(&m, n);
        twi_dist_init(&dist, &m.allocator, TWI_BIN_MOST_BITS);
        assert_status(twi_dist_feed(&dist, kernel, value, weight, 3),
                      n <= 2 ? TW_ERR_NOMEM : TW_OK);
        twi_dist_release(&dist);
        memory_done(&m);
        memory_fail_nth(&m, n);
        twi_dist_init(&dist, &m.allocator, TWI_BIN_MOST_BITS);
        assert_status(twi_dist_merge(&dist, &from), n <= 2 ? TW_ERR_NOMEM : TW_OK);
        twi_dist_release(&dist);
        memory_done(&m);
        memory_fail_nth(&m, n);
        twi_dist_init(&dist, &m.allocator, TWI_BIN_MOST_BITS);
        for (int i = 0; i < 3; i++) /* 64 levels, 128, 1024 */
            assert_status(twi_dist_feed_levels(&dist, &level[i], &weight[i], 1),
                          (uint64_t)i + 1 == n ? TW_ERR_NOMEM : TW_OK);
        twi_dist_release(&dist);
        memory_done(&m);
        memory_fail_nth(&m, n);
        twi_dist_init(&dist, &m.allocator, TWI_BIN_MOST_BITS);
        assert_status(twi_dist_merge(&dist, &levels), n <= 1 ? TW_ERR_NOMEM : TW_OK);
        twi_dist_release(&dist);
        memory_done(&m);
    }
    twi_dist_release(&from);
    twi_dist_release(&levels);
}
END_TEST

START_TEST(bins_ascend)
{
    uint64_t random = 4;

    assert_u64(twi_bin_number(0, TWI_BIN_MOST_BITS), 0);
    for (uint64_t i = 0; i < 8192; i++) /* one bin each */
        assert_that(twi_bin_number((double)i, TWI_BIN_MOST_BITS) <
                    twi_bin_number((double)(i + 1), TWI_BIN_MOST_BITS));
    for (int i = 0; i < 100000; i++) {
        const twi_u192 wide = random_u192(&random, 190);
        const double a = exact_double(wide);
        const double b = exact_double(twi_add(wide, random_u192(&random, 190)));
        const unsigned bits = (unsigned)random_between(&random, TWI_BIN_LEAST_BITS,
                                                       TWI_BIN_MOST_BITS);
        const uint32_t fine = twi_bin_number(a, TWI_BIN_MOST_BITS);

        assert_that(twi_bin_number(a, bits) <= twi_bin_number(b, bits));
        assert_that(twi_bin_number(b, bits) < (uint32_t)TWI_BIN_PAGES << bits);
        /* coarser bins are unions of finer ones */
        assert_u64(twi_bin_number(a, bits), fine >> (TWI_BIN_MOST_BITS - bits));
        /* the page is the length in bits */
        assert_u64(fine >> TWI_BIN_MOST_BITS, twi_bits(exact_whole(a)));
    }
    assert_that(twi_bin_number(0x1.fffffffffffffp191, TWI_BIN_MOST_BITS) + 1 ==
                (uint32_t)TWI_BIN_PAGES << TWI_BIN_MOST_BITS);
}
END_TEST

/* The place of each rank, against the sorted values. */
static void check_ranks(const twi_dist *dist, const weighted *sorted, int count)
{
    twi_walk walk = twi_walk_begin(dist);
    uint64_t upto = 0;

    for (int i = 0; i < count; i++) {
        const uint64_t ranks[] = {upto + 1, upto + sorted[i].weight};

        for (int r = 0; r < 2; r++) {
            const twi_bin bin = twi_walk_find(&walk, ranks[r]);
            const double low = twi_f64_from_bits(bin.low);
            uint64_t before = 0;

            assert_that(low <= sorted[i].value);
            assert_u64((twi_f64_bits(sorted[i].value) - bin.low) >> bin.bits, 0);
            for (int j = 0; j < count && sorted[j].value < low; j++)
                before += sorted[j].weight;
            assert_u64(bin.before, before);
            if (sorted[i].value == 0 || dist->level)
                assert_u64(bin.bits, 0);
            else
                assert_u64(bin.bits, 52 - dist->bin_bits);
        }
        upto += sorted[i].weight;
    }
    assert_u64(upto, dist->weight);
}

START_TEST(bins_of_ranks)
{
    enum { COUNT = 400 };
    weighted values[COUNT];
    uint64_t random = 5;

    for (int k = 0; k < 5 * SPREADS; k++) {
        twi_dist dist;

        vocabulary_context("run %d", k);
        make_values(&random, k % SPREADS, values, COUNT);
        fill(&dist, k % 2 ? TWI_BIN_LEAST_BITS : TWI_BIN_MOST_BITS, values, COUNT);
        qsort(values, COUNT, sizeof *values, by_value);
        check_ranks(&dist, values, COUNT);
        twi_dist_release(&dist);
        if (k % SPREADS == SMALL) {
            fill_levels(&dist, values, COUNT);
            check_ranks(&dist, values, COUNT);
            twi_dist_release(&dist);
        }
    }
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

static double value_at_rank(const weighted *sorted, uint64_t rank)
{
    for (uint64_t upto = 0;; sorted++) {
        upto += sorted->weight;
        if (rank <= upto)
            return sorted->value;
    }
}

static void select_batch(void *context, const double *value, const uint64_t *weight,
                         size_t count)
{
    twi_select_feed(context, kernel, value, weight, count);
}

/* How to select. */
typedef struct way {
    unsigned bin_bits;
    size_t pool_room;
    bool in_parts; /* two selects are fed, and merged */
} way;

/* Feeds one pass. */
static void pass(twi_select *select, const weighted *values, size_t count, way how)
{
    const size_t first = how.in_parts ? count / 3 : count;
    twi_select other;

    for_each_batch(values, first, select_batch, select);
    if (!how.in_parts)
        return;
    memset(&other, 0, sizeof other);
    other.ranges = malloc(select->range_count * sizeof *other.ranges);
    other.pool.at = malloc(how.pool_room * sizeof *other.pool.at);
    other.pool.room = how.pool_room;
    assert_that(other.ranges && other.pool.at);
    twi_select_follow(&other, select);
    for_each_batch(values + first, count - first, select_batch, &other);
    twi_select_merge(select, &other);
    free(other.ranges);
    free(other.pool.at);
}

/* Selects and compares with a full sort; returns the number of passes. */
static int check_select(weighted *values, size_t count, const uint64_t *ranks,
                        size_t rank_count, way how)
{
    twi_target *targets = malloc(rank_count * sizeof *targets);
    struct twi_pooled *pool = malloc(how.pool_room * sizeof *pool); /* and no more */
    twi_dist dist;
    twi_range *ranges;
    twi_select select;
    size_t open;
    int passes = 0;

    assert_that(targets != NULL && pool != NULL);
    fill(&dist, how.bin_bits, values, count);
    memset(targets, 0x77, rank_count * sizeof *targets);
    for (size_t i = 0; i < rank_count; i++) {
        targets[i].rank = ranks[i];
        targets[i].owner = i;
    }
    open = twi_select_locate(&select, &dist, targets, rank_count);
    assert_that(open <= rank_count);
    ranges = malloc(open * sizeof *ranges + 1); /* no more than it asked for */
    assert_that(ranges != NULL);
    twi_select_begin(&select, ranges, pool, how.pool_room);
    while (!twi_select_done(&select)) {
        pass(&select, values, count, how);
        twi_select_narrow(&select);
        passes++;
        assert_that(passes <= 1 + (52 - (int)how.bin_bits) / TWI_SELECT_SPLIT_BITS);
    }
    qsort(values, count, sizeof *values, by_value);
    for (size_t i = 0; i < rank_count; i++) {
        assert_that(targets[i].found);
        assert_u64(targets[i].rank, ranks[targets[i].owner]);
        assert_same(targets[i].value, value_at_rank(values, targets[i].rank));
    }
    free(ranges);
    free(pool);
    free(targets);
    twi_dist_release(&dist);
    return passes;
}

/* Through the pool alone, through parts of bins alone, and through both. */
static const size_t rooms[] = {1, 2, 16, 100, 8192};
enum { ROOMS = sizeof rooms / sizeof rooms[0] };

START_TEST(selection_against_sorting)
{
    enum { MOST = 4000, RANKS = 60 };
    weighted *values = malloc(MOST * sizeof *values);
    uint64_t random = 9, ranks[RANKS];
    static const size_t sizes[] = {1, 2, 31, 32, 33, 34, 100, 257, 1000, MOST};

    assert_that(values != NULL);
    for (int spread = 0; spread < SPREADS; spread++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            for (int k = 0; k < 2 * ROOMS; k++) {
                const way how = {TWI_BIN_LEAST_BITS + (unsigned)random_below(&random, 7),
                                 rooms[k % ROOMS], k >= ROOMS};
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
                check_select(values, sizes[s], ranks, wanted, how);
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

    for (int k = 0; k < SPREADS * ROOMS; k++) {
        const way how = {TWI_BIN_MOST_BITS, rooms[k / SPREADS], false};
        uint64_t ranks[COUNT];

        vocabulary_context("run %d", k);
        make_values(&random, k % SPREADS, values, COUNT);
        for (uint64_t i = 0; i < COUNT; i++) {
            values[i].weight = 1;
            ranks[i] = COUNT - i;
        }
        check_select(values, COUNT, ranks, COUNT, how);
    }
}
END_TEST

START_TEST(selection_takes_few_passes)
{
    enum { COUNT = 4000 };
    const way ample = {12, COUNT, false}, narrow = {12, 16, false};
    const uint64_t middle = COUNT / 2, base = twi_f64_bits(0x1p100);
    weighted *values = malloc(COUNT * sizeof *values);

    assert_that(values != NULL);
    for (size_t i = 0; i < COUNT; i++) /* one value a bin: still, the bin is of many */
        values[i] = (weighted){(double)(i % 1000), 1};
    assert_i64(check_select(values, COUNT, &middle, 1, narrow), 1);
    for (size_t i = 0; i < COUNT; i++) /* 0 is known */
        values[i] = (weighted){i < COUNT / 2 ? 0 : (double)i, 1};
    assert_i64(check_select(values, COUNT, &middle, 1, narrow), 0);
    for (size_t i = 0; i < COUNT; i++) /* 8 distinct values in the bin of 2^100 */
        values[i] = (weighted){twi_f64_from_bits(base + i % 8), 1};
    assert_i64(check_select(values, COUNT, &middle, 1, narrow), 1);
    for (size_t i = 0; i < COUNT;
         i++) /* evenly over a bin of 2^40: 16 in a 256th of it */
        values[i] = (weighted){twi_f64_from_bits(base + ((uint64_t)i << 28)), 1};
    assert_i64(check_select(values, COUNT, &middle, 1, ample), 1);
    assert_i64(check_select(values, COUNT, &middle, 1, narrow), 2);
    for (size_t i = 0; i < COUNT; i++) /* side by side: 2^32, 2^24, 2^16, 2^8, 1 */
        values[i] = (weighted){twi_f64_from_bits(base + i), 1};
    assert_i64(check_select(values, COUNT, &middle, 1, ample), 1);
    assert_i64(check_select(values, COUNT, &middle, 1, narrow), 5);
    free(values);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stat");
    TCase *sum = vocabulary_case(suite, "sum"), *dist = vocabulary_case(suite, "dist"),
          *rank = vocabulary_case(suite, "rank"),
          *selection = vocabulary_case(suite, "selection");

    tcase_add_test(sum, sums_are_exact);
    tcase_add_test(sum, sums_at_the_limits);
    tcase_add_test(sum, sums_in_units);
    tcase_add_test(dist, summary_by_hand);
    tcase_add_test(dist, summary_of_one_value);
    tcase_add_test(dist, summary_of_close_values);
    tcase_add_test(dist, summaries_recomputed);
    tcase_add_test(dist, sums_recomputed);
    tcase_add_test(dist, merges);
    tcase_add_test(dist, merges_of_levels);
    tcase_add_test(dist, merge_with_nothing);
    tcase_add_test(dist, dist_without_memory);
    tcase_add_test(dist, bins_ascend);
    tcase_add_test(dist, bins_of_ranks);
    tcase_add_test(rank, quantiles_are_rounded_to_12_places);
    tcase_add_test(rank, quantiles_refused);
    tcase_add_test(rank, places_least);
    tcase_add_test(rank, places_interpolated);
    tcase_add_test(selection, selection_against_sorting);
    tcase_add_test(selection, selection_of_every_rank);
    tcase_add_test(selection, selection_takes_few_passes);
    return vocabulary_main(suite);
}
