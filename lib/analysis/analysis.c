/* SPDX-License-Identifier: MIT */
#include "analysis/analysis.h"

#include <string.h>

#include "analysis/quantiles.h"
#include "analysis/result.h"
#include "base/mem.h"
#include "stat/rank.h"

/* The percentiles of every report: 1 5 10 25 50 75 90 95 99. */
static const uint64_t standard[TWI_STANDARD_QUANTILES] = {
    TWI_QUANTILE_ONE / 100,    TWI_QUANTILE_ONE / 20,      TWI_QUANTILE_ONE / 10,
    TWI_QUANTILE_ONE / 4,      TWI_QUANTILE_ONE / 2,       TWI_QUANTILE_ONE / 4 * 3,
    TWI_QUANTILE_ONE / 10 * 9, TWI_QUANTILE_ONE / 20 * 19, TWI_QUANTILE_ONE / 100 * 99};

/* ---- Window and members ------------------------------------------------------------- */

/* Default edges: the first credit and the last response; without records, the other edge. */
static int32_t set_window(tw_analysis *analysis, const twi_request *request)
{
    const twi_core *core = analysis->core;
    const int64_t only = request->has_begin ? request->begin_ns
                         : request->has_end ? request->end_ns
                                            : 0;
    const bool empty = core->sheet.issued == 0;
    twi_window *window = &analysis->run.window;

    window->first_ns = empty ? only : core->first_ns;
    window->begin_ns = request->has_begin ? request->begin_ns : window->first_ns;
    window->end_ns = request->has_end ? request->end_ns : empty ? only : core->last_ns;
    return window->begin_ns <= window->end_ns ? TW_OK : TW_ERR_INVAL;
}

static void add_tokens(twi_u192 *sum, int64_t tokens)
{
    if (tokens != TW_TOKENS_NONE)
        *sum = twi_add(*sum, twi_from64((uint64_t)tokens));
}

static void measure_row(void *context, const twi_row *row)
{
    tw_analysis *analysis = context;
    const twi_window *window = &analysis->run.window;
    twi_totals *totals = &analysis->totals;
    tw_balance *balance = &analysis->balance;

    balance->overlapping += twi_window_overlaps(window, row);
    balance->cut_at_begin += twi_window_cuts_at_begin(window, row);
    balance->cut_at_end += twi_window_cuts_at_end(window, row);
    if (!twi_window_is_member(window, row))
        return;
    balance->members++;
    if (row->status != TW_RECORD_OK) {
        totals->not_ok++;
        totals->not_ok_credit += row->credit_ns != TW_TIME_NONE;
        return;
    }
    totals->ok++;
    add_tokens(&totals->input_tokens, row->input_tokens);
    add_tokens(&totals->output_tokens, row->output_tokens);
}

/* ---- The pipeline ------------------------------------------------------------------ */

static void insert_quantile(tw_analysis *analysis, uint64_t quantile)
{
    size_t at = analysis->quantile_count;

    for (size_t i = 0; i < analysis->quantile_count; i++)
        if (analysis->quantiles[i] == quantile)
            return;
    for (; at > TWI_STANDARD_QUANTILES && analysis->quantiles[at - 1] > quantile; at--)
        analysis->quantiles[at] = analysis->quantiles[at - 1];
    analysis->quantiles[at] = quantile;
    analysis->quantile_count++;
}

static int32_t set_quantiles(tw_analysis *analysis, const twi_request *request)
{
    const uint64_t room = analysis->quantile_room;

    analysis->quantiles = twi_mem_alloc(&analysis->allocator, room, sizeof(uint64_t));
    analysis->values = twi_mem_zalloc(&analysis->allocator, room * TWI_METRIC_COUNT,
                                      sizeof(double));
    if (!analysis->quantiles || !analysis->values)
        return TW_ERR_NOMEM;
    memcpy(analysis->quantiles, standard, sizeof standard);
    analysis->quantile_count = TWI_STANDARD_QUANTILES;
    for (size_t i = 0; i < request->quantile_count; i++)
        insert_quantile(analysis, request->quantiles[i]);
    return TW_OK;
}

static int32_t feed_dist(void *context, int source, const twi_pairs *pairs)
{
    tw_analysis *analysis = context;
    return twi_dist_feed(&analysis->dist[source], pairs);
}

static int32_t compute(tw_analysis *analysis)
{
    const uint32_t samples = ((1u << TWI_SAMPLE_COUNT) - 1) << TWI_CURVE_COUNT;
    const twi_core *core = analysis->core;
    twi_pairs *buffers;
    int32_t status;

    twi_core_for_each_row(core, measure_row, analysis);
    buffers = twi_mem_alloc(&analysis->allocator, TWI_SAMPLE_COUNT, sizeof *buffers);
    if (!buffers)
        return TW_ERR_NOMEM;
    status = twi_source_pass(&analysis->run, core->eligible | samples, buffers, feed_dist,
                             analysis);
    if (!status) {
        for (size_t m = 0; m < TWI_METRIC_COUNT; m++)
            analysis->emitted[m] = twi_result_summary(analysis, &twi_metrics[m],
                                                      &analysis->summary[m]);
        status = twi_quantiles_compute(analysis, buffers);
    }
    twi_mem_free(&analysis->allocator, buffers, TWI_SAMPLE_COUNT, sizeof *buffers);
    return status;
}

int32_t twi_analysis_new(tw_analysis **out, twi_core *core, const twi_request *request)
{
    tw_analysis *analysis = twi_mem_zalloc(&request->allocator, 1, sizeof *analysis);
    int32_t status;

    if (!analysis)
        return TW_ERR_NOMEM;
    analysis->mark = TWI_MARK_ANALYSIS;
    analysis->allocator = request->allocator;
    analysis->quantile_room = TWI_STANDARD_QUANTILES + request->quantile_count;
    for (int source = 0; source < TWI_SOURCE_COUNT; source++)
        twi_dist_init(&analysis->dist[source], &analysis->allocator);
    twi_core_hold(core);
    analysis->core = core;
    analysis->balance = core->sheet;
    analysis->run.timeline = &core->timeline;
    analysis->run.spans = core->spans;
    analysis->run.span_count = (size_t)core->span_count;

    status = set_window(analysis, request);
    if (!status)
        status = set_quantiles(analysis, request);
    if (!status)
        status = compute(analysis);
    if (status) {
        twi_analysis_free(analysis);
        return status;
    }
    *out = analysis;
    return TW_OK;
}

int32_t twi_analysis_window(tw_analysis **out, const tw_analysis *analysis,
                            int64_t begin_ns, int64_t end_ns)
{
    const twi_request request = {
        .allocator = analysis->allocator,
        .has_begin = true,
        .has_end = true,
        .begin_ns = begin_ns,
        .end_ns = end_ns,
        .quantiles = analysis->quantiles + TWI_STANDARD_QUANTILES,
        .quantile_count = analysis->quantile_count - TWI_STANDARD_QUANTILES,
    };
    return twi_analysis_new(out, analysis->core, &request);
}

void twi_analysis_free(tw_analysis *analysis)
{
    const tw_allocator allocator = analysis->allocator;

    for (int source = 0; source < TWI_SOURCE_COUNT; source++)
        twi_dist_release(&analysis->dist[source]);
    twi_core_release(analysis->core);
    analysis->mark = TWI_MARK_FREED;
    twi_mem_free(&allocator, analysis->quantiles, analysis->quantile_room,
                 sizeof(uint64_t));
    twi_mem_free(&allocator, analysis->values, analysis->quantile_room * TWI_METRIC_COUNT,
                 sizeof(double));
    twi_mem_free(&allocator, analysis, 1, sizeof *analysis);
}
