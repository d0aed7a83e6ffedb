/* SPDX-License-Identifier: MIT */
/* A radix sort in two steps. The events are first parted by the leading bits in which their
 * keys differ, in place; then each part, which fits a cache in a run of any ordinary shape,
 * is sorted by the bits below, least significant digit first. */

#include "timeline/order.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

enum {
    PART_BITS = 11,
    PARTS = 1 << PART_BITS,
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    FEW = 24 /* events that are sorted by insertion */
};

static bool is_ordered(const twi_event *events, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++)
        if (events[i].key < events[i - 1].key)
            return false;
    return true;
}

/* The bits in which any two keys differ. */
static uint64_t differing_bits(const twi_event *events, uint64_t count)
{
    uint64_t bits = 0;
    for (uint64_t i = 1; i < count; i++)
        bits |= events[i].key ^ events[0].key;
    return bits;
}

/* ---- Parting ----------------------------------------------------------------------- */

static unsigned part_of(uint64_t key, unsigned shift)
{
    return (unsigned)(key >> shift) % PARTS;
}

/* Brings the events of each part together; end[p] becomes the end of part p. Each event is
 * moved once: from where it lies to the next free place of its part, whose occupant is moved
 * next ("American flag sort"). */
static void part(twi_event *events, uint64_t count, unsigned shift, uint64_t end[PARTS])
{
    uint64_t next[PARTS], sum = 0;

    memset(end, 0, PARTS * sizeof end[0]);
    for (uint64_t i = 0; i < count; i++)
        end[part_of(events[i].key, shift)]++;
    for (unsigned p = 0; p < PARTS; p++) {
        next[p] = sum;
        sum += end[p];
        end[p] = sum;
    }
    for (unsigned p = 0; p < PARTS; p++) {
        while (next[p] < end[p]) {
            twi_event moving = events[next[p]];
            unsigned home = part_of(moving.key, shift);

            while (home != p) {
                const uint64_t place = next[home]++;
                const twi_event occupant = events[place];
                events[place] = moving;
                moving = occupant;
                home = part_of(moving.key, shift);
            }
            events[next[p]++] = moving;
        }
    }
}

/* ---- Sorting a part ---------------------------------------------------------------- */

static void sort_few(twi_event *events, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        const twi_event moving = events[i];
        uint64_t at = i;
        for (; at && events[at - 1].key > moving.key; at--)
            events[at] = events[at - 1];
        events[at] = moving;
    }
}

static unsigned digit_of(uint64_t key, unsigned shift)
{
    return (unsigned)(key >> shift) % DIGITS;
}

/* `bits`: those by which the keys may still differ; `scratch` has room for all. */
static void sort_part(twi_event *events, twi_event *scratch, uint64_t count,
                      uint64_t bits)
{
    twi_event *from = events, *to = scratch;

    if (count <= FEW) {
        sort_few(events, count);
        return;
    }
    for (unsigned shift = 0; shift < 64 && bits >> shift; shift += DIGIT_BITS) {
        uint64_t start[DIGITS] = {0}, sum = 0;
        twi_event *sorted = to;

        if (digit_of(bits, shift) == 0)
            continue;
        for (uint64_t i = 0; i < count; i++)
            start[digit_of(from[i].key, shift)]++;
        for (unsigned d = 0; d < DIGITS; d++) {
            const uint64_t here = start[d];
            start[d] = sum;
            sum += here;
        }
        for (uint64_t i = 0; i < count; i++)
            to[start[digit_of(from[i].key, shift)]++] = from[i];
        to = from;
        from = sorted;
    }
    if (from != events)
        memcpy(events, from, (size_t)count * sizeof *events);
}

int32_t twi_order_events(const tw_allocator *allocator, twi_event *events, uint64_t count)
{
    uint64_t end[PARTS], largest = 0, bits;
    twi_event *scratch;
    unsigned length, shift;

    if (is_ordered(events, count))
        return TW_OK;
    bits = differing_bits(events, count);
    length = twi_bits64(bits);
    shift = length > PART_BITS ? length - PART_BITS : 0;
    part(events, count, shift, end);

    for (unsigned p = 0; p < PARTS; p++) {
        const uint64_t size = end[p] - (p ? end[p - 1] : 0);
        largest = size > largest ? size : largest;
    }
    scratch = twi_mem_alloc(allocator, largest, sizeof *scratch);
    if (!scratch)
        return TW_ERR_NOMEM;
    for (unsigned p = 0; p < PARTS; p++) {
        const uint64_t begin = p ? end[p - 1] : 0;
        sort_part(events + begin, scratch, end[p] - begin,
                  bits & (((uint64_t)1 << shift) - 1));
    }
    twi_mem_free(allocator, scratch, largest, sizeof *scratch);
    return TW_OK;
}
