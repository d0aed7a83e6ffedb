/* SPDX-License-Identifier: MIT */
#ifndef MOCKSERVER_OPTIONS_H
#define MOCKSERVER_OPTIONS_H

#include "pace.h"

#include <stdbool.h>
#include <stdint.h>

struct options {
    const char *host;
    int64_t port; /* 0: any that is free */
    struct pace pace;
    uint64_t seed;
    int64_t output_tokens; /* where a request has no max_tokens */
    int64_t reasoning_tokens;
    int64_t tokens_per_chunk;
    int64_t concurrency; /* 0: no limit */
    double error_rate;
    double stream_error_rate;
    double abort_rate;
    bool no_usage;
    const char *api_key; /* NULL: none is asked for */
};

/* Reads the command line, or exits with a message. */
void options_read(struct options *options, int argc, char **argv);

#endif
