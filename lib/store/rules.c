/* SPDX-License-Identifier: MIT */
#include "store/rules.h"

static twi_fault fault(int32_t rule, int32_t field, int64_t value_a, int64_t value_b)
{
    return (twi_fault){rule, field, 0, value_a, value_b};
}

static const twi_fault good = {TW_RULE_NONE, TW_FIELD_NONE, 0, 0, 0};

static twi_fault check_times(const tw_record *r)
{
    const int64_t times[] = {r->credit_issued_ns, r->start_ns, r->generation_start_ns,
                             r->end_ns};
    const int32_t fields[] = {TW_FIELD_CREDIT_ISSUED_NS, TW_FIELD_START_NS,
                              TW_FIELD_GENERATION_START_NS, TW_FIELD_END_NS};
    const int64_t generation = r->generation_start_ns, end = r->end_ns;

    if (r->start_ns == TW_TIME_NONE)
        return fault(TW_RULE_START_MISSING, TW_FIELD_START_NS, r->start_ns, 0);
    for (int i = 0; i < 4; i++)
        if (times[i] != TW_TIME_NONE && !twi_time_in_range(times[i]))
            return fault(TW_RULE_TIME_RANGE, fields[i], times[i],
                         times[i] < 0 ? -TWI_TIME_LIMIT : TWI_TIME_LIMIT);
    if (generation != TW_TIME_NONE && generation < r->start_ns)
        return fault(TW_RULE_GENERATION_BEFORE_START, TW_FIELD_GENERATION_START_NS,
                     generation, r->start_ns);
    if (end == TW_TIME_NONE) {
        if (r->status != TW_RECORD_OK)
            return fault(TW_RULE_END_MISSING, TW_FIELD_END_NS, end, 0);
        return good;
    }
    if (end < r->start_ns)
        return fault(TW_RULE_END_BEFORE_START, TW_FIELD_END_NS, end, r->start_ns);
    if (generation != TW_TIME_NONE && end < generation)
        return fault(TW_RULE_END_BEFORE_GENERATION, TW_FIELD_END_NS, end, generation);
    return good;
}

static twi_fault check_tokens(int64_t tokens, int32_t field)
{
    if (tokens == TW_TOKENS_NONE || (tokens >= 0 && tokens < TWI_TOKENS_LIMIT))
        return good;
    return fault(TW_RULE_TOKENS_RANGE, field, tokens, TWI_TOKENS_LIMIT);
}

static twi_fault chunk_fault(int32_t rule, int32_t field, uint64_t index, int64_t value_a,
                             int64_t value_b)
{
    return (twi_fault){rule, field, index, value_a, value_b};
}

/* True if no arrival is out of order or too late, where the first is not too early. False
 * says only that it takes a closer look; the loop has no branches, for nearly all records
 * are plainly good. */
static bool arrivals_are_plainly_good(const tw_record *r)
{
    const int64_t *arrival = r->chunk_arrival_ns;
    const uint64_t count = r->chunk_count;
    const int64_t last = arrival[count - 1];
    uint64_t any = (uint64_t)arrival[0] - (uint64_t)r->generation_start_ns;

    for (uint64_t i = 1; i < count; i++)
        any |= (uint64_t)arrival[i] - (uint64_t)arrival[i - 1];
    /* The sum of so few steps that are no larger cannot wrap: all of them go forward. */
    return any >> 40 == 0 && count >> 21 == 0 && last <= TWI_TIME_LIMIT &&
           (r->end_ns == TW_TIME_NONE || last <= r->end_ns);
}

static bool tokens_are_in_range(const int64_t *tokens, uint64_t count)
{
    uint64_t any = 0;

    for (uint64_t i = 0; i < count; i++)
        any |= (uint64_t)tokens[i];
    return any < (uint64_t)TWI_TOKENS_LIMIT;
}

static twi_fault check_chunks(const tw_record *r)
{
    const int64_t *arrival = r->chunk_arrival_ns, *tokens = r->chunk_tokens;
    const int32_t arrivals = TW_FIELD_CHUNK_ARRIVAL_NS;
    const uint64_t count = r->chunk_count;
    int64_t previous = r->generation_start_ns;

    if (count == 0)
        return good;
    if (!arrival)
        return fault(TW_RULE_CHUNK_ARRIVAL_MISSING, arrivals, 0, 0);
    if (count >= (uint64_t)TWI_TOKENS_LIMIT)
        return fault(TW_RULE_CHUNK_COUNT_RANGE, TW_FIELD_CHUNK_COUNT,
                     count > INT64_MAX ? INT64_MAX : (int64_t)count, TWI_TOKENS_LIMIT);
    if (previous == TW_TIME_NONE || arrival[0] < previous)
        return fault(TW_RULE_CHUNK_BEFORE_GENERATION, arrivals, arrival[0], previous);
    if (!arrivals_are_plainly_good(r)) {
        for (uint64_t i = 0; i < count; i++) {
            if (arrival[i] < previous)
                return chunk_fault(TW_RULE_CHUNK_ORDER, arrivals, i, arrival[i],
                                   previous);
            previous = arrival[i];
        }
        if (r->end_ns != TW_TIME_NONE && previous > r->end_ns)
            return chunk_fault(TW_RULE_CHUNK_AFTER_END, arrivals, count - 1, previous,
                               r->end_ns);
        if (!twi_time_in_range(previous))
            return chunk_fault(TW_RULE_TIME_RANGE, arrivals, count - 1, previous,
                               TWI_TIME_LIMIT);
    }
    if (!tokens || tokens_are_in_range(tokens, count))
        return good;
    for (uint64_t i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= TWI_TOKENS_LIMIT)
            return chunk_fault(TW_RULE_CHUNK_TOKENS_RANGE, TW_FIELD_CHUNK_TOKENS, i,
                               tokens[i], TWI_TOKENS_LIMIT);
    return good;
}

twi_fault twi_rules_check(const tw_record *record)
{
    twi_fault found;

    if (record->status < TW_RECORD_OK || record->status > TW_RECORD_CANCELLED)
        return fault(TW_RULE_STATUS_UNKNOWN, TW_FIELD_STATUS, record->status,
                     TW_RECORD_CANCELLED);
    found = check_times(record);
    if (!found.rule)
        found = check_tokens(record->input_tokens, TW_FIELD_INPUT_TOKENS);
    if (!found.rule)
        found = check_tokens(record->output_tokens, TW_FIELD_OUTPUT_TOKENS);
    if (!found.rule)
        found = check_chunks(record);
    return found;
}
