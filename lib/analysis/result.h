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

/* Fills in the summary; false if the metric is not emitted. */
bool twi_result_summary(const tw_analysis *analysis, const twi_metric *metric,
                        tw_summary *summary);

/* Where a quantile of an emitted curve or sample metric lies in its source's dist; rank 0
 * stands for +inf. */
twi_place twi_result_place(const tw_analysis *analysis, const twi_metric *metric,
                           uint64_t quantile);
/* The value at a place, from the values at its rank and the next. */
double twi_result_value(const twi_metric *metric, twi_place place, twi_u192 at,
                        twi_u192 next);

#endif
