/* SPDX-License-Identifier: MIT */
#ifndef TWI_STORE_BLOCK_H
#define TWI_STORE_BLOCK_H

/* Columns of up to TWI_BLOCK_ROWS records. A block never moves and its published rows
 * never change, so that analyses read them while the recorder's writer fills the rest.
 * The recorder and every analysis that needs the block hold one reference each. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <timeweight/allocator.h>
#include <timeweight/record.h>

#include "store/row.h"

#define TWI_BLOCK_ROWS 1024

/* Room for the chunk arrivals (and token counts) of a block's records. */
typedef struct twi_slab {
    struct twi_slab *next;
    uint64_t capacity; /* in words */
    uint64_t used;
    int64_t words[];
} twi_slab;

typedef struct twi_block {
    atomic_uint references;
    tw_allocator allocator;
    struct twi_block *next; /* set before rows of the next block are published */

    int64_t credit_ns[TWI_BLOCK_ROWS]; /* as recorded: may be later than start_ns */
    int64_t start_ns[TWI_BLOCK_ROWS];
    int64_t generation_ns[TWI_BLOCK_ROWS];
    int64_t end_ns[TWI_BLOCK_ROWS];
    int64_t input_tokens[TWI_BLOCK_ROWS];
    int64_t output_tokens[TWI_BLOCK_ROWS];
    uint8_t state[TWI_BLOCK_ROWS]; /* status | row flags << 2 */

    twi_chunks *chunks; /* one per row, or NULL while no row has chunks */
    twi_slab *slabs;    /* in the order of their making */
    twi_slab *slab;     /* the one being filled; those after it are spare */
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

/* A published row as it was recorded; its chunks stay in the block. */
void twi_block_read_back(const twi_block *block, uint32_t row, tw_record *record);

/* Reads a published row. */
static inline void twi_block_read(const twi_block *block, uint32_t row, int64_t offset_ns,
                                  twi_row *out)
{
    const uint8_t state = block->state[row];
    const int64_t credit = block->credit_ns[row], generation = block->generation_ns[row];
    const int64_t start = block->start_ns[row], end = block->end_ns[row];
    const twi_chunks none = {0};

    out->credit_ns = credit == TW_TIME_NONE
                         ? credit
                         : (credit < start ? credit : start) + offset_ns;
    out->start_ns = start + offset_ns;
    out->generation_ns = generation == TW_TIME_NONE ? TW_TIME_NONE
                                                    : generation + offset_ns;
    out->end_ns = end == TW_TIME_NONE ? TW_TIME_NONE : end + offset_ns;
    out->input_tokens = block->input_tokens[row];
    out->output_tokens = block->output_tokens[row];
    out->offset_ns = offset_ns;
    out->status = state & 3;
    out->flags = state >> 2;
    out->chunks = out->flags & TWI_ROW_HAS_CHUNKS ? block->chunks[row] : none;
}

#endif
