/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_ANSWER_H
#define LOADGEN_ANSWER_H

#include "buffer.h"
#include "message.h"
#include "sse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One response as it comes in: which of its pieces bring tokens and when they came. It
 * knows nothing of the network. */
struct answer {
    struct sse sse;
    struct buffer body; /* of what is no stream of events */
    bool streaming;     /* the body is a stream of events */
    bool done;          /* [DONE], or a finish_reason */
    int64_t *arrivals;  /* of content */
    size_t arrival_count;
    size_t arrival_capacity;
    int64_t now_ns;        /* of the bytes that are being read */
    int64_t prompt_tokens; /* the server's counts; -1: it sent none */
    int64_t completion_tokens;
    char error[MESSAGE_ERROR_SIZE]; /* empty: none so far */
};

/* For the next response; memory is kept. */
void answer_reset(struct answer *answer);

/* Before the first bytes: what the headers say. */
void answer_begin(struct answer *answer, bool event_stream);

/* Bytes that arrived at now_ns. False: there is an error, and the rest does not matter. */
bool answer_take(struct answer *answer, const char *bytes, size_t length, int64_t now_ns);

/* The response is complete, with this HTTP status: is it a success? Else there is an
 * error. */
bool answer_end(struct answer *answer, long http_status);

void answer_clear(struct answer *answer);

#endif
