/* SPDX-License-Identifier: MIT */
#include "timeline/timeline.h"

#include <string.h>

#include "base/mem.h"
#include "timeline/fill.h"
#include "timeline/order.h"

enum {
    BUCKET_EVENTS = 32, /* at most so many a bucket, in the mean */
    CELL_EVENTS = 2048, /* at least so many a cell, in the mean */
    MARK_EVENTS = 8192  /* from one mark to the next */
};

static int32_t allocate(twi_timeline *t, const twi_extent *e, uint64_t length)
{
    const uint64_t most_index = e->rows > e->gaps ? e->rows : e->gaps;
    const unsigned what_bits = twi_bits64(most_index) + TWI_KIND_BITS;
    unsigned shift = 0;

    /* The time inside a bucket must fit above the rest of the key. */
    while (shift + what_bits < 64 && length >> shift > e->events / BUCKET_EVENTS * 2)
        shift++;
    t->events.what_bits = what_bits;
    t->events.bucket_shift = shift;
    t->events.bucket_count = (length >> shift) + 1;
    while ((t->events.bucket_count >> t->cell_shift) * CELL_EVENTS > e->events)
        t->cell_shift++;
    t->cell_count = ((t->events.bucket_count - 1) >> t->cell_shift) + 1;

    t->key_room = e->events + TWI_LOOK_AHEAD;
    t->bucket_room = t->events.bucket_count;
    t->entry_room = e->rows;
    t->chunked_room = e->chunked;
    t->at_room = e->gaps / TWI_GAPS_A_MARK + 1;
    t->gap_room = e->gaps;
    t->longer_room = e->longer;
    t->token_room = e->tokens;
    t->keys = twi_mem_alloc(&t->allocator, t->key_room, sizeof *t->keys);
    t->bucket_end = twi_mem_zalloc(&t->allocator, t->bucket_room, sizeof *t->bucket_end);
    t->entries = twi_mem_alloc_lines(&t->allocator, t->entry_room, sizeof *t->entries);
    t->chunked = twi_mem_alloc(&t->allocator, t->chunked_room, sizeof *t->chunked);
    t->at = twi_mem_alloc(&t->allocator, t->at_room, sizeof *t->at);
    t->gap_ns = twi_mem_alloc(&t->allocator, t->gap_room, sizeof *t->gap_ns);
    t->longer = twi_mem_alloc(&t->allocator, t->longer_room, sizeof *t->longer);
    t->tokens = twi_mem_alloc(&t->allocator, t->token_room, sizeof *t->tokens);
    if (t->wide)
        t->states = twi_mem_alloc(&t->allocator, t->cell_count, sizeof *t->states);
    else
        t->cells = twi_mem_zalloc(&t->allocator, t->cell_count, sizeof *t->cells);
    if (!t->keys || !t->bucket_end || !t->entries || !t->chunked || !t->at ||
        !t->gap_ns || !t->longer || !t->tokens ||
        !(t->wide ? (void *)t->states : t->cells))
        return TW_ERR_NOMEM;

    t->events.keys = t->keys;
    t->events.bucket_end = t->bucket_end;
    t->events.entries = t->entries;
    t->events.chunks = (twi_chunk_table){.records = t->chunked,
                                         .at = t->at,
                                         .gap_ns = t->gap_ns,
                                         .longer = t->longer,
                                         .longer_count = t->longer_room,
                                         .tokens = t->tokens};
    return TW_OK;
}

/* ---- Building -------------------------------------------------------------------- */

/* One part of the work: some of the records, then some of the buckets. */
typedef struct part {
    twi_extent extent;
    twi_survey survey;
    twi_fill fill;
    uint64_t bucket_from, bucket_to;
    uint64_t *scratch;
    uint64_t scratch_room;
} part;

typedef struct building {
    twi_timeline *timeline;
    const twi_kernel *kernel;
    const twi_parallel *parallel;
    const twi_span *spans;
    size_t span_count;
    twi_slice slice;
    part *parts;
    uint32_t part_count;
} building;

static void measure_part(void *context, uint32_t i)
{
    const building *b = context;
    const size_t from = (size_t)twi_part_begin(b->span_count, i, b->part_count);
    const size_t to = (size_t)twi_part_begin(b->span_count, i + 1, b->part_count);
    part *p = &b->parts[i];

    memset(&p->extent, 0, sizeof p->extent);
    twi_survey_begin(&p->survey);
    twi_extent_add(&p->extent, &p->survey, b->spans + from, to - from);
    memset(&p->fill, 0, sizeof p->fill);
    p->fill.timeline = b->timeline;
    p->fill.kernel = b->kernel;
    p->fill.spans = b->spans + from;
    p->fill.span_count = to - from;
    p->fill.slice = b->slice;
}

/* Sums up the parts' extents; each is told where its own begins. */
static twi_extent measure(building *b)
{
    twi_survey *survey = &b->timeline->survey;
    twi_extent total;

    memset(&total, 0, sizeof total);
    twi_survey_begin(survey);
    twi_parallel_run(b->parallel, measure_part, b, b->part_count);
    for (uint32_t i = 0; i < b->part_count; i++) {
        b->parts[i].fill.at = total;
        twi_extent_merge(&total, &b->parts[i].extent);
        twi_survey_merge(survey, &b->parts[i].survey);
    }
    return total;
}

/* Where the events begin; returns the length of their time. */
static uint64_t set_origin(twi_timeline *t, twi_slice slice, const twi_extent *e)
{
    const twi_survey *survey = &t->survey;
    const int64_t first_ns = survey->first_ns > slice.begin_ns ? survey->first_ns
                                                               : slice.begin_ns;
    const int64_t last_ns = survey->last_ns < slice.end_ns ? survey->last_ns
                                                           : slice.end_ns;

    t->origin_ns = e->rows ? first_ns : 0;
    return e->rows && last_ns > first_ns ? (uint64_t)last_ns - (uint64_t)first_ns : 0;
}

/* Every part gets counters of its own; the last one's are in the end the ends of buckets. */
static int32_t allocate_parts(building *b)
{
    twi_timeline *t = b->timeline;

    for (uint32_t i = 0; i < b->part_count; i++) {
        twi_fill *fill = &b->parts[i].fill;
        const bool is_last = i + 1 == b->part_count;

        fill->bucket_next = is_last ? t->bucket_end
                                    : twi_mem_zalloc(&t->allocator, t->bucket_room,
                                                     sizeof *t->bucket_end);
        fill->cells = is_last || t->wide ? t->cells
                                         : twi_mem_zalloc(&t->allocator, t->cell_count,
                                                          sizeof *t->cells);
        if (!fill->bucket_next || (!fill->cells && !t->wide))
            return TW_ERR_NOMEM;
    }
    return TW_OK;
}

static void release_parts(building *b)
{
    twi_timeline *t = b->timeline;

    for (uint32_t i = 0; i < b->part_count; i++) {
        twi_fill *fill = &b->parts[i].fill;

        if (fill->bucket_next != t->bucket_end)
            twi_mem_free(&t->allocator, fill->bucket_next, t->bucket_room,
                         sizeof *t->bucket_end);
        if (fill->cells != t->cells)
            twi_mem_free(&t->allocator, fill->cells, t->cell_count, sizeof *t->cells);
        fill->bucket_next = NULL;
        fill->cells = NULL;
    }
}

static void count_part(void *context, uint32_t i)
{
    const building *b = context;
    twi_fill_count(&b->parts[i].fill);
}

static void make_part(void *context, uint32_t i)
{
    const building *b = context;
    twi_fill_make(&b->parts[i].fill);
}

/* Turns the numbers of events into the places where each part's begin in each bucket. */
static void place_buckets(building *b)
{
    twi_timeline *t = b->timeline;
    uint64_t sum = 0;

    for (uint64_t bucket = 0; bucket < t->events.bucket_count; bucket++) {
        for (uint32_t i = 0; i < b->part_count; i++) {
            uint64_t *next = &b->parts[i].fill.bucket_next[bucket];
            const uint64_t here = *next;
            *next = sum;
            sum += here;
        }
    }
    t->event_count = sum;
    memset(t->keys + sum, 0, TWI_LOOK_AHEAD * sizeof *t->keys);
}

/* ---- Order ----------------------------------------------------------------------- */

static uint64_t bucket_begin(const twi_timeline *t, uint64_t bucket)
{
    return bucket ? t->bucket_end[bucket - 1] : 0;
}

static void order_part(void *context, uint32_t i)
{
    const building *b = context;
    const twi_timeline *t = b->timeline;
    const part *p = &b->parts[i];

    for (uint64_t bucket = p->bucket_from; bucket < p->bucket_to; bucket++) {
        const uint64_t begin = bucket_begin(t, bucket);
        twi_order_keys(b->kernel, t->keys + begin, p->scratch,
                       t->bucket_end[bucket] - begin, t->events.what_bits);
    }
}

static int32_t order(building *b)
{
    const twi_timeline *t = b->timeline;
    int32_t status = TW_OK;

    for (uint32_t i = 0; i < b->part_count; i++) {
        part *p = &b->parts[i];

        p->bucket_from = twi_part_begin(t->events.bucket_count, i, b->part_count);
        p->bucket_to = twi_part_begin(t->events.bucket_count, i + 1, b->part_count);
        p->scratch_room = 0;
        for (uint64_t bucket = p->bucket_from; bucket < p->bucket_to; bucket++) {
            const uint64_t count = t->bucket_end[bucket] - bucket_begin(t, bucket);
            if (count > TWI_SORT_MOST && count > p->scratch_room)
                p->scratch_room = count;
        }
        p->scratch = twi_mem_alloc(&t->allocator, p->scratch_room, sizeof *p->scratch);
        status = p->scratch ? status : TW_ERR_NOMEM;
    }
    if (!status)
        twi_parallel_run(b->parallel, order_part, b, b->part_count);
    for (uint32_t i = 0; i < b->part_count; i++)
        twi_mem_free(&t->allocator, b->parts[i].scratch, b->parts[i].scratch_room,
                     sizeof *b->parts[i].scratch);
    return status;
}

/* ---- States ---------------------------------------------------------------------- */

static uint64_t cell_first_event(const twi_timeline *t, uint64_t cell)
{
    return cell ? t->bucket_end[(cell << t->cell_shift) - 1] : 0;
}

static uint64_t cell_end(const twi_timeline *t, uint64_t cell)
{
    return cell + 1 < t->cell_count ? cell_first_event(t, cell + 1) : t->event_count;
}

/* Lanes whose sums have a bound. */
static const int bounded[3] = {TWI_LANE_PREFILL_HIGH, TWI_LANE_DECODE_HIGH,
                               TWI_LANE_TOKENS};

/* True if all lanes keep to their bounds at every event. No step is larger than a bound, so
 * that none can jump from one end of a word to the other. */
static bool scan(const twi_timeline *t)
{
    const uint64_t what_mask = (UINT64_C(1) << t->events.what_bits) - 1;
    /* At one instant events may come in any order: a sum may be below 0. */
    const int64_t least = -(INT64_C(1) << 62), most = (int64_t)TWI_LANES_MOST_HIGH;

    for (uint64_t c = 0; c < t->cell_count; c++) {
        uint64_t state[TWI_LANES];

        memcpy(state, t->cells[c].state, sizeof state);
        for (uint64_t i = cell_first_event(t, c); i < cell_end(t, c); i++) {
            twi_apply(&t->events, t->keys[i] & what_mask, state);
            if ((int32_t)(uint32_t)state[TWI_LANE_ACTIVE_QUEUED] >
                (int32_t)TWI_LANES_MOST_COUNT)
                return false;
            for (int j = 0; j < 3; j++)
                if ((int64_t)state[bounded[j]] > most ||
                    (int64_t)state[bounded[j]] < least)
                    return false;
        }
    }
    return true;
}

/* Sums up the cells; false if some lane could overflow somewhere. */
static bool sum_cells(twi_timeline *t, const uint64_t *carry, uint64_t most_high)
{
    const uint64_t most_tokens = 2 * (uint64_t)(t->survey.most_tokens + 1);
    uint64_t state[TWI_LANES], most_count = 1, most_events = 1, most, gain;

    memcpy(state, carry, sizeof state);
    for (uint64_t c = 0; c < t->cell_count; c++) {
        twi_cell *cell = &t->cells[c];
        const uint64_t events = cell_end(t, c) - cell_first_event(t, c);
        /* Queued requests are in no other lane. */
        const uint64_t count = events + (uint32_t)state[TWI_LANE_ACTIVE_QUEUED];

        most_events = events > most_events ? events : most_events;
        most_count = count > most_count ? count : most_count;
        for (int i = 0; i < TWI_LANES; i++) {
            const uint64_t change = cell->state[i];
            cell->state[i] = state[i];
            state[i] += change;
        }
    }
    most = most_count > most_events ? most_count : most_events;
    gain = most_high > most_tokens ? most_high : most_tokens;
    gain++; /* the carry of a low lane */
    if (gain >= TWI_LANES_MOST_HIGH ||
        gain >=
            (UINT64_C(1) << 62) / ((uint64_t)(uint32_t)carry[TWI_LANE_ACTIVE_QUEUED] + 1))
        return false;
    if (most_count > TWI_LANES_MOST_COUNT || gain >= (UINT64_C(1) << 62) / most)
        return scan(t);
    /* Now no sum wraps, and those of the cells can be believed. */
    for (uint64_t c = 0; c < t->cell_count; c++)
        for (int i = 0; i < 3; i++)
            if (t->cells[c].state[bounded[i]] + most_events * gain > TWI_LANES_MOST_HIGH)
                return scan(t);
    return true;
}

static bool fits(const building *b)
{
    for (uint32_t i = 0; i < b->part_count; i++)
        if (!b->parts[i].fill.fits)
            return false;
    return true;
}

/* Merges what the parts found; TW_ERR_RANGE: the timeline must be wide. */
static int32_t finish_lanes(building *b)
{
    twi_timeline *t = b->timeline;
    uint64_t carry[TWI_LANES] = {0}, most_high = 0;

    for (uint32_t i = 0; i < b->part_count; i++) {
        const twi_fill *fill = &b->parts[i].fill;

        most_high = fill->most_high > most_high ? fill->most_high : most_high;
        for (int lane = 0; lane < TWI_LANES; lane++)
            carry[lane] += fill->carry[lane];
        for (uint64_t c = 0; c < t->cell_count && fill->cells != t->cells; c++)
            for (int lane = 0; lane < TWI_LANES; lane++)
                t->cells[c].state[lane] += fill->cells[c].state[lane];
    }
    return sum_cells(t, carry, most_high) ? TW_OK : TW_ERR_RANGE;
}

static void finish_wide(building *b)
{
    twi_timeline *t = b->timeline;
    const uint64_t what_mask = (UINT64_C(1) << t->events.what_bits) - 1;
    twi_state state = b->parts[0].fill.carry_state;

    for (uint32_t i = 1; i < b->part_count; i++)
        twi_state_add(&state, &b->parts[i].fill.carry_state);
    for (uint64_t c = 0; c < t->cell_count; c++) {
        t->states[c] = state;
        for (uint64_t i = cell_first_event(t, c); i < cell_end(t, c); i++)
            twi_state_apply(&t->events, true, t->keys[i] & what_mask, &state);
    }
}

/* ---- Places ------------------------------------------------------------------------- */

static twi_place_in_time cell_begin(const twi_timeline *t, uint64_t cell)
{
    twi_place_in_time place;

    memset(&place, 0, sizeof place);
    place.bucket = cell << t->cell_shift;
    place.next = cell_first_event(t, cell);
    if (t->wide)
        place.state = t->states[cell];
    else
        memcpy(place.lanes, t->cells[cell].state, sizeof place.lanes);
    return place;
}

/* Goes on to the bucket of the next event; false if there is none. */
static bool find_bucket(const twi_timeline *t, twi_place_in_time *place)
{
    while (place->bucket < t->events.bucket_count &&
           place->next >= t->bucket_end[place->bucket])
        place->bucket++;
    return place->bucket < t->events.bucket_count;
}

/* When the next event happens; its bucket was found. */
static uint64_t next_time(const twi_timeline *t, const twi_place_in_time *place)
{
    return (place->bucket << t->events.bucket_shift) +
           (t->keys[place->next] >> t->events.what_bits);
}

static void step(const twi_timeline *t, twi_place_in_time *place)
{
    const uint64_t what = t->keys[place->next++] &
                          ((UINT64_C(1) << t->events.what_bits) - 1);

    if (t->wide)
        twi_state_apply(&t->events, true, what, &place->state);
    else
        twi_apply(&t->events, what, place->lanes);
}

static uint64_t marks_in(const twi_timeline *t, uint64_t cell)
{
    const uint64_t events = cell_end(t, cell) - cell_first_event(t, cell);
    return events ? (events - 1) / MARK_EVENTS : 0;
}

/* Most runs have none: times would have to be far from evenly spread. */
static int32_t make_marks(twi_timeline *t)
{
    uint64_t made = 0;

    for (uint64_t c = 0; c < t->cell_count; c++)
        t->mark_count += marks_in(t, c);
    t->marks = twi_mem_alloc(&t->allocator, t->mark_count, sizeof *t->marks);
    if (!t->marks)
        return TW_ERR_NOMEM;
    for (uint64_t c = 0; c < t->cell_count; c++) {
        twi_place_in_time place = cell_begin(t, c);

        for (uint64_t left = marks_in(t, c); left; left--) {
            for (unsigned i = 0; i < MARK_EVENTS; i++) {
                (void)find_bucket(t, &place);
                step(t, &place);
            }
            (void)find_bucket(t, &place);
            t->marks[made++] = place;
        }
    }
    return TW_OK;
}

/* TW_ERR_RANGE: it must be wide. */
static int32_t build(building *b)
{
    twi_timeline *t = b->timeline;
    const twi_extent total = measure(b);
    int32_t status;

    if (total.rows > UINT32_MAX)
        return TW_ERR_NOTSUP;
    status = allocate(t, &total, set_origin(t, b->slice, &total));
    if (!status)
        status = allocate_parts(b);
    if (!status) {
        twi_parallel_run(b->parallel, count_part, b, b->part_count);
        place_buckets(b);
        twi_parallel_run(b->parallel, make_part, b, b->part_count);
        status = fits(b) ? order(b) : TW_ERR_RANGE; /* else there are no keys */
    }
    if (!status && t->wide)
        finish_wide(b);
    else if (!status)
        status = finish_lanes(b);
    if (!status)
        status = make_marks(t);
    release_parts(b);
    return status;
}

int32_t twi_timeline_build(twi_timeline *timeline, const tw_allocator *allocator,
                           const twi_kernel *kernel, const twi_parallel *parallel,
                           const twi_span *spans, size_t span_count, twi_slice slice)
{
    building b = {timeline, kernel, parallel, spans, span_count, slice, NULL, 0};
    int32_t status;

    memset(timeline, 0, sizeof *timeline);
    b.part_count = twi_parallel_parts(parallel, span_count * TWI_BLOCK_ROWS);
    b.parts = twi_mem_alloc(allocator, b.part_count, sizeof *b.parts);
    if (!b.parts)
        return TW_ERR_NOMEM;
    timeline->allocator = *allocator;
    status = build(&b);
    if (status == TW_ERR_RANGE) {
        twi_timeline_release(timeline);
        timeline->allocator = *allocator;
        timeline->wide = true;
        status = build(&b);
    }
    if (status)
        twi_timeline_release(timeline);
    twi_mem_free(allocator, b.parts, b.part_count, sizeof *b.parts);
    return status;
}

/* ---- Reading --------------------------------------------------------------------- */

/* The last mark whose next event happens at or before a time, or NULL. */
static const twi_place_in_time *find_mark(const twi_timeline *t, uint64_t time)
{
    uint64_t low = 0, high = t->mark_count;

    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (next_time(t, &t->marks[middle]) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &t->marks[low - 1] : NULL;
}

twi_place_in_time twi_timeline_seek(const twi_timeline *t, uint64_t time)
{
    const uint64_t wanted = time >> t->events.bucket_shift;
    const uint64_t last = t->events.bucket_count - 1;
    const uint64_t cell = (wanted < last ? wanted : last) >> t->cell_shift;
    const twi_place_in_time *mark = find_mark(t, time);
    twi_place_in_time place = cell_begin(t, cell);

    if (mark && mark->next > place.next)
        place = *mark;
    while (find_bucket(t, &place) && next_time(t, &place) <= time)
        step(t, &place);
    return place;
}

void twi_timeline_release(twi_timeline *t)
{
    const tw_allocator *allocator = &t->allocator;

    twi_mem_free(allocator, t->keys, t->key_room, sizeof *t->keys);
    twi_mem_free(allocator, t->bucket_end, t->bucket_room, sizeof *t->bucket_end);
    twi_mem_free_lines(allocator, t->entries, t->entry_room, sizeof *t->entries);
    twi_mem_free(allocator, t->chunked, t->chunked_room, sizeof *t->chunked);
    twi_mem_free(allocator, t->at, t->at_room, sizeof *t->at);
    twi_mem_free(allocator, t->gap_ns, t->gap_room, sizeof *t->gap_ns);
    twi_mem_free(allocator, t->longer, t->longer_room, sizeof *t->longer);
    twi_mem_free(allocator, t->tokens, t->token_room, sizeof *t->tokens);
    twi_mem_free(allocator, t->cells, t->cell_count, sizeof *t->cells);
    twi_mem_free(allocator, t->states, t->cell_count, sizeof *t->states);
    twi_mem_free(allocator, t->marks, t->mark_count, sizeof *t->marks);
    memset(t, 0, sizeof *t);
}
