/* SPDX-License-Identifier: MIT */
#ifndef COMMON_TIMERS_H
#define COMMON_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timer {
    int64_t due_ns;
    uint64_t number; /* of those due at one time, the one that was added first */
    void *owner;
};

/* A heap, the earliest first. Zero is empty. */
struct timers {
    struct timer *heap;
    size_t count;
    size_t capacity;
    uint64_t added;
};

/* False: no memory. */
bool timers_add(struct timers *timers, int64_t due_ns, void *owner);

/* The earliest, or NULL if there is none. */
const struct timer *timers_first(const struct timers *timers);

/* Takes the earliest out if it is due, and hands out its owner and when it was due. */
bool timers_take(struct timers *timers, int64_t now_ns, struct timer *taken);

void timers_clear(struct timers *timers);

#endif
