/* SPDX-License-Identifier: MIT */
#include "metric/sample.h"

/* Differences of unknown times are computed too, and not used: so without overflow. */
static double between(int64_t from_ns, int64_t to_ns)
{
    return (double)(int64_t)((uint64_t)to_ns - (uint64_t)from_ns);
}

static int64_t credit_of(const twi_packed *row)
{
    return row->credit_ns < row->start_ns ? row->credit_ns : row->start_ns;
}

/* Tokens after the first: inter-token latency and its inverse need one. */
static int64_t later_tokens(const twi_packed *row)
{
    return row->generation_ns != TW_TIME_NONE ? twi_packed_output(row) - 1 : 0;
}

static size_t first_chunk_gap(const twi_block *block, uint16_t row, double *value)
{
    twi_chunk_reader chunks;
    uint64_t gap_ns;
    int64_t tokens;
    twi_row read;

    twi_block_read(block, row, 0, &read);
    twi_chunks_begin(&chunks, &read);
    if (!twi_chunks_next(&chunks, &gap_ns, &tokens))
        return 0;
    *value = (double)(int64_t)gap_ns;
    return 1;
}

/* A loop over the rows: `value` is put where `condition` holds. */
#define EACH(condition, value)                         \
    for (size_t i = 0; i < count; i++) {               \
        const twi_packed *row = &block->rows[rows[i]]; \
        values[n] = value;                             \
        n += (condition);                              \
    }

size_t twi_sample_values(twi_sample sample, const twi_block *block, const uint16_t *rows,
                         size_t count, double *values)
{
    size_t n = 0;

    switch (sample) {
    case TWI_SAMPLE_EFFECTIVE_LATENCY:
        EACH(row->credit_ns != TW_TIME_NONE, between(credit_of(row), row->end_ns))
        break;
    case TWI_SAMPLE_CREDIT_TO_START:
        EACH(row->credit_ns != TW_TIME_NONE, between(credit_of(row), row->start_ns))
        break;
    case TWI_SAMPLE_REQUEST_LATENCY:
        EACH(1, between(row->start_ns, row->end_ns))
        break;
    case TWI_SAMPLE_FIRST_TOKEN:
        EACH(row->generation_ns != TW_TIME_NONE,
             between(row->start_ns, row->generation_ns))
        break;
    case TWI_SAMPLE_SECOND_TOKEN:
        for (size_t i = 0; i < count && block->chunks; i++)
            n += first_chunk_gap(block, rows[i], &values[n]);
        break;
    case TWI_SAMPLE_INTER_TOKEN:
        for (size_t i = 0; i < count; i++) {
            const twi_packed *row = &block->rows[rows[i]];

            if (later_tokens(row) > 0)
                values[n++] = twi_f64_floor(
                    twi_f64_ratio(between(row->generation_ns, row->end_ns) * 0x1p88,
                                  (double)later_tokens(row)));
        }
        break;
    case TWI_SAMPLE_TOKEN_RATE:
        for (size_t i = 0; i < count; i++) {
            const twi_packed *row = &block->rows[rows[i]];

            if (later_tokens(row) > 0 && row->end_ns > row->generation_ns)
                values[n++] = twi_rate(twi_rate_tokens((uint64_t)later_tokens(row)),
                                       between(row->generation_ns, row->end_ns));
        }
        break;
    case TWI_SAMPLE_OUTPUT_TOKENS:
        EACH(twi_packed_output(row) != TW_TOKENS_NONE, (double)twi_packed_output(row))
        break;
    case TWI_SAMPLE_INPUT_TOKENS:
        EACH(row->input_tokens != TW_TOKENS_NONE, (double)row->input_tokens)
        break;
    default:
        break;
    }
    return n;
}

size_t twi_sample_counts(twi_sample sample, const twi_block *block, const uint16_t *rows,
                         size_t count, uint32_t *values)
{
    size_t n = 0;

    if (sample == TWI_SAMPLE_INPUT_TOKENS) {
        EACH(row->input_tokens != TW_TOKENS_NONE, (uint32_t)row->input_tokens)
    } else {
        EACH(twi_packed_output(row) != TW_TOKENS_NONE, (uint32_t)twi_packed_output(row))
    }
    return n;
}

uint32_t twi_sample_eligible(uint32_t shape)
{
    uint32_t set = 1u << TWI_SAMPLE_REQUEST_LATENCY;

    if (!(shape & TWI_SHAPE_END) || (shape & 3) != TW_RECORD_OK)
        return 0;
    if (shape & TWI_SHAPE_CREDIT)
        set |= 1u << TWI_SAMPLE_EFFECTIVE_LATENCY | 1u << TWI_SAMPLE_CREDIT_TO_START;
    if (shape & TWI_SHAPE_GENERATION)
        set |= 1u << TWI_SAMPLE_FIRST_TOKEN;
    if (shape >> 2 & TWI_ROW_HAS_CHUNKS)
        set |= 1u << TWI_SAMPLE_SECOND_TOKEN | 1u << TWI_SAMPLE_INTER_CHUNK;
    if ((shape & TWI_SHAPE_GENERATION) && (shape & TWI_SHAPE_OUTPUT_SOME))
        set |= 1u << TWI_SAMPLE_INTER_TOKEN | 1u << TWI_SAMPLE_TOKEN_RATE;
    if (shape & TWI_SHAPE_OUTPUT)
        set |= 1u << TWI_SAMPLE_OUTPUT_TOKENS;
    if (shape & TWI_SHAPE_INPUT)
        set |= 1u << TWI_SAMPLE_INPUT_TOKENS;
    return set;
}
