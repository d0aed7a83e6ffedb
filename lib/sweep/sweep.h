/* SPDX-License-Identifier: MIT */
#ifndef TWI_SWEEP_SWEEP_H
#define TWI_SWEEP_SWEEP_H

/* Runs over a timeline inside a window and yields the stretches of time in which no curve
 * changes. Only stretches of positive duration exist, so the order of events at one
 * instant cannot matter. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline/curve.h"
#include "timeline/timeline.h"

#define TWI_BATCH_SIZE 256

typedef struct twi_batch {
    size_t count;
    uint64_t duration_ns[TWI_BATCH_SIZE];
    twi_state state[TWI_BATCH_SIZE];
} twi_batch;

typedef struct twi_sweep {
    const twi_timeline *timeline;
    uint64_t next;  /* event */
    int64_t now_ns; /* up to which time has been given out */
    int64_t end_ns;
    twi_state state;
} twi_sweep;

/* Values with their weights: what statistics are made of. */
typedef struct twi_pairs {
    size_t count;
    twi_u192 value[TWI_BATCH_SIZE];
    uint64_t weight[TWI_BATCH_SIZE];
} twi_pairs;

/* Begins at the window's left edge, with all work in flight there. begin_ns <= end_ns,
 * and the window does not begin before the timeline's slice. */
void twi_sweep_begin(twi_sweep *sweep, const twi_timeline *timeline, int64_t begin_ns,
                     int64_t end_ns);

/* The next stretches; false when the window is done (the batch is then empty). */
bool twi_sweep_next(twi_sweep *sweep, twi_batch *batch);

/* The value of one curve in a state. */
twi_u192 twi_sweep_value(const twi_state *state, twi_curve curve);

/* The values of one curve over a batch, equal neighbours merged. */
void twi_sweep_curve(const twi_batch *batch, twi_curve curve, twi_pairs *pairs);

#endif
