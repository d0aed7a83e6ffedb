/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_MESSAGE_H
#define LOADGEN_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_ERROR_SIZE 256

/* What a chunk of a stream, or a whole body, says. */
struct message {
    /* Some choice brings generated tokens: content, reasoning_content (or reasoning),
     * refusal, text or tool_calls that are not empty. A role alone is not content. */
    bool content;
    bool finished;         /* some choice has a finish_reason */
    bool choices;          /* it has choices, if only an empty array */
    int64_t prompt_tokens; /* of the usage; -1: not said */
    int64_t completion_tokens;
    char error[MESSAGE_ERROR_SIZE]; /* empty: no error */
};

/* Copies what went wrong; a long text is cut between two characters of UTF-8. */
void message_copy_error(char error[MESSAGE_ERROR_SIZE], const char *text);

/* Reads one JSON text; false: it is none, or no object. */
bool message_read(struct message *message, const char *json, size_t length);

#endif
