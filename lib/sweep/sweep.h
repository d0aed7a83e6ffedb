/* SPDX-License-Identifier: MIT */
#ifndef TWI_SWEEP_SWEEP_H
#define TWI_SWEEP_SWEEP_H

/* Runs over a timeline inside a window and yields the stretches of time in which no curve
 * changes, with the values of all curves. Only stretches of positive duration exist, so the
 * order of events at one instant cannot matter. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline/curve.h"
#include "timeline/timeline.h"

typedef struct twi_stretches {
    twi_values values;
    uint64_t duration_ns[TWI_BATCH_SIZE];
    size_t count;
} twi_stretches;

typedef struct twi_sweep {
    const twi_timeline *timeline;
    const twi_kernel *kernel;
    uint64_t lead_ns; /* the window begins so long before the timeline */
    twi_cursor cursor;
    twi_state state; /* if the timeline is wide, instead of the cursor's */
} twi_sweep;

/* Begins at the window's left edge, with all work in flight there. begin_ns <= end_ns,
 * and the window does not begin before the timeline's slice. */
void twi_sweep_begin(twi_sweep *sweep, const twi_timeline *timeline,
                     const twi_kernel *kernel, int64_t begin_ns, int64_t end_ns);

/* The next stretches; false when the window is done (there are none then). */
bool twi_sweep_next(twi_sweep *sweep, twi_stretches *stretches);

/* The values of a curve whose values are real, or NULL. */
static inline const double *twi_sweep_real(const twi_stretches *stretches,
                                           twi_curve curve)
{
    switch (curve) {
    case TWI_CURVE_PREFILL_RATE:
        return stretches->values.real[TWI_REAL_PREFILL_RATE];
    case TWI_CURVE_DECODE_RATE:
        return stretches->values.real[TWI_REAL_DECODE_RATE];
    case TWI_CURVE_TOTAL_RATE:
        return stretches->values.real[TWI_REAL_TOTAL_RATE];
    case TWI_CURVE_DECODE_RATE_PER_USER:
        return stretches->values.real[TWI_REAL_DECODE_RATE_PER_USER];
    case TWI_CURVE_PREFILL_RATE_PER_USER:
        return stretches->values.real[TWI_REAL_PREFILL_RATE_PER_USER];
    case TWI_CURVE_TOKENS:
        return stretches->values.real[TWI_REAL_TOKENS];
    default:
        return NULL;
    }
}

/* The values of a curve that counts, or NULL. */
static inline const uint32_t *twi_sweep_counts(const twi_stretches *stretches,
                                               twi_curve curve)
{
    switch (curve) {
    case TWI_CURVE_QUEUED:
        return stretches->values.count[TWI_COUNT_QUEUED];
    case TWI_CURVE_CONCURRENCY:
        return stretches->values.count[TWI_COUNT_ACTIVE];
    case TWI_CURVE_PREFILL_CONCURRENCY:
        return stretches->values.count[TWI_COUNT_PREFILL];
    case TWI_CURVE_DECODE_CONCURRENCY:
        return stretches->values.count[TWI_COUNT_DECODE];
    default:
        return NULL;
    }
}

/* One value of any curve, as a double. */
static inline double twi_sweep_value(const twi_stretches *stretches, twi_curve curve,
                                     size_t at)
{
    const double *real = twi_sweep_real(stretches, curve);
    return real ? real[at] : (double)twi_sweep_counts(stretches, curve)[at];
}

#endif
