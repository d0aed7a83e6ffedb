/* SPDX-License-Identifier: MIT */
#include "kernel/lanes.h"

#define ALL UINT64_MAX
#define NOTHING                \
    {                          \
        0, 0, 0, 0, 0, 0, 0, 0 \
    }
#define COUNTS(first, second)           \
    {                                   \
        0, 0, 0, 0, 0, 0, first, second \
    }
#define START(queued, prefill)                                                           \
    {                                                                                    \
        {ALL, ALL, 0, 0, ALL, 0, 0, 0}, NOTHING, COUNTS(TWI_ACTIVE - (queued), prefill), \
            TWI_ENTRY_INPUT                                                              \
    }
#define END(decode, prefill)                                                  \
    {                                                                         \
        {0, 0, decode, decode, ALL, 0, 0, 0}, {0, 0, ALL, ALL, ALL, 0, 0, 0}, \
            COUNTS(0 - TWI_ACTIVE, 0 - (prefill)), TWI_ENTRY_ALL              \
    }

const twi_effect twi_effects[TWI_KIND_COUNT] = {
    [TWI_KIND_CREDIT] = {NOTHING, NOTHING, COUNTS(TWI_QUEUED, 0), TWI_ENTRY_INPUT},
    [TWI_KIND_START] = START(0, 0),
    [TWI_KIND_START_CREDIT] = START(TWI_QUEUED, 0),
    [TWI_KIND_START_PREFILL] = START(0, TWI_PREFILL),
    [TWI_KIND_START_PREFILL_CREDIT] = START(TWI_QUEUED, TWI_PREFILL),
    [TWI_KIND_GENERATION] = {{ALL, ALL, ALL, ALL, ALL, 0, 0, 0},
                             {ALL, ALL, 0, 0, 0, 0, 0, 0},
                             COUNTS(0, TWI_DECODE - TWI_PREFILL),
                             TWI_ENTRY_OUTPUT},
    [TWI_KIND_END] = END(0, 0),
    [TWI_KIND_END_PREFILL] = END(0, TWI_PREFILL),
    [TWI_KIND_END_DECODE] = END(ALL, TWI_DECODE),
    [TWI_KIND_END_CHUNKED] = END(0, TWI_DECODE),
};
