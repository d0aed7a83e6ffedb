/* SPDX-License-Identifier: MIT */
#include "sweep/sweep.h"

/* Lets all events at or before `now_ns` take effect. Returns when the next one is due, at
 * most the window's end. */
static int64_t settle(twi_sweep *sweep)
{
    const twi_timeline *t = sweep->timeline;

    for (; sweep->next < t->event_count; sweep->next++) {
        const twi_event *event = &t->events[sweep->next];
        const int64_t due_ns = twi_timeline_time(t, event);
        if (due_ns > sweep->now_ns)
            return due_ns < sweep->end_ns ? due_ns : sweep->end_ns;
        if (t->event_count - sweep->next > TWI_LOOK_AHEAD)
            twi_timeline_prefetch(t, event[TWI_LOOK_AHEAD].what);
        twi_timeline_apply(t, event->what, &sweep->state);
    }
    return sweep->end_ns;
}

void twi_sweep_begin(twi_sweep *sweep, const twi_timeline *timeline, int64_t begin_ns,
                     int64_t end_ns)
{
    const twi_checkpoint from = twi_timeline_seek(timeline, begin_ns);

    sweep->timeline = timeline;
    sweep->next = from.next;
    sweep->now_ns = begin_ns;
    sweep->end_ns = end_ns;
    sweep->state = from.state;
}

bool twi_sweep_next(twi_sweep *sweep, twi_batch *batch)
{
    batch->count = 0;
    while (batch->count < TWI_BATCH_SIZE && sweep->now_ns < sweep->end_ns) {
        const int64_t until_ns = settle(sweep);
        batch->duration_ns[batch->count] = (uint64_t)until_ns - (uint64_t)sweep->now_ns;
        batch->state[batch->count] = sweep->state;
        batch->count++;
        sweep->now_ns = until_ns;
    }
    return batch->count != 0;
}

twi_u192 twi_sweep_value(const twi_state *state, twi_curve curve)
{
    const twi_u192 zero = {{0, 0, 0}};

    switch (curve) {
    case TWI_CURVE_QUEUED:
        return twi_from64(state->queued);
    case TWI_CURVE_CONCURRENCY:
        return twi_from64(state->active);
    case TWI_CURVE_PREFILL_CONCURRENCY:
        return twi_from64(state->prefill);
    case TWI_CURVE_DECODE_CONCURRENCY:
        return twi_from64(state->decode);
    case TWI_CURVE_PREFILL_RATE:
        return state->prefill_rate;
    case TWI_CURVE_DECODE_RATE:
        return state->decode_rate;
    case TWI_CURVE_TOTAL_RATE:
        return twi_add(state->prefill_rate, state->decode_rate);
    case TWI_CURVE_DECODE_RATE_PER_USER:
        return state->decode ? twi_quotient64(state->decode_rate, state->decode) : zero;
    case TWI_CURVE_PREFILL_RATE_PER_USER:
        return state->prefill ? twi_quotient64(state->prefill_rate, state->prefill)
                              : zero;
    case TWI_CURVE_TOKENS:
        return state->tokens;
    default:
        return zero;
    }
}

/* True if the curve surely has the same value in both states: spares a division. */
static bool is_unchanged(const twi_state *a, const twi_state *b, twi_curve curve)
{
    if (curve == TWI_CURVE_DECODE_RATE_PER_USER)
        return a->decode == b->decode && twi_equal(a->decode_rate, b->decode_rate);
    if (curve == TWI_CURVE_PREFILL_RATE_PER_USER)
        return a->prefill == b->prefill && twi_equal(a->prefill_rate, b->prefill_rate);
    return false;
}

void twi_sweep_curve(const twi_batch *batch, twi_curve curve, twi_pairs *pairs)
{
    size_t count = 0;

    for (size_t i = 0; i < batch->count; i++) {
        twi_u192 value;

        if (i && is_unchanged(&batch->state[i], &batch->state[i - 1], curve)) {
            pairs->weight[count - 1] += batch->duration_ns[i];
            continue;
        }
        value = twi_sweep_value(&batch->state[i], curve);
        if (count && twi_equal(value, pairs->value[count - 1])) {
            pairs->weight[count - 1] += batch->duration_ns[i];
        } else {
            pairs->value[count] = value;
            pairs->weight[count] = batch->duration_ns[i];
            count++;
        }
    }
    pairs->count = count;
}
