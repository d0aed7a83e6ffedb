/* SPDX-License-Identifier: MIT */
#include "metric/sample.h"

static uint64_t between(int64_t from_ns, int64_t to_ns)
{
    return (uint64_t)to_ns - (uint64_t)from_ns;
}

/* Inter-token latency and its inverse need a token after the first. */
static int has_later_tokens(const twi_row *row)
{
    return twi_row_has_generation(row) && row->output_tokens >= 2;
}

uint64_t twi_sample_values(twi_sample sample, const twi_row *row)
{
    switch (sample) {
    case TWI_SAMPLE_EFFECTIVE_LATENCY:
    case TWI_SAMPLE_CREDIT_TO_START:
        return row->credit_ns != TW_TIME_NONE ? 1 : 0;
    case TWI_SAMPLE_REQUEST_LATENCY:
        return 1;
    case TWI_SAMPLE_FIRST_TOKEN:
        return twi_row_has_generation(row) ? 1 : 0;
    case TWI_SAMPLE_SECOND_TOKEN:
        return row->chunks.count != 0;
    case TWI_SAMPLE_INTER_TOKEN:
        return has_later_tokens(row) ? 1 : 0;
    case TWI_SAMPLE_INTER_CHUNK:
        return row->chunks.count;
    case TWI_SAMPLE_TOKEN_RATE:
        return has_later_tokens(row) && row->end_ns > row->generation_ns;
    case TWI_SAMPLE_OUTPUT_TOKENS:
        return row->output_tokens != TW_TOKENS_NONE;
    case TWI_SAMPLE_INPUT_TOKENS:
        return row->input_tokens != TW_TOKENS_NONE;
    default:
        return 0;
    }
}

/* Gap between an arrival and the one before; the first token is the arrival before 0. */
static uint64_t chunk_gap(const twi_row *row, uint64_t index)
{
    const int64_t *arrival = row->chunks.arrival_ns;
    return between(index ? arrival[index - 1] : row->generation_ns - row->offset_ns,
                   arrival[index]);
}

static twi_u192 quotient(uint64_t a, uint64_t b)
{
    return twi_quotient64(twi_shl(twi_from64(a), TWI_SAMPLE_SHIFT), b);
}

twi_u192 twi_sample_value(twi_sample sample, const twi_row *row, uint64_t index)
{
    switch (sample) {
    case TWI_SAMPLE_EFFECTIVE_LATENCY:
        return twi_from64(between(row->credit_ns, row->end_ns));
    case TWI_SAMPLE_CREDIT_TO_START:
        return twi_from64(between(row->credit_ns, row->start_ns));
    case TWI_SAMPLE_REQUEST_LATENCY:
        return twi_from64(between(row->start_ns, row->end_ns));
    case TWI_SAMPLE_FIRST_TOKEN:
        return twi_from64(between(row->start_ns, row->generation_ns));
    case TWI_SAMPLE_SECOND_TOKEN:
    case TWI_SAMPLE_INTER_CHUNK:
        return twi_from64(chunk_gap(row, index));
    case TWI_SAMPLE_INTER_TOKEN:
        return quotient(between(row->generation_ns, row->end_ns),
                        (uint64_t)row->output_tokens - 1);
    case TWI_SAMPLE_TOKEN_RATE:
        return quotient((uint64_t)row->output_tokens - 1,
                        between(row->generation_ns, row->end_ns));
    case TWI_SAMPLE_OUTPUT_TOKENS:
        return twi_from64((uint64_t)row->output_tokens);
    default:
        return twi_from64((uint64_t)row->input_tokens);
    }
}
