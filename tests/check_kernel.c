/* SPDX-License-Identifier: MIT */
/* The loops over plain arrays: every kernel against the definitions, and bit by bit against
 * the portable one. Inputs end where memory does, outputs lie between guards.
 *
 *     check_kernel [KERNEL]    all that this machine has; with a name, that one, and 77
 *                              (skipped) where the machine does not have it
 *
 * A new kernel takes a row in `known`, and its name in meson.build.
 * TIMEWEIGHT_TEST_KERNEL_RUNS says how often each thing is tried. */

#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/big.h"
#include "kernel/kernel.h"
#include "stat/sum.h"
#include "vocabulary.h"
#include "workload.h"

static const struct {
    int32_t id;
    const char *name;
} known[] = {
    {TW_KERNEL_PORTABLE, "portable"},
    {TW_KERNEL_AVX2, "avx2"},
    {TW_KERNEL_AVX512, "avx512"},
    {TW_KERNEL_NEON, "neon"},
};
enum { KNOWN = sizeof known / sizeof known[0] };

/* Those under test: loop tests count through them. */
static struct {
    int32_t id;
    const twi_kernel *kernel;
} tested[KNOWN];
static int tested_count;

#define KERNEL (tested[_i].kernel)
#define CONTEXT(...) vocabulary_context(__VA_ARGS__)

/* ---- Memory with edges ------------------------------------------------------------- */

/* Bytes of which the last lies before a page that no one may touch. */
typedef struct edge {
    unsigned char *pages;
    size_t length; /* of what may be touched */
} edge;

static edge edge_new(size_t most)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    edge e = {NULL, (most + page) / page * page};

    e.pages = mmap(NULL, e.length + page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_that(e.pages != MAP_FAILED);
    assert_i64(mprotect(e.pages + e.length, page, PROT_NONE), 0);
    return e;
}

static void edge_free(edge *e)
{
    assert_i64(munmap(e->pages, e->length + (size_t)sysconf(_SC_PAGESIZE)), 0);
}

/* Room for so many bytes at the end. */
static void *edge_at(const edge *e, size_t bytes)
{
    return e->pages + e->length - bytes;
}

enum { GUARD = 64, PATTERN = 0xa5 };

/* An output array of `bytes`, `off` bytes from where lines of the cache begin. */
typedef struct guarded {
    unsigned char block[2 * GUARD + 16384 + 64];
    size_t off, bytes;
} guarded;

static void *guard(guarded *g, size_t bytes, size_t off)
{
    assert_that(bytes <= 16384 && off <= 64);
    memset(g->block, PATTERN, sizeof g->block);
    g->off = off;
    g->bytes = bytes;
    return g->block + GUARD + off;
}

static void check_guards(const guarded *g)
{
    for (size_t i = 0; i < sizeof g->block; i++)
        if (i < GUARD + g->off || i >= GUARD + g->off + g->bytes)
            assert_u64(g->block[i], PATTERN);
}

/* ---- Which kernels ----------------------------------------------------------------- */

START_TEST(kernels_by_id)
{
    const twi_kernel *best = twi_kernel_get(TW_KERNEL_AUTO);
    int found = 0;

    assert_that(twi_kernel_get(TW_KERNEL_PORTABLE) == &twi_kernel_portable);
    assert_that(best != NULL);
    for (int i = 0; i < KNOWN; i++) {
        const twi_kernel *kernel = twi_kernel_get(known[i].id);

        if (kernel)
            assert_text(kernel->name, known[i].name);
        found += kernel == best;
    }
    assert_i64(found, 1);
    for (int32_t id = TW_KERNEL_NEON + 1; id < 100; id++) /* else `known` lacks a row */
        assert_that(twi_kernel_get(id) == NULL);
    assert_that(twi_kernel_get(-1) == NULL);
    assert_that(twi_kernel_get(INT32_MIN) == NULL);
    assert_that(twi_kernel_get(INT32_MAX) == NULL);
}
END_TEST

/* ---- Sorting ----------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

enum { SORT_PATTERNS = 9 };

static uint64_t key_of(int pattern, size_t i, size_t count, uint64_t *random)
{
    switch (pattern) {
    case 0: /* any */
        return random_next(random);
    case 1: /* many ties */
        return random_below(random, 5) << 60 | random_below(random, 2);
    case 2: /* extremes: the padding of a vector is not to be taken for a key */
        return random_below(random, 2) ? UINT64_MAX - random_below(random, 2)
                                       : random_below(random, 2);
    case 3: /* all the same */
        return UINT64_MAX;
    case 4: /* ascending */
        return i * 3;
    case 5: /* descending */
        return (count - i) * 3;
    case 6: /* around the sign */
        return (UINT64_C(1) << 63) - 2 + random_below(random, 4);
    case 7: /* the upper or the lower half alone */
        return random_below(random, 2) ? random_next(random) >> 32
                                       : random_next(random) << 32;
    default: /* ascending but for the last */
        return i + 1 < count ? i + 1 : 0;
    }
}

START_TEST(sort)
{
    const uint64_t runs = vocabulary_count("TIMEWEIGHT_TEST_KERNEL_RUNS", 30);
    edge e = edge_new(TWI_SORT_MOST * sizeof(uint64_t));
    uint64_t random = 1;

    for (size_t count = 0; count <= TWI_SORT_MOST; count++) {
        for (uint64_t turn = 0; turn < runs * SORT_PATTERNS; turn++) {
            const int pattern = (int)(turn % SORT_PATTERNS);
            uint64_t *keys = edge_at(&e, count * sizeof *keys), wanted[TWI_SORT_MOST];

            for (size_t i = 0; i < count; i++)
                wanted[i] = keys[i] = key_of(pattern, i, count, &random);
            if (count < TWI_SORT_MOST)
                keys[-1] = 77; /* before it lies what is not to be touched either */
            KERNEL->sort(keys, count);
            qsort(wanted, count, sizeof *wanted, by_number);
            CONTEXT("%s: %zu keys, pattern %d", KERNEL->name, count, pattern);
            assert_that(memcmp(keys, wanted, count * sizeof *wanted) == 0);
            if (count < TWI_SORT_MOST)
                assert_u64(keys[-1], 77);
        }
    }
    edge_free(&e);
}
END_TEST

/* ---- Events ------------------------------------------------------------------------ */

/* What an event that is not a chunk does, word for word. */
static void apply_entry(const twi_entry *entry, unsigned kind, uint64_t *s)
{
    const uint64_t *w = entry->w;
    const bool start = kind >= TWI_KIND_START && kind <= TWI_KIND_START_PREFILL_CREDIT;
    const bool end = kind >= TWI_KIND_END && kind <= TWI_KIND_END_CHUNKED;

    if (kind == TWI_KIND_CREDIT)
        s[TWI_LANE_ACTIVE_QUEUED] += TWI_QUEUED;
    if (start) {
        s[TWI_LANE_PREFILL_HIGH] += w[TWI_ENTRY_PREFILL];
        s[TWI_LANE_PREFILL_LOW] += w[TWI_ENTRY_PREFILL + 1];
        s[TWI_LANE_TOKENS] += w[TWI_ENTRY_INPUT];
        s[TWI_LANE_ACTIVE_QUEUED] += TWI_ACTIVE;
    }
    if (kind == TWI_KIND_START_CREDIT || kind == TWI_KIND_START_PREFILL_CREDIT)
        s[TWI_LANE_ACTIVE_QUEUED] -= TWI_QUEUED;
    if (kind == TWI_KIND_START_PREFILL || kind == TWI_KIND_START_PREFILL_CREDIT)
        s[TWI_LANE_DECODE_PREFILL] += TWI_PREFILL;
    if (kind == TWI_KIND_GENERATION) {
        s[TWI_LANE_PREFILL_HIGH] -= w[TWI_ENTRY_PREFILL];
        s[TWI_LANE_PREFILL_LOW] -= w[TWI_ENTRY_PREFILL + 1];
        s[TWI_LANE_DECODE_HIGH] += w[TWI_ENTRY_DECODE];
        s[TWI_LANE_DECODE_LOW] += w[TWI_ENTRY_DECODE + 1];
        s[TWI_LANE_TOKENS] += w[TWI_ENTRY_OUTPUT];
        s[TWI_LANE_DECODE_PREFILL] += TWI_DECODE;
        s[TWI_LANE_DECODE_PREFILL] -= TWI_PREFILL;
    }
    if (end) {
        s[TWI_LANE_TOKENS] -= w[TWI_ENTRY_ALL];
        s[TWI_LANE_ACTIVE_QUEUED] -= TWI_ACTIVE;
    }
    if (kind == TWI_KIND_END_PREFILL)
        s[TWI_LANE_DECODE_PREFILL] -= TWI_PREFILL;
    if (kind == TWI_KIND_END_DECODE || kind == TWI_KIND_END_CHUNKED)
        s[TWI_LANE_DECODE_PREFILL] -= TWI_DECODE;
    if (kind == TWI_KIND_END_DECODE) {
        s[TWI_LANE_DECODE_HIGH] -= w[TWI_ENTRY_DECODE];
        s[TWI_LANE_DECODE_LOW] -= w[TWI_ENTRY_DECODE + 1];
    }
}

static void add_rate(uint64_t *s, double rate, bool minus)
{
    const twi_u192 whole = exact_whole(rate);
    const uint64_t high = twi_shr64(whole, TWI_LOW_BITS), low = whole.w[0] & TWI_LOW_MASK;

    s[TWI_LANE_DECODE_HIGH] += minus ? 0 - high : high;
    s[TWI_LANE_DECODE_LOW] += minus ? 0 - low : low;
}

/* Everything that events may refer to, random; and the events, ordered by time. */
enum { ENTRIES = 40, CHUNKED = 12, GAPS = 90, MOST_EVENTS = 1500, MOST_BUCKETS = 700 };

typedef struct scene {
    twi_entry entries[ENTRIES];
    twi_chunked chunked[CHUNKED];
    uint32_t at[GAPS / TWI_GAPS_A_MARK + 1];
    uint32_t gap_ns[GAPS];
    uint64_t real_gap_ns[GAPS];
    twi_long_gap longer[GAPS];
    uint64_t tokens[GAPS];
    twi_events events;

    size_t count;
    uint64_t time[MOST_EVENTS], what[MOST_EVENTS]; /* in order of time */
    uint64_t bucket_end[MOST_BUCKETS];
    edge keys;
} scene;

static void make_chunks(scene *s, uint64_t *random)
{
    uint64_t gap = 0, longer = 0, counts = 0;

    for (uint64_t r = 0; r < CHUNKED; r++) {
        twi_chunked *record = &s->chunked[r];
        const uint64_t left = GAPS - gap - (CHUNKED - 1 - r);
        const bool counted = random_below(random, 2);

        memset(record, 0, sizeof *record);
        record->first_gap = gap;
        record->gap_count = r + 1 == CHUNKED ? left
                                             : 1 + random_below(random, left / 3 + 1);
        record->counts = counted ? counts + 1 : 0;
        record->tokens = counted ? 0 : random_below(random, 2000);
        if (!counted) {
            const twi_u192 share = twi_quotient64(twi_shl(twi_from64(record->tokens), 64),
                                                  record->gap_count);
            record->share = share.w[1];
            record->share_part = share.w[0];
            record->share_rate = exact_double(
                twi_shl(twi_product(record->tokens, 1000000000), 59));
        }
        for (uint64_t i = 0; i < record->gap_count; i++, gap++) {
            const uint64_t ns = random_below(random, 4)
                                    ? 1000 + random_below(random, 100000)
                                    : UINT32_MAX - 1 + random_below(random, 5);
            s->real_gap_ns[gap] = ns;
            s->gap_ns[gap] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
            if (ns >= UINT32_MAX)
                s->longer[longer++] = (twi_long_gap){gap, ns};
            if (gap % TWI_GAPS_A_MARK == 0)
                s->at[gap / TWI_GAPS_A_MARK] = (uint32_t)r;
            if (counted)
                s->tokens[counts++] = random_below(random, 1000);
        }
    }
    s->events.chunks = (twi_chunk_table){.records = s->chunked,
                                         .at = s->at,
                                         .gap_ns = s->gap_ns,
                                         .longer = s->longer,
                                         .longer_count = longer,
                                         .tokens = s->tokens};
}

/* The rate of a gap, and the tokens that have come after it, by their definitions. */
static double rate_of_gap(const scene *s, const twi_chunked *record, uint64_t gap)
{
    if (record->counts)
        return exact_rate(s->tokens[record->counts - 1 + gap - record->first_gap],
                          s->real_gap_ns[gap]);
    return exact_share(record->tokens, s->real_gap_ns[gap], record->gap_count);
}

static void apply_event(const scene *s, uint64_t what, uint64_t *state)
{
    const unsigned kind = (unsigned)(what % (1u << TWI_KIND_BITS));
    const uint64_t index = what >> TWI_KIND_BITS;
    const twi_chunked *record = s->chunked;
    uint64_t number;

    if (kind != TWI_KIND_CHUNK && kind != TWI_KIND_CHUNK_LAST) {
        apply_entry(&s->entries[index], kind, state);
        return;
    }
    while (index >= record->first_gap + record->gap_count)
        record++;
    number = index - record->first_gap;
    add_rate(state, rate_of_gap(s, record, index), true);
    if (kind == TWI_KIND_CHUNK)
        add_rate(state, rate_of_gap(s, record, index + 1), false);
    if (record->counts) {
        state[TWI_LANE_TOKENS] += s->tokens[record->counts - 1 + number];
    } else {
        const twi_amount from = twi_spread(record, number);
        const twi_amount to = twi_spread(record, number + 1);
        state[TWI_LANE_TOKENS] += to.whole - from.whole;
        state[TWI_LANE_TOKENS_PART] += to.part - from.part;
    }
}

/* Any kind, and something for it to refer to. */
static uint64_t random_what(const scene *s, uint64_t *random)
{
    unsigned kind = (unsigned)random_below(random, TWI_KIND_COUNT);
    uint64_t index = random_below(random, ENTRIES);

    if (kind == TWI_KIND_CHUNK || kind == TWI_KIND_CHUNK_LAST) {
        const twi_chunked *record = &s->chunked[random_below(random, CHUNKED)];
        index = record->first_gap + random_below(random, record->gap_count);
        kind = index + 1 < record->first_gap + record->gap_count ? TWI_KIND_CHUNK
                                                                 : TWI_KIND_CHUNK_LAST;
    }
    return index << TWI_KIND_BITS | kind;
}

/* `distinct`: all times differ, one after the other; else many are equal. */
static void make_scene(scene *s, uint64_t *random, size_t count, bool distinct)
{
    uint64_t time = 0, *keys;
    size_t next = 0;

    s->count = count;
    for (int i = 0; i < ENTRIES; i++)
        for (int w = 0; w < TWI_LANES; w++) /* lanes take any words */
            s->entries[i].w[w] = random_next(random) >> random_below(random, 64);
    make_chunks(s, random);
    for (size_t i = 0; i < count; i++) {
        s->time[i] = time;
        s->what[i] = random_what(s, random);
        time += distinct ? 1 + random_below(random, 3)
                         : (random_below(random, 3) ? 0 : random_below(random, 2000));
    }
    s->events.entries = s->entries;
    s->events.what_bits = 7 + TWI_KIND_BITS;
    s->events.bucket_shift = (unsigned)random_below(random, 9);
    while (time >> s->events.bucket_shift >= MOST_BUCKETS)
        s->events.bucket_shift++;
    s->events.bucket_count = (time >> s->events.bucket_shift) + 1;
    s->events.bucket_end = s->bucket_end;
    keys = edge_at(&s->keys, (count + TWI_LOOK_AHEAD) * sizeof *keys);
    memset(keys, 0, (count + TWI_LOOK_AHEAD) * sizeof *keys);
    s->events.keys = keys;
    for (uint64_t b = 0; b < s->events.bucket_count; b++) {
        for (; next < count && s->time[next] >> s->events.bucket_shift == b; next++)
            keys[next] = (s->time[next] - (b << s->events.bucket_shift))
                             << s->events.what_bits |
                         s->what[next];
        s->bucket_end[b] = next;
    }
    assert_u64(next, count);
}

static scene *scene_new(void)
{
    scene *s = calloc(1, sizeof *s);

    assert_that(s != NULL);
    s->keys = edge_new((MOST_EVENTS + TWI_LOOK_AHEAD) * sizeof(uint64_t));
    return s;
}

static void scene_free(scene *s)
{
    edge_free(&s->keys);
    free(s);
}

static twi_cursor cursor_at(const scene *s, uint64_t begin, uint64_t end,
                            const uint64_t *state)
{
    twi_cursor c;

    memset(&c, 0, sizeof c);
    memcpy(c.state, state, sizeof c.state);
    c.now = begin;
    c.end = end;
    for (; c.next < s->count && s->time[c.next] <= begin; c.next++)
        apply_event(s, s->what[c.next], c.state);
    while (c.bucket + 1 < s->events.bucket_count && s->bucket_end[c.bucket] <= c.next)
        c.bucket++;
    return c;
}

/* Advances from begin to end; returns the number of stretches. */
static size_t check_advance(const scene *s, const twi_kernel *kernel, uint64_t begin,
                            uint64_t end, const uint64_t *state)
{
    static twi_batch got, portable;
    twi_cursor c = cursor_at(s, begin, end, state), p = c;
    uint64_t now = begin, at[TWI_LANES];
    size_t next = (size_t)c.next, stretches = 0;
    bool more = true;

    memcpy(at, c.state, sizeof at);
    while (more) {
        more = kernel->advance(&s->events, &c, &got);
        assert_that(twi_kernel_portable.advance(&s->events, &p, &portable) == more);
        assert_u64(got.count, portable.count);
        assert_that(got.count <= TWI_BATCH_SIZE && (got.count != 0) == more);
        assert_that(memcmp(got.duration_ns, portable.duration_ns,
                           got.count * sizeof got.duration_ns[0]) == 0);
        assert_that(memcmp(got.state, portable.state, got.count * sizeof got.state[0]) ==
                    0);
        assert_u64(c.bucket, p.bucket);
        assert_u64(c.next, p.next);
        assert_u64(c.now, p.now);
        assert_u64(c.end, p.end);
        if (more) /* the state behind the last one means nothing */
            assert_that(memcmp(c.state, p.state, sizeof c.state) == 0);
        for (size_t i = 0; i < got.count; i++, stretches++) {
            uint64_t until = end;

            if (next < s->count && s->time[next] < end)
                until = s->time[next];
            assert_u64(got.duration_ns[i], until - now);
            assert_that(memcmp(got.state[i], at, sizeof at) == 0);
            now = until;
            while (next < s->count && s->time[next] == now)
                apply_event(s, s->what[next++], at);
        }
        if (got.count && now < end) /* only the last batch is not full */
            assert_u64(got.count, TWI_BATCH_SIZE);
    }
    assert_u64(now, begin < end ? end : begin);
    return stretches;
}

START_TEST(advance)
{
    const uint64_t runs = vocabulary_count("TIMEWEIGHT_TEST_KERNEL_RUNS", 30);
    uint64_t random = 2;
    scene *s = scene_new();

    for (uint64_t turn = 0; turn < 5 * runs; turn++) {
        uint64_t state[TWI_LANES], last;

        make_scene(s, &random, (size_t)random_below(&random, MOST_EVENTS + 1),
                   turn % 4 == 0);
        last = s->count ? s->time[s->count - 1] : 0;
        for (int i = 0; i < TWI_LANES; i++)
            state[i] = random_next(&random);
        for (int window = 0; window < 6; window++) {
            const uint64_t begin = window ? random_below(&random, last + 1) : 0;
            const uint64_t end = window < 2
                                     ? last + 1 + random_below(&random, 9)
                                     : begin + random_below(&random, last - begin + 1);
            CONTEXT("%s: turn %" PRIu64 ", window %d", KERNEL->name, turn, window);
            check_advance(s, KERNEL, begin, end, state);
        }
        if (s->count) { /* edges at events */
            const uint64_t begin = s->time[random_below(&random, s->count)];
            CONTEXT("%s: turn %" PRIu64 ", at events", KERNEL->name, turn);
            check_advance(s, KERNEL, begin, last, state);
            check_advance(s, KERNEL, begin, begin, state);
            check_advance(s, KERNEL, begin, begin + 1, state);
        }
    }
    scene_free(s);
}
END_TEST

/* As many stretches as a batch holds, one fewer, one more, and twice as many. */
START_TEST(advance_fills_batches_exactly)
{
    static const size_t sizes[] = {TWI_BATCH_SIZE - 1, TWI_BATCH_SIZE, TWI_BATCH_SIZE + 1,
                                   2 * TWI_BATCH_SIZE, 2 * TWI_BATCH_SIZE + 1};
    const uint64_t state[TWI_LANES] = {0};
    uint64_t random = 3;
    scene *s = scene_new();

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        make_scene(s, &random, sizes[i], true);
        CONTEXT("%s: %zu", KERNEL->name, sizes[i]);
        /* up to the last event, up to behind it, and far beyond */
        assert_u64(check_advance(s, KERNEL, 0, s->time[sizes[i] - 1], state),
                   sizes[i] - 1);
        assert_u64(check_advance(s, KERNEL, 0, s->time[sizes[i] - 1] + 1, state),
                   sizes[i]);
        assert_u64(check_advance(s, KERNEL, 0, UINT64_C(1) << 62, state), sizes[i]);
    }
    scene_free(s);
}
END_TEST

/* Into buckets of any width, with sums of cells and without. */
START_TEST(place)
{
    const uint64_t runs = vocabulary_count("TIMEWEIGHT_TEST_KERNEL_RUNS", 30);
    static uint64_t keys[MOST_EVENTS + 2], wanted[MOST_EVENTS];
    static uint64_t time[MOST_EVENTS], what[MOST_EVENTS];
    static uint64_t bucket_next[MOST_BUCKETS], begin[MOST_BUCKETS];
    static twi_cell cells[MOST_BUCKETS + 1], sums[MOST_BUCKETS + 1];
    uint64_t random = 4;
    scene *s = scene_new();

    for (uint64_t turn = 0; turn < 3 * runs; turn++) {
        const size_t count = (size_t)random_below(&random, MOST_EVENTS + 1);
        const unsigned cell_shift = (unsigned)random_below(&random, 5);
        twi_placing placing = {&s->events, keys + 1, bucket_next, NULL, cell_shift};

        CONTEXT("%s: turn %" PRIu64, KERNEL->name, turn);
        make_scene(s, &random, count, turn % 3 == 0);
        for (size_t i = 0; i < count; i++) { /* in any order */
            const size_t other = (size_t)random_below(&random, i + 1);
            time[i] = time[other];
            what[i] = what[other];
            time[other] = s->time[i];
            what[other] = s->what[i];
        }
        memset(sums, 0, sizeof sums);
        for (size_t i = 0; i < count; i++)
            apply_event(s, what[i],
                        sums[time[i] >> s->events.bucket_shift >> cell_shift].state);
        for (uint64_t b = 0; b < s->events.bucket_count; b++)
            begin[b] = b ? s->bucket_end[b - 1] : 0;
        memcpy(bucket_next, begin, sizeof begin);
        for (size_t i = 0; i < count; i++) {
            const uint64_t b = time[i] >> s->events.bucket_shift;
            wanted[bucket_next[b]++] = (time[i] - (b << s->events.bucket_shift))
                                           << s->events.what_bits |
                                       what[i];
        }
        for (int with_cells = 0; with_cells < 2; with_cells++) {
            const size_t half = count / 2;

            memset(keys, PATTERN, sizeof keys);
            memset(cells, 0, sizeof cells);
            memcpy(bucket_next, begin, sizeof begin);
            placing.cells = with_cells ? cells : NULL;
            KERNEL->place(&placing, time, what, half);
            KERNEL->place(&placing, time + half, what + half, count - half);
            assert_that(memcmp(keys + 1, wanted, count * sizeof *keys) == 0);
            assert_u64(keys[0], keys[count + 1]); /* both as they were */
            for (uint64_t b = 0; b < s->events.bucket_count; b++)
                assert_u64(bucket_next[b], s->bucket_end[b]);
            if (with_cells)
                assert_that(memcmp(cells, sums, sizeof cells) == 0);
        }
    }
    scene_free(s);
}
END_TEST

/* ---- Values ------------------------------------------------------------------------ */

/* Two lanes that hold a sum up to its bound, with some of it as carry in the low one: at
 * most `carry` times 2^44. */
static void random_lanes(uint64_t *random, uint64_t carry, uint64_t *high, uint64_t *low)
{
    twi_u192 sum;
    uint64_t move;

    switch (random_below(random, 6)) {
    case 0: /* the most that there is */
        *high = TWI_LANES_MOST_HIGH;
        *low = (carry << TWI_LOW_BITS) - 1;
        return;
    case 1:
        *high = random_below(random, 3);
        *low = random_below(random, 3);
        return;
    case 2: /* a tie, or beside it */
        sum = twi_from64(UINT64_C(1) << 53 | random_next(random) >> 11);
        sum = twi_shl(sum, (unsigned)random_below(random, 41));
        sum = twi_sub(sum, twi_from64(1));
        sum = twi_add(sum, twi_from64(random_below(random, 3)));
        break;
    default:
        sum = random_u192(random, 95);
    }
    *high = twi_shr64(sum, TWI_LOW_BITS);
    *low = sum.w[0] & TWI_LOW_MASK;
    move = random_below(random, (carry < *high ? carry : *high) + 1);
    move = move ? move - 1 : 0;
    *high -= move;
    *low += move << TWI_LOW_BITS;
}

static uint64_t random_counts(uint64_t *random)
{
    const unsigned bits = (unsigned)random_below(random, 33);
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    return random_below(random, 8)
               ? (random_next(random) & mask) | (random_next(random) & mask) << 32
               : UINT64_MAX;
}

static twi_u192 lanes_sum(uint64_t high, uint64_t low)
{
    return twi_add(twi_shl(twi_from64(high), TWI_LOW_BITS), twi_from64(low));
}

static void check_values(const twi_batch *batch, const twi_values *got, size_t i)
{
    const uint64_t *s = batch->state[i];
    const twi_u192 prefill_sum = lanes_sum(s[TWI_LANE_PREFILL_HIGH],
                                           s[TWI_LANE_PREFILL_LOW]);
    const twi_u192 decode_sum = lanes_sum(s[TWI_LANE_DECODE_HIGH],
                                          s[TWI_LANE_DECODE_LOW]);
    const double prefill = exact_double(prefill_sum), decode = exact_double(decode_sum);
    const uint32_t in_prefill = (uint32_t)(s[TWI_LANE_DECODE_PREFILL] >> 32);
    const uint32_t in_decode = (uint32_t)s[TWI_LANE_DECODE_PREFILL];

    assert_u64(got->count[TWI_COUNT_ACTIVE][i], (uint32_t)s[TWI_LANE_ACTIVE_QUEUED]);
    assert_u64(got->count[TWI_COUNT_QUEUED][i],
               (uint32_t)(s[TWI_LANE_ACTIVE_QUEUED] >> 32));
    assert_u64(got->count[TWI_COUNT_PREFILL][i], in_prefill);
    assert_u64(got->count[TWI_COUNT_DECODE][i], in_decode);
    assert_same(got->real[TWI_REAL_PREFILL_RATE][i], prefill);
    assert_same(got->real[TWI_REAL_DECODE_RATE][i], decode);
    assert_same(got->real[TWI_REAL_TOTAL_RATE][i],
                exact_double(twi_add(prefill_sum, decode_sum)));
    assert_same(got->real[TWI_REAL_PREFILL_RATE_PER_USER][i],
                exact_per_user(prefill, in_prefill));
    assert_same(got->real[TWI_REAL_DECODE_RATE_PER_USER][i],
                exact_per_user(decode, in_decode));
    assert_same(got->real[TWI_REAL_TOKENS][i],
                exact_double(lanes_sum(s[TWI_LANE_TOKENS], s[TWI_LANE_TOKENS_PART])));
}

/* [BITS] */
START_TEST(values)
{
    const uint64_t runs = vocabulary_count("TIMEWEIGHT_TEST_KERNEL_RUNS", 30);
    static struct {
        unsigned char before[GUARD];
        twi_values values;
        unsigned char after[GUARD];
    } got, portable;
    static twi_batch batch;
    uint64_t random = 5;

    for (size_t count = 1; count <= TWI_BATCH_SIZE; count++) {
        for (uint64_t turn = 0; turn < (runs + 9) / 10; turn++) {
            memset(&batch, PATTERN, sizeof batch); /* behind the last state, too */
            memset(&got, PATTERN, sizeof got);
            memset(&portable, PATTERN, sizeof portable);
            batch.count = count;
            for (size_t i = 0; i < count; i++) {
                uint64_t *s = batch.state[i];

                /* no request has both rates, so the carries are of 2^20 all together */
                random_lanes(&random, TWI_LANES_MOST_COUNT / 2, &s[TWI_LANE_PREFILL_HIGH],
                             &s[TWI_LANE_PREFILL_LOW]);
                random_lanes(&random, TWI_LANES_MOST_COUNT / 2, &s[TWI_LANE_DECODE_HIGH],
                             &s[TWI_LANE_DECODE_LOW]);
                random_lanes(&random, TWI_LANES_MOST_COUNT, &s[TWI_LANE_TOKENS],
                             &s[TWI_LANE_TOKENS_PART]);
                s[TWI_LANE_ACTIVE_QUEUED] = random_counts(&random);
                s[TWI_LANE_DECODE_PREFILL] = random_counts(&random);
            }
            KERNEL->values(&batch, &got.values);
            twi_kernel_portable.values(&batch, &portable.values);
            for (size_t i = 0; i < count; i++) {
                CONTEXT("%s: %zu of %zu states", KERNEL->name, i, count);
                check_values(&batch, &got.values, i);
                for (int c = 0; c < TWI_REALS; c++)
                    assert_same(got.values.real[c][i], portable.values.real[c][i]);
            }
            for (int i = 0; i < GUARD; i++)
                assert_u64((uint64_t)(got.before[i] ^ PATTERN) + (got.after[i] ^ PATTERN),
                           0);
        }
    }
}
END_TEST

/* ---- Distributions ----------------------------------------------------------------- */

enum { VALUE_KINDS = 10 };

/* Whole numbers of all kinds, below 2^192. */
static double value_of(int kind, uint64_t *random)
{
    switch (kind) {
    case 0: /* zeros and a few others */
        return random_below(random, 4) ? 0 : (double)random_below(random, 10);
    case 1:
        return (double)random_below(random, UINT64_C(1) << 20);
    case 2: /* rates: 40 bits above 2^60 and so on */
        return exact_double(random_u192(random, 100));
    case 3: /* any size */
        return exact_double(random_u192(random, 191));
    case 4: /* the least and the most that there are */
        return random_below(random, 2) ? 0x1.fffffffffffffp191 : 1;
    case 5: /* one exponent */
        return 0x1p90 + ldexp((double)random_below(random, 1 << 30), 38);
    case 6: /* a range of 96 bits above the last of the least, and one more */
        return random_below(random, 2) ? 0x1.fffffffffffffp60
                                       : ldexp(1, 8 + 95 + (int)random_below(random, 2));
    case 7: /* 96 bits, and one more */
        return random_below(random, 2) ? (double)random_below(random, 3)
                                       : ldexp(1, 95 + (int)random_below(random, 2));
    case 8: /* all the same, and of ones alone */
        return 0x1.fffffffffffffp100;
    default:
        return 0;
    }
}

enum { WEIGHT_KINDS = 5 };

/* Together below 2^63. */
static uint64_t weight_of(int kind, size_t i, uint64_t *random)
{
    switch (kind) {
    case 0:
        return 1;
    case 1:
        return 1 + random_below(random, 1000000);
    case 2: /* around what 52 bits hold */
        return (UINT64_C(1) << 52) - 1 + random_below(random, 2);
    case 3: /* the most that 32 bits hold, and seldom one more */
        return UINT32_MAX + (uint64_t)(random_below(random, 1000) == 0);
    default:
        return i ? 1 + random_below(random, UINT64_C(1) << 50) : UINT64_C(1) << 62;
    }
}

/* What to feed: arrays that end where memory does. */
typedef struct food {
    edge values, weights;
    double *value;
    uint64_t *weight;
    size_t count;
} food;

static void food_init(food *f)
{
    f->values = edge_new(TWI_BATCH_SIZE * sizeof *f->value);
    f->weights = edge_new(TWI_BATCH_SIZE * sizeof *f->weight);
}

static void food_free(food *f)
{
    edge_free(&f->values);
    edge_free(&f->weights);
}

static void make_food(food *f, uint64_t *random, size_t count, int value_kind,
                      int weight_kind)
{
    f->count = count;
    f->value = edge_at(&f->values, count * sizeof *f->value);
    f->weight = edge_at(&f->weights, count * sizeof *f->weight);
    for (size_t i = 0; i < count; i++) {
        f->value[i] = value_of(value_kind, random);
        f->weight[i] = weight_of(weight_kind, i, random);
    }
}

static void add_product(twi_big *sum, twi_u192 value, uint64_t weight)
{
    twi_big part = twi_big_from(value.w, 3);

    twi_big_multiply64(&part, weight);
    twi_big_add(sum, &part);
}

static void check_big(const uint64_t *limbs, size_t count, const twi_big *wanted)
{
    const twi_big got = twi_big_from(limbs, count);
    assert_i64(twi_big_compare(&got, wanted), 0);
}

/* Every length, each with all kinds of values and weights; beyond some dozens with a third of
 * them, in turn. */
#define FOR_ALL_FOOD(f, turn, random)                                  \
    for (size_t count = 0; count <= TWI_BATCH_SIZE; count++)           \
        for (uint64_t turn = count > 40 ? count % 3 : 0;               \
             turn < VALUE_KINDS * WEIGHT_KINDS &&                      \
             (make_food(&f, &random, count, (int)(turn % VALUE_KINDS), \
                        (int)(turn / VALUE_KINDS)),                    \
              true);                                                   \
             turn += count > 40 ? 3 : 1)

START_TEST(tally)
{
    uint64_t random = 6;
    guarded *out = malloc(sizeof *out);
    food f;

    assert_that(out != NULL);
    food_init(&f);
    FOR_ALL_FOOD(f, turn, random)
    {
        uint32_t *number = guard(out, count * sizeof *number,
                                 (size_t)random_below(&random, 16) * sizeof *number);
        uint32_t of_portable[TWI_BATCH_SIZE];
        twi_tally before, got, portable;
        double least, most;
        twi_big sum;

        CONTEXT("%s: %zu values, turn %" PRIu64, KERNEL->name, count, turn);
        memset(&before, 0, sizeof before);
        before.bin_bits = (unsigned)random_between(&random, TWI_BIN_LEAST_BITS,
                                                   TWI_BIN_MOST_BITS);
        before.least = random_below(&random, 2) ? HUGE_VAL : 7;
        before.most = random_below(&random, 2) ? 0 : 0x1p70;
        for (int i = 0; i < 4; i++) /* carries run far */
            before.sum.w[i] = random_below(&random, 2) ? UINT64_MAX
                                                       : random_next(&random);
        got = portable = before;
        KERNEL->tally(f.value, f.weight, count, number, &got);
        twi_kernel_portable.tally(f.value, f.weight, count, of_portable, &portable);
        check_guards(out);

        least = before.least;
        most = before.most;
        sum = twi_big_from64(0);
        for (size_t i = 0; i < count; i++) {
            assert_u64(number[i], twi_bin_number(f.value[i], before.bin_bits));
            assert_u64(of_portable[i], number[i]);
            if (f.value[i] > 0 && f.value[i] < least)
                least = f.value[i];
            if (f.value[i] > most)
                most = f.value[i];
            add_product(&sum, exact_whole(f.value[i]), f.weight[i]);
        }
        twi_big_shift(&sum, TWI_SUM_SHIFT);
        {
            const twi_big old = twi_big_from(before.sum.w, TWI_SUM_LIMBS);
            twi_big_add(&sum, &old);
        }
        check_big(got.sum.w, TWI_SUM_LIMBS, &sum);
        assert_that(memcmp(&got.sum, &portable.sum, sizeof got.sum) == 0);
        assert_same(got.least, least);
        assert_same(got.most, most);
        assert_same(portable.least, least);
        assert_same(portable.most, most);
        assert_u64(got.bin_bits, before.bin_bits);
    }
    food_free(&f);
    free(out);
}
END_TEST

START_TEST(moments)
{
    uint64_t random = 7;
    food f;

    food_init(&f);
    FOR_ALL_FOOD(f, turn, random)
    {
        twi_moment_sums got, portable;
        twi_big sum = twi_big_from64(0), square = sum;
        double most = 1;
        int exponent;

        CONTEXT("%s: %zu values, turn %" PRIu64, KERNEL->name, count, turn);
        for (size_t i = 0; i < count; i++)
            most = f.value[i] > most ? f.value[i] : most;
        frexp(most, &exponent);
        exponent = TWI_MOMENT_BITS - exponent; /* floor(most * 2^exponent) has 48 bits */
        if (random_below(&random, 3) == 0) /* or fewer: another batch has the largest */
            exponent -= (int)random_below(&random, 60);
        memset(&got, 0, sizeof got);
        got.factor = ldexp(1, exponent);
        got.sum[0] = got.square[0] = got.square[1] = UINT64_MAX -
                                                     random_below(&random, 2);
        portable = got;
        sum = twi_big_from(got.sum, 2);
        square = twi_big_from(got.square, 3);
        KERNEL->moments(f.value, f.weight, count, &got);
        twi_kernel_portable.moments(f.value, f.weight, count, &portable);
        for (size_t i = 0; i < count; i++) {
            const twi_u192 exact = exact_whole(f.value[i]);
            const unsigned shift = (unsigned)(exponent < 0 ? -exponent : exponent);
            const twi_u192 whole = shift > 191    ? twi_from64(0)
                                   : exponent < 0 ? twi_shr(exact, shift)
                                                  : twi_shl(exact, shift);

            add_product(&sum, whole, f.weight[i]);
            add_product(&square, twi_product(whole.w[0], whole.w[0]), f.weight[i]);
        }
        check_big(got.sum, 2, &sum);
        check_big(got.square, 3, &square);
        assert_that(memcmp(&got, &portable, sizeof got) == 0);
    }
    food_free(&f);
}
END_TEST

static void random_filter(twi_filter *filter, uint64_t *random)
{
    const uint64_t kind = random_below(random, 4);

    memset(filter, 0, sizeof *filter);
    filter->bin_bits = (unsigned)random_between(random, TWI_BIN_LEAST_BITS,
                                                TWI_BIN_MOST_BITS);
    for (int i = 0; i < TWI_FILTER_BITS / 64; i++)
        filter->w[i] = kind == 0   ? 0
                       : kind == 1 ? UINT64_MAX
                       : kind == 2 ? random_next(random)
                                   : UINT64_C(1) << random_below(random, 64);
}

START_TEST(find)
{
    uint64_t random = 8;
    guarded *out = malloc(sizeof *out);
    food f;

    assert_that(out != NULL);
    food_init(&f);
    FOR_ALL_FOOD(f, turn, random)
    {
        uint16_t *index = guard(out, count * sizeof *index,
                                (size_t)random_below(&random, 32) * sizeof *index);
        uint16_t of_portable[TWI_BATCH_SIZE];
        twi_filter filter;
        size_t found, next = 0;

        CONTEXT("%s: %zu values, turn %" PRIu64, KERNEL->name, count, turn);
        random_filter(&filter, &random);
        found = KERNEL->find(f.value, count, &filter, index);
        check_guards(out);
        for (size_t i = 0; i < count; i++) {
            const uint32_t bit = twi_bin_number(f.value[i], filter.bin_bits) %
                                 TWI_FILTER_BITS;

            if (f.value[i] == 0 || !(filter.w[bit / 64] >> bit % 64 & 1))
                continue;
            assert_that(next < found);
            assert_u64(index[next++], i);
        }
        assert_u64(next, found);
        assert_u64(twi_kernel_portable.find(f.value, count, &filter, of_portable), found);
        assert_that(memcmp(index, of_portable, found * sizeof *index) == 0);
    }
    food_free(&f);
    free(out);
}
END_TEST

/* ---- All together ------------------------------------------------------------------ */

static results got_results, wanted_results; /* too large for the stack of some */

/* [BITS] */
START_TEST(analyses_have_the_same_bits)
{
    const uint64_t count = vocabulary_count("TIMEWEIGHT_TEST_WORKLOADS", 200);

    for (uint64_t seed = 1; seed <= count; seed++) {
        tw_options options;
        tw_analysis *analysis;
        workload w;

        CONTEXT("%s: seed %" PRIu64, KERNEL->name, seed);
        assert_i64(workload_new(&w, seed, seed % 10 ? 60 : 2000), 0);
        options = options_of(&w);
        options.kernel = TW_KERNEL_PORTABLE;
        analysis = analysis_of(w.records, w.count, &options);
        assert_ok(results_take(&wanted_results, analysis));
        tw_analysis_free(analysis);
        options.kernel = tested[_i].id;
        analysis = analysis_of(w.records, w.count, &options);
        assert_ok(results_take(&got_results, analysis));
        tw_analysis_free(analysis);
        assert_same_results(&got_results, &wanted_results);
        workload_free(&w);
    }
}
END_TEST

/* ---- ------------------------------------------------------------------------------- */

static bool choose(const char *name)
{
    bool is_known = name == NULL;

    for (int i = 0; i < KNOWN; i++) {
        const twi_kernel *kernel = twi_kernel_get(known[i].id);

        if (name && strcmp(name, known[i].name) != 0)
            continue;
        is_known = true;
        if (kernel) {
            tested[tested_count].id = known[i].id;
            tested[tested_count++].kernel = kernel;
        } else {
            printf("SKIPPED: this machine or this build does not have the kernel %s\n",
                   known[i].name);
        }
    }
    return is_known;
}

int main(int argc, char **argv)
{
    Suite *suite;
    TCase *kernels;

    if (!choose(argc > 1 ? argv[1] : NULL)) {
        printf("there is no kernel %s\n", argv[1]);
        return EXIT_FAILURE;
    }
    if (!tested_count)
        return 77;
    suite = suite_create("kernel");
    kernels = vocabulary_case(suite, "kernels");
    tcase_add_test(kernels, kernels_by_id);
    tcase_add_loop_test(kernels, sort, 0, tested_count);
    tcase_add_loop_test(kernels, place, 0, tested_count);
    tcase_add_loop_test(kernels, advance, 0, tested_count);
    tcase_add_loop_test(kernels, advance_fills_batches_exactly, 0, tested_count);
    tcase_add_loop_test(kernels, values, 0, tested_count);
    tcase_add_loop_test(kernels, tally, 0, tested_count);
    tcase_add_loop_test(kernels, moments, 0, tested_count);
    tcase_add_loop_test(kernels, find, 0, tested_count);
    tcase_add_loop_test(kernels, analyses_have_the_same_bits, 0, tested_count);
    return vocabulary_main(suite);
}
