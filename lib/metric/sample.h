/* SPDX-License-Identifier: MIT */
#ifndef TWI_METRIC_SAMPLE_H
#define TWI_METRIC_SAMPLE_H

/* Per-record values: what a finished record adds to each sample. */

#include <stddef.h>
#include <stdint.h>

#include "kernel/lanes.h"
#include "store/survey.h"

typedef enum twi_sample {
    TWI_SAMPLE_EFFECTIVE_LATENCY,
    TWI_SAMPLE_CREDIT_TO_START,
    TWI_SAMPLE_REQUEST_LATENCY,
    TWI_SAMPLE_FIRST_TOKEN,
    TWI_SAMPLE_SECOND_TOKEN,
    TWI_SAMPLE_INTER_TOKEN,
    TWI_SAMPLE_INTER_CHUNK,
    TWI_SAMPLE_TOKEN_RATE,
    TWI_SAMPLE_OUTPUT_TOKENS,
    TWI_SAMPLE_INPUT_TOKENS,
    TWI_SAMPLE_COUNT
} twi_sample;

/* Values are whole ns or tokens, but for two quotients, which are rounded to a double and
 * then down to their unit: inter-token latency, 2^-88 ns, and the token rate, the unit of
 * rates. */
#define TWI_SAMPLE_SHIFT 88

/* The values of some rows of a block, all of which have an end_ns: at most one for each row.
 * Returns how many. Not for TWI_SAMPLE_INTER_CHUNK, which has one for each chunk. */
size_t twi_sample_values(twi_sample sample, const twi_block *block, const uint16_t *rows,
                         size_t count, double *values);
/* The same for TWI_SAMPLE_INPUT_TOKENS and TWI_SAMPLE_OUTPUT_TOKENS, as levels of a dist, if
 * no count reaches TWI_SAMPLE_LEVELS. */
size_t twi_sample_counts(twi_sample sample, const twi_block *block, const uint16_t *rows,
                         size_t count, uint32_t *values);

#define TWI_SAMPLE_LEVELS (1 << 16)

static inline int twi_sample_is_count(twi_sample sample)
{
    return sample == TWI_SAMPLE_INPUT_TOKENS || sample == TWI_SAMPLE_OUTPUT_TOKENS;
}

/* Bit set of the samples that a record of a shape can have a value in, if it is a member that
 * ended well. */
uint32_t twi_sample_eligible(uint32_t shape);

#endif
