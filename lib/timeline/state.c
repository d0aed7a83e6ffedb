/* SPDX-License-Identifier: MIT */
#include "timeline/state.h"

static twi_u192 from_lanes(uint64_t high, uint64_t low)
{
    return twi_add(twi_shl(twi_from64(high), TWI_LOW_BITS), twi_from64(low));
}

twi_state twi_state_from_lanes(const uint64_t *lanes)
{
    return (twi_state){
        .prefill_rate = from_lanes(lanes[TWI_LANE_PREFILL_HIGH],
                                   lanes[TWI_LANE_PREFILL_LOW]),
        .decode_rate = from_lanes(lanes[TWI_LANE_DECODE_HIGH],
                                  lanes[TWI_LANE_DECODE_LOW]),
        .tokens = from_lanes(lanes[TWI_LANE_TOKENS], lanes[TWI_LANE_TOKENS_PART]),
        .active_queued = lanes[TWI_LANE_ACTIVE_QUEUED],
        .decode_prefill = lanes[TWI_LANE_DECODE_PREFILL],
    };
}

static void apply_chunk(const twi_chunk_table *table, uint64_t gap, bool last,
                        twi_state *state)
{
    const twi_chunked *record = twi_chunked_of(table, gap);
    const uint64_t number = gap - record->first_gap;

    state->decode_rate = twi_sub(state->decode_rate,
                                 twi_f64_to_u192(twi_gap_rate(table, record, gap)));
    if (!last)
        state->decode_rate = twi_add(
            state->decode_rate, twi_f64_to_u192(twi_gap_rate(table, record, gap + 1)));
    if (record->counts) {
        state->tokens = twi_add(
            state->tokens, from_lanes(table->tokens[record->counts - 1 + number], 0));
    } else {
        const twi_amount from = twi_spread(record, number);
        const twi_amount to = twi_spread(record, number + 1);
        state->tokens = twi_sub(twi_add(state->tokens, from_lanes(to.whole, to.part)),
                                from_lanes(from.whole, from.part));
    }
}

static twi_u192 rate_of(const twi_entry *entry, int word, bool wide)
{
    return wide ? twi_f64_to_u192(twi_f64_from_bits(entry->w[word]))
                : from_lanes(entry->w[word], entry->w[word + 1]);
}

static twi_u192 changed(twi_u192 value, twi_u192 by, const twi_effect *effect, int lane)
{
    if (!effect->take[lane])
        return value;
    return effect->negate[lane] ? twi_sub(value, by) : twi_add(value, by);
}

void twi_state_apply(const twi_events *events, bool wide, uint64_t what, twi_state *state)
{
    const uint64_t index = what >> TWI_KIND_BITS;
    const unsigned kind = (unsigned)(what % (1u << TWI_KIND_BITS));
    const twi_effect *effect = &twi_effects[kind];
    const twi_entry *entry;

    if (twi_kind_is_chunk(kind)) {
        apply_chunk(&events->chunks, index, kind == TWI_KIND_CHUNK_LAST, state);
        return;
    }
    entry = &events->entries[index];
    state->prefill_rate = changed(state->prefill_rate,
                                  rate_of(entry, TWI_ENTRY_PREFILL, wide), effect,
                                  TWI_LANE_PREFILL_HIGH);
    state->decode_rate = changed(state->decode_rate,
                                 rate_of(entry, TWI_ENTRY_DECODE, wide), effect,
                                 TWI_LANE_DECODE_HIGH);
    state->tokens = changed(state->tokens, from_lanes(entry->w[effect->tokens], 0),
                            effect, TWI_LANE_TOKENS);
    state->active_queued += effect->add[TWI_LANE_ACTIVE_QUEUED];
    state->decode_prefill += effect->add[TWI_LANE_DECODE_PREFILL];
}

void twi_state_add(twi_state *state, const twi_state *from)
{
    state->prefill_rate = twi_add(state->prefill_rate, from->prefill_rate);
    state->decode_rate = twi_add(state->decode_rate, from->decode_rate);
    state->tokens = twi_add(state->tokens, from->tokens);
    state->active_queued += from->active_queued;
    state->decode_prefill += from->decode_prefill;
}

void twi_state_values(const twi_state *state, twi_values *values, size_t at)
{
    const uint32_t decode = (uint32_t)state->decode_prefill;
    const uint32_t prefill = (uint32_t)(state->decode_prefill >> 32);
    const double prefill_rate = twi_f64_from_u192(state->prefill_rate);
    const double decode_rate = twi_f64_from_u192(state->decode_rate);

    values->count[TWI_COUNT_ACTIVE][at] = (uint32_t)state->active_queued;
    values->count[TWI_COUNT_QUEUED][at] = (uint32_t)(state->active_queued >> 32);
    values->count[TWI_COUNT_DECODE][at] = decode;
    values->count[TWI_COUNT_PREFILL][at] = prefill;
    values->real[TWI_REAL_PREFILL_RATE][at] = prefill_rate;
    values->real[TWI_REAL_DECODE_RATE][at] = decode_rate;
    values->real[TWI_REAL_TOTAL_RATE][at] = twi_f64_from_u192(
        twi_add(state->prefill_rate, state->decode_rate));
    values->real[TWI_REAL_DECODE_RATE_PER_USER][at] = twi_per_user(decode_rate, decode);
    values->real[TWI_REAL_PREFILL_RATE_PER_USER][at] = twi_per_user(prefill_rate,
                                                                    prefill);
    values->real[TWI_REAL_TOKENS][at] = twi_f64_from_u192(state->tokens);
}
