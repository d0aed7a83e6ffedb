/* SPDX-License-Identifier: MIT */
#ifndef TWI_TIMELINE_TIMELINE_H
#define TWI_TIMELINE_TIMELINE_H

/* The events of a slice of time in their order, and the state of all curves before them.
 *
 *      spans of records --> entries (what a record adds to the curves)
 *                           gaps    (the same for each gap between its chunks)
 *                           events  (when it does), ordered by time, once for all curves
 *
 * The whole run is one slice. A part of it is built in the same way, with a carry-in
 * state that sums up what happened before; so a sub-window, a thread's share and a
 * partition are the same operation. */

#include <stddef.h>
#include <stdint.h>
#include <timeweight/allocator.h>

#include "base/wide.h"
#include "store/recorder.h"

/* All running sums at one instant. */
typedef struct twi_state {
    uint64_t queued;
    uint64_t active;
    uint64_t prefill;
    uint64_t decode;
    twi_u192 prefill_rate; /* 2^-88 tokens/ns */
    twi_u192 decode_rate;
    twi_u192 tokens; /* 2^-44 tokens */
} twi_state;

/* What one record adds when its events come. */
typedef struct twi_entry {
    uint64_t prefill_rate[2];
    uint64_t
        decode_rate[2]; /* from its first token on: of the phase, or of the first gap */
    uint64_t input;     /* tokens */
    uint64_t output_first; /* tokens that the first token's arrival brought */
    uint64_t output_total;
    uint32_t has; /* enum below */
} twi_entry;

enum {
    TWI_ENTRY_CREDIT = 1,     /* has a credit event */
    TWI_ENTRY_PREFILL = 2,    /* counts in prefill from start on */
    TWI_ENTRY_GENERATION = 4, /* has a generation event */
    TWI_ENTRY_GAPS = 8        /* its chunk events end its decode rate */
};

/* The stretch between two arrivals of a record; the tokens arrive at its right edge. */
typedef struct twi_gap {
    uint64_t rate[2];
    uint64_t tokens[2];
} twi_gap;

/* Kinds of events, in the low bits of twi_event.what. */
enum {
    TWI_EVENT_CREDIT,     /* index of an entry above the kind */
    TWI_EVENT_START,      /* entry */
    TWI_EVENT_GENERATION, /* entry */
    TWI_EVENT_END,        /* entry */
    TWI_EVENT_CHUNK,      /* index of the gap that ends; the next gap begins */
    TWI_EVENT_CHUNK_LAST, /* gap; no gap follows */
    TWI_EVENT_KIND_BITS = 3
};

typedef struct twi_event {
    uint64_t key;  /* time - origin_ns of the timeline */
    uint64_t what; /* index << TWI_EVENT_KIND_BITS | kind */
} twi_event;

/* The half-open slice [begin_ns, end_ns): INT64_MIN and INT64_MAX stand for no edge. */
typedef struct twi_slice {
    int64_t begin_ns;
    int64_t end_ns;
} twi_slice;

/* The state in the middle of the events, to begin there. */
typedef struct twi_checkpoint {
    uint64_t next; /* event that has not taken effect yet */
    twi_state state;
} twi_checkpoint;

#define TWI_CHECKPOINT_EVERY 4096 /* events */

typedef struct twi_timeline {
    tw_allocator allocator;
    int64_t origin_ns;
    twi_state carry; /* the state before the first event */
    twi_event *events;
    uint64_t event_count;
    twi_entry *entries;
    twi_gap *gaps;
    twi_checkpoint *checkpoints; /* after each TWI_CHECKPOINT_EVERY events */
    uint64_t checkpoint_count;
    /* as allocated */
    uint64_t event_room;
    uint64_t entry_room;
    uint64_t gap_room;
} twi_timeline;

/* Builds the slice's timeline of all records of the spans. TW_OK or TW_ERR_NOMEM; on
 * failure there is nothing to release. */
int32_t twi_timeline_build(twi_timeline *timeline, const tw_allocator *allocator,
                           const twi_span *spans, size_t span_count, twi_slice slice);
/* Leaves a zeroed timeline, which may be released again. */
void twi_timeline_release(twi_timeline *timeline);

/* The latest place at which all events that have taken effect lie at or before a time. */
twi_checkpoint twi_timeline_seek(const twi_timeline *timeline, int64_t time_ns);

static inline int64_t twi_timeline_time(const twi_timeline *timeline,
                                        const twi_event *event)
{
    return (int64_t)((uint64_t)timeline->origin_ns + event->key);
}

/* How many events ahead to ask for what an event will need: entries lie in the order of the
 * records, so most of them would be waited for. */
enum { TWI_LOOK_AHEAD = 16 };

/* Asks the memory for what an event will need. */
void twi_timeline_prefetch(const twi_timeline *timeline, uint64_t what);
/* Lets an event take effect. */
void twi_timeline_apply(const twi_timeline *timeline, uint64_t what, twi_state *state);

#endif
