/* SPDX-License-Identifier: MIT */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "input.h"

#include <stdbool.h>

/* Reads the files of one run, and keeps count of what did not come in as it was. */
struct load {
    enum input_format format;
    bool keep_going;
    bool saw_aiperf;
    uint64_t end_adjusted_rows;
    uint64_t rows_skipped;
    uint64_t warmup_rows_left_out;
    char *first_skipped; /* a message, once there are skipped rows */
};

/* Appends the rows of a file to a recorder. Returns 0, or -1 after a message. */
int load_file(struct load *load, const char *path, tw_recorder *recorder);

void load_clear(struct load *load);

#endif
