/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Noreturn void bench_fail(const char *what, const char *why)
{
    fflush(stdout);
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

void *bench_alloc(size_t count, size_t size)
{
    void *memory = count <= SIZE_MAX / size ? malloc(count > 0 ? count * size : 1) : NULL;
    if (!memory)
        bench_fail("memory", "exhausted");
    return memory;
}

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

spread bench_spread(const double *values, size_t count)
{
    double *sorted = bench_alloc(count, sizeof *sorted);
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    spread s = {(sorted[(count - 1) / 2] + sorted[count / 2]) / 2, sorted[0],
                sorted[count - 1]};
    free(sorted);
    return s;
}
