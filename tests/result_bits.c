/* SPDX-License-Identifier: MIT */
#include "result_bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Hashes ------------------------------------------------------------------------ */

void result_bits_begin(result_bits *bits)
{
    for (int i = 0; i < BITS_COUNT; i++)
        bits->of[i] = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
}

static void put_byte(uint64_t *hash, unsigned byte)
{
    *hash = (*hash ^ byte) * UINT64_C(0x100000001b3);
}

/* By value, so that the order of bytes in memory does not count. */
static void put(uint64_t *hash, uint64_t value)
{
    for (int i = 0; i < 64; i += 8)
        put_byte(hash, (unsigned)(value >> i & 0xff));
}

static void put_double(uint64_t *hash, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    put(hash, bits);
}

static int32_t put_text(void *hash, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        put_byte(hash, (unsigned char)bytes[i]);
    return 0;
}

void result_bits_add_number(result_bits *bits, uint64_t number)
{
    put(&bits->of[BITS_BALANCE], number);
}

bool result_bits_same(const result_bits *a, const result_bits *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

void result_bits_print(const result_bits *bits)
{
    printf("summaries %016" PRIx64 " quantiles %016" PRIx64 " curves %016" PRIx64
           " balance %016" PRIx64 " reports %016" PRIx64,
           bits->of[BITS_SUMMARIES], bits->of[BITS_QUANTILES], bits->of[BITS_CURVES],
           bits->of[BITS_BALANCE], bits->of[BITS_REPORTS]);
}

/* ---- What an analysis says --------------------------------------------------------- */

const double result_bits_quantiles[BITS_QUANTILES_ASKED] = {
    0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1e-9, 0.3, 0.99999, 1, 1 / 3.0};

static void put_summary(uint64_t *hash, const tw_analysis *analysis, int32_t metric)
{
    tw_summary s = {.struct_size = sizeof s};
    const int32_t status = tw_analysis_summary(analysis, metric, &s);

    put(hash, (uint64_t)status);
    if (status)
        return;
    put(hash, s.fields);
    put(hash, s.flags);
    put_double(hash, s.error_bound);
    put_double(hash, s.avg);
    put_double(hash, s.min);
    put_double(hash, s.max);
    put_double(hash, s.std);
    put_double(hash, s.sum);
    put(hash, (uint64_t)s.weight_ns);
    put(hash, (uint64_t)s.active_ns);
    put(hash, s.count);
}

static void put_quantiles(uint64_t *hash, const tw_analysis *analysis, int32_t metric)
{
    double values[BITS_QUANTILES_ASKED] = {0};

    put(hash, (uint64_t)tw_analysis_quantiles(analysis, metric, result_bits_quantiles,
                                              values, BITS_QUANTILES_ASKED));
    for (size_t i = 0; i < BITS_QUANTILES_ASKED; i++)
        put_double(hash, values[i]);
}

enum { SEGMENTS = 64, BINS = 7 };

static void put_segments(uint64_t *hash, const tw_analysis *analysis, int32_t metric,
                         int64_t from_ns)
{
    tw_segment segments[SEGMENTS];
    size_t count = 0;
    int64_t next_ns = 0;

    put(hash, (uint64_t)tw_analysis_curve(analysis, metric, from_ns, segments, SEGMENTS,
                                          sizeof segments[0], &count, &next_ns));
    put(hash, (uint64_t)next_ns);
    for (size_t i = 0; i < count; i++) {
        put(hash, (uint64_t)segments[i].begin_ns);
        put(hash, (uint64_t)segments[i].end_ns);
        put_double(hash, segments[i].value);
    }
}

static void put_series(uint64_t *hash, const tw_analysis *analysis, int32_t metric,
                       int64_t begin_ns, int64_t length_ns)
{
    tw_bin bins[BINS];
    const int64_t width_ns = length_ns / BINS + 1;
    const int32_t status = tw_analysis_series(analysis, metric, begin_ns, width_ns, bins,
                                              BINS, sizeof bins[0]);

    put(hash, (uint64_t)status);
    for (size_t i = 0; i < BINS && !status; i++) {
        put(hash, (uint64_t)bins[i].begin_ns);
        put(hash, (uint64_t)bins[i].weight_ns);
        put_double(hash, bins[i].mean);
        put_double(hash, bins[i].min);
        put_double(hash, bins[i].max);
    }
}

static void put_balance(uint64_t *hash, const tw_balance *b)
{
    const uint64_t counts[] = {b->issued,
                               b->ok,
                               b->failed,
                               b->cancelled,
                               b->in_flight,
                               b->refused,
                               b->credit_after_start,
                               b->chunk_tokens_ignored,
                               b->overlapping,
                               b->members,
                               b->cut_at_begin,
                               b->cut_at_end};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        put(hash, counts[i]);
    for (size_t i = 0; i < TW_RULE_LIMIT; i++)
        put(hash, b->refused_by_rule[i]);
}

bool result_bits_add(result_bits *bits, const tw_analysis *analysis)
{
    tw_balance balance = {.struct_size = sizeof balance};
    int64_t begin = 0, end = 0;

    if (tw_analysis_bounds(analysis, &begin, &end) ||
        tw_analysis_balance(analysis, &balance))
        return false;
    put(&bits->of[BITS_BALANCE], (uint64_t)begin);
    put(&bits->of[BITS_BALANCE], (uint64_t)end);
    put_balance(&bits->of[BITS_BALANCE], &balance);
    for (size_t m = 0; m < tw_metric_count(); m++) {
        tw_metric_row row = {.struct_size = sizeof row};

        if (tw_metric_info(m, &row))
            return false;
        put_summary(&bits->of[BITS_SUMMARIES], analysis, row.id);
        put_quantiles(&bits->of[BITS_QUANTILES], analysis, row.id);
        put_segments(&bits->of[BITS_CURVES], analysis, row.id, begin);
        put_segments(&bits->of[BITS_CURVES], analysis, row.id, begin + (end - begin) / 2);
        put_series(&bits->of[BITS_CURVES], analysis, row.id, begin + (end - begin) / 3,
                   (end - begin) / 16);
    }
    for (int32_t format = TW_FORMAT_TEXT; format <= TW_FORMAT_JSON; format++)
        if (tw_report_write(analysis, format, NULL, put_text, &bits->of[BITS_REPORTS]))
            return false;
    return true;
}
