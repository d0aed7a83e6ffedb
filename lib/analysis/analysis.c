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

/* ---- Window and members ---------------------------------------------------------- */

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

/* What the records of a share amount to in the window. */
typedef struct twi_members {
    uint64_t members, overlapping, cut_at_begin, cut_at_end;
    twi_totals totals;
} twi_members;

static uint64_t tokens_of(int64_t tokens)
{
    return tokens == TW_TOKENS_NONE ? 0 : (uint64_t)tokens;
}

static void measure_span(const twi_window *window, const twi_span *span,
                         twi_members *members)
{
    twi_totals *totals = &members->totals;
    /* A token count is below 2^40, so a block's sum is below 2^50. */
    uint64_t input_tokens = 0, output_tokens = 0;

    for (uint32_t r = 0; r < span->rows; r++) {
        twi_row row;

        twi_block_read(span->block, r, span->offset_ns, &row);
        members->overlapping += twi_window_overlaps(window, &row);
        members->cut_at_begin += twi_window_cuts_at_begin(window, &row);
        members->cut_at_end += twi_window_cuts_at_end(window, &row);
        if (!twi_window_is_member(window, &row))
            continue;
        members->members++;
        if (row.status != TW_RECORD_OK) {
            totals->not_ok++;
            totals->not_ok_credit += row.credit_ns != TW_TIME_NONE;
            continue;
        }
        totals->ok++;
        input_tokens += tokens_of(row.input_tokens);
        output_tokens += tokens_of(row.output_tokens);
    }
    totals->input_tokens = twi_add(totals->input_tokens, twi_from64(input_tokens));
    totals->output_tokens = twi_add(totals->output_tokens, twi_from64(output_tokens));
}

static void add_members(tw_analysis *analysis, const twi_members *from)
{
    twi_totals *totals = &analysis->totals;

    analysis->balance.members += from->members;
    analysis->balance.overlapping += from->overlapping;
    analysis->balance.cut_at_begin += from->cut_at_begin;
    analysis->balance.cut_at_end += from->cut_at_end;
    totals->ok += from->totals.ok;
    totals->not_ok += from->totals.not_ok;
    totals->not_ok_credit += from->totals.not_ok_credit;
    totals->input_tokens = twi_add(totals->input_tokens, from->totals.input_tokens);
    totals->output_tokens = twi_add(totals->output_tokens, from->totals.output_tokens);
}

/* ---- The pipeline ---------------------------------------------------------------- */

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

/* The first pass over one share of the run. */
typedef struct first_pass {
    const twi_run *run;
    twi_share share;
    uint32_t sources;
    twi_dist *dist; /* TWI_SOURCE_COUNT of them */
    twi_members members;
    int32_t status;
} first_pass;

static int32_t feed_dist(void *context, int source, const twi_feed *feed)
{
    const first_pass *pass = context;
    twi_dist *dist = &pass->dist[source];

    if (feed->counts)
        return twi_dist_feed_levels(dist, feed->counts, feed->weight, feed->count);
    return twi_dist_feed(dist, pass->run->kernel, feed->real, feed->weight, feed->count);
}

static void measure_members(void *context, const twi_span *span)
{
    first_pass *pass = context;
    measure_span(&pass->run->window, span, &pass->members);
}

static void run_first_pass(void *context, uint32_t part)
{
    first_pass *pass = (first_pass *)context + part;
    pass->status = twi_source_pass(pass->run, pass->share, pass->sources, feed_dist,
                                   measure_members, pass);
}

/* Adds a part's results to the analysis and ends the part. */
static int32_t end_part(tw_analysis *analysis, first_pass *pass, int32_t status)
{
    status = status ? status : pass->status;
    add_members(analysis, &pass->members);
    for (int source = 0; source < TWI_SOURCE_COUNT && pass->dist; source++) {
        if (!status)
            status = twi_dist_merge(&analysis->dist[source], &pass->dist[source]);
        twi_dist_release(&pass->dist[source]);
    }
    twi_mem_free(&analysis->allocator, pass->dist, TWI_SOURCE_COUNT, sizeof *pass->dist);
    return status;
}

/* In parts, each with dists of its own. */
static int32_t feed_in_parts(tw_analysis *analysis, uint32_t sources,
                             const twi_parallel *parallel, uint32_t parts)
{
    first_pass pass[TWI_PARTS_MOST];
    int32_t status = TW_OK;
    twi_turnstile turnstile;
    tw_allocator allocator;

    twi_turnstile_init(&turnstile, &analysis->allocator);
    allocator = twi_turnstile_allocator(&turnstile);
    for (uint32_t i = 0; i < parts; i++) {
        memset(&pass[i], 0, sizeof pass[i]);
        pass[i].run = &analysis->run;
        pass[i].share = (twi_share){i, parts};
        pass[i].sources = sources;
        pass[i].dist = twi_mem_alloc(&analysis->allocator, TWI_SOURCE_COUNT,
                                     sizeof *pass[i].dist);
        if (!pass[i].dist)
            status = TW_ERR_NOMEM;
        for (int source = 0; source < TWI_SOURCE_COUNT && pass[i].dist; source++)
            twi_dist_init(&pass[i].dist[source], &allocator,
                          analysis->dist[source].bin_bits);
    }
    if (!status)
        twi_parallel_run(parallel, run_first_pass, pass, parts);
    for (uint32_t i = 0; i < parts; i++)
        status = end_part(analysis, &pass[i], status);
    return status;
}

static int32_t feed_all(tw_analysis *analysis, uint32_t sources,
                        const twi_parallel *parallel, uint32_t parts)
{
    first_pass pass = {.run = &analysis->run,
                       .share = {0, 1},
                       .sources = sources,
                       .dist = analysis->dist};

    if (parts > 1)
        return feed_in_parts(analysis, sources, parallel, parts);
    run_first_pass(&pass, 0);
    add_members(analysis, &pass.members);
    return pass.status;
}

static int32_t compute(tw_analysis *analysis, const twi_parallel *parallel)
{
    const twi_core *core = analysis->core;
    const uint32_t sources = core->eligible | core->sample_eligible << TWI_CURVE_COUNT;
    const uint32_t parts = twi_parallel_parts(parallel, core->timeline.event_count);
    int32_t status = feed_all(analysis, sources, parallel, parts);

    if (status)
        return status;
    for (int source = 0; source < TWI_SOURCE_COUNT; source++)
        twi_dist_settle(&analysis->dist[source]);
    for (size_t m = 0; m < TWI_METRIC_COUNT; m++)
        analysis->emitted[m] = twi_result_is_emitted(analysis, &twi_metrics[m]);
    status = twi_quantiles_compute(analysis, sources, parallel, parts);
    for (size_t m = 0; m < TWI_METRIC_COUNT && !status; m++)
        if (analysis->emitted[m])
            twi_result_summary(analysis, &twi_metrics[m], &analysis->summary[m]);
    return status;
}

/* Some hundred values in a bin that many lie in: few enough to look at one by one. */
static unsigned bin_bits(const twi_core *core)
{
    const unsigned bits = twi_bits64(core->timeline.event_count);
    return bits < TWI_BIN_LEAST_BITS + 7  ? TWI_BIN_LEAST_BITS
           : bits > TWI_BIN_MOST_BITS + 7 ? TWI_BIN_MOST_BITS
                                          : bits - 7;
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
        twi_dist_init(&analysis->dist[source], &analysis->allocator, bin_bits(core));
    twi_core_hold(core);
    analysis->core = core;
    analysis->balance = core->sheet;
    analysis->run.timeline = &core->timeline;
    analysis->run.kernel = core->kernel;
    analysis->run.token_levels = core->timeline.survey.most_tokens < TWI_SAMPLE_LEVELS;
    analysis->run.spans = core->spans;
    analysis->run.span_count = (size_t)core->span_count;

    status = set_window(analysis, request);
    if (!status)
        status = set_quantiles(analysis, request);
    if (!status)
        status = compute(analysis, &request->parallel);
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
