/* SPDX-License-Identifier: MIT */
#ifndef HARNESS_H
#define HARNESS_H

#include <stddef.h>

/* What all parts of the benchmark need. It is a program that measures: where it cannot go
 * on, it says why and ends. */

/* Prints "bench: what: why" and ends the program. */
_Noreturn void bench_fail(const char *what, const char *why);

/* count elements of size bytes, not zeroed: fresh memory, whose first use costs page
 * faults, as it does in the programs that are compared. Released with free(). */
void *bench_alloc(size_t count, size_t size);

/* Seconds of a monotonic clock. */
double bench_now(void);

typedef struct spread {
    double median, min, max;
} spread;

/* Of count > 0 values; leaves them as they are. */
spread bench_spread(const double *values, size_t count);

#endif
