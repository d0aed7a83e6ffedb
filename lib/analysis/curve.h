/* SPDX-License-Identifier: MIT */
#ifndef TWI_ANALYSIS_CURVE_H
#define TWI_ANALYSIS_CURVE_H

/* The curve behind a metric, read in order of time. */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/analysis.h"

/* A maximal piece of a metric's curve: one value, or the mask off. */
typedef struct twi_piece {
    int64_t begin_ns;
    int64_t end_ns;
    bool is_on; /* false: outside the mask of an Active metric */
    double value;
} twi_piece;

typedef struct twi_pieces {
    const twi_metric *metric;
    twi_sweep sweep;
    twi_stretches stretches;
    size_t next;    /* of the stretches */
    int64_t now_ns; /* where it begins */
} twi_pieces;

/* Reads what of [begin_ns, end_ns) lies in the analysis' window; the metric is a curve. */
void twi_pieces_begin(twi_pieces *pieces, const tw_analysis *analysis,
                      const twi_metric *metric, int64_t begin_ns, int64_t end_ns);
/* The next piece; false at the end. */
bool twi_pieces_next(twi_pieces *pieces, twi_piece *piece);

/* One bin of a series under construction. */
typedef struct twi_bin_sum {
    uint64_t weight;
    twi_sum sum; /* of value * weight */
    double least;
    double most;
} twi_bin_sum;

void twi_bin_add(twi_bin_sum *bin, double value, uint64_t weight);
/* The mean of a bin with weight, in the metric's unit. */
double twi_bin_mean(const twi_bin_sum *bin, twi_scale scale);

#endif
