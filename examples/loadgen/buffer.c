/* SPDX-License-Identifier: MIT */
#include "buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct buffer *buffer, size_t length)
{
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < length) {
        if (capacity > SIZE_MAX / 2)
            return false;
        capacity *= 2;
    }
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        return false;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

bool buffer_add(struct buffer *buffer, const char *bytes, size_t length)
{
    size_t wanted = buffer->length + length;
    if (wanted < length || (wanted > buffer->capacity && !reserve(buffer, wanted)))
        return false;
    if (length > 0)
        memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length = wanted;
    return true;
}

void buffer_clear(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}
