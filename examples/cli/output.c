/* SPDX-License-Identifier: MIT */
#include "output.h"
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int first_error;

int32_t output_write(void *user_data, const char *bytes, size_t length)
{
    (void)user_data;
    errno = 0;
    if (fwrite(bytes, 1, length, stdout) != length && first_error == 0)
        first_error = errno != 0 ? errno : EIO;
    return first_error != 0;
}

void output_close(void)
{
    int failed_before = ferror(stdout);
    errno = 0;
    if (fflush(stdout) != 0 || failed_before) {
        if (first_error == 0)
            first_error = errno != 0 ? errno : EIO;
    }
    if (first_error == 0)
        return;
    fprintf(stderr, "timeweight: standard output: %s\n", strerror(first_error));
    _exit(CLI_FAILURE);
}
