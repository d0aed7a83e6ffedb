/* SPDX-License-Identifier: MIT */
#ifndef WORLD_H
#define WORLD_H

#include "settings.h"
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
    NUMPY,
    AIPERF,
    SORT,
    BYTES,
    APPEND_FRESH, /* see append.h */
    ARRAY_FRESH,
    APPEND_WARM,
    ARRAY_WARM,
    APPEND_BATCHES,
    REPORT_CHUNKS, /* see tool.h; count is that of bytes */
    PARSE_CHUNKS,
    REPORT_PLAIN,
    PARSE_PLAIN,
    OURS_KERNEL, /* and from here on, the kernels by number */
    CONTENDERS = OURS_KERNEL + 32
};

typedef struct world world;

/* count requests, or bytes of a file. */
world *world_new(const settings *s, size_t count, enum traffic_load load, size_t gaps);
void world_free(world *w);

/* "radix 1T"; for a kernel, until the next call. */
const char *world_name(enum contender c);

/* Makes what the contender needs and checks that its results are ours; ends the program if
 * they are not. Returns NULL, or why it cannot be run. */
const char *world_prepare(world *w, enum contender c);

/* Runs it once: seconds. */
double world_run(world *w, enum contender c);

/* ---- what is counted, not timed, in bytes ---- */

/* Of the analysis beyond the blocks of records, a record: the most at once, and what stays. */
double world_peak_per_record(world *w);
double world_kept_per_record(world *w);

/* What the gaps add to both, for each boundary between chunks. */
double world_peak_per_boundary(world *w);
double world_kept_per_boundary(world *w);

/* Of the recorder. */
double world_store_per_record(world *w);

/* What a peer in Python says about itself; NULL if it did not run. */
const char *world_version(const world *w, enum contender c);

#endif
