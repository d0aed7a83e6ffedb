/* SPDX-License-Identifier: MIT */
#ifndef TWI_STAT_DIST_H
#define TWI_STAT_DIST_H

/* The distribution of weighted values: what a curve spends its time at (weights are
 * nanoseconds), or what a sample consists of (weights are 1). All sums are integers and every
 * step is exact, so that values may be fed in any order and parts be merged.
 *
 * There are two kinds. Counts have one level for each value. Real values are counted in bins
 * by the leading bits of the double, which are a function of the value alone; zero has a bin
 * of its own. */

#include <stdint.h>
#include <timeweight/allocator.h>

#include "base/big.h"
#include "kernel/kernel.h"

typedef struct twi_dist {
    tw_allocator allocator;
    uint64_t weight;      /* of all values */
    uint64_t zero_weight; /* of the value 0 */
    twi_tally tally;
    twi_moment_sums moments;
    unsigned bin_bits;

    uint64_t *page[TWI_BIN_PAGES]; /* weights by slot, or NULL: none; [0]: zero_weight */
    uint64_t *level;               /* weights by value, or NULL: not counts */
    uint64_t level_count;
} twi_dist;

/* Values may be fed as doubles or as levels, not both. bin_bits in [TWI_BIN_LEAST_BITS,
 * TWI_BIN_MOST_BITS]. The dist stays where it is. */
void twi_dist_init(twi_dist *dist, const tw_allocator *allocator, unsigned bin_bits);
void twi_dist_release(twi_dist *dist);

/* Adds up to TWI_BATCH_SIZE values of positive weight. The total weight stays below 2^63.
 * TW_OK or TW_ERR_NOMEM; after a failure the dist can only be released. */
int32_t twi_dist_feed(twi_dist *dist, const twi_kernel *kernel, const double *value,
                      const uint64_t *weight, size_t count);
int32_t twi_dist_feed_levels(twi_dist *dist, const uint32_t *value,
                             const uint64_t *weight, size_t count);

/* Adds all of `from`, which has as many bin bits. Likewise. */
int32_t twi_dist_merge(twi_dist *dist, const twi_dist *from);

/* After the last value: levels are complete then, and for real values the factor of the
 * moments is set, so that a second pass over the same values can feed them. */
void twi_dist_settle(twi_dist *dist);
void twi_moments_merge(twi_moment_sums *moments, const twi_moment_sums *from);

/* Where a rank falls. The values of a bin are those whose bits, as a number, lie in
 * [low, low + 2^bits). */
typedef struct twi_bin {
    uint64_t low;    /* bits of the least double that belongs to it */
    unsigned bits;   /* 0: one value only */
    uint64_t before; /* weight of all values below */
} twi_bin;

/* A walk over a dist in ascending order of value. */
typedef struct twi_walk {
    const twi_dist *dist;
    uint64_t place; /* level, or number of a bin */
    uint64_t upto;  /* weight of all values up to there */
    twi_bin bin;
} twi_walk;

twi_walk twi_walk_begin(const twi_dist *dist);
/* The bin of a rank, 1 <= rank <= weight; ranks are asked for in ascending order. */
twi_bin twi_walk_find(twi_walk *walk, uint64_t rank);

/* Summary in doubles, from the exact sums. Leaves out `idle` of the weight of the value 0.
 * Needs weight > idle, and the moments. */
typedef struct twi_summary {
    double avg;
    double std;
    double min;
    double max;
    double sum;
} twi_summary;

twi_summary twi_dist_summary(const twi_dist *dist, uint64_t idle, twi_scale scale);

#endif
