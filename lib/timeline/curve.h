/* SPDX-License-Identifier: MIT */
#ifndef TWI_TIMELINE_CURVE_H
#define TWI_TIMELINE_CURVE_H

/* The curves, and which records are eligible for them. doc/semantics.md, section Curves.
 */

#include <stdint.h>

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

/* Bit set of the curves that a record is eligible for, by its fields alone. */
uint32_t twi_curve_eligible(const twi_row *row);

/* The parts of a record that several curves share. */
int twi_curve_has_prefill(const twi_row *row);      /* counts in C2 */
int twi_curve_has_prefill_rate(const twi_row *row); /* counts in C4 */
int twi_curve_has_decode_rate(const twi_row *row);  /* counts in C5 or C5' */

#endif
