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

/* ---- Taking the records ------------------------------------------------------------ */

/* Holds the blocks of what is published now. */
static int32_t take_spans(tw_analysis *analysis, tw_recorder *const *recorders,
                          size_t recorder_count)
{
    uint64_t *published = twi_mem_alloc(&analysis->allocator, recorder_count,
                                        sizeof *published);
    uint64_t count = 0;

    if (!published)
        return TW_ERR_NOMEM;
    for (size_t i = 0; i < recorder_count; i++) {
        published[i] = twi_recorder_published(recorders[i]);
        twi_recorder_add_refusals(recorders[i], &analysis->balance);
        count += twi_recorder_span_count(published[i]);
    }
    analysis->spans = twi_mem_alloc(&analysis->allocator, count, sizeof(twi_span));
    if (analysis->spans) {
        analysis->span_count = count;
        count = 0;
        for (size_t i = 0; i < recorder_count; i++) {
            twi_recorder_spans(recorders[i], published[i], analysis->spans + count);
            count += twi_recorder_span_count(published[i]);
        }
    }
    twi_mem_free(&analysis->allocator, published, recorder_count, sizeof *published);
    return analysis->spans ? TW_OK : TW_ERR_NOMEM;
}

typedef void (*row_fn)(tw_analysis *analysis, const twi_row *row, void *context);

static void for_each_row(tw_analysis *analysis, row_fn visit, void *context)
{
    for (uint64_t s = 0; s < analysis->span_count; s++) {
        const twi_span *span = &analysis->spans[s];
        for (uint32_t r = 0; r < span->rows; r++) {
            twi_row row;
            twi_block_read(span->block, r, span->offset_ns, &row);
            visit(analysis, &row, context);
        }
    }
}

/* Range of the run's times. */
typedef struct extent {
    int64_t first_ns;
    int64_t last_ns;
} extent;

static void survey_row(tw_analysis *analysis, const twi_row *row, void *context)
{
    extent *all = context;

    twi_row_count(row, &analysis->balance);
    analysis->totals.eligible |= twi_curve_eligible(row);
    if (twi_row_first_ns(row) < all->first_ns)
        all->first_ns = twi_row_first_ns(row);
    if (twi_row_last_ns(row) > all->last_ns)
        all->last_ns = twi_row_last_ns(row);
}

static void measure_row(tw_analysis *analysis, const twi_row *row, void *context)
{
    const twi_window *window = &analysis->run.window;
    twi_totals *totals = &analysis->totals;
    tw_balance *balance = &analysis->balance;

    (void)context;
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
    if (row->input_tokens != TW_TOKENS_NONE)
        totals->input_tokens = twi_add(totals->input_tokens,
                                       twi_from64((uint64_t)row->input_tokens));
    if (row->output_tokens != TW_TOKENS_NONE)
        totals->output_tokens = twi_add(totals->output_tokens,
                                        twi_from64((uint64_t)row->output_tokens));
}

/* Default edges: the first credit and the last response; without records, the other edge.
 */
static int32_t set_window(tw_analysis *analysis, const twi_request *request)
{
    extent all = {INT64_MAX, INT64_MIN};
    twi_window *window = &analysis->run.window;

    for_each_row(analysis, survey_row, &all);
    if (analysis->balance.issued == 0) {
        const int64_t only = request->has_begin ? request->begin_ns
                             : request->has_end ? request->end_ns
                                                : 0;
        all = (extent){only, only};
    } else if (!twi_time_in_range(all.first_ns) || !twi_time_in_range(all.last_ns)) {
        return TW_ERR_RANGE;
    }
    window->begin_ns = request->has_begin ? request->begin_ns : all.first_ns;
    window->end_ns = request->has_end ? request->end_ns : all.last_ns;
    window->first_ns = all.first_ns;
    return window->begin_ns <= window->end_ns ? TW_OK : TW_ERR_INVAL;
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
    for (size_t i = 0; i < request->quantile_count; i++) {
        uint64_t quantile = 0;
        (void)twi_quantile_from(request->quantiles[i], &quantile);
        insert_quantile(analysis, quantile);
    }
    return TW_OK;
}

static int32_t feed_dist(void *context, int source, const twi_pairs *pairs)
{
    tw_analysis *analysis = context;
    return twi_dist_feed(&analysis->dist[source], pairs);
}

static int32_t compute(tw_analysis *analysis)
{
    const twi_slice whole = {INT64_MIN, INT64_MAX};
    const uint32_t samples = ((1u << TWI_SAMPLE_COUNT) - 1) << TWI_CURVE_COUNT;
    twi_pairs *buffers;
    int32_t status;

    status = twi_timeline_build(&analysis->timeline, &analysis->allocator,
                                analysis->spans, (size_t)analysis->span_count, whole);
    if (status)
        return status;
    analysis->has_timeline = true;
    analysis->run.timeline = &analysis->timeline;
    analysis->run.spans = analysis->spans;
    analysis->run.span_count = (size_t)analysis->span_count;
    for_each_row(analysis, measure_row, NULL);

    buffers = twi_mem_alloc(&analysis->allocator, TWI_SAMPLE_COUNT, sizeof *buffers);
    if (!buffers)
        return TW_ERR_NOMEM;
    status = twi_source_pass(&analysis->run, analysis->totals.eligible | samples, buffers,
                             feed_dist, analysis);
    if (!status) {
        for (size_t m = 0; m < TWI_METRIC_COUNT; m++)
            analysis->emitted[m] = twi_result_summary(analysis, &twi_metrics[m],
                                                      &analysis->summary[m]);
        status = twi_quantiles_compute(analysis, buffers);
    }
    twi_mem_free(&analysis->allocator, buffers, TWI_SAMPLE_COUNT, sizeof *buffers);
    return status;
}

int32_t twi_analysis_new(tw_analysis **out, tw_recorder *const *recorders,
                         size_t recorder_count, const twi_request *request)
{
    tw_analysis *analysis = twi_mem_zalloc(&request->allocator, 1, sizeof *analysis);
    int32_t status;

    if (!analysis)
        return TW_ERR_NOMEM;
    analysis->allocator = request->allocator;
    analysis->quantile_room = TWI_STANDARD_QUANTILES + request->quantile_count;
    for (int source = 0; source < TWI_SOURCE_COUNT; source++)
        twi_dist_init(&analysis->dist[source], &analysis->allocator);

    status = take_spans(analysis, recorders, recorder_count);
    if (!status)
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

void twi_analysis_free(tw_analysis *analysis)
{
    const tw_allocator allocator = analysis->allocator;

    for (int source = 0; source < TWI_SOURCE_COUNT; source++)
        twi_dist_release(&analysis->dist[source]);
    if (analysis->has_timeline)
        twi_timeline_release(&analysis->timeline);
    for (uint64_t s = 0; s < analysis->span_count; s++)
        twi_block_release(analysis->spans[s].block);
    twi_mem_free(&allocator, analysis->spans, analysis->span_count, sizeof(twi_span));
    twi_mem_free(&allocator, analysis->quantiles, analysis->quantile_room,
                 sizeof(uint64_t));
    twi_mem_free(&allocator, analysis->values, analysis->quantile_room * TWI_METRIC_COUNT,
                 sizeof(double));
    twi_mem_free(&allocator, analysis, 1, sizeof *analysis);
}
