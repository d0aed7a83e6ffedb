/* SPDX-License-Identifier: MIT */
#include "base/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/big.h"

/* value = mantissa * 2^exponent for a finite value >= 0. */
static uint64_t split(double value, int *exponent)
{
    int e;
    double fraction = frexp(value, &e);
    *exponent = e - 53;
    return (uint64_t)ldexp(fraction, 53);
}

static size_t put_text(char *out, const char *text)
{
    size_t length = strlen(text);
    memcpy(out, text, length + 1);
    return length;
}

/* Handles sign and infinity; returns true if nothing is left to write. */
static bool put_sign(char *out, size_t *length, double *value)
{
    *length = 0;
    if (signbit(*value)) {
        out[(*length)++] = '-';
        *value = -*value;
    }
    if (isfinite(*value))
        return false;
    *length += put_text(out + *length, isnan(*value) ? "nan" : "inf");
    return true;
}

static twi_big power_of_ten(int n)
{
    twi_big power = twi_big_from64(1);
    for (; n >= 19; n -= 19)
        twi_big_multiply64(&power, UINT64_C(10000000000000000000));
    for (; n > 0; n--)
        twi_big_multiply64(&power, 10);
    return power;
}

/* The shortest digits d1 d2 ... with value = 0.d1d2... * 10^point that identify the
 * value: the free-format algorithm of Burger and Dybvig, "Printing floating-point numbers
 * quickly and accurately" (1996). rest / unit is what is left to print; low and high are
 * the half-gaps to the neighbouring doubles in the same unit. */
static size_t shortest_digits(char *digits, int *point, double value)
{
    int exponent;
    uint64_t mantissa = split(value, &exponent);
    bool even, lower_gap_is_half;
    twi_big rest, unit, low, high, sum;
    size_t count = 0;

    if (exponent < -1074) { /* subnormal: fewer bits, the same spacing */
        mantissa >>= -1074 - exponent;
        exponent = -1074;
    }
    even = (mantissa & 1) == 0;
    lower_gap_is_half = mantissa == UINT64_C(1) << 52 && exponent > -1074;

    rest = twi_big_from64(mantissa);
    unit = twi_big_from64(1);
    low = twi_big_from64(1);
    twi_big_shift(&rest, 1);
    twi_big_shift(&unit, 1);
    if (exponent >= 0) {
        twi_big_shift(&rest, (size_t)exponent);
        twi_big_shift(&low, (size_t)exponent);
    } else {
        twi_big_shift(&unit, (size_t)-exponent);
    }
    high = low;
    if (lower_gap_is_half) {
        twi_big_shift(&rest, 1);
        twi_big_shift(&unit, 1);
        twi_big_shift(&high, 1);
    }

    *point = (int)ceil(log10(value) - 1e-10);
    if (*point >= 0) {
        twi_big power = power_of_ten(*point);
        unit = twi_big_multiply(&unit, &power);
    } else {
        twi_big power = power_of_ten(-*point);
        rest = twi_big_multiply(&rest, &power);
        low = twi_big_multiply(&low, &power);
        high = twi_big_multiply(&high, &power);
    }
    /* The estimate can be one too small: then the value's upper bound reaches 1.0. */
    sum = rest;
    twi_big_add(&sum, &high);
    if (twi_big_compare(&sum, &unit) >= (even ? 0 : 1)) {
        ++*point;
        twi_big_multiply64(&unit, 10);
    }

    for (;;) {
        char digit = '0';
        bool near_low, near_high;

        twi_big_multiply64(&rest, 10);
        twi_big_multiply64(&low, 10);
        twi_big_multiply64(&high, 10);
        while (twi_big_compare(&rest, &unit) >= 0) {
            twi_big_subtract(&rest, &unit);
            digit++;
        }
        near_low = twi_big_compare(&rest, &low) < (even ? 1 : 0);
        sum = rest;
        twi_big_add(&sum, &high);
        near_high = twi_big_compare(&sum, &unit) >= (even ? 0 : 1);
        if (near_low &&
            near_high) { /* both neighbours will do: the nearer, or the even */
            int beyond_half;
            twi_big_shift(&rest, 1);
            beyond_half = twi_big_compare(&rest, &unit);
            near_high = beyond_half > 0 || (beyond_half == 0 && digit % 2 != 0);
        }
        digits[count++] = (char)(near_high ? digit + 1 : digit);
        if (near_low || near_high)
            return count;
    }
}

size_t twi_decimal_shortest(char *out, double value)
{
    char digits[32];
    size_t length, count;
    int point;

    if (put_sign(out, &length, &value))
        return length;
    if (value == 0)
        return length + put_text(out + length, "0");

    count = shortest_digits(digits, &point, value);
    if (point > 21 || point < -4) {
        int exponent = point - 1;
        out[length++] = digits[0];
        if (count > 1)
            out[length++] = '.';
        for (size_t i = 1; i < count; i++)
            out[length++] = digits[i];
        out[length++] = 'e';
        out[length++] = exponent < 0 ? '-' : '+';
        if (exponent < 0)
            exponent = -exponent;
        if (exponent < 10)
            out[length++] = '0';
        length += twi_decimal_unsigned(out + length, (uint64_t)exponent, 0);
    } else {
        if (point <= 0)
            length += put_text(out + length, "0.");
        for (int i = point; i < 0; i++)
            out[length++] = '0';
        for (size_t i = 0; i < count; i++) {
            if (point > 0 && i == (size_t)point)
                out[length++] = '.';
            out[length++] = digits[i];
        }
        for (size_t i = count; point > 0 && i < (size_t)point; i++)
            out[length++] = '0';
    }
    out[length] = 0;
    return length;
}

/* Digits of a, the least significant first. */
static size_t reversed_digits(char *digits, twi_big a)
{
    size_t count = 0;
    while (a.used)
        digits[count++] = (char)('0' + twi_big_divide64(&a, 10));
    return count;
}

static size_t put_grouped(char *out, const char *reversed, size_t count, bool grouped)
{
    size_t length = 0;
    for (size_t i = count; i-- > 0;) {
        out[length++] = reversed[i];
        if (grouped && i && i % 3 == 0)
            out[length++] = ',';
    }
    out[length] = 0;
    return length;
}

size_t twi_decimal_grouped(char *out, double value)
{
    char digits[TWI_DECIMAL_SIZE];
    size_t length, count;
    int exponent;
    uint64_t hundredths;
    twi_big all;

    if (put_sign(out, &length, &value))
        return length;

    hundredths = split(value, &exponent) * 100;
    if (exponent >= 0) {
        all = twi_big_from64(hundredths);
        twi_big_shift(&all, (size_t)exponent);
    } else if (exponent > -62) {
        uint64_t whole = hundredths >> -exponent;
        uint64_t cut = hundredths & ((UINT64_C(1) << -exponent) - 1);
        uint64_t half = UINT64_C(1) << (-exponent - 1);
        if (cut > half || (cut == half && (whole & 1)))
            whole++;
        all = twi_big_from64(whole);
    } else {
        all = twi_big_from64(0); /* below 100 * 2^53 * 2^-62 < 0.2 hundredths */
    }
    count = reversed_digits(digits, all);
    while (count < 3)
        digits[count++] = '0';
    length += put_grouped(out + length, digits + 2, count - 2, true);
    out[length++] = '.';
    out[length++] = digits[1];
    out[length++] = digits[0];
    out[length] = 0;
    return length;
}

size_t twi_decimal_unsigned(char *out, uint64_t value, int grouped)
{
    char digits[TWI_DECIMAL_SIZE];
    size_t count = reversed_digits(digits, twi_big_from64(value));
    if (count == 0)
        digits[count++] = '0';
    return put_grouped(out, digits, count, grouped != 0);
}

size_t twi_decimal_signed(char *out, int64_t value)
{
    if (value >= 0)
        return twi_decimal_unsigned(out, (uint64_t)value, 0);
    out[0] = '-';
    return 1 + twi_decimal_unsigned(out + 1, 0 - (uint64_t)value, 0);
}
