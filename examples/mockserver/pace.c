/* SPDX-License-Identifier: MIT */
#include "pace.h"

int64_t pace_done(const struct pace *pace, int64_t begin_ns, int64_t work_ns)
{
    int64_t stall_end_ns = pace->stall_at_ns + pace->stall_ns;
    if (pace->stall_ns == 0 || begin_ns >= stall_end_ns)
        return begin_ns + work_ns;
    if (begin_ns >= pace->stall_at_ns)
        return stall_end_ns + work_ns;
    int64_t end_ns = begin_ns + work_ns;
    return end_ns >= pace->stall_at_ns ? end_ns + pace->stall_ns : end_ns;
}

static int64_t wait(const struct pace *pace, int64_t work_ns, struct random *random)
{
    double spread = 2 * random_unit(random) - 1;
    work_ns += (int64_t)(spread * (double)pace->jitter_ns);
    return work_ns > 0 ? work_ns : 0;
}

int64_t pace_first(const struct pace *pace, int64_t begin_ns, int64_t input_tokens,
                   struct random *random)
{
    int64_t work_ns = wait(pace, pace->ttft_ns, random);
    return pace_done(pace, begin_ns, work_ns + pace->prefill_ns * input_tokens);
}

int64_t pace_next(const struct pace *pace, int64_t previous_ns, struct random *random)
{
    return pace_done(pace, previous_ns, wait(pace, pace->itl_ns, random));
}
