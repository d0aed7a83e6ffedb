/* SPDX-License-Identifier: MIT */
/* What it costs to append records, against storing the same 48 bytes of each into an array
 * that was made and touched before. Everything is measured in every round, one after the
 * other; prints the medians with the least and the most. A benchmark, not a test.
 *
 *     bench_append [RECORDS [ROUNDS]] */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <timeweight/timeweight.h>

enum { BATCH = 1024, ROUNDS_MOST = 99, CHUNKS = 100 };

/* The fields of a record without chunks. */
typedef struct plain {
    int64_t credit_issued_ns, start_ns, generation_start_ns, end_ns;
    int64_t input_tokens, output_tokens;
} plain;

typedef struct bench {
    size_t records;
    plain *array;
    int64_t *chunk_array;
    tw_recorder *recorder;
    tw_record source[BATCH]; /* what is stored, again and again: it stays in the cache */
    tw_record chunked[BATCH];
    int64_t arrival_ns[CHUNKS];
    tw_columns columns;
} bench;

/* The time of this process, which others on the machine disturb less. */
static double now_ns(void)
{
    return (double)clock() / CLOCKS_PER_SEC * 1e9;
}

static void check(int32_t status, const char *what)
{
    if (status) {
        fprintf(stderr, "bench_append: %s: %s\n", what, tw_strerror(status));
        exit(1);
    }
}

static void *room(size_t count, size_t size)
{
    void *memory = malloc(count * size);

    check(memory ? TW_OK : TW_ERR_NOMEM, "malloc");
    memset(memory, 1, count * size); /* touched */
    return memory;
}

static uint64_t random_state = 1;

static int64_t random_below(int64_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) +
                   UINT64_C(1442695040888963407);
    return (int64_t)((random_state >> 33) % (uint64_t)limit);
}

static tw_record make_record(int64_t at_ns)
{
    tw_record r;

    tw_record_init(&r, sizeof r);
    r.credit_issued_ns = at_ns;
    r.start_ns = at_ns + random_below(1000000);
    r.generation_start_ns = r.start_ns + 30000000 + random_below(120000000);
    r.end_ns = r.generation_start_ns + 900000000 + random_below(1800000000);
    r.input_tokens = 100 + random_below(800);
    r.output_tokens = 50 + random_below(300);
    return r;
}

/* ---- What is measured: each stores b->records records ------------------------------ */

static void store_each(bench *b)
{
    for (size_t i = 0; i < b->records; i++) {
        const tw_record *r = &b->source[i % BATCH];
        b->array[i] = (plain){r->credit_issued_ns,    r->start_ns,
                              r->generation_start_ns, r->end_ns,
                              r->input_tokens,        r->output_tokens};
    }
}

static void append_each(bench *b)
{
    for (size_t i = 0; i < b->records; i++)
        check(tw_recorder_append(b->recorder, &b->source[i % BATCH], 1, sizeof(tw_record),
                                 0, NULL),
              "append");
}

static void append_batches(bench *b)
{
    for (size_t i = 0; i < b->records; i += BATCH)
        check(
            tw_recorder_append(b->recorder, b->source, BATCH, sizeof(tw_record), 0, NULL),
            "append");
}

static void append_columns(bench *b)
{
    for (size_t i = 0; i < b->records; i += BATCH)
        check(tw_recorder_append_columns(b->recorder, &b->columns, 0, NULL), "columns");
}

/* Into memory that no one has touched. */
static void store_fresh(bench *b)
{
    plain *touched = b->array;

    b->array = malloc(b->records * sizeof *b->array);
    check(b->array ? TW_OK : TW_ERR_NOMEM, "malloc");
    store_each(b);
    free(b->array);
    b->array = touched;
}

/* Without reserve: blocks are made, and their pages touched, on the way. */
static void append_fresh(bench *b)
{
    tw_recorder *recycled = b->recorder;

    check(tw_recorder_new(&b->recorder, NULL), "recorder");
    append_each(b);
    tw_recorder_free(b->recorder);
    b->recorder = recycled;
}

/* A tenth of the records, with chunks. */
static void store_chunks(bench *b)
{
    int64_t *to = b->chunk_array;

    for (size_t i = 0; i < b->records / 10; i++) {
        const tw_record *r = &b->chunked[i % BATCH];
        b->array[i] = (plain){r->credit_issued_ns,    r->start_ns,
                              r->generation_start_ns, r->end_ns,
                              r->input_tokens,        r->output_tokens};
        memcpy(to, r->chunk_arrival_ns, CHUNKS * sizeof *to);
        to += CHUNKS;
    }
}

static void append_chunks(bench *b)
{
    for (size_t i = 0; i < b->records / 10; i++)
        check(tw_recorder_append(b->recorder, &b->chunked[i % BATCH], 1,
                                 sizeof(tw_record), 0, NULL),
              "append");
}

static const struct {
    const char *name;
    void (*run)(bench *b);
    int peer; /* index of what it is compared with */
    int tenth;
} cases[] = {
    {"plain store, array touched before", store_each, 0, 0},
    {"append, memory reserved", append_each, 0, 0},
    {"append, 1024 a call", append_batches, 0, 0},
    {"append columns, 1024 a call", append_columns, 0, 0},
    {"plain store, new memory", store_fresh, 4, 0},
    {"append, new memory", append_fresh, 4, 0},
    {"plain store with 100 chunks", store_chunks, 6, 1},
    {"append with 100 chunks", append_chunks, 6, 1},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- Around it --------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void prepare(bench *b)
{
    const tw_column none = {0};
    const uint64_t stride = sizeof(tw_record);
    const tw_record *s = b->source;

    for (int i = 0; i < CHUNKS; i++)
        b->arrival_ns[i] = INT64_C(20000000) * (i + 1) + random_below(1000000);
    for (int i = 0; i < BATCH; i++) {
        b->source[i] = make_record(INT64_C(1700000000000000000) + i * INT64_C(1000000));
        b->chunked[i] = make_record(0);
        b->chunked[i].generation_start_ns = b->chunked[i].start_ns = 0;
        b->chunked[i].credit_issued_ns = 0;
        b->chunked[i].end_ns = INT64_C(3000000000);
        b->chunked[i].chunk_arrival_ns = b->arrival_ns;
        b->chunked[i].chunk_count = CHUNKS;
    }
    b->columns = (tw_columns){
        .struct_size = sizeof b->columns,
        .count = BATCH,
        .credit_issued_ns = {&s->credit_issued_ns, NULL, stride, 0, 0},
        .start_ns = {&s->start_ns, NULL, stride, 0, 0},
        .generation_start_ns = {&s->generation_start_ns, NULL, stride, 0, 0},
        .end_ns = {&s->end_ns, NULL, stride, 0, 0},
        .input_tokens = {&s->input_tokens, NULL, stride, 0, 0},
        .output_tokens = {&s->output_tokens, NULL, stride, 0, 0},
        .status = {&s->status, NULL, stride, 0, 0},
        .record_flags = none,
    };
    b->array = room(b->records, sizeof *b->array);
    b->chunk_array = room(b->records / 10 * CHUNKS, sizeof *b->chunk_array);
    check(tw_recorder_new(&b->recorder, NULL), "recorder");
    check(tw_recorder_reserve(b->recorder, b->records), "reserve");
}

int main(int argc, char **argv)
{
    static bench b;
    static double took[CASES][ROUNDS_MOST];
    const size_t wanted = argc > 1 ? (size_t)atol(argv[1]) : 2000000;
    const int rounds = argc > 2 ? atoi(argv[2]) : 7;

    if (wanted < 10 * BATCH || rounds < 1 || rounds > ROUNDS_MOST) {
        fprintf(stderr, "usage: bench_append [RECORDS [ROUNDS]]\n");
        return 2;
    }
    b.records = wanted / BATCH * BATCH;
    prepare(&b);
    for (int round = -1; round < rounds; round++) { /* the first one is not counted */
        for (int c = 0; c < CASES; c++) {
            const size_t records = cases[c].tenth ? b.records / 10 : b.records;
            double begin;

            tw_recorder_clear(b.recorder);
            begin = now_ns();
            cases[c].run(&b);
            if (round >= 0)
                took[c][round] = (now_ns() - begin) / (double)records;
        }
    }
    printf("%zu records, %d rounds         ns a record: median (least .. most)  ratio\n",
           b.records, rounds);
    for (int c = 0; c < CASES; c++)
        qsort(took[c], (size_t)rounds, sizeof took[c][0], by_value);
    for (int c = 0; c < CASES; c++) {
        const double *t = took[c], *peer = took[cases[c].peer];

        printf("%-42s %8.2f (%.2f .. %.2f)  %.2f\n", cases[c].name, t[rounds / 2], t[0],
               t[rounds - 1], t[rounds / 2] / peer[rounds / 2]);
    }
    tw_recorder_free(b.recorder);
    check(tw_recorder_new(&b.recorder, NULL), "recorder");
    append_each(&b);
    printf("%-42s %8.2f bytes a record\n", "store without chunks",
           (double)tw_recorder_memory(b.recorder) / (double)b.records);
    tw_recorder_free(b.recorder);
    free(b.array);
    free(b.chunk_array);
    return 0;
}
