/* SPDX-License-Identifier: MIT */
#include "store/recorder.h"

#include <stdalign.h>
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

/* The block after `block` (the first one for NULL), made if there is none. */
static twi_block *next_block(tw_recorder *recorder, twi_block *block)
{
    twi_block **link = block ? &block->next : &recorder->head;
    if (!*link)
        *link = twi_block_new(&recorder->allocator);
    return *link;
}

static bool write_row(twi_append *append, const tw_record *record)
{
    const uint32_t row = (uint32_t)(append->published % TWI_BLOCK_ROWS);
    twi_block *block = append->tail;
    twi_row stored;

    if (row == 0) {
        block = next_block(append->recorder, block);
        if (!block)
            return false;
        twi_block_reset(block);
    }
    if (!twi_block_write(block, row, record))
        return false;
    append->tail = block;
    append->published++;
    twi_block_read(block, row, 0, &stored);
    twi_row_count(&stored, &append->balance);
    return true;
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

/* The arrays of chunks are read where they lie. */
static bool chunks_are_aligned(const tw_record *record, twi_fault *fault)
{
    const uintptr_t align = alignof(int64_t);

    if (record->chunk_count == 0)
        return true;
    if ((uintptr_t)record->chunk_arrival_ns % align)
        *fault = (twi_fault){.field = TW_FIELD_CHUNK_ARRIVAL_NS};
    else if ((uintptr_t)record->chunk_tokens % align)
        *fault = (twi_fault){.field = TW_FIELD_CHUNK_TOKENS};
    else
        return true;
    return false;
}

/* TW_OK, TW_ERR_RANGE for a record that breaks a rule, TW_ERR_NOTSUP, TW_ERR_INVAL. */
static int32_t check_record(const tw_record *record, twi_fault *fault)
{
    if (record->flags & ~(uint32_t)TW_RECORD_STREAMING) {
        *fault = (twi_fault){TW_RULE_NONE, TW_FIELD_FLAGS, 0, record->flags,
                             TW_RECORD_STREAMING};
        return TW_ERR_NOTSUP;
    }
    if (!chunks_are_aligned(record, fault))
        return TW_ERR_INVAL;
    *fault = twi_rules_check(record);
    return fault->rule ? TW_ERR_RANGE : TW_OK;
}

void twi_append_begin(twi_append *append, tw_recorder *recorder, bool skip_invalid)
{
    append->recorder = recorder;
    append->skip_invalid = skip_invalid;
    append->tail = recorder->tail;
    append->published = atomic_load_explicit(&recorder->published, memory_order_relaxed);
    append->mark = recorder->tail ? twi_block_get_mark(recorder->tail)
                                  : (twi_block_mark){NULL, 0};
    append->balance = recorder->balance;
    append->row = 0;
    append->first.rule = TW_RULE_NONE;
}

int32_t twi_append_fail(twi_append *append, int32_t status, const twi_fault *fault)
{
    tw_recorder *recorder = append->recorder;

    twi_recorder_set_error(recorder, status, append->row, fault);
    if (recorder->tail)
        twi_block_return_to(recorder->tail, append->mark);
    if (status == TW_ERR_RANGE)
        atomic_fetch_add_explicit(&recorder->refused[fault->rule], 1,
                                  memory_order_relaxed);
    return status;
}

static void skip(twi_append *append, const twi_fault *fault)
{
    if (!append->first.rule) {
        append->first = *fault;
        append->first_row = append->row;
        memset(append->refused, 0, sizeof append->refused);
    }
    append->refused[fault->rule]++;
}

int32_t twi_append_rows(twi_append *append, twi_record_fn get, const void *source,
                        size_t count)
{
    for (size_t row = 0; row < count; row++, append->row++) {
        twi_fault fault = {0};
        tw_record record;
        int32_t status = get(source, row, &record, &fault);

        if (!status)
            status = check_record(&record, &fault);
        if (status == TW_ERR_RANGE && append->skip_invalid) {
            skip(append, &fault);
            continue;
        }
        if (!status && !write_row(append, &record))
            status = TW_ERR_NOMEM;
        if (status)
            return twi_append_fail(append, status, &fault);
    }
    return TW_OK;
}

void twi_append_end(twi_append *append, size_t *accepted)
{
    tw_recorder *recorder = append->recorder;
    const uint64_t before = atomic_load_explicit(&recorder->published,
                                                 memory_order_relaxed);

    if (append->first.rule) {
        twi_recorder_set_error(recorder, TW_ERR_RANGE, append->first_row, &append->first);
        for (int i = 0; i < TW_RULE_LIMIT; i++)
            if (append->refused[i])
                atomic_fetch_add_explicit(&recorder->refused[i], append->refused[i],
                                          memory_order_relaxed);
    }
    recorder->tail = append->tail;
    recorder->balance = append->balance;
    if (accepted)
        *accepted = (size_t)(append->published - before);
    atomic_store_explicit(&recorder->published, append->published, memory_order_release);
}

int32_t twi_recorder_append(tw_recorder *recorder, twi_record_fn get, const void *source,
                            size_t count, bool skip_invalid, size_t *accepted)
{
    twi_append append;
    int32_t status;

    twi_append_begin(&append, recorder, skip_invalid);
    status = twi_append_rows(&append, get, source, count);
    if (!status)
        twi_append_end(&append, accepted);
    return status;
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
        block = next_block(recorder, block);
        if (!block) {
            release_chain(made);
            return TW_ERR_NOMEM;
        }
    }
    /* All of it is there: touch the pages of the columns. No row of theirs is published. */
    for (block = made ? *made : NULL; block; block = block->next)
        memset(block->credit_ns, 0,
               offsetof(twi_block, chunks) - offsetof(twi_block, credit_ns));
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
    memset(&recorder->balance, 0, sizeof recorder->balance);
    memset(&recorder->last_error, 0, sizeof recorder->last_error);
    recorder->detail[0] = 0;
}

void twi_recorder_balance(const tw_recorder *recorder, tw_balance *balance)
{
    *balance = recorder->balance;
    twi_recorder_add_refusals(recorder, balance);
}

size_t twi_recorder_read(const tw_recorder *recorder, uint64_t first, void *records,
                         size_t capacity, size_t stride)
{
    const uint64_t published = twi_recorder_published(recorder);
    const size_t count = published - first < capacity ? (size_t)(published - first)
                                                      : capacity;
    const twi_block *block;

    if (count == 0)
        return 0; /* and then the writer may just be making the first block */
    block = recorder->head;
    for (uint64_t skip = first / TWI_BLOCK_ROWS; skip; skip--)
        block = block->next;
    for (size_t i = 0; i < count; i++) {
        const uint32_t row = (uint32_t)((first + i) % TWI_BLOCK_ROWS);
        tw_record record;

        if (row == 0 && i)
            block = block->next;
        twi_block_read_back(block, row, &record);
        twi_abi_write_element(records, i, stride, &record, sizeof record);
    }
    return count;
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
