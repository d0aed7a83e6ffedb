/* SPDX-License-Identifier: MIT */
#ifndef TWI_BASE_WIDE_H
#define TWI_BASE_WIDE_H

/* Unsigned 192-bit integers: what every curve and every sample value is held in. 192 bits
 * hold the sum of any number of records (a rate is below 2^128 units, a count of records
 * below 2^64), so running sums cannot overflow and need no check. Arithmetic is modulo
 * 2^192: what is added is subtracted again exactly, whatever the order. */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct twi_u192 {
    uint64_t w[3]; /* least significant first */
} twi_u192;

#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 twi_u128;
#endif

/* a * b; the upper half goes to *high. */
static inline uint64_t twi_mul64(uint64_t a, uint64_t b, uint64_t *high)
{
#if defined(__SIZEOF_INT128__)
    twi_u128 product = (twi_u128)a * b;
    *high = (uint64_t)(product >> 64);
    return (uint64_t)product;
#else
    uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    uint64_t low = a0 * b0, cross0 = a1 * b0, cross1 = a0 * b1;
    uint64_t middle = (low >> 32) + (cross0 & 0xffffffffu) + (cross1 & 0xffffffffu);
    *high = a1 * b1 + (cross0 >> 32) + (cross1 >> 32) + (middle >> 32);
    return (middle << 32) | (low & 0xffffffffu);
#endif
}

/* (high, low) / divisor for high < divisor; the remainder goes to *rest. */
static inline uint64_t twi_div64(uint64_t high, uint64_t low, uint64_t divisor,
                                 uint64_t *rest)
{
#if defined(__SIZEOF_INT128__)
    twi_u128 dividend = (twi_u128)high << 64 | low;
    *rest = (uint64_t)(dividend % divisor);
    return (uint64_t)(dividend / divisor);
#else
    uint64_t quotient = 0;
    for (int i = 0; i < 64; i++) {
        bool carry = high >> 63;
        high = high << 1 | low >> 63;
        low <<= 1;
        quotient <<= 1;
        if (carry || high >= divisor) {
            high -= divisor;
            quotient |= 1;
        }
    }
    *rest = high;
    return quotient;
#endif
}

/* a + b + *carry; *carry becomes the carry out. */
static inline uint64_t twi_add_carry(uint64_t a, uint64_t b, unsigned *carry)
{
    uint64_t sum = a + b;
    unsigned out = sum < a;
    sum += *carry;
    *carry = out | (sum < *carry);
    return sum;
}

/* a - b - *borrow; *borrow becomes the borrow out. */
static inline uint64_t twi_sub_borrow(uint64_t a, uint64_t b, unsigned *borrow)
{
    uint64_t difference = a - b;
    unsigned out = a < b;
    out |= difference < *borrow;
    difference -= *borrow;
    *borrow = out;
    return difference;
}

static inline twi_u192 twi_from64(uint64_t a)
{
    return (twi_u192){{a, 0, 0}};
}

static inline twi_u192 twi_add(twi_u192 a, twi_u192 b)
{
    unsigned carry = 0;
    for (int i = 0; i < 3; i++)
        a.w[i] = twi_add_carry(a.w[i], b.w[i], &carry);
    return a;
}

static inline twi_u192 twi_sub(twi_u192 a, twi_u192 b)
{
    unsigned borrow = 0;
    for (int i = 0; i < 3; i++)
        a.w[i] = twi_sub_borrow(a.w[i], b.w[i], &borrow);
    return a;
}

static inline bool twi_equal(twi_u192 a, twi_u192 b)
{
    return ((a.w[0] ^ b.w[0]) | (a.w[1] ^ b.w[1]) | (a.w[2] ^ b.w[2])) == 0;
}

static inline bool twi_less(twi_u192 a, twi_u192 b)
{
    if (a.w[2] != b.w[2])
        return a.w[2] < b.w[2];
    if (a.w[1] != b.w[1])
        return a.w[1] < b.w[1];
    return a.w[0] < b.w[0];
}

static inline bool twi_is_zero(twi_u192 a)
{
    return (a.w[0] | a.w[1] | a.w[2]) == 0;
}

static inline unsigned twi_bits64(uint64_t a)
{
#if defined(__GNUC__)
    return a ? 64u - (unsigned)__builtin_clzll(a) : 0;
#else
    unsigned bits = 0;
    for (; a; a >>= 1)
        bits++;
    return bits;
#endif
}

/* Length in bits; 0 for 0. */
static inline unsigned twi_bits(twi_u192 a)
{
    if (a.w[2])
        return 128 + twi_bits64(a.w[2]);
    if (a.w[1])
        return 64 + twi_bits64(a.w[1]);
    return twi_bits64(a.w[0]);
}

/* a >> n for n < 192. */
static inline twi_u192 twi_shr(twi_u192 a, unsigned n)
{
    for (; n >= 64; n -= 64)
        a = (twi_u192){{a.w[1], a.w[2], 0}};
    if (n)
        a = (twi_u192){{a.w[0] >> n | a.w[1] << (64 - n),
                        a.w[1] >> n | a.w[2] << (64 - n), a.w[2] >> n}};
    return a;
}

/* The low 64 bits of a >> n, for n < 192. */
static inline uint64_t twi_shr64(twi_u192 a, unsigned n)
{
    const unsigned limb = n / 64, bit = n % 64;
    const uint64_t above = limb < 2 ? a.w[limb + 1] : 0;
    return bit ? a.w[limb] >> bit | above << (64 - bit) : a.w[limb];
}

/* a << n for n < 192; bits beyond 192 are lost. */
static inline twi_u192 twi_shl(twi_u192 a, unsigned n)
{
    for (; n >= 64; n -= 64)
        a = (twi_u192){{0, a.w[0], a.w[1]}};
    if (n)
        a = (twi_u192){{a.w[0] << n, a.w[1] << n | a.w[0] >> (64 - n),
                        a.w[2] << n | a.w[1] >> (64 - n)}};
    return a;
}

/* Values below 2^128 as they are stored in tables. */
static inline void twi_store128(uint64_t out[2], twi_u192 value)
{
    out[0] = value.w[0];
    out[1] = value.w[1];
}

static inline twi_u192 twi_load128(const uint64_t in[2])
{
    return (twi_u192){{in[0], in[1], 0}};
}

/* a * b as 128 bits. */
static inline twi_u192 twi_product(uint64_t a, uint64_t b)
{
    uint64_t high;
    uint64_t low = twi_mul64(a, b, &high);
    return (twi_u192){{low, high, 0}};
}

/* floor(a / b) for b > 0. */
static inline twi_u192 twi_quotient64(twi_u192 a, uint64_t b)
{
    uint64_t rest = 0;
    for (int i = 2; i >= 0; i--)
        if (rest | a.w[i])
            a.w[i] = twi_div64(rest, a.w[i], b, &rest);
    return a;
}

/* floor(a / b) for b > 0. */
static inline twi_u192 twi_quotient(twi_u192 a, twi_u192 b)
{
    if ((b.w[1] | b.w[2]) == 0)
        return twi_quotient64(a, b.w[0]);
    twi_u192 quotient = {{0, 0, 0}};
    unsigned length_a = twi_bits(a), length_b = twi_bits(b);
    if (length_a < length_b)
        return quotient;
    for (unsigned i = length_a - length_b + 1; i-- > 0;) {
        twi_u192 shifted = twi_shl(b, i);
        if (!twi_less(a, shifted)) {
            a = twi_sub(a, shifted);
            quotient.w[i / 64] |= (uint64_t)1 << i % 64;
        }
    }
    return quotient;
}

/* sum += part * factor. Inlined for each number of limbs, where the loops unroll. */
static inline void twi_add_product(uint64_t *sum, size_t sum_limbs, const uint64_t *part,
                                   size_t limbs, uint64_t factor)
{
    uint64_t carry = 0;
    unsigned ripple = 0;

    for (size_t i = 0; i < limbs; i++) {
        uint64_t high;
        const uint64_t low = twi_mul64(part[i], factor, &high);
        unsigned out = 0;

        carry = twi_add_carry(low, carry, &out);
        high += out; /* cannot overflow: a product's upper half is below 2^64 - 1 */
        out = 0;
        sum[i] = twi_add_carry(sum[i], carry, &out);
        carry = high + out; /* nor here: (2^64 - 1)^2 leaves room for two more limbs */
    }
    sum[limbs] = twi_add_carry(sum[limbs], carry, &ripple);
    for (size_t i = limbs + 1; ripple && i < sum_limbs; i++)
        ripple = ++sum[i] == 0;
    assert(!ripple);
}

#endif
