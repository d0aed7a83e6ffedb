/* SPDX-License-Identifier: MIT */
#ifndef TWI_SERIES_SERIES_H
#define TWI_SERIES_SERIES_H

/* A curve in bins of equal width, one after the other. */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/curve.h"

typedef struct twi_series {
    twi_pieces pieces;
    twi_piece piece;  /* what is left of the last one that was read */
    int64_t begin_ns; /* of the next bin */
    int64_t width_ns;
    uint64_t left; /* number of bins */
} twi_series;

/* True if all bins lie in the range of times. */
bool twi_series_fits(int64_t begin_ns, int64_t width_ns, uint64_t count);
/* Bins that fit, of a metric that is a curve. */
void twi_series_begin(twi_series *series, const tw_analysis *analysis,
                      const twi_metric *metric, int64_t begin_ns, int64_t width_ns,
                      uint64_t count);
/* The next bin; false at the end. */
bool twi_series_next(twi_series *series, tw_bin *bin);

#endif
