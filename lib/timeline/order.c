/* SPDX-License-Identifier: MIT */
#include "timeline/order.h"

#include <stdbool.h>
#include <string.h>

enum {
    DIGIT_BITS = 11,
    DIGITS = 1 << DIGIT_BITS,
    PASSES = (64 + DIGIT_BITS - 1) / DIGIT_BITS
};

static unsigned digit(uint64_t key, unsigned pass)
{
    return (unsigned)(key >> pass * DIGIT_BITS) & (DIGITS - 1);
}

static bool is_ordered(const twi_event *events, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++)
        if (events[i].key < events[i - 1].key)
            return false;
    return true;
}

twi_event *twi_order_events(twi_event *events, twi_event *scratch, uint64_t count)
{
    uint64_t differing = 0;

    if (is_ordered(events, count))
        return events;
    for (uint64_t i = 1; i < count; i++)
        differing |= events[i].key ^ events[0].key;

    for (unsigned pass = 0; pass < PASSES; pass++) {
        uint64_t start[DIGITS], sum = 0;
        twi_event *from = events;

        if (digit(differing, pass) == 0)
            continue;
        memset(start, 0, sizeof start);
        for (uint64_t i = 0; i < count; i++)
            start[digit(from[i].key, pass)]++;
        for (unsigned d = 0; d < DIGITS; d++) {
            uint64_t here = start[d];
            start[d] = sum;
            sum += here;
        }
        for (uint64_t i = 0; i < count; i++)
            scratch[start[digit(from[i].key, pass)]++] = from[i];
        events = scratch;
        scratch = from;
    }
    return events;
}
