/* SPDX-License-Identifier: MIT */
#ifndef TWI_TIMELINE_FILL_H
#define TWI_TIMELINE_FILL_H

/* Turns some of the records into entries, gaps and events. Parts of the records may be done
 * at once: each writes to places of its own. */

#include "timeline/timeline.h"

enum { TWI_FILL_WAITING = 512 }; /* events that are placed together */

typedef struct twi_fill {
    /* Set by who fills. */
    twi_timeline *timeline;
    const twi_kernel *kernel;
    const twi_span *spans;
    size_t span_count;
    twi_slice slice;
    twi_extent at;         /* where its entries and gaps go; rises as they do */
    uint64_t *bucket_next; /* its events in each bucket; then where the next one goes */
    twi_cell *cells;       /* what its events do, by cell; NULL if wide */

    /* What comes out. */
    bool fits;                 /* all rates can be split into lanes */
    uint64_t most_high;        /* of all rates */
    uint64_t carry[TWI_LANES]; /* what the events before the slice do */
    twi_state carry_state;     /* the same if wide */

    twi_events events; /* the timeline's, with the chunks that are filled in */
    size_t waiting;    /* events that are not yet placed */
    uint64_t time[TWI_FILL_WAITING], what[TWI_FILL_WAITING];
} twi_fill;

/* First counts the events of each bucket ... */
void twi_fill_count(twi_fill *fill);
/* ... then, when bucket_next says where they go, makes them. */
void twi_fill_make(twi_fill *fill);

#endif
