/* SPDX-License-Identifier: MIT */
#include "base/big.h"

#include <assert.h>
#include <math.h>

#include "base/wide.h"

static void trim(twi_big *a)
{
    while (a->used && a->w[a->used - 1] == 0)
        a->used--;
}

static void push(twi_big *a, uint64_t limb)
{
    assert(a->used < TWI_BIG_LIMBS);
    if (a->used <
        TWI_BIG_LIMBS) /* no input leads beyond; never write there all the same */
        a->w[a->used++] = limb;
}

twi_big twi_big_from(const uint64_t *limbs, size_t count)
{
    twi_big a = {0};
    for (size_t i = 0; i < count; i++)
        push(&a, limbs[i]);
    trim(&a);
    return a;
}

twi_big twi_big_from64(uint64_t a)
{
    return twi_big_from(&a, 1);
}

size_t twi_big_bits(const twi_big *a)
{
    return a->used ? (a->used - 1) * 64 + twi_bits64(a->w[a->used - 1]) : 0;
}

int twi_big_compare(const twi_big *a, const twi_big *b)
{
    if (a->used != b->used)
        return a->used < b->used ? -1 : 1;
    for (size_t i = a->used; i-- > 0;)
        if (a->w[i] != b->w[i])
            return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}

void twi_big_add(twi_big *a, const twi_big *b)
{
    unsigned carry = 0;
    while (a->used < b->used)
        push(a, 0);
    for (size_t i = 0; i < a->used; i++)
        a->w[i] = twi_add_carry(a->w[i], i < b->used ? b->w[i] : 0, &carry);
    if (carry)
        push(a, 1);
}

void twi_big_subtract(twi_big *a, const twi_big *b)
{
    unsigned borrow = 0;
    for (size_t i = 0; i < a->used; i++)
        a->w[i] = twi_sub_borrow(a->w[i], i < b->used ? b->w[i] : 0, &borrow);
    assert(!borrow);
    trim(a);
}

void twi_big_shift(twi_big *a, size_t bits)
{
    size_t limbs = bits / 64;
    unsigned rest = bits % 64;

    if (a->used == 0)
        return;
    push(a, 0);
    for (size_t i = a->used - 1; rest && i > 0; i--)
        a->w[i] = a->w[i] << rest | a->w[i - 1] >> (64 - rest);
    a->w[0] <<= rest;
    trim(a);
    if (limbs) {
        assert(a->used + limbs <= TWI_BIG_LIMBS);
        for (size_t i = a->used; i-- > 0;)
            a->w[i + limbs] = a->w[i];
        for (size_t i = 0; i < limbs; i++)
            a->w[i] = 0;
        a->used += limbs;
    }
}

void twi_big_multiply64(twi_big *a, uint64_t b)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < a->used; i++) {
        uint64_t high;
        uint64_t low = twi_mul64(a->w[i], b, &high);
        unsigned out = 0;
        a->w[i] = twi_add_carry(low, carry, &out);
        carry = high + out;
    }
    if (carry)
        push(a, carry);
    trim(a);
}

twi_big twi_big_multiply(const twi_big *a, const twi_big *b)
{
    twi_big sum = {0};
    for (size_t i = b->used; i-- > 0;) {
        twi_big part = *a;
        twi_big_multiply64(&part, b->w[i]);
        twi_big_shift(&sum, 64);
        twi_big_add(&sum, &part);
    }
    return sum;
}

uint64_t twi_big_divide64(twi_big *a, uint64_t b)
{
    uint64_t rest = 0;
    for (size_t i = a->used; i-- > 0;)
        a->w[i] = twi_div64(rest, a->w[i], b, &rest);
    trim(a);
    return rest;
}

static void halve(twi_big *a)
{
    for (size_t i = 0; i < a->used; i++)
        a->w[i] = a->w[i] >> 1 | (i + 1 < a->used ? a->w[i + 1] << 63 : 0);
    trim(a);
}

double twi_big_ratio(const twi_big *a, const twi_big *b, int exponent)
{
    enum { QUOTIENT_BITS = 56 }; /* 53 of the result, and some that decide the rounding */
    twi_big rest = *a, divisor = *b;
    uint64_t quotient = 0;
    int shift;
    unsigned spare;

    assert(b->used);
    if (a->used == 0)
        return 0.0;

    /* Scale so that 2^(QUOTIENT_BITS - 1) < rest / divisor < 2^(QUOTIENT_BITS + 1). */
    shift = QUOTIENT_BITS + (int)twi_big_bits(b) - (int)twi_big_bits(a);
    if (shift > 0)
        twi_big_shift(&rest, (size_t)shift);
    else
        twi_big_shift(&divisor, (size_t)-shift);

    twi_big_shift(&divisor, QUOTIENT_BITS);
    for (int i = QUOTIENT_BITS; i >= 0; i--) {
        quotient <<= 1;
        if (twi_big_compare(&rest, &divisor) >= 0) {
            twi_big_subtract(&rest, &divisor);
            quotient |= 1;
        }
        halve(&divisor);
    }

    /* A remainder only matters as "more than this", so it becomes the lowest bit. */
    if (rest.used)
        quotient |= 1;
    spare = twi_bits64(quotient) - 53;
    {
        uint64_t kept = quotient >> spare, cut = quotient & (((uint64_t)1 << spare) - 1);
        uint64_t half = (uint64_t)1 << (spare - 1);
        if (cut > half || (cut == half && (kept & 1)))
            kept++;
        return ldexp((double)kept, (int)spare - shift + exponent);
    }
}

double twi_big_scaled(const twi_big *a, const twi_big *b, twi_scale scale)
{
    twi_big above = *a, below = *b;
    twi_big_multiply64(&above, scale.multiply);
    twi_big_multiply64(&below, scale.divide);
    return twi_big_ratio(&above, &below, -scale.shift);
}

double twi_big_scaled_root(const twi_big *a, const twi_big *b, twi_scale scale)
{
    twi_big above = *a, below = *b;
    for (int i = 0; i < 2; i++) {
        twi_big_multiply64(&above, scale.multiply);
        twi_big_multiply64(&below, scale.divide);
    }
    return sqrt(twi_big_ratio(&above, &below, -2 * scale.shift));
}
