/* SPDX-License-Identifier: MIT */
/* What an event does to the running sums. */

#include "timeline/curve.h"
#include "timeline/timeline.h"

static void apply_start(const twi_entry *entry, twi_state *state)
{
    state->queued -= (entry->has & TWI_ENTRY_CREDIT) != 0;
    state->active++;
    if (entry->has & TWI_ENTRY_PREFILL) {
        state->prefill++;
        state->prefill_rate = twi_add(state->prefill_rate,
                                      twi_load128(entry->prefill_rate));
        state->tokens = twi_add(state->tokens, twi_whole_tokens(entry->input));
    }
}

static void apply_generation(const twi_entry *entry, twi_state *state)
{
    state->prefill--;
    state->decode++;
    state->prefill_rate = twi_sub(state->prefill_rate, twi_load128(entry->prefill_rate));
    state->decode_rate = twi_add(state->decode_rate, twi_load128(entry->decode_rate));
    state->tokens = twi_add(state->tokens, twi_whole_tokens(entry->output_first));
}

static void apply_end(const twi_entry *entry, twi_state *state)
{
    state->active--;
    if (entry->has & TWI_ENTRY_GENERATION) {
        state->decode--;
        if (!(entry->has & TWI_ENTRY_GAPS))
            state->decode_rate = twi_sub(state->decode_rate,
                                         twi_load128(entry->decode_rate));
    } else if (entry->has & TWI_ENTRY_PREFILL) {
        state->prefill--;
    }
    state->tokens = twi_sub(state->tokens,
                            twi_whole_tokens(entry->input + entry->output_total));
}

static void apply_chunk(const twi_gap *gap, int last, twi_state *state)
{
    state->decode_rate = twi_sub(state->decode_rate, twi_load128(gap->rate));
    if (!last)
        state->decode_rate = twi_add(state->decode_rate, twi_load128(gap[1].rate));
    state->tokens = twi_add(state->tokens, twi_load128(gap->tokens));
}

void twi_timeline_prefetch(const twi_timeline *timeline, uint64_t what)
{
#if defined(__GNUC__)
    const uint64_t index = what >> TWI_EVENT_KIND_BITS;

    if ((what & ((1u << TWI_EVENT_KIND_BITS) - 1)) < TWI_EVENT_CHUNK)
        __builtin_prefetch(&timeline->entries[index]);
    else
        __builtin_prefetch(&timeline->gaps[index]);
#else
    (void)timeline;
    (void)what;
#endif
}

void twi_timeline_apply(const twi_timeline *timeline, uint64_t what, twi_state *state)
{
    const uint64_t index = what >> TWI_EVENT_KIND_BITS;

    switch (what & ((1u << TWI_EVENT_KIND_BITS) - 1)) {
    case TWI_EVENT_CREDIT:
        state->queued++;
        break;
    case TWI_EVENT_START:
        apply_start(&timeline->entries[index], state);
        break;
    case TWI_EVENT_GENERATION:
        apply_generation(&timeline->entries[index], state);
        break;
    case TWI_EVENT_END:
        apply_end(&timeline->entries[index], state);
        break;
    case TWI_EVENT_CHUNK:
        apply_chunk(&timeline->gaps[index], 0, state);
        break;
    default:
        apply_chunk(&timeline->gaps[index], 1, state);
    }
}
