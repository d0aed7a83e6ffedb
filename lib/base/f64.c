/* SPDX-License-Identifier: MIT */
#include "base/f64.h"

/* head * 2^exponent, where bits below the head are summed up in `sticky`. */
static double rounded(twi_u192 head, bool sticky, int exponent)
{
    const unsigned bits = twi_bits(head);
    uint64_t top;

    if (bits == 0)
        return 0;
    if (bits > 54) { /* 53 bits, one to round by, and whether anything was below */
        const unsigned drop = bits - 54;
        const twi_u192 kept = twi_shr(head, drop);
        sticky = sticky || !twi_equal(twi_shl(kept, drop), head);
        head = kept;
        exponent += (int)drop;
    } else {
        head = twi_shl(head, 54 - bits);
        exponent -= (int)(54 - bits);
    }
    top = head.w[0];
    if ((top & 1) && (sticky || (top & 2)))
        top += 2;
    return ldexp((double)(int64_t)(top >> 1), exponent + 1);
}

double twi_f64_from_u192(twi_u192 value)
{
    return rounded(value, false, 0);
}

static uint64_t mantissa_of(double value, int *exponent)
{
    const double fraction = frexp(value, exponent);
    *exponent -= 53;
    return (uint64_t)ldexp(fraction, 53);
}

twi_u192 twi_f64_to_u192(double value)
{
    int exponent;
    const uint64_t mantissa = mantissa_of(value, &exponent);

    assert(value >= 0 && value < 0x1p192);
    if (exponent >= 0)
        return twi_shl(twi_from64(mantissa), (unsigned)exponent);
    return twi_from64(exponent > -64 ? mantissa >> -exponent : 0);
}

double twi_f64_soft_product(double a, double b)
{
    int exponent_a, exponent_b;
    const uint64_t mantissa_a = mantissa_of(a, &exponent_a);
    const uint64_t mantissa_b = mantissa_of(b, &exponent_b);
    return rounded(twi_product(mantissa_a, mantissa_b), false, exponent_a + exponent_b);
}

double twi_f64_soft_ratio(double a, double b)
{
    int exponent_a, exponent_b;
    const twi_u192 mantissa_a = twi_from64(mantissa_of(a, &exponent_a));
    const uint64_t mantissa_b = mantissa_of(b, &exponent_b);
    const twi_u192 scaled = twi_shl(mantissa_a, 64);
    const twi_u192 quotient = twi_quotient64(scaled, mantissa_b);
    twi_u192 product = twi_from64(0);

    for (unsigned i = 0; i < 64; i++) /* quotient * mantissa_b, to see what is left */
        if (mantissa_b >> i & 1)
            product = twi_add(product, twi_shl(quotient, i));
    return rounded(quotient, !twi_equal(product, scaled), exponent_a - exponent_b - 64);
}
