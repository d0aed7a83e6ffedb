/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include <stdlib.h>
#include <string.h>

#define TIME_LIMIT (INT64_C(1) << 61)
#define TOKEN_LIMIT (INT64_C(1) << 40) /* token counts stay below it */
#define SLOTS_MAX 16
#define CHUNKS_MAX 24

/* How the requests follow each other. */
enum load { SCATTERED, OPEN_LOOP, CLOSED_LOOP, LOADS };

/* What happens to a record with some chance. */
/* clang-format off */
enum event {
    NO_CREDIT, LATE_CREDIT, NO_FIRST, NO_INPUT, NO_OUTPUT, NO_END, FAILED, CANCELLED,
    STREAMING, ZERO_PREFILL, ZERO_DECODE, FEW_TOKENS,
    PLAIN, /* from here on also where nothing goes wrong */
    CHUNKS = PLAIN, COUNTS, TIED_CHUNK, HUGE_TOKENS, IDLE, EVENTS
};
/* clang-format on */

/* What the seed decides about the workload as a whole. */
typedef struct style {
    enum load load;
    uint64_t slots;                            /* of the closed loop */
    int64_t origin, span;                      /* of scattered starts */
    int64_t grid;                              /* every duration is a multiple of it */
    int64_t gap, prefill, decode, wait, pause; /* the longest, in ns */
    int64_t input, output, chunks;             /* the most */
    uint64_t percent[EVENTS];
} style;

/* ---- Random numbers: splitmix64 ---------------------------------------------------- */

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Both ends included; hi - lo must fit. */
static int64_t between(uint64_t *state, int64_t lo, int64_t hi)
{
    return lo + (int64_t)(next(state) % ((uint64_t)(hi - lo) + 1));
}

static int chance(uint64_t *state, uint64_t percent)
{
    return next(state) % 100 < percent;
}

static int happens(uint64_t *state, const style *s, enum event event)
{
    return chance(state, s->percent[event]);
}

/* A chance: often none, sometimes always. */
static uint64_t some(uint64_t *state)
{
    static const uint64_t chances[] = {0, 0, 0, 0, 5, 10, 20, 50, 80, 100};
    return chances[next(state) % (sizeof chances / sizeof chances[0])];
}

/* A multiple of the grid up to most. */
static int64_t duration(uint64_t *state, const style *s, int64_t most)
{
    return s->grid * between(state, 0, most / s->grid);
}

static int64_t at_most(int64_t time, int64_t limit)
{
    return time < limit ? time : limit;
}

/* a + b for a time and a duration, within the range of times. */
static int64_t later(int64_t time, int64_t by)
{
    return by < TIME_LIMIT - time ? time + by : TIME_LIMIT;
}

static int64_t earlier(int64_t time, int64_t by)
{
    return by < time + TIME_LIMIT ? time - by : -TIME_LIMIT;
}

/* ---- Style ------------------------------------------------------------------------- */

static void choose_times(uint64_t *rng, style *s)
{
    static const int64_t units[] = {1, 1, 10, 1000, 1000000, 10000000, 100000000};
    int64_t unit = units[next(rng) % (sizeof units / sizeof units[0])];

    s->load = (enum load)(next(rng) % LOADS);
    s->slots = 1 + next(rng) % SLOTS_MAX;
    s->prefill = unit * between(rng, 1, 40);
    s->decode = unit * between(rng, 1, 400);
    s->gap = unit * between(rng, 0, 60);
    s->wait = unit * between(rng, 0, 100);
    s->pause = 50 * s->decode;
    s->span = unit * between(rng, 0, 2000);
    s->grid = chance(rng, 40) ? unit : 1; /* on a coarse grid many times are equal */
    switch (next(rng) % 10) {
    case 0: /* at 0 */
    case 1:
        break;
    case 2:
    case 3:
    case 4: /* epoch times, which no double can hold */
        s->origin = INT64_C(1760000000123456789);
        break;
    case 5:
        s->origin = -between(rng, 1, INT64_C(1000000000000));
        break;
    case 6: /* runs through zero */
        s->origin = -s->span / 2;
        break;
    case 7: /* a handful of instants, and everything happens at them */
        s->grid = unit;
        s->prefill = s->decode = s->gap = s->wait = 3 * unit;
        s->span = 5 * unit;
        break;
    case 8: /* at either end of time */
        s->origin = chance(rng, 50) ? -TIME_LIMIT : TIME_LIMIT - s->span;
        break;
    default: /* all of time */
        s->origin = -TIME_LIMIT;
        s->span = 2 * TIME_LIMIT;
        s->prefill = s->decode = s->wait = TIME_LIMIT >> (next(rng) % 24);
        s->load = SCATTERED;
        break;
    }
}

static void choose_rest(uint64_t *rng, style *s)
{
    int plain = chance(rng, 25); /* all fields known, nothing goes wrong */

    s->input = between(rng, 0, 4000);
    s->output = between(rng, 0, 1000);
    s->chunks = between(rng, 1, CHUNKS_MAX);
    for (int e = plain ? PLAIN : 0; e < EVENTS; e++) {
        s->percent[e] = some(rng);
    }
    if (chance(rng, 90)) { /* they drown all else */
        s->percent[HUGE_TOKENS] = 0;
    }
    s->percent[IDLE] /= 5;
}

static size_t choose_count(uint64_t *rng, size_t most)
{
    uint64_t limit = most;
    uint64_t kind = next(rng) % 100;
    if (kind == 0 || most == 0) {
        return 0;
    }
    if (kind < 40) {
        limit = most < 5 ? most : 5;
    } else if (kind < 70) {
        limit = most < 30 ? most : 30;
    }
    return (size_t)(1 + next(rng) % limit);
}

/* ---- Records ----------------------------------------------------------------------- */

/* Arrivals within [first, last], and perhaps what they brought. */
static int make_chunks(uint64_t *rng, const style *s, tw_record *r, int64_t last)
{
    size_t count = (size_t)between(rng, 0, s->chunks);
    int64_t first = r->generation_start_ns;
    int64_t *arrival = malloc((count + 1) * sizeof *arrival);
    int64_t *tokens = NULL;
    int64_t sum = 0;

    if (happens(rng, s, COUNTS)) {
        tokens = malloc((count + 1) * sizeof *tokens);
    }
    r->chunk_arrival_ns = arrival;
    r->chunk_tokens = tokens;
    if (arrival == NULL) {
        return -1;
    }
    r->chunk_count = count;
    for (size_t i = 0; i < count; i++) {
        int64_t at = at_most(later(first, duration(rng, s, last - first)), last);
        size_t place = i;
        if (happens(rng, s, TIED_CHUNK)) { /* to the first token, a chunk, the end */
            int64_t tied = i > 0 ? arrival[next(rng) % i] : first;
            at = chance(rng, 20) ? first : chance(rng, 20) ? last : tied;
        }
        for (; place > 0 && arrival[place - 1] > at; place--) {
            arrival[place] = arrival[place - 1];
        }
        arrival[place] = at;
    }
    if (tokens == NULL) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        tokens[i] = between(rng, 0, chance(rng, 80) ? 5 : 50);
        if (happens(rng, s, HUGE_TOKENS)) {
            tokens[i] = between(rng, 0, TOKEN_LIMIT / 32);
        }
        sum += tokens[i];
    }
    /* Mostly they fit; else they may exceed the output, or have none beside them. */
    if (r->output_tokens >= 0 && chance(rng, 75)) {
        r->output_tokens = at_most(sum + between(rng, 0, 2), TOKEN_LIMIT - 1);
    }
    return 0;
}

static void make_tokens(uint64_t *rng, const style *s, tw_record *r)
{
    int64_t input = between(rng, 0, s->input);
    int64_t output = between(rng, 0, s->output);
    if (happens(rng, s, FEW_TOKENS)) {
        input = between(rng, 0, 1);
        output = between(rng, 0, 2);
    }
    if (happens(rng, s, HUGE_TOKENS)) {
        input = TOKEN_LIMIT - 1 - between(rng, 0, 1);
        output = between(rng, 0, TOKEN_LIMIT - 1);
    }
    r->input_tokens = happens(rng, s, NO_INPUT) ? TW_TOKENS_NONE : input;
    r->output_tokens = happens(rng, s, NO_OUTPUT) ? TW_TOKENS_NONE : output;
}

/* One valid record that starts at start; *last is its end, known or not. */
static int make_record(uint64_t *rng, const style *s, int64_t start, tw_record *r,
                       int64_t *last)
{
    int64_t prefill = happens(rng, s, ZERO_PREFILL) ? 0 : duration(rng, s, s->prefill);
    int64_t decode = happens(rng, s, ZERO_DECODE) ? 0 : duration(rng, s, s->decode);
    int64_t first = later(start, prefill);

    *last = later(first, decode);
    r->start_ns = start;
    r->generation_start_ns = happens(rng, s, NO_FIRST) ? TW_TIME_NONE : first;
    r->end_ns = *last;
    r->credit_issued_ns = TW_TIME_NONE;
    if (!happens(rng, s, NO_CREDIT)) {
        int64_t wait = duration(rng, s, s->wait);
        int late = happens(rng, s, LATE_CREDIT);
        r->credit_issued_ns = late ? later(start, wait) : earlier(start, wait);
    }
    r->status = happens(rng, s, CANCELLED) ? TW_RECORD_CANCELLED : TW_RECORD_OK;
    if (happens(rng, s, FAILED)) {
        r->status = TW_RECORD_FAILED;
    }
    r->flags = happens(rng, s, STREAMING) ? TW_RECORD_STREAMING : 0;
    if (r->status == TW_RECORD_OK && happens(rng, s, NO_END)) {
        r->end_ns = TW_TIME_NONE;
    }
    make_tokens(rng, s, r);
    if (r->generation_start_ns != TW_TIME_NONE && happens(rng, s, CHUNKS)) {
        return make_chunks(rng, s, r, *last);
    }
    return 0;
}

static int make_records(uint64_t *rng, const style *s, workload *w)
{
    int64_t free_at[SLOTS_MAX]; /* when each user of the closed loop is done */
    int64_t start = s->origin;
    for (size_t i = 0; i < SLOTS_MAX; i++) {
        free_at[i] = s->origin;
    }
    for (size_t i = 0; i < w->count; i++) {
        size_t slot = (size_t)(i % s->slots);
        int64_t last = 0;
        if (s->load == SCATTERED) {
            start = later(s->origin, duration(rng, s, s->span));
        } else if (s->load == CLOSED_LOOP) {
            start = free_at[slot];
        } else if (i > 0) {
            start = later(start, duration(rng, s, s->gap));
        }
        if (happens(rng, s, IDLE)) {
            start = later(start, duration(rng, s, s->pause));
        }
        if (make_record(rng, s, start, &w->records[i], &last) != 0) {
            return -1;
        }
        free_at[slot] = last;
    }
    return 0;
}

static void shuffle(uint64_t *rng, workload *w)
{
    for (size_t i = w->count; i > 1; i--) {
        size_t other = (size_t)(next(rng) % i);
        tw_record kept = w->records[i - 1];
        w->records[i - 1] = w->records[other];
        w->records[other] = kept;
    }
}

/* ---- Window ------------------------------------------------------------------------ */

/* The default one; [0, 0) without records. */
static void run_bounds(const workload *w, int64_t *lo, int64_t *hi)
{
    *lo = *hi = 0;
    for (size_t i = 0; i < w->count; i++) {
        const tw_record *r = &w->records[i];
        int64_t from = r->start_ns;
        int64_t to = r->start_ns;
        if (r->credit_issued_ns != TW_TIME_NONE) {
            from = at_most(from, r->credit_issued_ns);
        }
        if (r->end_ns != TW_TIME_NONE) {
            to = r->end_ns;
        } else if (r->chunk_count > 0) {
            to = r->chunk_arrival_ns[r->chunk_count - 1];
        } else if (r->generation_start_ns != TW_TIME_NONE) {
            to = r->generation_start_ns;
        }
        *lo = i == 0 ? from : at_most(*lo, from);
        *hi = i == 0 || to > *hi ? to : *hi;
    }
}

/* An instant to cut at: preferably where something happens. */
static int64_t instant(uint64_t *rng, const workload *w, int64_t lo, int64_t hi)
{
    if (w->count == 0 || chance(rng, 40)) {
        return between(rng, lo, hi);
    }
    const tw_record *r = &w->records[next(rng) % w->count];
    int64_t times[] = {r->start_ns,
                       r->generation_start_ns,
                       r->end_ns,
                       r->end_ns,
                       lo,
                       hi,
                       r->chunk_count > 0 ? r->chunk_arrival_ns[0] : r->start_ns,
                       r->credit_issued_ns};
    int64_t at = times[next(rng) % (sizeof times / sizeof times[0])];
    return at == TW_TIME_NONE ? r->start_ns : at;
}

static void choose_window(uint64_t *rng, workload *w)
{
    int64_t lo, hi;
    uint64_t kind = next(rng) % 12;
    run_bounds(w, &lo, &hi);
    int64_t a = instant(rng, w, lo, hi);
    int64_t b = instant(rng, w, lo, hi);
    int64_t length = between(rng, 0, hi - lo) + 1;

    w->has_begin = w->has_end = kind > 2;
    if (kind == 3) {
        w->has_end = a > hi; /* then the end must be given too */
    } else if (kind == 4) {
        w->has_begin = a < lo;
    } else if (kind == 5) {
        b = a;
    } else if (kind == 6) { /* tiny */
        b = later(a, between(rng, 1, 3));
    } else if (kind == 7) { /* wider than the run */
        a = earlier(lo, length);
        b = later(hi, length);
    } else if (kind == 8) { /* before or after it, rarely just touching it */
        int64_t away = chance(rng, 30) ? 0 : length;
        int after = chance(rng, 50);
        a = after ? later(hi, away) : earlier(lo, away + length);
        b = after ? later(a, length) : earlier(lo, away);
    } else if (kind == 9) { /* the default, asked for */
        a = lo;
        b = hi;
    }
    if (w->has_begin && w->has_end && b < a) {
        int64_t kept = a;
        a = b;
        b = kept;
    }
    w->begin_ns = w->has_begin ? a : 0;
    w->end_ns = w->has_end ? (w->has_begin ? b : a) : 0;
}

/* ---- Both -------------------------------------------------------------------------- */

int workload_new(workload *w, uint64_t seed, size_t max_records)
{
    uint64_t rng = seed;
    style s;

    memset(&s, 0, sizeof s);
    memset(w, 0, sizeof *w);
    choose_times(&rng, &s);
    choose_rest(&rng, &s);
    size_t count = choose_count(&rng, max_records);
    w->records = calloc(count + 1, sizeof *w->records);
    if (w->records == NULL) {
        return -1;
    }
    w->count = count;
    if (make_records(&rng, &s, w) != 0) {
        workload_free(w);
        return -1;
    }
    if (chance(&rng, 50)) { /* else in the order of their starts, in an open loop */
        shuffle(&rng, w);
    }
    choose_window(&rng, w);
    return 0;
}

void workload_free(workload *w)
{
    for (size_t i = 0; i < w->count; i++) {
        free((void *)(uintptr_t)w->records[i].chunk_arrival_ns);
        free((void *)(uintptr_t)w->records[i].chunk_tokens);
    }
    free(w->records);
    memset(w, 0, sizeof *w);
}
