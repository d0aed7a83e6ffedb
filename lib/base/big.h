/* SPDX-License-Identifier: MIT */
#ifndef TWI_BASE_BIG_H
#define TWI_BASE_BIG_H

/* Unsigned integers of up to 1600 bits, for the few exact steps that turn integer sums
 * into doubles and doubles into digits. Simple before fast: used some hundred times per
 * analysis or report, never per record. */

#include <stddef.h>
#include <stdint.h>

#define TWI_BIG_LIMBS 25

typedef struct twi_big {
    size_t used; /* limbs in use; the topmost is not 0 */
    uint64_t w[TWI_BIG_LIMBS];
} twi_big;

/* A unit of measure: a value v stands for v * multiply / divide * 2^-shift. */
typedef struct twi_scale {
    uint64_t multiply;
    uint64_t divide;
    int shift;
} twi_scale;

twi_big twi_big_from(const uint64_t *limbs, size_t count);
twi_big twi_big_from64(uint64_t a);
size_t twi_big_bits(const twi_big *a);
int twi_big_compare(const twi_big *a, const twi_big *b);
void twi_big_add(twi_big *a, const twi_big *b);
/* a -= b for a >= b. */
void twi_big_subtract(twi_big *a, const twi_big *b);
void twi_big_shift(twi_big *a, size_t bits);
void twi_big_multiply64(twi_big *a, uint64_t b);
twi_big twi_big_multiply(const twi_big *a, const twi_big *b);
/* a /= b; returns the remainder. */
uint64_t twi_big_divide64(twi_big *a, uint64_t b);

/* a / b * 2^exponent, b > 0, rounded once to the nearest double (ties to even), so that
 * the result is monotonic in a / b. The result must be a normal double or zero. */
double twi_big_ratio(const twi_big *a, const twi_big *b, int exponent);

/* (a / b) in the unit `scale`, rounded once; sqrt(a / b) likewise, where a / b is the
 * square of a value, rounded twice. */
double twi_big_scaled(const twi_big *a, const twi_big *b, twi_scale scale);
double twi_big_scaled_root(const twi_big *a, const twi_big *b, twi_scale scale);

#endif
