/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_OVERHEAD_H
#define LOADGEN_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <timeweight/timeweight.h>

/* What the generator itself did to the measurement. A request is ready when it is due and
 * there is a place for it; from then until its start it waits for the generator alone.
 * The library has a metric for that: credit_to_start_latency, of records whose credit is
 * that moment. */
struct overhead {
    tw_recorder *recorder;
    int64_t begin_ns;
    int64_t end_ns;
    int64_t cpu_ns;    /* that the process used */
    int64_t waited_ns; /* nothing to do */
    int64_t longest_turn_ns;
};

/* False: no memory. */
bool overhead_begin(struct overhead *overhead, int64_t now_ns);

/* A request was started. False: no memory. */
bool overhead_started(struct overhead *overhead, int64_t ready_ns, int64_t start_ns);

/* A turn of the loop took so long, of which it waited so long. */
void overhead_turn(struct overhead *overhead, int64_t turn_ns, int64_t waited_ns);

/* The run is over. */
void overhead_end(struct overhead *overhead, int64_t now_ns);

/* Says how late it was and how much of the time it had something to do, on the CPU or
 * waiting for it, and warns if it was too late: then the generator was the
 * bottleneck, not the server. latency_ms: the median of the requests, or 0. */
void overhead_print(const struct overhead *overhead, double latency_ms, FILE *file);

void overhead_clear(struct overhead *overhead);

#endif
