/* SPDX-License-Identifier: MIT */
#ifndef TWI_TIMELINE_EXTENT_H
#define TWI_TIMELINE_EXTENT_H

/* How much there will be in a timeline: measured before anything is allocated. */

#include "store/survey.h"

/* The half-open slice [begin_ns, end_ns): INT64_MIN and INT64_MAX stand for no edge. */
typedef struct twi_slice {
    int64_t begin_ns;
    int64_t end_ns;
} twi_slice;

typedef struct twi_extent {
    uint64_t rows;
    uint64_t events;  /* at most; outside of the slice there are none */
    uint64_t chunked; /* rows with gaps between chunks that shape the decode curves */
    uint64_t gaps;    /* all of theirs */
    uint64_t longer;  /* of UINT32_MAX ns or more */
    uint64_t tokens;  /* gaps of rows that tell the tokens of chunks */
} twi_extent;

/* Adds some spans to an extent and a survey. */
void twi_extent_add(twi_extent *extent, twi_survey *survey, const twi_span *spans,
                    size_t span_count);
void twi_extent_merge(twi_extent *extent, const twi_extent *from);

/* Number of distinct arrivals after the first token, if they shape the decode curves. */
uint64_t twi_gap_count(const twi_row *row);

#endif
