/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_FAILURES_H
#define LOADGEN_FAILURES_H

#include "message.h"

#include <stdint.h>
#include <stdio.h>

#define FAILURES_LIMIT 12

/* Why requests failed: the first reasons by name, the others as a number. Zero: none. */
struct failures {
    struct {
        char reason[MESSAGE_ERROR_SIZE];
        uint64_t count;
    } list[FAILURES_LIMIT];
    uint64_t others;
};

void failures_add(struct failures *failures, const char *reason);
void failures_print(const struct failures *failures, FILE *file);

#endif
