/* SPDX-License-Identifier: MIT */
/* All ways to compute give the same bits: every kernel that this machine has, one thread or
 * several, executors that behave and that do not, records in any order and in any number of
 * recorders, a window at once or of an analysis that exists. Small runs are those of
 * workload.c; large ones are made here, of sizes that threads share.
 *
 *      bits_probe [SEEDS [RECORDS]]
 *
 * prints the bits, so that they can be compared with those of another compiler, and says in
 * which way they differ. */

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

#include "analysis/analysis.h"
#include "result_bits.h"
#include "workload.h"

static const char *context = "";

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bits_probe: %s: %s\n", context, what);
    exit(EXIT_FAILURE);
}

static void must(bool holds, const char *what)
{
    if (!holds)
        fail(what);
}

static uint64_t next(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static int64_t below(uint64_t *state, int64_t limit)
{
    return (int64_t)(next(state) % (uint64_t)limit);
}

/* ---- Executors --------------------------------------------------------------------- */

typedef struct task {
    void (*run)(void *context, uint32_t index);
    void *context;
    uint32_t from, to, step;
} task;

static uint32_t most_tasks; /* that an executor was given */

static void note(uint32_t count)
{
    most_tasks = count > most_tasks ? count : most_tasks;
}

static int32_t in_reverse(void *data, void (*run)(void *, uint32_t), void *with,
                          uint32_t count)
{
    (void)data;
    note(count);
    while (count--)
        run(with, count);
    return 0;
}

/* Says so, having run every other one. */
static int32_t refuses(void *data, void (*run)(void *, uint32_t), void *with,
                       uint32_t count)
{
    (void)data;
    note(count);
    for (uint32_t i = 1; i < count; i += 2)
        run(with, i);
    return 1;
}

static int32_t refuses_all(void *data, void (*run)(void *, uint32_t), void *with,
                           uint32_t count)
{
    (void)data;
    (void)run;
    (void)with;
    note(count);
    return -1;
}

/* Runs tasks twice, and some that there are not. */
static int32_t confused(void *data, void (*run)(void *, uint32_t), void *with,
                        uint32_t count)
{
    (void)data;
    note(count);
    run(with, UINT32_MAX);
    for (uint32_t i = 0; i < 2 * count; i++)
        run(with, i / 2);
    run(with, count);
    return 0;
}

static void *run_tasks(void *argument)
{
    const task *t = argument;

    for (uint32_t i = t->from; i < t->to; i += t->step)
        t->run(t->context, i);
    return NULL;
}

/* Three threads in turn. */
static int32_t on_threads(void *data, void (*run)(void *, uint32_t), void *with,
                          uint32_t count)
{
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    task tasks[THREADS];

    (void)data;
    note(count);
    for (uint32_t i = 0; i < THREADS; i++) {
        tasks[i] = (task){run, with, i, count, THREADS};
        must(pthread_create(&thread[i], NULL, run_tasks, &tasks[i]) == 0, "no thread");
    }
    for (int i = 0; i < THREADS; i++)
        must(pthread_join(thread[i], NULL) == 0, "no end of a thread");
    return 0;
}

/* ---- Ways -------------------------------------------------------------------------- */

typedef struct way {
    const char *name;
    int32_t kernel;
    uint32_t threads;
    tw_executor_fn executor;
    size_t recorders; /* 0: as one: 1 */
    enum { AS_THEY_ARE, REVERSED, SHUFFLED } order;
    enum { DEALT, IN_PIECES } split;
} way;

static const way ways[] = {
    {"portable, 2 threads", TW_KERNEL_PORTABLE, 2, NULL, 0, AS_THEY_ARE, DEALT},
    {"portable, 5 threads", TW_KERNEL_PORTABLE, 5, NULL, 0, AS_THEY_ARE, DEALT},
    {"avx2", TW_KERNEL_AVX2, 1, NULL, 0, AS_THEY_ARE, DEALT},
    {"avx2, 2 threads", TW_KERNEL_AVX2, 2, NULL, 0, AS_THEY_ARE, DEALT},
    {"avx2, 5 threads", TW_KERNEL_AVX2, 5, NULL, 0, AS_THEY_ARE, DEALT},
    {"avx512", TW_KERNEL_AVX512, 1, NULL, 0, AS_THEY_ARE, DEALT},
    {"avx512, 2 threads", TW_KERNEL_AVX512, 2, NULL, 0, AS_THEY_ARE, DEALT},
    {"avx512, 5 threads", TW_KERNEL_AVX512, 5, NULL, 0, AS_THEY_ARE, DEALT},
    {"neon", TW_KERNEL_NEON, 1, NULL, 0, AS_THEY_ARE, DEALT},
    {"neon, 2 threads", TW_KERNEL_NEON, 2, NULL, 0, AS_THEY_ARE, DEALT},
    {"neon, 5 threads", TW_KERNEL_NEON, 5, NULL, 0, AS_THEY_ARE, DEALT},
    {"executor in reverse", TW_KERNEL_AUTO, 5, in_reverse, 0, AS_THEY_ARE, DEALT},
    {"executor on threads", TW_KERNEL_AUTO, 5, on_threads, 0, AS_THEY_ARE, DEALT},
    {"executor of one thread", TW_KERNEL_AUTO, 1, in_reverse, 0, AS_THEY_ARE, DEALT},
    {"executor refuses", TW_KERNEL_AUTO, 5, refuses, 0, AS_THEY_ARE, DEALT},
    {"executor refuses all", TW_KERNEL_AUTO, 2, refuses_all, 0, AS_THEY_ARE, DEALT},
    {"executor is confused", TW_KERNEL_AUTO, 5, confused, 0, AS_THEY_ARE, DEALT},
    {"shuffled", TW_KERNEL_AUTO, 1, NULL, 0, SHUFFLED, DEALT},
    {"reversed, 5 threads", TW_KERNEL_AUTO, 5, NULL, 0, REVERSED, DEALT},
    {"3 recorders", TW_KERNEL_AUTO, 1, NULL, 3, AS_THEY_ARE, DEALT},
    {"7 recorders in pieces, 5 threads", TW_KERNEL_AUTO, 5, NULL, 7, AS_THEY_ARE,
     IN_PIECES},
    {"2 recorders, shuffled, executor in reverse", TW_KERNEL_AUTO, 5, in_reverse, 2,
     SHUFFLED, DEALT},
};
enum { WAYS = sizeof ways / sizeof ways[0], RECORDERS = 7 };

static const way plain = {"portable", TW_KERNEL_PORTABLE, 1, NULL, 0, AS_THEY_ARE, DEALT};

static void reorder(tw_record *records, size_t count, const way *how)
{
    uint64_t random = 1;

    for (size_t i = count; how->order != AS_THEY_ARE && i > 1; i--) {
        const size_t other = how->order == SHUFFLED ? (size_t)(next(&random) % i)
                                                    : count - i;
        const tw_record kept = records[i - 1];

        if (how->order == REVERSED && other >= i - 1)
            break;
        records[i - 1] = records[other];
        records[other] = kept;
    }
}

/* Analyses the records; the window only where it is set. */
static tw_analysis *analyse(const workload *w, bool windowed, const way *how)
{
    const size_t recorder_count = how->recorders ? how->recorders : 1;
    tw_record *records = malloc((w->count + 1) * sizeof *records);
    tw_recorder *recorders[RECORDERS];
    tw_analysis *analysis = NULL;
    tw_options options;

    must(records != NULL, "no memory");
    memcpy(records, w->records, w->count * sizeof *records);
    reorder(records, w->count, how);
    for (size_t r = 0; r < recorder_count; r++) {
        const size_t from = w->count * r / recorder_count;
        const size_t to = w->count * (r + 1) / recorder_count;

        must(tw_recorder_new(&recorders[r], NULL) == TW_OK, "no recorder");
        if (how->split == IN_PIECES)
            must(tw_recorder_append(recorders[r], records + from, to - from,
                                    sizeof *records, 0, NULL) == TW_OK,
                 "records are refused");
        for (size_t i = r; i < w->count && how->split == DEALT; i += recorder_count)
            must(tw_recorder_append(recorders[r], &records[i], 1, sizeof *records, 0,
                                    NULL) == TW_OK,
                 "a record is refused");
    }
    tw_options_init(&options, sizeof options);
    if (windowed) {
        options.flags = (w->has_begin ? (uint32_t)TW_WINDOW_BEGIN : 0u) |
                        (w->has_end ? (uint32_t)TW_WINDOW_END : 0u);
        options.window_begin_ns = w->begin_ns;
        options.window_end_ns = w->end_ns;
    }
    options.kernel = how->kernel;
    options.threads = how->threads;
    options.executor = how->executor;
    options.quantiles = result_bits_quantiles;
    options.quantile_count = BITS_QUANTILES_ASKED;
    must(tw_analyze(&analysis, recorders, recorder_count, &options) == TW_OK,
         "no analysis");
    for (size_t r = 0; r < recorder_count; r++)
        tw_recorder_free(recorders[r]);
    free(records);
    return analysis;
}

static result_bits bits_of(tw_analysis *analysis)
{
    result_bits bits;

    result_bits_begin(&bits);
    must(result_bits_add(&bits, analysis), "no results");
    tw_analysis_free(analysis);
    return bits;
}

static bool have(int32_t kernel)
{
    tw_analysis *analysis;
    tw_options options;
    int32_t status;

    tw_options_init(&options, sizeof options);
    options.kernel = kernel;
    status = tw_analyze(&analysis, NULL, 0, &options);
    must(status == TW_OK || status == TW_ERR_NOTSUP,
         "a kernel can neither be had nor not");
    if (!status)
        tw_analysis_free(analysis);
    return !status;
}

/* ---- Comparing --------------------------------------------------------------------- */

enum { UNSEEN, CREDITS, CHUNKS, WIDE, IN_FLIGHT, FAILURES, KINDS };
static uint64_t seen[KINDS], comparisons;

static void expect_same(const result_bits *got, const result_bits *wanted,
                        const char *what)
{
    comparisons++;
    if (result_bits_same(got, wanted))
        return;
    result_bits_print(wanted);
    putchar('\n');
    result_bits_print(got);
    putchar('\n');
    fflush(stdout);
    fail(what);
}

static void note_kinds(const workload *w, const tw_analysis *analysis)
{
    for (size_t i = 0; i < w->count; i++) {
        const tw_record *r = &w->records[i];

        seen[CREDITS] += r->credit_issued_ns != TW_TIME_NONE;
        seen[CHUNKS] += r->chunk_count != 0;
        seen[IN_FLIGHT] += r->end_ns == TW_TIME_NONE;
        seen[FAILURES] += r->status == TW_RECORD_FAILED;
    }
    seen[WIDE] += analysis->core->timeline.wide;
}

/* A window by way of another one of the same run. */
static void compare_windows(const workload *w, const way *how, const result_bits *wanted)
{
    tw_analysis *whole = analyse(w, false, how), *window = NULL;
    int64_t begin, end;

    must(tw_analysis_bounds(whole, &begin, &end) == TW_OK, "no bounds");
    begin = w->has_begin ? w->begin_ns : begin;
    end = w->has_end ? w->end_ns : end;
    must(tw_analysis_window(&window, whole, begin, end) == TW_OK, "no window");
    tw_analysis_free(whole);
    {
        const result_bits got = bits_of(window);
        expect_same(&got, wanted, how->name);
    }
}

static void compare(const workload *w, const char *name)
{
    static bool is_known, has[TW_KERNEL_NEON + 1];
    tw_analysis *analysis;
    result_bits wanted;

    for (int32_t k = 0; k <= TW_KERNEL_NEON && !is_known; k++)
        has[k] = have(k);
    is_known = true;
    context = name;
    analysis = analyse(w, true, &plain);
    note_kinds(w, analysis);
    wanted = bits_of(analysis);
    for (size_t i = 0; i < WAYS; i++) {
        result_bits got;

        if (!has[ways[i].kernel])
            continue;
        got = bits_of(analyse(w, true, &ways[i]));
        expect_same(&got, &wanted, ways[i].name);
    }
    compare_windows(w, &plain, &wanted);
    compare_windows(w, &ways[WAYS - 1], &wanted);
    printf("%s: ", name);
    result_bits_print(&wanted);
    putchar('\n');
}

/* ---- Large runs -------------------------------------------------------------------- */

typedef struct style {
    const char *name;
    bool credits, chunks, ties, wide;
    int windowed; /* per cent at either side that are outside of it */
    int of_five;  /* so many fifths of the records */
} style;

static const style styles[] = {
    {"closed loop", false, false, false, false, 0, 5},
    {"credits, a window", true, false, false, false, 30, 5},
    {"chunks", true, true, false, false, 0, 5},
    {"chunks, ties, a window", false, true, true, false, 10, 5},
    {"wide", true, true, false, true, 0, 2},
};

enum { USERS = 64, CHUNKS_MOST = 12 };

/* Arrivals from first on; some tens of thousands of gaps, and now and then a long one. */
static void add_chunks(uint64_t *random, tw_record *r, int64_t step, uint64_t number)
{
    const uint64_t count = next(random) % (CHUNKS_MOST + 1);
    int64_t *arrival = malloc(2 * CHUNKS_MOST * sizeof *arrival);
    int64_t *tokens = arrival + CHUNKS_MOST, at = r->generation_start_ns, sum = 1;

    must(arrival != NULL, "no memory");
    for (uint64_t k = 0; k < count; k++) {
        at += below(random, 8) ? 250000 + step * below(random, 1 + 2000000 / step) : 0;
        if (number % 997 == 0 && k == 1)
            at += INT64_C(5000000000); /* does not fit 32 bits */
        arrival[k] = at;
        tokens[k] = below(random, 5);
        sum += tokens[k];
    }
    r->chunk_arrival_ns = arrival;
    r->chunk_tokens = number % 2 ? tokens : NULL;
    r->chunk_count = count;
    r->output_tokens = sum + (number % 7 == 0);
    if (r->end_ns != TW_TIME_NONE)
        r->end_ns = at + step * below(random, 2);
}

static void make_run(workload *w, const style *s, size_t count)
{
    const int64_t step = s->ties ? 250000 : 1;
    int64_t free_at[USERS] = {0}, end = 0;
    uint64_t random = count;

    memset(w, 0, sizeof *w);
    w->records = malloc(count * sizeof *w->records);
    must(w->records != NULL, "no memory");
    w->count = count;
    for (size_t i = 0; i < count; i++) {
        tw_record *r = &w->records[i];
        int64_t *at = &free_at[i % USERS];

        tw_record_init(r, sizeof *r);
        *at += step * below(&random, 1 + 1000000 / step);
        if (s->credits && i % 9)
            r->credit_issued_ns = *at - below(&random, 3000000) + 100000;
        r->start_ns = *at;
        if (i % 17)
            r->generation_start_ns = *at +=
                i % 19 ? 250000 + step * below(&random, 1 + 5000000 / step) : 0;
        r->end_ns = *at += i % 21 ? 250000 + step * below(&random, 1 + 20000000 / step)
                                  : 0;
        r->input_tokens = i % 23 ? below(&random, 5000) : TW_TOKENS_NONE;
        r->output_tokens = i % 29 ? below(&random, 500) : TW_TOKENS_NONE;
        r->status = i % 31 ? TW_RECORD_OK : TW_RECORD_FAILED;
        r->status = i % 37 ? r->status : TW_RECORD_CANCELLED;
        r->flags = i % 3 ? TW_RECORD_STREAMING : 0;
        if (i % 1013 == 7) {
            r->end_ns = TW_TIME_NONE;
            r->status = TW_RECORD_OK;
        }
        if (s->wide && i % 1009 == 3) { /* 2^39 tokens in a millisecond */
            r->generation_start_ns = r->start_ns + 1000000;
            r->input_tokens = INT64_C(1) << 39;
            if (r->end_ns != TW_TIME_NONE && r->end_ns < r->generation_start_ns)
                r->end_ns = r->generation_start_ns;
        }
        if (s->chunks && i % 5 < (s->wide ? 1 : 4) &&
            r->generation_start_ns != TW_TIME_NONE)
            add_chunks(&random, r, step, i);
        end = r->end_ns > end ? r->end_ns : end;
    }
    if (s->windowed) {
        w->has_begin = w->has_end = 1;
        w->begin_ns = end / 100 * s->windowed;
        w->end_ns = end - w->begin_ns + 1;
    }
}

static void free_run(workload *w)
{
    for (size_t i = 0; i < w->count; i++)
        free((void *)(uintptr_t)w->records[i]
                 .chunk_arrival_ns); /* the tokens lie behind */
    free(w->records);
}

/* ---- ------------------------------------------------------------------------------- */

static uint64_t argument(int count, char **arguments, int place, uint64_t normal)
{
    return place < count ? strtoull(arguments[place], NULL, 10) : normal;
}

int main(int argc, char **argv)
{
    const uint64_t seeds = argument(argc, argv, 1, 150);
    const uint64_t records = argument(argc, argv, 2, 81000); /* for 5 threads */
    char name[32];
    workload w;

    for (uint64_t seed = 1; seed <= seeds; seed++) {
        snprintf(name, sizeof name, "seed %" PRIu64, seed);
        must(workload_new(&w, seed, seed % 10 ? 40 : 1500) == 0, "no memory");
        compare(&w, name);
        workload_free(&w);
    }
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
        make_run(&w, &styles[i], (size_t)records / 5 * (size_t)styles[i].of_five);
        seen[WIDE] = 0;
        compare(&w, styles[i].name);
        must((seen[WIDE] != 0) == styles[i].wide, "the lanes hold it, or do not");
        free_run(&w);
    }
    context = "large runs";
    for (int kind = UNSEEN + 1; kind < KINDS; kind++)
        must(seen[kind] > 0, "something that is to be compared does not occur");
    must(most_tasks >= (records < 81000 ? 2 : 5), "nothing was divided");
    fprintf(stderr, "%" PRIu64 " comparisons\n", comparisons);
    return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
