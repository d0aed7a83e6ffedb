/* SPDX-License-Identifier: MIT */
#ifndef CLI_AIPERF_H
#define CLI_AIPERF_H

#include "input.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a row of AIPerf's profile_export.jsonl says, in any of its generations. Times and
 * durations are ns, and TW_TIME_NONE where they are not recorded. */
struct aiperf_metadata {
    int64_t credit_issued;
    int64_t request_start;
    int64_t timestamp; /* an older name of request_start */
    int64_t request_end;
    int64_t cancellation;
    int warmup;
    int was_cancelled;
};

struct aiperf_metrics {
    int64_t min_request;  /* the oldest name of request_start */
    int64_t max_response; /* an older name of request_end */
    int64_t first_token;  /* from the start */
    int64_t latency;
    int64_t input_tokens;
    int64_t output_tokens;
};

struct aiperf_row {
    struct aiperf_metadata metadata;
    struct aiperf_metrics metrics;
    int64_t *gaps; /* between successive arrivals; becomes the arrivals after the first */
    size_t gap_count;
    int failed;
    int cancelled;
};

/* Makes a record of a row. Returns 1, or 0 with the reason in *row. */
int aiperf_build(const struct aiperf_row *aiperf, struct input_row *row);

#ifdef __cplusplus
}
#endif

#endif
