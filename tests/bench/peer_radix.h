/* SPDX-License-Identifier: MIT */
#ifndef PEER_RADIX_H
#define PEER_RADIX_H

#include "curves.h"
#include "traffic.h"

/* The usual way in compiled code: for each curve an array of events in float64, ordered by
 * an LSD radix sort of keys and indices, summed up; then each metric's (value, duration)
 * pairs, ordered by value in the same way. */

typedef struct peer_radix_input {
    size_t count;
    double *start, *first, *end; /* ns since the earliest start: exact */
    double *input, *output;
    size_t gaps;
    double *chunk; /* gaps of each request, or NULL */
} peer_radix_input;

peer_radix_input *peer_radix_input_new(const traffic *t);
void peer_radix_input_free(peer_radix_input *in);

/* All metrics, on 1 or 2 threads: the curves and then the metrics are dealt out. */
void peer_radix_run(const peer_radix_input *in, int threads,
                    curve_stats results[CURVE_METRICS]);

/* Only the effective decode throughput. */
void peer_radix_run_decode(const peer_radix_input *in, curve_stats *result);

#endif
