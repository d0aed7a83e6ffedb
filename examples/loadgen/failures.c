/* SPDX-License-Identifier: MIT */
#include "failures.h"

#include <inttypes.h>
#include <string.h>

/* Control characters of a server's message do nothing to a terminal. */
static void copy(char *to, const char *from)
{
    size_t i = 0;
    for (; from[i] && i + 1 < MESSAGE_ERROR_SIZE; i++)
        to[i] = (unsigned char)from[i] < ' ' || from[i] == 127 ? ' ' : from[i];
    to[i] = '\0';
}

void failures_add(struct failures *failures, const char *reason)
{
    char plain[MESSAGE_ERROR_SIZE];
    copy(plain, reason);
    for (int i = 0; i < FAILURES_LIMIT; i++) {
        if (failures->list[i].count == 0)
            copy(failures->list[i].reason, plain);
        if (strcmp(failures->list[i].reason, plain) == 0) {
            failures->list[i].count++;
            return;
        }
    }
    failures->others++;
}

void failures_print(const struct failures *failures, FILE *file)
{
    for (int i = 0; i < FAILURES_LIMIT && failures->list[i].count > 0; i++)
        fprintf(file, "%s%6" PRIu64 "  %s\n", i == 0 ? "Not successful:\n" : "",
                failures->list[i].count, failures->list[i].reason);
    if (failures->others > 0)
        fprintf(file, "%6" PRIu64 "  for other reasons\n", failures->others);
}
