/* SPDX-License-Identifier: MIT */
/* The kernel for AVX2 (with FMA and BMI2). Compiled for these; only twi_kernel_avx2 leaves
 * this file. */

#include <immintrin.h>

#include "kernel/kernel.h"

/* All ones in the lanes of the next 4 values, of which there may be fewer. */
static inline __m256i lanes_of(size_t left)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)left),
                              _mm256_set_epi64x(3, 2, 1, 0));
}

/* The next 4 values; 0 where there are fewer. */
static inline __m256i load_whole(const uint64_t *from, size_t left)
{
    return left >= 4 ? _mm256_loadu_si256((const __m256i *)from)
                     : _mm256_maskload_epi64((const long long *)from, lanes_of(left));
}

static inline __m256d load_real(const double *from, size_t left)
{
    return left >= 4 ? _mm256_loadu_pd(from) : _mm256_maskload_pd(from, lanes_of(left));
}

/* (a0 .. a3), (b0 .. b3), ... to (a0, b0, c0, d0), (a1, ...), ... */
static inline void transpose(__m256d r[4])
{
    const __m256d even01 = _mm256_unpacklo_pd(r[0], r[1]);
    const __m256d odd01 = _mm256_unpackhi_pd(r[0], r[1]);
    const __m256d even23 = _mm256_unpacklo_pd(r[2], r[3]);
    const __m256d odd23 = _mm256_unpackhi_pd(r[2], r[3]);

    r[0] = _mm256_permute2f128_pd(even01, even23, 0x20);
    r[1] = _mm256_permute2f128_pd(odd01, odd23, 0x20);
    r[2] = _mm256_permute2f128_pd(even01, even23, 0x31);
    r[3] = _mm256_permute2f128_pd(odd01, odd23, 0x31);
}

/* ---- Sorting --------------------------------------------------------------------- */

/* Keys are compared as doubles, which have instructions for the lesser and the greater:
 * positive, finite, and not denormal, they are in the order of their bits. */
#define KEY_BITS 62
#define KEY_BASE (INT64_C(1) << TWI_F64_FRACTION_BITS)
#define KEY_NONE (INT64_C(0x7fe) << TWI_F64_FRACTION_BITS) /* behind all keys */

static inline __m256d load_keys(const uint64_t *keys, size_t left, __m256i *bits)
{
    const __m256i there = lanes_of(left);
    const __m256i key = _mm256_maskload_epi64((const long long *)keys, there);
    const __m256i base = _mm256_add_epi64(
        _mm256_set1_epi64x(KEY_NONE),
        _mm256_and_si256(there, _mm256_set1_epi64x(KEY_BASE - KEY_NONE)));

    *bits = _mm256_or_si256(*bits, key);
    return _mm256_castsi256_pd(_mm256_add_epi64(key, base));
}

static inline void order(__m256d *lesser, __m256d *greater)
{
    const __m256d low = _mm256_min_pd(*lesser, *greater);
    *greater = _mm256_max_pd(*lesser, *greater);
    *lesser = low;
}

static inline __m256d reversed(__m256d v)
{
    return _mm256_permute4x64_pd(v, 0x1b);
}

/* Orders a register whose lanes rise and then fall, or the other way round. */
static inline __m256d merge_lanes(__m256d v)
{
    __m256d other = _mm256_permute2f128_pd(v, v, 0x01);
    v = _mm256_blend_pd(_mm256_min_pd(v, other), _mm256_max_pd(v, other), 0xc);
    other = _mm256_permute_pd(v, 0x5);
    return _mm256_blend_pd(_mm256_min_pd(v, other), _mm256_max_pd(v, other), 0xa);
}

/* Loops over registers: only when they are unrolled can v[] be in registers. */
#define UNROLLED _Pragma("GCC unroll 16")
#define INLINED static inline __attribute__((always_inline))

/* Orders pairs of registers `step` apart: the last half of a merge. */
INLINED void merge_steps(__m256d *v, const size_t count, const size_t step)
{
    UNROLLED
    for (size_t i = 0; i < count; i++)
        if (!(i & step) && step)
            order(&v[i], &v[i + step]);
}

/* Merges neighbouring runs of registers: each is compared with its counterpart in the other
 * run, reversed, and so on ("bitonic sort"). `rows`: runs go through the lanes, too, else
 * there are four, side by side. */
INLINED void merge_runs(__m256d *v, const size_t count, const size_t run, const bool rows)
{
    UNROLLED
    for (size_t i = 0; i < count; i++) {
        const size_t other = i ^ (2 * run - 1);
        if (i & run)
            continue;
        if (rows)
            v[other] = reversed(v[other]);
        order(&v[i], &v[other]);
    }
    merge_steps(v, count, run / 2);
    merge_steps(v, count, run / 4);
    merge_steps(v, count, run / 8);
    UNROLLED
    for (size_t i = 0; i < count; i++)
        if (rows)
            v[i] = merge_lanes(v[i]);
}

/* Orders up to 4 * count keys, the first 4 * full of them without masks; count is 4, 8 or
 * 16: each of the four columns first, then the columns are laid down as rows and merged.
 * False if a key is too large. */
INLINED bool sort_registers(uint64_t *keys, size_t length, const size_t full,
                            const size_t count)
{
    const __m256i base = _mm256_set1_epi64x(KEY_BASE);
    __m256i bits = _mm256_setzero_si256();
    __m256d v[16], rows[16];

    UNROLLED
    for (size_t i = 0; i < count; i++) {
        if (i < full) {
            const __m256i key = _mm256_loadu_si256((const __m256i *)(keys + 4 * i));
            bits = _mm256_or_si256(bits, key);
            v[i] = _mm256_castsi256_pd(_mm256_add_epi64(key, base));
        } else {
            v[i] = load_keys(keys + 4 * i, 4 * i < length ? length - 4 * i : 0, &bits);
        }
    }
    if (!_mm256_testz_si256(bits, _mm256_set1_epi64x(-(INT64_C(1) << KEY_BITS))))
        return false;
    merge_runs(v, count, 1, false);
    merge_runs(v, count, 2, false);
    if (count > 4)
        merge_runs(v, count, 4, false);
    if (count > 8)
        merge_runs(v, count, 8, false);
    UNROLLED
    for (size_t i = 0; i < count; i += 4) {
        transpose(v + i);
        for (size_t column = 0; column < 4; column++)
            rows[column * count / 4 + i / 4] = v[i + column];
    }
    merge_runs(rows, count, count / 4, true);
    merge_runs(rows, count, count / 2, true);
    UNROLLED
    for (size_t i = 0; i < count; i++) {
        const __m256i key = _mm256_sub_epi64(_mm256_castpd_si256(rows[i]), base);
        if (i < full)
            _mm256_storeu_si256((__m256i *)(keys + 4 * i), key);
        else
            _mm256_maskstore_epi64((long long *)(keys + 4 * i),
                                   lanes_of(4 * i < length ? length - 4 * i : 0), key);
    }
    return true;
}

static void sort(uint64_t *keys, size_t count)
{
    const bool done = count <= 16   ? sort_registers(keys, count, 0, 4)
                      : count <= 32 ? sort_registers(keys, count, 4, 8)
                                    : sort_registers(keys, count, 8, 16);
    if (!done)
        twi_kernel_portable.sort(keys, count);
}

/* ---- Events ---------------------------------------------------------------------- */

typedef struct lanes {
    __m256i low, high; /* lanes 0 to 3, and 4 to 7 */
} lanes;

static inline __m256i load4(const uint64_t *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

static inline lanes load_lanes(const uint64_t *from)
{
    return (lanes){load4(from), load4(from + 4)};
}

static inline void store_lanes(uint64_t *to, lanes l)
{
    _mm256_storeu_si256((__m256i *)to, l.low);
    _mm256_storeu_si256((__m256i *)(to + 4), l.high);
}

/* All lanes at once; twi_apply_entry() says what happens. */
static inline lanes apply_entry(const twi_entry *entry, unsigned kind, lanes state)
{
    const twi_effect *effect = &twi_effects[kind];
    const lanes take = load_lanes(effect->take), negate = load_lanes(effect->negate);
    const lanes add = load_lanes(effect->add);
    __m256i low = load4(entry->w);
    /* Of the upper lanes, an entry has a word for TOKENS alone. */
    __m256i high = _mm256_zextsi128_si256(
        _mm_loadl_epi64((const __m128i *)&entry->w[effect->tokens]));

    low = _mm256_and_si256(low, take.low);
    high = _mm256_and_si256(high, take.high);
    low = _mm256_sub_epi64(_mm256_xor_si256(low, negate.low), negate.low);
    high = _mm256_sub_epi64(_mm256_xor_si256(high, negate.high), negate.high);
    state.low = _mm256_add_epi64(state.low, _mm256_add_epi64(low, add.low));
    state.high = _mm256_add_epi64(state.high, _mm256_add_epi64(high, add.high));
    return state;
}

#include "kernel/events.h"

/* ---- Values ---------------------------------------------------------------------- */

/* number * 2^exponent for a number below 2^52: its bits are the fraction of a double with a
 * 1 before them, which is subtracted again. */
static inline __m256d from_whole(__m256i number, int exponent)
{
    const __m256d one = _mm256_set1_pd(twi_f64_power(TWI_F64_FRACTION_BITS + exponent));
    return _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(number), one), one);
}

/* A sum in two lanes: high * 2^44 with the carry, and the rest of low. */
typedef struct parts {
    __m256d high, low;
} parts;

static inline parts carried(__m256d high_lane, __m256d low_lane)
{
    const __m256i low = _mm256_castpd_si256(low_lane);
    const __m256i high = _mm256_add_epi64(_mm256_castpd_si256(high_lane),
                                          _mm256_srli_epi64(low, TWI_LOW_BITS));
    return (parts){
        from_whole(high, TWI_LOW_BITS),
        from_whole(_mm256_and_si256(low, _mm256_set1_epi64x((long long)TWI_LOW_MASK)),
                   0)};
}

static inline __m256d per_user(__m256d rate, __m256i users)
{
    const __m256d number = from_whole(users, 0);
    const __m256d one = _mm256_set1_pd(1);
    const __m256d share = _mm256_div_pd(rate, _mm256_max_pd(number, one));
    return _mm256_and_pd(_mm256_floor_pd(share), _mm256_cmp_pd(number, one, _CMP_GE_OQ));
}

/* The lower and the upper halves of lanes. */
static inline void store_counts(__m256d counts, uint32_t *low, uint32_t *high)
{
    const __m256i apart = _mm256_permutevar8x32_epi32(
        _mm256_castpd_si256(counts), _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0));

    _mm_storeu_si128((__m128i *)low, _mm256_castsi256_si128(apart));
    _mm_storeu_si128((__m128i *)high, _mm256_extracti128_si256(apart, 1));
}

static void values(const twi_batch *batch, twi_values *out)
{
    static const uint64_t none[TWI_LANES];
    const __m256i low_half = _mm256_set1_epi64x(0xffffffff);

    for (size_t i = 0; i < batch->count; i += 4) { /* there is room for a multiple of 4 */
        __m256d r[8];
        __m256i users;
        parts prefill, decode, tokens;
        __m256d prefill_rate, decode_rate;

        for (size_t j = 0; j < 4; j++) {
            const uint64_t *state = i + j < batch->count ? batch->state[i + j] : none;
            r[j] = _mm256_castsi256_pd(load4(state));
            r[4 + j] = _mm256_castsi256_pd(load4(state + 4));
        }
        transpose(r);
        transpose(r + 4);
        store_counts(r[TWI_LANE_ACTIVE_QUEUED], &out->count[TWI_COUNT_ACTIVE][i],
                     &out->count[TWI_COUNT_QUEUED][i]);
        store_counts(r[TWI_LANE_DECODE_PREFILL], &out->count[TWI_COUNT_DECODE][i],
                     &out->count[TWI_COUNT_PREFILL][i]);
        users = _mm256_castpd_si256(r[TWI_LANE_DECODE_PREFILL]);
        prefill = carried(r[TWI_LANE_PREFILL_HIGH], r[TWI_LANE_PREFILL_LOW]);
        decode = carried(r[TWI_LANE_DECODE_HIGH], r[TWI_LANE_DECODE_LOW]);
        tokens = carried(r[TWI_LANE_TOKENS], r[TWI_LANE_TOKENS_PART]);
        prefill_rate = _mm256_add_pd(prefill.high, prefill.low);
        decode_rate = _mm256_add_pd(decode.high, decode.low);

        _mm256_storeu_pd(&out->real[TWI_REAL_PREFILL_RATE][i], prefill_rate);
        _mm256_storeu_pd(&out->real[TWI_REAL_DECODE_RATE][i], decode_rate);
        /* The sums of the parts are exact: the highs' has 53 bits, the lows' 45. */
        _mm256_storeu_pd(&out->real[TWI_REAL_TOTAL_RATE][i],
                         _mm256_add_pd(_mm256_add_pd(prefill.high, decode.high),
                                       _mm256_add_pd(prefill.low, decode.low)));
        _mm256_storeu_pd(&out->real[TWI_REAL_DECODE_RATE_PER_USER][i],
                         per_user(decode_rate, _mm256_and_si256(users, low_half)));
        _mm256_storeu_pd(&out->real[TWI_REAL_PREFILL_RATE_PER_USER][i],
                         per_user(prefill_rate, _mm256_srli_epi64(users, 32)));
        _mm256_storeu_pd(&out->real[TWI_REAL_TOKENS][i],
                         _mm256_add_pd(tokens.high, tokens.low));
    }
}

/* ---- Distribution ---------------------------------------------------------------- */

static inline uint64_t sum_of_lanes(__m256i v)
{
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(v),
                                       _mm256_extracti128_si256(v, 1));
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_add_epi64(half, _mm_unpackhi_epi64(half, half)));
}

/* limbs += number * 2^shift; `sign`: the word above the number, 0 or all ones. */
static inline void add_shifted(uint64_t *limbs, unsigned limb_count, uint64_t number,
                               uint64_t sign, unsigned shift)
{
    const unsigned first = shift / 64, bit = shift % 64;
    uint64_t here = number, below = 0;
    unsigned carry = 0;

    for (unsigned at = first; at < limb_count; at++) {
        limbs[at] = twi_add_carry(limbs[at],
                                  bit ? here << bit | below >> (64 - bit) : here, &carry);
        below = here;
        here = sign;
    }
}

/* twi_bin_number() in the lower halves of lanes. */
static inline __m256i bin_numbers(__m256d value, __m128i shift)
{
    const __m256d base = _mm256_set1_pd(0.5); /* these bits are TWI_BIN_BASE */
    return _mm256_srl_epi64(
        _mm256_sub_epi64(_mm256_castpd_si256(_mm256_max_pd(value, base)),
                         _mm256_castpd_si256(base)),
        shift);
}

static inline __m128i bin_shift(unsigned bin_bits)
{
    return _mm_cvtsi32_si128((int)(TWI_F64_FRACTION_BITS - bin_bits));
}

static inline __m128i low_halves(__m256i v)
{
    return _mm256_castsi256_si128(
        _mm256_permutevar8x32_epi32(v, _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0)));
}

static inline int exponent_of(double value)
{
    return (int)(twi_f64_bits(value) >> TWI_F64_FRACTION_BITS) - TWI_F64_BIAS;
}

/* A double to which another one is added to round it to a multiple of 2^exponent; then the
 * bits of the sum count the multiples. */
static inline double grid_of(int exponent)
{
    return 1.5 * twi_f64_power(exponent + TWI_F64_FRACTION_BITS);
}

/* Adds what `terms` terms, each with the grid of the exponent, have come to. */
static void add_grid_sum(twi_sum *sum, uint64_t bits, uint64_t terms, int exponent)
{
    const uint64_t multiples = bits - terms * twi_f64_bits(grid_of(exponent));

    add_shifted(sum->w, TWI_SUM_LIMBS, multiples, multiples >> 63 ? UINT64_MAX : 0,
                TWI_SUM_SHIFT + (unsigned)exponent);
}

/* The sum of value * weight as whole multiples of 2^upper and of 2^lower. Products are below
 * 2^(upper + 51), and no bit of a value is below 2^lower. A product is a double and the rest
 * that its rounding left, which is exact (FMA). */
static void add_products(const double *value, const uint64_t *weight, size_t count,
                         int upper, int lower, twi_sum *sum)
{
    const __m256d upper_grid = _mm256_set1_pd(grid_of(upper));
    const __m256d lower_grid = _mm256_set1_pd(grid_of(lower));
    __m256i uppers = _mm256_setzero_si256(), lowers = uppers;
    uint64_t terms = 0;

    for (size_t i = 0; i < count; i += 4, terms += 4) {
        const __m256d v = load_real(value + i, count - i);
        const __m256d w = from_whole(load_whole(weight + i, count - i), 0);
        const __m256d product = _mm256_mul_pd(v, w);
        const __m256d rest = _mm256_fmsub_pd(v, w, product);
        const __m256d on_grid = _mm256_add_pd(product, upper_grid);
        const __m256d left = _mm256_sub_pd(product, _mm256_sub_pd(on_grid, upper_grid));

        uppers = _mm256_add_epi64(uppers, _mm256_castpd_si256(on_grid));
        lowers = _mm256_add_epi64(lowers,
                                  _mm256_castpd_si256(_mm256_add_pd(left, lower_grid)));
        lowers = _mm256_add_epi64(lowers,
                                  _mm256_castpd_si256(_mm256_add_pd(rest, lower_grid)));
    }
    /* Sums of lanes may wrap, but not what is left without the grids; it may be negative. */
    add_grid_sum(sum, sum_of_lanes(uppers), terms, upper);
    add_grid_sum(sum, sum_of_lanes(lowers), 2 * terms, lower);
}

static void tally(const double *value, const uint64_t *weight, size_t count,
                  uint32_t *number, twi_tally *tally)
{
    const __m128i shift = bin_shift(tally->bin_bits);
    const __m256d zero = _mm256_setzero_pd(), infinity = _mm256_set1_pd(HUGE_VAL);
    __m256d least = infinity, most = zero;
    __m256i weights = _mm256_setzero_si256();
    double extreme[2][4], batch_least = HUGE_VAL, batch_most = 0;
    uint64_t weight_bits[4], all_weights = 0;
    int top, upper, lower;

    for (size_t i = 0; i < count; i += 4) {
        const __m256d v = load_real(value + i, count - i);
        const __m128i numbers = low_halves(bin_numbers(v, shift));

        least = _mm256_min_pd(
            least,
            _mm256_or_pd(v, _mm256_and_pd(_mm256_cmp_pd(v, zero, _CMP_EQ_OQ), infinity)));
        most = _mm256_max_pd(most, v);
        weights = _mm256_or_si256(weights, load_whole(weight + i, count - i));
        if (count - i >= 4)
            _mm_storeu_si128((__m128i *)(number + i), numbers);
        else
            _mm_maskstore_epi32((int *)(number + i), low_halves(lanes_of(count - i)),
                                numbers);
    }
    _mm256_storeu_pd(extreme[0], least);
    _mm256_storeu_pd(extreme[1], most);
    _mm256_storeu_si256((__m256i *)weight_bits, weights);
    for (int i = 0; i < 4; i++) {
        batch_least = extreme[0][i] < batch_least ? extreme[0][i] : batch_least;
        batch_most = extreme[1][i] > batch_most ? extreme[1][i] : batch_most;
        all_weights |= weight_bits[i];
    }
    if (batch_most == 0)
        return;
    top = exponent_of(batch_most) + 1 + (int)twi_bits64(all_weights);
    lower = exponent_of(batch_least) - TWI_F64_FRACTION_BITS;
    lower = lower > 0 ? lower : 0;
    upper = top - 51 > lower ? top - 51 : lower;
    if (upper > lower + 52 || all_weights >> 52) {
        twi_kernel_portable.tally(value, weight, count, number, tally);
        return;
    }
    tally->least = batch_least < tally->least ? batch_least : tally->least;
    tally->most = batch_most > tally->most ? batch_most : tally->most;
    add_products(value, weight, count, upper, lower, &tally->sum);
}

#define DIGIT_BITS 24

/* In digits of 24 bits, two of a value and four of its square: a digit times a weight below
 * 2^32 leaves room for the sum of a batch. */
static void moments(const double *value, const uint64_t *weight, size_t count,
                    twi_moment_sums *moments)
{
    const __m256d factor = _mm256_set1_pd(moments->factor);
    const __m256d magic = _mm256_set1_pd(0x1p52);
    const __m256i digit = _mm256_set1_epi64x((1 << DIGIT_BITS) - 1);
    const __m256i zero = _mm256_setzero_si256();
    __m256i sum0 = zero, sum1 = zero;
    __m256i square0 = zero, square1 = zero, square2 = zero, square3 = zero;
    __m256i weights = zero;

    for (size_t i = 0; i < count; i += 4) {
        const __m256d v = load_real(value + i, count - i);
        const __m256i w = load_whole(weight + i, count - i);
        const __m256i x = _mm256_castpd_si256(
            _mm256_add_pd(_mm256_floor_pd(_mm256_mul_pd(v, factor)), magic));
        const __m256i low = _mm256_and_si256(x, digit);
        const __m256i high = _mm256_and_si256(_mm256_srli_epi64(x, DIGIT_BITS), digit);
        const __m256i square_low = _mm256_mul_epu32(low, low);
        const __m256i square_middle = _mm256_add_epi64(
            _mm256_mul_epu32(_mm256_add_epi64(low, low), high),
            _mm256_srli_epi64(square_low, DIGIT_BITS));
        const __m256i square_high = _mm256_add_epi64(
            _mm256_mul_epu32(high, high), _mm256_srli_epi64(square_middle, DIGIT_BITS));

#define ADD(sum, part) sum = _mm256_add_epi64(sum, _mm256_mul_epu32(part, w))
        weights = _mm256_or_si256(weights, w);
        ADD(sum0, low);
        ADD(sum1, high);
        ADD(square0, _mm256_and_si256(square_low, digit));
        ADD(square1, _mm256_and_si256(square_middle, digit));
        ADD(square2, _mm256_and_si256(square_high, digit));
        ADD(square3, _mm256_srli_epi64(square_high, DIGIT_BITS));
#undef ADD
    }
    if (!_mm256_testz_si256(weights, _mm256_set1_epi64x(-(INT64_C(1) << 32)))) {
        twi_kernel_portable.moments(value, weight, count, moments);
        return;
    }
    add_shifted(moments->sum, 2, sum_of_lanes(sum0), 0, 0);
    add_shifted(moments->sum, 2, sum_of_lanes(sum1), 0, DIGIT_BITS);
    add_shifted(moments->square, 3, sum_of_lanes(square0), 0, 0);
    add_shifted(moments->square, 3, sum_of_lanes(square1), 0, DIGIT_BITS);
    add_shifted(moments->square, 3, sum_of_lanes(square2), 0, 2 * DIGIT_BITS);
    add_shifted(moments->square, 3, sum_of_lanes(square3), 0, 3 * DIGIT_BITS);
}

static size_t find(const double *value, size_t count, const twi_filter *filter,
                   uint16_t *index)
{
    const __m128i shift = bin_shift(filter->bin_bits);
    size_t found = 0;

    for (size_t i = 0; i < count; i += 4) {
        const size_t here = count - i < 4 ? count - i : 4;
        uint32_t number[4];

        _mm_storeu_si128((__m128i *)number,
                         low_halves(bin_numbers(load_real(value + i, count - i), shift)));
        for (size_t j = 0; j < here; j++) {
            index[found] = (uint16_t)(i + j);
            found += number[j] && twi_filter_passes(filter, number[j]);
        }
    }
    return found;
}

const twi_kernel twi_kernel_avx2 = {
    .name = "avx2",
    .sort = sort,
    .place = place,
    .advance = advance,
    .values = values,
    .tally = tally,
    .moments = moments,
    .find = find,
};
