/* SPDX-License-Identifier: MIT */
#include "analysis/source.h"

static int in_set(uint32_t set, int source)
{
    return (set >> source & 1) != 0;
}

/* Where a share of the time begins: with a cell of the timeline, inside the window. */
static int64_t share_begin(const twi_run *run, uint32_t part, uint32_t count)
{
    const twi_timeline *t = run->timeline;
    const uint64_t cell = twi_part_begin(t->cell_count, part, count);
    int64_t ns;

    if (part == 0)
        return run->window.begin_ns;
    if (part == count)
        return run->window.end_ns;
    ns = t->origin_ns + (int64_t)(cell << t->cell_shift << t->events.bucket_shift);
    return ns < run->window.begin_ns ? run->window.begin_ns
           : ns > run->window.end_ns ? run->window.end_ns
                                     : ns;
}

static int32_t pass_curves(const twi_run *run, twi_share share, uint32_t set,
                           twi_visit visit, void *context)
{
    twi_sweep sweep;
    _Alignas(TWI_KERNEL_ALIGN) twi_stretches stretches;

    twi_sweep_begin(&sweep, run->timeline, run->kernel,
                    share_begin(run, share.part, share.count),
                    share_begin(run, share.part + 1, share.count));
    while (twi_sweep_next(&sweep, &stretches)) {
        for (int curve = 0; curve < TWI_CURVE_COUNT; curve++) {
            const twi_feed feed = {twi_sweep_real(&stretches, (twi_curve)curve),
                                   twi_sweep_counts(&stretches, (twi_curve)curve),
                                   stretches.duration_ns, stretches.count};
            int32_t status;

            if (!in_set(set, curve))
                continue;
            status = visit(context, curve, &feed);
            if (status)
                return status;
        }
    }
    return TW_OK;
}

/* Samples, block by block. */
typedef struct gatherer {
    twi_visit visit;
    void *context;
    uint64_t one[TWI_BATCH_SIZE]; /* the weights of all values */
    double value[TWI_BLOCK_ROWS];
    uint32_t level[TWI_BLOCK_ROWS];
} gatherer;

static int32_t flush(const gatherer *g, int sample, bool levels, size_t count)
{
    int32_t status = TW_OK;

    for (size_t i = 0; i < count && !status; i += TWI_BATCH_SIZE) {
        const size_t left = count - i;
        const twi_feed feed = {levels ? NULL : g->value + i, levels ? g->level + i : NULL,
                               g->one, left < TWI_BATCH_SIZE ? left : TWI_BATCH_SIZE};
        status = g->visit(g->context, TWI_CURVE_COUNT + sample, &feed);
    }
    return status;
}

static int32_t visit_chunks(gatherer *g, const twi_block *block, const uint16_t *rows,
                            size_t count)
{
    size_t values = 0;

    for (size_t i = 0; i < count && block->chunks; i++) {
        twi_chunk_reader chunks;
        uint64_t gap_ns;
        int64_t tokens;
        twi_row row;

        twi_block_read(block, rows[i], 0, &row);
        twi_chunks_begin(&chunks, &row);
        while (twi_chunks_next(&chunks, &gap_ns, &tokens)) {
            g->value[values++] = (double)(int64_t)gap_ns;
            if (values == TWI_BLOCK_ROWS) {
                const int32_t status = flush(g, TWI_SAMPLE_INTER_CHUNK, false, values);
                if (status)
                    return status;
                values = 0;
            }
        }
    }
    return flush(g, TWI_SAMPLE_INTER_CHUNK, false, values);
}

static int32_t visit_block(gatherer *g, int sample, bool levels, const twi_block *block,
                           const uint16_t *rows, size_t count)
{
    if (sample == TWI_SAMPLE_INTER_CHUNK)
        return visit_chunks(g, block, rows, count);
    if (levels)
        count = twi_sample_counts((twi_sample)sample, block, rows, count, g->level);
    else
        count = twi_sample_values((twi_sample)sample, block, rows, count, g->value);
    return flush(g, sample, levels, count);
}

/* Walks the members that ended well. */
static int32_t pass_samples(const twi_run *run, twi_share share, uint32_t set,
                            twi_visit visit, twi_span_visit span_visit, void *context)
{
    const size_t from = (size_t)twi_part_begin(run->span_count, share.part, share.count);
    const size_t to = (size_t)twi_part_begin(run->span_count, share.part + 1,
                                             share.count);
    gatherer g;

    g.visit = visit;
    g.context = context;
    for (size_t i = 0; i < TWI_BATCH_SIZE; i++)
        g.one[i] = 1;
    for (size_t s = from; s < to; s++) {
        const twi_block *block = run->spans[s].block;
        uint16_t rows[TWI_BLOCK_ROWS];
        const size_t count = twi_window_members(&run->window, &run->spans[s], rows);

        if (span_visit)
            span_visit(context, &run->spans[s]);
        for (int sample = 0; sample < TWI_SAMPLE_COUNT; sample++) {
            const bool levels = run->token_levels &&
                                twi_sample_is_count((twi_sample)sample);
            int32_t status;

            if (!in_set(set, TWI_CURVE_COUNT + sample))
                continue;
            status = visit_block(&g, sample, levels, block, rows, count);
            if (status)
                return status;
        }
    }
    return TW_OK;
}

int32_t twi_source_pass(const twi_run *run, twi_share share, uint32_t set,
                        twi_visit visit, twi_span_visit span_visit, void *context)
{
    const uint32_t curves = set & ((1u << TWI_CURVE_COUNT) - 1);
    int32_t status = TW_OK;

    if (curves)
        status = pass_curves(run, share, curves, visit, context);
    if (!status && (set != curves || span_visit))
        status = pass_samples(run, share, set, visit, span_visit, context);
    return status;
}
