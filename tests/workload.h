/* SPDX-License-Identifier: MIT */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stddef.h>
#include <stdint.h>
#include <timeweight/record.h>

/* Random records and a window that the library must accept: the same ones for the same
 * seed and max_records on every platform. */
typedef struct workload {
    tw_record *records; /* never NULL, even without records */
    size_t count;       /* at most max_records; rarely 0 */
    int has_begin;
    int64_t begin_ns; /* 0 without has_begin */
    int has_end;
    int64_t end_ns; /* 0 without has_end */
} workload;

/* 0, or -1: out of memory, and there is nothing to free. */
int workload_new(workload *w, uint64_t seed, size_t max_records);
void workload_free(workload *w);

#endif
