/* SPDX-License-Identifier: MIT */
#ifndef MOCKSERVER_ANSWER_H
#define MOCKSERVER_ANSWER_H

#include "request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that grows. Zero is empty. */
struct text {
    char *bytes;
    size_t length;
    size_t capacity;
    bool no_memory; /* something is missing in it */
};

void text_clear(struct text *text);

/* What the server says. The number of the request makes the ids. */

void answer_role(struct text *text, const struct request *request, uint64_t number);

void answer_tokens(struct text *text, const struct request *request, uint64_t number,
                   int64_t tokens, bool reasoning);

/* The last chunk, a usage chunk if it is wanted, and [DONE]. */
void answer_end(struct text *text, const struct request *request, uint64_t number,
                int64_t output_tokens, bool usage);

/* An error inside a stream. */
void answer_stream_error(struct text *text, const char *message);

/* A whole body. */
void answer_body(struct text *text, const struct request *request, uint64_t number,
                 int64_t output_tokens, int64_t reasoning_tokens, bool usage);

/* The body of an error; the message is plain ASCII without quotes and backslashes, as
 * far as it is not in quoted. quoted may be NULL. */
void answer_error(struct text *text, int status, const char *message, const char *quoted);

#endif
