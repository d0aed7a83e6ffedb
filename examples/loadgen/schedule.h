/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_SCHEDULE_H
#define LOADGEN_SCHEDULE_H

#include "../common/random.h"
#include "options.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* A request as it is planned. */
struct plan {
    int64_t due_ns; /* from a schedule: since the begin of the run */
    int64_t input_tokens;
    int64_t output_tokens;
};

/* When requests are due whatever the server does: open loop. */
struct schedule {
    const struct options *options;
    const struct trace *trace; /* NULL: none */
    struct random random;
    uint64_t count;    /* planned so far */
    double elapsed_ns; /* random arrivals: since the begin */
};

void schedule_init(struct schedule *schedule, const struct options *options,
                   const struct trace *trace);

/* The next request; false: there is none any more. The first is due at once. */
bool schedule_next(struct schedule *schedule, struct plan *plan);

#endif
