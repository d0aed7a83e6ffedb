/* SPDX-License-Identifier: MIT */
#include "sweep/sweep.h"

#include <string.h>

void twi_sweep_begin(twi_sweep *sweep, const twi_timeline *timeline,
                     const twi_kernel *kernel, int64_t begin_ns, int64_t end_ns)
{
    const int64_t origin_ns = timeline->origin_ns;
    const int64_t from_ns = begin_ns > origin_ns ? begin_ns : origin_ns;
    twi_place_in_time place;

    memset(sweep, 0, sizeof *sweep);
    sweep->timeline = timeline;
    sweep->kernel = kernel;
    if (begin_ns < origin_ns) /* nothing has happened there */
        sweep->lead_ns = (uint64_t)(end_ns < origin_ns ? end_ns : origin_ns) -
                         (uint64_t)begin_ns;
    if (end_ns <= from_ns)
        return;
    place = twi_timeline_seek(timeline, (uint64_t)from_ns - (uint64_t)origin_ns);
    sweep->cursor.bucket = place.bucket;
    sweep->cursor.next = place.next;
    sweep->cursor.now = (uint64_t)from_ns - (uint64_t)origin_ns;
    sweep->cursor.end = (uint64_t)end_ns - (uint64_t)origin_ns;
    memcpy(sweep->cursor.state, place.lanes, sizeof place.lanes);
    sweep->state = place.state;
}

/* twi_kernel.advance and .values for a timeline that does not fit the lanes. */
static bool next_wide(twi_sweep *sweep, twi_stretches *out)
{
    const twi_events *events = &sweep->timeline->events;
    const uint64_t what_mask = (UINT64_C(1) << events->what_bits) - 1;
    twi_cursor *cursor = &sweep->cursor;
    size_t count = 0;

    while (count < TWI_BATCH_SIZE && cursor->now < cursor->end) {
        uint64_t until = cursor->end;

        for (; cursor->bucket < events->bucket_count; cursor->bucket++) {
            const uint64_t begin = cursor->bucket << events->bucket_shift;

            for (; cursor->next < events->bucket_end[cursor->bucket]; cursor->next++) {
                const uint64_t key = events->keys[cursor->next];
                const uint64_t time = begin + (key >> events->what_bits);

                if (time > cursor->now) {
                    until = time < until ? time : until;
                    goto found;
                }
                twi_state_apply(events, true, key & what_mask, &sweep->state);
            }
        }
    found:
        out->duration_ns[count] = until - cursor->now;
        twi_state_values(&sweep->state, &out->values, count++);
        cursor->now = until;
    }
    out->count = count;
    return count != 0;
}

bool twi_sweep_next(twi_sweep *sweep, twi_stretches *out)
{
    _Alignas(TWI_KERNEL_ALIGN) twi_batch batch;

    if (sweep->lead_ns) {
        memset(&batch.state[0], 0, sizeof batch.state[0]);
        batch.duration_ns[0] = sweep->lead_ns;
        batch.count = 1;
        sweep->lead_ns = 0;
    } else if (sweep->timeline->wide) {
        return next_wide(sweep, out);
    } else if (!sweep->kernel->advance(&sweep->timeline->events, &sweep->cursor,
                                       &batch)) {
        out->count = 0;
        return false;
    }
    sweep->kernel->values(&batch, &out->values);
    memcpy(out->duration_ns, batch.duration_ns, batch.count * sizeof(uint64_t));
    out->count = batch.count;
    return true;
}
