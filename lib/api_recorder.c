/* SPDX-License-Identifier: MIT */
/* Public entry points of record.h: validate, normalise structs, delegate. */

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <string.h>
#include <timeweight/record.h>

#include "api.h"
#include "base/abi.h"
#include "base/mem.h"
#include "store/recorder.h"

void tw_record_init(tw_record *record, size_t record_size)
{
    tw_record blank;

    if (!record)
        return;
    memset(&blank, 0, sizeof blank);
    blank.credit_issued_ns = TW_TIME_NONE;
    blank.start_ns = TW_TIME_NONE;
    blank.generation_start_ns = TW_TIME_NONE;
    blank.end_ns = TW_TIME_NONE;
    blank.input_tokens = TW_TOKENS_NONE;
    blank.output_tokens = TW_TOKENS_NONE;
    memset(record, 0, record_size);
    memcpy(record, &blank, record_size < sizeof blank ? record_size : sizeof blank);
}

int32_t twi_api_allocator(const tw_allocator *caller, tw_allocator *allocator)
{
    int32_t status;

    if (!caller) {
        *allocator = twi_mem_default();
        return TW_OK;
    }
    status = twi_abi_read(allocator, sizeof *allocator, TWI_ABI_UPTO(tw_allocator, free),
                          caller);
    if (status)
        return status;
    if (allocator->flags)
        return TW_ERR_NOTSUP;
    return allocator->alloc && allocator->free ? TW_OK : TW_ERR_INVAL;
}

int32_t tw_recorder_new(tw_recorder **recorder, const tw_recorder_options *options)
{
    tw_recorder_options known = {sizeof known, 0, NULL};
    tw_allocator allocator;
    int32_t status;

    if (!recorder)
        return TW_ERR_INVAL;
    if (options) {
        status = twi_abi_read(&known, sizeof known,
                              TWI_ABI_UPTO(tw_recorder_options, allocator), options);
        if (status)
            return status;
    }
    if (known.flags)
        return TW_ERR_NOTSUP;
    status = twi_api_allocator(known.allocator, &allocator);
    if (status)
        return status;
    {
        tw_recorder *made = twi_recorder_new(&allocator);
        if (!made)
            return TW_ERR_NOMEM;
        *recorder = made;
    }
    return TW_OK;
}

void tw_recorder_free(tw_recorder *recorder)
{
    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    if (recorder)
        twi_recorder_free(recorder);
}

/* Notes a failure that no record is to blame for. */
static int32_t refuse(tw_recorder *recorder, int32_t status)
{
    twi_recorder_set_error(recorder, status, 0, NULL);
    return status;
}

/* ---- Appending --------------------------------------------------------------------- */

/* An array of the caller's, aligned anyhow. */
struct record_array {
    const void *records;
    size_t stride;
};

static int32_t get_from_array(const void *source, size_t row, tw_record *record,
                              twi_fault *fault)
{
    const struct record_array *array = source;

    (void)fault;
    twi_abi_read_element(record, sizeof *record, array->records, row, array->stride);
    return TW_OK;
}

int32_t tw_recorder_append(tw_recorder *recorder, const tw_record *records, size_t count,
                           size_t record_size, uint32_t flags, size_t *accepted)
{
    const struct record_array array = {records, record_size};

    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    if (!recorder)
        return TW_ERR_INVAL;
    if (!records && count)
        return refuse(recorder, TW_ERR_INVAL);
    if (twi_abi_check_size(record_size, TWI_ABI_UPTO(tw_record, flags)))
        return refuse(recorder, TW_ERR_ABI);
    if (count > SIZE_MAX / record_size)
        return refuse(recorder, TW_ERR_INVAL);
    if (flags & ~(uint32_t)TW_APPEND_SKIP_INVALID)
        return refuse(recorder, TW_ERR_NOTSUP);
    return twi_recorder_append(recorder, get_from_array, &array, count,
                               (flags & TW_APPEND_SKIP_INVALID) != 0, accepted);
}

/* Copies the value of a row, if there is one. */
static void get_value(const tw_column *column, size_t row, void *value, size_t size)
{
    const size_t stride = column->stride ? (size_t)column->stride : size;

    if (column->values && (!column->validity || column->validity[row]))
        memcpy(value, (const unsigned char *)column->values + row * stride, size);
}

static int32_t get_from_columns(const void *source, size_t row, tw_record *record,
                                twi_fault *fault)
{
    const tw_columns *c = source;

    tw_record_init(record, sizeof *record);
    get_value(&c->credit_issued_ns, row, &record->credit_issued_ns, sizeof(int64_t));
    get_value(&c->start_ns, row, &record->start_ns, sizeof(int64_t));
    get_value(&c->generation_start_ns, row, &record->generation_start_ns,
              sizeof(int64_t));
    get_value(&c->end_ns, row, &record->end_ns, sizeof(int64_t));
    get_value(&c->input_tokens, row, &record->input_tokens, sizeof(int64_t));
    get_value(&c->output_tokens, row, &record->output_tokens, sizeof(int64_t));
    get_value(&c->status, row, &record->status, sizeof(int32_t));
    get_value(&c->record_flags, row, &record->flags, sizeof(uint32_t));
    if (c->chunk_offsets) {
        uint64_t begin, end;

        memcpy(&begin, c->chunk_offsets + row, sizeof begin);
        memcpy(&end, c->chunk_offsets + row + 1, sizeof end);
        if (begin > end || end > c->chunk_value_count) {
            *fault = (twi_fault){TW_RULE_NONE, TW_FIELD_CHUNK_COUNT, 0, (int64_t)begin,
                                 (int64_t)end};
            return TW_ERR_INVAL;
        }
        if (begin < end) {
            record->chunk_arrival_ns = c->chunk_arrival_ns + begin;
            record->chunk_tokens = c->chunk_tokens ? c->chunk_tokens + begin : NULL;
            record->chunk_count = end - begin;
        }
    }
    return TW_OK;
}

static int32_t check_columns(const tw_columns *c)
{
    const tw_column *columns[] = {
        &c->credit_issued_ns, &c->start_ns,     &c->generation_start_ns,
        &c->end_ns,           &c->input_tokens, &c->output_tokens,
        &c->status,           &c->record_flags};
    enum { COLUMNS = sizeof columns / sizeof columns[0], WIDE = 6 };

    if (c->flags)
        return TW_ERR_NOTSUP;
    for (size_t i = 0; i < COLUMNS; i++) {
        const size_t size = i < WIDE ? sizeof(int64_t) : sizeof(int32_t);
        if (columns[i]->flags || columns[i]->reserved)
            return TW_ERR_NOTSUP;
        if (columns[i]->stride && columns[i]->stride < size)
            return TW_ERR_INVAL;
        if (columns[i]->stride > SIZE_MAX || c->count > SIZE_MAX / sizeof(tw_record) ||
            (columns[i]->stride && c->count > SIZE_MAX / columns[i]->stride))
            return TW_ERR_INVAL;
    }
    if ((uintptr_t)c->chunk_offsets % alignof(uint64_t) ||
        (c->chunk_value_count && !c->chunk_arrival_ns))
        return TW_ERR_INVAL;
    return TW_OK;
}

int32_t tw_recorder_append_columns(tw_recorder *recorder, const tw_columns *columns,
                                   uint32_t flags, size_t *accepted)
{
    tw_columns known;
    int32_t status;

    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    if (!recorder)
        return TW_ERR_INVAL;
    if (!columns)
        return refuse(recorder, TW_ERR_INVAL);
    status = twi_abi_read(&known, sizeof known,
                          TWI_ABI_UPTO(tw_columns, chunk_value_count), columns);
    if (status)
        return refuse(recorder, status);
    if (flags & ~(uint32_t)TW_APPEND_SKIP_INVALID)
        return refuse(recorder, TW_ERR_NOTSUP);
    status = check_columns(&known);
    if (status)
        return refuse(recorder, status);
    return twi_recorder_append(recorder, get_from_columns, &known, (size_t)known.count,
                               (flags & TW_APPEND_SKIP_INVALID) != 0, accepted);
}

int32_t tw_recorder_read(const tw_recorder *recorder, uint64_t first, tw_record *records,
                         size_t capacity, size_t record_size, size_t *written)
{
    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    if (!recorder || !written || (!records && capacity) ||
        first > twi_recorder_published(recorder))
        return TW_ERR_INVAL;
    if (twi_abi_check_size(record_size, TWI_ABI_UPTO(tw_record, flags)))
        return TW_ERR_ABI;
    if (capacity > SIZE_MAX / record_size)
        return TW_ERR_INVAL;
    *written = twi_recorder_read(recorder, first, records, capacity, record_size);
    return TW_OK;
}

int32_t tw_recorder_reserve(tw_recorder *recorder, uint64_t records)
{
    int32_t status;

    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    if (!recorder)
        return TW_ERR_INVAL;
    status = twi_recorder_reserve(recorder, records);
    return status ? refuse(recorder, status) : TW_OK;
}

void tw_recorder_clear(tw_recorder *recorder)
{
    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    if (recorder)
        twi_recorder_clear(recorder);
}

uint64_t tw_recorder_count(const tw_recorder *recorder)
{
    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    return recorder ? twi_recorder_published(recorder) : 0;
}

uint64_t tw_recorder_memory(const tw_recorder *recorder)
{
    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    return recorder ? twi_recorder_memory(recorder) : 0;
}

int32_t tw_recorder_set_clock(tw_recorder *recorder, const tw_clock *clock)
{
    tw_clock known;
    int32_t status;

    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    if (!recorder)
        return TW_ERR_INVAL;
    if (!clock)
        return refuse(recorder, TW_ERR_INVAL);
    status = twi_abi_read(&known, sizeof known, TWI_ABI_UPTO(tw_clock, offset_ns), clock);
    if (status)
        return refuse(recorder, status);
    if (known.flags)
        return refuse(recorder, TW_ERR_NOTSUP);
    if (!twi_time_in_range(known.offset_ns))
        return refuse(recorder, TW_ERR_INVAL);
    atomic_store_explicit(&recorder->offset_ns, known.offset_ns, memory_order_relaxed);
    return TW_OK;
}

int32_t tw_recorder_balance(const tw_recorder *recorder, tw_balance *balance)
{
    tw_balance known;

    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    if (!recorder || !balance)
        return TW_ERR_INVAL;
    twi_recorder_balance(recorder, &known);
    return twi_abi_write(balance, &known, sizeof known,
                         TWI_ABI_UPTO(tw_balance, cut_at_end));
}

int32_t tw_recorder_last_error(const tw_recorder *recorder, tw_error *error)
{
    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    if (!recorder || !error)
        return TW_ERR_INVAL;
    return twi_abi_write(error, &recorder->last_error, sizeof recorder->last_error,
                         TWI_ABI_UPTO(tw_error, value_b));
}
