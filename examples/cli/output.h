/* SPDX-License-Identifier: MIT */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

/* Writes to standard output; a tw_write_fn. After a failure it says so again and again.
 */
int32_t output_write(void *user_data, const char *bytes, size_t length);

/* For atexit(): a full disk or a closed pipe is told once, and fails the program. */
void output_close(void);

#endif
