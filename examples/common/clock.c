/* SPDX-License-Identifier: MIT */
#include "clock.h"

static int64_t origin_ns; /* 1970 on the monotonic clock, negated */

static int64_t read_ns(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now); /* both clocks always exist */
    return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

void clock_begin(void)
{
    origin_ns = read_ns(CLOCK_REALTIME) - read_ns(CLOCK_MONOTONIC);
}

int64_t clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC) + origin_ns;
}

struct timespec clock_duration(int64_t duration_ns)
{
    return (struct timespec){.tv_sec = duration_ns / NS_PER_SEC,
                             .tv_nsec = duration_ns % NS_PER_SEC};
}

struct timespec clock_monotonic(int64_t time_ns)
{
    int64_t since_boot_ns = time_ns - origin_ns;
    return clock_duration(since_boot_ns > 0 ? since_boot_ns : 0);
}
