/* SPDX-License-Identifier: MIT */
#ifndef CURVES_H
#define CURVES_H

/* The 14 metrics that all peers compute, and what they say about each. In tokens, requests
 * and seconds. */

enum curve_metric {
    CURVE_CONCURRENCY,
    CURVE_DECODE_THROUGHPUT,
    CURVE_PREFILL_THROUGHPUT,
    CURVE_DECODE_CONCURRENCY,
    CURVE_PREFILL_CONCURRENCY,
    CURVE_TOTAL_THROUGHPUT,
    CURVE_DECODE_THROUGHPUT_PER_USER,
    CURVE_PREFILL_THROUGHPUT_PER_USER,
    CURVE_TOKENS_IN_FLIGHT,
    CURVE_ACTIVE_DECODE_THROUGHPUT,
    CURVE_ACTIVE_PREFILL_THROUGHPUT,
    CURVE_ACTIVE_DECODE_THROUGHPUT_PER_USER,
    CURVE_ACTIVE_PREFILL_THROUGHPUT_PER_USER,
    CURVE_ACTIVE_TOTAL_THROUGHPUT,
    CURVE_METRICS
};

enum { CURVE_QUANTILES = 4 };

/* 50, 90, 95, 99 %. */
extern const double curve_quantiles[CURVE_QUANTILES];

typedef struct curve_stats {
    double avg, min, max, std;
    double quantile[CURVE_QUANTILES];
} curve_stats;

#endif
