/* SPDX-License-Identifier: MIT */
#include "stat/dist.h"

#include <assert.h>
#include <string.h>
#include <timeweight/status.h>

#include "base/mem.h"
#include "stat/sum.h"

void twi_dist_init(twi_dist *dist, const tw_allocator *allocator, unsigned bin_bits)
{
    assert(bin_bits >= TWI_BIN_LEAST_BITS && bin_bits <= TWI_BIN_MOST_BITS);
    memset(dist, 0, sizeof *dist);
    dist->allocator = *allocator;
    dist->bin_bits = dist->tally.bin_bits = bin_bits;
    dist->tally.least = HUGE_VAL;
    dist->page[0] = &dist->zero_weight;
}

static uint64_t slots_of(const twi_dist *dist)
{
    return UINT64_C(1) << dist->bin_bits;
}

void twi_dist_release(twi_dist *dist)
{
    for (unsigned i = 1; i < TWI_BIN_PAGES; i++)
        twi_mem_free(&dist->allocator, dist->page[i], slots_of(dist), sizeof(uint64_t));
    twi_mem_free(&dist->allocator, dist->level, dist->level_count, sizeof(uint64_t));
}

/* ---- Feeding --------------------------------------------------------------------- */

static uint64_t *make_page(twi_dist *dist, uint32_t page)
{
    dist->page[page] = twi_mem_zalloc(&dist->allocator, slots_of(dist), sizeof(uint64_t));
    return dist->page[page];
}

int32_t twi_dist_feed(twi_dist *dist, const twi_kernel *kernel, const double *value,
                      const uint64_t *weight, size_t count)
{
    const unsigned bin_bits = dist->bin_bits;
    const uint32_t slot_mask = (1u << bin_bits) - 1;
    uint32_t number[TWI_BATCH_SIZE];
    uint64_t total = 0;

    kernel->tally(value, weight, count, number, &dist->tally);
    for (size_t i = 0; i < count; i++) {
        const uint32_t page = number[i] >> bin_bits;
        uint64_t *slots = dist->page[page];

        if (!slots && !(slots = make_page(dist, page)))
            return TW_ERR_NOMEM;
        slots[number[i] & slot_mask] += weight[i];
        total += weight[i];
    }
    dist->weight += total;
    return TW_OK;
}

static int32_t make_levels(twi_dist *dist, uint64_t needed)
{
    uint64_t room = dist->level_count ? dist->level_count : 64, *level;

    while (room < needed)
        room *= 2;
    level = twi_mem_zalloc(&dist->allocator, room, sizeof *level);
    if (!level)
        return TW_ERR_NOMEM;
    if (dist->level)
        memcpy(level, dist->level, (size_t)dist->level_count * sizeof *level);
    twi_mem_free(&dist->allocator, dist->level, dist->level_count, sizeof *level);
    dist->level = level;
    dist->level_count = room;
    return TW_OK;
}

int32_t twi_dist_feed_levels(twi_dist *dist, const uint32_t *value,
                             const uint64_t *weight, size_t count)
{
    uint32_t most = 0;
    uint64_t *level;

    for (size_t i = 0; i < count; i++)
        most = value[i] > most ? value[i] : most;
    if (most >= dist->level_count && make_levels(dist, (uint64_t)most + 1))
        return TW_ERR_NOMEM;
    level = dist->level;
    for (size_t i = 0; i < count; i++)
        level[value[i]] += weight[i];
    return TW_OK;
}

int32_t twi_dist_merge(twi_dist *dist, const twi_dist *from)
{
    for (uint32_t i = 1; i < TWI_BIN_PAGES; i++) {
        if (!from->page[i])
            continue;
        if (!dist->page[i] && !make_page(dist, i))
            return TW_ERR_NOMEM;
        for (uint64_t slot = 0; slot < slots_of(dist); slot++)
            dist->page[i][slot] += from->page[i][slot];
    }
    if (from->level_count > dist->level_count && make_levels(dist, from->level_count))
        return TW_ERR_NOMEM;
    for (uint64_t i = 0; i < from->level_count; i++)
        dist->level[i] += from->level[i];
    if (from->tally.least < dist->tally.least)
        dist->tally.least = from->tally.least;
    if (from->tally.most > dist->tally.most)
        dist->tally.most = from->tally.most;
    twi_sum_merge(&dist->tally.sum, &from->tally.sum);
    dist->zero_weight += from->zero_weight;
    dist->weight += from->weight;
    return TW_OK;
}

/* ---- Moments --------------------------------------------------------------------- */

void twi_dist_settle(twi_dist *dist)
{
    if (dist->level) {
        dist->weight = 0;
        dist->zero_weight = dist->level[0];
        dist->moments.factor = 1;
        for (uint64_t i = 0; i < dist->level_count; i++) {
            const uint64_t square = i * i;

            if (!dist->level[i])
                continue;
            dist->weight += dist->level[i];
            if (i == 0)
                continue;
            if (dist->tally.least > (double)i)
                dist->tally.least = (double)i;
            dist->tally.most = (double)i;
            twi_sum_add(&dist->tally.sum, (double)i, dist->level[i]);
            twi_add_product(dist->moments.sum, 2, &i, 1, dist->level[i]);
            twi_add_product(dist->moments.square, 3, &square, 1, dist->level[i]);
        }
    } else if (dist->tally.most > 0) {
        const int exponent =
            (int)(twi_f64_bits(dist->tally.most) >> TWI_F64_FRACTION_BITS) - TWI_F64_BIAS;
        dist->moments.factor = twi_f64_power(TWI_MOMENT_BITS - 1 - exponent);
    }
}

void twi_moments_merge(twi_moment_sums *moments, const twi_moment_sums *from)
{
    unsigned carry = 0;

    for (int i = 0; i < 2; i++)
        moments->sum[i] = twi_add_carry(moments->sum[i], from->sum[i], &carry);
    carry = 0;
    for (int i = 0; i < 3; i++)
        moments->square[i] = twi_add_carry(moments->square[i], from->square[i], &carry);
}

twi_summary twi_dist_summary(const twi_dist *dist, uint64_t idle, twi_scale scale)
{
    const uint64_t weight = dist->weight - idle;
    const twi_big total = twi_big_from64(weight);
    const twi_big sum = twi_big_from(dist->moments.sum, 2);
    twi_big spread = twi_big_from(dist->moments.square, 3), square, total_squared;
    twi_scale whole = scale;
    twi_summary out;

    assert(weight && dist->zero_weight >= idle);
    out.min = dist->zero_weight > idle ? 0 : twi_sum_value(dist->tally.least, scale);
    out.max = twi_sum_value(dist->tally.most, scale);
    out.sum = twi_sum_ratio(&dist->tally.sum, 1, scale);
    out.avg = twi_sum_ratio(&dist->tally.sum, weight, scale);
    /* The extremes are rounded before they are put in their unit, the mean only after. */
    out.avg = out.avg < out.min ? out.min : out.avg > out.max ? out.max : out.avg;

    /* The variance is square / weight - (sum / weight)^2, as one exact fraction. */
    twi_big_multiply64(&spread, weight);
    square = twi_big_multiply(&sum, &sum);
    twi_big_subtract(&spread, &square);
    total_squared = twi_big_multiply(&total, &total);
    if (dist->moments.factor != 0)
        whole.shift += (int)(twi_f64_bits(dist->moments.factor) >>
                             TWI_F64_FRACTION_BITS) -
                       TWI_F64_BIAS;
    out.std = twi_big_scaled_root(&spread, &total_squared, whole);
    return out;
}

/* ---- Walking --------------------------------------------------------------------- */

twi_walk twi_walk_begin(const twi_dist *dist)
{
    return (twi_walk){dist, 0, dist->zero_weight, {0, 0, 0}};
}

/* Goes on to the next place with weight. */
static void step(twi_walk *walk)
{
    const twi_dist *dist = walk->dist;
    uint64_t place = walk->place, found = 0, weight = 0;

    if (dist->level) {
        while (!weight && ++place < dist->level_count)
            weight = dist->level[place];
        walk->bin.low = twi_f64_bits((double)(int64_t)place);
    } else {
        const uint64_t slot_mask = slots_of(dist) - 1;

        place++;
        for (uint64_t page = place >> dist->bin_bits; !weight && page < TWI_BIN_PAGES;
             page++) {
            const uint64_t *slots = page ? dist->page[page] : NULL;
            uint64_t slot = page == place >> dist->bin_bits ? place & slot_mask : 0;

            while (slots && slot < slot_mask && !slots[slot])
                slot++;
            weight = slots ? slots[slot] : 0;
            found = page << dist->bin_bits | slot;
        }
        place = found;
        walk->bin.bits = TWI_F64_FRACTION_BITS - dist->bin_bits;
        walk->bin.low = (place << walk->bin.bits) + TWI_BIN_BASE;
    }
    assert(weight); /* the places hold all of the weight */
    walk->place = place;
    walk->bin.before = walk->upto;
    walk->upto += weight ? weight : UINT64_MAX - walk->upto;
}

twi_bin twi_walk_find(twi_walk *walk, uint64_t rank)
{
    assert(rank >= 1 && rank <= walk->dist->weight);
    while (rank > walk->upto)
        step(walk);
    return walk->bin;
}
