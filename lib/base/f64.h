/* SPDX-License-Identifier: MIT */
#ifndef TWI_BASE_F64_H
#define TWI_BASE_F64_H

/* IEEE doubles as exact, portable values: every function rounds once, to nearest (ties to
 * even), so that all machines and all kernels get the same bits. */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/wide.h"

#if DBL_MANT_DIG != 53
#error "double must be IEEE binary64"
#endif

enum { TWI_F64_FRACTION_BITS = 52, TWI_F64_BIAS = 1023 };

static inline uint64_t twi_f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double twi_f64_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 2^exponent for a normal result. */
static inline double twi_f64_power(int exponent)
{
    return twi_f64_from_bits((uint64_t)(exponent + TWI_F64_BIAS)
                             << TWI_F64_FRACTION_BITS);
}

/* A wide integer. */
double twi_f64_from_u192(twi_u192 value);
/* floor(value) for 0 <= value < 2^192. */
twi_u192 twi_f64_to_u192(double value);

/* Where intermediate results are wider than double (x87), hardware would round twice; there
 * these work in integers. a >= 0, b > 0, results normal. */
double twi_f64_soft_product(double a, double b);
double twi_f64_soft_ratio(double a, double b);

static inline double twi_f64_product(double a, double b)
{
#if FLT_EVAL_METHOD == 0
    return a * b;
#else
    return twi_f64_soft_product(a, b);
#endif
}

static inline double twi_f64_ratio(double a, double b)
{
#if FLT_EVAL_METHOD == 0
    return a / b;
#else
    return twi_f64_soft_ratio(a, b);
#endif
}

/* high * 2^shift + low, for high <= 2^53 and low < 2^shift, shift <= 52. */
static inline double twi_f64_join(uint64_t high, uint64_t low, unsigned shift)
{
#if FLT_EVAL_METHOD == 0
    /* Signed, since that is one instruction on most machines. */
    return (double)(int64_t)high * twi_f64_power((int)shift) + (double)(int64_t)low;
#else
    return twi_f64_from_u192(twi_add(twi_shl(twi_from64(high), shift), twi_from64(low)));
#endif
}

/* floor(value) for 0 <= value < 2^1000. */
static inline double twi_f64_floor(double value)
{
    /* Beyond 2^52 there is no fraction. */
    return value < 0x1p52 ? (double)(int64_t)value : value;
}

#endif
