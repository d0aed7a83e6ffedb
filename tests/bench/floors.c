/* SPDX-License-Identifier: MIT */
#include "floors.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

void bare_keys_free(bare_keys *k)
{
    if (!k)
        return;
    free(k->source);
    free(k->buffer[0]);
    free(k->buffer[1]);
    free(k);
}

void bare_keys_sort(bare_keys *k)
{
    enum { PASSES = 64 / 8, DIGITS = 1 << 11 };
    static size_t counts[PASSES][DIGITS];
    const unsigned passes = (k->bits + k->digit - 1) / k->digit;
    const size_t digits = (size_t)1 << k->digit;
    const uint64_t mask = digits - 1;
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < k->count; i++)
        for (unsigned pass = 0; pass < passes; pass++)
            counts[pass][k->source[i] >> pass * k->digit & mask]++;
    k->sorted = k->source;
    for (unsigned pass = 0; pass < passes; pass++) {
        const unsigned shift = pass * k->digit;
        const uint64_t *from = k->sorted;
        uint64_t *to = k->buffer[pass % 2];
        size_t *places = counts[pass], sum = 0;
        for (size_t i = 0; i < digits; i++) {
            size_t here = places[i];
            places[i] = sum;
            sum += here;
        }
        for (size_t i = 0; i < k->count; i++)
            to[places[from[i] >> shift & mask]++] = from[i];
        k->sorted = to;
    }
}

static double time_sort(bare_keys *k, unsigned digit)
{
    double times[3];
    k->digit = digit;
    for (int i = 0; i < 3; i++) {
        double before = bench_now();
        bare_keys_sort(k);
        times[i] = bench_now() - before;
    }
    return bench_spread(times, 3).median;
}

bare_keys *bare_keys_new(const traffic *t)
{
    bare_keys *k = bench_alloc(1, sizeof *k);
    uint64_t origin = (uint64_t)traffic_origin(t), all = 0;
    k->count = 3 * t->count;
    k->source = bench_alloc(k->count, sizeof *k->source);
    for (int i = 0; i < 2; i++) {
        k->buffer[i] = bench_alloc(k->count, sizeof *k->buffer[i]);
        memset(k->buffer[i], 1, k->count * sizeof *k->buffer[i]);
    }
    for (size_t i = 0; i < t->count; i++) {
        k->source[3 * i] = (uint64_t)t->start_ns[i] - origin;
        k->source[3 * i + 1] = (uint64_t)t->first_ns[i] - origin;
        k->source[3 * i + 2] = (uint64_t)t->end_ns[i] - origin;
    }
    for (size_t i = 0; i < k->count; i++)
        all |= k->source[i];
    for (k->bits = 0; all > 0; all >>= 1)
        k->bits++;
    k->digit = time_sort(k, 8) < time_sort(k, 11) ? 8 : 11;
    return k;
}

bare_bytes *bare_bytes_new(size_t records)
{
    bare_bytes *b = bench_alloc(1, sizeof *b);
    b->read_words = records * 32 / sizeof *b->input;
    b->written_words = records * 56 / sizeof *b->output;
    b->input = bench_alloc(b->read_words, sizeof *b->input);
    b->output = bench_alloc(b->written_words, sizeof *b->output);
    memset(b->input, 1, b->read_words * sizeof *b->input);
    memset(b->output, 1, b->written_words * sizeof *b->output);
    return b;
}

void bare_bytes_free(bare_bytes *b)
{
    if (!b)
        return;
    free(b->input);
    free(b->output);
    free(b);
}

/* In four streams: with one, the memory waits for the processor. */
static uint64_t add_up(const uint64_t *words, size_t count)
{
    size_t quarter = count / 4;
    uint64_t sum[4] = {0};
    for (size_t i = 0; i < quarter; i++)
        for (size_t stream = 0; stream < 4; stream++)
            sum[stream] += words[stream * quarter + i];
    for (size_t i = 4 * quarter; i < count; i++)
        sum[0] += words[i];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

uint64_t bare_bytes_move(bare_bytes *b)
{
    uint64_t sum = add_up(b->input, b->read_words);
    memset(b->output, (int)(sum & 1), b->written_words * sizeof *b->output);
    sum += add_up(b->output, b->written_words);
    b->output[0] = sum; /* the second sum is another */
    return sum + add_up(b->output, b->written_words);
}

void bare_store(bare_record *to, size_t count, const tw_record *source,
                size_t source_count)
{
    for (size_t i = 0, from = 0; i < count; i++) {
        const tw_record *record = &source[from];
        int64_t later = (int64_t)i;
        to[i] = (bare_record){record->credit_issued_ns + later,
                              record->start_ns + later,
                              record->generation_start_ns + later,
                              record->end_ns + later,
                              record->input_tokens,
                              record->output_tokens};
        from = from + 1 < source_count ? from + 1 : 0;
    }
}
