/* SPDX-License-Identifier: MIT */
#include "timeline/timeline.h"

#include <string.h>

#include "base/mem.h"
#include "timeline/curve.h"
#include "timeline/order.h"

/* ---- What records contribute ------------------------------------------------------- */

static twi_u192 rate_of(uint64_t tokens, uint64_t shares, uint64_t duration_ns)
{
    return twi_quotient(twi_shl(twi_from64(tokens), TWI_RATE_SHIFT),
                        twi_product(shares, duration_ns));
}

static uint64_t duration(int64_t from, int64_t to)
{
    return (uint64_t)to - (uint64_t)from;
}

/* Number of distinct arrivals after the first token, if they shape the decode curves. */
static uint64_t gap_count(const twi_row *row)
{
    uint64_t gaps = 0;
    int64_t previous;

    if (!row->chunks.count || !twi_curve_has_decode_rate(row))
        return 0;
    previous = row->generation_ns - row->offset_ns;
    for (uint64_t i = 0; i < row->chunks.count; i++) {
        gaps += row->chunks.arrival_ns[i] > previous;
        previous = row->chunks.arrival_ns[i];
    }
    return gaps;
}

/* ---- Building ---------------------------------------------------------------------- */

/* `timeline` under construction: how much of each array is filled. */
typedef struct builder {
    twi_timeline *timeline;
    twi_slice slice;
    uint64_t entries;
    uint64_t gaps;
} builder;

static void add_event(builder *b, int64_t time_ns, unsigned kind, uint64_t index)
{
    const uint64_t what = index << TWI_EVENT_KIND_BITS | kind;
    twi_timeline *t = b->timeline;

    if (time_ns >= b->slice.end_ns)
        return;
    if (time_ns < b->slice.begin_ns) {
        twi_timeline_apply(t, what, &t->carry);
        return;
    }
    t->events[t->event_count].key = duration(t->origin_ns, time_ns);
    t->events[t->event_count].what = what;
    t->event_count++;
}

/* The tokens after the first, spread evenly: after gap j of `gaps`, floor(tokens * j /
 * gaps) in the unit of tokens. Rounding the running sum keeps the total exact. */
static twi_u192 spread(uint64_t tokens, uint64_t j, uint64_t gaps)
{
    return twi_quotient64(twi_shl(twi_product(tokens, j), TWI_TOKENS_SHIFT), gaps);
}

/* Fills the gaps of a record and the entry's part of them. */
static void fill_gaps(builder *b, const twi_row *row, twi_entry *entry, uint64_t gaps)
{
    const int64_t *arrival = row->chunks.arrival_ns, *tokens = twi_row_chunk_tokens(row);
    const uint64_t rest = entry->output_total - 1;
    twi_gap *first = &b->timeline->gaps[b->gaps];
    int64_t previous = row->generation_ns - row->offset_ns;
    uint64_t i = 0;

    entry->output_first = tokens ? entry->output_total : 1;
    while (arrival[i] == previous) /* these came with the first token */
        i++;
    for (uint64_t j = 0; j < gaps; j++) {
        const uint64_t length = duration(previous, arrival[i]);
        uint64_t brought = 0;

        previous = arrival[i];
        for (; i < row->chunks.count && arrival[i] == previous; i++)
            brought += tokens ? (uint64_t)tokens[i] : 0;
        entry->output_first -= brought;
        if (tokens) {
            twi_store128(first[j].rate, rate_of(brought, 1, length));
            twi_store128(first[j].tokens, twi_whole_tokens(brought));
        } else {
            twi_store128(first[j].rate, rate_of(rest, gaps, length));
            twi_store128(first[j].tokens,
                         twi_sub(spread(rest, j + 1, gaps), spread(rest, j, gaps)));
        }
    }
    memcpy(entry->decode_rate, first->rate, sizeof entry->decode_rate);
}

/* Adds the events at the right edges of the gaps that fill_gaps() filled. */
static void add_chunk_events(builder *b, const twi_row *row, uint64_t gaps)
{
    const int64_t *arrival = row->chunks.arrival_ns;
    int64_t previous = row->generation_ns - row->offset_ns;

    for (uint64_t i = 0; i < row->chunks.count; i++) {
        if (arrival[i] > previous) {
            const unsigned kind = --gaps ? TWI_EVENT_CHUNK : TWI_EVENT_CHUNK_LAST;
            add_event(b, arrival[i] + row->offset_ns, kind, b->gaps++);
        }
        previous = arrival[i];
    }
}

static void fill_entry(builder *b, const twi_row *row, twi_entry *entry, uint64_t gaps)
{
    memset(entry, 0, sizeof *entry);
    if (row->credit_ns != TW_TIME_NONE)
        entry->has |= TWI_ENTRY_CREDIT;
    if (twi_curve_has_prefill(row)) {
        entry->has |= TWI_ENTRY_PREFILL;
        if (row->input_tokens != TW_TOKENS_NONE)
            entry->input = (uint64_t)row->input_tokens;
    }
    if (!twi_row_has_generation(row))
        return;
    entry->has |= TWI_ENTRY_GENERATION;
    if (row->generation_ns > row->start_ns)
        twi_store128(
            entry->prefill_rate,
            rate_of(entry->input, 1, duration(row->start_ns, row->generation_ns)));
    if (row->output_tokens != TW_TOKENS_NONE)
        entry->output_first = entry->output_total = (uint64_t)row->output_tokens;
    if (gaps) {
        entry->has |= TWI_ENTRY_GAPS;
        fill_gaps(b, row, entry, gaps);
    } else if (!row->chunks.count && twi_curve_has_decode_rate(row) &&
               row->end_ns > row->generation_ns) {
        twi_store128(entry->decode_rate,
                     rate_of(entry->output_total - 1, 1,
                             duration(row->generation_ns, row->end_ns)));
    }
}

static void add_row(builder *b, const twi_row *row)
{
    const uint64_t index = b->entries++, gaps = gap_count(row);

    fill_entry(b, row, &b->timeline->entries[index], gaps);
    if (row->credit_ns != TW_TIME_NONE)
        add_event(b, row->credit_ns, TWI_EVENT_CREDIT, index);
    add_event(b, row->start_ns, TWI_EVENT_START, index);
    if (twi_row_has_generation(row))
        add_event(b, row->generation_ns, TWI_EVENT_GENERATION, index);
    if (gaps)
        add_chunk_events(b, row, gaps);
    if (!twi_row_in_flight(row))
        add_event(b, row->end_ns, TWI_EVENT_END, index);
}

/* What the arrays must hold, and where time begins. */
static void measure(twi_timeline *t, const twi_span *spans, size_t span_count)
{
    t->origin_ns = INT64_MAX;
    for (size_t s = 0; s < span_count; s++) {
        for (uint32_t r = 0; r < spans[s].rows; r++) {
            twi_row row;
            uint64_t gaps;

            twi_block_read(spans[s].block, r, spans[s].offset_ns, &row);
            gaps = gap_count(&row);
            t->entry_room++;
            t->gap_room += gaps;
            t->event_room += 1u + gaps + (row.credit_ns != TW_TIME_NONE) +
                             twi_row_has_generation(&row) + !twi_row_in_flight(&row);
            if (twi_row_first_ns(&row) < t->origin_ns)
                t->origin_ns = twi_row_first_ns(&row);
        }
    }
    if (t->entry_room == 0)
        t->origin_ns = 0;
}

static int32_t set_checkpoints(twi_timeline *t)
{
    twi_state state = t->carry;

    t->checkpoint_count = t->event_count / TWI_CHECKPOINT_EVERY;
    t->checkpoints = twi_mem_alloc(&t->allocator, t->checkpoint_count,
                                   sizeof(twi_checkpoint));
    if (!t->checkpoints)
        return TW_ERR_NOMEM;
    for (uint64_t c = 0; c < t->checkpoint_count; c++) {
        const uint64_t from = c * TWI_CHECKPOINT_EVERY, to = from + TWI_CHECKPOINT_EVERY;

        for (uint64_t i = from; i < to; i++) {
            if (t->event_count - i > TWI_LOOK_AHEAD)
                twi_timeline_prefetch(t, t->events[i + TWI_LOOK_AHEAD].what);
            twi_timeline_apply(t, t->events[i].what, &state);
        }
        t->checkpoints[c] = (twi_checkpoint){to, state};
    }
    return TW_OK;
}

int32_t twi_timeline_build(twi_timeline *timeline, const tw_allocator *allocator,
                           const twi_span *spans, size_t span_count, twi_slice slice)
{
    builder b = {timeline, slice, 0, 0};
    int32_t status;

    memset(timeline, 0, sizeof *timeline);
    timeline->allocator = *allocator;
    measure(timeline, spans, span_count);
    timeline->entries = twi_mem_alloc(allocator, timeline->entry_room, sizeof(twi_entry));
    timeline->gaps = twi_mem_alloc(allocator, timeline->gap_room, sizeof(twi_gap));
    timeline->events = twi_mem_alloc(allocator, timeline->event_room, sizeof(twi_event));
    if (!timeline->entries || !timeline->gaps || !timeline->events) {
        twi_timeline_release(timeline);
        return TW_ERR_NOMEM;
    }

    for (size_t s = 0; s < span_count; s++) {
        for (uint32_t r = 0; r < spans[s].rows; r++) {
            twi_row row;
            twi_block_read(spans[s].block, r, spans[s].offset_ns, &row);
            add_row(&b, &row);
        }
    }
    status = twi_order_events(allocator, timeline->events, timeline->event_count);
    if (!status)
        status = set_checkpoints(timeline);
    if (status)
        twi_timeline_release(timeline);
    return status;
}

twi_checkpoint twi_timeline_seek(const twi_timeline *timeline, int64_t time_ns)
{
    const twi_checkpoint begin = {0, timeline->carry};
    uint64_t low = 0, high = timeline->checkpoint_count;

    while (low < high) { /* the first checkpoint behind an event that is too late */
        const uint64_t middle = (low + high) / 2;
        const twi_event *last = &timeline->events[timeline->checkpoints[middle].next - 1];
        if (twi_timeline_time(timeline, last) <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? timeline->checkpoints[low - 1] : begin;
}

void twi_timeline_release(twi_timeline *t)
{
    twi_mem_free(&t->allocator, t->entries, t->entry_room, sizeof(twi_entry));
    twi_mem_free(&t->allocator, t->gaps, t->gap_room, sizeof(twi_gap));
    twi_mem_free(&t->allocator, t->events, t->event_room, sizeof(twi_event));
    twi_mem_free(&t->allocator, t->checkpoints, t->checkpoint_count,
                 sizeof(twi_checkpoint));
    memset(t, 0, sizeof *t);
}
