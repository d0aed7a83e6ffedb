/* SPDX-License-Identifier: MIT */
/* The kernel for AVX-512 (F, DQ, VL and IFMA). Compiled for these; only twi_kernel_avx512
 * leaves this file. */

#include <immintrin.h>

#include "kernel/kernel.h"

/* The lanes of the next 8 values, of which there may be fewer. */
static inline __mmask8 lanes_of(size_t left)
{
    return (__mmask8)(left >= 8 ? 0xff : (1u << left) - 1);
}

/* ---- Sorting --------------------------------------------------------------------- */

/* Compares lanes with those of a permutation of theirs; lanes in `upper` get the greater. */
static inline __m512i exchange(__m512i v, __m512i permuted, __mmask8 upper)
{
    return _mm512_mask_blend_epi64(upper, _mm512_min_epu64(v, permuted),
                                   _mm512_max_epu64(v, permuted));
}

static inline __m512i reversed(__m512i v)
{
    return _mm512_permutexvar_epi64(_mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7), v);
}

/* Orders a register whose lanes rise and then fall, or the other way round. */
static inline __m512i merge_lanes(__m512i v)
{
    v = exchange(v, _mm512_shuffle_i64x2(v, v, 0x4e), 0xf0);
    v = exchange(v, _mm512_permutex_epi64(v, 0x4e), 0xcc);
    return exchange(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC), 0xaa);
}

static inline __m512i sort_lanes(__m512i v)
{
    v = exchange(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC), 0xaa);
    v = exchange(v, _mm512_permutex_epi64(v, 0x1b), 0xcc);
    v = exchange(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC), 0xaa);
    v = exchange(v, reversed(v), 0xf0);
    v = exchange(v, _mm512_permutex_epi64(v, 0x4e), 0xcc);
    return exchange(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC), 0xaa);
}

/* gcc does not unroll these loops by itself, and then v[] lies in memory; clang does. */
#if defined(__clang__)
#define UNROLLED
#else
#define UNROLLED _Pragma("GCC unroll 8")
#endif

/* Orders 8 * count keys, count a power of two, by merging ever longer runs ("bitonic
 * sort"). Inlined for each count, where the loops unroll and v[] stays in registers. */
static inline void sort_registers(uint64_t *keys, size_t length, const size_t count)
{
    __m512i v[8];

    UNROLLED
    for (size_t i = 0; i < count; i++) {
        const size_t at = 8 * i;
        const __mmask8 there = at < length ? lanes_of(length - at) : 0;
        v[i] = _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), there, keys + at);
        v[i] = sort_lanes(v[i]);
    }
    UNROLLED
    for (size_t run = 1; run < count; run *= 2) {
        UNROLLED
        for (size_t base = 0; base < count; base += 2 * run) {
            UNROLLED
            for (size_t i = 0; i < run; i++) { /* against the other run, reversed */
                const __m512i other = reversed(v[base + 2 * run - 1 - i]);
                const __m512i low = _mm512_min_epu64(v[base + i], other);
                v[base + 2 * run - 1 - i] = _mm512_max_epu64(v[base + i], other);
                v[base + i] = low;
            }
        }
        UNROLLED
        for (size_t step = run / 2; step > 0; step /= 2) {
            UNROLLED
            for (size_t i = 0; i < count; i++) {
                if (i & step)
                    continue;
                const __m512i low = _mm512_min_epu64(v[i], v[i + step]);
                v[i + step] = _mm512_max_epu64(v[i], v[i + step]);
                v[i] = low;
            }
        }
        UNROLLED
        for (size_t i = 0; i < count; i++)
            v[i] = merge_lanes(v[i]);
    }
    UNROLLED
    for (size_t i = 0; i < count; i++) {
        const size_t at = 8 * i;
        if (at < length)
            _mm512_mask_storeu_epi64(keys + at, lanes_of(length - at), v[i]);
    }
}

static void sort(uint64_t *keys, size_t count)
{
    if (count <= 8)
        sort_registers(keys, count, 1);
    else if (count <= 16)
        sort_registers(keys, count, 2);
    else if (count <= 32)
        sort_registers(keys, count, 4);
    else
        sort_registers(keys, count, 8);
}

/* ---- Events ---------------------------------------------------------------------- */

typedef __m512i lanes;

static inline lanes load_lanes(const uint64_t *from)
{
    return _mm512_loadu_si512(from);
}

static inline void store_lanes(uint64_t *to, lanes l)
{
    _mm512_storeu_si512(to, l);
}

/* All lanes at once; twi_apply_entry() says what happens. */
static inline lanes apply_entry(const twi_entry *entry, unsigned kind, lanes state)
{
    const twi_effect *effect = &twi_effects[kind];
    const __m512i negate = _mm512_loadu_si512(effect->negate);
    __m512i word = _mm512_loadu_si512(entry->w);

    word = _mm512_mask_set1_epi64(word, 1u << TWI_LANE_TOKENS,
                                  (long long)entry->w[effect->tokens]);
    word = _mm512_and_si512(word, _mm512_loadu_si512(effect->take));
    word = _mm512_sub_epi64(_mm512_xor_si512(word, negate), negate);
    word = _mm512_add_epi64(word, _mm512_loadu_si512(effect->add));
    return _mm512_add_epi64(state, word);
}

#include "kernel/events.h"

/* ---- Values ---------------------------------------------------------------------- */

/* Lane i of eight states becomes row i. */
static inline void transpose(__m512i r[8])
{
    __m512i a[8], b[8];

    for (int i = 0; i < 8; i += 2) {
        a[i] = _mm512_unpacklo_epi64(r[i], r[i + 1]);
        a[i + 1] = _mm512_unpackhi_epi64(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int j = 0; j < 2; j++) {
            b[i + j] = _mm512_shuffle_i64x2(a[i + j], a[i + j + 2], 0x88);
            b[i + j + 2] = _mm512_shuffle_i64x2(a[i + j], a[i + j + 2], 0xdd);
        }
    }
    for (int j = 0; j < 2; j++) {
        r[j] = _mm512_shuffle_i64x2(b[j], b[j + 4], 0x88);
        r[j + 4] = _mm512_shuffle_i64x2(b[j], b[j + 4], 0xdd);
        r[j + 2] = _mm512_shuffle_i64x2(b[j + 2], b[j + 6], 0x88);
        r[j + 6] = _mm512_shuffle_i64x2(b[j + 2], b[j + 6], 0xdd);
    }
}

/* twi_f64_join() after the carry; the product is exact, so that there is one rounding. */
static inline __m512d join(__m512i high, __m512i low)
{
    high = _mm512_add_epi64(high, _mm512_srli_epi64(low, TWI_LOW_BITS));
    low = _mm512_and_si512(low, _mm512_set1_epi64((long long)TWI_LOW_MASK));
    return _mm512_fmadd_pd(_mm512_cvtepi64_pd(high), _mm512_set1_pd(0x1p44),
                           _mm512_cvtepi64_pd(low));
}

static inline __m512d per_user(__m512d rate, __m512i users)
{
    const __mmask8 some = _mm512_test_epi64_mask(users, users);
    const __m512d share = _mm512_maskz_div_pd(some, rate, _mm512_cvtepi64_pd(users));
    return _mm512_roundscale_pd(share, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

static void values(const twi_batch *batch, twi_values *out)
{
    const __m512i low_half = _mm512_set1_epi64(0xffffffff);

    for (size_t i = 0; i < batch->count; i += 8) { /* there is room for a multiple of 8 */
        const __mmask8 there = lanes_of(batch->count - i);
        __m512i r[8], active, queued, decode, prefill;
        __m512d prefill_rate, decode_rate;

        for (size_t j = 0; j < 8; j++)
            r[j] = j < batch->count - i ? _mm512_loadu_si512(batch->state[i + j])
                                        : _mm512_setzero_si512();
        transpose(r);
        active = _mm512_and_si512(r[TWI_LANE_ACTIVE_QUEUED], low_half);
        queued = _mm512_srli_epi64(r[TWI_LANE_ACTIVE_QUEUED], 32);
        decode = _mm512_and_si512(r[TWI_LANE_DECODE_PREFILL], low_half);
        prefill = _mm512_srli_epi64(r[TWI_LANE_DECODE_PREFILL], 32);
        prefill_rate = join(r[TWI_LANE_PREFILL_HIGH], r[TWI_LANE_PREFILL_LOW]);
        decode_rate = join(r[TWI_LANE_DECODE_HIGH], r[TWI_LANE_DECODE_LOW]);

        _mm512_mask_cvtepi64_storeu_epi32(&out->count[TWI_COUNT_ACTIVE][i], there,
                                          active);
        _mm512_mask_cvtepi64_storeu_epi32(&out->count[TWI_COUNT_QUEUED][i], there,
                                          queued);
        _mm512_mask_cvtepi64_storeu_epi32(&out->count[TWI_COUNT_DECODE][i], there,
                                          decode);
        _mm512_mask_cvtepi64_storeu_epi32(&out->count[TWI_COUNT_PREFILL][i], there,
                                          prefill);
        _mm512_mask_storeu_pd(&out->real[TWI_REAL_PREFILL_RATE][i], there, prefill_rate);
        _mm512_mask_storeu_pd(&out->real[TWI_REAL_DECODE_RATE][i], there, decode_rate);
        _mm512_mask_storeu_pd(
            &out->real[TWI_REAL_TOTAL_RATE][i], there,
            join(_mm512_add_epi64(r[TWI_LANE_PREFILL_HIGH], r[TWI_LANE_DECODE_HIGH]),
                 _mm512_add_epi64(r[TWI_LANE_PREFILL_LOW], r[TWI_LANE_DECODE_LOW])));
        _mm512_mask_storeu_pd(&out->real[TWI_REAL_DECODE_RATE_PER_USER][i], there,
                              per_user(decode_rate, decode));
        _mm512_mask_storeu_pd(&out->real[TWI_REAL_PREFILL_RATE_PER_USER][i], there,
                              per_user(prefill_rate, prefill));
        _mm512_mask_storeu_pd(&out->real[TWI_REAL_TOKENS][i], there,
                              join(r[TWI_LANE_TOKENS], r[TWI_LANE_TOKENS_PART]));
    }
}

/* ---- Distribution ---------------------------------------------------------------- */

/* limbs += sum of the lanes * 2^shift. */
static inline void add_lanes(uint64_t *limbs, unsigned limb_count, __m512i parts,
                             unsigned shift)
{
    const uint64_t sum = (uint64_t)_mm512_reduce_add_epi64(parts);
    const unsigned bit = shift % 64;
    unsigned at = shift / 64, carry = 0;

    limbs[at] = twi_add_carry(limbs[at], sum << bit, &carry);
    for (at++; at < limb_count; at++)
        limbs[at] = twi_add_carry(
            limbs[at], at == shift / 64 + 1 && bit ? sum >> (64 - bit) : 0, &carry);
}

static inline __m512i bin_numbers(__m512d value, __m128i shift)
{
    const __m512i base = _mm512_set1_epi64((long long)TWI_BIN_BASE);
    const __m512i bits = _mm512_max_epu64(_mm512_castpd_si512(value), base);
    return _mm512_srl_epi64(_mm512_sub_epi64(bits, base), shift);
}

static inline __m128i bin_shift(unsigned bin_bits)
{
    return _mm_cvtsi32_si128((int)(TWI_F64_FRACTION_BITS - bin_bits));
}

static inline int exponent_of(double value)
{
    return (int)(twi_f64_bits(value) >> TWI_F64_FRACTION_BITS) - TWI_F64_BIAS;
}

/* The sum of value * weight, if the values' bits lie in a range of 96 above `bottom` and the
 * weights are below 2^52: value = (high * 2^44 + low) * 2^bottom, and 52-bit products of
 * high and low with the weight. */
static void add_products(const double *value, const uint64_t *weight, size_t count,
                         int bottom, twi_sum *sum)
{
    const __m512d unit = _mm512_set1_pd(twi_f64_power(-bottom));
    __m512i low0 = _mm512_setzero_si512(), low1 = low0, high0 = low0, high1 = low0;

    for (size_t i = 0; i < count; i += 8) {
        const __mmask8 there = lanes_of(count - i);
        const __m512d v = _mm512_mul_pd(_mm512_maskz_loadu_pd(there, value + i), unit);
        const __m512i w = _mm512_maskz_loadu_epi64(there, weight + i);
        const __m512i high = _mm512_cvttpd_epi64(
            _mm512_mul_pd(v, _mm512_set1_pd(0x1p-44)));
        const __m512i low = _mm512_cvttpd_epi64(
            _mm512_fnmadd_pd(_mm512_cvtepi64_pd(high), _mm512_set1_pd(0x1p44), v));

        low0 = _mm512_madd52lo_epu64(low0, low, w);
        low1 = _mm512_madd52hi_epu64(low1, low, w);
        high0 = _mm512_madd52lo_epu64(high0, high, w);
        high1 = _mm512_madd52hi_epu64(high1, high, w);
    }
    add_lanes(sum->w, TWI_SUM_LIMBS, low0, TWI_SUM_SHIFT + (unsigned)bottom);
    add_lanes(sum->w, TWI_SUM_LIMBS, low1, TWI_SUM_SHIFT + (unsigned)bottom + 52);
    add_lanes(sum->w, TWI_SUM_LIMBS, high0, TWI_SUM_SHIFT + (unsigned)bottom + 44);
    add_lanes(sum->w, TWI_SUM_LIMBS, high1, TWI_SUM_SHIFT + (unsigned)bottom + 96);
}

static void tally(const double *value, const uint64_t *weight, size_t count,
                  uint32_t *number, twi_tally *tally)
{
    const __m128i shift = bin_shift(tally->bin_bits);
    const __m512d zero = _mm512_setzero_pd();
    __m512d least = _mm512_set1_pd(HUGE_VAL), most = zero;
    __m512i weights = _mm512_setzero_si512();
    double batch_least, batch_most;
    int bottom;

    for (size_t i = 0; i < count; i += 8) {
        const __mmask8 there = lanes_of(count - i);
        const __m512d v = _mm512_maskz_loadu_pd(there, value + i);
        const __mmask8 positive = _mm512_cmp_pd_mask(v, zero, _CMP_GT_OQ);

        least = _mm512_mask_min_pd(least, positive, least, v);
        most = _mm512_max_pd(most, v);
        weights = _mm512_or_si512(weights, _mm512_maskz_loadu_epi64(there, weight + i));
        _mm512_mask_cvtepi64_storeu_epi32(number + i, there, bin_numbers(v, shift));
    }
    batch_most = _mm512_reduce_max_pd(most);
    if (batch_most == 0)
        return;
    batch_least = _mm512_reduce_min_pd(least);
    bottom = exponent_of(batch_least) - TWI_F64_FRACTION_BITS;
    bottom = bottom > 0 ? bottom : 0;
    if (exponent_of(batch_most) >= bottom + 96 ||
        (uint64_t)_mm512_reduce_or_epi64(weights) >> 52) {
        twi_kernel_portable.tally(value, weight, count, number, tally);
        return;
    }
    tally->least = batch_least < tally->least ? batch_least : tally->least;
    tally->most = batch_most > tally->most ? batch_most : tally->most;
    add_products(value, weight, count, bottom, &tally->sum);
}

static void moments(const double *value, const uint64_t *weight, size_t count,
                    twi_moment_sums *moments)
{
    const __m512d factor = _mm512_set1_pd(moments->factor);
    const __m512i zero = _mm512_setzero_si512();
    __m512i sum0 = zero, sum1 = zero, square0 = zero, square1 = zero, square2 = zero;
    __m512i weights = zero;

    for (size_t i = 0; i < count; i += 8) {
        const __mmask8 there = lanes_of(count - i);
        const __m512d v = _mm512_maskz_loadu_pd(there, value + i);
        const __m512i w = _mm512_maskz_loadu_epi64(there, weight + i);
        const __m512i x = _mm512_cvttpd_epi64(_mm512_mul_pd(v, factor));
        const __m512i low = _mm512_madd52lo_epu64(zero, x, x);
        const __m512i high = _mm512_madd52hi_epu64(zero, x, x);

        weights = _mm512_or_si512(weights, w);
        sum0 = _mm512_madd52lo_epu64(sum0, x, w);
        sum1 = _mm512_madd52hi_epu64(sum1, x, w);
        square0 = _mm512_madd52lo_epu64(square0, low, w);
        square1 = _mm512_madd52hi_epu64(square1, low, w);
        square1 = _mm512_madd52lo_epu64(square1, high, w);
        square2 = _mm512_madd52hi_epu64(square2, high, w);
    }
    if ((uint64_t)_mm512_reduce_or_epi64(weights) >> 52) {
        twi_kernel_portable.moments(value, weight, count, moments);
        return;
    }
    add_lanes(moments->sum, 2, sum0, 0);
    add_lanes(moments->sum, 2, sum1, 52);
    add_lanes(moments->square, 3, square0, 0);
    add_lanes(moments->square, 3, square1, 52);
    add_lanes(moments->square, 3, square2, 104);
}

static size_t find(const double *value, size_t count, const twi_filter *filter,
                   uint16_t *index)
{
    const __m128i shift = bin_shift(filter->bin_bits);
    const __m512i words = _mm512_set1_epi64(TWI_FILTER_BITS / 64 - 1);
    size_t found = 0;

    for (size_t i = 0; i < count; i += 8) {
        const __m512d v = _mm512_maskz_loadu_pd(lanes_of(count - i), value + i);
        const __mmask8 positive = _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_GT_OQ);
        const __m512i number = bin_numbers(v, shift);
        const __m512i word = _mm512_i64gather_epi64(
            _mm512_and_si512(_mm512_srli_epi64(number, 6), words), filter->w, 8);
        const __m512i bit = _mm512_sllv_epi64(
            _mm512_set1_epi64(1), _mm512_and_si512(number, _mm512_set1_epi64(63)));
        unsigned passed = _mm512_mask_test_epi64_mask(positive, word, bit);

        for (; passed; passed &= passed - 1)
            index[found++] = (uint16_t)(i + (unsigned)__builtin_ctz(passed));
    }
    return found;
}

const twi_kernel twi_kernel_avx512 = {
    .name = "avx512",
    .sort = sort,
    .place = place,
    .advance = advance,
    .values = values,
    .tally = tally,
    .moments = moments,
    .find = find,
};
