/* SPDX-License-Identifier: MIT */
#include "stat/dist.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <timeweight/status.h>

#include "base/mem.h"

void twi_dist_init(twi_dist *dist, const tw_allocator *allocator)
{
    memset(dist, 0, sizeof *dist);
    dist->allocator = *allocator;
}

void twi_dist_release(twi_dist *dist)
{
    for (unsigned i = 0; i < TWI_BIN_PAGES; i++)
        twi_mem_free(&dist->allocator, dist->page[i], TWI_BIN_SLOTS, sizeof(uint64_t));
}

static inline void add_moments_of(twi_dist *dist, const uint64_t *value, size_t limbs,
                                  uint64_t weight)
{
    uint64_t square[6] = {0};

    twi_add_product(dist->sum, 4, value, limbs, weight);
    for (size_t i = 0; i < limbs; i++)
        twi_add_product(square + i, 2 * limbs - i, value, limbs, value[i]);
    twi_add_product(dist->square_sum, 7, square, 2 * limbs, weight);
}

static void add_moments(twi_dist *dist, twi_u192 value, uint64_t weight)
{
    if (value.w[2])
        add_moments_of(dist, value.w, 3, weight);
    else if (value.w[1])
        add_moments_of(dist, value.w, 2, weight);
    else
        add_moments_of(dist, value.w, 1, weight);
}

static uint64_t *bin_of(twi_dist *dist, twi_u192 value)
{
    const unsigned number = twi_bin_number(value), page = number >> TWI_BIN_BITS;

    if (!dist->page[page]) {
        dist->page[page] = twi_mem_zalloc(&dist->allocator, TWI_BIN_SLOTS,
                                          sizeof(uint64_t));
        if (!dist->page[page])
            return NULL;
    }
    return &dist->page[page][number & (TWI_BIN_SLOTS - 1)];
}

int32_t twi_dist_feed(twi_dist *dist, const twi_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const twi_u192 value = pairs->value[i];
        const uint64_t weight = pairs->weight[i];

        if (twi_is_zero(value)) {
            dist->zero_weight += weight;
        } else {
            uint64_t *bin = bin_of(dist, value);
            if (!bin)
                return TW_ERR_NOMEM;
            *bin += weight;
            if (twi_less(value, dist->least) || twi_is_zero(dist->least))
                dist->least = value;
            if (twi_less(dist->most, value))
                dist->most = value;
            add_moments(dist, value, weight);
        }
        dist->weight += weight;
    }
    return TW_OK;
}

static void add_limbs(uint64_t *sum, const uint64_t *part, size_t limbs)
{
    unsigned carry = 0;
    for (size_t i = 0; i < limbs; i++)
        sum[i] = twi_add_carry(sum[i], part[i], &carry);
}

int32_t twi_dist_merge(twi_dist *dist, const twi_dist *from)
{
    for (unsigned i = 0; i < TWI_BIN_PAGES; i++) {
        if (!from->page[i])
            continue;
        if (!dist->page[i])
            dist->page[i] = twi_mem_zalloc(&dist->allocator, TWI_BIN_SLOTS,
                                           sizeof(uint64_t));
        if (!dist->page[i])
            return TW_ERR_NOMEM;
        for (unsigned slot = 0; slot < TWI_BIN_SLOTS; slot++)
            dist->page[i][slot] += from->page[i][slot];
    }
    if (!twi_is_zero(from->least) &&
        (twi_is_zero(dist->least) || twi_less(from->least, dist->least)))
        dist->least = from->least;
    if (twi_less(dist->most, from->most))
        dist->most = from->most;
    add_limbs(dist->sum, from->sum, 4);
    add_limbs(dist->square_sum, from->square_sum, 7);
    dist->zero_weight += from->zero_weight;
    dist->weight += from->weight;
    return TW_OK;
}

twi_bin twi_dist_find(const twi_dist *dist, uint64_t rank)
{
    uint64_t before = 0, upto = dist->zero_weight;

    assert(rank >= 1 && rank <= dist->weight);
    if (rank <= upto)
        return (twi_bin){{{0, 0, 0}}, 0, 0};
    for (unsigned page = 0; page < TWI_BIN_PAGES; page++) {
        if (!dist->page[page])
            continue;
        for (unsigned slot = 0; slot < TWI_BIN_SLOTS; slot++) {
            before = upto;
            upto += dist->page[page][slot];
            if (rank <= upto) {
                const twi_u192 head = twi_from64(TWI_BIN_SLOTS | slot);
                if (page < TWI_BIN_BITS)
                    return (twi_bin){twi_shr(head, TWI_BIN_BITS - page), 0, before};
                return (twi_bin){twi_shl(head, page - TWI_BIN_BITS), page - TWI_BIN_BITS,
                                 before};
            }
        }
    }
    assert(false); /* the bins hold all of the weight */
    return (twi_bin){dist->most, 0, before};
}

double twi_dist_value(twi_u192 value, twi_scale scale)
{
    const twi_big a = twi_big_from(value.w, 3), one = twi_big_from64(1);
    return twi_big_scaled(&a, &one, scale);
}

twi_moments twi_dist_moments(const twi_dist *dist, uint64_t idle, twi_scale scale)
{
    const uint64_t weight = dist->weight - idle;
    const twi_big one = twi_big_from64(1), total = twi_big_from64(weight);
    const twi_big sum = twi_big_from(dist->sum, 4);
    const twi_u192 zero = {{0, 0, 0}};
    twi_big spread = twi_big_from(dist->square_sum, 7), square, total_squared;
    twi_moments moments;

    assert(weight && dist->zero_weight >= idle);
    moments.avg = twi_big_scaled(&sum, &total, scale);
    moments.sum = twi_big_scaled(&sum, &one, scale);
    moments.min = twi_dist_value(dist->zero_weight > idle ? zero : dist->least, scale);
    moments.max = twi_dist_value(dist->most, scale);

    /* The variance is square_sum / weight - (sum / weight)^2, as one exact fraction. */
    twi_big_multiply64(&spread, weight);
    square = twi_big_multiply(&sum, &sum);
    twi_big_subtract(&spread, &square);
    total_squared = twi_big_multiply(&total, &total);
    moments.std = twi_big_scaled_root(&spread, &total_squared, scale);
    return moments;
}
