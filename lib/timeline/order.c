/* SPDX-License-Identifier: MIT */
#include "timeline/order.h"

#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

static unsigned digit_of(uint64_t key, unsigned shift)
{
    return (unsigned)(key >> shift) % DIGITS;
}

/* True if all is in order already; *differing: the bits in which any two keys differ. */
static bool look_at(const uint64_t *keys, uint64_t count, unsigned from_bit,
                    uint64_t *differing)
{
    bool ordered = true;

    *differing = 0;
    for (uint64_t i = 1; i < count; i++) {
        *differing |= keys[i] ^ keys[0];
        ordered &= keys[i - 1] >> from_bit <= keys[i] >> from_bit;
    }
    return ordered;
}

/* Least significant digit first; digits in which no two keys differ are passed over. */
static void sort_many(uint64_t *keys, uint64_t *scratch, uint64_t count,
                      unsigned from_bit)
{
    uint64_t *from = keys, *to = scratch, differing;

    if (look_at(keys, count, from_bit, &differing))
        return;
    for (unsigned shift = from_bit; shift < 64 && differing >> shift;
         shift += DIGIT_BITS) {
        uint64_t start[DIGITS] = {0}, sum = 0, *sorted = to;

        if (digit_of(differing, shift) == 0)
            continue;
        for (uint64_t i = 0; i < count; i++)
            start[digit_of(from[i], shift)]++;
        for (unsigned d = 0; d < DIGITS; d++) {
            const uint64_t here = start[d];
            start[d] = sum;
            sum += here;
        }
        for (uint64_t i = 0; i < count; i++)
            to[start[digit_of(from[i], shift)]++] = from[i];
        to = from;
        from = sorted;
    }
    if (from != keys)
        memcpy(keys, from, (size_t)count * sizeof *keys);
}

void twi_order_keys(const twi_kernel *kernel, uint64_t *keys, uint64_t *scratch,
                    uint64_t count, unsigned from_bit)
{
    if (count <= TWI_SORT_MOST)
        kernel->sort(keys, (size_t)count);
    else
        sort_many(keys, scratch, count, from_bit);
}
