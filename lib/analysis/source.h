/* SPDX-License-Identifier: MIT */
#ifndef TWI_ANALYSIS_SOURCE_H
#define TWI_ANALYSIS_SOURCE_H

/* Sources of weighted values: every curve and every sample is one. Two kinds of pass
 * serve them all: a sweep over the timeline for curves, a walk over the records for
 * samples. */

#include <stdint.h>

#include "analysis/window.h"
#include "metric/sample.h"
#include "sweep/sweep.h"

#define TWI_SOURCE_COUNT ((int)TWI_CURVE_COUNT + (int)TWI_SAMPLE_COUNT)

typedef struct twi_run {
    const twi_span *spans;
    size_t span_count;
    const twi_timeline *timeline;
    const twi_kernel *kernel;
    twi_window window;
    bool token_levels; /* token counts are fed as counts */
} twi_run;

/* Up to TWI_BATCH_SIZE values with their weights: either `real` or `counts`. */
typedef struct twi_feed {
    const double *real;
    const uint32_t *counts;
    const uint64_t *weight;
    size_t count;
} twi_feed;

/* Takes some of a source's values; anything but TW_OK ends the pass. */
typedef int32_t (*twi_visit)(void *context, int source, const twi_feed *feed);

/* One of `count` parts of a run: a share of the window's time and of the spans. */
typedef struct twi_share {
    uint32_t part;
    uint32_t count;
} twi_share;

/* Sees a span on the way. */
typedef void (*twi_span_visit)(void *context, const twi_span *span);

/* Gives the visitor all values of the sources in the set (bit i: source i) that belong to
 * the share, in one pass for the curves and one for the samples, on bounded stack; and the
 * span visitor, if there is one, all spans. */
int32_t twi_source_pass(const twi_run *run, twi_share share, uint32_t set,
                        twi_visit visit, twi_span_visit span_visit, void *context);

#endif
