/* SPDX-License-Identifier: MIT */
#include "store/append.h"

#include <stdalign.h>
#include <string.h>

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

static void outcomes_add(twi_outcomes *outcomes, const twi_packed *row)
{
    const uint32_t state = twi_packed_state(row), flags = state >> 2;

    if (row->end_ns == TW_TIME_NONE)
        outcomes->in_flight++;
    else if ((state & 3) == TW_RECORD_FAILED)
        outcomes->failed++;
    else if ((state & 3) == TW_RECORD_CANCELLED)
        outcomes->cancelled++;
    outcomes->credit_after_start += (flags & TWI_ROW_CREDIT_AFTER_START) != 0;
    outcomes->chunk_tokens_ignored += (flags & TWI_ROW_CHUNK_TOKENS_IGNORED) != 0;
}

static bool write_row(twi_append *append, const tw_record *record)
{
    const uint32_t row = (uint32_t)(append->published % TWI_BLOCK_ROWS);
    twi_block *block = append->tail;

    if (row == 0) {
        block = twi_recorder_next_block(append->recorder, block);
        if (!block)
            return false;
        twi_block_reset(block);
    }
    if (!twi_block_write(block, row, record))
        return false;
    outcomes_add(&append->outcomes, &block->rows[row]);
    append->tail = block;
    append->published++;
    return true;
}

void twi_append_begin(twi_append *append, tw_recorder *recorder, bool skip_invalid)
{
    append->recorder = recorder;
    append->tail = recorder->tail;
    append->published = atomic_load_explicit(&recorder->published, memory_order_relaxed);
    append->row = 0;
    append->outcomes = recorder->outcomes;
    append->skip_invalid = skip_invalid;
    append->is_marked = false;
}

/* Takes a closer look at the next row, with what its source said of it. TW_OK: it was
 * stored or skipped. */
static int32_t append_row(twi_append *append, const tw_record *record, int32_t status,
                          twi_fault *fault)
{
    twi_block *tail = append->recorder->tail;

    if (!append->is_marked) {
        append->is_marked = true;
        append->mark = tail ? twi_block_get_mark(tail) : (twi_block_mark){NULL, 0};
        append->first.rule = TW_RULE_NONE;
    }
    if (!status)
        status = check_record(record, fault);
    if (status == TW_ERR_RANGE && append->skip_invalid) {
        if (!append->first.rule) {
            append->first = *fault;
            append->first_row = append->row;
            memset(append->refused, 0, sizeof append->refused);
        }
        append->refused[fault->rule]++;
        append->row++;
        return TW_OK;
    }
    if (!status && !write_row(append, record))
        status = TW_ERR_NOMEM;
    if (status)
        return twi_append_fail(append, status, fault);
    append->row++;
    return TW_OK;
}

/* Writes the first of these records, as many as need no closer look and have room in the
 * block; returns how many. */
static size_t append_run(twi_append *append, const unsigned char *records, size_t stride,
                         size_t count)
{
    const uint32_t at = (uint32_t)(append->published % TWI_BLOCK_ROWS);
    const size_t most = at && count > TWI_BLOCK_ROWS - at ? TWI_BLOCK_ROWS - at : count;
    twi_packed *rows = at ? append->tail->rows + at : NULL;
    size_t done = 0;

    for (; at && done < most; done++, records += stride) {
        const tw_record *record = (const tw_record *)(const void *)records;
        if (!twi_rules_is_ordinary(record))
            break;
        twi_append_put(&rows[done], record);
    }
    append->published += done;
    append->row += done;
    return done;
}

int32_t twi_append_array(twi_append *append, const tw_record *records, size_t stride,
                         size_t count)
{
    const unsigned char *next = (const unsigned char *)records;

    while (count) {
        const size_t done = append_run(append, next, stride, count);

        next += done * stride;
        count -= done;
        if (count) {
            twi_fault fault = {0};
            const int32_t status = append_row(
                append, (const tw_record *)(const void *)next, TW_OK, &fault);

            if (status)
                return status;
            next += stride;
            count--;
        }
    }
    return TW_OK;
}

int32_t twi_append_rows(twi_append *append, twi_record_fn get, const void *source,
                        size_t count)
{
    for (size_t row = 0; row < count; row++) {
        twi_fault fault = {0};
        tw_record record;
        int32_t status = get(source, row, &record, &fault);

        if (!status && append_run(append, (const unsigned char *)&record, 0, 1))
            continue;
        status = append_row(append, &record, status, &fault);
        if (status)
            return status;
    }
    return TW_OK;
}

int32_t twi_append_fail(twi_append *append, int32_t status, const twi_fault *fault)
{
    tw_recorder *recorder = append->recorder;

    twi_recorder_set_error(recorder, status, append->row, fault);
    if (append->is_marked && recorder->tail)
        twi_block_return_to(recorder->tail, append->mark);
    if (status == TW_ERR_RANGE)
        atomic_fetch_add_explicit(&recorder->refused[fault->rule], 1,
                                  memory_order_relaxed);
    return status;
}

/* Counts the refusals of an append that went well, and notes the first. */
static void note_refusals(const twi_append *append)
{
    tw_recorder *recorder = append->recorder;

    twi_recorder_set_error(recorder, TW_ERR_RANGE, append->first_row, &append->first);
    for (int i = 0; i < TW_RULE_LIMIT; i++)
        if (append->refused[i])
            atomic_fetch_add_explicit(&recorder->refused[i], append->refused[i],
                                      memory_order_relaxed);
}

void twi_append_end(twi_append *append, size_t *accepted)
{
    tw_recorder *recorder = append->recorder;
    const uint64_t before = atomic_load_explicit(&recorder->published,
                                                 memory_order_relaxed);

    if (append->is_marked && append->first.rule)
        note_refusals(append);
    if (accepted)
        *accepted = (size_t)(append->published - before);
    recorder->tail = append->tail;
    recorder->outcomes = append->outcomes;
    atomic_store_explicit(&recorder->published, append->published, memory_order_release);
}
