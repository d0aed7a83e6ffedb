/* SPDX-License-Identifier: MIT */
#ifndef TWI_ANALYSIS_RESULT_H
#define TWI_ANALYSIS_RESULT_H

/* From distributions to the numbers of one metric: which part of its source's
 * distribution a metric looks at, and in which unit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "stat/rank.h"

/* Index of the source of a curve or sample metric. */
int twi_result_source(const twi_metric *metric);

/* False if the metric has no value here: known once the dists are settled. */
bool twi_result_is_emitted(const tw_analysis *analysis, const twi_metric *metric);
/* Fills in the summary of an emitted metric: needs the moments. */
void twi_result_summary(const tw_analysis *analysis, const twi_metric *metric,
                        tw_summary *summary);

/* Where a quantile of an emitted curve or sample metric lies in its source's dist; rank 0
 * stands for +inf. */
twi_place twi_result_place(const tw_analysis *analysis, const twi_metric *metric,
                           uint64_t quantile);
/* The value at a place, from the values at its rank and the next. */
double twi_result_value(const twi_metric *metric, twi_place place, double at,
                        double next);

#endif
