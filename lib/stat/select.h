/* SPDX-License-Identifier: MIT */
#ifndef TWI_STAT_SELECT_H
#define TWI_STAT_SELECT_H

/* Exact order statistics of weighted values without sorting them all: a dist tells the
 * bin that each wanted rank lies in; passes over the same values then narrow the bins
 * until every rank has its value. Each pass divides a bin into 256, or ends it if it
 * holds few distinct values. Bounded memory, whatever the number of values.
 *
 *      open = twi_select_locate(s, dist, targets, count);
 *      twi_select_begin(s, ranges for `open` of them);
 *      while (!twi_select_done(s)) { for all values: twi_select_feed(s, pairs);
 *                                    twi_select_narrow(s); }
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/dist.h"

enum {
    TWI_SELECT_SPLIT_BITS = 8,
    TWI_SELECT_SPLIT = 256,
    TWI_SELECT_FEW = 32,
    TWI_SELECT_FILTER_BITS = 4096
};

/* A rank that is looked for. */
typedef struct twi_target {
    uint64_t rank;  /* 1-based, in units of weight, over all values */
    size_t owner;   /* the caller's own number for it */
    twi_bin bin;    /* where it lies */
    twi_u192 value; /* the answer, once `found` */
    bool found;
} twi_target;

/* A bin under study; several targets may lie in it. */
typedef struct twi_range {
    twi_bin bin;
    uint64_t split[TWI_SELECT_SPLIT]; /* weights of its equal parts */
    unsigned few_count;               /* TWI_SELECT_FEW + 1: too many distinct values */
    twi_u192 few[TWI_SELECT_FEW];     /* distinct values in ascending order */
    uint64_t few_weight[TWI_SELECT_FEW];
} twi_range;

typedef struct twi_select {
    twi_target *targets;
    size_t target_count;
    twi_range *ranges; /* in ascending order, as the targets */
    size_t range_count;
    /* A bit for each bin of the dist that a range lies in, by its number modulo the size:
     * most values need no further look. */
    uint64_t filter[TWI_SELECT_FILTER_BITS / 64];
} twi_select;

/* Takes targets whose rank and owner are set, orders them by rank and finds their bins.
 * Returns how many still need passes. */
size_t twi_select_locate(twi_select *select, const twi_dist *dist, twi_target *targets,
                         size_t count);
/* Begins the passes; `ranges` has room for as many as twi_select_locate() returned. */
void twi_select_begin(twi_select *select, twi_range *ranges);
bool twi_select_done(const twi_select *select);
void twi_select_feed(twi_select *select, const twi_pairs *pairs);
void twi_select_narrow(twi_select *select);

#endif
