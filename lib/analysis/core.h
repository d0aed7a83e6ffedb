/* SPDX-License-Identifier: MIT */
#ifndef TWI_ANALYSIS_CORE_H
#define TWI_ANALYSIS_CORE_H

/* What does not depend on the window: the records of a run, held, and their timeline. An
 * analysis and those made of its windows share one, by reference. */

#include <stdatomic.h>
#include <stdint.h>

#include "store/recorder.h"
#include "timeline/timeline.h"

typedef struct twi_core {
    atomic_uint references;
    tw_allocator allocator;
    const twi_kernel *kernel;
    twi_span *spans;
    uint64_t span_count;
    twi_timeline timeline;
    tw_balance sheet;         /* the members that do not speak of a window */
    uint32_t eligible;        /* set of curves that a record is eligible for */
    uint32_t sample_eligible; /* likewise of samples */
    int64_t
        first_ns;    /* the first credit; not above last_ns unless there are no records */
    int64_t last_ns; /* the last response */
} twi_core;

/* All that the recorders hold now. TW_OK, TW_ERR_NOMEM, TW_ERR_RANGE. */
int32_t twi_core_new(twi_core **out, tw_recorder *const *recorders, size_t recorder_count,
                     const tw_allocator *allocator, const twi_kernel *kernel,
                     const twi_parallel *parallel);
void twi_core_hold(twi_core *core);
void twi_core_release(twi_core *core);

#endif
