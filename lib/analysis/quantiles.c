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

static void collect(const twi_select *select, double *answers)
{
    for (size_t t = 0; t < select->target_count; t++)
        answers[select->targets[t].owner] = select->targets[t].value;
}

/* ---- All metrics of an analysis -------------------------------------------------- */

/* The selection of one source and what it needs. */
typedef struct job {
    twi_select select;
    twi_moment_sums moments;
    twi_target *targets;
    size_t target_room;
    twi_range *ranges;
    size_t range_room;
} job;

/* A pass over one share of the run. */
typedef struct jobs {
    const twi_run *run;
    twi_share share;
    uint32_t set;                  /* sources to look at */
    uint32_t moments;              /* those whose moments are fed */
    const tw_allocator *allocator; /* while others run at once */
    job of[TWI_SOURCE_COUNT];
} jobs;

static bool wants(const tw_analysis *analysis, size_t metric, int source)
{
    return analysis->emitted[metric] && twi_metrics[metric].row.kind != TW_KIND_SCALAR &&
           twi_result_source(&twi_metrics[metric]) == source;
}

/* Allocates what passes need, as much as was found out. */
static int32_t make_room(const jobs *all, job *j)
{
    if (j->range_room == 0) {
        twi_select_begin(&j->select, NULL, NULL, 0);
        return TW_OK;
    }
    j->ranges = twi_mem_alloc(all->allocator, j->range_room, sizeof *j->ranges);
    if (!j->ranges)
        return TW_ERR_NOMEM;
    return twi_select_begin_growing(&j->select, j->ranges, all->allocator);
}

/* Slots are numbered metric * quantile_count + quantile, as in analysis->values. */
static int32_t begin_job(const tw_analysis *analysis, int source, jobs *all)
{
    job *j = &all->of[source];
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
    return make_room(all, j);
}

/* Makes the jobs of another share. */
static int32_t follow(const jobs *leader, jobs *all)
{
    int32_t status = TW_OK;

    for (int source = 0; source < TWI_SOURCE_COUNT && !status; source++) {
        all->of[source].range_room = leader->of[source].range_room;
        status = make_room(all, &all->of[source]);
    }
    return status;
}

static void release_jobs(const tw_analysis *analysis, jobs *all)
{
    for (int source = 0; source < TWI_SOURCE_COUNT; source++) {
        job *j = &all->of[source];
        twi_mem_free(&analysis->allocator, j->targets, j->target_room,
                     sizeof *j->targets);
        twi_mem_free(&analysis->allocator, j->ranges, j->range_room, sizeof *j->ranges);
        twi_select_end(&j->select, &analysis->allocator);
    }
}

static int32_t feed_job(void *context, int source, const twi_feed *feed)
{
    jobs *all = context;
    const twi_kernel *kernel = all->run->kernel;
    job *j = &all->of[source];

    if (all->moments >> source & 1)
        kernel->moments(feed->real, feed->weight, feed->count, &j->moments);
    if (!twi_select_done(&j->select))
        twi_select_feed(&j->select, kernel, feed->real, feed->weight, feed->count);
    return TW_OK;
}

static void run_jobs(void *context, uint32_t part)
{
    jobs *all = (jobs *)context + part;
    (void)twi_source_pass(all->run, all->share, all->set, feed_job, NULL, all);
}

/* The sources that have ranks yet to be found. */
static uint32_t open_jobs(const jobs *all)
{
    uint32_t set = 0;
    for (int source = 0; source < TWI_SOURCE_COUNT; source++)
        if (!twi_select_done(&all->of[source].select))
            set |= 1u << source;
    return set;
}

/* One pass of all shares, the first of which leads. */
static void pass(jobs *shares, uint32_t parts, uint32_t set, uint32_t moments,
                 const twi_parallel *parallel)
{
    for (uint32_t i = 0; i < parts; i++) {
        shares[i].set = set;
        shares[i].moments = moments;
        for (int source = 0; source < TWI_SOURCE_COUNT && i; source++) {
            job *j = &shares[i].of[source];

            memset(&j->moments, 0, sizeof j->moments);
            j->moments.factor = shares[0].of[source].moments.factor;
            twi_select_follow(&j->select, &shares[0].of[source].select);
        }
    }
    twi_parallel_run(parallel, run_jobs, shares, parts);
    for (int source = 0; source < TWI_SOURCE_COUNT; source++) {
        job *leader = &shares[0].of[source];

        for (uint32_t i = 1; i < parts; i++) {
            twi_moments_merge(&leader->moments, &shares[i].of[source].moments);
            twi_select_merge(&leader->select, &shares[i].of[source].select);
        }
        if (!twi_select_done(&leader->select))
            twi_select_narrow(&leader->select);
    }
}

static void fill_values(tw_analysis *analysis, const double *answers)
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

/* The sources that have moments yet to be fed. */
static uint32_t real_sources(const tw_analysis *analysis, uint32_t sources)
{
    for (int source = 0; source < TWI_SOURCE_COUNT; source++)
        if (analysis->dist[source].level || analysis->dist[source].tally.most == 0)
            sources &= ~(1u << source);
    return sources;
}

int32_t twi_quantiles_compute(tw_analysis *analysis, uint32_t sources,
                              const twi_parallel *parallel, uint32_t parts)
{
    const uint64_t answer_room = TWI_METRIC_COUNT * analysis->quantile_count * RANKS;
    double *answers = twi_mem_zalloc(&analysis->allocator, answer_room, sizeof *answers);
    jobs *shares = twi_mem_zalloc(&analysis->allocator, parts, sizeof *shares);
    uint32_t moments = real_sources(analysis, sources), set;
    twi_turnstile turnstile;
    tw_allocator in_turn;
    int32_t status = answers && shares ? TW_OK : TW_ERR_NOMEM;

    twi_turnstile_init(&turnstile, &analysis->allocator);
    in_turn = twi_turnstile_allocator(&turnstile);
    for (uint32_t i = 0; i < parts && shares; i++) {
        shares[i].run = &analysis->run;
        shares[i].allocator = &in_turn;
        shares[i].share = (twi_share){i, parts};
    }
    for (int source = 0; source < TWI_SOURCE_COUNT && !status; source++) {
        shares[0].of[source].moments = analysis->dist[source].moments;
        status = begin_job(analysis, source, &shares[0]);
    }
    for (uint32_t i = 1; i < parts && !status; i++)
        status = follow(&shares[0], &shares[i]);
    while (!status && (set = open_jobs(&shares[0]) | moments) != 0) {
        pass(shares, parts, set, moments, parallel);
        moments = 0;
    }
    if (!status) {
        for (int source = 0; source < TWI_SOURCE_COUNT; source++) {
            analysis->dist[source].moments = shares[0].of[source].moments;
            collect(&shares[0].of[source].select, answers);
        }
        fill_values(analysis, answers);
    }
    for (uint32_t i = 0; i < parts && shares; i++)
        release_jobs(analysis, &shares[i]);
    twi_mem_free(&analysis->allocator, shares, parts, sizeof *shares);
    twi_mem_free(&analysis->allocator, answers, answer_room, sizeof *answers);
    return status;
}

/* ---- One metric, on the stack ---------------------------------------------------- */

enum {
    QUERY_TARGETS = 8, /* ranks that share the passes of a query */
    QUERY_POOL = 512
};

typedef struct query {
    const twi_kernel *kernel;
    twi_select select;
} query;

static int32_t feed_query(void *context, int source, const twi_feed *feed)
{
    query *q = context;
    (void)source;
    twi_select_feed(&q->select, q->kernel, feed->real, feed->weight, feed->count);
    return TW_OK;
}

/* Finds the values of places; takes as many of them as it has room for and returns how many
 * those were. */
static size_t select_some(const tw_analysis *analysis, const twi_metric *metric,
                          const twi_place *places, size_t count, double *answers)
{
    const int source = twi_result_source(metric);
    twi_target targets[QUERY_TARGETS];
    twi_range ranges[QUERY_TARGETS];
    struct twi_pooled pool[QUERY_POOL];
    query q;
    size_t target_count = 0, taken = 0;

    for (; taken < count && target_count + RANKS <= QUERY_TARGETS; taken++)
        add_place(targets, &target_count, places[taken], taken);
    q.kernel = analysis->run.kernel;
    (void)twi_select_locate(&q.select, &analysis->dist[source], targets, target_count);
    twi_select_begin(&q.select, ranges, pool, QUERY_POOL);
    while (!twi_select_done(&q.select)) {
        (void)twi_source_pass(&analysis->run, (twi_share){0, 1}, 1u << source, feed_query,
                              NULL, &q);
        twi_select_narrow(&q.select);
    }
    collect(&q.select, answers);
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
        double answers[QUERY_TARGETS * RANKS] = {0};
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
