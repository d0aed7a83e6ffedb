/* SPDX-License-Identifier: MIT */
#ifndef TWI_ANALYSIS_QUANTILES_H
#define TWI_ANALYSIS_QUANTILES_H

/* Runs the selection: for all metrics at once while an analysis is made, for one metric
 * when a query asks for quantiles that are not at hand. */

#include "analysis/analysis.h"

/* Fills analysis->values for every emitted curve and sample metric. TW_OK, TW_ERR_NOMEM.
 */
int32_t twi_quantiles_compute(tw_analysis *analysis, twi_pairs *buffers);

#endif
