/* SPDX-License-Identifier: MIT */
#ifndef TWI_STORE_BLOCK_H
#define TWI_STORE_BLOCK_H

/* Up to TWI_BLOCK_ROWS records. A block never moves and its published rows
 * never change, so that analyses read them while the recorder's writer fills the rest.
 * The recorder and every analysis that needs the block hold one reference each. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <timeweight/allocator.h>
#include <timeweight/record.h>

#include "store/row.h"

#define TWI_BLOCK_ROWS 1024

/* A record as it is stored, but for its chunks: 48 bytes, so that appending is one stream of
 * stores, and reading one of loads. */
typedef struct twi_packed {
    int64_t credit_ns; /* as recorded: may be later than start_ns */
    int64_t start_ns;
    int64_t generation_ns;
    int64_t end_ns;
    int64_t input_tokens;
    uint64_t output_and_state; /* output_tokens + 1, and above that bit the state */
} twi_packed;

/* The state of a row: tw_record_status | row flags << 2. */
#define TWI_STATE_SHIFT 48

static inline uint32_t twi_packed_state(const twi_packed *packed)
{
    return (uint32_t)(packed->output_and_state >> TWI_STATE_SHIFT);
}

static inline int64_t twi_packed_output(const twi_packed *packed)
{
    const uint64_t above = UINT64_MAX << TWI_STATE_SHIFT;
    return (int64_t)(packed->output_and_state & ~above) - 1;
}

/* The row flags of a record, those about chunks left out. */
static inline uint32_t twi_row_flags(const tw_record *record)
{
    const bool late = record->credit_issued_ns >
                      record->start_ns; /* never TW_TIME_NONE */

    return (record->flags & TW_RECORD_STREAMING ? TWI_ROW_STREAMING : 0u) |
           (late ? TWI_ROW_CREDIT_AFTER_START : 0u);
}

static inline void twi_packed_write(twi_packed *packed, const tw_record *record,
                                    uint32_t flags)
{
    const uint32_t state = (uint32_t)record->status | flags << 2;

    packed->credit_ns = record->credit_issued_ns;
    packed->start_ns = record->start_ns;
    packed->generation_ns = record->generation_start_ns;
    packed->end_ns = record->end_ns;
    packed->input_tokens = record->input_tokens;
    packed->output_and_state = ((uint64_t)record->output_tokens + 1) |
                               (uint64_t)state << TWI_STATE_SHIFT;
}

/* Room for the chunks of a block's records. */
typedef struct twi_slab {
    struct twi_slab *next;
    uint64_t capacity; /* in words */
    uint64_t used;
    uint32_t words[];
} twi_slab;

typedef struct twi_block {
    atomic_uint references;
    tw_allocator allocator;
    struct twi_block *next; /* set before rows of the next block are published */

    twi_chunks *chunks; /* one per row, or NULL while no row has chunks */
    twi_slab *slabs;    /* in the order of their making */
    twi_slab *slab;     /* the one being filled; those after it are spare */

    twi_packed rows[TWI_BLOCK_ROWS];
} twi_block;

/* A new empty block with one reference, or NULL. */
twi_block *twi_block_new(const tw_allocator *allocator);
void twi_block_hold(twi_block *block);
void twi_block_release(twi_block *block);
/* True if the caller's reference is the only one. */
bool twi_block_is_exclusive(twi_block *block);
/* Forgets all rows; keeps the memory. */
void twi_block_reset(twi_block *block);
/* Bytes held, slabs included. */
uint64_t twi_block_memory(const twi_block *block);

/* Where a block stands between appends, to return to when one fails. */
typedef struct twi_block_mark {
    twi_slab *slab;
    uint64_t used;
} twi_block_mark;

twi_block_mark twi_block_get_mark(const twi_block *block);
void twi_block_return_to(twi_block *block, twi_block_mark mark);

/* Writes an acceptable record into a row that is not published yet. False if memory for
 * its chunks is not to be had. */
bool twi_block_write(twi_block *block, uint32_t row, const tw_record *record);

/* A published row as it was recorded; its chunks stay in the block, and the pointers to
 * them are NULL. */
void twi_block_read_back(const twi_block *block, uint32_t row, tw_record *record);

/* The chunks of a published row. */
static inline twi_chunks twi_block_chunks(const twi_block *block, uint32_t row)
{
    const twi_chunks none = {0};
    const uint32_t flags = twi_packed_state(&block->rows[row]) >> 2;

    return flags & TWI_ROW_HAS_CHUNKS ? block->chunks[row] : none;
}

static inline bool twi_block_has_chunks(const twi_block *block, uint32_t row)
{
    return twi_packed_state(&block->rows[row]) >> 2 & TWI_ROW_HAS_CHUNKS;
}

/* Reads a published row. */
static inline void twi_block_read(const twi_block *block, uint32_t row, int64_t offset_ns,
                                  twi_row *out)
{
    const twi_packed *packed = &block->rows[row];
    const int64_t credit = packed->credit_ns, generation = packed->generation_ns;
    const int64_t start = packed->start_ns, end = packed->end_ns;
    const uint32_t state = twi_packed_state(packed);

    out->credit_ns = credit == TW_TIME_NONE
                         ? credit
                         : (credit < start ? credit : start) + offset_ns;
    out->start_ns = start + offset_ns;
    out->generation_ns = generation == TW_TIME_NONE ? TW_TIME_NONE
                                                    : generation + offset_ns;
    out->end_ns = end == TW_TIME_NONE ? TW_TIME_NONE : end + offset_ns;
    out->input_tokens = packed->input_tokens;
    out->output_tokens = twi_packed_output(packed);
    out->status = (int32_t)(state & 3);
    out->flags = state >> 2;
    out->chunks = twi_block_chunks(block, row);
}

#endif
