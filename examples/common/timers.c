/* SPDX-License-Identifier: MIT */
#include "timers.h"

#include <stdlib.h>

static bool before(const struct timer *a, const struct timer *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static bool grow(struct timers *timers)
{
    size_t capacity = timers->capacity ? 2 * timers->capacity : 64;
    struct timer *heap = reallocarray(timers->heap, capacity, sizeof *heap);
    if (!heap)
        return false;
    timers->heap = heap;
    timers->capacity = capacity;
    return true;
}

bool timers_add(struct timers *timers, int64_t due_ns, void *owner)
{
    if (timers->count == timers->capacity && !grow(timers))
        return false;
    struct timer timer = {.due_ns = due_ns, .number = timers->added++, .owner = owner};
    size_t hole = timers->count++;
    while (hole > 0) {
        size_t parent = (hole - 1) / 2;
        if (!before(&timer, &timers->heap[parent]))
            break;
        timers->heap[hole] = timers->heap[parent];
        hole = parent;
    }
    timers->heap[hole] = timer;
    return true;
}

const struct timer *timers_first(const struct timers *timers)
{
    return timers->count > 0 ? &timers->heap[0] : NULL;
}

bool timers_take(struct timers *timers, int64_t now_ns, struct timer *taken)
{
    if (timers->count == 0 || timers->heap[0].due_ns > now_ns)
        return false;
    *taken = timers->heap[0];
    struct timer last = timers->heap[--timers->count];
    size_t hole = 0;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child >= timers->count)
            break;
        if (child + 1 < timers->count &&
            before(&timers->heap[child + 1], &timers->heap[child]))
            child++;
        if (!before(&timers->heap[child], &last))
            break;
        timers->heap[hole] = timers->heap[child];
        hole = child;
    }
    timers->heap[hole] = last;
    return true;
}

void timers_clear(struct timers *timers)
{
    free(timers->heap);
    *timers = (struct timers){0};
}
