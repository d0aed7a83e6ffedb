/* SPDX-License-Identifier: MIT */
#include "append.h"
#include "floors.h"
#include "harness.h"
#include "ours.h"

#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* Few enough records to stay in a cache. */
#define SOURCE 1024
#define BATCH 256

struct append {
    size_t count;
    tw_record source[SOURCE];
    tw_recorder *recorder; /* used before */
    bare_record *array;    /* likewise */
};

append *append_new(size_t count)
{
    append *a = bench_alloc(1, sizeof *a);
    traffic *t = traffic_new(SOURCE, TRAFFIC_CLOSED, TRAFFIC_BY_END, true, 0);
    a->count = count;
    for (size_t i = 0; i < SOURCE; i++)
        a->source[i] = ours_record(t, i);
    traffic_free(t);
    ours_check(tw_recorder_new(&a->recorder, NULL), "tw_recorder_new");
    ours_check(tw_recorder_reserve(a->recorder, count), "tw_recorder_reserve");
    a->array = bench_alloc(count, sizeof *a->array);
    memset(a->array, 1, count * sizeof *a->array);
    return a;
}

void append_free(append *a)
{
    if (!a)
        return;
    tw_recorder_free(a->recorder);
    free(a->array);
    free(a);
}

static tw_record make(const append *a, size_t i)
{
    tw_record record = a->source[i % SOURCE];
    int64_t later = (int64_t)i;
    record.credit_issued_ns += later;
    record.start_ns += later;
    record.generation_start_ns += later;
    record.end_ns += later;
    return record;
}

/* Memory that was freed goes back to the system. */
static void forget_memory(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void append_all(const append *a, tw_recorder *recorder)
{
    for (size_t i = 0; i < a->count; i++) {
        tw_record record = make(a, i);
        ours_check(tw_recorder_append(recorder, &record, 1, sizeof record, 0, NULL),
                   "tw_recorder_append");
    }
}

double append_run_fresh(append *a)
{
    tw_recorder *recorder;
    double before, took;
    forget_memory();
    before = bench_now();
    ours_check(tw_recorder_new(&recorder, NULL), "tw_recorder_new");
    append_all(a, recorder);
    took = bench_now() - before;
    tw_recorder_free(recorder);
    return took;
}

double append_run_fresh_array(append *a)
{
    bare_record *array;
    double before, took;
    forget_memory();
    before = bench_now();
    array = bench_alloc(a->count, sizeof *array);
    bare_store(array, a->count, a->source, SOURCE);
    took = bench_now() - before;
    free(array);
    return took;
}

double append_run_warm(append *a)
{
    double before;
    tw_recorder_clear(a->recorder);
    before = bench_now();
    append_all(a, a->recorder);
    return bench_now() - before;
}

double append_run_warm_array(append *a)
{
    double before = bench_now();
    bare_store(a->array, a->count, a->source, SOURCE);
    return bench_now() - before;
}

double append_run_batches(append *a)
{
    tw_record batch[BATCH];
    double before;
    tw_recorder_clear(a->recorder);
    before = bench_now();
    for (size_t i = 0; i < a->count;) {
        size_t size = 0;
        while (size < BATCH && i < a->count)
            batch[size++] = make(a, i++);
        ours_check(tw_recorder_append(a->recorder, batch, size, sizeof *batch, 0, NULL),
                   "tw_recorder_append");
    }
    return bench_now() - before;
}
