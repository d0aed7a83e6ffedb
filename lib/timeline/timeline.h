/* SPDX-License-Identifier: MIT */
#ifndef TWI_TIMELINE_TIMELINE_H
#define TWI_TIMELINE_TIMELINE_H

/* The events of a slice of time in their order, and the state of all curves at many places
 * in it.
 *
 *      spans of records --> entries (what a record adds to the curves)
 *                           chunks  (the same for the gaps between its chunks)
 *                           events  (when it does), ordered by time, once for all curves
 *                           cells   (the state before each run of buckets)
 *
 * The whole run is one slice. A part of it is built in the same way, with a state that
 * sums up what happened before; so a sub-window, a thread's share and a partition are the
 * same operation. */

#include <stddef.h>
#include <stdint.h>
#include <timeweight/allocator.h>

#include "base/parallel.h"
#include "kernel/kernel.h"
#include "timeline/extent.h"
#include "timeline/state.h"

/* A place between two events. */
typedef struct twi_place_in_time {
    uint64_t bucket;
    uint64_t next;             /* the event behind it */
    uint64_t lanes[TWI_LANES]; /* the state there, if the timeline is not wide, */
    twi_state state;           /* and if it is */
} twi_place_in_time;

typedef struct twi_timeline {
    tw_allocator allocator;
    twi_survey survey; /* of all records, whatever the slice */
    int64_t origin_ns; /* begin of bucket 0 */
    uint64_t event_count;
    twi_events events;

    unsigned cell_shift;
    uint64_t cell_count;
    twi_cell *cells; /* NULL if wide */

    /* Some number does not fit the lanes: entries hold each rate as the bits of a double in
     * the first of its two words, and there are these instead of cells. */
    bool wide;
    twi_state *states; /* one for each cell */

    /* Where a cell has very many events: places in it, at regular intervals. */
    twi_place_in_time *marks;
    uint64_t mark_count;

    /* What the events are made of, and how much was allocated. */
    uint64_t *keys;
    uint64_t *bucket_end;
    twi_entry *entries;
    twi_chunked *chunked;
    uint32_t *at, *gap_ns;
    twi_long_gap *longer;
    uint64_t *tokens;
    uint64_t key_room, bucket_room, entry_room, chunked_room, at_room, gap_room,
        longer_room, token_room;
} twi_timeline;

/* Builds the slice's timeline of all records of the spans. TW_OK, TW_ERR_NOMEM, or
 * TW_ERR_NOTSUP for 2^32 records or more; on failure there is nothing to release. */
int32_t twi_timeline_build(twi_timeline *timeline, const tw_allocator *allocator,
                           const twi_kernel *kernel, const twi_parallel *parallel,
                           const twi_span *spans, size_t span_count, twi_slice slice);
/* Leaves a zeroed timeline, which may be released again. */
void twi_timeline_release(twi_timeline *timeline);

/* The place behind all events at or before a time, which counts from origin_ns. */
twi_place_in_time twi_timeline_seek(const twi_timeline *timeline, uint64_t time);

#endif
