/* SPDX-License-Identifier: MIT */
#ifndef TWI_STAT_SUM_H
#define TWI_STAT_SUM_H

/* Exact sums of weighted doubles, and the one rounding at their end. */

#include <stdint.h>

#include "base/big.h"
#include "kernel/kernel.h"

/* sum += value * weight, for a whole number below 2^192. Sums of a total weight
 * below 2^64 cannot overflow. */
static inline void twi_sum_add(twi_sum *sum, double value, uint64_t weight)
{
    const uint64_t bits = twi_f64_bits(value);
    const uint64_t one = UINT64_C(1) << TWI_F64_FRACTION_BITS;
    uint64_t high;
    const uint64_t low = twi_mul64((bits & (one - 1)) | one, weight, &high);

    if (bits)
        twi_sum_add_product(sum, low, high,
                            (int)(bits >> TWI_F64_FRACTION_BITS) - TWI_F64_BIAS -
                                TWI_F64_FRACTION_BITS);
}

void twi_sum_merge(twi_sum *sum, const twi_sum *from);

/* sum / divisor in the unit `scale`, rounded once. */
double twi_sum_ratio(const twi_sum *sum, uint64_t divisor, twi_scale scale);

/* One value in a unit, rounded once more if the unit is not a power of two. */
double twi_sum_value(double value, twi_scale scale);

#endif
