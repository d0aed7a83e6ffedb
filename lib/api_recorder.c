/* SPDX-License-Identifier: MIT */
/* Public entry points of record.h: validate, normalise structs, delegate. */

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
    status = twi_abi_read(allocator, sizeof *allocator, sizeof *allocator, caller);
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
        status = twi_abi_read(&known, sizeof known, sizeof known, options);
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
    if (recorder)
        twi_recorder_free(recorder);
}

/* Notes a failure that no record is to blame for. */
static int32_t refuse(tw_recorder *recorder, int32_t status)
{
    recorder->last_error = (tw_error){(uint32_t)sizeof(tw_error), status, 0, 0, 0, 0, 0};
    return status;
}

int32_t tw_recorder_append(tw_recorder *recorder, const tw_record *records, size_t count,
                           size_t record_size, uint32_t flags, size_t *accepted)
{
    if (!recorder)
        return TW_ERR_INVAL;
    if (!records && count)
        return refuse(recorder, TW_ERR_INVAL);
    if (twi_abi_check_size(record_size, sizeof(tw_record)))
        return refuse(recorder, TW_ERR_ABI);
    if (flags & ~(uint32_t)TW_APPEND_SKIP_INVALID)
        return refuse(recorder, TW_ERR_NOTSUP);
    return twi_recorder_append(recorder, records, count, record_size,
                               (flags & TW_APPEND_SKIP_INVALID) != 0, accepted);
}

int32_t tw_recorder_reserve(tw_recorder *recorder, uint64_t records)
{
    int32_t status;

    if (!recorder)
        return TW_ERR_INVAL;
    status = twi_recorder_reserve(recorder, records);
    return status ? refuse(recorder, status) : TW_OK;
}

void tw_recorder_clear(tw_recorder *recorder)
{
    if (recorder)
        twi_recorder_clear(recorder);
}

uint64_t tw_recorder_count(const tw_recorder *recorder)
{
    return recorder ? twi_recorder_published(recorder) : 0;
}

uint64_t tw_recorder_memory(const tw_recorder *recorder)
{
    return recorder ? twi_recorder_memory(recorder) : 0;
}

int32_t tw_recorder_set_clock(tw_recorder *recorder, const tw_clock *clock)
{
    tw_clock known;
    int32_t status;

    if (!recorder)
        return TW_ERR_INVAL;
    if (!clock)
        return refuse(recorder, TW_ERR_INVAL);
    status = twi_abi_read(&known, sizeof known, sizeof known, clock);
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

    if (!recorder || !balance)
        return TW_ERR_INVAL;
    twi_recorder_balance(recorder, &known);
    return twi_abi_write(balance, &known, sizeof known, sizeof known);
}

int32_t tw_recorder_last_error(const tw_recorder *recorder, tw_error *error)
{
    if (!recorder || !error)
        return TW_ERR_INVAL;
    return twi_abi_write(error, &recorder->last_error, sizeof recorder->last_error,
                         sizeof recorder->last_error);
}
