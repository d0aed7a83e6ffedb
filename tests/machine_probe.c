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
#include <timeweight/timeweight.h>

#include "result_bits.h"
#include "workload.h"

static _Noreturn void fail(uint64_t seed, const char *what)
{
    fprintf(stderr, "machine_probe: seed %" PRIu64 ": %s\n", seed, what);
    exit(EXIT_FAILURE);
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

static void run(result_bits *bits, uint64_t seed)
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
        options.quantiles = result_bits_quantiles;
        options.quantile_count = BITS_QUANTILES_ASKED;
    }
    status = tw_analyze(&analysis, recorders, count, &options);
    result_bits_add_number(bits, (uint64_t)status);
    if (status == TW_OK && !result_bits_add(bits, analysis))
        fail(seed, "no results");
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
    result_bits bits;

    result_bits_begin(&bits);
    for (uint64_t i = 0; i < count; i++) {
        run(&bits, first + i);
        if ((i + 1) % (step ? step : 1) && i + 1 < count)
            continue;
        printf("to seed %" PRIu64 ": ", first + i);
        result_bits_print(&bits);
        putchar('\n');
        result_bits_begin(&bits);
    }
    return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
