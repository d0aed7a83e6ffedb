/* SPDX-License-Identifier: MIT */
#ifndef OURS_H
#define OURS_H

#include "curves.h"
#include "traffic.h"

#include <timeweight/timeweight.h>

/* The library under measurement, through its public interface. */

/* Ends the program unless the status is TW_OK. */
void ours_check(int32_t status, const char *what);

/* The record of a row; its chunks, if any, lead into the traffic. */
tw_record ours_record(const traffic *t, size_t row);

/* A recorder with all requests. */
tw_recorder *ours_recorder(const traffic *t);

/* A kernel as the options name it, for what has no name yet a number. */
const char *ours_kernel_name(int32_t kernel);

/* Whether this library on this machine has it. */
bool ours_has_kernel(int32_t kernel);

/* Analyses, reads all metrics and frees, as a caller would. */
void ours_run(tw_recorder *recorder, int32_t kernel, uint32_t threads,
              curve_stats results[CURVE_METRICS]);

/* All metrics of an analysis; zeros for what is not emitted. */
void ours_read(const tw_analysis *analysis, curve_stats results[CURVE_METRICS]);

/* What an analysis allocates, at most at once and after it is made. */
typedef struct ours_memory {
    uint64_t peak, kept;
} ours_memory;

ours_memory ours_measure(tw_recorder *recorder);

/* Whether a peer's results of some events are those of the recorder, to what float64 can
 * do; says on stderr where not. ours.c says how close that is. */
bool ours_agree(tw_recorder *recorder, const curve_stats *peer, size_t metrics,
                enum curve_metric first, size_t events, const char *name);

#endif
