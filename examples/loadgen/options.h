/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_OPTIONS_H
#define LOADGEN_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum arrivals { ARRIVALS_CONSTANT, ARRIVALS_POISSON, ARRIVALS_GAMMA };

struct options {
    /* what to send, and where */
    char *url;
    const char *model;
    bool chat;
    bool stream;
    bool ask_usage;
    int64_t input_tokens;
    int64_t output_tokens;
    const char *prompts_path;
    json_t *extra; /* members for the body, or NULL */
    const char *api_key_name;
    const char *ca_path;
    bool insecure;
    int64_t timeout_ns;

    /* when */
    int64_t concurrency; /* 0: no limit (open loop only) */
    int64_t ramp_ns;     /* closed loop: until all users have begun */
    double request_rate; /* 0: closed loop, or a trace */
    enum arrivals arrivals;
    double shape;
    const char *trace_path;
    double trace_speed;
    int64_t request_count; /* INT64_MAX: no limit */
    int64_t duration_ns;   /* INT64_MAX: no limit */
    int64_t grace_ns;
    int64_t warmup;
    uint64_t seed;

    /* what to tell */
    const char *json_path;
    const char *records_path;
    const char *aiperf_path;
    int64_t timeline_ns; /* 0: none */
    bool quiet;
};

/* Whether requests are due by a schedule, not when an earlier one has ended. */
static inline bool options_open_loop(const struct options *options)
{
    return options->request_rate > 0 || options->trace_path;
}

/* Reads the command line, or exits with a message. */
void options_read(struct options *options, int argc, char **argv);

void options_clear(struct options *options);

#endif
