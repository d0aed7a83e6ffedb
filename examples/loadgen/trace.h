/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_TRACE_H
#define LOADGEN_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct trace_row {
    int64_t due_ns; /* since the first row */
    int64_t input_tokens;
    int64_t output_tokens;
};

/* When requests came to a server, in order of time. Zero is empty. */
struct trace {
    struct trace_row *rows;
    size_t count;
    size_t capacity;
};

/* What is wrong, and where. */
struct trace_error {
    uint64_t line; /* 0: the file as a whole */
    const char *field;
    const char *rule;
};

/* Reads a trace: Mooncake's JSON Lines (timestamp in ms, input_length, output_length) or
 * Azure's CSV (TIMESTAMP,ContextTokens,GeneratedTokens); its first line tells which.
 * Rows need not be in order. False: error is filled. */
bool trace_read(struct trace *trace, FILE *file, struct trace_error *error);

void trace_clear(struct trace *trace);

#endif
