/* SPDX-License-Identifier: MIT */
#include "store/block.h"

#include <string.h>

#include "base/mem.h"

/* Slabs double from 4 KB to 64 KB: the writer never waits for more than that. A record that
 * needs more has a slab of its own. */
enum { SLAB_WORDS_FIRST = 1024, SLAB_WORDS_MOST = 16384, AHEAD_WORDS = 1024 };

twi_block *twi_block_new(const tw_allocator *allocator)
{
    twi_block *block = twi_mem_alloc(allocator, 1, sizeof *block);
    if (!block)
        return NULL;
    atomic_init(&block->references, 1);
    block->allocator = *allocator;
    block->next = NULL;
    block->chunks = NULL;
    block->slabs = NULL;
    block->slab = NULL;
    return block;
}

void twi_block_hold(twi_block *block)
{
    atomic_fetch_add_explicit(&block->references, 1, memory_order_relaxed);
}

static void free_slab(const tw_allocator *allocator, twi_slab *slab)
{
    twi_mem_free(allocator, slab, sizeof *slab + slab->capacity * sizeof(uint32_t), 1);
}

void twi_block_release(twi_block *block)
{
    if (atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) != 1)
        return;
    const tw_allocator allocator = block->allocator;
    while (block->slabs) {
        twi_slab *slab = block->slabs;
        block->slabs = slab->next;
        free_slab(&allocator, slab);
    }
    twi_mem_free(&allocator, block->chunks, TWI_BLOCK_ROWS, sizeof *block->chunks);
    twi_mem_free(&allocator, block, 1, sizeof *block);
}

bool twi_block_is_exclusive(twi_block *block)
{
    /* Acquire: whatever the last other holder read of the rows has been read. */
    return atomic_load_explicit(&block->references, memory_order_acquire) == 1;
}

void twi_block_reset(twi_block *block)
{
    block->slab = block->slabs;
    if (block->slab)
        block->slab->used = 0;
}

uint64_t twi_block_memory(const twi_block *block)
{
    uint64_t bytes = sizeof *block;
    if (block->chunks)
        bytes += TWI_BLOCK_ROWS * sizeof *block->chunks;
    for (const twi_slab *slab = block->slabs; slab; slab = slab->next)
        bytes += sizeof *slab + slab->capacity * sizeof(uint32_t);
    return bytes;
}

twi_block_mark twi_block_get_mark(const twi_block *block)
{
    return (twi_block_mark){block->slab, block->slab ? block->slab->used : 0};
}

void twi_block_return_to(twi_block *block, twi_block_mark mark)
{
    if (!mark.slab) {
        twi_block_reset(block);
        return;
    }
    block->slab = mark.slab;
    block->slab->used = mark.used;
}

/* Room for `words` words that will not move, or NULL. */
static uint32_t *slab_room(twi_block *block, uint64_t words)
{
    twi_slab *last = NULL, *slab = block->slab;
    uint64_t capacity = SLAB_WORDS_FIRST;

    for (; slab; slab = slab->next) {
        if (slab != block->slab)
            slab->used = 0; /* spare: whatever it says is left from a use before */
        if (slab->capacity - slab->used >= words)
            break;
        last = slab;
        capacity = slab->capacity < SLAB_WORDS_MOST / 2 ? slab->capacity * 2
                                                        : SLAB_WORDS_MOST;
    }
    if (!slab) {
        if (capacity < words)
            capacity = words;
        if (capacity > (SIZE_MAX / 2 - sizeof *slab) / sizeof(uint32_t))
            return NULL;
        slab = twi_mem_alloc(&block->allocator,
                             sizeof *slab + capacity * sizeof(uint32_t), 1);
        if (!slab)
            return NULL;
        slab->next = NULL;
        slab->capacity = capacity;
        slab->used = 0;
        if (last)
            last->next = slab;
        else
            block->slabs = slab;
    }
    block->slab = slab;
    slab->used += words;
    return slab->words + slab->used - words;
}

static bool write_chunks(twi_block *block, uint32_t row, const tw_record *record)
{
    const twi_chunk_plan plan = twi_chunks_plan(record);
    uint32_t *words;

    if (!block->chunks)
        block->chunks = twi_mem_alloc(&block->allocator, TWI_BLOCK_ROWS,
                                      sizeof *block->chunks);
    if (!block->chunks)
        return false;
    words = slab_room(block, plan.words);
    if (!words)
        return false;
    /* The room of the next record, if it is like this one: a fifth less time (measured). */
    for (uint64_t next = plan.words; next < 2 * plan.words && next < AHEAD_WORDS;
         next += 16)
        twi_mem_prefetch(words, (size_t)next * sizeof *words);
    block->chunks[row] = twi_chunks_encode(record, plan, words);
    return true;
}

/* Counts mean nothing without a total, or where they exceed it. */
static bool chunk_tokens_are_useless(const tw_record *record)
{
    enum { STEP = 1 << 20 }; /* that many counts and a total stay below 2^63 */
    const uint64_t count = record->chunk_count;
    int64_t sum = 0;

    if (!record->chunk_tokens)
        return false;
    if (record->output_tokens == TW_TOKENS_NONE)
        return true;
    for (uint64_t i = 0; i < count && sum <= record->output_tokens;) {
        const uint64_t to = count - i < STEP ? count : i + STEP;
        for (; i < to; i++)
            sum += record->chunk_tokens[i];
    }
    return sum > record->output_tokens;
}

bool twi_block_write(twi_block *block, uint32_t row, const tw_record *record)
{
    uint32_t flags = twi_row_flags(record);

    if (record->chunk_count) {
        flags |= TWI_ROW_HAS_CHUNKS;
        if (chunk_tokens_are_useless(record))
            flags |= TWI_ROW_CHUNK_TOKENS_IGNORED;
        if (!write_chunks(block, row, record))
            return false;
    }
    twi_packed_write(&block->rows[row], record, flags);
    return true;
}

void twi_block_read_back(const twi_block *block, uint32_t row, tw_record *record)
{
    const twi_packed *packed = &block->rows[row];
    const uint32_t state = twi_packed_state(packed);

    memset(record, 0, sizeof *record);
    record->credit_issued_ns = packed->credit_ns;
    record->start_ns = packed->start_ns;
    record->generation_start_ns = packed->generation_ns;
    record->end_ns = packed->end_ns;
    record->input_tokens = packed->input_tokens;
    record->output_tokens = twi_packed_output(packed);
    record->chunk_count = twi_block_chunks(block, row).count;
    record->status = (int32_t)(state & 3);
    record->flags = state >> 2 & TWI_ROW_STREAMING ? TW_RECORD_STREAMING : 0;
}
