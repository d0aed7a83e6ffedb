/* SPDX-License-Identifier: MIT */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

/* One clock that never goes back (the monotonic one), whose zero is moved once so that
 * times look like those since 1970. Call clock_begin() first, on one thread. */
void clock_begin(void);

int64_t clock_now_ns(void);

/* A time of this clock as the kernel's CLOCK_MONOTONIC has it. */
struct timespec clock_monotonic(int64_t time_ns);

/* A duration that is not negative. */
struct timespec clock_duration(int64_t duration_ns);

#endif
