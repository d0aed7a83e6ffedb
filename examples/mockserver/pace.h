/* SPDX-License-Identifier: MIT */
#ifndef MOCKSERVER_PACE_H
#define MOCKSERVER_PACE_H

#include "../common/random.h"

#include <stdint.h>

/* How fast the server is. Times are relative to its first request. */
struct pace {
    int64_t ttft_ns;
    int64_t itl_ns;
    int64_t jitter_ns;  /* each wait is up to so much longer or shorter */
    int64_t prefill_ns; /* of each input token */
    int64_t stall_at_ns;
    int64_t stall_ns; /* 0: no stall */
};

/* When work of some length is done that begins at a time: a stall does none. */
int64_t pace_done(const struct pace *pace, int64_t begin_ns, int64_t work_ns);

/* When the first token is due of a request that is begun now. */
int64_t pace_first(const struct pace *pace, int64_t begin_ns, int64_t input_tokens,
                   struct random *random);

/* When the token after the one at previous_ns is due. */
int64_t pace_next(const struct pace *pace, int64_t previous_ns, struct random *random);

#endif
