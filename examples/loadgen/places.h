/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_PLACES_H
#define LOADGEN_PLACES_H

#include "request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where requests can be in flight: up to a limit, made when they are first needed. Zero
 * has none. */
struct places {
    struct request **all;
    size_t count;
    size_t limit;
    struct request *first_free; /* free for the longest time */
    struct request **last_free;
};

void places_init(struct places *places, size_t limit);

/* A place for a request; NULL: none is free, or, if *no_memory, cannot be made. */
struct request *places_take(struct places *places, struct transport *transport,
                            bool *no_memory);

void places_give_back(struct places *places, struct request *request, int64_t now_ns);

void places_clear(struct places *places);

#endif
