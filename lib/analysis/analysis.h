/* SPDX-License-Identifier: MIT */
#ifndef TWI_ANALYSIS_ANALYSIS_H
#define TWI_ANALYSIS_ANALYSIS_H

/* The pipeline and its immutable result. */

#include <stdbool.h>
#include <stdint.h>
#include <timeweight/analysis.h>

#include "analysis/core.h"
#include "analysis/source.h"
#include "base/mark.h"
#include "metric/registry.h"
#include "stat/dist.h"

#define TWI_STANDARD_QUANTILES 9

/* What the members of a window amount to, beside the samples. */
typedef struct twi_totals {
    uint64_t ok;
    uint64_t not_ok;        /* members that failed or were cancelled */
    uint64_t not_ok_credit; /* those of them with a credit */
    twi_u192 input_tokens;  /* of the ok members */
    twi_u192 output_tokens;
} twi_totals;

struct tw_analysis {
    twi_mark mark; /* TWI_MARK_ANALYSIS */
    tw_allocator allocator;
    twi_core *core;
    twi_run run;
    tw_balance balance;
    twi_totals totals;

    twi_dist dist[TWI_SOURCE_COUNT];

    /* The quantiles at hand: the standard ones first, then those of the options that are
     * not among them, each part in ascending order. */
    uint64_t *quantiles;
    size_t quantile_count;
    uint64_t quantile_room; /* as allocated */

    bool emitted[TWI_METRIC_COUNT];
    tw_summary summary[TWI_METRIC_COUNT];
    double *values; /* [metric * quantile_count + quantile] */
};

/* What tw_options says, validated. */
typedef struct twi_request {
    tw_allocator allocator;
    const twi_kernel *kernel; /* how to make the core */
    twi_parallel parallel;
    bool has_begin, has_end;
    int64_t begin_ns, end_ns;
    const uint64_t *quantiles; /* to have at hand beside the standard ones */
    size_t quantile_count;
} twi_request;

/* An analysis of a window of the core's run; it takes a reference of its own. TW_OK,
 * TW_ERR_NOMEM, or TW_ERR_INVAL for a window that begins after its end. */
int32_t twi_analysis_new(tw_analysis **out, twi_core *core, const twi_request *request);
/* Another window of the same run, with the same allocator and quantiles at hand. */
int32_t twi_analysis_window(tw_analysis **out, const tw_analysis *analysis,
                            int64_t begin_ns, int64_t end_ns);
void twi_analysis_free(tw_analysis *analysis);

/* Any quantiles of an emitted curve or sample metric, by index in the registry: from the
 * table where they are at hand, else by passes over the run, on bounded stack. */
void twi_analysis_quantiles(const tw_analysis *analysis, size_t metric,
                            const uint64_t *quantiles, double *values, size_t count);

#endif
