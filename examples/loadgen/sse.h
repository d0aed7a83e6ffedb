/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_SSE_H
#define LOADGEN_SSE_H

#include "buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* The most bytes of a line and of an event. */
#define SSE_LIMIT ((size_t)16 * 1024 * 1024)

/* The data of an event, its lines joined by newlines. Returns false to stop. */
typedef bool (*sse_event_fn)(void *user_data, const char *data, size_t length);

enum sse_result { SSE_OK, SSE_STOPPED, SSE_TOO_LONG, SSE_NO_MEMORY };

/* Server-sent events, cut into pieces anywhere, as the HTML standard has them. Zero is the
 * beginning of a stream. */
struct sse {
    struct buffer line; /* the beginning of a line, of which the rest is to come */
    struct buffer data;
    bool after_cr; /* a newline now is the end of a CRLF */
    bool begun;
};

/* Takes the next bytes of the stream. After anything but SSE_OK the stream is over. */
enum sse_result sse_feed(struct sse *sse, const char *bytes, size_t length,
                         sse_event_fn event, void *user_data);

/* Back to the beginning; memory is kept. */
void sse_reset(struct sse *sse);

void sse_clear(struct sse *sse);

#endif
