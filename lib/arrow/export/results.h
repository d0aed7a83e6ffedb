/* SPDX-License-Identifier: MIT */
#ifndef TWI_ARROW_EXPORT_RESULTS_H
#define TWI_ARROW_EXPORT_RESULTS_H

/* An analysis as Arrow streams, which do not need it any more. All: TW_OK, TW_ERR_NOMEM. */

#include <stdint.h>
#include <timeweight/arrow.h>

#include "metric/registry.h"

int32_t twi_arrow_metrics(struct ArrowArrayStream *out, const tw_analysis *analysis);
/* Of a curve that is emitted. */
int32_t twi_arrow_curve(struct ArrowArrayStream *out, const tw_analysis *analysis,
                        const twi_metric *metric);
/* In bins that fit. */
int32_t twi_arrow_series(struct ArrowArrayStream *out, const tw_analysis *analysis,
                         const twi_metric *metric, int64_t begin_ns, int64_t width_ns,
                         uint64_t count);

#endif
