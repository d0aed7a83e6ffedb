/* SPDX-License-Identifier: MIT */
#ifndef MOCKSERVER_TIMING_H
#define MOCKSERVER_TIMING_H

#include <stdint.h>

/* Bins of 10 us up to a second, and one for all beyond. */
#define TIMING_BIN_NS INT64_C(10000)
#define TIMING_BINS 100001

/* How late the server handed its chunks to the network. Zero is empty. */
struct timing {
    uint64_t bins[TIMING_BINS];
    uint64_t count;
    int64_t max_ns;
};

void timing_add(struct timing *timing, int64_t late_ns);

/* The upper edge of the bin in which the quantile lies, but not more than the maximum. */
int64_t timing_quantile_ns(const struct timing *timing, double q);

#endif
