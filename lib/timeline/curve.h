/* SPDX-License-Identifier: MIT */
#ifndef TWI_TIMELINE_CURVE_H
#define TWI_TIMELINE_CURVE_H

/* The curves, and which records are eligible for them. doc/semantics.md, section Curves.
 */

#include <stdint.h>

#include "base/wide.h"
#include "store/row.h"

typedef enum twi_curve {
    TWI_CURVE_QUEUED,
    TWI_CURVE_CONCURRENCY,
    TWI_CURVE_PREFILL_CONCURRENCY,
    TWI_CURVE_DECODE_CONCURRENCY,
    TWI_CURVE_PREFILL_RATE,
    TWI_CURVE_DECODE_RATE,
    TWI_CURVE_TOTAL_RATE,
    TWI_CURVE_DECODE_RATE_PER_USER,
    TWI_CURVE_PREFILL_RATE_PER_USER,
    TWI_CURVE_TOKENS,
    TWI_CURVE_COUNT
} twi_curve;

/* The one global unit of rates is 2^-88 tokens/ns, of token amounts 2^-44 tokens: never
 * derived from the data, so that the results of any two runs add. A rate is below 2^40
 * tokens/ns and thus below 2^128 units. */
#define TWI_RATE_SHIFT 88
#define TWI_TOKENS_SHIFT 44

/* A number of tokens in the unit of amounts. */
static inline twi_u192 twi_whole_tokens(uint64_t tokens)
{
    return twi_shl(twi_from64(tokens), TWI_TOKENS_SHIFT);
}

/* Bit set of the curves that a record is eligible for, by its fields alone. */
uint32_t twi_curve_eligible(const twi_row *row);

/* The parts of a record that several curves share. */
int twi_curve_has_prefill(const twi_row *row);      /* counts in C2 */
int twi_curve_has_prefill_rate(const twi_row *row); /* counts in C4 */
int twi_curve_has_decode_rate(const twi_row *row);  /* counts in C5 or C5' */

#endif
