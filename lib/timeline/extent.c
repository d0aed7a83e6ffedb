/* SPDX-License-Identifier: MIT */
#include "timeline/extent.h"

#include "timeline/curve.h"

uint64_t twi_gap_count(const twi_row *row)
{
    twi_chunk_reader chunks;
    uint64_t gap_ns, gaps = 0;
    int64_t tokens;

    if (!row->chunks.count || !twi_curve_has_decode_rate(row))
        return 0;
    twi_chunks_begin(&chunks, row);
    while (twi_chunks_next(&chunks, &gap_ns, &tokens))
        gaps += gap_ns > 0;
    return gaps;
}

static void measure_chunks(twi_extent *e, const twi_row *row)
{
    const uint64_t gaps = twi_gap_count(row);
    twi_chunk_reader chunks;
    uint64_t gap_ns;
    int64_t tokens;

    if (!gaps)
        return;
    e->chunked++;
    e->gaps += gaps;
    e->events += gaps;
    if (twi_row_has_chunk_tokens(row))
        e->tokens += gaps;
    twi_chunks_begin(&chunks, row);
    while (twi_chunks_next(&chunks, &gap_ns, &tokens))
        e->longer += gap_ns >= UINT32_MAX;
}

/* The survey counts rows that may have been counted before. */
static uint64_t rows_and_events(const twi_survey *survey, uint64_t *events)
{
    uint64_t rows = 0;

    *events = 0;
    for (uint32_t shape = 0; shape < TWI_SHAPES; shape++) {
        rows += survey->records[shape];
        *events += survey->records[shape] *
                   (1u + !!(shape & TWI_SHAPE_CREDIT) + !!(shape & TWI_SHAPE_GENERATION) +
                    !!(shape & TWI_SHAPE_END));
    }
    return rows;
}

void twi_extent_add(twi_extent *extent, twi_survey *survey, const twi_span *spans,
                    size_t span_count)
{
    uint64_t events_before, events;
    const uint64_t rows_before = rows_and_events(survey, &events_before);

    for (size_t s = 0; s < span_count; s++) {
        const twi_span *span = &spans[s];

        twi_survey_span(survey, span);
        for (uint32_t r = 0; r < span->rows && span->block->chunks; r++) {
            twi_row row;

            twi_block_read(span->block, r, span->offset_ns, &row);
            if (row.chunks.count)
                measure_chunks(extent, &row);
        }
    }
    extent->rows += rows_and_events(survey, &events) - rows_before;
    extent->events += events - events_before;
}

void twi_extent_merge(twi_extent *extent, const twi_extent *from)
{
    extent->rows += from->rows;
    extent->events += from->events;
    extent->chunked += from->chunked;
    extent->gaps += from->gaps;
    extent->longer += from->longer;
    extent->tokens += from->tokens;
}
