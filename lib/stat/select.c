/* SPDX-License-Identifier: MIT */
#include "stat/select.h"

#include <assert.h>
#include <string.h>

/* For a value not below the bin. */
static bool bin_holds(const twi_bin *bin, twi_u192 value)
{
    return twi_bits(twi_sub(value, bin->low)) <= bin->bits;
}

static unsigned filter_place(twi_u192 value)
{
    return twi_bin_number(value) % TWI_SELECT_FILTER_BITS;
}

static void set_filter(twi_select *select, twi_u192 value)
{
    const unsigned place = filter_place(value);
    select->filter[place / 64] |= (uint64_t)1 << place % 64;
}

static bool passes_filter(const twi_select *select, twi_u192 value)
{
    const unsigned place = filter_place(value);
    return select->filter[place / 64] >> place % 64 & 1;
}

/* Makes the ranges of the targets that are still open; targets are in ascending order. */
static void set_ranges(twi_select *select)
{
    twi_range *last = NULL;

    select->range_count = 0;
    memset(select->filter, 0, sizeof select->filter);
    for (size_t t = 0; t < select->target_count; t++) {
        const twi_target *target = &select->targets[t];

        if (target->found || (last && twi_equal(last->bin.low, target->bin.low)))
            continue;
        last = &select->ranges[select->range_count++];
        memset(last, 0, sizeof *last);
        last->bin = target->bin;
        set_filter(select, last->bin.low);
    }
}

static void settle_if_exact(twi_target *target)
{
    if (target->bin.bits == 0) {
        target->value = target->bin.low;
        target->found = true;
    }
}

static void order_by_rank(twi_target *targets, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const twi_target moving = targets[i];
        size_t at = i;
        for (; at && targets[at - 1].rank > moving.rank; at--)
            targets[at] = targets[at - 1];
        targets[at] = moving;
    }
}

size_t twi_select_locate(twi_select *select, const twi_dist *dist, twi_target *targets,
                         size_t count)
{
    size_t open = 0;

    memset(select, 0, sizeof *select);
    select->targets = targets;
    select->target_count = count;
    order_by_rank(targets, count);
    for (size_t t = 0; t < count; t++) {
        targets[t].bin = twi_dist_find(dist, targets[t].rank);
        targets[t].found = false;
        settle_if_exact(&targets[t]);
        open += !targets[t].found;
    }
    return open;
}

void twi_select_begin(twi_select *select, twi_range *ranges)
{
    select->ranges = ranges;
    set_ranges(select);
}

bool twi_select_done(const twi_select *select)
{
    return select->range_count == 0;
}

static void add_few(twi_range *range, twi_u192 value, uint64_t weight)
{
    unsigned at = 0, high = range->few_count;

    if (range->few_count > TWI_SELECT_FEW)
        return;
    while (at < high) { /* the first of the few that is not below the value */
        const unsigned middle = (at + high) / 2;
        if (twi_less(range->few[middle], value))
            at = middle + 1;
        else
            high = middle;
    }
    if (at < range->few_count && twi_equal(range->few[at], value)) {
        range->few_weight[at] += weight;
        return;
    }
    if (range->few_count++ == TWI_SELECT_FEW)
        return;
    for (unsigned i = range->few_count - 1; i > at; i--) {
        range->few[i] = range->few[i - 1];
        range->few_weight[i] = range->few_weight[i - 1];
    }
    range->few[at] = value;
    range->few_weight[at] = weight;
}

static unsigned split_shift(const twi_bin *bin)
{
    return bin->bits > TWI_SELECT_SPLIT_BITS ? bin->bits - TWI_SELECT_SPLIT_BITS : 0;
}

/* The range that holds a value, or NULL. */
static twi_range *find_range(twi_select *select, twi_u192 value)
{
    size_t low = 0, high = select->range_count;

    if (twi_is_zero(value) || !passes_filter(select, value))
        return NULL;     /* the bin of 0 is exact: no range lies there */
    while (low < high) { /* the first range that begins above the value */
        const size_t middle = (low + high) / 2;
        if (twi_less(value, select->ranges[middle].bin.low))
            high = middle;
        else
            low = middle + 1;
    }
    if (low == 0 || !bin_holds(&select->ranges[low - 1].bin, value))
        return NULL;
    return &select->ranges[low - 1];
}

void twi_select_feed(twi_select *select, const twi_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const twi_u192 value = pairs->value[i];
        twi_range *range = find_range(select, value);
        unsigned part;

        if (!range)
            continue;
        part = twi_shr64(value, split_shift(&range->bin)) % TWI_SELECT_SPLIT;
        range->split[part] += pairs->weight[i];
        add_few(range, value, pairs->weight[i]);
    }
}

static void find_among_few(const twi_range *range, twi_target *target)
{
    uint64_t upto = range->bin.before;

    for (unsigned i = 0; i < range->few_count; i++) {
        upto += range->few_weight[i];
        if (target->rank <= upto) {
            target->value = range->few[i];
            target->found = true;
            return;
        }
    }
    assert(false); /* the second pass saw other values than the first */
    target->value = range->bin.low;
    target->found = true;
}

static void find_part(const twi_range *range, twi_target *target)
{
    const unsigned shift = split_shift(&range->bin);
    const unsigned parts = range->bin.bits < TWI_SELECT_SPLIT_BITS
                               ? 1u << range->bin.bits
                               : (unsigned)TWI_SELECT_SPLIT;
    /* Parts are numbered by the value's bits, so a narrow bin begins at its own. */
    const unsigned first = (unsigned)(twi_shr(range->bin.low, shift).w[0] %
                                      TWI_SELECT_SPLIT);
    uint64_t before = range->bin.before;

    for (unsigned part = 0; part < parts; part++) {
        const uint64_t weight = range->split[first + part];
        if (target->rank <= before + weight) {
            target->bin.low = twi_add(range->bin.low, twi_shl(twi_from64(part), shift));
            target->bin.bits = shift;
            target->bin.before = before;
            settle_if_exact(target);
            return;
        }
        before += weight;
    }
    assert(false); /* the second pass saw other values than the first */
    target->value = range->bin.low;
    target->found = true;
}

void twi_select_narrow(twi_select *select)
{
    for (size_t t = 0; t < select->target_count; t++) {
        twi_target *target = &select->targets[t];
        const twi_range *range = select->ranges;

        if (target->found)
            continue;
        while (!twi_equal(range->bin.low, target->bin.low))
            range++;
        if (range->few_count <= TWI_SELECT_FEW)
            find_among_few(range, target);
        else
            find_part(range, target);
    }
    set_ranges(select);
}
