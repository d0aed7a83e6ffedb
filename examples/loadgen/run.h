/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_RUN_H
#define LOADGEN_RUN_H

#include "failures.h"
#include "options.h"
#include "overhead.h"
#include "prompt.h"
#include "trace.h"
#include "transport.h"
#include "writer.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <timeweight/timeweight.h>

/* What a run goes with, and what comes of it. */
struct run {
    const struct options *options;
    const struct trace *trace; /* NULL: none */
    struct prompts *prompts;
    struct writer *records;
    struct writer *aiperf;
    const volatile sig_atomic_t *interrupted;

    tw_recorder *recorder;
    struct overhead overhead;
    struct failures failures;
    struct transport *transport;
    int64_t end_ns;
    uint64_t in_flight; /* at the end; the window then ends at end_ns */
    uint64_t ok;
    uint64_t ok_with_usage;
    uint64_t ok_without_usage;
};

/* Sends the warm-up, then the load, and records it. False after a message. */
bool run_load(struct run *run);

#endif
