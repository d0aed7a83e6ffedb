/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_BUFFER_H
#define LOADGEN_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that grow. Zero is empty. */
struct buffer {
    char *bytes;
    size_t length;
    size_t capacity;
};

/* False: no memory, and nothing is added. */
bool buffer_add(struct buffer *buffer, const char *bytes, size_t length);

void buffer_clear(struct buffer *buffer);

#endif
