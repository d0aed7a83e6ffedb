/* SPDX-License-Identifier: MIT */
#ifndef TWI_STORE_RULES_H
#define TWI_STORE_RULES_H

/* What makes a record acceptable: the only place that knows. */

#include <stdbool.h>
#include <stdint.h>
#include <timeweight/record.h>

#define TWI_TIME_LIMIT (INT64_C(1) << 61)
#define TWI_TOKENS_LIMIT (INT64_C(1) << 40)

static inline int twi_time_in_range(int64_t time_ns)
{
    return time_ns >= -TWI_TIME_LIMIT && time_ns <= TWI_TIME_LIMIT;
}

/* The first rule that a record breaks, with the field and the values compared. */
typedef struct twi_fault {
    int32_t rule; /* TW_RULE_NONE: the record is good */
    int32_t field;
    uint64_t index; /* of the chunk, for a rule about one */
    int64_t value_a;
    int64_t value_b;
} twi_fault;

twi_fault twi_rules_check(const tw_record *record);

/* True if a record is as most are: it keeps every rule, ended well, was not due after it
 * started, has no chunks and no flags that are not known. False says only that it takes a
 * closer look. */
static inline bool twi_rules_is_ordinary(const tw_record *r)
{
    /* Since -2^61: in range if below 2^62 (and then differences are what they seem). */
    const uint64_t start = (uint64_t)r->start_ns + TWI_TIME_LIMIT;
    const uint64_t end = (uint64_t)r->end_ns + TWI_TIME_LIMIT;
    const uint64_t credit = (uint64_t)r->credit_issued_ns + TWI_TIME_LIMIT;
    const uint64_t prefill = (uint64_t)r->generation_start_ns - (uint64_t)r->start_ns;
    const uint64_t tokens = ((uint64_t)r->input_tokens + 1) |
                            ((uint64_t)r->output_tokens + 1);
    const uint32_t flags = r->flags & ~(uint32_t)TW_RECORD_STREAMING;

    return ((start | end | (end - start)) >> 62 | tokens >> 40 | r->chunk_count |
            (uint32_t)r->status | flags) == 0 &&
           (prefill <= end - start || r->generation_start_ns == TW_TIME_NONE) &&
           (credit <= start || r->credit_issued_ns == TW_TIME_NONE);
}

#endif
