/* SPDX-License-Identifier: MIT */
/* The kernel for aarch64, whose every machine has NEON. Only twi_kernel_neon leaves this
 * file. */

#include <arm_neon.h>

#include "kernel/kernel.h"

#define INLINED static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 32")

/* The next 2 values; 0 where there is but one. */
static inline uint64x2_t load_whole(const uint64_t *from, size_t left)
{
    return left >= 2 ? vld1q_u64(from) : vcombine_u64(vld1_u64(from), vdup_n_u64(0));
}

static inline float64x2_t load_real(const double *from, size_t left)
{
    return left >= 2 ? vld1q_f64(from) : vcombine_f64(vld1_f64(from), vdup_n_f64(0));
}

/* ---- Sorting --------------------------------------------------------------------- */

/* Keys are compared as doubles, which have instructions for the lesser and the greater:
 * positive, finite, and not denormal, they are in the order of their bits. */
#define KEY_BITS 62
#define KEY_BASE (UINT64_C(1) << TWI_F64_FRACTION_BITS)
#define KEY_NONE (UINT64_C(0x7fe) << TWI_F64_FRACTION_BITS) /* behind all keys */

static inline void order(float64x2_t *lesser, float64x2_t *greater)
{
    const float64x2_t low = vminq_f64(*lesser, *greater);
    *greater = vmaxq_f64(*lesser, *greater);
    *lesser = low;
}

static inline float64x2_t reversed(float64x2_t v)
{
    return vextq_f64(v, v, 1);
}

static inline float64x2_t merge_lanes(float64x2_t v)
{
    const float64x2_t other = reversed(v);
    return vtrn1q_f64(vminq_f64(v, other), vmaxq_f64(v, other));
}

/* Orders pairs of registers `step` apart: the last half of a merge. */
INLINED void merge_steps(float64x2_t *v, const size_t count, const size_t step)
{
    UNROLLED
    for (size_t i = 0; i < count; i++)
        if (!(i & step) && step)
            order(&v[i], &v[i + step]);
}

/* Merges neighbouring runs of registers: each is compared with its counterpart in the other
 * run, reversed, and so on ("bitonic sort"). `rows`: runs go through the lanes, too, else
 * there are two, side by side. */
INLINED void merge_runs(float64x2_t *v, const size_t count, const size_t run,
                        const bool rows)
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
    merge_steps(v, count, run / 16);
    UNROLLED
    for (size_t i = 0; i < count; i++)
        if (rows)
            v[i] = merge_lanes(v[i]);
}

/* Orders up to 2 * count keys; count is a power of two up to 32: both columns first, then
 * they are laid down as rows and merged. False if a key is too large. */
INLINED bool sort_registers(uint64_t *keys, size_t length, const size_t count)
{
    uint64x2_t bits = vdupq_n_u64(0);
    float64x2_t v[32], rows[32];

    UNROLLED
    for (size_t i = 0; i < count; i++) {
        uint64x2_t key = vdupq_n_u64(KEY_NONE - KEY_BASE);
        if (2 * i + 1 < length)
            key = vld1q_u64(keys + 2 * i);
        else if (2 * i < length)
            key = vld1q_lane_u64(keys + 2 * i, key, 0);
        v[i] = vreinterpretq_f64_u64(vaddq_u64(key, vdupq_n_u64(KEY_BASE)));
        if (2 * i + 1 < length)
            bits = vorrq_u64(bits, key);
        else if (2 * i < length)
            bits = vorrq_u64(bits, vdupq_laneq_u64(key, 0));
    }
    if ((vgetq_lane_u64(bits, 0) | vgetq_lane_u64(bits, 1)) >> KEY_BITS)
        return false;
    merge_runs(v, count, 1, false);
    if (count > 2)
        merge_runs(v, count, 2, false);
    if (count > 4)
        merge_runs(v, count, 4, false);
    if (count > 8)
        merge_runs(v, count, 8, false);
    if (count > 16)
        merge_runs(v, count, 16, false);
    UNROLLED
    for (size_t i = 0; i < count / 2; i++) {
        rows[i] = vtrn1q_f64(v[2 * i], v[2 * i + 1]);
        rows[count / 2 + i] = vtrn2q_f64(v[2 * i], v[2 * i + 1]);
    }
    merge_runs(rows, count, count / 2, true);
    UNROLLED
    for (size_t i = 0; i < count; i++) {
        const uint64x2_t key = vsubq_u64(vreinterpretq_u64_f64(rows[i]),
                                         vdupq_n_u64(KEY_BASE));
        if (2 * i + 1 < length)
            vst1q_u64(keys + 2 * i, key);
        else if (2 * i < length)
            vst1q_lane_u64(keys + 2 * i, key, 0);
    }
    return true;
}

static void sort(uint64_t *keys, size_t count)
{
    const bool done = count <= 8    ? sort_registers(keys, count, 4)
                      : count <= 16 ? sort_registers(keys, count, 8)
                      : count <= 32 ? sort_registers(keys, count, 16)
                                    : sort_registers(keys, count, 32);
    if (!done)
        twi_kernel_portable.sort(keys, count);
}

/* ---- Events ---------------------------------------------------------------------- */

enum { PAIRS = TWI_LANES / 2, TOKENS_PAIR = TWI_LANE_TOKENS / 2 };

typedef struct lanes {
    uint64x2_t pair[PAIRS];
} lanes;

INLINED lanes load_lanes(const uint64_t *from)
{
    lanes l;

    UNROLLED
    for (int i = 0; i < PAIRS; i++)
        l.pair[i] = vld1q_u64(from + 2 * i);
    return l;
}

INLINED void store_lanes(uint64_t *to, lanes l)
{
    UNROLLED
    for (int i = 0; i < PAIRS; i++)
        vst1q_u64(to + 2 * i, l.pair[i]);
}

/* All lanes; twi_apply_entry() says what happens. */
INLINED lanes apply_entry(const twi_entry *entry, unsigned kind, lanes state)
{
    const twi_effect *effect = &twi_effects[kind];
    const lanes take = load_lanes(effect->take), negate = load_lanes(effect->negate);
    const lanes add = load_lanes(effect->add);
    lanes word = load_lanes(entry->w);

    word.pair[TOKENS_PAIR] = vld1q_lane_u64(&entry->w[effect->tokens],
                                            word.pair[TOKENS_PAIR], 0);
    UNROLLED
    for (int i = 0; i < PAIRS; i++) {
        const uint64x2_t taken = veorq_u64(vandq_u64(word.pair[i], take.pair[i]),
                                           negate.pair[i]);
        const uint64x2_t change = vaddq_u64(vsubq_u64(taken, negate.pair[i]),
                                            add.pair[i]);
        state.pair[i] = vaddq_u64(state.pair[i], change);
    }
    return state;
}

#include "kernel/events.h"

/* ---- Values ---------------------------------------------------------------------- */

/* twi_f64_join() after the carry; the product is exact, so that there is one rounding. */
static inline float64x2_t join(uint64x2_t high, uint64x2_t low)
{
    high = vsraq_n_u64(high, low, TWI_LOW_BITS);
    low = vandq_u64(low, vdupq_n_u64(TWI_LOW_MASK));
    return vfmaq_f64(vcvtq_f64_u64(low), vcvtq_f64_u64(high), vdupq_n_f64(0x1p44));
}

static inline float64x2_t per_user(float64x2_t rate, uint64x2_t users)
{
    const float64x2_t one = vdupq_n_f64(1), number = vcvtq_f64_u64(users);
    const float64x2_t share = vrndmq_f64(vdivq_f64(rate, vmaxq_f64(number, one)));

    return vreinterpretq_f64_u64(
        vandq_u64(vreinterpretq_u64_f64(share), vtstq_u64(users, users)));
}

static void values(const twi_batch *batch, twi_values *out)
{
    static const uint64_t none[TWI_LANES];

    for (size_t i = 0; i < batch->count; i += 2) { /* there is room for a multiple of 2 */
        const lanes first = load_lanes(batch->state[i]);
        const lanes second = load_lanes(i + 1 < batch->count ? batch->state[i + 1]
                                                             : none);
        uint64x2_t r[TWI_LANES];
        float64x2_t prefill_rate, decode_rate;

        UNROLLED
        for (int j = 0; j < PAIRS; j++) {
            r[2 * j] = vtrn1q_u64(first.pair[j], second.pair[j]);
            r[2 * j + 1] = vtrn2q_u64(first.pair[j], second.pair[j]);
        }
        vst1_u32(&out->count[TWI_COUNT_ACTIVE][i], vmovn_u64(r[TWI_LANE_ACTIVE_QUEUED]));
        vst1_u32(&out->count[TWI_COUNT_QUEUED][i],
                 vshrn_n_u64(r[TWI_LANE_ACTIVE_QUEUED], 32));
        vst1_u32(&out->count[TWI_COUNT_DECODE][i], vmovn_u64(r[TWI_LANE_DECODE_PREFILL]));
        vst1_u32(&out->count[TWI_COUNT_PREFILL][i],
                 vshrn_n_u64(r[TWI_LANE_DECODE_PREFILL], 32));
        prefill_rate = join(r[TWI_LANE_PREFILL_HIGH], r[TWI_LANE_PREFILL_LOW]);
        decode_rate = join(r[TWI_LANE_DECODE_HIGH], r[TWI_LANE_DECODE_LOW]);
        vst1q_f64(&out->real[TWI_REAL_PREFILL_RATE][i], prefill_rate);
        vst1q_f64(&out->real[TWI_REAL_DECODE_RATE][i], decode_rate);
        vst1q_f64(&out->real[TWI_REAL_TOTAL_RATE][i],
                  join(vaddq_u64(r[TWI_LANE_PREFILL_HIGH], r[TWI_LANE_DECODE_HIGH]),
                       vaddq_u64(r[TWI_LANE_PREFILL_LOW], r[TWI_LANE_DECODE_LOW])));
        vst1q_f64(&out->real[TWI_REAL_DECODE_RATE_PER_USER][i],
                  per_user(decode_rate, vandq_u64(r[TWI_LANE_DECODE_PREFILL],
                                                  vdupq_n_u64(0xffffffff))));
        vst1q_f64(&out->real[TWI_REAL_PREFILL_RATE_PER_USER][i],
                  per_user(prefill_rate, vshrq_n_u64(r[TWI_LANE_DECODE_PREFILL], 32)));
        vst1q_f64(&out->real[TWI_REAL_TOKENS][i],
                  join(r[TWI_LANE_TOKENS], r[TWI_LANE_TOKENS_PART]));
    }
}

/* ---- Distribution ---------------------------------------------------------------- */

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
    const float64x2_t upper_grid = vdupq_n_f64(grid_of(upper));
    const float64x2_t lower_grid = vdupq_n_f64(grid_of(lower));
    uint64x2_t uppers = vdupq_n_u64(0), lowers = uppers;
    uint64_t terms = 0;

#define ADD(sum, term) sum = vaddq_u64(sum, vreinterpretq_u64_f64(term))
    for (size_t i = 0; i < count; i += 2, terms += 2) {
        const float64x2_t v = load_real(value + i, count - i);
        const float64x2_t w = vcvtq_f64_u64(load_whole(weight + i, count - i));
        const float64x2_t product = vmulq_f64(v, w);
        const float64x2_t rest = vfmaq_f64(vnegq_f64(product), v, w);
        const float64x2_t on_grid = vaddq_f64(product, upper_grid);
        const float64x2_t left = vsubq_f64(product, vsubq_f64(on_grid, upper_grid));

        ADD(uppers, on_grid);
        ADD(lowers, vaddq_f64(left, lower_grid));
        ADD(lowers, vaddq_f64(rest, lower_grid));
    }
#undef ADD
    /* Sums of lanes may wrap, but not what is left without the grids; it may be negative. */
    add_grid_sum(sum, vaddvq_u64(uppers), terms, upper);
    add_grid_sum(sum, vaddvq_u64(lowers), 2 * terms, lower);
}

static void tally(const double *value, const uint64_t *weight, size_t count,
                  uint32_t *number, twi_tally *tally)
{
    const int64x2_t shift = vdupq_n_s64((int64_t)tally->bin_bits - TWI_F64_FRACTION_BITS);
    const float64x2_t base = vdupq_n_f64(0.5); /* its bits are TWI_BIN_BASE */
    const uint64x2_t infinity = vdupq_n_u64(twi_f64_bits(HUGE_VAL));
    float64x2_t least = vdupq_n_f64(HUGE_VAL), most = vdupq_n_f64(0);
    uint64x2_t weights = vdupq_n_u64(0);
    double batch_least, batch_most;
    uint64_t all_weights;
    int top, upper, lower;

    for (size_t i = 0; i < count; i += 2) {
        const float64x2_t v = load_real(value + i, count - i);
        const uint64x2_t above_base = vsubq_u64(vreinterpretq_u64_f64(vmaxq_f64(v, base)),
                                                vreinterpretq_u64_f64(base));
        const uint32x2_t numbers = vmovn_u64(vshlq_u64(above_base, shift));
        const uint64x2_t if_zero = vandq_u64(vceqzq_f64(v), infinity);

        least = vminq_f64(
            least, vreinterpretq_f64_u64(vorrq_u64(vreinterpretq_u64_f64(v), if_zero)));
        most = vmaxq_f64(most, v);
        weights = vorrq_u64(weights, load_whole(weight + i, count - i));
        if (count - i >= 2)
            vst1_u32(number + i, numbers);
        else
            vst1_lane_u32(number + i, numbers, 0);
    }
    batch_most = vmaxvq_f64(most);
    if (batch_most == 0)
        return;
    batch_least = vminvq_f64(least);
    all_weights = vgetq_lane_u64(weights, 0) | vgetq_lane_u64(weights, 1);
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
    const float64x2_t factor = vdupq_n_f64(moments->factor);
    const uint32x2_t digit = vdup_n_u32((1u << DIGIT_BITS) - 1);
    const uint64x2_t zero = vdupq_n_u64(0);
    uint64x2_t sum0 = zero, sum1 = zero, weights = zero;
    uint64x2_t square0 = zero, square1 = zero, square2 = zero, square3 = zero;

    for (size_t i = 0; i < count; i += 2) {
        const float64x2_t v = load_real(value + i, count - i);
        const uint64x2_t all_of_w = load_whole(weight + i, count - i);
        const uint32x2_t w = vmovn_u64(all_of_w);
        const uint64x2_t x = vcvtq_u64_f64(vmulq_f64(v, factor));
        const uint32x2_t low = vand_u32(vmovn_u64(x), digit);
        const uint32x2_t high = vshrn_n_u64(x, DIGIT_BITS);
        const uint64x2_t square_low = vmull_u32(low, low);
        const uint64x2_t square_middle = vsraq_n_u64(vmull_u32(vadd_u32(low, low), high),
                                                     square_low, DIGIT_BITS);
        const uint64x2_t square_high = vsraq_n_u64(vmull_u32(high, high), square_middle,
                                                   DIGIT_BITS);

        weights = vorrq_u64(weights, all_of_w);
        sum0 = vmlal_u32(sum0, low, w);
        sum1 = vmlal_u32(sum1, high, w);
        square0 = vmlal_u32(square0, vand_u32(vmovn_u64(square_low), digit), w);
        square1 = vmlal_u32(square1, vand_u32(vmovn_u64(square_middle), digit), w);
        square2 = vmlal_u32(square2, vand_u32(vmovn_u64(square_high), digit), w);
        square3 = vmlal_u32(square3, vshrn_n_u64(square_high, DIGIT_BITS), w);
    }
    if ((vgetq_lane_u64(weights, 0) | vgetq_lane_u64(weights, 1)) >> 32) {
        twi_kernel_portable.moments(value, weight, count, moments);
        return;
    }
    add_shifted(moments->sum, 2, vaddvq_u64(sum0), 0, 0);
    add_shifted(moments->sum, 2, vaddvq_u64(sum1), 0, DIGIT_BITS);
    add_shifted(moments->square, 3, vaddvq_u64(square0), 0, 0);
    add_shifted(moments->square, 3, vaddvq_u64(square1), 0, DIGIT_BITS);
    add_shifted(moments->square, 3, vaddvq_u64(square2), 0, 2 * DIGIT_BITS);
    add_shifted(moments->square, 3, vaddvq_u64(square3), 0, 3 * DIGIT_BITS);
}

/* Bits of the filter are looked up one by one. */
static size_t find(const double *value, size_t count, const twi_filter *filter,
                   uint16_t *index)
{
    return twi_kernel_portable.find(value, count, filter, index);
}

const twi_kernel twi_kernel_neon = {
    .name = "neon",
    .sort = sort,
    .place = place,
    .advance = advance,
    .values = values,
    .tally = tally,
    .moments = moments,
    .find = find,
};
