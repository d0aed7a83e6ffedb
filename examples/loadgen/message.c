/* SPDX-License-Identifier: MIT */
#include "message.h"

#include <jansson.h>
#include <string.h>

/* The library's limit of token counts. */
#define MOST_TOKENS ((json_int_t)1 << 40)

void message_copy_error(char error[MESSAGE_ERROR_SIZE], const char *text)
{
    size_t length = strnlen(text, MESSAGE_ERROR_SIZE);
    if (length == MESSAGE_ERROR_SIZE) {
        length--;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
            length--;
    }
    memmove(error, text, length);
    error[length] = '\0';
}

static bool is_not_empty(const json_t *value)
{
    return json_string_length(value) > 0 || json_array_size(value) > 0;
}

static bool has_tokens(const json_t *delta)
{
    static const char *const keys[] = {"content", "reasoning_content", "reasoning",
                                       "refusal", "tool_calls"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (is_not_empty(json_object_get(delta, keys[i])))
            return true;
    return false;
}

static void read_choice(struct message *message, const json_t *choice)
{
    message->content |= has_tokens(json_object_get(choice, "delta")) ||
                        has_tokens(json_object_get(choice, "message")) ||
                        is_not_empty(json_object_get(choice, "text"));
    message->finished |= json_is_string(json_object_get(choice, "finish_reason"));
}

static int64_t read_count(const json_t *usage, const char *key)
{
    const json_t *count = json_object_get(usage, key);
    json_int_t value = json_is_integer(count) ? json_integer_value(count) : -1;
    return value >= 0 && value < MOST_TOKENS ? value : -1;
}

/* {"error": {"message": ...}}, {"error": "..."}, {"object": "error", "message": ...} or
 * {"detail": ...}: what servers of this API say. */
static const json_t *find_error(const json_t *root)
{
    const json_t *error = json_object_get(root, "error");
    const char *object = json_string_value(json_object_get(root, "object"));
    const json_t *text = json_object_get(error, "message");
    if (text)
        return text;
    if (error && !json_is_null(error))
        return error;
    if (object && strcmp(object, "error") == 0)
        return json_object_get(root, "message");
    return json_object_get(root, "choices") ? NULL : json_object_get(root, "detail");
}

static void read_error(struct message *message, const json_t *root)
{
    const json_t *error = find_error(root);
    if (!error)
        return;
    const char *text = json_string_value(error);
    message_copy_error(message->error,
                       text && *text ? text : "an error without a message");
}

bool message_read(struct message *message, const char *json, size_t length)
{
    *message = (struct message){.prompt_tokens = -1, .completion_tokens = -1};
    json_t *root = length > 0 ? json_loadb(json, length, JSON_ALLOW_NUL, NULL) : NULL;
    if (!json_is_object(root)) {
        json_decref(root);
        return false;
    }
    const json_t *choices = json_object_get(root, "choices");
    const json_t *usage = json_object_get(root, "usage");
    const json_t *choice;
    size_t i;
    message->choices = json_is_array(choices);
    json_array_foreach(choices, i, choice) read_choice(message, choice);
    message->prompt_tokens = read_count(usage, "prompt_tokens");
    message->completion_tokens = read_count(usage, "completion_tokens");
    read_error(message, root);
    json_decref(root);
    return true;
}
