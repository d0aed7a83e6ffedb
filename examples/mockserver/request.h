/* SPDX-License-Identifier: MIT */
#ifndef MOCKSERVER_REQUEST_H
#define MOCKSERVER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a completion request asks for. */
struct request {
    bool chat;
    bool stream;
    bool include_usage;
    int64_t input_tokens;  /* words */
    int64_t output_tokens; /* -1: not said */
    char *model;           /* as a JSON string, with its quotes */
};

/* Reads the body of a request. Returns NULL, or what is wrong. After NULL the request is
 * to be cleared. */
const char *request_read(struct request *request, bool chat, const char *body,
                         size_t length);

void request_clear(struct request *request);

#endif
