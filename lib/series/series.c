/* SPDX-License-Identifier: MIT */
#include "series/series.h"

#include "stat/sum.h"
#include "store/rules.h"

bool twi_series_fits(int64_t begin_ns, int64_t width_ns, uint64_t count)
{
    return twi_time_in_range(begin_ns) && width_ns > 0 &&
           count <= (uint64_t)(TWI_TIME_LIMIT - begin_ns) / (uint64_t)width_ns;
}

void twi_series_begin(twi_series *series, const tw_analysis *analysis,
                      const twi_metric *metric, int64_t begin_ns, int64_t width_ns,
                      uint64_t count)
{
    twi_pieces_begin(&series->pieces, analysis, metric, begin_ns,
                     begin_ns + width_ns * (int64_t)count);
    series->piece = (twi_piece){0};
    series->begin_ns = begin_ns;
    series->width_ns = width_ns;
    series->left = count;
}

bool twi_series_next(twi_series *series, tw_bin *bin)
{
    const int64_t end_ns = series->begin_ns + series->width_ns;
    const twi_scale scale = series->pieces.metric->scale;
    twi_piece *piece = &series->piece;
    twi_bin_sum sum = {0};

    if (series->left == 0)
        return false;
    while (piece->begin_ns < piece->end_ns || twi_pieces_next(&series->pieces, piece)) {
        const int64_t to = piece->end_ns < end_ns ? piece->end_ns : end_ns;

        if (piece->begin_ns >= end_ns)
            break;
        if (piece->is_on)
            twi_bin_add(&sum, piece->value, (uint64_t)(to - piece->begin_ns));
        piece->begin_ns = to;
    }
    *bin = (tw_bin){series->begin_ns, (int64_t)sum.weight, 0, 0, 0};
    if (sum.weight) {
        bin->mean = twi_bin_mean(&sum, scale);
        bin->min = twi_sum_value(sum.least, scale);
        bin->max = twi_sum_value(sum.most, scale);
    }
    series->begin_ns = end_ns;
    series->left--;
    return true;
}
