/* SPDX-License-Identifier: MIT */
/* A load generator's threads in miniature: eight workers, one recorder each, and a monitor
 * that analyses the last seconds every half second while the workers append. Requests that
 * are still open reach the monitor's analysis through a second recorder.
 *
 *     threads [SECONDS]
 *
 * Requests are simulated by sleeping. At the end: what an append costs with and without
 * snapshots, and a report that is the same as that of one recorder with all records. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <timeweight/timeweight.h>

enum { WORKERS = 8, APPENDS_MOST = 1 << 16 };

#define MS INT64_C(1000000)
#define SNAPSHOT_EVERY (500 * MS)
#define LOOK_BACK (2000 * MS)

typedef struct worker {
    pthread_t thread;
    tw_recorder *recorder; /* only this worker appends to it */
    pthread_mutex_t lock;  /* guards the two below, and appending together with them */
    bool is_open;
    tw_record open; /* the request in flight */

    uint64_t random;
    int64_t until_ns;
    size_t appends;
    int64_t append_ns[APPENDS_MOST]; /* what each append took */
} worker;

static worker workers[WORKERS];

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void sleep_ns(int64_t ns)
{
    const struct timespec t = {(time_t)(ns / (1000 * MS)), (long)(ns % (1000 * MS))};
    nanosleep(&t, NULL);
}

static void check(int32_t status, const char *what)
{
    if (status) {
        fprintf(stderr, "threads: %s: %s\n", what, tw_strerror(status));
        exit(EXIT_FAILURE);
    }
}

/* ---- Workers ----------------------------------------------------------------------- */

static int64_t random_below(worker *w, int64_t limit)
{
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((w->random >> 33) % (uint64_t)limit);
}

static void set_open(worker *w, const tw_record *record, bool is_open)
{
    pthread_mutex_lock(&w->lock);
    w->open = *record;
    w->is_open = is_open;
    pthread_mutex_unlock(&w->lock);
}

/* The request is no longer open at the moment at which it is stored: no one sees it twice
 * or not at all. */
static void finish(worker *w, const tw_record *record)
{
    const int64_t begin = now_ns(); /* the wait for the lock counts */

    pthread_mutex_lock(&w->lock);
    check(tw_recorder_append(w->recorder, record, 1, sizeof *record, 0, NULL), "append");
    if (w->appends < APPENDS_MOST)
        w->append_ns[w->appends++] = now_ns() - begin;
    w->is_open = false;
    pthread_mutex_unlock(&w->lock);
}

static void *work(void *argument)
{
    worker *w = argument;
    int64_t due_ns = now_ns();

    while (due_ns < w->until_ns) {
        tw_record record;

        tw_record_init(&record, sizeof record);
        record.credit_issued_ns = due_ns;
        record.start_ns = now_ns();
        record.input_tokens = 100 + random_below(w, 100);
        record.flags = TW_RECORD_STREAMING;
        set_open(w, &record, true);
        sleep_ns(1 * MS + random_below(w, 2 * MS));
        record.generation_start_ns = now_ns();
        set_open(w, &record, true);
        sleep_ns(4 * MS + random_below(w, 8 * MS));
        record.end_ns = now_ns();
        record.output_tokens = 10 + random_below(w, 40);
        finish(w, &record);
        due_ns += 12 * MS; /* behind schedule, the next request is due already */
    }
    return NULL;
}

static void run_workers(int64_t seconds)
{
    const int64_t until_ns = now_ns() + seconds * 1000 * MS;

    for (int i = 0; i < WORKERS; i++) {
        workers[i].until_ns = until_ns;
        workers[i].appends = 0;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            check(TW_ERR_NOMEM, "pthread_create");
    }
}

static void join_workers(void)
{
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
}

/* ---- The monitor ------------------------------------------------------------------- */

/* Copies the open requests. Returns how many requests had ended by then. */
static uint64_t collect_open(tw_recorder *open)
{
    uint64_t ended = 0;

    for (int i = 0; i < WORKERS; i++)
        pthread_mutex_lock(&workers[i].lock);
    for (int i = 0; i < WORKERS; i++) {
        ended += tw_recorder_count(workers[i].recorder);
        if (workers[i].is_open)
            check(
                tw_recorder_append(open, &workers[i].open, 1, sizeof(tw_record), 0, NULL),
                "append");
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_mutex_unlock(&workers[i].lock);
    return ended;
}

/* An analysis of the last seconds, open requests included. */
static tw_analysis *snapshot(tw_recorder *open)
{
    for (;;) {
        tw_recorder *recorders[WORKERS + 1] = {open};
        tw_balance balance = {.struct_size = sizeof balance};
        tw_analysis *analysis;
        tw_options options;
        uint64_t ended;

        tw_recorder_clear(open);
        ended = collect_open(open);
        tw_options_init(&options, sizeof options);
        options.flags = TW_WINDOW_BEGIN | TW_WINDOW_END;
        options.window_end_ns = now_ns();
        options.window_begin_ns = options.window_end_ns - LOOK_BACK;
        for (int i = 0; i < WORKERS; i++)
            recorders[i + 1] = workers[i].recorder;
        check(tw_analyze(&analysis, recorders, WORKERS + 1, &options), "analyze");

        /* A request that ended between the copy and the analysis would count twice. */
        check(tw_analysis_balance(analysis, &balance), "balance");
        if (balance.issued == ended + tw_recorder_count(open))
            return analysis;
        tw_analysis_free(analysis);
    }
}

static double average(const tw_analysis *analysis, int32_t metric)
{
    tw_summary summary = {.struct_size = sizeof summary};
    const int32_t status = tw_analysis_summary(analysis, metric, &summary);

    if (status != TW_ERR_NODATA)
        check(status, "summary");
    return summary.avg;
}

static void monitor(int64_t seconds, int64_t *longest_ns)
{
    const int64_t begin_ns = now_ns(), until_ns = begin_ns + seconds * 1000 * MS;
    tw_recorder *open;

    check(tw_recorder_new(&open, NULL), "recorder");
    for (int64_t next = begin_ns + SNAPSHOT_EVERY; next < until_ns;
         next += SNAPSHOT_EVERY) {
        tw_balance balance = {.struct_size = sizeof balance};
        tw_analysis *analysis;
        int64_t took;

        sleep_ns(next - now_ns() > 0 ? next - now_ns() : 0);
        took = now_ns();
        analysis = snapshot(open);
        took = now_ns() - took;
        if (took > *longest_ns)
            *longest_ns = took;
        check(tw_analysis_balance(analysis, &balance), "balance");
        printf(
            "%5.1f s  %6llu ended  %llu open  concurrency %5.2f  decode %8.1f tokens/sec "
            "(active %8.1f)  snapshot %6.2f ms\n",
            (double)(next - begin_ns) / 1e9,
            (unsigned long long)(balance.issued - balance.in_flight),
            (unsigned long long)balance.in_flight,
            average(analysis, TW_EFFECTIVE_CONCURRENCY),
            average(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT),
            average(analysis, TW_ACTIVE_DECODE_THROUGHPUT), (double)took / 1e6);
        tw_analysis_free(analysis);
    }
    tw_recorder_free(open);
}

/* ---- What it cost, and the final report -------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_append_cost(const char *when)
{
    static int64_t all[WORKERS * APPENDS_MOST];
    size_t count = 0;

    for (int i = 0; i < WORKERS; i++) {
        memcpy(all + count, workers[i].append_ns, workers[i].appends * sizeof all[0]);
        count += workers[i].appends;
    }
    qsort(all, count, sizeof all[0], by_value);
    if (count)
        printf("append %s snapshots: p50 %lld ns, p99.9 %lld ns, max %lld ns (%zu "
               "appends)\n",
               when, (long long)all[count / 2],
               (long long)all[(size_t)((double)count * 0.999)], (long long)all[count - 1],
               count);
}

typedef struct text {
    char *bytes;
    size_t length;
} text;

static int32_t keep(void *user_data, const char *bytes, size_t length)
{
    text *t = user_data;
    char *larger = realloc(t->bytes, t->length + length);

    if (!larger)
        return -1;
    memcpy(larger + t->length, bytes, length);
    t->bytes = larger;
    t->length += length;
    return 0;
}

static text report(tw_recorder *const *recorders, size_t count)
{
    tw_analysis *analysis;
    text t = {NULL, 0};

    check(tw_analyze(&analysis, recorders, count, NULL), "analyze");
    check(tw_report_write(analysis, TW_FORMAT_JSON, NULL, keep, &t), "report");
    tw_analysis_free(analysis);
    return t;
}

/* Reads everything back into one recorder and compares the two reports. (The workers record
 * no chunks; those would take tw_recorder_read_chunks().) */
static bool same_as_batch(void)
{
    tw_recorder *recorders[WORKERS], *batch;
    text live, all;
    bool same;

    check(tw_recorder_new(&batch, NULL), "recorder");
    for (int i = 0; i < WORKERS; i++) {
        tw_record page[256];
        uint64_t first = 0;
        size_t written;

        recorders[i] = workers[i].recorder;
        do {
            check(tw_recorder_read(recorders[i], first, page, 256, sizeof page[0],
                                   &written),
                  "read");
            check(tw_recorder_append(batch, page, written, sizeof page[0], 0, NULL),
                  "append");
            first += written;
        } while (written);
    }
    live = report(recorders, WORKERS);
    all = report(&batch, 1);
    same = live.length == all.length && memcmp(live.bytes, all.bytes, all.length) == 0;
    printf("report of %d recorders and of one with all records: %s\n", WORKERS,
           same ? "the same" : "DIFFERENT");
    free(live.bytes);
    free(all.bytes);
    tw_recorder_free(batch);
    return same;
}

int main(int argc, char **argv)
{
    const int64_t seconds = argc > 1 ? atoll(argv[1]) : 5;
    int64_t longest_ns = 0;
    bool same;

    for (int i = 0; i < WORKERS; i++) {
        workers[i].random = (uint64_t)i + 1;
        pthread_mutex_init(&workers[i].lock, NULL);
        check(tw_recorder_new(&workers[i].recorder, NULL), "recorder");
        check(tw_recorder_reserve(workers[i].recorder, 10000), "reserve");
    }
    run_workers(seconds);
    join_workers();
    print_append_cost("without");

    run_workers(seconds);
    monitor(seconds, &longest_ns);
    join_workers();
    print_append_cost("with");
    printf("longest snapshot: %.2f ms\n", (double)longest_ns / 1e6);

    same = same_as_batch();
    for (int i = 0; i < WORKERS; i++) {
        tw_recorder_free(workers[i].recorder);
        pthread_mutex_destroy(&workers[i].lock);
    }
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
