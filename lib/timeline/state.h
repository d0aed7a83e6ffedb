/* SPDX-License-Identifier: MIT */
#ifndef TWI_TIMELINE_STATE_H
#define TWI_TIMELINE_STATE_H

/* The state of all curves in wide integers: holds any run. What the eight lanes of
 * kernel/lanes.h hold is converted to it where speed does not matter, and a timeline whose
 * numbers do not fit the lanes is swept with it. */

#include "base/wide.h"
#include "kernel/kernel.h"

typedef struct twi_state {
    twi_u192 prefill_rate; /* 2^-59 tokens/s */
    twi_u192 decode_rate;
    twi_u192 tokens;         /* 2^-44 tokens */
    uint64_t active_queued;  /* active + queued * 2^32 */
    uint64_t decode_prefill; /* decode + prefill * 2^32 */
} twi_state;

twi_state twi_state_from_lanes(const uint64_t *lanes);

/* Lets an event take effect. `wide`: entries hold each rate as the bits of a double in the
 * first of its two words, as twi_timeline.wide says. */
void twi_state_apply(const twi_events *events, bool wide, uint64_t what,
                     twi_state *state);

/* Adds what other events have done. */
void twi_state_add(twi_state *state, const twi_state *from);

/* The values of all curves: the `at`-th of the batch. */
void twi_state_values(const twi_state *state, twi_values *values, size_t at);

#endif
