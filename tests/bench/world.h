/* SPDX-License-Identifier: MIT */
#ifndef WORLD_H
#define WORLD_H

#include "traffic.h"

/* Everything that is timed, on one workload. What a contender needs is made when it is first
 * asked for, outside of what is timed. */

enum contender {
    OURS, /* one thread, the automatic kernel, records in the order in which they end */
    OURS_2T,
    OURS_BY_START,
    OURS_SHUFFLED,
    OURS_CREDITS,
    OURS_WINDOW, /* the middle half of an analysis that exists */
    OURS_SMALL,  /* a hundredth of the records, several times; for one time */
    RADIX,
    RADIX_2T,
    RADIX_DECODE, /* only the effective decode throughput */
    SORT,
    BYTES,
    OURS_KERNEL, /* and from here on, the kernels by number */
    CONTENDERS = OURS_KERNEL + 32
};

typedef struct world world;

world *world_new(size_t count, enum traffic_load load, size_t gaps);
void world_free(world *w);

/* "radix 1T"; for a kernel, until the next call. */
const char *world_name(enum contender c);

/* Makes what the contender needs and checks that its results are ours; ends the program if
 * they are not. */
void world_prepare(world *w, enum contender c);

/* Runs it once: seconds. */
double world_run(world *w, enum contender c);

#endif
