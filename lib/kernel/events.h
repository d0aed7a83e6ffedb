/* SPDX-License-Identifier: MIT */
/* The two loops over events, for a kernel that includes this in its one file, after it has
 * said how it holds a state:
 *
 *      lanes                                       all eight lanes
 *      load_lanes(from), store_lanes(to, lanes)    from and to memory
 *      apply_entry(entry, kind, lanes)             what twi_apply_entry() does
 */
#ifndef TWI_KERNEL_EVENTS_H
#define TWI_KERNEL_EVENTS_H

#include "kernel/kernel.h"

#if defined(__GNUC__)
#define TWI_NOT_INLINED __attribute__((noinline))
#else
#define TWI_NOT_INLINED
#endif

/* Not inlined: it would take the registers of the loop. */
TWI_NOT_INLINED static void apply_chunk(const twi_events *events, uint64_t gap,
                                        unsigned kind, uint64_t *state)
{
    twi_apply_chunk(&events->chunks, gap, kind == TWI_KIND_CHUNK_LAST, state);
}

static void place(const twi_placing *p, const uint64_t *time, const uint64_t *what,
                  size_t count)
{
    const twi_events *events = p->events;

    for (size_t i = 0; i < count; i++) {
        const uint64_t bucket = time[i] >> events->bucket_shift;
        const unsigned kind = (unsigned)(what[i] % (1u << TWI_KIND_BITS));
        const uint64_t index = what[i] >> TWI_KIND_BITS;
        uint64_t *at;

        p->keys[p->bucket_next[bucket]++] = twi_key(events, time[i], what[i]);
        if (!p->cells)
            continue;
        at = p->cells[bucket >> p->cell_shift].state;
        if (twi_kind_is_chunk(kind))
            apply_chunk(events, index, kind, at);
        else
            store_lanes(at, apply_entry(&events->entries[index], kind, load_lanes(at)));
    }
}

static inline void prefetch(const twi_events *events, uint64_t what)
{
#if defined(__GNUC__)
    const uint64_t index = what >> TWI_KIND_BITS;

    if (twi_kind_is_chunk(what % (1u << TWI_KIND_BITS)))
        __builtin_prefetch(&events->chunks.gap_ns[index]);
    else
        __builtin_prefetch(&events->entries[index]);
#else
    (void)events;
    (void)what;
#endif
}

static bool advance(const twi_events *events, twi_cursor *cursor, twi_batch *batch)
{
    const uint64_t *keys = events->keys;
    const uint64_t what_mask = (UINT64_C(1) << events->what_bits) - 1;
    uint64_t next = cursor->next, now = cursor->now, bucket = cursor->bucket;
    lanes state = load_lanes(cursor->state);
    size_t count = 0;

    for (; bucket < events->bucket_count; bucket++) {
        const uint64_t bucket_end = events->bucket_end[bucket];
        const uint64_t begin = bucket << events->bucket_shift;

        for (; next < bucket_end; next++) {
            const uint64_t key = keys[next], what = key & what_mask;
            const uint64_t time = begin + (key >> events->what_bits);
            const unsigned kind = (unsigned)(what % (1u << TWI_KIND_BITS));

            if (time >= cursor->end || count == TWI_BATCH_SIZE)
                goto out;
            prefetch(events, keys[next + TWI_LOOK_AHEAD] & what_mask);
            store_lanes(batch->state[count], state);
            batch->duration_ns[count] = time - now;
            count += time > now;
            now = time;
            if (twi_kind_is_chunk(kind)) {
                uint64_t in_memory[TWI_LANES];

                store_lanes(in_memory, state);
                apply_chunk(events, what >> TWI_KIND_BITS, kind, in_memory);
                state = load_lanes(in_memory);
            } else {
                state = apply_entry(&events->entries[what >> TWI_KIND_BITS], kind, state);
            }
        }
    }
out:
    if (count < TWI_BATCH_SIZE && now < cursor->end) {
        store_lanes(batch->state[count], state);
        batch->duration_ns[count++] = cursor->end - now;
        now = cursor->end;
    }
    store_lanes(cursor->state, state);
    cursor->next = next;
    cursor->bucket = bucket;
    cursor->now = now;
    batch->count = count;
    return count != 0;
}

#endif
