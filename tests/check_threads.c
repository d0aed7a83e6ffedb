/* SPDX-License-Identifier: MIT */
/* Analyses on other threads while the writer appends, and queries on many threads. Worth
 * most under ThreadSanitizer. TIMEWEIGHT_TEST_RECORDS says how many records are
 * appended. */

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vocabulary.h"

/* Assertions belong to the test's own thread, so others note what is wrong. */
#define EXPECT(worker, condition)                                          \
    do {                                                                   \
        if (!(condition) && !(worker)->wrong)                              \
            (worker)->wrong = "line " LINE_TEXT(__LINE__) ": " #condition; \
    } while (0)
#define LINE_TEXT(line) LINE_TEXT_OF(line)
#define LINE_TEXT_OF(line) #line

static void check_worker(const char *wrong)
{
    if (wrong)
        ck_abort_msg("%s", wrong);
}

/* ---- Records ----------------------------------------------------------------------- */

enum { CHUNKS = 4 };

static tw_record *records;
static int64_t (*pool)[2 * CHUNKS];
static uint64_t record_count;

/* A closed loop of some users; one in five records has chunks, some have failed, some are
 * still in flight. */
static void make_records(uint64_t count)
{
    uint64_t random = 1;

    record_count = count;
    records = malloc((size_t)record_count * sizeof *records);
    pool = malloc((size_t)record_count * sizeof *pool);
    assert_that(records && pool);
    for (uint64_t i = 0; i < record_count; i++) {
        const int64_t start = (int64_t)i * 1000 + random_between(&random, 0, 5000);
        const int64_t first = start + random_between(&random, 0, 20000);
        const int64_t end = first + random_between(&random, 0, 100000);

        records[i] = with_credit(record(start, first, end,
                                        random_between(&random, 0, 999),
                                        random_between(&random, 0, 99)),
                                 start - random_between(&random, 0, 3000));
        if (i % 5 == 0) {
            int64_t at = first;
            for (int k = 0; k < CHUNKS; k++) {
                at += random_between(&random, 0, (end - at) / 2);
                pool[i][k] = at;
                pool[i][CHUNKS + k] = random_between(&random, 0, 9);
            }
            records[i] = with_chunks(records[i], pool[i],
                                     i % 10 ? pool[i] + CHUNKS : NULL, CHUNKS);
        } else if (i % 11 == 0) {
            records[i].status = TW_RECORD_FAILED;
        } else if (i % 13 == 0) {
            records[i].status = TW_RECORD_CANCELLED;
        } else if (i % 1009 == 0) {
            records[i].end_ns = NEVER;
        }
    }
}

static void free_records(void)
{
    free(records);
    free(pool);
}

/* ---- Analyses while a writer appends ----------------------------------------------- */

enum { READERS = 3, KEPT = 4, SLOW_RECORDS = 5000, RECORDS_PER_ANALYSIS = 250 };

static tw_recorder *shared;
static atomic_uint_least64_t appended; /* by calls that have returned */
static atomic_uint_least64_t analyses;
static atomic_int writer_done;

typedef struct reader {
    pthread_t thread;
    const char *wrong;
    uint64_t number;
    uint64_t last_issued, last_refused;
    uint64_t rounds;
    size_t kept;
    results result[KEPT];
} reader;

static int adds_up(const tw_balance *b)
{
    uint64_t refused = 0;
    for (int rule = 0; rule < TW_RULE_LIMIT; rule++)
        refused += b->refused_by_rule[rule];
    return b->issued == b->ok + b->failed + b->cancelled + b->in_flight &&
           b->refused == refused && b->members <= b->issued &&
           b->overlapping <= b->issued && b->members <= b->overlapping;
}

static void read_some(reader *me, uint64_t at_least, uint64_t *random)
{
    tw_record page[3];
    int64_t arrivals[3 * CHUNKS], tokens[3 * CHUNKS];
    size_t written = 0, chunks = 0;
    const uint64_t first = at_least ? random_below(random, at_least) : 0;

    EXPECT(me, tw_recorder_read(shared, first, page, 3, sizeof *page, &written) == TW_OK);
    EXPECT(me, written > 0 || first == at_least);
    EXPECT(me, tw_recorder_read_chunks(shared, first, page, written, sizeof *page,
                                       arrivals, tokens, 3 * CHUNKS, &chunks) == TW_OK);
    for (size_t i = 0; i < written; i++) {
        const tw_record *wanted = &records[first + i];
        EXPECT(me, page[i].start_ns == wanted->start_ns);
        EXPECT(me, page[i].end_ns == wanted->end_ns);
        EXPECT(me, page[i].chunk_count == wanted->chunk_count);
        EXPECT(me, !page[i].chunk_tokens == !wanted->chunk_tokens);
        if (page[i].chunk_count)
            EXPECT(me, memcmp(page[i].chunk_arrival_ns, wanted->chunk_arrival_ns,
                              CHUNKS * sizeof(int64_t)) == 0);
        if (page[i].chunk_tokens)
            EXPECT(me, memcmp(page[i].chunk_tokens, wanted->chunk_tokens,
                              CHUNKS * sizeof(int64_t)) == 0);
    }
}

static void analyze_once(reader *me, int is_last)
{
    const uint64_t before = atomic_load_explicit(&appended, memory_order_acquire);
    tw_analysis *analysis = NULL;
    tw_balance balance = {.struct_size = sizeof balance};
    tw_summary summary = {.struct_size = sizeof summary};
    uint64_t after;

    EXPECT(me, tw_analyze(&analysis, &shared, 1, NULL) == TW_OK);
    if (!analysis)
        return;
    after = atomic_load_explicit(&appended, memory_order_acquire);
    EXPECT(me, tw_analysis_balance(analysis, &balance) == TW_OK);
    EXPECT(me, adds_up(&balance));
    EXPECT(me, balance.issued >= before);
    EXPECT(me, balance.issued <= after + 1); /* one may be in the making */
    EXPECT(me, balance.issued >= me->last_issued);
    EXPECT(me, balance.refused >= me->last_refused);
    me->last_issued = balance.issued;
    me->last_refused = balance.refused;
    if (balance.issued > 100) {
        EXPECT(me, tw_analysis_summary(analysis, TW_EFFECTIVE_CONCURRENCY, &summary) ==
                       TW_OK);
        EXPECT(me, summary.min <= summary.avg && summary.avg <= summary.max);
    }
    /* Keep some, and the last. */
    if (me->kept < KEPT - 1 ? is_last || me->rounds % 4 == me->number : is_last) {
        EXPECT(me, results_take_at_hand(&me->result[me->kept], analysis) == TW_OK);
        me->kept++;
    }
    me->rounds++;
    tw_analysis_free(analysis);
}

static void *run_reader(void *argument)
{
    reader *me = argument;
    uint64_t random = me->number;
    int last = 0;

    /* One stays until the writer is done, and then takes one more, of all records. */
    while (!last && !me->wrong) {
        const uint64_t before = atomic_load_explicit(&appended, memory_order_acquire);

        last = me->number ? before >= SLOW_RECORDS : atomic_load(&writer_done);
        read_some(me, before, &random);
        analyze_once(me, last);
        atomic_fetch_add(&analyses, 1);
    }
    if (me->wrong)
        atomic_fetch_add(&analyses, SLOW_RECORDS); /* nobody needs to wait any more */
    return NULL;
}

START_TEST(analyses_while_appending)
{
    static reader readers[READERS];
    static results wanted;
    const tw_record bad = record(1, NEVER, 0, 1, 1);
    uint64_t compared = 0;

    make_records(vocabulary_count("TIMEWEIGHT_TEST_RECORDS", 200000));
    shared = recorder_new();
    for (uint64_t i = 0; i < READERS; i++) {
        readers[i].number = i;
        assert_i64(pthread_create(&readers[i].thread, NULL, run_reader, &readers[i]), 0);
    }
    for (uint64_t i = 0; i < record_count; i++) {
        /* Let the readers see many short runs; then write as fast as can be. */
        while (i < SLOW_RECORDS && atomic_load(&analyses) < i / RECORDS_PER_ANALYSIS)
            sched_yield();
        assert_ok(tw_recorder_append(shared, &records[i], 1, sizeof *records, 0, NULL));
        atomic_store_explicit(&appended, i + 1, memory_order_release);
        if (i % 1000 == 0)
            assert_status(tw_recorder_append(shared, &bad, 1, sizeof bad, 0, NULL),
                          TW_ERR_RANGE);
    }
    atomic_store(&writer_done, 1);
    for (int i = 0; i < READERS; i++)
        assert_i64(pthread_join(readers[i].thread, NULL), 0);
    tw_recorder_free(shared);

    for (int i = 0; i < READERS; i++) {
        const reader *r = &readers[i];

        check_worker(r->wrong);
        assert_that(r->kept >= 1);
        if (i == 0) {
            assert_u64(r->last_issued, record_count);
            assert_u64(r->last_refused, (record_count + 999) / 1000);
        }
        /* What it saw is what a batch of the first n records gives. */
        for (size_t k = 0; k < r->kept; k++) {
            const results *got = &r->result[k];
            const uint64_t n = got->balance.issued;
            tw_analysis *batch;

            batch = analysis_of(records, (size_t)n, NULL);
            assert_ok(results_take_at_hand(&wanted, batch));
            tw_analysis_free(batch);
            assert_same_results(got, &wanted);
            assert_i64(got->begin_ns, wanted.begin_ns);
            assert_i64(got->end_ns, wanted.end_ns);
            wanted.balance.refused = got->balance.refused;
            memcpy(wanted.balance.refused_by_rule, got->balance.refused_by_rule,
                   sizeof wanted.balance.refused_by_rule);
            assert_same_balance(&got->balance, &wanted.balance);
            compared++;
        }
    }
    assert_that(compared > 0);
    free_records();
}
END_TEST

/* ---- Analyses that use threads themselves ------------------------------------------ */

/* Before the first analysis, so that it has work for four threads. */
enum { BEFORE = 70000, MEANWHILE = 8000, THREADED_ROUNDS = 3, THREADS = 4 };

typedef struct appender {
    pthread_t thread;
    const char *wrong;
} appender;

static void *run_appender(void *argument)
{
    appender *me = argument;

    for (uint64_t i = BEFORE; i < record_count; i++) {
        EXPECT(me, tw_recorder_append(shared, &records[i], 1, sizeof *records, 0, NULL) ==
                       TW_OK);
        if (i % 16 == 0)
            sched_yield();
    }
    return NULL;
}

/* Runs tasks on threads of the caller. */
typedef struct job {
    pthread_t thread;
    void (*task)(void *context, uint32_t index);
    void *context;
    uint32_t index;
} job;

static void *run_job(void *argument)
{
    const job *j = argument;

    j->task(j->context, j->index);
    return NULL;
}

static int32_t execute(void *count_of_calls, void (*task)(void *, uint32_t),
                       void *context, uint32_t count)
{
    job jobs[THREADS];
    uint32_t started = 0;

    ++*(uint32_t *)count_of_calls;
    for (; started < count && started < THREADS; started++) {
        jobs[started] = (job){.task = task, .context = context, .index = started};
        if (pthread_create(&jobs[started].thread, NULL, run_job, &jobs[started]))
            break;
    }
    for (uint32_t i = 0; i < started; i++)
        (void)pthread_join(jobs[i].thread, NULL);
    return started < count;
}

START_TEST(analyses_with_threads_while_appending)
{
    static results got, wanted;
    static appender writer;
    uint32_t calls = 0;

    make_records(BEFORE + MEANWHILE);
    shared = recorder_new();
    assert_ok(tw_recorder_append(shared, records, BEFORE, sizeof *records, 0, NULL));
    assert_i64(pthread_create(&writer.thread, NULL, run_appender, &writer), 0);
    for (int i = 0; i < THREADED_ROUNDS; i++) {
        tw_options options;
        tw_analysis *analysis;

        tw_options_init(&options, sizeof options);
        options.threads = THREADS;
        options.executor = i % 2 ? execute : NULL;
        options.executor_data = &calls;
        analysis = analysis_new(&shared, 1, &options);
        assert_ok(results_take_at_hand(&got, analysis));
        tw_analysis_free(analysis);
        assert_that(got.balance.issued >= BEFORE);
        analysis = analysis_of(records, (size_t)got.balance.issued, NULL);
        assert_ok(results_take_at_hand(&wanted, analysis));
        tw_analysis_free(analysis);
        assert_same_results(&got, &wanted);
        assert_same_balance(&got.balance, &wanted.balance);
    }
    assert_that(calls > 0); /* there was something to share */
    assert_i64(pthread_join(writer.thread, NULL), 0);
    check_worker(writer.wrong);
    tw_recorder_free(shared);
    free_records();
}
END_TEST

/* ---- Several writers, each with a recorder of its own ------------------------------ */

enum { WRITERS = 4, PER_WRITER = 1500 };

typedef struct writer {
    pthread_t thread;
    const char *wrong;
    tw_recorder *recorder;
    const tw_record *records;
} writer;

static void *run_writer(void *argument)
{
    writer *me = argument;

    for (int i = 0; i < PER_WRITER; i++)
        EXPECT(me, tw_recorder_append(me->recorder, &me->records[i], 1,
                                      sizeof *me->records, 0, NULL) == TW_OK);
    return NULL;
}

START_TEST(several_writers)
{
    static results got, wanted;
    writer writers[WRITERS];
    tw_recorder *recorders[WRITERS];
    tw_analysis *analysis;
    uint64_t last = 0;

    make_records(WRITERS * PER_WRITER);
    for (int i = 0; i < WRITERS; i++) {
        recorders[i] = recorder_new();
        writers[i] = (writer){.recorder = recorders[i],
                              .records = records + i * PER_WRITER};
        assert_i64(pthread_create(&writers[i].thread, NULL, run_writer, &writers[i]), 0);
    }
    for (int i = 0; i < 10; i++) {
        tw_balance balance;

        analysis = analysis_new(recorders, WRITERS, NULL);
        balance = analysis_balance(analysis);
        assert_that(adds_up(&balance));
        assert_that(balance.issued >= last);
        last = balance.issued;
        tw_analysis_free(analysis);
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_i64(pthread_join(writers[i].thread, NULL), 0);
        check_worker(writers[i].wrong);
    }
    analysis = analysis_new(recorders, WRITERS, NULL);
    assert_ok(results_take_at_hand(&got, analysis));
    tw_analysis_free(analysis);
    for (int i = 0; i < WRITERS; i++)
        tw_recorder_free(recorders[i]);
    analysis = analysis_of(records, WRITERS * PER_WRITER, NULL);
    assert_ok(results_take_at_hand(&wanted, analysis));
    tw_analysis_free(analysis);
    assert_same_results(&got, &wanted);
    assert_same_balance(&got.balance, &wanted.balance);
    free_records();
}
END_TEST

/* ---- Queries on many threads ------------------------------------------------------- */

enum { QUERIERS = 6, ROUNDS = 3, QUERIED = 2000 };

typedef struct querier {
    pthread_t thread;
    const char *wrong;
    const tw_analysis *analysis;
    const results *wanted;
    const char *report;
    results got;
} querier;

static void *run_querier(void *argument)
{
    querier *me = argument;

    for (int i = 0; i < ROUNDS; i++) {
        sink s = {0};

        EXPECT(me, results_take(&me->got, me->analysis) == TW_OK);
        EXPECT(me, memcmp(&me->got, me->wanted, sizeof me->got) == 0);
        EXPECT(me, tw_report_write(me->analysis, TW_FORMAT_JSON, NULL, sink_write, &s) ==
                       TW_OK);
        EXPECT(me, s.text && strcmp(s.text, me->report) == 0);
        sink_free(&s);
    }
    return NULL;
}

START_TEST(queries_on_many_threads)
{
    static querier queriers[QUERIERS];
    static results wanted;
    tw_analysis *analysis;
    sink report;

    make_records(QUERIED);
    analysis = analysis_of(records, QUERIED, NULL);
    assert_ok(results_take(&wanted, analysis));
    report = report_of(analysis, TW_FORMAT_JSON, NULL);
    for (int i = 0; i < QUERIERS; i++) {
        queriers[i].analysis = analysis;
        queriers[i].wanted = &wanted;
        queriers[i].report = report.text;
        assert_i64(pthread_create(&queriers[i].thread, NULL, run_querier, &queriers[i]),
                   0);
    }
    for (int i = 0; i < QUERIERS; i++)
        assert_i64(pthread_join(queriers[i].thread, NULL), 0);
    for (int i = 0; i < QUERIERS; i++)
        check_worker(queriers[i].wrong);
    sink_free(&report);
    tw_analysis_free(analysis);
    free_records();
}
END_TEST

/* ---- Streams: what one thread reads, others release -------------------------------- */

enum { COLUMNS = 3, SEGMENTS_MOST = 8192 };

/* A column of a curve that was moved out of its array. */
typedef struct holder {
    pthread_t thread;
    const char *wrong;
    struct ArrowArray column;
    const tw_segment *wanted;
    int which;
} holder;

static void *run_holder(void *argument)
{
    holder *me = argument;

    for (int64_t i = 0; i < me->column.length; i++) {
        const tw_segment *s = &me->wanted[i];
        const void *cell = (const char *)me->column.buffers[1] + i * 8;
        const void *wanted = me->which == 0   ? (const void *)&s->begin_ns
                             : me->which == 1 ? (const void *)&s->end_ns
                                              : (const void *)&s->value;
        EXPECT(me, memcmp(cell, wanted, 8) == 0);
    }
    me->column.release(&me->column);
    EXPECT(me, !me->column.release);
    return NULL;
}

/* Reads a curve of its own, and has each column checked and released by another thread. */
static void *run_reader_of_stream(void *argument)
{
    querier *me = argument;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    tw_segment *segments = malloc(SEGMENTS_MOST * sizeof *segments);
    holder holders[COLUMNS];
    size_t count;
    int64_t from = INT64_MIN;

    EXPECT(me, segments);
    EXPECT(me, tw_arrow_curve(&stream, me->analysis, TW_TOKENS_IN_FLIGHT) == TW_OK);
    while (segments && !me->wrong) {
        EXPECT(me, stream.get_next(&stream, &array) == 0);
        if (!array.release)
            break;
        EXPECT(me, tw_analysis_curve(me->analysis, TW_TOKENS_IN_FLIGHT, from, segments,
                                     SEGMENTS_MOST, sizeof *segments, &count,
                                     &from) == TW_OK);
        EXPECT(me, (size_t)array.length == count);
        for (int c = 0; c < COLUMNS; c++) {
            holders[c] = (holder){
                .column = *array.children[c], .wanted = segments, .which = c};
            array.children[c]->release = NULL;
            EXPECT(me, pthread_create(&holders[c].thread, NULL, run_holder,
                                      &holders[c]) == 0);
        }
        array.release(&array);
        for (int c = 0; c < COLUMNS; c++) {
            pthread_join(holders[c].thread, NULL);
            EXPECT(me, !holders[c].wrong);
        }
    }
    stream.release(&stream);
    free(segments);
    return NULL;
}

START_TEST(streams_on_many_threads)
{
    enum { STREAMED = 12000 };
    static querier readers[QUERIERS];
    tw_options options = options_new();
    tw_recorder *recorder;
    tw_analysis *analysis;
    memory m;

    memory_init(&m);
    options.allocator = &m.allocator;
    make_records(STREAMED);
    recorder = recorder_of(records, STREAMED);
    analysis = analysis_new(&recorder, 1, &options);
    tw_recorder_free(recorder);
    for (int i = 0; i < QUERIERS; i++) {
        readers[i].analysis = analysis;
        assert_i64(
            pthread_create(&readers[i].thread, NULL, run_reader_of_stream, &readers[i]),
            0);
    }
    for (int i = 0; i < QUERIERS; i++) {
        assert_i64(pthread_join(readers[i].thread, NULL), 0);
        check_worker(readers[i].wrong);
    }
    tw_analysis_free(analysis);
    memory_done(&m);
    free_records();
}
END_TEST

/* ---- Clearing while an older analysis is in use ------------------------------------ */

typedef struct keeper {
    pthread_t thread;
    const char *wrong;
    tw_analysis *analysis;
    results before, after;
} keeper;

/* Queries an analysis and frees it, while the writer clears and fills the recorder. */
static void *run_keeper(void *argument)
{
    keeper *me = argument;

    for (int i = 0; i < 2; i++) {
        EXPECT(me, results_take(&me->after, me->analysis) == TW_OK);
        EXPECT(me, memcmp(&me->after, &me->before, sizeof me->after) == 0);
    }
    tw_analysis_free(me->analysis);
    return NULL;
}

START_TEST(clear_under_an_analysis)
{
    enum { CLEARS = 8, FILLED = 1100 };
    static keeper keepers[CLEARS];
    const tw_recorder_options options_of = {sizeof options_of, 0, NULL};
    tw_recorder_options options = options_of;
    tw_recorder *recorder = NULL;
    memory m;

    memory_init(&m);
    options.allocator = &m.allocator;
    make_records(CLEARS * FILLED);
    assert_ok(tw_recorder_new(&recorder, &options));
    for (int i = 0; i < CLEARS; i++) {
        keeper *k = &keepers[i];

        recorder_append(recorder, records + i * FILLED, FILLED);
        k->analysis = analysis_new(&recorder, 1, NULL);
        assert_ok(results_take(&k->before, k->analysis));
        assert_i64(pthread_create(&k->thread, NULL, run_keeper, k), 0);
        tw_recorder_clear(recorder); /* no tw_analyze() runs now */
        assert_u64(tw_recorder_count(recorder), 0);
    }
    tw_recorder_free(recorder);
    for (int i = 0; i < CLEARS; i++) {
        assert_i64(pthread_join(keepers[i].thread, NULL), 0);
        check_worker(keepers[i].wrong);
    }
    memory_done(&m);
    free_records();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("threads");
    TCase *writing = vocabulary_case(suite, "writing"),
          *querying = vocabulary_case(suite, "querying");

    tcase_add_test(writing, analyses_while_appending);
    tcase_add_test(writing, analyses_with_threads_while_appending);
    tcase_add_test(writing, several_writers);
    tcase_add_test(writing, clear_under_an_analysis);
    tcase_add_test(querying, queries_on_many_threads);
    tcase_add_test(querying, streams_on_many_threads);
    return vocabulary_main(suite);
}
