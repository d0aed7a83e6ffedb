/* SPDX-License-Identifier: MIT */
/* A program without any test library, to run on machines that have none: sends random
 * workloads through the library and prints a hash over the bits of all that it says. Two
 * machines agree if they print the same.
 *
 *      machine_probe [COUNT [FIRST [STEP]]]
 *
 * runs the seeds from FIRST (1) on, COUNT (2000) of them, and prints a line for each STEP
 * (100) of them, so that a difference can be located. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

#include "workload.h"

static _Noreturn void fail(uint64_t seed, const char *what)
{
    fprintf(stderr, "machine_probe: seed %" PRIu64 ": %s\n", seed, what);
    exit(EXIT_FAILURE);
}

/* ---- Hashes ------------------------------------------------------------------------ */

enum { SUMMARIES, QUANTILES, BALANCE, REPORTS, HASHES };

typedef struct hashes {
    uint64_t of[HASHES];
} hashes;

#define HASH_BEGIN UINT64_C(0xcbf29ce484222325) /* FNV-1a */

static void hash_begin(hashes *h)
{
    for (int i = 0; i < HASHES; i++)
        h->of[i] = HASH_BEGIN;
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

/* ---- What an analysis says --------------------------------------------------------- */

static const double quantiles[] = {0,    0.01, 0.05, 0.1, 0.25,    0.5, 0.75,   0.9,
                                   0.95, 0.99, 1e-9, 0.3, 0.99999, 1,   1 / 3.0};
enum { QUANTILE_COUNT = sizeof quantiles / sizeof quantiles[0] };

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
    double values[QUANTILE_COUNT] = {0};

    put(hash, (uint64_t)tw_analysis_quantiles(analysis, metric, quantiles, values,
                                              QUANTILE_COUNT));
    for (size_t i = 0; i < QUANTILE_COUNT; i++)
        put_double(hash, values[i]);
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

static void put_analysis(hashes *h, const tw_analysis *analysis, uint64_t seed)
{
    tw_balance balance = {.struct_size = sizeof balance};
    int64_t begin = 0, end = 0;

    if (tw_analysis_bounds(analysis, &begin, &end) ||
        tw_analysis_balance(analysis, &balance))
        fail(seed, "no balance");
    put(&h->of[BALANCE], (uint64_t)begin);
    put(&h->of[BALANCE], (uint64_t)end);
    put_balance(&h->of[BALANCE], &balance);
    for (size_t m = 0; m < tw_metric_count(); m++) {
        tw_metric_row row = {.struct_size = sizeof row};

        if (tw_metric_info(m, &row))
            fail(seed, "no metric");
        put_summary(&h->of[SUMMARIES], analysis, row.id);
        put_quantiles(&h->of[QUANTILES], analysis, row.id);
    }
    for (int32_t format = TW_FORMAT_TEXT; format <= TW_FORMAT_JSON; format++)
        if (tw_report_write(analysis, format, NULL, put_text, &h->of[REPORTS]))
            fail(seed, "no report");
}

/* ---- Workloads --------------------------------------------------------------------- */

enum { MOST_RECORDERS = 3 };

static size_t most_records(uint64_t seed)
{
    return seed % 100 == 0 ? 2000 : seed % 10 == 0 ? 300 : 40;
}

static void make_recorders(tw_recorder **recorders, size_t count, const workload *w,
                           uint64_t seed)
{
    /* Now and then a clock of its own, which may also lead out of the range. */
    const tw_clock clock = {sizeof clock, 0, seed % 5 ? 0 : 1000 * (int64_t)seed};

    for (size_t i = 0; i < count; i++)
        if (tw_recorder_new(&recorders[i], NULL) ||
            tw_recorder_set_clock(recorders[i], &clock))
            fail(seed, "no recorder");
    for (size_t i = 0; i < w->count; i++)
        if (tw_recorder_append(recorders[i % count], &w->records[i], 1, sizeof(tw_record),
                               0, NULL))
            fail(seed, "a record is refused");
}

static void run(hashes *h, uint64_t seed)
{
    tw_recorder *recorders[MOST_RECORDERS];
    const size_t count = 1 + (size_t)(seed % MOST_RECORDERS);
    tw_analysis *analysis = NULL;
    tw_options options;
    workload w;
    int32_t status;

    if (workload_new(&w, seed, most_records(seed)))
        fail(seed, "no memory");
    make_recorders(recorders, count, &w, seed);
    tw_options_init(&options, sizeof options);
    options.flags = (w.has_begin ? (uint32_t)TW_WINDOW_BEGIN : 0u) |
                    (w.has_end ? (uint32_t)TW_WINDOW_END : 0u);
    options.window_begin_ns = w.begin_ns;
    options.window_end_ns = w.end_ns;
    if (seed % 2) { /* else most quantiles are looked for when they are asked for */
        options.quantiles = quantiles;
        options.quantile_count = QUANTILE_COUNT;
    }
    status = tw_analyze(&analysis, recorders, count, &options);
    put(&h->of[BALANCE], (uint64_t)status);
    if (status == TW_OK)
        put_analysis(h, analysis, seed);
    tw_analysis_free(analysis);
    for (size_t i = 0; i < count; i++)
        tw_recorder_free(recorders[i]);
    workload_free(&w);
}

static uint64_t argument(int count, char **arguments, int place, uint64_t normal)
{
    return place < count ? strtoull(arguments[place], NULL, 10) : normal;
}

int main(int argc, char **argv)
{
    const uint64_t count = argument(argc, argv, 1, 2000);
    const uint64_t first = argument(argc, argv, 2, 1);
    const uint64_t step = argument(argc, argv, 3, 100);
    hashes h;

    hash_begin(&h);
    for (uint64_t i = 0; i < count; i++) {
        run(&h, first + i);
        if ((i + 1) % (step ? step : 1) && i + 1 < count)
            continue;
        printf("to seed %" PRIu64 ": summaries %016" PRIx64 " quantiles %016" PRIx64
               " balance %016" PRIx64 " reports %016" PRIx64 "\n",
               first + i, h.of[SUMMARIES], h.of[QUANTILES], h.of[BALANCE], h.of[REPORTS]);
        hash_begin(&h);
    }
    return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
