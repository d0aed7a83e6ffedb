/* SPDX-License-Identifier: MIT */
#include "analysis/result.h"

#include <math.h>
#include <string.h>

int twi_result_source(const twi_metric *metric)
{
    return metric->row.kind == TW_KIND_SAMPLE ? TWI_CURVE_COUNT + metric->source
                                              : metric->source;
}

static const twi_dist *dist_of(const tw_analysis *analysis, const twi_metric *metric)
{
    return &analysis->dist[twi_result_source(metric)];
}

static uint64_t window_ns(const tw_analysis *analysis)
{
    return (uint64_t)analysis->run.window.end_ns -
           (uint64_t)analysis->run.window.begin_ns;
}

/* Time of the window outside an Active metric's mask. The metric's curve is 0 all that
 * time, so that it can be taken off the weight of the value 0. */
static uint64_t idle_ns(const tw_analysis *analysis, const twi_metric *metric)
{
    return metric->mask < 0 ? 0 : analysis->dist[metric->mask].zero_weight;
}

/* Members that an error-adjusted sample counts as +inf. */
static uint64_t infinite_count(const tw_analysis *analysis, const twi_metric *metric)
{
    return metric->source == TWI_SAMPLE_EFFECTIVE_LATENCY ? analysis->totals.not_ok_credit
                                                          : analysis->totals.not_ok;
}

static void put_moments(const twi_moments *moments, tw_summary *summary)
{
    summary->fields |= TW_HAS_AVG | TW_HAS_MIN | TW_HAS_MAX | TW_HAS_STD;
    summary->avg = moments->avg;
    summary->min = moments->min;
    summary->max = moments->max;
    summary->std = moments->std;
}

static bool curve_summary(const tw_analysis *analysis, const twi_metric *metric,
                          tw_summary *summary)
{
    const twi_dist *dist = dist_of(analysis, metric);
    const uint64_t idle = idle_ns(analysis, metric);
    twi_moments moments;

    if (!(analysis->core->eligible >> metric->source & 1) || dist->weight <= idle)
        return false;
    moments = twi_dist_moments(dist, idle, metric->scale);
    put_moments(&moments, summary);
    summary->fields |= TW_HAS_WEIGHT;
    summary->weight_ns = (int64_t)dist->weight;
    if (metric->mask >= 0) {
        summary->fields |= TW_HAS_ACTIVE;
        summary->active_ns = (int64_t)(dist->weight - idle);
    }
    return true;
}

static bool sample_summary(const tw_analysis *analysis, const twi_metric *metric,
                           tw_summary *summary)
{
    const twi_dist *dist = dist_of(analysis, metric);
    const uint64_t infinite = metric->adjusted ? infinite_count(analysis, metric) : 0;
    twi_moments moments;

    if (dist->weight == 0 || (metric->adjusted && infinite == 0))
        return false;
    moments = twi_dist_moments(dist, 0, metric->scale);
    put_moments(&moments, summary);
    summary->fields |= TW_HAS_SUM | TW_HAS_COUNT;
    summary->sum = moments.sum;
    summary->count = dist->weight + infinite;
    if (metric->adjusted) {
        summary->fields &= ~(uint32_t)TW_HAS_STD;
        summary->avg = summary->max = summary->sum = HUGE_VAL;
        summary->std = 0;
    }
    return true;
}

static bool scalar_summary(const tw_analysis *analysis, const twi_metric *metric,
                           tw_summary *summary)
{
    const twi_totals *totals = &analysis->totals;
    const uint64_t window = window_ns(analysis);
    twi_u192 above = {{0, 0, 0}};
    uint64_t below = 1;
    twi_big a, b;

    if (analysis->balance.issued == 0)
        return false;
    switch ((twi_scalar)metric->source) {
    case TWI_SCALAR_REQUESTS:
        above = twi_from64(totals->ok);
        break;
    case TWI_SCALAR_ERRORS:
        above = twi_from64(totals->not_ok);
        break;
    case TWI_SCALAR_DURATION:
        above = twi_from64(window);
        break;
    case TWI_SCALAR_REQUEST_RATE:
        above = twi_from64(totals->ok);
        below = window;
        break;
    case TWI_SCALAR_OUTPUT_RATE:
        above = totals->output_tokens;
        below = window;
        break;
    case TWI_SCALAR_TOKEN_RATE:
        above = twi_add(totals->input_tokens, totals->output_tokens);
        below = window;
        break;
    }
    if (below == 0)
        return false;
    a = twi_big_from(above.w, 3);
    b = twi_big_from64(below);
    summary->avg = twi_big_scaled(&a, &b, metric->scale);
    summary->fields = TW_HAS_AVG;
    return true;
}

bool twi_result_summary(const tw_analysis *analysis, const twi_metric *metric,
                        tw_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    summary->struct_size = sizeof *summary;
    switch (metric->row.kind) {
    case TW_KIND_CURVE:
        return curve_summary(analysis, metric, summary);
    case TW_KIND_SAMPLE:
        return sample_summary(analysis, metric, summary);
    default:
        return scalar_summary(analysis, metric, summary);
    }
}

twi_place twi_result_place(const tw_analysis *analysis, const twi_metric *metric,
                           uint64_t quantile)
{
    const twi_dist *dist = dist_of(analysis, metric);
    twi_place place;

    if (metric->row.kind == TW_KIND_CURVE) {
        const uint64_t idle = idle_ns(analysis, metric);
        place = twi_place_least(quantile, dist->weight - idle);
        place.rank += idle;
        return place;
    }
    if (!metric->adjusted)
        return twi_place_interpolated(quantile, dist->weight);
    place = twi_place_least(quantile, dist->weight + infinite_count(analysis, metric));
    if (place.rank > dist->weight)
        place.rank = 0;
    return place;
}

double twi_result_value(const twi_metric *metric, twi_place place, twi_u192 at,
                        twi_u192 next)
{
    twi_big value, step, one = twi_big_from64(TWI_QUANTILE_ONE);
    twi_u192 gap;

    if (place.rank == 0)
        return HUGE_VAL;
    if (place.fraction == 0)
        return twi_dist_value(at, metric->scale);
    gap = twi_sub(next, at);
    value = twi_big_from(at.w, 3);
    step = twi_big_from(gap.w, 3);
    twi_big_multiply64(&value, TWI_QUANTILE_ONE);
    twi_big_multiply64(&step, place.fraction);
    twi_big_add(&value, &step);
    return twi_big_scaled(&value, &one, metric->scale);
}
