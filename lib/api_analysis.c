/* SPDX-License-Identifier: MIT */
/* Public entry points of analysis.h: validate, normalise structs, delegate. */

#include <assert.h>
#include <string.h>
#include <timeweight/analysis.h>

#include "analysis/analysis.h"
#include "api.h"
#include "base/abi.h"
#include "stat/rank.h"

void tw_options_init(tw_options *options, size_t struct_size)
{
    const uint32_t size = (uint32_t)struct_size;

    if (!options)
        return;
    memset(options, 0, struct_size);
    memcpy(options, &size, struct_size < sizeof size ? struct_size : sizeof size);
}

/* `quantiles` has room for TW_QUANTILES_LIMIT of them. */
static int32_t check_options(const tw_options *options, uint64_t *quantiles,
                             twi_request *request)
{
    const uint32_t flags = TW_WINDOW_BEGIN | TW_WINDOW_END;

    if (options->flags & ~flags)
        return TW_ERR_NOTSUP;
    request->kernel = twi_kernel_get(options->kernel);
    if (!request->kernel)
        return TW_ERR_NOTSUP;
    request->parallel = (twi_parallel){options->threads, options->executor,
                                       options->executor_data};
    request->has_begin = (options->flags & TW_WINDOW_BEGIN) != 0;
    request->has_end = (options->flags & TW_WINDOW_END) != 0;
    request->begin_ns = options->window_begin_ns;
    request->end_ns = options->window_end_ns;
    if ((request->has_begin && !twi_time_in_range(request->begin_ns)) ||
        (request->has_end && !twi_time_in_range(request->end_ns)))
        return TW_ERR_INVAL;

    if (options->quantile_count > TW_QUANTILES_LIMIT ||
        (options->quantile_count && !options->quantiles))
        return TW_ERR_INVAL;
    request->quantiles = quantiles;
    request->quantile_count = (size_t)options->quantile_count;
    for (size_t i = 0; i < request->quantile_count; i++)
        if (!twi_quantile_from(options->quantiles[i], &quantiles[i]))
            return TW_ERR_INVAL;
    return twi_api_allocator(options->allocator, &request->allocator);
}

static int32_t check_recorders(tw_recorder *const *recorders, size_t count)
{
    if (!recorders && count)
        return TW_ERR_INVAL;
    for (size_t i = 0; i < count; i++) {
        if (!recorders[i])
            return TW_ERR_INVAL;
        assert(recorders[i]->mark == TWI_MARK_RECORDER);
        for (size_t j = 0; j < i; j++)
            if (recorders[i] == recorders[j])
                return TW_ERR_INVAL;
    }
    return TW_OK;
}

int32_t tw_analyze(tw_analysis **analysis, tw_recorder *const *recorders,
                   size_t recorder_count, const tw_options *options)
{
    uint64_t quantiles[TW_QUANTILES_LIMIT];
    twi_request request;
    twi_core *core;
    tw_options known;
    int32_t status;

    if (!analysis)
        return TW_ERR_INVAL;
    status = check_recorders(recorders, recorder_count);
    if (status)
        return status;
    if (options) {
        status = twi_abi_read(&known, sizeof known,
                              TWI_ABI_UPTO(tw_options, quantile_count), options);
        if (status)
            return status;
    } else {
        tw_options_init(&known, sizeof known);
    }
    status = check_options(&known, quantiles, &request);
    if (status)
        return status;
    status = twi_core_new(&core, recorders, recorder_count, &request.allocator,
                          request.kernel, &request.parallel);
    if (status)
        return status;
    status = twi_analysis_new(analysis, core, &request);
    twi_core_release(core); /* the analysis holds it */
    return status;
}

void tw_analysis_free(tw_analysis *analysis)
{
    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (analysis)
        twi_analysis_free(analysis);
}

int32_t tw_analysis_window(tw_analysis **window, const tw_analysis *analysis,
                           int64_t begin_ns, int64_t end_ns)
{
    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!window || !analysis || !twi_time_in_range(begin_ns) ||
        !twi_time_in_range(end_ns))
        return TW_ERR_INVAL;
    return twi_analysis_window(window, analysis, begin_ns, end_ns);
}

int32_t tw_analysis_bounds(const tw_analysis *analysis, int64_t *begin_ns,
                           int64_t *end_ns)
{
    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!analysis || !begin_ns || !end_ns)
        return TW_ERR_INVAL;
    *begin_ns = analysis->run.window.begin_ns;
    *end_ns = analysis->run.window.end_ns;
    return TW_OK;
}

int32_t tw_analysis_balance(const tw_analysis *analysis, tw_balance *balance)
{
    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!analysis || !balance)
        return TW_ERR_INVAL;
    return twi_abi_write(balance, &analysis->balance, sizeof *balance,
                         TWI_ABI_UPTO(tw_balance, cut_at_end));
}

static int32_t find_emitted(const tw_analysis *analysis, int32_t metric, size_t *index)
{
    *index = twi_metric_index(metric);
    if (*index == TWI_METRIC_COUNT)
        return TW_ERR_NOTSUP;
    return analysis->emitted[*index] ? TW_OK : TW_ERR_NODATA;
}

int32_t tw_analysis_summary(const tw_analysis *analysis, int32_t metric,
                            tw_summary *summary)
{
    size_t index;
    int32_t status;

    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!analysis || !summary)
        return TW_ERR_INVAL;
    status = find_emitted(analysis, metric, &index);
    if (status)
        return status;
    return twi_abi_write(summary, &analysis->summary[index], sizeof *summary,
                         TWI_ABI_UPTO(tw_summary, count));
}

int32_t tw_analysis_quantiles(const tw_analysis *analysis, int32_t metric,
                              const double *q, double *values, size_t count)
{
    enum { SHARE = 64 };
    size_t index;
    int32_t status;
    uint64_t quantiles[SHARE];

    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!analysis || (count && (!q || !values)))
        return TW_ERR_INVAL;
    index = twi_metric_index(metric);
    if (index == TWI_METRIC_COUNT || twi_metrics[index].row.kind == TW_KIND_SCALAR)
        return TW_ERR_NOTSUP;
    for (size_t i = 0; i < count; i++)
        if (!twi_quantile_from(q[i], &quantiles[0]))
            return TW_ERR_INVAL;
    status = find_emitted(analysis, metric, &index);
    if (status)
        return status;
    while (count) {
        const size_t some = count < SHARE ? count : (size_t)SHARE;
        for (size_t i = 0; i < some; i++)
            (void)twi_quantile_from(q[i], &quantiles[i]);
        twi_analysis_quantiles(analysis, index, quantiles, values, some);
        q += some;
        values += some;
        count -= some;
    }
    return TW_OK;
}
