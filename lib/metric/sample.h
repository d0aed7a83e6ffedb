/* SPDX-License-Identifier: MIT */
#ifndef TWI_METRIC_SAMPLE_H
#define TWI_METRIC_SAMPLE_H

/* Per-record values: what a finished record adds to each sample. */

#include <stdint.h>

#include "base/wide.h"
#include "store/row.h"

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

/* Unit of the two quotients, inter-token latency and token rate: 2^-88 of ns per token
 * and of tokens per ns. All other samples are whole ns or tokens. */
#define TWI_SAMPLE_SHIFT 88

/* How many values a record with an end_ns has in a sample, and the index-th of them. */
uint64_t twi_sample_values(twi_sample sample, const twi_row *row);
twi_u192 twi_sample_value(twi_sample sample, const twi_row *row, uint64_t index);

#endif
