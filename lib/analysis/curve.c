/* SPDX-License-Identifier: MIT */
#include "analysis/curve.h"

#include "stat/sum.h"

void twi_pieces_begin(twi_pieces *pieces, const tw_analysis *analysis,
                      const twi_metric *metric, int64_t begin_ns, int64_t end_ns)
{
    const twi_window *window = &analysis->run.window;
    const int64_t begin = begin_ns > window->begin_ns ? begin_ns : window->begin_ns;
    const int64_t end = end_ns < window->end_ns ? end_ns : window->end_ns;

    pieces->metric = metric;
    pieces->stretches.count = 0;
    pieces->next = 0;
    pieces->now_ns = begin;
    twi_sweep_begin(&pieces->sweep, analysis->run.timeline, analysis->run.kernel, begin,
                    begin < end ? end : begin);
}

/* Makes sure that there is a next stretch; false at the end. */
static bool fill(twi_pieces *pieces)
{
    if (pieces->next < pieces->stretches.count)
        return true;
    pieces->next = 0;
    return twi_sweep_next(&pieces->sweep, &pieces->stretches);
}

static void look(const twi_pieces *pieces, bool *is_on, double *value)
{
    const int mask = pieces->metric->mask;

    *is_on = mask < 0 ||
             twi_sweep_value(&pieces->stretches, (twi_curve)mask, pieces->next) > 0;
    *value = twi_sweep_value(&pieces->stretches, (twi_curve)pieces->metric->source,
                             pieces->next);
}

bool twi_pieces_next(twi_pieces *pieces, twi_piece *piece)
{
    bool is_on;
    double value;

    if (!fill(pieces))
        return false;
    look(pieces, &piece->is_on, &piece->value);
    piece->begin_ns = pieces->now_ns;
    do {
        pieces->now_ns += (int64_t)pieces->stretches.duration_ns[pieces->next];
        pieces->next++;
        if (!fill(pieces))
            break;
        look(pieces, &is_on, &value);
    } while (is_on == piece->is_on && twi_f64_bits(value) == twi_f64_bits(piece->value));
    piece->end_ns = pieces->now_ns;
    return true;
}

void twi_bin_add(twi_bin_sum *bin, double value, uint64_t weight)
{
    if (bin->weight == 0 || value < bin->least)
        bin->least = value;
    if (bin->weight == 0 || value > bin->most)
        bin->most = value;
    bin->weight += weight;
    twi_sum_add(&bin->sum, value, weight);
}

double twi_bin_mean(const twi_bin_sum *bin, twi_scale scale)
{
    const double mean = twi_sum_ratio(&bin->sum, bin->weight, scale);
    const double least = twi_sum_value(bin->least, scale);
    const double most = twi_sum_value(bin->most, scale);
    return mean < least ? least : mean > most ? most : mean;
}
