/* SPDX-License-Identifier: MIT */
#include "base/parallel.h"

#include <stdbool.h>
#include <stddef.h>

#if defined(TWI_HAVE_THREADS)
#include <pthread.h>
#endif

enum { WORTH_A_PART = 1 << 14 }; /* records or events: about a millisecond */

uint32_t twi_parallel_parts(const twi_parallel *parallel, uint64_t size)
{
    const uint64_t worth = size / WORTH_A_PART;
    uint64_t parts = parallel->threads;

    parts = parts < worth ? parts : worth;
    parts = parts < TWI_PARTS_MOST ? parts : TWI_PARTS_MOST;
    return parts ? (uint32_t)parts : 1;
}

typedef struct run {
    twi_task task;
    void *context;
    uint32_t parts;
    atomic_bool taken[TWI_PARTS_MOST];
} run;

/* An executor might call twice, or with an index of its own making. */
static void run_part(void *context, uint32_t part)
{
    run *r = context;
    if (part < r->parts && !atomic_exchange(&r->taken[part], true))
        r->task(r->context, part);
}

#if defined(TWI_HAVE_THREADS)

typedef struct worker {
    run *run;
    uint32_t part;
    bool started;
    pthread_t thread;
} worker;

static void *work(void *context)
{
    const worker *w = context;
    run_part(w->run, w->part);
    return NULL;
}

static void run_on_threads(run *r)
{
    worker workers[TWI_PARTS_MOST];

    for (uint32_t i = 1; i < r->parts; i++) {
        workers[i].run = r;
        workers[i].part = i;
        workers[i].started = pthread_create(&workers[i].thread, NULL, work,
                                            &workers[i]) == 0;
    }
    run_part(r, 0);
    for (uint32_t i = 1; i < r->parts; i++)
        if (workers[i].started)
            (void)pthread_join(workers[i].thread, NULL);
}

#else

static void run_on_threads(run *r)
{
    (void)r;
}

#endif

void twi_parallel_run(const twi_parallel *parallel, twi_task task, void *context,
                      uint32_t parts)
{
    run r = {.task = task, .context = context, .parts = parts};

    for (uint32_t i = 0; i < parts; i++)
        atomic_init(&r.taken[i], false);
    if (parts > 1 && parallel->executor)
        (void)parallel->executor(parallel->executor_data, run_part, &r, parts);
    else if (parts > 1)
        run_on_threads(&r);
    for (uint32_t i = 0; i < parts; i++)
        run_part(&r, i);
}

/* Allocations of the parts are rare and short, so that waiting for a turn is, too. */
static void enter(twi_turnstile *turnstile)
{
    while (atomic_flag_test_and_set_explicit(&turnstile->taken, memory_order_acquire))
        ;
}

static void leave(twi_turnstile *turnstile)
{
    atomic_flag_clear_explicit(&turnstile->taken, memory_order_release);
}

static void *alloc_in_turn(void *user_data, size_t size, size_t align)
{
    twi_turnstile *turnstile = user_data;
    void *memory;

    enter(turnstile);
    memory = turnstile->behind.alloc(turnstile->behind.user_data, size, align);
    leave(turnstile);
    return memory;
}

static void free_in_turn(void *user_data, void *memory, size_t size, size_t align)
{
    twi_turnstile *turnstile = user_data;

    enter(turnstile);
    turnstile->behind.free(turnstile->behind.user_data, memory, size, align);
    leave(turnstile);
}

void twi_turnstile_init(twi_turnstile *turnstile, const tw_allocator *behind)
{
    turnstile->behind = *behind;
    atomic_flag_clear(&turnstile->taken);
}

tw_allocator twi_turnstile_allocator(twi_turnstile *turnstile)
{
    return (tw_allocator){sizeof(tw_allocator), 0, turnstile, alloc_in_turn,
                          free_in_turn};
}
