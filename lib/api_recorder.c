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
#include "store/append.h"

void tw_record_init(tw_record *record, size_t record_size)
{
    static const tw_record blank = {
        .credit_issued_ns = TW_TIME_NONE,
        .start_ns = TW_TIME_NONE,
        .generation_start_ns = TW_TIME_NONE,
        .end_ns = TW_TIME_NONE,
        .input_tokens = TW_TOKENS_NONE,
        .output_tokens = TW_TOKENS_NONE,
    };

    if (!record)
        return;
    if (record_size == sizeof blank) {
        memcpy(record, &blank, sizeof blank); /* of a known size: a few stores */
        return;
    }
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

/* ---- Appending ------------------------------------------------------------------- */

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

/* True if its elements can be read where they lie. */
static bool is_aligned(const void *records, size_t stride)
{
    return stride >= sizeof(tw_record) && stride % alignof(tw_record) == 0 &&
           (uintptr_t)records % alignof(tw_record) == 0;
}

static int32_t append_array(tw_recorder *recorder, const tw_record *records, size_t count,
                            size_t record_size, uint32_t flags, size_t *accepted)
{
    const struct record_array array = {records, record_size};
    twi_append append;
    int32_t status;

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
    twi_append_begin(&append, recorder, (flags & TW_APPEND_SKIP_INVALID) != 0);
    if (is_aligned(records, record_size))
        status = twi_append_array(&append, records, record_size, count);
    else
        status = twi_append_rows(&append, get_from_array, &array, count);
    if (!status)
        twi_append_end(&append, accepted);
    return status;
}

int32_t tw_recorder_append(tw_recorder *recorder, const tw_record *records, size_t count,
                           size_t record_size, uint32_t flags, size_t *accepted)
{
    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    /* The way of nearly all calls, short. */
    if (count == 1 && recorder && records && record_size == sizeof *records &&
        is_aligned(records, record_size) &&
        !(flags & ~(uint32_t)TW_APPEND_SKIP_INVALID) &&
        twi_append_one(recorder, records)) {
        if (accepted)
            *accepted = 1;
        return TW_OK;
    }
    return append_array(recorder, records, count, record_size, flags, accepted);
}

/* Rows of columns are made into so many records at a time, a field after the other: what a
 * column is like is asked once, not for each value. */
enum { GATHER_ROWS = 64 };

/* Copies the values of some rows to a field of records, or `none` where there is none. */
static inline void gather(const tw_column *column, size_t size, const void *none,
                          size_t first, size_t count, tw_record *records, size_t offset)
{
    const size_t stride = column->stride ? (size_t)column->stride : size;
    const uint8_t *validity = column->validity ? column->validity + first : NULL;
    unsigned char *to = (unsigned char *)records + offset;
    const unsigned char *from = column->values;

    if (from)
        from += first * stride;
    for (size_t i = 0; i < count; i++, to += sizeof *records)
        memcpy(to, from && (!validity || validity[i]) ? from + i * stride : none, size);
}

static void gather_times(const tw_column *column, size_t first, size_t count,
                         tw_record *records, size_t offset)
{
    const int64_t none = TW_TIME_NONE;
    gather(column, sizeof none, &none, first, count, records, offset);
}

static void gather_tokens(const tw_column *column, size_t first, size_t count,
                          tw_record *records, size_t offset)
{
    const int64_t none = TW_TOKENS_NONE;
    gather(column, sizeof none, &none, first, count, records, offset);
}

static void gather_numbers(const tw_column *column, size_t first, size_t count,
                           tw_record *records, size_t offset)
{
    const int32_t none = 0; /* TW_RECORD_OK, no flags */
    gather(column, sizeof none, &none, first, count, records, offset);
}

/* Points records to their chunks. Returns the number of records before the first whose
 * offsets lead astray, with a fault. */
static size_t gather_chunks(const tw_columns *c, size_t first, size_t count,
                            tw_record *records, twi_fault *fault)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = 0, end = 0;

        if (c->chunk_offsets) {
            begin = c->chunk_offsets[first + i];
            end = c->chunk_offsets[first + i + 1];
        }
        if (begin > end || end > c->chunk_value_count) {
            *fault = (twi_fault){TW_RULE_NONE, TW_FIELD_CHUNK_COUNT, 0, (int64_t)begin,
                                 (int64_t)end};
            return i;
        }
        records[i].chunk_arrival_ns = NULL;
        records[i].chunk_tokens = NULL;
        records[i].chunk_count = end - begin;
        if (begin < end) {
            records[i].chunk_arrival_ns = c->chunk_arrival_ns + begin;
            if (c->chunk_tokens)
                records[i].chunk_tokens = c->chunk_tokens + begin;
        }
    }
    return count;
}

static int32_t append_columns(twi_append *append, const tw_columns *c)
{
    const size_t rows = (size_t)c->count;

    for (size_t first = 0; first < rows; first += GATHER_ROWS) {
        const size_t count = rows - first < GATHER_ROWS ? rows - first : GATHER_ROWS;
        tw_record r[GATHER_ROWS];
        twi_fault fault = {0};
        size_t good;
        int32_t status;

        gather_times(&c->credit_issued_ns, first, count, r,
                     offsetof(tw_record, credit_issued_ns));
        gather_times(&c->start_ns, first, count, r, offsetof(tw_record, start_ns));
        gather_times(&c->generation_start_ns, first, count, r,
                     offsetof(tw_record, generation_start_ns));
        gather_times(&c->end_ns, first, count, r, offsetof(tw_record, end_ns));
        gather_tokens(&c->input_tokens, first, count, r,
                      offsetof(tw_record, input_tokens));
        gather_tokens(&c->output_tokens, first, count, r,
                      offsetof(tw_record, output_tokens));
        gather_numbers(&c->status, first, count, r, offsetof(tw_record, status));
        gather_numbers(&c->record_flags, first, count, r, offsetof(tw_record, flags));
        good = gather_chunks(c, first, count, r, &fault);
        status = twi_append_array(append, r, sizeof r[0], good);
        if (!status && good < count)
            status = twi_append_fail(append, TW_ERR_INVAL, &fault);
        if (status)
            return status;
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
    twi_append append;
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
    twi_append_begin(&append, recorder, (flags & TW_APPEND_SKIP_INVALID) != 0);
    status = append_columns(&append, &known);
    if (!status)
        twi_append_end(&append, accepted);
    return status;
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

int32_t tw_recorder_read_chunks(const tw_recorder *recorder, uint64_t first,
                                tw_record *records, size_t count, size_t record_size,
                                int64_t *arrival_ns, int64_t *tokens, size_t capacity,
                                size_t *written)
{
    uint64_t published;

    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    if (!recorder || !written || (!records && count) || (!arrival_ns && capacity) ||
        (uintptr_t)arrival_ns % alignof(int64_t) || (uintptr_t)tokens % alignof(int64_t))
        return TW_ERR_INVAL;
    published = twi_recorder_published(recorder);
    if (first > published || count > published - first)
        return TW_ERR_INVAL;
    if (twi_abi_check_size(record_size, TWI_ABI_UPTO(tw_record, flags)))
        return TW_ERR_ABI;
    if (count > SIZE_MAX / record_size ||
        twi_recorder_chunk_count(recorder, first, count) > capacity)
        return TW_ERR_INVAL;
    *written = twi_recorder_read_chunks(recorder, first, records, count, record_size,
                                        arrival_ns, tokens);
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
