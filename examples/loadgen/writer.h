/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_WRITER_H
#define LOADGEN_WRITER_H

#include "request.h"

#include <stdbool.h>
#include <stdio.h>
#include <timeweight/timeweight.h>

/* A file of JSON Lines that is written as the run goes. Zero is none. */
struct writer {
    FILE *file;
    char *buffer; /* of the file: larger than a line */
    const char *path;
    size_t pending; /* bytes of whole lines that are not in the file yet */
    int error;      /* errno of the first failure */
};

/* NULL or an empty writer for no path; "-" is standard output. False after a message. */
bool writer_open(struct writer *writer, const char *path);

/* Adds a request in the format that `timeweight report` calls records. */
void writer_add_record(struct writer *writer, const tw_record *record);

/* Adds a request as AIPerf writes it. A request in flight counts as cancelled then. */
void writer_add_aiperf(struct writer *writer, const struct request *request,
                       const tw_record *record, bool warmup, int64_t now_ns);

/* Gives all whole lines to the kernel: they survive the end of this process. */
void writer_flush(struct writer *writer);

/* False after a message: something could not be written. */
bool writer_close(struct writer *writer);

#endif
