/* SPDX-License-Identifier: MIT */
#ifndef TWI_STAT_DIST_H
#define TWI_STAT_DIST_H

/* The distribution of weighted values: what a curve spends its time at (weights are
 * nanoseconds), or what a sample consists of (weights are 1). Everything is an integer
 * and every step is exact, so that parts may be fed in any order and merged.
 *
 * Values are counted in bins by their leading bits: a value of n bits lies on page n - 1,
 * in the slot that its next TWI_BIN_BITS bits name. Bins are a function of the value
 * alone, and hold one value only up to 2^(TWI_BIN_BITS + 1); zero is counted apart. */

#include <stdint.h>
#include <timeweight/allocator.h>

#include "base/big.h"
#include "base/wide.h"
#include "sweep/sweep.h"

#define TWI_BIN_BITS 10
#define TWI_BIN_SLOTS (1u << TWI_BIN_BITS)
#define TWI_BIN_PAGES 192

typedef struct twi_dist {
    tw_allocator allocator;
    uint64_t weight;      /* of all values */
    uint64_t zero_weight; /* of the value 0 */
    twi_u192 least;       /* value above 0, if any */
    twi_u192 most;
    uint64_t sum[4];               /* of value * weight: 192 + 64 bits */
    uint64_t square_sum[7];        /* of value^2 * weight: 384 + 64 bits */
    uint64_t *page[TWI_BIN_PAGES]; /* weights by slot, or NULL: none */
} twi_dist;

void twi_dist_init(twi_dist *dist, const tw_allocator *allocator);
void twi_dist_release(twi_dist *dist);

/* Adds pairs of positive weight. The total weight stays below 2^64. TW_OK or
 * TW_ERR_NOMEM; after a failure the dist can only be released. */
int32_t twi_dist_feed(twi_dist *dist, const twi_pairs *pairs);

/* Adds all of `from`. Likewise. */
int32_t twi_dist_merge(twi_dist *dist, const twi_dist *from);

/* The number of the bin of a value above 0, ascending with the value. */
static inline unsigned twi_bin_number(twi_u192 value)
{
    const unsigned page = twi_bits(value) - 1;
    const uint64_t slot = page > TWI_BIN_BITS ? twi_shr64(value, page - TWI_BIN_BITS)
                                              : value.w[0] << (TWI_BIN_BITS - page);
    return page << TWI_BIN_BITS | (unsigned)(slot & (TWI_BIN_SLOTS - 1));
}

/* The bins in ascending order of value: where rank (1 <= rank <= weight) falls. */
typedef struct twi_bin {
    twi_u192 low;    /* the least value that belongs to the bin */
    unsigned bits;   /* it holds the 2^bits values from `low` on */
    uint64_t before; /* weight of all values below `low` */
} twi_bin;

twi_bin twi_dist_find(const twi_dist *dist, uint64_t rank);

/* Moments in doubles, each rounded once from the exact sums (std twice). Leaves out
 * `idle` of the weight of the value 0. Needs weight > idle. */
typedef struct twi_moments {
    double avg;
    double std;
    double min;
    double max;
    double sum;
} twi_moments;

twi_moments twi_dist_moments(const twi_dist *dist, uint64_t idle, twi_scale scale);

/* One value in a unit, rounded once. */
double twi_dist_value(twi_u192 value, twi_scale scale);

#endif
