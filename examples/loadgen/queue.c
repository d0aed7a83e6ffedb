/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include <stdlib.h>

static bool grow(struct queue *queue)
{
    size_t capacity = queue->capacity ? 2 * queue->capacity : 64;
    struct plan *ring = calloc(capacity, sizeof *ring);
    if (!ring)
        return false;
    for (size_t i = 0; i < queue->count; i++)
        ring[i] = queue->ring[(queue->first + i) & (queue->capacity - 1)];
    free(queue->ring);
    queue->ring = ring;
    queue->capacity = capacity;
    queue->first = 0;
    return true;
}

bool queue_add(struct queue *queue, const struct plan *plan)
{
    if (queue->count == queue->capacity && !grow(queue))
        return false;
    queue->ring[(queue->first + queue->count++) & (queue->capacity - 1)] = *plan;
    return true;
}

struct plan queue_take(struct queue *queue)
{
    struct plan plan = queue->ring[queue->first];
    queue->first = (queue->first + 1) & (queue->capacity - 1);
    queue->count--;
    return plan;
}

void queue_clear(struct queue *queue)
{
    free(queue->ring);
    *queue = (struct queue){0};
}
