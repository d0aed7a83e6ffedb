/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_REQUEST_H
#define LOADGEN_REQUEST_H

#include "answer.h"
#include "transport.h"

#include <stdbool.h>
#include <stdint.h>
#include <timeweight/timeweight.h>

/* One request at a time, and where it is in flight. The times are those of tw_record. */
struct request {
    struct call *call;
    struct loop *loop;    /* whose it is while it is in flight */
    struct request *next; /* among those that are free */
    uint64_t number;      /* of the run, from 0 */
    int64_t due_ns;
    int64_t start_ns;
    int64_t end_ns;
    int64_t free_ns; /* since when nothing is in flight here */
    int64_t input_tokens;
    bool asked_stream;
    bool in_flight;
    int32_t status; /* #tw_record_status */
    long http_status;
    struct answer answer;
};

/* What the library is to know about a request that has ended, or that is in flight. The
 * record points into the request. */
void request_record(const struct request *request, tw_record *record);

/* Are these the server's counts (else those of the generator)? */
bool request_has_usage(const struct request *request);

#endif
