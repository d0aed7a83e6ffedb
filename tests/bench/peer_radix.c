/* SPDX-License-Identifier: MIT */
#include "peer_radix.h"
#include "harness.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SEC 1e9
/* Smaller values than this part of the peak are rounding errors of a sum that is zero. */
#define SNAP 1e-9

/* ---- order ----------------------------------------------------------------------- */

/* Two buffers each of keys and of indices. */
typedef struct ordering {
    uint64_t *key, *other_key;
    uint32_t *index, *other_index;
} ordering;

/* Orders as the doubles do, negative ones too. */
static uint64_t key_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static void scatter(ordering *o, size_t count, unsigned shift, uint32_t places[256])
{
    uint64_t *key = o->key, *to_key = o->other_key;
    uint32_t *index = o->index, *to_index = o->other_index;
    for (size_t i = 0; i < count; i++) {
        uint32_t place = places[key[i] >> shift & 255]++;
        to_key[place] = key[i];
        to_index[place] = index[i];
    }
    o->key = to_key;
    o->other_key = key;
    o->index = to_index;
    o->other_index = index;
}

/* o->index then says where the values stand that are next in order; o->key are their keys. */
static void order_values(ordering *o, const double *values, size_t count)
{
    uint32_t counts[8][256] = {{0}};
    o->key = bench_alloc(count, sizeof *o->key);
    o->other_key = bench_alloc(count, sizeof *o->key);
    o->index = bench_alloc(count, sizeof *o->index);
    o->other_index = bench_alloc(count, sizeof *o->index);
    for (size_t i = 0; i < count; i++) {
        uint64_t key = key_of(values[i]);
        o->key[i] = key;
        o->index[i] = (uint32_t)i;
        for (unsigned digit = 0; digit < 8; digit++)
            counts[digit][key >> 8 * digit & 255]++;
    }
    for (unsigned digit = 0; count > 0 && digit < 8; digit++) {
        uint32_t *places = counts[digit], sum = 0;
        if (places[o->key[0] >> 8 * digit & 255] == count)
            continue; /* all keys share it */
        for (int i = 0; i < 256; i++) {
            uint32_t here = places[i];
            places[i] = sum;
            sum += here;
        }
        scatter(o, count, 8 * digit, places);
    }
}

static void ordering_free(ordering *o)
{
    free(o->key);
    free(o->other_key);
    free(o->index);
    free(o->other_index);
}

/* ---- curves ---------------------------------------------------------------------- */

typedef struct events {
    size_t count;
    double *time, *delta;
} events;

/* value[i] from time[i] on; 0 before time[0]. Times differ. */
typedef struct step {
    size_t count;
    double *time, *value;
} step;

static events events_new(size_t capacity)
{
    return (events){0, bench_alloc(capacity, sizeof(double)),
                    bench_alloc(capacity, sizeof(double))};
}

static void add_event(events *e, double time, double delta)
{
    e->time[e->count] = time;
    e->delta[e->count++] = delta;
}

static void add_interval(events *e, double begin, double end, double amount)
{
    add_event(e, begin, amount);
    add_event(e, end, -amount);
}

static void step_free(step *s)
{
    free(s->time);
    free(s->value);
}

/* What ends at an instant is taken off before what begins is added. Frees the events. */
static step sum_up(events *e)
{
    ordering o;
    step s = {0, bench_alloc(e->count, sizeof(double)),
              bench_alloc(e->count, sizeof(double))};
    double sum = 0, peak = 0;
    order_values(&o, e->time, e->count);
    for (size_t i = 0, next; i < e->count; i = next) {
        next = i + 1;
        if (next == e->count || o.key[next] != o.key[i]) {
            sum += e->delta[o.index[i]];
        } else {
            while (next < e->count && o.key[next] == o.key[i])
                next++;
            for (size_t k = i; k < next; k++)
                sum += fmin(e->delta[o.index[k]], 0);
            for (size_t k = i; k < next; k++)
                sum += fmax(e->delta[o.index[k]], 0);
        }
        peak = fabs(sum) > peak ? fabs(sum) : peak;
        s.time[s.count] = e->time[o.index[i]];
        s.value[s.count++] = sum;
    }
    for (size_t i = 0; i < s.count; i++)
        if (fabs(s.value[i]) < SNAP * peak)
            s.value[i] = 0;
    ordering_free(&o);
    free(e->time);
    free(e->delta);
    return s;
}

static step make_concurrency(size_t count, const double *begin, const double *end)
{
    events e = events_new(2 * count);
    for (size_t i = 0; i < count; i++)
        add_interval(&e, begin[i], end[i], 1);
    return sum_up(&e);
}

static void add_prefill(events *e, const peer_radix_input *in, size_t i)
{
    double length = in->first[i] - in->start[i];
    if (length > 0)
        add_interval(e, in->start[i], in->first[i], in->input[i] / length);
}

static void add_decode(events *e, const peer_radix_input *in, size_t i)
{
    double length = in->end[i] - in->first[i];
    if (in->gaps > 0) {
        double tokens = (in->output[i] - 1) / (double)in->gaps, previous = in->first[i];
        for (size_t k = i * in->gaps; k < (i + 1) * in->gaps; k++) {
            add_interval(e, previous, in->chunk[k], tokens / (in->chunk[k] - previous));
            previous = in->chunk[k];
        }
    } else if (length > 0) {
        add_interval(e, in->first[i], in->end[i], (in->output[i] - 1) / length);
    }
}

static size_t decode_events(const peer_radix_input *in)
{
    return 2 * in->count * (in->gaps > 0 ? in->gaps : 1);
}

static step make_decode_throughput(const peer_radix_input *in)
{
    events e = events_new(decode_events(in));
    for (size_t i = 0; i < in->count; i++)
        add_decode(&e, in, i);
    return sum_up(&e);
}

static step make_prefill_throughput(const peer_radix_input *in)
{
    events e = events_new(2 * in->count);
    for (size_t i = 0; i < in->count; i++)
        add_prefill(&e, in, i);
    return sum_up(&e);
}

static step make_total_throughput(const peer_radix_input *in)
{
    events e = events_new(2 * in->count + decode_events(in));
    for (size_t i = 0; i < in->count; i++) {
        add_prefill(&e, in, i);
        add_decode(&e, in, i);
    }
    return sum_up(&e);
}

/* With chunks, the first brings one token and the others share the rest. */
static step make_tokens_in_flight(const peer_radix_input *in)
{
    events e = events_new((3 + in->gaps) * in->count);
    for (size_t i = 0; i < in->count; i++) {
        add_event(&e, in->start[i], in->input[i]);
        add_event(&e, in->first[i], in->gaps > 0 ? 1 : in->output[i]);
        for (size_t k = 0; k < in->gaps; k++)
            add_event(&e, in->chunk[i * in->gaps + k],
                      (in->output[i] - 1) / (double)in->gaps);
        add_event(&e, in->end[i], -(in->input[i] + in->output[i]));
    }
    return sum_up(&e);
}

/* ---- statistics ------------------------------------------------------------------ */

/* Values and how long they lasted. */
typedef struct pairs {
    size_t count;
    double *value, *duration, total;
} pairs;

static pairs pairs_new(size_t capacity)
{
    return (pairs){0, bench_alloc(capacity, sizeof(double)),
                   bench_alloc(capacity, sizeof(double)), 0};
}

static void add_pair(pairs *p, double value, double duration)
{
    if (!(duration > 0))
        return;
    p->value[p->count] = value;
    p->duration[p->count++] = duration;
    p->total += duration;
}

static void find_quantiles(const pairs *p, double *quantiles)
{
    ordering o;
    double sum = 0;
    int next = 0;
    order_values(&o, p->value, p->count);
    for (size_t i = 0; i < p->count && next < CURVE_QUANTILES; i++) {
        sum += p->duration[o.index[i]];
        while (next < CURVE_QUANTILES && sum / p->total >= curve_quantiles[next])
            quantiles[next++] = p->value[o.index[i]];
    }
    while (next < CURVE_QUANTILES)
        quantiles[next++] = p->value[o.index[p->count - 1]];
    ordering_free(&o);
}

/* scale brings values to the metric's unit. */
static curve_stats summarize(const pairs *p, double scale)
{
    curve_stats s = {0, INFINITY, -INFINITY, 0, {0}};
    double squares = 0;
    for (size_t i = 0; i < p->count; i++) {
        s.avg += p->value[i] * p->duration[i];
        s.min = p->value[i] < s.min ? p->value[i] : s.min;
        s.max = p->value[i] > s.max ? p->value[i] : s.max;
    }
    s.avg /= p->total;
    for (size_t i = 0; i < p->count; i++)
        squares += p->duration[i] * (p->value[i] - s.avg) * (p->value[i] - s.avg);
    s.std = sqrt(squares / p->total);
    find_quantiles(p, s.quantile);
    s.avg *= scale;
    s.min *= scale;
    s.max *= scale;
    s.std *= scale;
    for (int i = 0; i < CURVE_QUANTILES; i++)
        s.quantile[i] *= scale;
    return s;
}

static void pairs_free(pairs *p)
{
    free(p->value);
    free(p->duration);
}

/* All of [begin, end]. */
static curve_stats effective(const step *s, double begin, double end, double scale)
{
    pairs p = pairs_new(s->count + 1);
    curve_stats stats;
    if (s->count > 0)
        add_pair(&p, 0, s->time[0] - begin);
    for (size_t i = 0; i < s->count; i++)
        add_pair(&p, s->value[i], (i + 1 < s->count ? s->time[i + 1] : end) - s->time[i]);
    stats = summarize(&p, scale);
    pairs_free(&p);
    return stats;
}

/* Walks along two curves at once: gives out their values and how long both last. */
typedef struct walk {
    const step *a, *b;
    size_t next_a, next_b;
    double time, end, value_a, value_b;
} walk;

static double walk_on(walk *w, double *a, double *b)
{
    double time_a = w->next_a < w->a->count ? w->a->time[w->next_a] : w->end;
    double time_b = w->next_b < w->b->count ? w->b->time[w->next_b] : w->end;
    double next = time_a < time_b ? time_a : time_b;
    double duration = next - w->time;
    *a = w->value_a;
    *b = w->value_b;
    w->time = next;
    if (time_a == next && w->next_a < w->a->count)
        w->value_a = w->a->value[w->next_a++];
    if (time_b == next && w->next_b < w->b->count)
        w->value_b = w->b->value[w->next_b++];
    return duration;
}

static bool walk_ended(const walk *w)
{
    return w->next_a == w->a->count && w->next_b == w->b->count && w->time >= w->end;
}

/* Where the mask is above 0. */
static curve_stats active(const step *rate, const step *mask, double begin, double end,
                          double scale)
{
    walk w = {.a = rate, .b = mask, .time = begin, .end = end};
    pairs p = pairs_new(rate->count + mask->count + 1);
    curve_stats stats;
    while (!walk_ended(&w)) {
        double value, users, duration = walk_on(&w, &value, &users);
        if (users > 0)
            add_pair(&p, value, duration);
    }
    stats = summarize(&p, scale);
    pairs_free(&p);
    return stats;
}

/* The quotient, over all time and where there are users. */
static void per_user(const step *rate, const step *users, double begin, double end,
                     curve_stats *whole, curve_stats *while_active)
{
    walk w = {.a = rate, .b = users, .time = begin, .end = end};
    pairs p = pairs_new(rate->count + users->count + 2);
    double idle = 0;
    while (!walk_ended(&w)) {
        double value, among, duration = walk_on(&w, &value, &among);
        if (among > 0)
            add_pair(&p, value / among, duration);
        else
            idle += duration;
    }
    *while_active = summarize(&p, NS_PER_SEC);
    add_pair(&p, 0, idle);
    *whole = summarize(&p, NS_PER_SEC);
    pairs_free(&p);
}

/* ---- the run --------------------------------------------------------------------- */

enum { TOTAL, IN_FLIGHT, DECODE, PREFILL, ALL_USERS, DECODING, PREFILLING, STEPS };

typedef struct run {
    const peer_radix_input *in;
    curve_stats *results;
    double begin, end;
    step steps[STEPS];
    void (*work)(struct run *run, int task);
    int tasks;
    atomic_int next;
} run;

static void make_curve(run *r, int task)
{
    const peer_radix_input *in = r->in;
    step *s = &r->steps[task];
    switch (task) {
    case TOTAL:
        *s = make_total_throughput(in);
        break;
    case IN_FLIGHT:
        *s = make_tokens_in_flight(in);
        break;
    case DECODE:
        *s = make_decode_throughput(in);
        break;
    case PREFILL:
        *s = make_prefill_throughput(in);
        break;
    case ALL_USERS:
        *s = make_concurrency(in->count, in->start, in->end);
        break;
    case DECODING:
        *s = make_concurrency(in->count, in->first, in->end);
        break;
    default:
        *s = make_concurrency(in->count, in->start, in->first);
        break;
    }
}

/* The larger ones come first, for the sake of two threads. */
static void make_metric(run *r, int task)
{
    static const struct {
        int curve, mask; /* a curve of steps; a mask, or -1 */
        enum curve_metric metric;
        double scale;
    } metrics[] = {
        {TOTAL, ALL_USERS, CURVE_ACTIVE_TOTAL_THROUGHPUT, NS_PER_SEC},
        {TOTAL, -1, CURVE_TOTAL_THROUGHPUT, NS_PER_SEC},
        {IN_FLIGHT, -1, CURVE_TOKENS_IN_FLIGHT, 1},
        {DECODE, DECODING, CURVE_ACTIVE_DECODE_THROUGHPUT, NS_PER_SEC},
        {PREFILL, PREFILLING, CURVE_ACTIVE_PREFILL_THROUGHPUT, NS_PER_SEC},
        {DECODE, -1, CURVE_DECODE_THROUGHPUT, NS_PER_SEC},
        {PREFILL, -1, CURVE_PREFILL_THROUGHPUT, NS_PER_SEC},
        {ALL_USERS, -1, CURVE_CONCURRENCY, 1},
        {DECODING, -1, CURVE_DECODE_CONCURRENCY, 1},
        {PREFILLING, -1, CURVE_PREFILL_CONCURRENCY, 1},
    };
    if (task == 0) {
        per_user(&r->steps[DECODE], &r->steps[DECODING], r->begin, r->end,
                 &r->results[CURVE_DECODE_THROUGHPUT_PER_USER],
                 &r->results[CURVE_ACTIVE_DECODE_THROUGHPUT_PER_USER]);
    } else if (task == 1) {
        per_user(&r->steps[PREFILL], &r->steps[PREFILLING], r->begin, r->end,
                 &r->results[CURVE_PREFILL_THROUGHPUT_PER_USER],
                 &r->results[CURVE_ACTIVE_PREFILL_THROUGHPUT_PER_USER]);
    } else {
        int i = task - 2, mask = metrics[i].mask;
        const step *curve = &r->steps[metrics[i].curve];
        r->results[metrics[i].metric] =
            mask < 0 ? effective(curve, r->begin, r->end, metrics[i].scale)
                     : active(curve, &r->steps[mask], r->begin, r->end, metrics[i].scale);
    }
}

static void *work_on(void *context)
{
    run *r = context;
    for (;;) {
        int task = atomic_fetch_add(&r->next, 1);
        if (task >= r->tasks)
            return NULL;
        r->work(r, task);
    }
}

static void deal_out(run *r, int threads, int tasks, void (*work)(run *, int))
{
    pthread_t helper;
    r->work = work;
    r->tasks = tasks;
    atomic_store(&r->next, 0);
    if (threads > 1 && pthread_create(&helper, NULL, work_on, r) != 0)
        bench_fail("peer_radix", "no thread");
    work_on(r);
    if (threads > 1)
        pthread_join(helper, NULL);
}

static void find_window(const peer_radix_input *in, double *begin, double *end)
{
    *begin = INFINITY;
    *end = -INFINITY;
    for (size_t i = 0; i < in->count; i++) {
        *begin = in->start[i] < *begin ? in->start[i] : *begin;
        *end = in->end[i] > *end ? in->end[i] : *end;
    }
}

void peer_radix_run(const peer_radix_input *in, int threads,
                    curve_stats results[CURVE_METRICS])
{
    run r = {.in = in, .results = results};
    find_window(in, &r.begin, &r.end);
    deal_out(&r, threads, STEPS, make_curve);
    deal_out(&r, threads, 12, make_metric);
    for (int i = 0; i < STEPS; i++)
        step_free(&r.steps[i]);
}

void peer_radix_run_decode(const peer_radix_input *in, curve_stats *result)
{
    double begin, end;
    step s = make_decode_throughput(in);
    find_window(in, &begin, &end);
    *result = effective(&s, begin, end, NS_PER_SEC);
    step_free(&s);
}

/* ---- input ----------------------------------------------------------------------- */

static double *to_doubles(const int64_t *column, size_t count, int64_t origin)
{
    double *doubles;
    if (!column)
        return NULL;
    doubles = bench_alloc(count, sizeof *doubles);
    for (size_t i = 0; i < count; i++)
        doubles[i] = (double)(column[i] - origin);
    return doubles;
}

peer_radix_input *peer_radix_input_new(const traffic *t)
{
    peer_radix_input *in = bench_alloc(1, sizeof *in);
    int64_t origin = traffic_origin(t);
    in->count = t->count;
    in->start = to_doubles(t->start_ns, t->count, origin);
    in->first = to_doubles(t->first_ns, t->count, origin);
    in->end = to_doubles(t->end_ns, t->count, origin);
    in->input = to_doubles(t->input, t->count, 0);
    in->output = to_doubles(t->output, t->count, 0);
    in->gaps = t->gaps;
    in->chunk = to_doubles(t->chunk_ns, t->count * t->gaps, origin);
    return in;
}

void peer_radix_input_free(peer_radix_input *in)
{
    if (!in)
        return;
    free(in->start);
    free(in->first);
    free(in->end);
    free(in->input);
    free(in->output);
    free(in->chunk);
    free(in);
}
