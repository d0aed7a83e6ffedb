/* SPDX-License-Identifier: MIT */
#include "stat/sum.h"

void twi_sum_merge(twi_sum *sum, const twi_sum *from)
{
    unsigned carry = 0;
    for (int i = 0; i < TWI_SUM_LIMBS; i++)
        sum->w[i] = twi_add_carry(sum->w[i], from->w[i], &carry);
}

double twi_sum_ratio(const twi_sum *sum, uint64_t divisor, twi_scale scale)
{
    const twi_big total = twi_big_from(sum->w, TWI_SUM_LIMBS),
                  below = twi_big_from64(divisor);
    scale.shift += TWI_SUM_SHIFT;
    return twi_big_scaled(&total, &below, scale);
}

double twi_sum_value(double value, twi_scale scale)
{
    value *= twi_f64_power(-scale.shift);
    if (scale.multiply != 1)
        value = twi_f64_product(value, (double)scale.multiply);
    return scale.divide == 1 ? value : twi_f64_ratio(value, (double)scale.divide);
}
