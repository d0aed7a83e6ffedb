/* SPDX-License-Identifier: MIT */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The requests of a simulated load test, as columns: what all that is compared gets as its
 * input. Log-normal prefill (median 90 ms) and decode (1.8 s), some 500 input and 200
 * output tokens. The same description gives the same requests. */

enum traffic_load {
    TRAFFIC_CLOSED, /* 1024 users, each with one request after the other */
    TRAFFIC_BURSTY  /* arrivals in bursts, some 50,000 requests at once */
};

enum traffic_order { TRAFFIC_BY_END, TRAFFIC_BY_START, TRAFFIC_SHUFFLED };

typedef struct traffic {
    size_t count;
    int64_t *credit_ns; /* NULL: without credits */
    int64_t *start_ns;
    int64_t *first_ns; /* the first token */
    int64_t *end_ns;
    int64_t *input;
    int64_t *output;
    size_t gaps;       /* of each request, between its chunks; 0: without chunks */
    int64_t *chunk_ns; /* gaps arrivals of each request, the last at its end; or NULL */
} traffic;

/* gaps > 0: each decode consists of so many gaps of some 9 ms. */
traffic *traffic_new(size_t count, enum traffic_load load, enum traffic_order order,
                     bool credits, size_t gaps);
void traffic_free(traffic *t);

/* The earliest start. */
int64_t traffic_origin(const traffic *t);

/* Writes count, then the columns start, first, end (since the earliest start), input and
 * output, all int64 in the order of this machine's bytes. */
void traffic_write(const traffic *t, const char *path);

#endif
