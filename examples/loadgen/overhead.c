/* SPDX-License-Identifier: MIT */
#include "overhead.h"

#include <inttypes.h>
#include <time.h>

/* It warns if 1 % of the requests were later than the larger of these two, or if it had
 * hardly any time left. */
#define LATE_MS 1.0
#define LATE_SHARE 0.01
#define BUSY_SHARE 0.9

static int64_t cpu_ns(void)
{
    struct timespec used = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

bool overhead_begin(struct overhead *overhead, int64_t now_ns)
{
    *overhead = (struct overhead){.begin_ns = now_ns, .cpu_ns = -cpu_ns()};
    return tw_recorder_new(&overhead->recorder, NULL) == TW_OK;
}

bool overhead_started(struct overhead *overhead, int64_t ready_ns, int64_t start_ns)
{
    tw_record record;
    tw_record_init(&record, sizeof record);
    record.credit_issued_ns = ready_ns;
    record.start_ns = start_ns;
    record.end_ns = start_ns;
    return tw_recorder_append(overhead->recorder, &record, 1, sizeof record, 0, NULL) ==
           TW_OK;
}

void overhead_turn(struct overhead *overhead, int64_t turn_ns, int64_t waited_ns)
{
    overhead->waited_ns += waited_ns;
    if (turn_ns - waited_ns > overhead->longest_turn_ns)
        overhead->longest_turn_ns = turn_ns - waited_ns;
}

void overhead_end(struct overhead *overhead, int64_t now_ns)
{
    overhead->end_ns = now_ns;
    overhead->cpu_ns += cpu_ns();
}

static bool find_lateness(const struct overhead *overhead, double *p50_p99_max)
{
    static const double quantiles[] = {0.5, 0.99, 1};
    tw_analysis *analysis;
    if (tw_analyze(&analysis, &overhead->recorder, 1, NULL) != TW_OK)
        return false;
    int32_t status = tw_analysis_quantiles(analysis, TW_CREDIT_TO_START_LATENCY,
                                           quantiles, p50_p99_max, 3);
    tw_analysis_free(analysis);
    return status == TW_OK;
}

void overhead_print(const struct overhead *overhead, double latency_ms, FILE *file)
{
    double late[3];
    double run_ns = (double)(overhead->end_ns - overhead->begin_ns);
    double busy = run_ns > 0 ? 1 - (double)overhead->waited_ns / run_ns : 0;
    double cpu = run_ns > 0 ? (double)overhead->cpu_ns / run_ns : 0;
    double limit_ms = LATE_SHARE * latency_ms > LATE_MS ? LATE_SHARE * latency_ms
                                                        : LATE_MS;
    if (!find_lateness(overhead, late))
        return; /* nothing was started */
    fprintf(file,
            "Generator: started requests late by p50 %.3f ms, p99 %.3f ms, max %.3f ms; "
            "busy %.1f %% (CPU %.1f %%), longest turn %.3f ms\n",
            late[0], late[1], late[2], 100 * busy, 100 * cpu,
            (double)overhead->longest_turn_ns / 1e6);
    if (late[1] > limit_ms || busy > BUSY_SHARE)
        fprintf(file,
                "Warning:   the generator (or its machine) was a bottleneck: %s. The "
                "latencies above are partly its own.\n",
                busy > BUSY_SHARE ? "it had hardly any time left"
                                  : "it started requests late");
}

void overhead_clear(struct overhead *overhead)
{
    tw_recorder_free(overhead->recorder);
    overhead->recorder = NULL;
}
