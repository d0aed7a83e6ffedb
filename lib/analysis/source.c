/* SPDX-License-Identifier: MIT */
#include "analysis/source.h"

static int in_set(uint32_t set, int source)
{
    return (set >> source & 1) != 0;
}

static int32_t pass_curves(const twi_run *run, uint32_t set, twi_visit visit,
                           void *context)
{
    twi_sweep sweep;
    twi_batch batch;
    twi_pairs pairs;

    twi_sweep_begin(&sweep, run->timeline, run->window.begin_ns, run->window.end_ns);
    while (twi_sweep_next(&sweep, &batch)) {
        for (int curve = 0; curve < TWI_CURVE_COUNT; curve++) {
            int32_t status;
            if (!in_set(set, curve))
                continue;
            twi_sweep_curve(&batch, (twi_curve)curve, &pairs);
            status = visit(context, curve, &pairs);
            if (status)
                return status;
        }
    }
    return TW_OK;
}

static int32_t flush(twi_pairs *pairs, int sample, twi_visit visit, void *context)
{
    const int32_t status = visit(context, TWI_CURVE_COUNT + sample, pairs);
    pairs->count = 0;
    return status;
}

static int32_t visit_row(const twi_row *row, int sample, twi_pairs *pairs,
                         twi_visit visit, void *context)
{
    const uint64_t values = twi_sample_values((twi_sample)sample, row);

    for (uint64_t i = 0; i < values; i++) {
        pairs->value[pairs->count] = twi_sample_value((twi_sample)sample, row, i);
        pairs->weight[pairs->count] = 1;
        if (++pairs->count == TWI_BATCH_SIZE) {
            const int32_t status = flush(pairs, sample, visit, context);
            if (status)
                return status;
        }
    }
    return TW_OK;
}

/* Walks the members that ended well; buffers[i] serves sample from + i. */
static int32_t pass_samples(const twi_run *run, uint32_t set, int from, int to,
                            twi_pairs *buffers, twi_visit visit, void *context)
{
    int32_t status = TW_OK;

    for (int sample = from; sample < to; sample++)
        buffers[sample - from].count = 0;
    for (size_t s = 0; s < run->span_count; s++) {
        for (uint32_t r = 0; r < run->spans[s].rows; r++) {
            twi_row row;

            twi_block_read(run->spans[s].block, r, run->spans[s].offset_ns, &row);
            if (row.status != TW_RECORD_OK || !twi_window_is_member(&run->window, &row))
                continue;
            for (int sample = from; sample < to && !status; sample++)
                if (in_set(set, TWI_CURVE_COUNT + sample))
                    status = visit_row(&row, sample, &buffers[sample - from], visit,
                                       context);
            if (status)
                return status;
        }
    }
    for (int sample = from; sample < to && !status; sample++)
        if (buffers[sample - from].count)
            status = flush(&buffers[sample - from], sample, visit, context);
    return status;
}

int32_t twi_source_pass(const twi_run *run, uint32_t set, twi_pairs *buffers,
                        twi_visit visit, void *context)
{
    const uint32_t curves = set & ((1u << TWI_CURVE_COUNT) - 1);
    int32_t status = TW_OK;

    if (curves)
        status = pass_curves(run, curves, visit, context);
    if (!status && set != curves)
        status = pass_samples(run, set, 0, TWI_SAMPLE_COUNT, buffers, visit, context);
    return status;
}

int32_t twi_source_pass_one(const twi_run *run, int source, twi_visit visit,
                            void *context)
{
    const int sample = source - TWI_CURVE_COUNT;
    twi_pairs buffer;

    if (sample < 0)
        return pass_curves(run, 1u << source, visit, context);
    return pass_samples(run, 1u << source, sample, sample + 1, &buffer, visit, context);
}
