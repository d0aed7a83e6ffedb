/* SPDX-License-Identifier: MIT */
#include "timeline/fill.h"

#include <string.h>

#include "timeline/curve.h"

/* ---- Events ---------------------------------------------------------------------- */

static bool in_slice(const twi_fill *f, int64_t time_ns)
{
    return time_ns >= f->slice.begin_ns && time_ns < f->slice.end_ns;
}

static uint64_t time_of(const twi_fill *f, int64_t time_ns)
{
    return (uint64_t)time_ns - (uint64_t)f->timeline->origin_ns;
}

static void count_event(twi_fill *f, int64_t time_ns)
{
    if (in_slice(f, time_ns))
        f->bucket_next[time_of(f, time_ns) >> f->timeline->events.bucket_shift]++;
}

static void place_waiting(twi_fill *f)
{
    const twi_placing placing = {&f->events, f->timeline->keys, f->bucket_next, f->cells,
                                 f->timeline->cell_shift};

    if (f->fits) /* else all is done again, and lanes cannot take it */
        f->kernel->place(&placing, f->time, f->what, f->waiting);
    f->waiting = 0;
}

/* An event before the slice. */
static void carry(twi_fill *f, uint64_t what)
{
    if (f->timeline->wide)
        twi_state_apply(&f->events, true, what, &f->carry_state);
    else if (f->fits)
        twi_apply(&f->events, what, f->carry);
}

static inline void add_event(twi_fill *f, int64_t time_ns, unsigned kind, uint64_t index)
{
    const uint64_t what = index << TWI_KIND_BITS | kind;

    if (!in_slice(f, time_ns)) {
        if (time_ns < f->slice.begin_ns)
            carry(f, what);
        return;
    }
    f->time[f->waiting] = time_of(f, time_ns);
    f->what[f->waiting] = what;
    if (++f->waiting == TWI_FILL_WAITING)
        place_waiting(f);
}

/* ---- Counting -------------------------------------------------------------------- */

static void count_chunks(twi_fill *f, const twi_row *row)
{
    int64_t arrival_ns = row->generation_ns, tokens;
    twi_chunk_reader chunks;
    uint64_t gap_ns;

    if (!twi_curve_has_decode_rate(row))
        return;
    twi_chunks_begin(&chunks, row);
    while (twi_chunks_next(&chunks, &gap_ns, &tokens)) {
        arrival_ns += (int64_t)gap_ns;
        if (gap_ns)
            count_event(f, arrival_ns);
    }
}

static void count_span(twi_fill *f, const twi_span *span)
{
    for (uint32_t r = 0; r < span->rows; r++) {
        twi_row row;

        twi_block_read(span->block, r, span->offset_ns, &row);
        if (row.credit_ns != TW_TIME_NONE)
            count_event(f, row.credit_ns);
        count_event(f, row.start_ns);
        if (twi_row_has_generation(&row))
            count_event(f, row.generation_ns);
        if (!twi_row_in_flight(&row))
            count_event(f, row.end_ns);
    }
    for (uint32_t r = 0; r < span->rows && span->block->chunks; r++) {
        twi_row row;

        twi_block_read(span->block, r, span->offset_ns, &row);
        if (row.chunks.count)
            count_chunks(f, &row);
    }
}

void twi_fill_count(twi_fill *fill)
{
    for (size_t s = 0; s < fill->span_count; s++)
        count_span(fill, &fill->spans[s]);
}

/* ---- Records --------------------------------------------------------------------- */

static void set_rate(twi_fill *f, twi_entry *entry, int word, double rate)
{
    if (f->timeline->wide) {
        entry->w[word] = twi_f64_bits(rate);
    } else if (rate < 0x1p95) {
        twi_split_rate(rate, &entry->w[word], &entry->w[word + 1]);
        if (entry->w[word] > f->most_high)
            f->most_high = entry->w[word];
    } else {
        f->fits = false;
    }
}

static void note_rate(twi_fill *f, double rate)
{
    uint64_t high, low;

    if (f->timeline->wide)
        return;
    f->fits = f->fits && rate < 0x1p95;
    if (f->fits) {
        twi_split_rate(rate, &high, &low);
        if (high > f->most_high)
            f->most_high = high;
    }
}

static void add_gap(twi_fill *f, uint64_t gap_ns)
{
    twi_timeline *t = f->timeline;
    const uint64_t gap = f->at.gaps++;

    if (gap_ns >= UINT32_MAX) {
        t->longer[f->at.longer++] = (twi_long_gap){gap, gap_ns};
        f->events.chunks.longer_count++; /* what is searched is filled */
    }
    t->gap_ns[gap] = gap_ns >= UINT32_MAX ? UINT32_MAX : (uint32_t)gap_ns;
    if (gap % TWI_GAPS_A_MARK == 0)
        t->at[gap / TWI_GAPS_A_MARK] = (uint32_t)f->at.chunked;
}

/* Makes the chunk table's part of a record with gaps, and the entry's. */
static void fill_chunks(twi_fill *f, const twi_row *row, twi_entry *entry)
{
    twi_timeline *t = f->timeline;
    twi_chunked *record = &t->chunked[f->at.chunked];
    const bool counted = twi_row_has_chunk_tokens(row);
    uint64_t gap_ns, first_tokens = (uint64_t)row->output_tokens;
    uint64_t *last = NULL;
    twi_chunk_reader chunks;
    int64_t tokens;

    memset(record, 0, sizeof *record);
    record->first_gap = f->at.gaps;
    record->counts = counted ? f->at.tokens + 1 : 0;
    twi_chunks_begin(&chunks, row);
    while (twi_chunks_next(&chunks, &gap_ns, &tokens)) {
        if (gap_ns) {
            add_gap(f, gap_ns);
            if (counted) {
                last = &t->tokens[f->at.tokens++];
                *last = 0;
            }
        }
        if (last) { /* else they came with the first token */
            *last += (uint64_t)tokens;
            first_tokens -= (uint64_t)tokens;
        }
    }
    record->gap_count = f->at.gaps - record->first_gap;
    if (!counted) {
        twi_u192 share;

        first_tokens = 1;
        record->tokens = (uint64_t)row->output_tokens - 1;
        share = twi_quotient64(twi_shl(twi_from64(record->tokens), 64),
                               record->gap_count);
        record->share = share.w[1];
        record->share_part = share.w[0];
        record->share_rate = twi_rate_tokens(record->tokens);
    }
    entry->w[TWI_ENTRY_OUTPUT] = first_tokens;
    f->at.chunked++;
    for (uint64_t gap = record->first_gap; gap < f->at.gaps; gap++)
        note_rate(f, twi_gap_rate(&f->events.chunks, record, gap));
    set_rate(f, entry, TWI_ENTRY_DECODE,
             twi_gap_rate(&f->events.chunks, record, record->first_gap));
}

/* Fills an entry but for the decode rate; returns the output tokens. */
static inline uint64_t fill_entry(twi_fill *f, const twi_row *row, twi_entry *entry)
{
    const bool generation = twi_row_has_generation(row);
    uint64_t input = 0, output = 0;

    memset(entry, 0, sizeof *entry);
    if (twi_curve_has_prefill(row) && row->input_tokens != TW_TOKENS_NONE)
        input = (uint64_t)row->input_tokens;
    if (generation && row->output_tokens != TW_TOKENS_NONE)
        output = (uint64_t)row->output_tokens;
    entry->w[TWI_ENTRY_INPUT] = input;
    entry->w[TWI_ENTRY_OUTPUT] = output;
    entry->w[TWI_ENTRY_ALL] = input + output;
    if (generation && row->generation_ns > row->start_ns)
        set_rate(f, entry, TWI_ENTRY_PREFILL,
                 twi_rate(twi_rate_tokens(input),
                          (double)(row->generation_ns - row->start_ns)));
    return output;
}

static inline unsigned start_kind(const twi_row *row)
{
    const bool credit = row->credit_ns != TW_TIME_NONE;

    if (twi_curve_has_prefill(row))
        return credit ? TWI_KIND_START_PREFILL_CREDIT : TWI_KIND_START_PREFILL;
    return credit ? TWI_KIND_START_CREDIT : TWI_KIND_START;
}

static inline unsigned end_kind(const twi_row *row)
{
    return twi_row_has_generation(row)  ? TWI_KIND_END_DECODE
           : twi_curve_has_prefill(row) ? TWI_KIND_END_PREFILL
                                        : TWI_KIND_END;
}

/* The events of a record but for its end. */
static inline void add_begin(twi_fill *f, const twi_row *row, uint64_t index)
{
    if (row->credit_ns != TW_TIME_NONE)
        add_event(f, row->credit_ns, TWI_KIND_CREDIT, index);
    add_event(f, row->start_ns, start_kind(row), index);
    if (twi_row_has_generation(row))
        add_event(f, row->generation_ns, TWI_KIND_GENERATION, index);
}

static void add_chunk_events(twi_fill *f, const twi_row *row)
{
    const twi_chunked *record = &f->timeline->chunked[f->at.chunked - 1];
    int64_t arrival_ns = row->generation_ns;

    for (uint64_t gap = record->first_gap; gap < f->at.gaps; gap++) {
        arrival_ns += (int64_t)twi_gap_ns(&f->events.chunks, gap);
        add_event(f, arrival_ns,
                  gap + 1 < f->at.gaps ? TWI_KIND_CHUNK : TWI_KIND_CHUNK_LAST, gap);
    }
}

static void add_chunked_row(twi_fill *f, const twi_span *span, uint32_t r, uint64_t index)
{
    twi_entry *entry = &f->timeline->entries[index];
    bool has_gaps;
    twi_row row;

    twi_block_read(span->block, r, span->offset_ns, &row);
    has_gaps = twi_gap_count(&row) != 0;
    (void)fill_entry(f, &row, entry);
    if (has_gaps)
        fill_chunks(f, &row, entry);
    add_begin(f, &row, index);
    if (has_gaps)
        add_chunk_events(f, &row);
    if (!twi_row_in_flight(&row))
        add_event(f, row.end_ns, has_gaps ? TWI_KIND_END_CHUNKED : end_kind(&row), index);
}

static void add_span(twi_fill *f, const twi_span *span)
{
    for (uint32_t r = 0; r < span->rows; r++) {
        const uint64_t index = f->at.rows++;
        twi_entry *entry = &f->timeline->entries[index];
        uint64_t output;
        twi_row row;

        if (twi_block_has_chunks(span->block, r)) {
            add_chunked_row(f, span, r, index);
            continue;
        }
        twi_block_read(span->block, r, span->offset_ns, &row);
        output = fill_entry(f, &row, entry);
        if (output > 1 && !twi_row_in_flight(&row) && row.end_ns > row.generation_ns)
            set_rate(f, entry, TWI_ENTRY_DECODE,
                     twi_rate(twi_rate_tokens(output - 1),
                              (double)(row.end_ns - row.generation_ns)));
        add_begin(f, &row, index);
        if (!twi_row_in_flight(&row))
            add_event(f, row.end_ns, end_kind(&row), index);
    }
}

void twi_fill_make(twi_fill *fill)
{
    const twi_chunk_table *chunks = &fill->timeline->events.chunks;

    fill->fits = true;
    fill->events = fill->timeline->events;
    /* Only what is of this part is there. */
    fill->events.chunks.from_gap = fill->at.gaps;
    fill->events.chunks.from_record = fill->at.chunked;
    fill->events.chunks.longer = chunks->longer + fill->at.longer;
    fill->events.chunks.longer_count = 0;
    for (size_t s = 0; s < fill->span_count; s++)
        add_span(fill, &fill->spans[s]);
    place_waiting(fill);
}
