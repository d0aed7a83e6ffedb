/* SPDX-License-Identifier: MIT */
#include "stat/rank.h"

#include <math.h>

#include "base/wide.h"

bool twi_quantile_from(double q, uint64_t *quantile)
{
    int exponent;
    uint64_t mantissa;
    unsigned shift;

    if (!(q >= 0 && q <= 1))
        return false;
    /* q = mantissa * 2^-shift exactly; the rounding is to nearest, halves up. */
    mantissa = (uint64_t)ldexp(frexp(q, &exponent), 53);
    shift = (unsigned)(53 - exponent);
    if (shift > 100) {
        *quantile = 0;
    } else {
        const twi_u192 scaled = twi_product(mantissa, TWI_QUANTILE_ONE);
        *quantile =
            twi_shr(twi_add(scaled, twi_shl(twi_from64(1), shift - 1)), shift).w[0];
    }
    return true;
}

twi_place twi_place_least(uint64_t quantile, uint64_t weight)
{
    const twi_u192 scaled = twi_add(twi_product(quantile, weight),
                                    twi_from64(TWI_QUANTILE_ONE - 1));
    const uint64_t rank = twi_quotient64(scaled, TWI_QUANTILE_ONE).w[0];
    return (twi_place){rank ? rank : 1, 0};
}

twi_place twi_place_interpolated(uint64_t quantile, uint64_t count)
{
    const twi_u192 scaled = twi_product(quantile, count - 1);
    const uint64_t below = twi_quotient64(scaled, TWI_QUANTILE_ONE).w[0];
    const uint64_t fraction = twi_sub(scaled, twi_product(below, TWI_QUANTILE_ONE)).w[0];
    return (twi_place){below + 1, fraction};
}
