/* SPDX-License-Identifier: MIT */
#include "timeline/curve.h"

int twi_curve_has_prefill(const twi_row *row)
{
    return twi_row_has_generation(row) || (row->flags & TWI_ROW_STREAMING);
}

int twi_curve_has_prefill_rate(const twi_row *row)
{
    return twi_row_has_generation(row) && row->input_tokens != TW_TOKENS_NONE;
}

int twi_curve_has_decode_rate(const twi_row *row)
{
    return twi_row_has_generation(row) && row->output_tokens >= 1 &&
           (row->chunks.count || !twi_row_in_flight(row));
}

uint32_t twi_curve_eligible(const twi_row *row)
{
    const uint32_t rates = 1u << TWI_CURVE_TOTAL_RATE;
    uint32_t set = 1u << TWI_CURVE_CONCURRENCY;

    if (row->credit_ns != TW_TIME_NONE)
        set |= 1u << TWI_CURVE_QUEUED;
    if (twi_curve_has_prefill(row)) {
        set |= 1u << TWI_CURVE_PREFILL_CONCURRENCY;
        if (row->input_tokens != TW_TOKENS_NONE)
            set |= 1u << TWI_CURVE_TOKENS;
    }
    if (twi_row_has_generation(row)) {
        set |= 1u << TWI_CURVE_DECODE_CONCURRENCY;
        if (row->output_tokens != TW_TOKENS_NONE)
            set |= 1u << TWI_CURVE_TOKENS;
    }
    if (twi_curve_has_prefill_rate(row))
        set |= rates | 1u << TWI_CURVE_PREFILL_RATE |
               1u << TWI_CURVE_PREFILL_RATE_PER_USER;
    if (twi_curve_has_decode_rate(row))
        set |= rates | 1u << TWI_CURVE_DECODE_RATE | 1u << TWI_CURVE_DECODE_RATE_PER_USER;
    return set;
}
