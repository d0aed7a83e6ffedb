/* SPDX-License-Identifier: MIT */
#ifndef TWI_ANALYSIS_QUANTILES_H
#define TWI_ANALYSIS_QUANTILES_H

/* The passes behind the first one: they select the quantiles, for all metrics at once while
 * an analysis is made, for one metric when a query asks for quantiles that are not at
 * hand. */

#include "analysis/analysis.h"

/* Takes dists that are settled; feeds their moments and fills analysis->values for every
 * emitted curve and sample metric. TW_OK, TW_ERR_NOMEM. */
int32_t twi_quantiles_compute(tw_analysis *analysis, uint32_t sources,
                              const twi_parallel *parallel, uint32_t parts);

#endif
