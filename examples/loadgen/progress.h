/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_PROGRESS_H
#define LOADGEN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* What can be seen from outside while the run goes. */
struct progress_numbers {
    uint64_t ended;
    uint64_t total; /* UINT64_MAX: not known */
    uint64_t in_flight;
    uint64_t waiting; /* due, and no place for them */
    uint64_t unsuccessful;
    uint64_t chunks; /* of content, so far */
    double share;    /* of the run, in [0, 1] */
};

/* A line on standard error: renewed in place on a terminal, else now and then. */
struct progress {
    bool terminal;
    bool quiet;
    int64_t begin_ns;
    int64_t next_ns;
    int64_t last_ns;
    uint64_t last_chunks;
};

void progress_begin(struct progress *progress, bool quiet, int64_t now_ns);

/* Shows the line if it is time. */
void progress_update(struct progress *progress, const struct progress_numbers *numbers,
                     int64_t now_ns);

/* Shows it a last time. */
void progress_end(struct progress *progress, const struct progress_numbers *numbers,
                  int64_t now_ns);

#endif
