/* SPDX-License-Identifier: MIT */
#include "store/block.h"

#include <string.h>

#include "base/mem.h"

enum { SLAB_WORDS_FIRST = 512, SLAB_WORDS_MOST = 131072 };

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
    twi_mem_free(allocator, slab, sizeof *slab + slab->capacity * sizeof(int64_t), 1);
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
        bytes += sizeof *slab + slab->capacity * sizeof(int64_t);
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
static int64_t *slab_room(twi_block *block, uint64_t words)
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
        if (capacity > (SIZE_MAX / 2 - sizeof *slab) / sizeof(int64_t))
            return NULL;
        slab = twi_mem_alloc(&block->allocator, sizeof *slab + capacity * sizeof(int64_t),
                             1);
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
    const uint64_t count = record->chunk_count;
    const size_t bytes = (size_t)count * sizeof(int64_t);
    int64_t *words;

    if (!block->chunks)
        block->chunks = twi_mem_alloc(&block->allocator, TWI_BLOCK_ROWS,
                                      sizeof *block->chunks);
    if (!block->chunks)
        return false;
    words = slab_room(block, record->chunk_tokens ? 2 * count : count);
    if (!words)
        return false;
    memcpy(words, record->chunk_arrival_ns, bytes);
    block->chunks[row] = (twi_chunks){words, NULL, count};
    if (record->chunk_tokens) {
        memcpy(words + count, record->chunk_tokens, bytes);
        block->chunks[row].tokens = words + count;
    }
    return true;
}

/* Counts mean nothing without a total, or where they exceed it. */
static bool chunk_tokens_are_useless(const tw_record *record)
{
    int64_t sum = 0;
    if (!record->chunk_tokens)
        return false;
    if (record->output_tokens == TW_TOKENS_NONE)
        return true;
    for (uint64_t i = 0; i < record->chunk_count && sum <= record->output_tokens; i++)
        sum += record->chunk_tokens[i];
    return sum > record->output_tokens;
}

bool twi_block_write(twi_block *block, uint32_t row, const tw_record *record)
{
    unsigned flags = 0;

    if (record->flags & TW_RECORD_STREAMING)
        flags |= TWI_ROW_STREAMING;
    if (record->credit_issued_ns != TW_TIME_NONE &&
        record->credit_issued_ns > record->start_ns)
        flags |= TWI_ROW_CREDIT_AFTER_START;
    if (record->chunk_count) {
        flags |= TWI_ROW_HAS_CHUNKS;
        if (chunk_tokens_are_useless(record))
            flags |= TWI_ROW_CHUNK_TOKENS_IGNORED;
        if (!write_chunks(block, row, record))
            return false;
    }
    block->credit_ns[row] = record->credit_issued_ns;
    block->start_ns[row] = record->start_ns;
    block->generation_ns[row] = record->generation_start_ns;
    block->end_ns[row] = record->end_ns;
    block->input_tokens[row] = record->input_tokens;
    block->output_tokens[row] = record->output_tokens;
    block->state[row] = (uint8_t)((unsigned)record->status | flags << 2);
    return true;
}

void twi_block_read_back(const twi_block *block, uint32_t row, tw_record *record)
{
    const unsigned flags = block->state[row] >> 2;

    memset(record, 0, sizeof *record);
    record->credit_issued_ns = block->credit_ns[row];
    record->start_ns = block->start_ns[row];
    record->generation_start_ns = block->generation_ns[row];
    record->end_ns = block->end_ns[row];
    record->input_tokens = block->input_tokens[row];
    record->output_tokens = block->output_tokens[row];
    record->status = block->state[row] & 3;
    record->flags = flags & TWI_ROW_STREAMING ? TW_RECORD_STREAMING : 0;
    if (flags & TWI_ROW_HAS_CHUNKS) {
        record->chunk_arrival_ns = block->chunks[row].arrival_ns;
        record->chunk_tokens = block->chunks[row].tokens;
        record->chunk_count = block->chunks[row].count;
    }
}
