/* SPDX-License-Identifier: MIT */
#include "ours.h"
#include "harness.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* In the order of enum curve_metric; by which peak the error of a value is measured. */
static const struct {
    int32_t id;
    enum curve_metric peak;
} metrics[CURVE_METRICS] = {
    {TW_EFFECTIVE_CONCURRENCY, CURVE_CONCURRENCY},
    {TW_EFFECTIVE_DECODE_THROUGHPUT, CURVE_DECODE_THROUGHPUT},
    {TW_EFFECTIVE_PREFILL_THROUGHPUT, CURVE_PREFILL_THROUGHPUT},
    {TW_EFFECTIVE_DECODE_CONCURRENCY, CURVE_DECODE_CONCURRENCY},
    {TW_EFFECTIVE_PREFILL_CONCURRENCY, CURVE_PREFILL_CONCURRENCY},
    {TW_EFFECTIVE_TOTAL_THROUGHPUT, CURVE_TOTAL_THROUGHPUT},
    {TW_EFFECTIVE_DECODE_THROUGHPUT_PER_USER, CURVE_DECODE_THROUGHPUT},
    {TW_EFFECTIVE_PREFILL_THROUGHPUT_PER_USER, CURVE_PREFILL_THROUGHPUT},
    {TW_TOKENS_IN_FLIGHT, CURVE_TOKENS_IN_FLIGHT},
    {TW_ACTIVE_DECODE_THROUGHPUT, CURVE_DECODE_THROUGHPUT},
    {TW_ACTIVE_PREFILL_THROUGHPUT, CURVE_PREFILL_THROUGHPUT},
    {TW_ACTIVE_DECODE_THROUGHPUT_PER_USER, CURVE_DECODE_THROUGHPUT},
    {TW_ACTIVE_PREFILL_THROUGHPUT_PER_USER, CURVE_PREFILL_THROUGHPUT},
    {TW_ACTIVE_TOTAL_THROUGHPUT, CURVE_TOTAL_THROUGHPUT},
};

void ours_check(int32_t status, const char *what)
{
    if (status != TW_OK)
        bench_fail(what, tw_strerror(status));
}

/* ---- records --------------------------------------------------------------------- */

tw_record ours_record(const traffic *t, size_t row)
{
    tw_record r;
    tw_record_init(&r, sizeof r);
    if (t->credit_ns)
        r.credit_issued_ns = t->credit_ns[row];
    r.start_ns = t->start_ns[row];
    r.generation_start_ns = t->first_ns[row];
    r.end_ns = t->end_ns[row];
    r.input_tokens = t->input[row];
    r.output_tokens = t->output[row];
    r.chunk_count = t->gaps;
    r.chunk_arrival_ns = t->chunk_ns ? t->chunk_ns + row * t->gaps : NULL;
    return r;
}

tw_recorder *ours_recorder(const traffic *t)
{
    tw_recorder *recorder;
    ours_check(tw_recorder_new(&recorder, NULL), "tw_recorder_new");
    for (size_t i = 0; i < t->count; i++) {
        tw_record r = ours_record(t, i);
        ours_check(tw_recorder_append(recorder, &r, 1, sizeof r, 0, NULL),
                   "tw_recorder_append");
    }
    return recorder;
}

/* ---- analyses -------------------------------------------------------------------- */

const char *ours_kernel_name(int32_t kernel)
{
    static char number[16];
    switch (kernel) {
    case TW_KERNEL_AUTO:
        return "auto";
    case TW_KERNEL_PORTABLE:
        return "portable";
    case TW_KERNEL_AVX2:
        return "avx2";
    case TW_KERNEL_AVX512:
        return "avx512";
    case TW_KERNEL_NEON:
        return "neon";
    default:
        snprintf(number, sizeof number, "%d", (int)kernel);
        return number;
    }
}

static tw_options options_with(int32_t kernel, uint32_t threads)
{
    tw_options options;
    tw_options_init(&options, sizeof options);
    options.kernel = kernel;
    options.threads = threads;
    return options;
}

bool ours_has_kernel(int32_t kernel)
{
    tw_options options = options_with(kernel, 1);
    tw_analysis *analysis;
    int32_t status = tw_analyze(&analysis, NULL, 0, &options);
    if (status == TW_ERR_NOTSUP)
        return false;
    ours_check(status, "tw_analyze");
    tw_analysis_free(analysis);
    return true;
}

void ours_read(const tw_analysis *analysis, curve_stats results[CURVE_METRICS])
{
    for (int i = 0; i < CURVE_METRICS; i++) {
        tw_summary summary = {.struct_size = sizeof summary};
        int32_t status = tw_analysis_summary(analysis, metrics[i].id, &summary);
        results[i] = (curve_stats){0, 0, 0, 0, {0}};
        if (status == TW_ERR_NODATA)
            continue;
        ours_check(status, "tw_analysis_summary");
        results[i].avg = summary.avg;
        results[i].min = summary.min;
        results[i].max = summary.max;
        results[i].std = summary.std;
        ours_check(tw_analysis_quantiles(analysis, metrics[i].id, curve_quantiles,
                                         results[i].quantile, CURVE_QUANTILES),
                   "tw_analysis_quantiles");
    }
}

void ours_run(tw_recorder *recorder, int32_t kernel, uint32_t threads,
              curve_stats results[CURVE_METRICS])
{
    tw_options options = options_with(kernel, threads);
    tw_analysis *analysis;
    ours_check(tw_analyze(&analysis, &recorder, 1, &options), "tw_analyze");
    ours_read(analysis, results);
    tw_analysis_free(analysis);
}

/* ---- memory ---------------------------------------------------------------------- */

struct counted {
    atomic_uint_least64_t now, peak;
};

static void *counted_alloc(void *user_data, size_t size, size_t align)
{
    struct counted *counted = user_data;
    size_t rounded = (size + align - 1) / align * align;
    void *memory = rounded < size ? NULL : aligned_alloc(align, rounded);
    uint64_t now, peak;
    if (!memory)
        return NULL;
    now = atomic_fetch_add(&counted->now, size) + size;
    peak = atomic_load(&counted->peak);
    while (now > peak && !atomic_compare_exchange_weak(&counted->peak, &peak, now))
        continue;
    return memory;
}

static void counted_free(void *user_data, void *memory, size_t size, size_t align)
{
    struct counted *counted = user_data;
    (void)align;
    atomic_fetch_sub(&counted->now, size);
    free(memory);
}

ours_memory ours_measure(tw_recorder *recorder)
{
    struct counted counted = {0, 0};
    tw_allocator allocator = {.struct_size = sizeof allocator,
                              .user_data = &counted,
                              .alloc = counted_alloc,
                              .free = counted_free};
    tw_options options = options_with(TW_KERNEL_AUTO, 1);
    tw_analysis *analysis;
    ours_memory memory;
    options.allocator = &allocator;
    ours_check(tw_analyze(&analysis, &recorder, 1, &options), "tw_analyze");
    memory.kept = atomic_load(&counted.now);
    memory.peak = atomic_load(&counted.peak);
    tw_analysis_free(analysis);
    if (atomic_load(&counted.now) != 0)
        bench_fail("tw_analysis_free", "leaks");
    return memory;
}

/* ---- agreement ------------------------------------------------------------------- */

/* A float64 sum of rates is off by its rounding errors, and the peers set to zero what lies
 * below 1e-9 of the peak: values may differ by that part of the curve's peak. A value per
 * user has the error of the rate that is divided, by one user at worst. */
#define VALUE_ERROR 1e-9

/* A quantile is where a sum of durations passes a share of the whole; the peers add up to
 * `events` of them, each time with an error of half an epsilon. The value that they find may
 * be that of a quantile as near as that: between the first of each pair and the second. */
static void bounding_quantiles(size_t events, double q[2 * CURVE_QUANTILES])
{
    double slack = (double)events * DBL_EPSILON + 1e-12; /* q has 12 places */
    for (int i = 0; i < CURVE_QUANTILES; i++) {
        q[2 * i] = curve_quantiles[i] - slack;
        q[2 * i + 1] = curve_quantiles[i] + slack;
    }
}

static bool quantiles_agree(const tw_analysis *analysis, int32_t id,
                            const double q[2 * CURVE_QUANTILES], const curve_stats *peer,
                            double error)
{
    double bound[2 * CURVE_QUANTILES];
    ours_check(tw_analysis_quantiles(analysis, id, q, bound, 2 * CURVE_QUANTILES),
               "tw_analysis_quantiles");
    for (int i = 0; i < CURVE_QUANTILES; i++)
        if (!(peer->quantile[i] >= bound[2 * i] - error &&
              peer->quantile[i] <= bound[2 * i + 1] + error))
            return false;
    return true;
}

static bool close_to(double a, double b, double error)
{
    return fabs(a - b) <= error;
}

bool ours_agree(tw_recorder *recorder, const curve_stats *peer, size_t count,
                enum curve_metric first, size_t events, const char *name)
{
    tw_options options = options_with(TW_KERNEL_AUTO, 1);
    curve_stats ours[CURVE_METRICS];
    double q[2 * CURVE_QUANTILES];
    tw_analysis *analysis;
    bool agree = true;
    bounding_quantiles(events, q);
    options.quantiles = q;
    options.quantile_count = 2 * CURVE_QUANTILES;
    ours_check(tw_analyze(&analysis, &recorder, 1, &options), "tw_analyze");
    ours_read(analysis, ours);
    for (size_t i = 0; i < count; i++) {
        size_t metric = (size_t)first + i;
        const curve_stats *a = &ours[metric], *b = &peer[i];
        double error = VALUE_ERROR * ours[metrics[metric].peak].max;
        if (close_to(a->avg, b->avg, error) && close_to(a->min, b->min, error) &&
            close_to(a->max, b->max, error) && close_to(a->std, b->std, error) &&
            quantiles_agree(analysis, metrics[metric].id, q, b, error))
            continue;
        agree = false;
        fprintf(stderr,
                "%s: metric %d: avg min max std p50 p90 p95 p99\n"
                "  ours %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n"
                "  peer %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n",
                name, (int)metrics[metric].id, a->avg, a->min, a->max, a->std,
                a->quantile[0], a->quantile[1], a->quantile[2], a->quantile[3], b->avg,
                b->min, b->max, b->std, b->quantile[0], b->quantile[1], b->quantile[2],
                b->quantile[3]);
    }
    tw_analysis_free(analysis);
    return agree;
}
