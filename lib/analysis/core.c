/* SPDX-License-Identifier: MIT */
#include "analysis/core.h"

#include "base/mem.h"
#include "metric/sample.h"
#include "store/rules.h"
#include "timeline/curve.h"

/* Holds the blocks of what is published now. */
static int32_t take_spans(twi_core *core, tw_recorder *const *recorders,
                          size_t recorder_count)
{
    uint64_t *published = twi_mem_alloc(&core->allocator, recorder_count,
                                        sizeof *published);
    uint64_t count = 0;

    if (!published)
        return TW_ERR_NOMEM;
    for (size_t i = 0; i < recorder_count; i++) {
        published[i] = twi_recorder_published(recorders[i]);
        twi_recorder_add_refusals(recorders[i], &core->sheet);
        count += twi_recorder_span_count(published[i]);
    }
    core->spans = twi_mem_alloc(&core->allocator, count, sizeof(twi_span));
    if (core->spans) {
        core->span_count = count;
        count = 0;
        for (size_t i = 0; i < recorder_count; i++) {
            twi_recorder_spans(recorders[i], published[i], core->spans + count);
            count += twi_recorder_span_count(published[i]);
        }
    }
    twi_mem_free(&core->allocator, published, recorder_count, sizeof *published);
    return core->spans ? TW_OK : TW_ERR_NOMEM;
}

/* What the timeline's survey says of the run. */
static int32_t summarise(twi_core *core)
{
    const twi_survey *survey = &core->timeline.survey;

    for (uint32_t shape = 0; shape < TWI_SHAPES; shape++) {
        if (survey->records[shape]) {
            const twi_row row = twi_shape_row(shape);

            twi_row_count(&row, survey->records[shape], &core->sheet);
            core->eligible |= twi_curve_eligible(&row);
            core->sample_eligible |= twi_sample_eligible(shape);
        }
    }
    core->first_ns = survey->first_ns;
    core->last_ns = survey->last_ns;
    if (core->sheet.issued &&
        (!twi_time_in_range(core->first_ns) || !twi_time_in_range(core->last_ns)))
        return TW_ERR_RANGE;
    return TW_OK;
}

int32_t twi_core_new(twi_core **out, tw_recorder *const *recorders, size_t recorder_count,
                     const tw_allocator *allocator, const twi_kernel *kernel,
                     const twi_parallel *parallel)
{
    const twi_slice whole = {INT64_MIN, INT64_MAX};
    twi_core *core = twi_mem_zalloc(allocator, 1, sizeof *core);
    int32_t status;

    if (!core)
        return TW_ERR_NOMEM;
    atomic_init(&core->references, 1);
    core->allocator = *allocator;
    core->kernel = kernel;
    status = take_spans(core, recorders, recorder_count);
    if (!status)
        status = twi_timeline_build(&core->timeline, allocator, kernel, parallel,
                                    core->spans, (size_t)core->span_count, whole);
    if (!status)
        status = summarise(core);
    if (status) {
        twi_core_release(core);
        return status;
    }
    *out = core;
    return TW_OK;
}

void twi_core_hold(twi_core *core)
{
    atomic_fetch_add_explicit(&core->references, 1, memory_order_relaxed);
}

void twi_core_release(twi_core *core)
{
    const tw_allocator allocator = core->allocator;

    if (atomic_fetch_sub_explicit(&core->references, 1, memory_order_acq_rel) != 1)
        return;
    twi_timeline_release(&core->timeline);
    for (uint64_t s = 0; s < core->span_count; s++)
        twi_block_release(core->spans[s].block);
    twi_mem_free(&allocator, core->spans, core->span_count, sizeof(twi_span));
    twi_mem_free(&allocator, core, 1, sizeof *core);
}
