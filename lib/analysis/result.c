/* SPDX-License-Identifier: MIT */
#include "analysis/result.h"

#include <math.h>
#include <string.h>

#include "stat/sum.h"

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

/* True if a scalar is divided by the window's length. */
static bool is_quotient(const twi_metric *metric)
{
    return metric->source == TWI_SCALAR_REQUEST_RATE ||
           metric->source == TWI_SCALAR_OUTPUT_RATE ||
           metric->source == TWI_SCALAR_TOKEN_RATE;
}

/* Members that an error-adjusted sample counts as +inf. */
static uint64_t infinite_count(const tw_analysis *analysis, const twi_metric *metric)
{
    return metric->source == TWI_SAMPLE_EFFECTIVE_LATENCY ? analysis->totals.not_ok_credit
                                                          : analysis->totals.not_ok;
}

bool twi_result_is_emitted(const tw_analysis *analysis, const twi_metric *metric)
{
    switch (metric->row.kind) {
    case TW_KIND_CURVE:
        return (analysis->core->eligible >> metric->source & 1) &&
               dist_of(analysis, metric)->weight > idle_ns(analysis, metric);
    case TW_KIND_SAMPLE:
        return dist_of(analysis, metric)->weight != 0 &&
               (!metric->adjusted || infinite_count(analysis, metric) != 0);
    default:
        return analysis->balance.issued != 0 &&
               (window_ns(analysis) != 0 || !is_quotient(metric));
    }
}

static void put_summary(const twi_summary *from, tw_summary *summary)
{
    summary->fields |= TW_HAS_AVG | TW_HAS_MIN | TW_HAS_MAX | TW_HAS_STD;
    summary->avg = from->avg;
    summary->min = from->min;
    summary->max = from->max;
    summary->std = from->std;
}

static void curve_summary(const tw_analysis *analysis, const twi_metric *metric,
                          tw_summary *summary)
{
    const twi_dist *dist = dist_of(analysis, metric);
    const uint64_t idle = idle_ns(analysis, metric);
    const twi_summary of_dist = twi_dist_summary(dist, idle, metric->scale);

    put_summary(&of_dist, summary);
    summary->fields |= TW_HAS_WEIGHT;
    summary->weight_ns = (int64_t)dist->weight;
    if (metric->mask >= 0) {
        summary->fields |= TW_HAS_ACTIVE;
        summary->active_ns = (int64_t)(dist->weight - idle);
    }
}

static void sample_summary(const tw_analysis *analysis, const twi_metric *metric,
                           tw_summary *summary)
{
    const twi_dist *dist = dist_of(analysis, metric);
    const twi_summary of_dist = twi_dist_summary(dist, 0, metric->scale);

    put_summary(&of_dist, summary);
    summary->fields |= TW_HAS_SUM | TW_HAS_COUNT;
    summary->sum = of_dist.sum;
    summary->count = dist->weight;
    if (metric->adjusted) {
        summary->count += infinite_count(analysis, metric);
        summary->fields &= ~(uint32_t)TW_HAS_STD;
        summary->avg = summary->max = summary->sum = HUGE_VAL;
        summary->std = 0;
    }
}

static void scalar_summary(const tw_analysis *analysis, const twi_metric *metric,
                           tw_summary *summary)
{
    const twi_totals *totals = &analysis->totals;
    const uint64_t window = window_ns(analysis);
    twi_u192 above = {{0, 0, 0}};
    uint64_t below = 1;
    twi_big a, b;

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
    a = twi_big_from(above.w, 3);
    b = twi_big_from64(below);
    summary->avg = twi_big_scaled(&a, &b, metric->scale);
    summary->fields = TW_HAS_AVG;
}

void twi_result_summary(const tw_analysis *analysis, const twi_metric *metric,
                        tw_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    summary->struct_size = sizeof *summary;
    switch (metric->row.kind) {
    case TW_KIND_CURVE:
        curve_summary(analysis, metric, summary);
        break;
    case TW_KIND_SAMPLE:
        sample_summary(analysis, metric, summary);
        break;
    default:
        scalar_summary(analysis, metric, summary);
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

double twi_result_value(const twi_metric *metric, twi_place place, double at, double next)
{
    twi_sum between = {{0}};

    if (place.rank == 0)
        return HUGE_VAL;
    if (place.fraction == 0)
        return twi_sum_value(at, metric->scale);
    twi_sum_add(&between, at, TWI_QUANTILE_ONE - place.fraction);
    twi_sum_add(&between, next, place.fraction);
    return twi_sum_ratio(&between, TWI_QUANTILE_ONE, metric->scale);
}
