/* SPDX-License-Identifier: MIT */
#include "store/recorder.h"

#include <stddef.h>
#include <string.h>

#include "base/abi.h"
#include "base/mem.h"

tw_recorder *twi_recorder_new(const tw_allocator *allocator)
{
    tw_recorder *recorder = twi_mem_zalloc(allocator, 1, sizeof *recorder);
    if (!recorder)
        return NULL;
    recorder->mark = TWI_MARK_RECORDER;
    recorder->allocator = *allocator;
    atomic_init(&recorder->published, 0);
    atomic_init(&recorder->offset_ns, 0);
    for (int i = 0; i < TW_RULE_LIMIT; i++)
        atomic_init(&recorder->refused[i], 0);
    return recorder;
}

/* Releases the blocks from *link on. */
static void release_chain(twi_block **link)
{
    while (*link) {
        twi_block *block = *link;
        *link = block->next;
        twi_block_release(block);
    }
}

void twi_recorder_free(tw_recorder *recorder)
{
    const tw_allocator allocator = recorder->allocator;

    release_chain(&recorder->head);
    recorder->mark = TWI_MARK_FREED;
    twi_mem_free(&allocator, recorder, 1, sizeof *recorder);
}

twi_block *twi_recorder_next_block(tw_recorder *recorder, twi_block *block)
{
    twi_block **link = block ? &block->next : &recorder->head;
    if (!*link)
        *link = twi_block_new(&recorder->allocator);
    return *link;
}

void twi_recorder_set_error(tw_recorder *recorder, int32_t status, uint64_t row,
                            const twi_fault *fault)
{
    const twi_fault none = {0};

    if (!fault)
        fault = &none;
    recorder->last_error = (tw_error){
        .struct_size = (uint32_t)sizeof(tw_error),
        .status = status,
        .rule = fault->rule,
        .field = fault->field,
        .row = row,
        .index = fault->index,
        .value_a = fault->value_a,
        .value_b = fault->value_b,
    };
    recorder->detail[0] = 0;
}

int32_t twi_recorder_reserve(tw_recorder *recorder, uint64_t records)
{
    const uint64_t published = atomic_load_explicit(&recorder->published,
                                                    memory_order_relaxed);
    uint64_t room = (0 - published) % TWI_BLOCK_ROWS; /* free rows of the tail */
    twi_block *block = recorder->tail, **made = NULL;

    if (records / TWI_BLOCK_ROWS > SIZE_MAX / 2 / sizeof *block)
        return TW_ERR_NOMEM;
    for (; room < records; room += TWI_BLOCK_ROWS) {
        twi_block **link = block ? &block->next : &recorder->head;

        if (!*link && !made)
            made = link;
        block = twi_recorder_next_block(recorder, block);
        if (!block) {
            release_chain(made);
            return TW_ERR_NOMEM;
        }
    }
    /* All of it is there: touch the pages. No row of theirs is published. */
    for (block = made ? *made : NULL; block; block = block->next)
        memset(block->rows, 0, sizeof block->rows);
    return TW_OK;
}

void twi_recorder_clear(tw_recorder *recorder)
{
    twi_block **link = &recorder->head;

    while (*link) {
        twi_block *block = *link;
        if (twi_block_is_exclusive(block)) {
            link = &block->next;
        } else {
            *link = block->next;
            twi_block_release(block);
        }
    }
    recorder->tail = NULL;
    atomic_store_explicit(&recorder->published, 0, memory_order_relaxed);
    for (int i = 0; i < TW_RULE_LIMIT; i++)
        atomic_store_explicit(&recorder->refused[i], 0, memory_order_relaxed);
    memset(&recorder->outcomes, 0, sizeof recorder->outcomes);
    memset(&recorder->last_error, 0, sizeof recorder->last_error);
    recorder->detail[0] = 0;
}

void twi_recorder_balance(const tw_recorder *recorder, tw_balance *balance)
{
    const twi_outcomes *outcomes = &recorder->outcomes;

    memset(balance, 0, sizeof *balance);
    balance->issued = atomic_load_explicit(&recorder->published, memory_order_relaxed);
    balance->failed = outcomes->failed;
    balance->cancelled = outcomes->cancelled;
    balance->in_flight = outcomes->in_flight;
    balance->ok = balance->issued - outcomes->failed - outcomes->cancelled -
                  outcomes->in_flight;
    balance->credit_after_start = outcomes->credit_after_start;
    balance->chunk_tokens_ignored = outcomes->chunk_tokens_ignored;
    twi_recorder_add_refusals(recorder, balance);
}

/* Walks over published rows, of which there must be one. */
typedef struct walk {
    const twi_block *block;
    uint32_t row;
} walk;

static walk walk_from(const tw_recorder *recorder, uint64_t first)
{
    walk at = {recorder->head, (uint32_t)(first % TWI_BLOCK_ROWS)};

    for (uint64_t skip = first / TWI_BLOCK_ROWS; skip; skip--)
        at.block = at.block->next;
    return at;
}

/* To the next row, which is published. */
static void walk_on(walk *at)
{
    if (++at->row == TWI_BLOCK_ROWS) {
        at->block = at->block->next;
        at->row = 0;
    }
}

size_t twi_recorder_read(const tw_recorder *recorder, uint64_t first, void *records,
                         size_t capacity, size_t stride)
{
    const uint64_t published = twi_recorder_published(recorder);
    const size_t count = published - first < capacity ? (size_t)(published - first)
                                                      : capacity;
    walk at;

    if (count == 0)
        return 0; /* and then the writer may just be making the first block */
    at = walk_from(recorder, first);
    for (size_t i = 0; i < count; i++) {
        tw_record record;

        if (i)
            walk_on(&at);
        twi_block_read_back(at.block, at.row, &record);
        twi_abi_write_element(records, i, stride, &record, sizeof record);
    }
    return count;
}

uint64_t twi_recorder_chunk_count(const tw_recorder *recorder, uint64_t first,
                                  size_t count)
{
    uint64_t sum = 0;
    walk at;

    if (count == 0)
        return 0;
    at = walk_from(recorder, first);
    for (size_t i = 0; i < count; i++) {
        if (i)
            walk_on(&at);
        sum += twi_block_chunks(at.block, at.row).count;
    }
    return sum;
}

/* Points an element of an array, aligned anyhow, to its chunks. */
static void point_to_chunks(void *records, size_t i, size_t stride,
                            const int64_t *arrival_ns, const int64_t *tokens,
                            uint64_t count)
{
    unsigned char *element = (unsigned char *)records + i * stride;

    memcpy(element + offsetof(tw_record, chunk_arrival_ns), &arrival_ns,
           sizeof arrival_ns);
    memcpy(element + offsetof(tw_record, chunk_tokens), &tokens, sizeof tokens);
    memcpy(element + offsetof(tw_record, chunk_count), &count, sizeof count);
}

size_t twi_recorder_read_chunks(const tw_recorder *recorder, uint64_t first,
                                void *records, size_t count, size_t stride,
                                int64_t *arrival_ns, int64_t *tokens)
{
    size_t written = 0;
    walk at;

    if (count == 0)
        return 0;
    at = walk_from(recorder, first);
    for (size_t i = 0; i < count; i++) {
        twi_chunks chunks;
        int64_t *own_tokens;

        if (i)
            walk_on(&at);
        chunks = twi_block_chunks(at.block, at.row);
        if (!chunks.count) {
            point_to_chunks(records, i, stride, NULL, NULL, 0);
            continue;
        }
        own_tokens = tokens ? tokens + written : NULL;
        twi_chunks_decode(&chunks, at.block->rows[at.row].generation_ns,
                          arrival_ns + written, own_tokens);
        point_to_chunks(records, i, stride, arrival_ns + written,
                        chunks.tokens ? own_tokens : NULL, chunks.count);
        written += (size_t)chunks.count;
    }
    return written;
}

uint64_t twi_recorder_memory(const tw_recorder *recorder)
{
    uint64_t bytes = sizeof *recorder;
    for (const twi_block *block = recorder->head; block; block = block->next)
        bytes += twi_block_memory(block);
    return bytes;
}

uint64_t twi_recorder_published(const tw_recorder *recorder)
{
    return atomic_load_explicit(&recorder->published, memory_order_acquire);
}

uint64_t twi_recorder_span_count(uint64_t published)
{
    return published / TWI_BLOCK_ROWS + (published % TWI_BLOCK_ROWS != 0);
}

void twi_recorder_spans(const tw_recorder *recorder, uint64_t published, twi_span *spans)
{
    const int64_t offset = atomic_load_explicit(&recorder->offset_ns,
                                                memory_order_relaxed);

    for (twi_block *block = NULL; published; spans++) {
        /* The link was written before the rows behind it were published. */
        block = block ? block->next : recorder->head;
        spans->block = block;
        spans->rows = published < TWI_BLOCK_ROWS ? (uint32_t)published : TWI_BLOCK_ROWS;
        spans->offset_ns = offset;
        twi_block_hold(block);
        published -= spans->rows;
    }
}

void twi_recorder_add_refusals(const tw_recorder *recorder, tw_balance *balance)
{
    for (int i = 0; i < TW_RULE_LIMIT; i++) {
        uint64_t refused = atomic_load_explicit(&recorder->refused[i],
                                                memory_order_relaxed);
        balance->refused_by_rule[i] += refused;
        balance->refused += refused;
    }
}
