/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOKENS 1000000

static int64_t count_words(const char *text)
{
    int64_t words = 0;
    while (*(text += strspn(text, " \t\r\n")) != '\0') {
        words++;
        text += strcspn(text, " \t\r\n");
    }
    return words;
}

/* A string, or an array of strings or of parts that have a text. */
static int64_t count_text(const json_t *text)
{
    if (json_is_string(text))
        return count_words(json_string_value(text));
    int64_t words = 0;
    size_t i;
    const json_t *part;
    json_array_foreach(text, i, part)
    {
        const json_t *inner = json_is_object(part) ? json_object_get(part, "text") : part;
        if (json_is_string(inner))
            words += count_words(json_string_value(inner));
    }
    return words;
}

static const char *count_input(struct request *request, const json_t *root)
{
    size_t i;
    const json_t *message;
    if (!request->chat) {
        const json_t *prompt = json_object_get(root, "prompt");
        if (!json_is_string(prompt) && !json_is_array(prompt))
            return "prompt: must be a string or an array";
        request->input_tokens = count_text(prompt);
        return NULL;
    }
    const json_t *messages = json_object_get(root, "messages");
    if (json_array_size(messages) == 0)
        return "messages: must be an array with a message";
    json_array_foreach(messages, i, message)
        request->input_tokens += count_text(json_object_get(message, "content"));
    return NULL;
}

static const char *read_limit(struct request *request, const json_t *root)
{
    const json_t *limit = json_object_get(root, "max_completion_tokens");
    if (!limit)
        limit = json_object_get(root, "max_tokens");
    request->output_tokens = -1;
    if (!limit || json_is_null(limit))
        return NULL;
    if (!json_is_integer(limit) || json_integer_value(limit) < 0 ||
        json_integer_value(limit) > MOST_TOKENS)
        return "max_tokens: must be a whole number from 0 to 1000000";
    request->output_tokens = json_integer_value(limit);
    return NULL;
}

static const char *read_root(struct request *request, const json_t *root)
{
    const json_t *options = json_object_get(root, "stream_options");
    json_t *model = json_object_get(root, "model");
    request->stream = json_is_true(json_object_get(root, "stream"));
    request->include_usage = json_is_true(json_object_get(options, "include_usage"));
    if (!json_is_string(model))
        return "model: must be a string";
    const char *wrong = read_limit(request, root);
    if (!wrong)
        wrong = count_input(request, root);
    if (wrong)
        return wrong;
    request->model = json_dumps(model, JSON_ENCODE_ANY);
    return request->model ? NULL : "model: no memory";
}

const char *request_read(struct request *request, bool chat, const char *body,
                         size_t length)
{
    *request = (struct request){.chat = chat};
    json_t *root = length > 0 ? json_loadb(body, length, 0, NULL) : NULL;
    const char *wrong = json_is_object(root) ? read_root(request, root)
                                             : "the body must be a JSON object";
    json_decref(root);
    return wrong;
}

void request_clear(struct request *request)
{
    free(request->model);
    request->model = NULL;
}
