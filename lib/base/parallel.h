/* SPDX-License-Identifier: MIT */
#ifndef TWI_BASE_PARALLEL_H
#define TWI_BASE_PARALLEL_H

/* Work in equal parts, on threads of its own or on the caller's. What is computed must not
 * depend on how many parts there are. */

#include <stdatomic.h>
#include <stdint.h>
#include <timeweight/allocator.h>
#include <timeweight/analysis.h>

typedef struct twi_parallel {
    uint32_t threads;        /* at most so many at once; 0 and 1: only the calling one */
    tw_executor_fn executor; /* or NULL: own threads */
    void *executor_data;
} twi_parallel;

#define TWI_PARTS_MOST 64

/* Into how many parts to divide work of a size: 1 to TWI_PARTS_MOST, and none of them too
 * small to be worth a thread. */
uint32_t twi_parallel_parts(const twi_parallel *parallel, uint64_t size);

typedef void (*twi_task)(void *context, uint32_t part);

/* Runs task(context, i) for each part i, once. Threads that cannot be had and parts that the
 * executor did not run are run by the calling thread. */
void twi_parallel_run(const twi_parallel *parallel, twi_task task, void *context,
                      uint32_t parts);

/* The begin of part i when `size` is divided. */
static inline uint64_t twi_part_begin(uint64_t size, uint32_t part, uint32_t parts)
{
    return size / parts * part + size % parts * part / parts;
}

/* An allocator for parts that run at once: hands their calls on one at a time. Its memory may
 * be given back to the allocator behind it. */
typedef struct twi_turnstile {
    tw_allocator behind;
    atomic_flag taken;
} twi_turnstile;

void twi_turnstile_init(twi_turnstile *turnstile, const tw_allocator *behind);
/* Stays valid while the turnstile stays where it is. */
tw_allocator twi_turnstile_allocator(twi_turnstile *turnstile);

#endif
