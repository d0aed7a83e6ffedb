/* SPDX-License-Identifier: MIT */
#include "analysis/quantiles.h"

#include <string.h>

#include "analysis/result.h"
#include "base/mem.h"
#include "stat/select.h"

/* A quantile needs the value at its rank, and for interpolation the next one. */
enum { RANKS = 2 };

static void add_target(twi_target *targets, size_t *count, uint64_t rank, size_t owner)
{
    targets[*count].rank = rank;
    targets[*count].owner = owner;
    ++*count;
}

/* Adds the targets of one quantile; its answers will be RANKS * slot and the one after.
 */
static void add_place(twi_target *targets, size_t *count, twi_place place, size_t slot)
{
    if (place.rank == 0)
        return;
    add_target(targets, count, place.rank, RANKS * slot);
    if (place.fraction)
        add_target(targets, count, place.rank + 1, RANKS * slot + 1);
}

static void collect(const twi_select *select, twi_u192 *answers)
{
    for (size_t t = 0; t < select->target_count; t++)
        answers[select->targets[t].owner] = select->targets[t].value;
}

/* ---- All metrics of an analysis ---------------------------------------------------- */

/* The selection of one source and what it needs. */
typedef struct job {
    twi_select select;
    twi_target *targets;
    size_t target_room;
    twi_range *ranges;
    size_t range_room;
} job;

typedef struct jobs {
    job of[TWI_SOURCE_COUNT];
} jobs;

static bool wants(const tw_analysis *analysis, size_t metric, int source)
{
    return analysis->emitted[metric] && twi_metrics[metric].row.kind != TW_KIND_SCALAR &&
           twi_result_source(&twi_metrics[metric]) == source;
}

/* Slots are numbered metric * quantile_count + quantile, as in analysis->values. */
static int32_t begin_job(const tw_analysis *analysis, int source, job *j)
{
    const size_t quantiles = analysis->quantile_count;
    size_t count = 0, metrics = 0;

    for (size_t m = 0; m < TWI_METRIC_COUNT; m++)
        metrics += wants(analysis, m, source);
    j->target_room = metrics * quantiles * RANKS;
    if (j->target_room == 0)
        return TW_OK;
    j->targets = twi_mem_alloc(&analysis->allocator, j->target_room, sizeof *j->targets);
    if (!j->targets)
        return TW_ERR_NOMEM;
    for (size_t m = 0; m < TWI_METRIC_COUNT; m++) {
        if (!wants(analysis, m, source))
            continue;
        for (size_t q = 0; q < quantiles; q++)
            add_place(j->targets, &count,
                      twi_result_place(analysis, &twi_metrics[m], analysis->quantiles[q]),
                      m * quantiles + q);
    }
    j->range_room = twi_select_locate(&j->select, &analysis->dist[source], j->targets,
                                      count);
    if (j->range_room) {
        j->ranges = twi_mem_alloc(&analysis->allocator, j->range_room, sizeof *j->ranges);
        if (!j->ranges)
            return TW_ERR_NOMEM;
    }
    twi_select_begin(&j->select, j->ranges);
    return TW_OK;
}

static void release_jobs(const tw_analysis *analysis, jobs *all)
{
    for (int source = 0; source < TWI_SOURCE_COUNT; source++) {
        job *j = &all->of[source];
        twi_mem_free(&analysis->allocator, j->targets, j->target_room,
                     sizeof *j->targets);
        twi_mem_free(&analysis->allocator, j->ranges, j->range_room, sizeof *j->ranges);
    }
}

static int32_t feed_job(void *context, int source, const twi_pairs *pairs)
{
    jobs *all = context;
    twi_select_feed(&all->of[source].select, pairs);
    return TW_OK;
}

static uint32_t open_jobs(const jobs *all)
{
    uint32_t set = 0;
    for (int source = 0; source < TWI_SOURCE_COUNT; source++)
        if (!twi_select_done(&all->of[source].select))
            set |= 1u << source;
    return set;
}

static void fill_values(tw_analysis *analysis, const twi_u192 *answers)
{
    for (size_t m = 0; m < TWI_METRIC_COUNT; m++) {
        const twi_metric *metric = &twi_metrics[m];

        if (!analysis->emitted[m] || metric->row.kind == TW_KIND_SCALAR)
            continue;
        for (size_t q = 0; q < analysis->quantile_count; q++) {
            const size_t slot = m * analysis->quantile_count + q;
            analysis->values[slot] = twi_result_value(
                metric, twi_result_place(analysis, metric, analysis->quantiles[q]),
                answers[RANKS * slot], answers[RANKS * slot + 1]);
        }
    }
}

int32_t twi_quantiles_compute(tw_analysis *analysis, twi_pairs *buffers)
{
    const uint64_t answer_room = TWI_METRIC_COUNT * analysis->quantile_count * RANKS;
    twi_u192 *answers = twi_mem_zalloc(&analysis->allocator, answer_room,
                                       sizeof *answers);
    jobs all;
    int32_t status = answers ? TW_OK : TW_ERR_NOMEM;
    uint32_t set;

    memset(&all, 0, sizeof all);
    for (int source = 0; source < TWI_SOURCE_COUNT && !status; source++)
        status = begin_job(analysis, source, &all.of[source]);
    while (!status && (set = open_jobs(&all)) != 0) {
        status = twi_source_pass(&analysis->run, set, buffers, feed_job, &all);
        for (int source = 0; source < TWI_SOURCE_COUNT; source++)
            if (set >> source & 1)
                twi_select_narrow(&all.of[source].select);
    }
    if (!status) {
        for (int source = 0; source < TWI_SOURCE_COUNT; source++)
            collect(&all.of[source].select, answers);
        fill_values(analysis, answers);
    }
    release_jobs(analysis, &all);
    twi_mem_free(&analysis->allocator, answers, answer_room, sizeof *answers);
    return status;
}

/* ---- One metric, on the stack ------------------------------------------------------ */

enum { QUERY_TARGETS = 8 }; /* ranks that share the passes of a query */

static int32_t feed_query(void *context, int source, const twi_pairs *pairs)
{
    (void)source;
    twi_select_feed(context, pairs);
    return TW_OK;
}

/* Finds the values of places; takes as many of them as it has room for and returns how many
 * those were. */
static size_t select_some(const tw_analysis *analysis, const twi_metric *metric,
                          const twi_place *places, size_t count, twi_u192 *answers)
{
    const int source = twi_result_source(metric);
    twi_target targets[QUERY_TARGETS];
    twi_range ranges[QUERY_TARGETS];
    twi_select select;
    size_t target_count = 0, taken = 0;

    for (; taken < count && target_count + RANKS <= QUERY_TARGETS; taken++)
        add_place(targets, &target_count, places[taken], taken);
    (void)twi_select_locate(&select, &analysis->dist[source], targets, target_count);
    twi_select_begin(&select, ranges);
    while (!twi_select_done(&select)) {
        (void)twi_source_pass_one(&analysis->run, source, feed_query, &select);
        twi_select_narrow(&select);
    }
    collect(&select, answers);
    return taken;
}

static bool at_hand(const tw_analysis *analysis, size_t metric, uint64_t quantile,
                    double *value)
{
    for (size_t q = 0; q < analysis->quantile_count; q++) {
        if (analysis->quantiles[q] == quantile) {
            *value = analysis->values[metric * analysis->quantile_count + q];
            return true;
        }
    }
    return false;
}

void twi_analysis_quantiles(const tw_analysis *analysis, size_t metric,
                            const uint64_t *quantiles, double *values, size_t count)
{
    const twi_metric *m = &twi_metrics[metric];
    size_t next = 0;

    while (next < count) {
        twi_place places[QUERY_TARGETS];
        twi_u192 answers[QUERY_TARGETS * RANKS] = {{{0, 0, 0}}};
        size_t wanted[QUERY_TARGETS], n = 0, taken;

        for (; next < count && n < QUERY_TARGETS; next++) {
            if (at_hand(analysis, metric, quantiles[next], &values[next]))
                continue;
            places[n] = twi_result_place(analysis, m, quantiles[next]);
            wanted[n++] = next;
        }
        if (n == 0)
            continue;
        taken = select_some(analysis, m, places, n, answers);
        for (size_t i = 0; i < taken; i++)
            values[wanted[i]] = twi_result_value(m, places[i], answers[RANKS * i],
                                                 answers[RANKS * i + 1]);
        if (taken < n)
            next = wanted[taken];
    }
}
