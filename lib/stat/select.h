/* SPDX-License-Identifier: MIT */
#ifndef TWI_STAT_SELECT_H
#define TWI_STAT_SELECT_H

/* Exact order statistics of weighted values without sorting them all: a dist tells the
 * bin that each wanted rank lies in; a pass over the same values then collects those that
 * lie in these few bins. Where they are more than the pool holds, the pass has divided each
 * bin into 256 instead, and the next one has smaller bins to look at. Bounded memory,
 * whatever the number of values.
 *
 *      open = twi_select_locate(s, dist, targets, count);
 *      twi_select_begin(s, ranges for `open` of them, pool);
 *      while (!twi_select_done(s)) { for all values: twi_select_feed(s, ...);
 *                                    twi_select_narrow(s); }
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/dist.h"

enum { TWI_SELECT_SPLIT_BITS = 8, TWI_SELECT_SPLIT = 256 };

/* A rank that is looked for. */
typedef struct twi_target {
    uint64_t rank; /* 1-based, in units of weight, over all values */
    size_t owner;  /* the caller's own number for it */
    twi_bin bin;   /* where it lies */
    double value;  /* the answer, once `found` */
    bool found;
} twi_target;

/* A bin under study; several targets may lie in it. */
typedef struct twi_range {
    twi_bin bin;
    uint64_t split[TWI_SELECT_SPLIT]; /* weights of its equal parts */
} twi_range;

/* Values that were collected, by their bits. */
typedef struct twi_pool {
    struct twi_pooled {
        uint64_t bits;
        uint64_t weight;
    } * at;
    size_t room;
    size_t used;
    bool overflow;                 /* incomplete */
    const tw_allocator *allocator; /* to make more room with; NULL: it stays as it is */
} twi_pool;

#define TWI_POOL_LEAST 1024     /* values that a pool that may grow begins with, */
#define TWI_POOL_MOST (1 << 18) /* and ends with */

typedef struct twi_select {
    twi_target *targets;
    size_t target_count;
    twi_range *ranges; /* in ascending order, as the targets */
    size_t range_count;
    twi_pool pool;
    twi_filter filter; /* of the bins of the ranges */
} twi_select;

/* Takes targets whose rank and owner are set, orders them by rank and finds their bins.
 * Returns how many still need passes. */
size_t twi_select_locate(twi_select *select, const twi_dist *dist, twi_target *targets,
                         size_t count);
/* Begins the passes; `ranges` has room for as many as twi_select_locate() returned. */
void twi_select_begin(twi_select *select, twi_range *ranges, struct twi_pooled *pool,
                      size_t pool_room);
/* Begins with a pool that grows as it must. If there is no memory for that it is no error:
 * it takes more passes then. twi_select_end() releases it. */
int32_t twi_select_begin_growing(twi_select *select, twi_range *ranges,
                                 const tw_allocator *allocator);
void twi_select_end(twi_select *select, const tw_allocator *allocator);
bool twi_select_done(const twi_select *select);
void twi_select_feed(twi_select *select, const twi_kernel *kernel, const double *value,
                     const uint64_t *weight, size_t count);
/* Looks at the same ranges as another select, with ranges and a pool of its own: to be fed
 * other values at the same time. */
void twi_select_follow(twi_select *select, const twi_select *leader);
/* Adds what a follower was fed. */
void twi_select_merge(twi_select *select, const twi_select *from);
void twi_select_narrow(twi_select *select);

#endif
