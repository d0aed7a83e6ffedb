/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_QUEUE_H
#define LOADGEN_QUEUE_H

#include "schedule.h"

#include <stdbool.h>
#include <stddef.h>

/* Requests that are due and wait for a place: first in, first out. Zero is empty. */
struct queue {
    struct plan *ring;
    size_t capacity; /* a power of two, or 0 */
    size_t first;
    size_t count;
};

/* False: no memory. */
bool queue_add(struct queue *queue, const struct plan *plan);

/* Takes the first one out; the queue is not empty. */
struct plan queue_take(struct queue *queue);

void queue_clear(struct queue *queue);

#endif
