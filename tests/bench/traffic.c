/* SPDX-License-Identifier: MIT */
#include "traffic.h"
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Times have the size of real ones, which no double can hold. */
#define EPOCH_NS INT64_C(1700000000000000000)
#define USERS 1024
#define IN_FLIGHT 50000.0
#define DURATION_NS 2.26e9 /* the mean of a request */
#define TURN 6.283185307179586

/* ---- chance ---------------------------------------------------------------------- */

/* SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* In (0, 1). */
static double uniform(uint64_t *state)
{
    return ((double)(next_random(state) >> 12) + 0.5) / 4503599627370496.0;
}

static double log_normal(uint64_t *state, double median, double sigma)
{
    double radius = sqrt(-2 * log(uniform(state)));
    return median * exp(sigma * radius * cos(TURN * uniform(state)));
}

/* With the given mean. */
static double exponential(uint64_t *state, double mean)
{
    return -mean * log(uniform(state));
}

static int64_t within(double value, int64_t least, int64_t most)
{
    return value < (double)least ? least : value > (double)most ? most : (int64_t)value;
}

/* ---- requests -------------------------------------------------------------------- */

static int64_t *new_column(size_t count)
{
    return bench_alloc(count, sizeof(int64_t));
}

static traffic *new_columns(size_t count, bool credits, size_t gaps)
{
    traffic *t = bench_alloc(1, sizeof *t);
    t->count = count;
    t->credit_ns = credits ? new_column(count) : NULL;
    t->start_ns = new_column(count);
    t->first_ns = new_column(count);
    t->end_ns = new_column(count);
    t->input = new_column(count);
    t->output = new_column(count);
    t->gaps = gaps;
    t->chunk_ns = gaps > 0 ? new_column(count * gaps) : NULL;
    return t;
}

/* Gaps of a request are alike. Returns the last arrival. */
static int64_t add_chunks(uint64_t *state, int64_t first, size_t gaps, int64_t *chunk)
{
    double usual = log_normal(state, 9e6, 0.3);
    int64_t time = first;
    for (size_t k = 0; k < gaps; k++) {
        time += within(log_normal(state, usual, 0.25), 1, INT64_C(1) << 40);
        chunk[k] = time;
    }
    return time;
}

/* Request i is due at a time; it is sent 20 to 200 us later. */
static void add_request(traffic *t, uint64_t *state, size_t i, int64_t due)
{
    if (t->credit_ns)
        t->credit_ns[i] = due;
    t->start_ns[i] = due + 20000 + (int64_t)(180000 * uniform(state));
    t->first_ns[i] = t->start_ns[i] +
                     within(log_normal(state, 90e6, 0.6), 1000, INT64_C(1) << 40);
    t->input[i] = within(log_normal(state, 500, 0.8), 1, 200000);
    if (t->gaps > 0) {
        t->end_ns[i] = add_chunks(state, t->first_ns[i], t->gaps,
                                  t->chunk_ns + i * t->gaps);
        t->output[i] = (int64_t)(t->gaps + 1 + next_random(state) % 40);
    } else {
        t->end_ns[i] = t->first_ns[i] +
                       within(log_normal(state, 1.8e9, 0.6), 1000, INT64_C(1) << 40);
        t->output[i] = within(log_normal(state, 200, 0.6), 1, 100000);
    }
}

/* The earliest user of the heap is busy until a later time. */
static void reschedule(int64_t heap[USERS], int64_t time)
{
    size_t hole = 0;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child + 1 < USERS && heap[child + 1] < heap[child])
            child++;
        if (child >= USERS || heap[child] >= time)
            break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = time;
}

static void run_closed(traffic *t, uint64_t *state)
{
    int64_t free_ns[USERS];
    for (int user = 0; user < USERS; user++)
        free_ns[user] = EPOCH_NS + 2000 * user; /* sorted: a heap */
    for (size_t i = 0; i < t->count; i++) {
        add_request(t, state, i, free_ns[0] + (int64_t)(20000 * uniform(state)));
        reschedule(free_ns, t->end_ns[i]);
    }
}

/* Arrivals at three times the mean rate for a fifth of the time, else at half of it. */
static void run_bursty(traffic *t, uint64_t *state)
{
    double time = 0, change = 0, pause = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (time >= change) {
            pause = DURATION_NS / IN_FLIGHT / (uniform(state) < 0.2 ? 3.0 : 0.5);
            change = time + exponential(state, 0.5e9);
        }
        time += exponential(state, pause);
        add_request(t, state, i, EPOCH_NS + (int64_t)time);
    }
}

/* ---- order ----------------------------------------------------------------------- */

struct place {
    int64_t key;
    size_t row;
};

static int by_key(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int64_t *arranged(int64_t *column, const struct place *places, size_t count,
                         size_t width)
{
    int64_t *result;
    if (!column)
        return NULL;
    result = new_column(count * width);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < width; k++)
            result[i * width + k] = column[places[i].row * width + k];
    free(column);
    return result;
}

static void arrange(traffic *t, enum traffic_order order, uint64_t *state)
{
    struct place *places = bench_alloc(t->count, sizeof *places);
    for (size_t i = 0; i < t->count; i++) {
        int64_t key = order == TRAFFIC_BY_END     ? t->end_ns[i]
                      : order == TRAFFIC_BY_START ? t->start_ns[i]
                                                  : (int64_t)(next_random(state) >> 1);
        places[i] = (struct place){key, i};
    }
    qsort(places, t->count, sizeof *places, by_key);
    t->credit_ns = arranged(t->credit_ns, places, t->count, 1);
    t->start_ns = arranged(t->start_ns, places, t->count, 1);
    t->first_ns = arranged(t->first_ns, places, t->count, 1);
    t->end_ns = arranged(t->end_ns, places, t->count, 1);
    t->input = arranged(t->input, places, t->count, 1);
    t->output = arranged(t->output, places, t->count, 1);
    t->chunk_ns = arranged(t->chunk_ns, places, t->count, t->gaps);
    free(places);
}

/* ---- interface ------------------------------------------------------------------- */

traffic *traffic_new(size_t count, enum traffic_load load, enum traffic_order order,
                     bool credits, size_t gaps)
{
    traffic *t = new_columns(count, credits, gaps);
    uint64_t state = 7;
    if (load == TRAFFIC_CLOSED)
        run_closed(t, &state);
    else
        run_bursty(t, &state);
    arrange(t, order, &state);
    return t;
}

void traffic_free(traffic *t)
{
    if (!t)
        return;
    free(t->credit_ns);
    free(t->start_ns);
    free(t->first_ns);
    free(t->end_ns);
    free(t->input);
    free(t->output);
    free(t->chunk_ns);
    free(t);
}

int64_t traffic_origin(const traffic *t)
{
    int64_t origin = INT64_MAX;
    for (size_t i = 0; i < t->count; i++)
        origin = t->start_ns[i] < origin ? t->start_ns[i] : origin;
    return origin;
}

static void write_column(FILE *file, const int64_t *column, size_t count, int64_t origin)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = column[i] - origin;
        fwrite(&value, sizeof value, 1, file);
    }
}

void traffic_write(const traffic *t, const char *path)
{
    FILE *file = fopen(path, "wb");
    int64_t count = (int64_t)t->count, origin = traffic_origin(t);
    bool failed;
    if (!file)
        bench_fail(path, "cannot be opened");
    write_column(file, &count, 1, 0);
    write_column(file, t->start_ns, t->count, origin);
    write_column(file, t->first_ns, t->count, origin);
    write_column(file, t->end_ns, t->count, origin);
    write_column(file, t->input, t->count, 0);
    write_column(file, t->output, t->count, 0);
    failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        bench_fail(path, "cannot be written");
}
