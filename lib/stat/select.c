/* SPDX-License-Identifier: MIT */
#include "stat/select.h"

#include <assert.h>
#include <string.h>
#include <timeweight/status.h>

#include "base/mem.h"

/* ---- Ranges ---------------------------------------------------------------------- */

static void set_filter(twi_select *select, const twi_bin *bin)
{
    const uint32_t number = twi_bin_number(twi_f64_from_bits(bin->low),
                                           select->filter.bin_bits);
    select->filter.w[number / 64 % (TWI_FILTER_BITS / 64)] |= (uint64_t)1 << number % 64;
}

/* Makes the ranges of the targets that are still open; targets are in ascending order. */
static void set_ranges(twi_select *select)
{
    twi_range *last = NULL;

    select->range_count = 0;
    select->pool.used = 0;
    select->pool.overflow = false;
    memset(select->filter.w, 0, sizeof select->filter.w);
    for (size_t t = 0; t < select->target_count; t++) {
        const twi_target *target = &select->targets[t];

        if (target->found || (last && last->bin.low == target->bin.low))
            continue;
        last = &select->ranges[select->range_count++];
        memset(last, 0, sizeof *last);
        last->bin = target->bin;
        set_filter(select, &last->bin);
    }
}

static void settle_if_exact(twi_target *target)
{
    if (target->bin.bits == 0) {
        target->value = twi_f64_from_bits(target->bin.low);
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
    twi_walk walk = twi_walk_begin(dist);
    size_t open = 0;

    memset(select, 0, sizeof *select);
    select->filter.bin_bits = dist->bin_bits;
    select->targets = targets;
    select->target_count = count;
    order_by_rank(targets, count);
    for (size_t t = 0; t < count; t++) {
        targets[t].bin = twi_walk_find(&walk, targets[t].rank);
        targets[t].found = false;
        settle_if_exact(&targets[t]);
        open += !targets[t].found;
    }
    return open;
}

void twi_select_begin(twi_select *select, twi_range *ranges, struct twi_pooled *pool,
                      size_t pool_room)
{
    select->ranges = ranges;
    select->pool.at = pool;
    select->pool.room = pool_room;
    set_ranges(select);
}

int32_t twi_select_begin_growing(twi_select *select, twi_range *ranges,
                                 const tw_allocator *allocator)
{
    struct twi_pooled *pool = twi_mem_alloc(allocator, TWI_POOL_LEAST, sizeof *pool);

    if (!pool)
        return TW_ERR_NOMEM;
    twi_select_begin(select, ranges, pool, TWI_POOL_LEAST);
    select->pool.allocator = allocator;
    return TW_OK;
}

void twi_select_end(twi_select *select, const tw_allocator *allocator)
{
    if (select->pool.allocator)
        twi_mem_free(allocator, select->pool.at, select->pool.room,
                     sizeof *select->pool.at);
    select->pool.allocator = NULL;
}

bool twi_select_done(const twi_select *select)
{
    return select->range_count == 0;
}

/* ---- The pool -------------------------------------------------------------------- */

/* Sifts the element at `at` down the heap of `count`. */
static void sift(struct twi_pooled *heap, size_t at, size_t count)
{
    const struct twi_pooled moving = heap[at];
    size_t child;

    for (; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1].bits > heap[child].bits;
        if (heap[child].bits <= moving.bits)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

/* Orders the pool and makes equal values one. */
static void tidy(twi_pool *pool)
{
    struct twi_pooled *at = pool->at;
    size_t kept = 0;

    for (size_t i = pool->used / 2; i-- > 0;)
        sift(at, i, pool->used);
    for (size_t i = pool->used; i-- > 1;) {
        const struct twi_pooled last = at[i];
        at[i] = at[0];
        at[0] = last;
        sift(at, 0, i);
    }
    for (size_t i = 0; i < pool->used; i++) {
        if (kept && at[kept - 1].bits == at[i].bits)
            at[kept - 1].weight += at[i].weight;
        else
            at[kept++] = at[i];
    }
    pool->used = kept;
}

/* True if there is more room now. */
static bool grow(twi_pool *pool)
{
    const size_t room = pool->room + pool->room / 2;
    struct twi_pooled *at;

    if (!pool->allocator || room > TWI_POOL_MOST)
        return false;
    at = twi_mem_alloc(pool->allocator, room, sizeof *at);
    if (!at)
        return false;
    memcpy(at, pool->at, pool->used * sizeof *at);
    twi_mem_free(pool->allocator, pool->at, pool->room, sizeof *at);
    pool->at = at;
    pool->room = room;
    return true;
}

static void put(twi_pool *pool, uint64_t bits, uint64_t weight)
{
    if (pool->overflow)
        return;
    if (pool->used && pool->at[pool->used - 1].bits == bits) {
        pool->at[pool->used - 1].weight += weight;
        return;
    }
    if (pool->used == pool->room && !grow(pool)) {
        tidy(pool);
        if (pool->used > pool->room / 2) { /* too many distinct values */
            pool->overflow = true;
            return;
        }
    }
    pool->at[pool->used].bits = bits;
    pool->at[pool->used++].weight = weight;
}

/* ---- Passes ---------------------------------------------------------------------- */

static unsigned split_shift(const twi_bin *bin)
{
    return bin->bits > TWI_SELECT_SPLIT_BITS ? bin->bits - TWI_SELECT_SPLIT_BITS : 0;
}

/* The range that holds a value, or NULL. */
static twi_range *find_range(twi_select *select, uint64_t bits)
{
    size_t low = 0, high = select->range_count;
    twi_range *range;

    while (low < high) { /* the first range that begins above the value */
        const size_t middle = (low + high) / 2;
        if (bits < select->ranges[middle].bin.low)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == 0)
        return NULL;
    range = &select->ranges[low - 1];
    return (bits - range->bin.low) >> range->bin.bits ? NULL : range;
}

void twi_select_feed(twi_select *select, const twi_kernel *kernel, const double *value,
                     const uint64_t *weight, size_t count)
{
    uint16_t index[TWI_BATCH_SIZE];
    const size_t found = kernel->find(value, count, &select->filter, index);

    for (size_t i = 0; i < found; i++) {
        const uint64_t bits = twi_f64_bits(value[index[i]]);
        twi_range *range = find_range(select, bits);

        if (!range)
            continue;
        range->split[(bits - range->bin.low) >> split_shift(&range->bin)] +=
            weight[index[i]];
        put(&select->pool, bits, weight[index[i]]);
    }
}

void twi_select_follow(twi_select *select, const twi_select *leader)
{
    select->range_count = leader->range_count;
    select->filter = leader->filter;
    select->pool.used = 0;
    select->pool.overflow = false;
    for (size_t r = 0; r < leader->range_count; r++) {
        memset(&select->ranges[r], 0, sizeof select->ranges[r]);
        select->ranges[r].bin = leader->ranges[r].bin;
    }
}

void twi_select_merge(twi_select *select, const twi_select *from)
{
    for (size_t r = 0; r < select->range_count; r++)
        for (unsigned part = 0; part < TWI_SELECT_SPLIT; part++)
            select->ranges[r].split[part] += from->ranges[r].split[part];
    for (size_t i = 0; i < from->pool.used; i++)
        put(&select->pool, from->pool.at[i].bits, from->pool.at[i].weight);
    select->pool.overflow |= from->pool.overflow;
}

/* In a pool that is in order. */
static void find_in_pool(const twi_pool *pool, twi_target *target)
{
    uint64_t upto = target->bin.before;
    size_t low = 0, high = pool->used;

    while (low < high) { /* the first value of the bin */
        const size_t middle = (low + high) / 2;
        if (pool->at[middle].bits < target->bin.low)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + 1 < pool->used && (upto += pool->at[low].weight) < target->rank)
        low++;
    target->value = twi_f64_from_bits(pool->at[low].bits);
    target->found = true;
}

static void find_part(const twi_range *range, twi_target *target)
{
    const unsigned shift = split_shift(&range->bin);
    uint64_t before = range->bin.before;
    unsigned part = 0;

    for (; part < TWI_SELECT_SPLIT - 1; part++) {
        if (target->rank <= before + range->split[part])
            break;
        before += range->split[part];
    }
    target->bin.low = range->bin.low + ((uint64_t)part << shift);
    target->bin.bits = shift;
    target->bin.before = before;
    settle_if_exact(target);
}

void twi_select_narrow(twi_select *select)
{
    if (!select->pool.overflow)
        tidy(&select->pool);
    for (size_t t = 0; t < select->target_count; t++) {
        twi_target *target = &select->targets[t];
        const twi_range *range = select->ranges;

        if (target->found)
            continue;
        while (range->bin.low != target->bin.low)
            range++;
        if (select->pool.overflow)
            find_part(range, target);
        else
            find_in_pool(&select->pool, target);
    }
    set_ranges(select);
}
