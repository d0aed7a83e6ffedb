/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_LIMIT ((size_t)64 * 1024 * 1024)

void answer_reset(struct answer *answer)
{
    sse_reset(&answer->sse);
    answer->body.length = 0;
    answer->streaming = false;
    answer->done = false;
    answer->arrival_count = 0;
    answer->prompt_tokens = -1;
    answer->completion_tokens = -1;
    answer->error[0] = '\0';
}

void answer_begin(struct answer *answer, bool event_stream)
{
    answer->streaming = event_stream;
}

static bool fail(struct answer *answer, const char *why)
{
    message_copy_error(answer->error, why);
    return false;
}

static bool add_arrival(struct answer *answer)
{
    if (answer->arrival_count == answer->arrival_capacity) {
        size_t capacity = answer->arrival_capacity ? 2 * answer->arrival_capacity : 128;
        int64_t *arrivals = reallocarray(answer->arrivals, capacity, sizeof *arrivals);
        if (!arrivals)
            return fail(answer, "no memory");
        answer->arrivals = arrivals;
        answer->arrival_capacity = capacity;
    }
    answer->arrivals[answer->arrival_count++] = answer->now_ns;
    return true;
}

/* Counts may come in every chunk: the last are those of the whole. */
static void take_usage(struct answer *answer, const struct message *message)
{
    if (message->prompt_tokens >= 0)
        answer->prompt_tokens = message->prompt_tokens;
    if (message->completion_tokens >= 0)
        answer->completion_tokens = message->completion_tokens;
}

static bool take_event(void *user_data, const char *data, size_t length)
{
    static const char done[] = "[DONE]";
    struct answer *answer = user_data;
    struct message message;
    if (length == strlen(done) && memcmp(data, done, length) == 0) {
        answer->done = true;
        return true;
    }
    if (!message_read(&message, data, length))
        return fail(answer, "an event is no JSON object");
    if (message.error[0])
        return fail(answer, message.error);
    take_usage(answer, &message);
    answer->done |= message.finished;
    return !message.content || add_arrival(answer);
}

static bool take_piece(struct answer *answer, const char *bytes, size_t length)
{
    if (length > BODY_LIMIT - answer->body.length)
        return fail(answer, "the body is too long");
    return buffer_add(&answer->body, bytes, length) || fail(answer, "no memory");
}

bool answer_take(struct answer *answer, const char *bytes, size_t length, int64_t now_ns)
{
    answer->now_ns = now_ns;
    if (!answer->streaming)
        return take_piece(answer, bytes, length);
    switch (sse_feed(&answer->sse, bytes, length, take_event, answer)) {
    case SSE_OK:
        return true;
    case SSE_STOPPED:
        return false; /* with its error */
    case SSE_TOO_LONG:
        return fail(answer, "an event is too long");
    case SSE_NO_MEMORY:
        break;
    }
    return fail(answer, "no memory");
}

static bool end_stream(struct answer *answer)
{
    return answer->done || fail(answer, "the stream ended too early");
}

static bool end_body(struct answer *answer)
{
    struct message message;
    if (!message_read(&message, answer->body.bytes, answer->body.length))
        return fail(answer, "the body is no JSON object");
    if (message.error[0])
        return fail(answer, message.error);
    if (!message.choices)
        return fail(answer, "the body has no choices");
    take_usage(answer, &message);
    return true;
}

static bool end_with_status(struct answer *answer, long http_status)
{
    struct message message;
    char why[MESSAGE_ERROR_SIZE + 32];
    bool said = answer->error[0] != '\0';
    if (!said && message_read(&message, answer->body.bytes, answer->body.length) &&
        message.error[0]) {
        (void)fail(answer, message.error);
        said = true;
    }
    (void)snprintf(why, sizeof why, "HTTP %ld%s%s", http_status, said ? ": " : "",
                   answer->error);
    return fail(answer, why);
}

bool answer_end(struct answer *answer, long http_status)
{
    if (http_status < 200 || http_status > 299)
        return end_with_status(answer, http_status);
    if (answer->error[0])
        return false;
    return answer->streaming ? end_stream(answer) : end_body(answer);
}

void answer_clear(struct answer *answer)
{
    sse_clear(&answer->sse);
    buffer_clear(&answer->body);
    free(answer->arrivals);
    *answer = (struct answer){0};
}
