/* SPDX-License-Identifier: MIT */
#ifndef TWI_METRIC_REGISTRY_H
#define TWI_METRIC_REGISTRY_H

/* The registry: every metric is a row of one table (doc/internals.md, "How to add"). */

#include <stdbool.h>
#include <stddef.h>
#include <timeweight/metric.h>

#include "base/big.h"
#include "metric/sample.h"
#include "timeline/curve.h"

typedef enum twi_scalar {
    TWI_SCALAR_REQUESTS,
    TWI_SCALAR_ERRORS,
    TWI_SCALAR_DURATION,
    TWI_SCALAR_REQUEST_RATE,
    TWI_SCALAR_OUTPUT_RATE,
    TWI_SCALAR_TOKEN_RATE
} twi_scalar;

typedef struct twi_metric {
    tw_metric_row row; /* row.struct_size is 0 here */
    int source;        /* twi_curve, twi_sample or twi_scalar, by row.kind */
    int mask;          /* twi_curve of an Active metric, or -1 */
    bool adjusted;     /* one +inf for each member that did not end well */
    twi_scale scale;   /* from the source's unit to the metric's */
} twi_metric;

#define TWI_METRIC_COUNT 33

extern const twi_metric twi_metrics[]; /* TWI_METRIC_COUNT of them */

/* Index of an id in the table, or TWI_METRIC_COUNT. */
size_t twi_metric_index(int32_t id);
/* Index of a tag, or TWI_METRIC_COUNT. */
size_t twi_metric_index_of_tag(const char *tag);

#endif
