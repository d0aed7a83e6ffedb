/* SPDX-License-Identifier: MIT */
#include "sse.h"

#include <string.h>

static enum sse_result add(struct buffer *buffer, const char *bytes, size_t length)
{
    if (length > SSE_LIMIT - buffer->length)
        return SSE_TOO_LONG;
    return buffer_add(buffer, bytes, length) ? SSE_OK : SSE_NO_MEMORY;
}

/* "field: value", of which only data matters here. */
static enum sse_result take_field(struct sse *sse, const char *line, size_t length)
{
    static const char name[] = "data";
    const char *colon = memchr(line, ':', length);
    size_t name_length = colon ? (size_t)(colon - line) : length;
    if (name_length != strlen(name) || memcmp(line, name, name_length) != 0)
        return SSE_OK; /* also comments, whose name is empty */
    const char *value = colon ? colon + 1 : line + length;
    const char *end = line + length;
    if (value < end && *value == ' ')
        value++;
    enum sse_result result = add(&sse->data, value, (size_t)(end - value));
    return result == SSE_OK ? add(&sse->data, "\n", 1) : result;
}

static enum sse_result take_line(struct sse *sse, const char *line, size_t length,
                                 sse_event_fn event, void *user_data)
{
    static const char mark[] = "\xEF\xBB\xBF";
    if (!sse->begun && length >= 3 && memcmp(line, mark, 3) == 0) {
        line += 3;
        length -= 3;
    }
    sse->begun = true;
    if (length > 0)
        return take_field(sse, line, length);
    if (sse->data.length == 0)
        return SSE_OK;
    bool go_on = event(user_data, sse->data.bytes, sse->data.length - 1);
    sse->data.length = 0;
    return go_on ? SSE_OK : SSE_STOPPED;
}

/* The length of what stands before the end of the line, or all of it. */
static size_t line_length(const char *bytes, size_t length)
{
    const char *newline = memchr(bytes, '\n', length);
    size_t before = newline ? (size_t)(newline - bytes) : length;
    const char *cr = memchr(bytes, '\r', before);
    return cr ? (size_t)(cr - bytes) : before;
}

enum sse_result sse_feed(struct sse *sse, const char *bytes, size_t length,
                         sse_event_fn event, void *user_data)
{
    const char *end = bytes + length;
    while (bytes < end) {
        if (sse->after_cr && *bytes == '\n') {
            sse->after_cr = false;
            bytes++;
            continue;
        }
        sse->after_cr = false;
        size_t piece = line_length(bytes, (size_t)(end - bytes));
        bool whole = bytes + piece < end;
        const char *line = bytes;
        size_t whole_length = piece;
        if (!whole || sse->line.length > 0) {
            enum sse_result result = add(&sse->line, bytes, piece);
            if (result != SSE_OK)
                return result;
            line = sse->line.bytes;
            whole_length = sse->line.length;
        }
        if (!whole)
            return SSE_OK;
        sse->line.length = 0;
        enum sse_result result = take_line(sse, line, whole_length, event, user_data);
        if (result != SSE_OK)
            return result;
        sse->after_cr = bytes[piece] == '\r';
        bytes += piece + 1;
    }
    return SSE_OK;
}

void sse_reset(struct sse *sse)
{
    sse->line.length = 0;
    sse->data.length = 0;
    sse->after_cr = false;
    sse->begun = false;
}

void sse_clear(struct sse *sse)
{
    buffer_clear(&sse->line);
    buffer_clear(&sse->data);
    sse_reset(sse);
}
