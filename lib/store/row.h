/* SPDX-License-Identifier: MIT */
#ifndef TWI_STORE_ROW_H
#define TWI_STORE_ROW_H

/* One stored record, normalised: what every later stage reads. */

#include <stdbool.h>
#include <stdint.h>
#include <timeweight/record.h>

#include "store/chunks.h"

enum {
    TWI_ROW_STREAMING = 1,
    TWI_ROW_CREDIT_AFTER_START = 2,   /* credit_ns was clamped to start_ns */
    TWI_ROW_CHUNK_TOKENS_IGNORED = 4, /* the chunks' counts are not to be used */
    TWI_ROW_HAS_CHUNKS = 8            /* only in a block's state byte */
};

/* Times include the recorder's clock offset. */
typedef struct twi_row {
    int64_t credit_ns; /* at most start_ns, or TW_TIME_NONE */
    int64_t start_ns;
    int64_t generation_ns; /* or TW_TIME_NONE */
    int64_t end_ns;        /* or TW_TIME_NONE: in flight */
    int64_t input_tokens;  /* or TW_TOKENS_NONE */
    int64_t output_tokens; /* or TW_TOKENS_NONE */
    twi_chunks chunks;     /* count 0: none */
    int32_t status;
    uint32_t flags;
} twi_row;

static inline bool twi_row_in_flight(const twi_row *row)
{
    return row->end_ns == TW_TIME_NONE;
}

static inline bool twi_row_has_generation(const twi_row *row)
{
    return row->generation_ns != TW_TIME_NONE;
}

/* True if the chunks have token counts to go by. */
static inline bool twi_row_has_chunk_tokens(const twi_row *row)
{
    return row->chunks.tokens && !(row->flags & TWI_ROW_CHUNK_TOKENS_IGNORED);
}

/* Begins to read a row's chunks, with twi_chunks_next(); there may be none. Counts that are
 * not to be used read as none. */
static inline void twi_chunks_begin(twi_chunk_reader *reader, const twi_row *row)
{
    twi_chunks_open(reader, &row->chunks, twi_row_has_chunk_tokens(row));
}

/* When the request was due as far as is known: the run begins with the earliest of these.
 */
static inline int64_t twi_row_first_ns(const twi_row *row)
{
    return row->credit_ns != TW_TIME_NONE ? row->credit_ns : row->start_ns;
}

/* end_ns, or the latest time known of a request in flight. */
static inline int64_t twi_row_last_ns(const twi_row *row)
{
    if (!twi_row_in_flight(row))
        return row->end_ns;
    if (!twi_row_has_generation(row))
        return row->start_ns;
    return row->generation_ns + (int64_t)row->chunks.span_ns; /* 0 without chunks */
}

/* Counts rows like this one in the members of a balance that do not depend on a window. */
void twi_row_count(const twi_row *row, uint64_t count, tw_balance *balance);

#endif
