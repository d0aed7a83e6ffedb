/* SPDX-License-Identifier: MIT */
/* The kernel in plain C: the definition of what every kernel computes. */

#include "kernel/kernel.h"

/* ---- Sorting --------------------------------------------------------------------- */

static void sort(uint64_t *keys, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint64_t moving = keys[i];
        size_t at = i;
        for (; at && keys[at - 1] > moving; at--)
            keys[at] = keys[at - 1];
        keys[at] = moving;
    }
}

/* ---- Events ---------------------------------------------------------------------- */

typedef struct lanes {
    uint64_t lane[TWI_LANES];
} lanes;

static inline lanes load_lanes(const uint64_t *from)
{
    lanes l;
    memcpy(l.lane, from, sizeof l.lane);
    return l;
}

static inline void store_lanes(uint64_t *to, lanes l)
{
    memcpy(to, l.lane, sizeof l.lane);
}

static inline lanes apply_entry(const twi_entry *entry, unsigned kind, lanes state)
{
    twi_apply_entry(entry, kind, state.lane);
    return state;
}

#include "kernel/events.h"

/* ---- Values ---------------------------------------------------------------------- */

static void values(const twi_batch *batch, twi_values *out)
{
    for (size_t i = 0; i < batch->count; i++) {
        const uint64_t *s = batch->state[i];
        out->count[TWI_COUNT_ACTIVE][i] = (uint32_t)s[TWI_LANE_ACTIVE_QUEUED];
        out->count[TWI_COUNT_QUEUED][i] = (uint32_t)(s[TWI_LANE_ACTIVE_QUEUED] >> 32);
        out->count[TWI_COUNT_DECODE][i] = (uint32_t)s[TWI_LANE_DECODE_PREFILL];
        out->count[TWI_COUNT_PREFILL][i] = (uint32_t)(s[TWI_LANE_DECODE_PREFILL] >> 32);
    }
    for (size_t i = 0; i < batch->count; i++) {
        const uint64_t *s = batch->state[i];
        const uint64_t prefill_low = s[TWI_LANE_PREFILL_LOW];
        const uint64_t decode_low = s[TWI_LANE_DECODE_LOW];
        const uint64_t low = prefill_low + decode_low;
        const uint64_t high = s[TWI_LANE_PREFILL_HIGH] + s[TWI_LANE_DECODE_HIGH];

        out->real[TWI_REAL_PREFILL_RATE][i] = twi_f64_join(
            s[TWI_LANE_PREFILL_HIGH] + (prefill_low >> TWI_LOW_BITS),
            prefill_low & TWI_LOW_MASK, TWI_LOW_BITS);
        out->real[TWI_REAL_DECODE_RATE][i] = twi_f64_join(
            s[TWI_LANE_DECODE_HIGH] + (decode_low >> TWI_LOW_BITS),
            decode_low & TWI_LOW_MASK, TWI_LOW_BITS);
        out->real[TWI_REAL_TOTAL_RATE][i] = twi_f64_join(
            high + (low >> TWI_LOW_BITS), low & TWI_LOW_MASK, TWI_LOW_BITS);
        out->real[TWI_REAL_TOKENS][i] = twi_f64_join(
            s[TWI_LANE_TOKENS] + (s[TWI_LANE_TOKENS_PART] >> TWI_LOW_BITS),
            s[TWI_LANE_TOKENS_PART] & TWI_LOW_MASK, TWI_LOW_BITS);
    }
    for (size_t i = 0; i < batch->count; i++) {
        const uint32_t decode = out->count[TWI_COUNT_DECODE][i];
        const uint32_t prefill = out->count[TWI_COUNT_PREFILL][i];

        out->real[TWI_REAL_DECODE_RATE_PER_USER][i] = twi_per_user(
            out->real[TWI_REAL_DECODE_RATE][i], decode);
        out->real[TWI_REAL_PREFILL_RATE_PER_USER][i] = twi_per_user(
            out->real[TWI_REAL_PREFILL_RATE][i], prefill);
    }
}

/* ---- Distribution ---------------------------------------------------------------- */

static void tally(const double *value, const uint64_t *weight, size_t count,
                  uint32_t *number, twi_tally *tally)
{
    double least = tally->least, most = tally->most;
    uint64_t low = 0, high = 0, exponent = 0;

    for (size_t i = 0; i < count; i++) {
        const double above_zero = value[i] > 0 ? value[i] : HUGE_VAL;
        number[i] = twi_bin_number(value[i], tally->bin_bits);
        least = above_zero < least ? above_zero : least;
        most = value[i] > most ? value[i] : most;
    }
    tally->least = least;
    tally->most = most;

    /* Products of one exponent are summed up before they go to their place. */
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = twi_f64_bits(value[i]);
        const uint64_t fraction = bits & ((UINT64_C(1) << TWI_F64_FRACTION_BITS) - 1);
        const uint64_t mantissa = bits ? fraction | UINT64_C(1) << TWI_F64_FRACTION_BITS
                                       : 0;
        uint64_t product_high;
        uint64_t product = twi_mul64(mantissa, weight[i], &product_high);
        unsigned carry = 0;

        if (bits >> TWI_F64_FRACTION_BITS != exponent) {
            twi_sum_add_product(&tally->sum, low, high,
                                (int)exponent - TWI_F64_BIAS - TWI_F64_FRACTION_BITS);
            low = high = 0;
            exponent = bits >> TWI_F64_FRACTION_BITS;
        }
        low = twi_add_carry(low, product, &carry);
        high += product_high + carry;
    }
    twi_sum_add_product(&tally->sum, low, high,
                        (int)exponent - TWI_F64_BIAS - TWI_F64_FRACTION_BITS);
}

static void moments(const double *value, const uint64_t *weight, size_t count,
                    twi_moment_sums *moments)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t whole = (uint64_t)(int64_t)(value[i] * moments->factor);
        const uint64_t product[1] = {whole};
        uint64_t square[2];

        square[0] = twi_mul64(whole, whole, &square[1]);
        twi_add_product(moments->sum, 2, product, 1, weight[i]);
        twi_add_product(moments->square, 3, square, 2, weight[i]);
    }
}

static size_t find(const double *value, size_t count, const twi_filter *filter,
                   uint16_t *index)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        index[found] = (uint16_t)i;
        found += (value[i] > 0) &
                 twi_filter_passes(filter, twi_bin_number(value[i], filter->bin_bits));
    }
    return found;
}

const twi_kernel twi_kernel_portable = {
    .name = "portable",
    .sort = sort,
    .place = place,
    .advance = advance,
    .values = values,
    .tally = tally,
    .moments = moments,
    .find = find,
};
