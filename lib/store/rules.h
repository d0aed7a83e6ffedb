/* SPDX-License-Identifier: MIT */
#ifndef TWI_STORE_RULES_H
#define TWI_STORE_RULES_H

/* What makes a record acceptable: the only place that knows. */

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

#endif
