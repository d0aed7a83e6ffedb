/* SPDX-License-Identifier: MIT */
/* The foundation: wide and big integers, doubles and doubles as text, memory, growing
 * structs, statuses. Built a second time without 128-bit integers of the compiler.
 * TIMEWEIGHT_TEST_NUMBERS says how many random numbers are printed. */

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "base/big.h"
#include "base/decimal.h"
#include "base/f64.h"
#include "base/mem.h"
#include "vocabulary.h"

/* ---- Wide integers ----------------------------------------------------------------- */

/* a * b by hand, in halves. */
static uint64_t reference_mul(uint64_t a, uint64_t b, uint64_t *high)
{
    uint64_t digit[4] = {0, 0, 0, 0};
    const uint64_t x[2] = {a & 0xffffffff, a >> 32}, y[2] = {b & 0xffffffff, b >> 32};

    for (int i = 0; i < 2; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < 2; j++) {
            carry += digit[i + j] + x[i] * y[j];
            digit[i + j] = carry & 0xffffffff;
            carry >>= 32;
        }
        digit[i + 2] = carry;
    }
    *high = digit[2] | digit[3] << 32;
    return digit[0] | digit[1] << 32;
}

static unsigned bit_of(twi_u192 a, unsigned i)
{
    return i < 192 ? (unsigned)(a.w[i / 64] >> i % 64) & 1 : 0;
}

/* Long division, bit by bit. */
static twi_u192 reference_quotient(twi_u192 a, twi_u192 b)
{
    twi_u192 rest = {{0, 0, 0}}, quotient = {{0, 0, 0}};

    for (unsigned i = 192; i-- > 0;) {
        const unsigned over = bit_of(rest, 191);

        rest.w[2] = rest.w[2] << 1 | rest.w[1] >> 63;
        rest.w[1] = rest.w[1] << 1 | rest.w[0] >> 63;
        rest.w[0] = rest.w[0] << 1 | bit_of(a, i);
        if (over || !twi_less(rest, b)) {
            rest = twi_sub(rest, b);
            quotient.w[i / 64] |= UINT64_C(1) << i % 64;
        }
    }
    return quotient;
}

static uint64_t random_word(uint64_t *random)
{
    static const uint64_t corners[] = {0,
                                       1,
                                       2,
                                       UINT64_MAX,
                                       UINT64_MAX - 1,
                                       0xffffffff,
                                       UINT64_C(1) << 32,
                                       UINT64_C(1) << 63};
    const uint64_t kind = random_below(random, 4);

    if (kind == 0)
        return corners[random_below(random, sizeof corners / sizeof corners[0])];
    return random_next(random) >> (kind == 1 ? random_below(random, 64) : 0);
}

static twi_u192 random_wide(uint64_t *random)
{
    return (twi_u192){{random_word(random), random_word(random), random_word(random)}};
}

START_TEST(wide_products)
{
    uint64_t random = 1, high, wanted_high;

    assert_u64(twi_mul64(UINT64_MAX, UINT64_MAX, &high), 1);
    assert_u64(high, UINT64_MAX - 1);
    assert_u64(twi_mul64(UINT64_C(1) << 32, UINT64_C(1) << 32, &high), 0);
    assert_u64(high, 1);
    for (int i = 0; i < 20000; i++) {
        const uint64_t a = random_word(&random), b = random_word(&random);
        const uint64_t wanted = reference_mul(a, b, &wanted_high);
        const twi_u192 product = twi_product(a, b);

        assert_u64(twi_mul64(a, b, &high), wanted);
        assert_u64(high, wanted_high);
        assert_u64(product.w[0], wanted);
        assert_u64(product.w[1], wanted_high);
        assert_u64(product.w[2], 0);
    }
}
END_TEST

START_TEST(wide_division_of_words)
{
    uint64_t random = 2, rest, high;

    assert_u64(twi_div64(UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, &rest), UINT64_MAX);
    assert_u64(rest, UINT64_MAX - 1);
    for (int i = 0; i < 20000; i++) {
        const uint64_t divisor = random_word(&random) | 1;
        const uint64_t above = random_word(&random) % divisor;
        const uint64_t below = random_word(&random);
        const uint64_t quotient = twi_div64(above, below, divisor, &rest);
        const uint64_t low = reference_mul(quotient, divisor, &high);

        assert_that(rest < divisor);
        assert_u64(low + rest, below);
        assert_u64(high + (low + rest < low), above);
    }
}
END_TEST

START_TEST(wide_carries)
{
    static const struct {
        uint64_t a, b;
        unsigned in;
        uint64_t sum;
        unsigned out;
    } adds[] = {
        {0, 0, 0, 0, 0},
        {0, 0, 1, 1, 0},
        {UINT64_MAX, 0, 0, UINT64_MAX, 0},
        {UINT64_MAX, 0, 1, 0, 1},
        {0, UINT64_MAX, 1, 0, 1},
        {UINT64_MAX, 1, 0, 0, 1},
        {UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1, 1},
        {UINT64_MAX, UINT64_MAX, 1, UINT64_MAX, 1},
    };
    static const struct {
        uint64_t a, b;
        unsigned in;
        uint64_t difference;
        unsigned out;
    } subs[] = {
        {0, 0, 0, 0, 0},
        {0, 0, 1, UINT64_MAX, 1},
        {1, 0, 1, 0, 0},
        {1, 1, 1, UINT64_MAX, 1},
        {0, 1, 0, UINT64_MAX, 1},
        {0, UINT64_MAX, 0, 1, 1},
        {0, UINT64_MAX, 1, 0, 1},
        {UINT64_MAX, UINT64_MAX, 0, 0, 0},
        {UINT64_MAX, UINT64_MAX, 1, UINT64_MAX, 1},
    };

    for (size_t i = 0; i < sizeof adds / sizeof adds[0]; i++) {
        unsigned carry = adds[i].in;
        vocabulary_context("sum %zu", i);
        assert_u64(twi_add_carry(adds[i].a, adds[i].b, &carry), adds[i].sum);
        assert_u64(carry, adds[i].out);
    }
    for (size_t i = 0; i < sizeof subs / sizeof subs[0]; i++) {
        unsigned borrow = subs[i].in;
        vocabulary_context("difference %zu", i);
        assert_u64(twi_sub_borrow(subs[i].a, subs[i].b, &borrow), subs[i].difference);
        assert_u64(borrow, subs[i].out);
    }
}
END_TEST

START_TEST(wide_sums)
{
    const twi_u192 zero = {{0, 0, 0}}, one = {{1, 0, 0}};
    const twi_u192 all = {{UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    const twi_u192 low = {{UINT64_MAX, UINT64_MAX, 0}}, high = {{0, 0, 1}};
    uint64_t random = 3;

    assert_u192(twi_from64(7), ((twi_u192){{7, 0, 0}}));
    assert_u192(twi_add(low, one), high); /* carries through */
    assert_u192(twi_sub(high, one), low); /* borrows through */
    assert_u192(twi_add(all, one), zero); /* modulo 2^192 */
    assert_u192(twi_sub(zero, one), all);
    for (int i = 0; i < 20000; i++) {
        const twi_u192 a = random_wide(&random), b = random_wide(&random);
        const twi_u192 c = random_wide(&random);

        assert_u192(twi_add(a, b), twi_add(b, a));
        assert_u192(twi_add(twi_add(a, b), c), twi_add(a, twi_add(b, c)));
        assert_u192(twi_sub(twi_add(a, b), b), a);
        assert_u64(twi_add(a, b).w[0], a.w[0] + b.w[0]);
    }
}
END_TEST

START_TEST(wide_comparisons)
{
    /* ascending */
    static const twi_u192 values[] = {
        {{0, 0, 0}}, {{1, 0, 0}}, {{UINT64_MAX, 0, 0}}, {{0, 1, 0}},
        {{1, 1, 0}}, {{0, 2, 0}}, {{0, 0, 1}},          {{UINT64_MAX, UINT64_MAX, 1}},
        {{0, 0, 2}}, {{0, 1, 2}}, {{1, 1, 2}},
    };
    enum { COUNT = sizeof values / sizeof values[0] };

    for (int i = 0; i < COUNT; i++) {
        assert_i64(twi_is_zero(values[i]), i == 0);
        for (int j = 0; j < COUNT; j++) {
            assert_i64(twi_less(values[i], values[j]), i < j);
            assert_i64(twi_equal(values[i], values[j]), i == j);
        }
    }
}
END_TEST

START_TEST(wide_lengths)
{
    assert_u64(twi_bits64(0), 0);
    assert_u64(twi_bits((twi_u192){{0, 0, 0}}), 0);
    for (unsigned i = 0; i < 192; i++) {
        twi_u192 power = {{0, 0, 0}};

        power.w[i / 64] = UINT64_C(1) << i % 64;
        assert_u64(twi_bits(power), i + 1);
        assert_u64(twi_bits(twi_sub(power, twi_from64(1))), i);
        if (i < 64)
            assert_u64(twi_bits64(power.w[0]), i + 1);
    }
}
END_TEST

START_TEST(wide_shifts)
{
    uint64_t random = 4;

    for (int k = 0; k < 50; k++) {
        const twi_u192 a = random_wide(&random);
        for (unsigned n = 0; n < 192; n++) {
            const twi_u192 right = twi_shr(a, n), left = twi_shl(a, n);

            assert_u64(twi_shr64(a, n), right.w[0]);
            for (unsigned i = 0; i < 192; i++) {
                assert_u64(bit_of(right, i), bit_of(a, i + n));
                assert_u64(bit_of(left, i), i < n ? 0 : bit_of(a, i - n));
            }
        }
    }
}
END_TEST

START_TEST(wide_quotients)
{
    const twi_u192 all = {{UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    uint64_t random = 5;

    assert_u192(twi_quotient(all, all), twi_from64(1));
    assert_u192(twi_quotient(twi_sub(all, twi_from64(1)), all), twi_from64(0));
    assert_u192(twi_quotient(all, twi_from64(1)), all);
    for (int i = 0; i < 3000; i++) {
        const unsigned narrow = (unsigned)random_below(&random, 192);
        const twi_u192 a = random_wide(&random);
        const twi_u192 b = twi_add(twi_shr(random_wide(&random), narrow), twi_from64(1));

        if (twi_is_zero(b))
            continue;
        assert_u192(twi_quotient(a, b), reference_quotient(a, b));
        if (b.w[0])
            assert_u192(twi_quotient64(a, b.w[0]),
                        reference_quotient(a, twi_from64(b.w[0])));
    }
}
END_TEST

/* ---- Big integers ------------------------------------------------------------------ */

static twi_big random_big(uint64_t *random, size_t most)
{
    uint64_t limbs[TWI_BIG_LIMBS];
    const size_t count = (size_t)random_below(random, most + 1);

    for (size_t i = 0; i < count; i++)
        limbs[i] = random_word(random);
    return twi_big_from(limbs, count);
}

static void check_equal(const twi_big *got, const twi_big *wanted)
{
    assert_i64(twi_big_compare(got, wanted), 0);
    assert_u64(got->used, wanted->used);
    assert_that(got->used == 0 || got->w[got->used - 1] != 0);
}

START_TEST(big_limbs)
{
    const uint64_t limbs[] = {0, 5, 0, 0}, none[] = {0, 0};
    twi_big a = twi_big_from(limbs, 4), zero = twi_big_from(none, 2);

    assert_u64(a.used, 2);
    assert_u64(zero.used, 0);
    assert_u64(twi_big_from64(0).used, 0);
    assert_u64(twi_big_bits(&a), 64 + 3);
    assert_u64(twi_big_bits(&zero), 0);
    assert_that(twi_big_compare(&zero, &a) < 0);
    assert_that(twi_big_compare(&a, &zero) > 0);
    zero = twi_big_from64(UINT64_MAX);
    assert_that(twi_big_compare(&zero, &a) < 0);
}
END_TEST

START_TEST(big_carries)
{
    const uint64_t limbs[] = {UINT64_MAX, UINT64_MAX};
    twi_big a = twi_big_from(limbs, 2), one = twi_big_from64(1);

    twi_big_add(&a, &one); /* 2^128 */
    assert_u64(a.used, 3);
    assert_u64(twi_big_bits(&a), 129);
    twi_big_subtract(&a, &one);
    assert_u64(a.used, 2);
    assert_u64(a.w[1], UINT64_MAX);
    twi_big_subtract(&a, &a);
    assert_u64(a.used, 0);
}
END_TEST

START_TEST(big_identities)
{
    uint64_t random = 6;

    for (int i = 0; i < 5000; i++) {
        const twi_big a = random_big(&random, 8), b = random_big(&random, 8);
        const uint64_t factor = random_word(&random), rest = random_word(&random);
        const size_t shift = (size_t)random_below(&random, 300);
        twi_big sum = a, product, other, power;

        twi_big_add(&sum, &b);
        assert_that(twi_big_compare(&sum, &a) >= 0);
        other = b;
        twi_big_add(&other, &a);
        check_equal(&sum, &other);
        twi_big_subtract(&sum, &b);
        check_equal(&sum, &a);

        product = twi_big_multiply(&a, &b);
        other = twi_big_multiply(&b, &a);
        check_equal(&product, &other);
        assert_that(!a.used || !b.used ||
                    twi_big_bits(&product) + 1 >= twi_big_bits(&a) + twi_big_bits(&b));

        if (factor) { /* (a factor + rest) / factor */
            const twi_big extra = twi_big_from64(rest % factor);
            product = a;
            twi_big_multiply64(&product, factor);
            twi_big_add(&product, &extra);
            assert_u64(twi_big_divide64(&product, factor), rest % factor);
            check_equal(&product, &a);
        }
        power = twi_big_from64(1); /* a shift is a product with a power of two */
        for (size_t k = 0; k < shift; k++)
            twi_big_multiply64(&power, 2);
        product = twi_big_multiply(&a, &power);
        other = a;
        twi_big_shift(&other, shift);
        check_equal(&other, &product);
    }
}
END_TEST

START_TEST(big_in_digits)
{
    /* 2^200 and 30!, from tables. */
    static const char *const power =
        "1606938044258990275541962092341162602522202993782792835301376";
    static const char *const factorial = "265252859812191058636308480000000";
    twi_big a = twi_big_from64(1), b = twi_big_from64(1);

    twi_big_shift(&a, 200);
    for (size_t i = strlen(power); i-- > 0;)
        assert_u64(twi_big_divide64(&a, 10), (uint64_t)(power[i] - '0'));
    assert_u64(a.used, 0);
    for (uint64_t i = 2; i <= 30; i++)
        twi_big_multiply64(&b, i);
    for (size_t i = strlen(factorial); i-- > 0;)
        assert_u64(twi_big_divide64(&b, 10), (uint64_t)(factorial[i] - '0'));
    assert_u64(b.used, 0);
}
END_TEST

static double ratio(uint64_t a, uint64_t b, int exponent)
{
    const twi_big above = twi_big_from64(a), below = twi_big_from64(b);
    return twi_big_ratio(&above, &below, exponent);
}

START_TEST(big_ratios_round_like_the_hardware)
{
    uint64_t random = 7;

    assert_same(ratio(0, 3, 0), 0.0);
    for (int i = 0; i < 50000; i++) {
        /* Up to 2^53 integers are doubles, and the division of doubles rounds once. */
        const uint64_t a = random_next(&random) >> (11 + random_below(&random, 53));
        const uint64_t b = (random_next(&random) >> (11 + random_below(&random, 53))) + 1;
        const int exponent = (int)random_below(&random, 200) - 100;
        const uint64_t wide = random_word(&random);

        assert_same(ratio(a, b, 0), (double)a / (double)b);
        assert_same(ratio(a, b, exponent), ldexp((double)a / (double)b, exponent));
        assert_same(ratio(wide, 1, 0), (double)wide);
    }
}
END_TEST

START_TEST(big_ratios_round_to_even)
{
    const uint64_t two53 = UINT64_C(1) << 53;
    twi_big a = twi_big_from64(two53 + 1), one = twi_big_from64(1), b = one;

    assert_same(ratio(two53 + 1, 1, 0), 0x1p53);
    assert_same(ratio(two53 + 3, 1, 0), 0x1p53 + 4);
    assert_same(ratio(2 * two53 - 1, 1, 0), 0x1p54); /* one binade up */
    assert_same(ratio(4 * two53 + 2, 4, 0), 0x1p53);
    /* The least remainder, 500 bits below, decides a tie. */
    twi_big_shift(&a, 500);
    twi_big_shift(&b, 500);
    assert_same(twi_big_ratio(&a, &b, 0), 0x1p53);
    twi_big_add(&a, &one);
    assert_same(twi_big_ratio(&a, &b, 0), 0x1p53 + 2);
    twi_big_subtract(&a, &one);
    twi_big_subtract(&a, &one);
    assert_same(twi_big_ratio(&a, &b, 0), 0x1p53);
    /* Large and small. */
    assert_same(twi_big_ratio(&b, &one, 0), ldexp(1, 500));
    assert_same(twi_big_ratio(&one, &b, 0), ldexp(1, -500));
}
END_TEST

START_TEST(big_values_in_units)
{
    const twi_scale ms = {1, 1000000, 0}, per_sec = {1000000000, 1, 88};
    const twi_scale three_halves = {3, 1, 1};
    twi_big a = twi_big_from64(1500000), one = twi_big_from64(1), two = twi_big_from64(2),
            sixteen = twi_big_from64(16);

    assert_same(twi_big_scaled(&a, &one, ms), 1.5);
    assert_same(twi_big_scaled(&a, &two, ms), 0.75);
    a = one;
    twi_big_shift(&a, 88);
    assert_same(twi_big_scaled(&a, &one, per_sec), 1e9);
    assert_same(twi_big_scaled(&sixteen, &one, three_halves), 24.0);
    assert_same(twi_big_scaled_root(&sixteen, &one, three_halves), 6.0);
    assert_same(twi_big_scaled_root(&two, &one, (twi_scale){1, 1, 0}), sqrt(2));
    a = twi_big_from64(0);
    assert_same(twi_big_scaled_root(&a, &one, ms), 0.0);
}
END_TEST

/* ---- Doubles as text --------------------------------------------------------------- */

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The significant digits of a number in text; returns how many. */
static size_t digits_of(const char *text, char *digits)
{
    size_t count = 0;

    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (count || *text != '0'))
            digits[count++] = *text;
    while (count && digits[count - 1] == '0')
        count--;
    digits[count] = 0;
    return count;
}

/* True for a number as JSON writes it. */
static int is_json(const char *text)
{
    if (*text == '-')
        text++;
    if (*text == '0')
        text++;
    else if (*text >= '1' && *text <= '9')
        text += strspn(text, "0123456789");
    else
        return 0;
    if (*text == '.') {
        const size_t places = strspn(text + 1, "0123456789");
        if (!places)
            return 0;
        text += 1 + places;
    }
    if (*text == 'e') {
        text++;
        text += *text == '-' || *text == '+';
        if (!strspn(text, "0123456789"))
            return 0;
        text += strspn(text, "0123456789");
    }
    return !*text;
}

static void check_shortest(double value)
{
    char text[TWI_DECIMAL_SIZE], digits[TWI_DECIMAL_SIZE], reference[64];
    char reference_digits[64];
    const size_t length = twi_decimal_shortest(text, value);
    int exponent, precision = 0;
    size_t count;

    vocabulary_context("%a", value);
    assert_u64(length, strlen(text));
    assert_that(is_json(text));
    assert_same(strtod(text, NULL), value);
    /* No rounding to fewer digits reads back to the value. */
    do
        snprintf(reference, sizeof reference, "%.*e", precision, value);
    while (strtod(reference, NULL) != value && ++precision < 17);
    count = digits_of(text, digits);
    digits_of(reference, reference_digits);
    if (fabs(frexp(value, &exponent)) == 0.5) {
        /* At powers of two the gap below is half the gap above: there may be a shorter
         * number than any that the value rounds to. */
        assert_that(count <= strlen(reference_digits));
    } else {
        assert_text(digits, reference_digits); /* ties to even too, as printf does */
    }
}

START_TEST(shortest_known)
{
    static const struct {
        double value;
        const char *text;
    } known[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1, "-1"},
        {10, "10"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {-12.5, "-12.5"},
        {1e-7, "1e-07"},
        {0.0001, "0.0001"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {1477.97, "1477.97"},
        {123456789, "123456789"},
        {0x1p53, "9007199254740992"},
        {1125899906842624.25, "1125899906842624.2"}, /* as near as .3, and even */
        {1125899906842624.75, "1125899906842624.8"},
        {1.5e300, "1.5e+300"},
        {1e100, "1e+100"},
        {1e23, "1e+23"},
        {9.5e-12, "9.5e-12"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {-DBL_MAX, "-1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {0x1p-1074, "5e-324"},
        {0x1p-1022 - 0x1p-1074, "2.225073858507201e-308"},
        {HUGE_VAL, "inf"},
        {-HUGE_VAL, "-inf"},
    };
    char text[TWI_DECIMAL_SIZE];

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_u64(twi_decimal_shortest(text, known[i].value), strlen(known[i].text));
        assert_text(text, known[i].text);
    }
    twi_decimal_shortest(text, (double)NAN);
    assert_that(strstr(text, "nan") != NULL);
}
END_TEST

START_TEST(shortest_special)
{
    for (int i = -1074; i < 1024; i++) {
        const double power = ldexp(1, i);

        check_shortest(power);
        check_shortest(-power);
        check_shortest(nextafter(power, 0) > 0 ? nextafter(power, 0) : power);
        check_shortest(nextafter(power, HUGE_VAL));
    }
    for (int i = -323; i <= 308; i++) {
        char text[16];
        double power;

        snprintf(text, sizeof text, "1e%d", i);
        power = strtod(text, NULL);
        check_shortest(power);
        check_shortest(nextafter(power, HUGE_VAL));
        check_shortest(nextafter(power, 0) > 0 ? nextafter(power, 0) : power);
    }
    for (int i = 1; i < 2000; i++) {
        check_shortest(i);
        check_shortest(i / 100.0);
        check_shortest(i * 1e-6);
    }
}
END_TEST

START_TEST(shortest_random)
{
    const uint64_t count = vocabulary_count("TIMEWEIGHT_TEST_NUMBERS", 200000);
    uint64_t random = 8;

    for (uint64_t i = 0; i < count; i++) {
        const double value = double_of(random_next(&random));
        if (isfinite(value) && value != 0)
            check_shortest(value);
    }
}
END_TEST

/* "%.2f" with thousands separators. */
static void reference_grouped(char *out, double value)
{
    char plain[TWI_DECIMAL_SIZE];
    const char *from = plain;
    size_t whole;

    snprintf(plain, sizeof plain, "%.2f", value);
    if (*from == '-')
        *out++ = *from++;
    for (whole = strspn(from, "0123456789"); whole; whole--) {
        *out++ = *from++;
        if (whole > 1 && (whole - 1) % 3 == 0)
            *out++ = ',';
    }
    strcpy(out, from);
}

static void check_grouped(double value)
{
    char text[TWI_DECIMAL_SIZE], wanted[2 * TWI_DECIMAL_SIZE];

    vocabulary_context("%a", value);
    reference_grouped(wanted, value);
    assert_u64(twi_decimal_grouped(text, value), strlen(wanted));
    assert_text(text, wanted);
}

START_TEST(grouped_known)
{
    static const struct {
        double value;
        const char *text;
    } known[] = {
        {0, "0.00"},
        {0.004, "0.00"},
        {0.006, "0.01"},
        {0.125, "0.12"}, /* ties to even */
        {0.375, "0.38"},
        {999.999, "1,000.00"},
        {999.99, "999.99"},
        {1477.97, "1,477.97"},
        {1234567.891, "1,234,567.89"},
        {-1234.5, "-1,234.50"},
        {1e15, "1,000,000,000,000,000.00"},
        {HUGE_VAL, "inf"},
        {-HUGE_VAL, "-inf"},
    };
    char text[TWI_DECIMAL_SIZE];

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_u64(twi_decimal_grouped(text, known[i].value), strlen(known[i].text));
        assert_text(text, known[i].text);
    }
    twi_decimal_grouped(text, (double)NAN);
    assert_that(strstr(text, "nan") != NULL);
}
END_TEST

START_TEST(grouped_like_printf)
{
    const uint64_t count = vocabulary_count("TIMEWEIGHT_TEST_NUMBERS", 200000) / 2;
    uint64_t random = 9;

    check_grouped(DBL_MAX);
    check_grouped(-DBL_MAX);
    check_grouped(DBL_MIN);
    check_grouped(0x1p-1074);
    check_grouped(-0.0);
    check_grouped(-0.001);
    for (int i = -60; i < 1024; i++) {
        check_grouped(ldexp(1, i));
        check_grouped(nextafter(ldexp(1, i), 0));
        check_grouped(ldexp(5, i)); /* exact ties among them */
    }
    for (int i = 0; i < 5000; i++) {
        check_grouped(i / 1000.0);
        check_grouped(i / 8.0);
        check_grouped(i + 0.005);
        check_grouped(nextafter(i + 0.005, 0));
    }
    for (uint64_t i = 0; i < count; i++) {
        const double fraction = (double)random_next(&random) * 0x1p-64;
        check_grouped(ldexp(fraction, (int)random_below(&random, 80) - 20));
    }
}
END_TEST

START_TEST(integers_as_text)
{
    static const struct {
        uint64_t value;
        const char *plain, *grouped;
    } known[] = {
        {0, "0", "0"},
        {7, "7", "7"},
        {999, "999", "999"},
        {1000, "1000", "1,000"},
        {123456, "123456", "123,456"},
        {1000000, "1000000", "1,000,000"},
        {UINT64_MAX, "18446744073709551615", "18,446,744,073,709,551,615"},
    };
    char text[TWI_DECIMAL_SIZE];

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_u64(twi_decimal_unsigned(text, known[i].value, 0), strlen(known[i].plain));
        assert_text(text, known[i].plain);
        assert_u64(twi_decimal_unsigned(text, known[i].value, 1),
                   strlen(known[i].grouped));
        assert_text(text, known[i].grouped);
    }
    assert_u64(twi_decimal_signed(text, INT64_MIN), 20);
    assert_text(text, "-9223372036854775808");
    twi_decimal_signed(text, INT64_MAX);
    assert_text(text, "9223372036854775807");
    twi_decimal_signed(text, 0);
    assert_text(text, "0");
    twi_decimal_signed(text, -1000);
    assert_text(text, "-1000");
}
END_TEST

/* ---- Memory ------------------------------------------------------------------------ */

START_TEST(memory_through_the_allocator)
{
    memory m;
    unsigned char *block;

    memory_init(&m);
    block = twi_mem_alloc(&m.allocator, 3, 7);
    assert_that(block != NULL);
    assert_u64(atomic_load(&m.live_bytes), 21);
    assert_that((uintptr_t)block % _Alignof(max_align_t) == 0);
    twi_mem_free(&m.allocator, block, 3, 7);
    block = twi_mem_zalloc(&m.allocator, 5, 4);
    for (int i = 0; i < 20; i++)
        assert_u64(block[i], 0);
    twi_mem_free(&m.allocator, block, 5, 4);
    twi_mem_free(&m.allocator, NULL, 5, 4);
    /* none is one */
    block = twi_mem_zalloc(&m.allocator, 0, 8);
    assert_that(block != NULL);
    assert_u64(atomic_load(&m.live_bytes), 8);
    for (int i = 0; i < 8; i++)
        assert_u64(block[i], 0);
    twi_mem_free(&m.allocator, block, 0, 8);
    memory_done(&m);
}
END_TEST

START_TEST(memory_that_cannot_be)
{
    memory m;

    memory_init(&m);
    assert_that(!twi_mem_alloc(&m.allocator, UINT64_MAX, 8));
    assert_that(!twi_mem_alloc(&m.allocator, SIZE_MAX / 8 + 2, 8)); /* 8, if it wraps */
    assert_that(!twi_mem_zalloc(&m.allocator, UINT64_MAX / 2 + 1, 2));
    assert_u64(atomic_load(&m.calls), 0);
    memory_fail_nth(&m, 1);
    assert_that(!twi_mem_zalloc(&m.allocator, 1, 1));
    memory_done(&m);
}
END_TEST

START_TEST(memory_by_default)
{
    const tw_allocator allocator = twi_mem_default();
    unsigned char *block;

    assert_u64(allocator.struct_size, sizeof allocator);
    assert_u64(allocator.flags, 0);
    block = twi_mem_zalloc(&allocator, 1000, 3);
    assert_that(block && block[2999] == 0);
    twi_mem_free(&allocator, block, 1000, 3);
}
END_TEST

/* ---- Structs that grow ------------------------------------------------------------- */

/* A struct of the library's: the first version had 16 bytes, this one has 24. */
typedef struct grown {
    uint32_t struct_size;
    uint32_t a;
    uint64_t b;
    uint64_t c;
} grown;

enum { FIRST_SIZE = 16, LARGEST = 4096 };

static unsigned char caller[LARGEST + 8];

/* The caller's struct: its size, and bytes that are not 0 up to `filled`. */
static void make_caller(uint32_t size, size_t filled)
{
    memset(caller, 0, sizeof caller);
    memset(caller, 0x11, filled);
    memcpy(caller, &size, sizeof size);
}

START_TEST(structs_read)
{
    static const struct {
        uint32_t size;
        size_t filled;
        int32_t status;
    } cases[] = {
        {0, 4, TW_ERR_ABI},
        {4, 4, TW_ERR_ABI},
        {FIRST_SIZE - 1, 15, TW_ERR_ABI},
        {FIRST_SIZE, 16, TW_OK},
        {FIRST_SIZE + 4, 20, TW_OK},
        {sizeof(grown), 24, TW_OK},
        {25, 24, TW_OK},
        {25, 25, TW_ERR_ABI},
        {64, 24, TW_OK},
        {64, 64, TW_ERR_ABI},
        {LARGEST, 24, TW_OK},
        {LARGEST, LARGEST, TW_ERR_ABI},
        {LARGEST + 1, 24, TW_ERR_ABI},
        {UINT32_MAX, 24, TW_ERR_ABI},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        grown known;
        unsigned char bytes[sizeof known];

        vocabulary_context("case %zu", i);
        memset(&known, 0x77, sizeof known);
        make_caller(cases[i].size, cases[i].filled);
        assert_status(twi_abi_read(&known, sizeof known, FIRST_SIZE, caller),
                      cases[i].status);
        memcpy(bytes, &known, sizeof known);
        for (size_t k = 4; k < sizeof known; k++)
            assert_u64(bytes[k], cases[i].status ? 0x77 : k < cases[i].size ? 0x11 : 0);
    }
    /* The last byte that is not known counts too. */
    make_caller(64, 24);
    caller[63] = 1;
    {
        grown known;
        assert_status(twi_abi_read(&known, sizeof known, FIRST_SIZE, caller), TW_ERR_ABI);
    }
}
END_TEST

START_TEST(structs_written)
{
    static const struct {
        uint32_t size;
        int32_t status;
    } cases[] = {
        {0, TW_ERR_ABI},  {FIRST_SIZE - 1, TW_ERR_ABI}, {FIRST_SIZE, TW_OK},
        {20, TW_OK},      {sizeof(grown), TW_OK},       {40, TW_OK},
        {LARGEST, TW_OK}, {LARGEST + 1, TW_ERR_ABI},
    };
    grown known;

    memset(&known, 0x33, sizeof known);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t size;

        vocabulary_context("case %zu", i);
        make_caller(cases[i].size, sizeof caller);
        assert_status(twi_abi_write(caller, &known, sizeof known, FIRST_SIZE),
                      cases[i].status);
        memcpy(&size, caller, sizeof size);
        assert_u64(size, cases[i].size);
        for (size_t k = 4; k < sizeof caller; k++) {
            const unsigned untouched = 0x11, written = 0x33;
            assert_u64(caller[k], cases[i].status || k >= cases[i].size ? untouched
                                  : k < sizeof known                    ? written
                                                                        : 0);
        }
    }
}
END_TEST

START_TEST(sizes_checked)
{
    assert_status(twi_abi_check_size(87, 88), TW_ERR_ABI);
    assert_status(twi_abi_check_size(88, 88), TW_OK);
    assert_status(twi_abi_check_size(LARGEST, 88), TW_OK);
    assert_status(twi_abi_check_size(LARGEST + 1, 88), TW_ERR_ABI);
    assert_status(twi_abi_check_size(SIZE_MAX, 88), TW_ERR_ABI);
}
END_TEST

/* ---- Statuses ---------------------------------------------------------------------- */

START_TEST(statuses)
{
    static const struct {
        int32_t status, value;
        const char *name;
    } known[] = {
        {TW_OK, 0, "TW_OK"},
        {TW_ERR_NOMEM, -1, "TW_ERR_NOMEM"},
        {TW_ERR_INVAL, -2, "TW_ERR_INVAL"},
        {TW_ERR_RANGE, -3, "TW_ERR_RANGE"},
        {TW_ERR_NODATA, -4, "TW_ERR_NODATA"},
        {TW_ERR_NOTSUP, -5, "TW_ERR_NOTSUP"},
        {TW_ERR_IO, -6, "TW_ERR_IO"},
        {TW_ERR_ABI, -7, "TW_ERR_ABI"},
    };
    static const int32_t unknown[] = {1, -8, -10, INT32_MIN, INT32_MAX};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_i64(known[i].status, known[i].value);
        assert_text(tw_status_name(known[i].status), known[i].name);
        assert_that(strcmp(tw_strerror(known[i].status), "unknown status") != 0);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_that(!tw_status_name(unknown[i]));
        assert_text(tw_strerror(unknown[i]), "unknown status");
    }
}
END_TEST

START_TEST(rules)
{
    static const char *const names[] = {"start_missing",           "time_range",
                                        "generation_before_start", "end_before_start",
                                        "end_before_generation",   "end_missing",
                                        "status_unknown",          "tokens_range",
                                        "chunk_arrival_missing",   "chunk_count_range",
                                        "chunk_before_generation", "chunk_order",
                                        "chunk_after_end",         "chunk_tokens_range",
                                        "number_inexact",          "chunk_tokens_count"};
    enum { RULES = sizeof names / sizeof names[0] };

    for (int32_t i = 1; i <= RULES; i++) {
        assert_text(tw_rule_name(i), names[i - 1]);
        assert_that(tw_rule_text(i) && strncmp(tw_rule_text(i), "must ", 5) == 0);
    }
    assert_i64(RULES, TW_RULE_CHUNK_TOKENS_COUNT);
    for (int32_t i = RULES + 1; i <= TW_RULE_LIMIT; i++)
        assert_that(!tw_rule_name(i) && !tw_rule_text(i));
    assert_that(!tw_rule_name(TW_RULE_NONE) && !tw_rule_text(TW_RULE_NONE));
    assert_that(!tw_rule_name(-1) && !tw_rule_text(INT32_MIN));
    assert_that(!tw_rule_name(INT32_MAX));
}
END_TEST

START_TEST(fields)
{
    static const char *const names[] = {
        "credit_issued_ns", "start_ns",     "generation_start_ns",
        "end_ns",           "input_tokens", "output_tokens",
        "chunk_arrival_ns", "chunk_tokens", "chunk_count",
        "status",           "flags"};
    enum { FIELDS = sizeof names / sizeof names[0] };

    for (int32_t i = 1; i <= FIELDS; i++)
        assert_text(tw_field_name(i), names[i - 1]);
    assert_i64(FIELDS, TW_FIELD_FLAGS);
    assert_that(!tw_field_name(TW_FIELD_NONE) && !tw_field_name(FIELDS + 1));
    assert_that(!tw_field_name(-1) && !tw_field_name(INT32_MIN));
}
END_TEST

START_TEST(version)
{
    char text[32];

    assert_u64(tw_version(), TW_VERSION);
    assert_text(tw_version_string(), TW_VERSION_STRING);
    snprintf(text, sizeof text, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, tw_version() >> 16,
             tw_version() >> 8 & 0xff, tw_version() & 0xff);
    assert_text(tw_version_string(), text);
}
END_TEST

/* ---- Doubles ----------------------------------------------------------------------- */

/* A positive double of any bits: mantissa * 2^exponent, up to 2^around or down to 2^-around. */
static double random_double(uint64_t *random, int around, uint64_t *mantissa,
                            int *exponent)
{
    *mantissa = UINT64_C(1) << 52 | random_next(random) >> 12;
    if (random_below(random, 4) == 0) /* few bits, so that results are exact or ties */
        *mantissa &= ~UINT64_C(0) << random_below(random, 52);
    if (random_below(random, 8) == 0)
        *mantissa = (UINT64_C(1) << 53) - 1 - random_below(random, 2);
    *exponent = (int)random_between(random, -around - 52, around - 53);
    return ldexp((double)*mantissa, *exponent);
}

/* (a / b) * 2^exponent, rounded once. */
static double nearest(twi_u192 a, uint64_t b, int exponent)
{
    const twi_big above = twi_big_from(a.w, 3), below = twi_big_from64(b);
    return twi_big_ratio(&above, &below, exponent);
}

START_TEST(products_and_ratios_are_rounded_once)
{
    const uint64_t count = vocabulary_count("TIMEWEIGHT_TEST_NUMBERS", 200000);
    uint64_t random = 41;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t m, n;
        int e, f;
        const double a = random_double(&random, 400, &m, &e);
        const double b = random_double(&random, 400, &n, &f);
        const double product = nearest(twi_product(m, n), 1, e + f);
        const double ratio = nearest(twi_from64(m), n, e - f);

        vocabulary_context("%a, %a", a, b);
        assert_same(twi_f64_product(a, b), product);
        assert_same(twi_f64_soft_product(a, b), product);
        assert_same(twi_f64_ratio(a, b), ratio);
        assert_same(twi_f64_soft_ratio(a, b), ratio);
    }
    assert_same(twi_f64_soft_product(0, 7), 0.0);
    assert_same(twi_f64_soft_product(7, 0), 0.0);
    assert_same(twi_f64_soft_ratio(0, 7), 0.0);
    /* 1.5 and 4.5 ulps above 1.5: ties, to even */
    assert_same(twi_f64_soft_product(0x1.0000000000001p0, 0x1.8p0), 0x1.8000000000002p0);
    assert_same(twi_f64_soft_product(0x1.0000000000003p0, 0x1.8p0), 0x1.8000000000004p0);
    assert_same(twi_f64_soft_ratio(1, 3), 0x1.5555555555555p-2);
    assert_same(twi_f64_soft_ratio(2, 3), 0x1.5555555555555p-1);
}
END_TEST

/* Whole numbers up to 192 bits: any, short ones, and those beside a tie. */
static twi_u192 random_whole(uint64_t *random)
{
    const unsigned shift = (unsigned)random_below(random, 138);
    twi_u192 whole = random_u192(random, 192);

    if (random_below(random, 2))
        return whole;
    whole = twi_from64(UINT64_C(1) << 53 | random_next(random) >> 11);
    whole = twi_shl(whole, shift);
    whole = twi_add(whole, twi_from64(random_below(random, 3)));
    return twi_sub(whole, twi_from64(1));
}

START_TEST(doubles_of_whole_numbers)
{
    const uint64_t count = vocabulary_count("TIMEWEIGHT_TEST_NUMBERS", 100000);
    const twi_u192 most = {{UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    uint64_t random = 42;

    assert_same(twi_f64_from_u192(twi_from64(0)), 0.0);
    assert_same(twi_f64_from_u192(most), 0x1p192);
    assert_same(twi_f64_from_u192(twi_from64(UINT64_MAX)), 0x1p64);
    assert_u192(twi_f64_to_u192(0), twi_from64(0));
    assert_u192(twi_f64_to_u192(0x1.fffffffffffffp191),
                ((twi_u192){{0, 0, UINT64_C(0xfffffffffffff800)}}));
    for (uint64_t i = 0; i < count; i++) {
        const twi_u192 whole = random_whole(&random);
        const double value = nearest(whole, 1, 0);
        const unsigned drop = (unsigned)random_below(&random, 70);

        assert_same(twi_f64_from_u192(whole), value);
        if (value < 0x1p192) {
            const twi_u192 back = twi_f64_to_u192(value);
            assert_u192(back, exact_whole(value));
            assert_same(nearest(back, 1, 0), value);
            /* below the point: rounded down */
            assert_u192(twi_f64_to_u192(ldexp(value, -(int)drop)), twi_shr(back, drop));
        }
    }
}
END_TEST

START_TEST(doubles_joined_of_two)
{
    const uint64_t count = vocabulary_count("TIMEWEIGHT_TEST_NUMBERS", 100000);
    uint64_t random = 43;

    for (uint64_t i = 0; i < count; i++) {
        const unsigned shift = (unsigned)random_below(&random, 53);
        const uint64_t high = random_next(&random) >> (12 + random_below(&random, 52));
        const uint64_t most = (UINT64_C(1) << shift) - 1;
        uint64_t low = random_next(&random) & most;

        if (random_below(&random, 4) == 0)
            low = random_below(&random, 2) ? most : (most + 1) / 2;
        low = low > most ? most : low;
        assert_same(
            twi_f64_join(high, low, shift),
            nearest(twi_add(twi_shl(twi_from64(high), shift), twi_from64(low)), 1, 0));
    }
}
END_TEST

START_TEST(doubles_rounded_down)
{
    uint64_t random = 44, mantissa;
    int exponent;

    for (int i = 0; i < 100000; i++) {
        const double value = random_double(&random, i % 2 ? 70 : 900, &mantissa,
                                           &exponent);
        assert_same(twi_f64_floor(value), floor(value));
        assert_same(twi_f64_floor(floor(value)), floor(value));
        assert_same(twi_f64_from_bits(twi_f64_bits(value)), value);
    }
    assert_same(twi_f64_floor(0), 0.0);
    assert_same(twi_f64_floor(0x1.fffffffffffffp51), 0x1.ffffffffffffep51);
    for (int e = -1022; e <= 1023; e++)
        assert_same(twi_f64_power(e), ldexp(1, e));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *wide = vocabulary_case(suite, "wide"), *big = vocabulary_case(suite, "big"),
          *f64 = vocabulary_case(suite, "f64"),
          *decimal = vocabulary_case(suite, "decimal"),
          *mem = vocabulary_case(suite, "mem"), *abi = vocabulary_case(suite, "abi"),
          *status = vocabulary_case(suite, "status");

    tcase_add_test(wide, wide_products);
    tcase_add_test(wide, wide_division_of_words);
    tcase_add_test(wide, wide_carries);
    tcase_add_test(wide, wide_sums);
    tcase_add_test(wide, wide_comparisons);
    tcase_add_test(wide, wide_lengths);
    tcase_add_test(wide, wide_shifts);
    tcase_add_test(wide, wide_quotients);
    tcase_add_test(big, big_limbs);
    tcase_add_test(big, big_carries);
    tcase_add_test(big, big_identities);
    tcase_add_test(big, big_in_digits);
    tcase_add_test(big, big_ratios_round_like_the_hardware);
    tcase_add_test(big, big_ratios_round_to_even);
    tcase_add_test(big, big_values_in_units);
    tcase_add_test(f64, products_and_ratios_are_rounded_once);
    tcase_add_test(f64, doubles_of_whole_numbers);
    tcase_add_test(f64, doubles_joined_of_two);
    tcase_add_test(f64, doubles_rounded_down);
    tcase_add_test(decimal, shortest_known);
    tcase_add_test(decimal, shortest_special);
    tcase_add_test(decimal, shortest_random);
    tcase_add_test(decimal, grouped_known);
    tcase_add_test(decimal, grouped_like_printf);
    tcase_add_test(decimal, integers_as_text);
    tcase_add_test(mem, memory_through_the_allocator);
    tcase_add_test(mem, memory_that_cannot_be);
    tcase_add_test(mem, memory_by_default);
    tcase_add_test(abi, structs_read);
    tcase_add_test(abi, structs_written);
    tcase_add_test(abi, sizes_checked);
    tcase_add_test(status, statuses);
    tcase_add_test(status, rules);
    tcase_add_test(status, fields);
    tcase_add_test(status, version);
    return vocabulary_main(suite);
}
