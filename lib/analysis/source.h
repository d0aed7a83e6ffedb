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
    twi_window window;
} twi_run;

/* Takes some of a source's values; anything but TW_OK ends the pass. */
typedef int32_t (*twi_visit)(void *context, int source, const twi_pairs *pairs);

/* Gives the visitor all values of the sources in the set (bit i: source i), in one pass
 * for the curves and one for the samples. `buffers` has room for TWI_SAMPLE_COUNT pairs.
 */
int32_t twi_source_pass(const twi_run *run, uint32_t set, twi_pairs *buffers,
                        twi_visit visit, void *context);
/* The same for one source, on the stack. */
int32_t twi_source_pass_one(const twi_run *run, int source, twi_visit visit,
                            void *context);

#endif
