/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- text ------------------------------------------------------------------------ */

static bool reserve(struct text *text, size_t more)
{
    size_t wanted = text->length + more;
    if (wanted <= text->capacity)
        return true;
    size_t capacity = text->capacity ? text->capacity : 512;
    while (capacity < wanted)
        capacity *= 2;
    char *bytes = realloc(text->bytes, capacity);
    if (!bytes) {
        text->no_memory = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

__attribute__((format(printf, 2, 3))) static void add(struct text *text,
                                                      const char *format, ...)
{
    for (int try = 0; try < 2; try++) {
        size_t room = text->capacity - text->length;
        va_list arguments;
        va_start(arguments, format);
        int length = vsnprintf(text->bytes ? text->bytes + text->length : NULL, room,
                               format, arguments);
        va_end(arguments);
        if (length < 0)
            break;
        if ((size_t)length < room) {
            text->length += (size_t)length;
            return;
        }
        if (!reserve(text, (size_t)length + 1))
            return;
    }
    text->no_memory = true;
}

void text_clear(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

/* ---- chunks ---------------------------------------------------------------------- */

static void begin_chunk(struct text *text, const struct request *request, uint64_t number)
{
    const char *id = request->chat ? "chatcmpl" : "cmpl";
    const char *object = request->chat ? "chat.completion.chunk" : "text_completion";
    add(text,
        "data: {\"id\":\"%s-%" PRIu64 "\",\"object\":\"%s\",\"created\":%" PRId64
        ",\"model\":%s,\"choices\":[",
        id, number, object, (int64_t)time(NULL), request->model);
}

static void end_chunk(struct text *text, const struct request *request)
{
    add(text, "]%s}\n\n", request->include_usage ? ",\"usage\":null" : "");
}

static void add_words(struct text *text, int64_t tokens)
{
    for (int64_t i = 0; i < tokens; i++)
        add(text, " word");
}

void answer_role(struct text *text, const struct request *request, uint64_t number)
{
    if (!request->chat)
        return;
    begin_chunk(text, request, number);
    add(text, "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
              "\"finish_reason\":null}");
    end_chunk(text, request);
}

void answer_tokens(struct text *text, const struct request *request, uint64_t number,
                   int64_t tokens, bool reasoning)
{
    begin_chunk(text, request, number);
    if (!request->chat)
        add(text, "{\"index\":0,\"text\":\"");
    else if (reasoning)
        add(text, "{\"index\":0,\"delta\":{\"reasoning_content\":\"");
    else
        add(text, "{\"index\":0,\"delta\":{\"content\":\"");
    add_words(text, tokens);
    add(text,
        request->chat ? "\"},\"finish_reason\":null}" : "\",\"finish_reason\":null}");
    end_chunk(text, request);
}

static void add_usage(struct text *text, const struct request *request,
                      int64_t output_tokens)
{
    add(text,
        "\"usage\":{\"prompt_tokens\":%" PRId64 ",\"completion_tokens\":%" PRId64
        ",\"total_tokens\":%" PRId64 "}",
        request->input_tokens, output_tokens, request->input_tokens + output_tokens);
}

void answer_end(struct text *text, const struct request *request, uint64_t number,
                int64_t output_tokens, bool usage)
{
    begin_chunk(text, request, number);
    add(text, "{\"index\":0,%s,\"finish_reason\":\"length\"}",
        request->chat ? "\"delta\":{}" : "\"text\":\"\"");
    end_chunk(text, request);
    if (usage) {
        begin_chunk(text, request, number);
        add(text, "],");
        add_usage(text, request, output_tokens);
        add(text, "}\n\n");
    }
    add(text, "data: [DONE]\n\n");
}

/* ---- whole bodies ---------------------------------------------------------------- */

void answer_body(struct text *text, const struct request *request, uint64_t number,
                 int64_t output_tokens, int64_t reasoning_tokens, bool usage)
{
    const char *id = request->chat ? "chatcmpl" : "cmpl";
    const char *object = request->chat ? "chat.completion" : "text_completion";
    add(text,
        "{\"id\":\"%s-%" PRIu64 "\",\"object\":\"%s\",\"created\":%" PRId64
        ",\"model\":%s,\"choices\":[{\"index\":0,",
        id, number, object, (int64_t)time(NULL), request->model);
    if (request->chat) {
        add(text, "\"message\":{\"role\":\"assistant\",\"reasoning_content\":\"");
        add_words(text, reasoning_tokens);
        add(text, "\",\"content\":\"");
        add_words(text, output_tokens - reasoning_tokens);
        add(text, "\"}");
    } else {
        add(text, "\"text\":\"");
        add_words(text, output_tokens);
        add(text, "\"");
    }
    add(text, ",\"finish_reason\":\"length\"}]%s", usage ? "," : "");
    if (usage)
        add_usage(text, request, output_tokens);
    add(text, "}\n");
}

static const char *error_type(int status)
{
    if (status == 401)
        return "authentication_error";
    return status < 500 ? "invalid_request_error" : "server_error";
}

void answer_error(struct text *text, int status, const char *message, const char *quoted)
{
    json_t *whole = json_sprintf("%s%s", message, quoted ? quoted : "");
    char *string = whole ? json_dumps(whole, JSON_ENCODE_ANY) : NULL;
    json_decref(whole);
    add(text, "{\"error\":{\"message\":%s,\"type\":\"%s\",\"code\":%d}}\n",
        string ? string : "\"(no text)\"", error_type(status), status);
    free(string);
}

void answer_stream_error(struct text *text, const char *message)
{
    add(text,
        "data: {\"error\":{\"message\":\"%s\",\"type\":\"server_error\",\"code\":500}}"
        "\n\n",
        message);
}
