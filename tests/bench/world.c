/* SPDX-License-Identifier: MIT */
#include "world.h"
#include "append.h"
#include "floors.h"
#include "harness.h"
#include "ours.h"
#include "peer_radix.h"
#include "process.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>

/* A small run is too short for the clock. */
#define SMALL 100
#define SMALL_RUNS 10

struct world {
    const settings *settings;
    size_t count, gaps;
    enum traffic_load load;
    traffic *by_end;
    tw_recorder *ours, *by_start, *shuffled, *credits, *small;
    tw_analysis *analysis;
    peer_radix_input *radix;
    python_peer *numpy, *aiperf;
    bare_keys *keys;
    bare_bytes *bytes;
    append *append;
    tool *tool;
};

world *world_new(const settings *s, size_t count, enum traffic_load load, size_t gaps)
{
    world *w = bench_alloc(1, sizeof *w);
    *w = (world){.settings = s, .count = count, .gaps = gaps, .load = load};
    return w;
}

void world_free(world *w)
{
    traffic_free(w->by_end);
    tw_analysis_free(w->analysis);
    tw_recorder_free(w->ours);
    tw_recorder_free(w->by_start);
    tw_recorder_free(w->shuffled);
    tw_recorder_free(w->credits);
    tw_recorder_free(w->small);
    peer_radix_input_free(w->radix);
    python_peer_free(w->numpy);
    python_peer_free(w->aiperf);
    bare_keys_free(w->keys);
    bare_bytes_free(w->bytes);
    append_free(w->append);
    tool_free(w->tool);
    free(w);
}

const char *world_name(enum contender c)
{
    static char name[48];
    static const char *const names[OURS_KERNEL] = {
        [OURS] = "ours 1T",
        [OURS_2T] = "ours 2T",
        [OURS_BY_START] = "ours 1T, start order",
        [OURS_SHUFFLED] = "ours 1T, shuffled",
        [OURS_CREDITS] = "ours 1T, credits",
        [OURS_WINDOW] = "ours 1T, window",
        [OURS_SMALL] = "ours 1T, a hundredth of the records",
        [RADIX] = "radix per curve 1T",
        [RADIX_2T] = "radix per curve 2T",
        [RADIX_DECODE] = "radix 1T, decode curve alone",
        [NUMPY] = "numpy",
        [AIPERF] = "AIPerf's module",
        [SORT] = "radix sort of bare keys",
        [BYTES] = "bytes once",
        [APPEND_FRESH] = "append, new memory",
        [ARRAY_FRESH] = "store into a new array",
        [APPEND_WARM] = "append, used memory",
        [ARRAY_WARM] = "store into a used array",
        [APPEND_BATCHES] = "append by 256, used memory",
        [REPORT_CHUNKS] = "timeweight report, chunks",
        [PARSE_CHUNKS] = "simdjson alone, chunks",
        [REPORT_PLAIN] = "timeweight report",
        [PARSE_PLAIN] = "simdjson alone",
    };
    if (c < OURS_KERNEL)
        return names[c];
    snprintf(name, sizeof name, "ours 1T, kernel %s",
             ours_kernel_name((int32_t)(c - OURS_KERNEL)));
    return name;
}

/* ---- what contenders need -------------------------------------------------------- */

static void need_ours(world *w)
{
    if (w->ours)
        return;
    w->by_end = traffic_new(w->count, w->load, TRAFFIC_BY_END, false, w->gaps);
    w->ours = ours_recorder(w->by_end);
}

static void need_recorder(const world *w, tw_recorder **recorder, size_t count,
                          enum traffic_order order, bool credits)
{
    traffic *t;
    if (*recorder)
        return;
    t = traffic_new(count, w->load, order, credits, w->gaps);
    *recorder = ours_recorder(t);
    traffic_free(t);
}

static void need_analysis(world *w)
{
    need_ours(w);
    if (!w->analysis)
        ours_check(tw_analyze(&w->analysis, &w->ours, 1, NULL), "tw_analyze");
}

static void check_peer(world *w, const curve_stats *results, size_t metrics,
                       enum curve_metric first, enum contender c)
{
    size_t events = 4 * w->count * (w->gaps > 0 ? w->gaps : 1);
    if (!ours_agree(w->ours, results, metrics, first, events, world_name(c)))
        bench_fail(world_name(c), "its results are not ours: it is no peer");
}

static void need_radix(world *w, enum contender c)
{
    curve_stats results[CURVE_METRICS];
    if (!w->radix)
        w->radix = peer_radix_input_new(w->by_end);
    if (c == RADIX_DECODE) {
        peer_radix_run_decode(w->radix, results);
        check_peer(w, results, 1, CURVE_DECODE_THROUGHPUT, c);
    } else {
        peer_radix_run(w->radix, c == RADIX_2T ? 2 : 1, results);
        check_peer(w, results, CURVE_METRICS, CURVE_CONCURRENCY, c);
    }
}

static python_peer *start_python(const world *w, const char *python, const char *script)
{
    char path[4096], columns[4096];
    python_peer *peer;
    if (!python)
        return NULL;
    snprintf(path, sizeof path, "%s/%s", w->settings->scripts, script);
    snprintf(columns, sizeof columns, "%s/columns", w->settings->scratch);
    traffic_write(w->by_end, columns);
    peer = python_peer_new(python, path, columns);
    remove(columns);
    return peer;
}

static const char *need_python(world *w, enum contender c)
{
    python_peer **peer = c == NUMPY ? &w->numpy : &w->aiperf;
    curve_stats results[CURVE_METRICS];
    *peer = c == NUMPY ? start_python(w, w->settings->numpy_python, "peer_numpy.py")
                       : start_python(w, w->settings->aiperf_python, "peer_aiperf.py");
    if (!*peer)
        return c == NUMPY ? "no Python that has numpy"
                          : "TIMEWEIGHT_BENCH_AIPERF names no Python that has AIPerf";
    python_peer_run(*peer);
    python_peer_results(*peer, results);
    check_peer(w, results, CURVE_METRICS, CURVE_CONCURRENCY, c);
    return NULL;
}

static void need_keys(world *w)
{
    w->keys = bare_keys_new(w->by_end);
    bare_keys_sort(w->keys);
    for (size_t i = 1; i < w->keys->count; i++)
        if (w->keys->sorted[i - 1] > w->keys->sorted[i])
            bench_fail(world_name(SORT), "does not sort");
}

static const char *need_tool(world *w, bool chunks)
{
    if (!w->settings->timeweight || !w->settings->simulate || !w->settings->parse)
        return "the tool and the examples are not built";
    if (!w->tool)
        w->tool = tool_new(w->settings, w->count, chunks);
    return NULL;
}

/* Of what needs the records in the usual order. */
static const char *prepare_on_ours(world *w, enum contender c)
{
    need_ours(w);
    switch (c) {
    case OURS_WINDOW:
        need_analysis(w);
        break;
    case RADIX:
    case RADIX_2T:
    case RADIX_DECODE:
        need_radix(w, c);
        break;
    case NUMPY:
    case AIPERF:
        return need_python(w, c);
    case SORT:
        need_keys(w);
        break;
    case BYTES:
        w->bytes = bare_bytes_new(w->count);
        break;
    default:
        if (c >= OURS_KERNEL && !ours_has_kernel((int32_t)(c - OURS_KERNEL)))
            return "this machine or this version lacks it";
        break;
    }
    return NULL;
}

const char *world_prepare(world *w, enum contender c)
{
    switch (c) {
    case OURS_BY_START:
        need_recorder(w, &w->by_start, w->count, TRAFFIC_BY_START, false);
        return NULL;
    case OURS_SHUFFLED:
        need_recorder(w, &w->shuffled, w->count, TRAFFIC_SHUFFLED, false);
        return NULL;
    case OURS_CREDITS:
        need_recorder(w, &w->credits, w->count, TRAFFIC_BY_END, true);
        return NULL;
    case OURS_SMALL:
        need_recorder(w, &w->small, w->count / SMALL, TRAFFIC_BY_END, false);
        return NULL;
    case APPEND_FRESH:
    case ARRAY_FRESH:
    case APPEND_WARM:
    case ARRAY_WARM:
    case APPEND_BATCHES:
        if (!w->append)
            w->append = append_new(w->count);
        return NULL;
    case REPORT_CHUNKS:
    case PARSE_CHUNKS:
        return need_tool(w, true);
    case REPORT_PLAIN:
    case PARSE_PLAIN:
        return need_tool(w, false);
    default:
        return prepare_on_ours(w, c);
    }
}

/* ---- runs ------------------------------------------------------------------------ */

static double run_window(world *w)
{
    curve_stats results[CURVE_METRICS];
    tw_analysis *window;
    int64_t begin, end, quarter;
    double before = bench_now();
    ours_check(tw_analysis_bounds(w->analysis, &begin, &end), "tw_analysis_bounds");
    quarter = (end - begin) / 4;
    ours_check(tw_analysis_window(&window, w->analysis, begin + quarter, end - quarter),
               "tw_analysis_window");
    ours_read(window, results);
    tw_analysis_free(window);
    return bench_now() - before;
}

static double run_ours(tw_recorder *recorder, int32_t kernel, uint32_t threads)
{
    curve_stats results[CURVE_METRICS];
    double before = bench_now();
    ours_run(recorder, kernel, threads, results);
    return bench_now() - before;
}

static double run_small(world *w)
{
    double sum = 0;
    for (int i = 0; i < SMALL_RUNS; i++)
        sum += run_ours(w->small, TW_KERNEL_AUTO, 1);
    return sum / SMALL_RUNS;
}

static double run_radix(world *w, enum contender c)
{
    curve_stats results[CURVE_METRICS];
    double before = bench_now();
    if (c == RADIX_DECODE)
        peer_radix_run_decode(w->radix, results);
    else
        peer_radix_run(w->radix, c == RADIX_2T ? 2 : 1, results);
    return bench_now() - before;
}

static double run_sort(world *w)
{
    double before = bench_now();
    bare_keys_sort(w->keys);
    return bench_now() - before;
}

static double run_bytes(world *w)
{
    volatile uint64_t sink;
    double before = bench_now();
    sink = bare_bytes_move(w->bytes);
    (void)sink;
    return bench_now() - before;
}

double world_run(world *w, enum contender c)
{
    switch (c) {
    case OURS:
        return run_ours(w->ours, TW_KERNEL_AUTO, 1);
    case OURS_2T:
        return run_ours(w->ours, TW_KERNEL_AUTO, 2);
    case OURS_BY_START:
        return run_ours(w->by_start, TW_KERNEL_AUTO, 1);
    case OURS_SHUFFLED:
        return run_ours(w->shuffled, TW_KERNEL_AUTO, 1);
    case OURS_CREDITS:
        return run_ours(w->credits, TW_KERNEL_AUTO, 1);
    case OURS_WINDOW:
        return run_window(w);
    case OURS_SMALL:
        return run_small(w);
    case RADIX:
    case RADIX_2T:
    case RADIX_DECODE:
        return run_radix(w, c);
    case NUMPY:
        return python_peer_run(w->numpy);
    case AIPERF:
        return python_peer_run(w->aiperf);
    case SORT:
        return run_sort(w);
    case BYTES:
        return run_bytes(w);
    case APPEND_FRESH:
        return append_run_fresh(w->append);
    case ARRAY_FRESH:
        return append_run_fresh_array(w->append);
    case APPEND_WARM:
        return append_run_warm(w->append);
    case ARRAY_WARM:
        return append_run_warm_array(w->append);
    case APPEND_BATCHES:
        return append_run_batches(w->append);
    case REPORT_CHUNKS:
    case REPORT_PLAIN:
        return tool_run_report(w->tool);
    case PARSE_CHUNKS:
    case PARSE_PLAIN:
        return tool_run_parse(w->tool);
    default:
        return run_ours(w->ours, (int32_t)(c - OURS_KERNEL), 1);
    }
}

/* ---- memory ---------------------------------------------------------------------- */

static ours_memory measure(world *w)
{
    need_ours(w);
    return ours_measure(w->ours);
}

double world_peak_per_record(world *w)
{
    return (double)measure(w).peak / (double)w->count;
}

double world_kept_per_record(world *w)
{
    return (double)measure(w).kept / (double)w->count;
}

/* The same records without their chunks. */
static ours_memory measure_without_chunks(const world *w)
{
    traffic plain = *w->by_end;
    tw_recorder *recorder;
    ours_memory memory;
    plain.gaps = 0;
    recorder = ours_recorder(&plain);
    memory = ours_measure(recorder);
    tw_recorder_free(recorder);
    return memory;
}

static double per_boundary(const world *w, uint64_t with, uint64_t without)
{
    return ((double)with - (double)without) / (double)(w->count * w->gaps);
}

double world_peak_per_boundary(world *w)
{
    ours_memory with = measure(w), without = measure_without_chunks(w);
    return per_boundary(w, with.peak, without.peak);
}

double world_kept_per_boundary(world *w)
{
    ours_memory with = measure(w), without = measure_without_chunks(w);
    return per_boundary(w, with.kept, without.kept);
}

double world_store_per_record(world *w)
{
    need_ours(w);
    return (double)tw_recorder_memory(w->ours) / (double)w->count;
}

const char *world_version(const world *w, enum contender c)
{
    const python_peer *peer = c == NUMPY ? w->numpy : c == AIPERF ? w->aiperf : NULL;
    return peer ? python_peer_version(peer) : NULL;
}
