/* SPDX-License-Identifier: MIT */
#include "analysis/curve.h"

void twi_pieces_begin(twi_pieces *pieces, const tw_analysis *analysis,
                      const twi_metric *metric, int64_t begin_ns, int64_t end_ns)
{
    const twi_window *window = &analysis->run.window;
    const int64_t begin = begin_ns > window->begin_ns ? begin_ns : window->begin_ns;
    const int64_t end = end_ns < window->end_ns ? end_ns : window->end_ns;

    pieces->metric = metric;
    pieces->batch.count = 0;
    pieces->next = 0;
    pieces->now_ns = begin;
    twi_sweep_begin(&pieces->sweep, analysis->run.timeline, begin,
                    begin < end ? end : begin);
}

/* Makes sure that there is a next stretch; false at the end. */
static bool fill(twi_pieces *pieces)
{
    if (pieces->next < pieces->batch.count)
        return true;
    pieces->next = 0;
    return twi_sweep_next(&pieces->sweep, &pieces->batch);
}

static void look(const twi_pieces *pieces, bool *is_on, twi_u192 *value)
{
    const twi_state *state = &pieces->batch.state[pieces->next];
    const int mask = pieces->metric->mask;

    *is_on = mask < 0 || !twi_is_zero(twi_sweep_value(state, (twi_curve)mask));
    *value = twi_sweep_value(state, (twi_curve)pieces->metric->source);
}

bool twi_pieces_next(twi_pieces *pieces, twi_piece *piece)
{
    bool is_on;
    twi_u192 value;

    if (!fill(pieces))
        return false;
    look(pieces, &piece->is_on, &piece->value);
    piece->begin_ns = pieces->now_ns;
    do {
        pieces->now_ns += (int64_t)pieces->batch.duration_ns[pieces->next];
        pieces->next++;
        if (!fill(pieces))
            break;
        look(pieces, &is_on, &value);
    } while (is_on == piece->is_on && twi_equal(value, piece->value));
    piece->end_ns = pieces->now_ns;
    return true;
}

void twi_bin_add(twi_bin_sum *bin, twi_u192 value, uint64_t weight)
{
    if (bin->weight == 0 || twi_less(value, bin->least))
        bin->least = value;
    if (bin->weight == 0 || twi_less(bin->most, value))
        bin->most = value;
    bin->weight += weight;
    twi_add_product(bin->sum, 4, value.w, 3, weight);
}

double twi_bin_mean(const twi_bin_sum *bin, twi_scale scale)
{
    const twi_big sum = twi_big_from(bin->sum, 4), weight = twi_big_from64(bin->weight);
    return twi_big_scaled(&sum, &weight, scale);
}
