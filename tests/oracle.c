/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

/* Later than any window's end, which is when requests in flight leave a curve. */
#define FOREVER INT64_MAX
/* Quantiles count in units of 10^-12. */
#define Q_ONE INT64_C(1000000000000)

/* The first seven are sums of pieces, the other three are made from those. */
enum curve {
    C0_QUEUED,
    C1_CONCURRENCY,
    C2_PREFILL,
    C3_DECODE,
    C4_PREFILL_RATE,
    C5_DECODE_RATE,
    C9_TOKENS,
    SUMMED,
    C6_TOTAL_RATE = SUMMED,
    C7_DECODE_USER,
    C8_PREFILL_USER,
    CURVES
};

enum kind { EFFECTIVE, ACTIVE, SAMPLE, ADJUSTED, SCALAR };

typedef struct row {
    int32_t id;
    enum kind kind;
    enum curve curve; /* of EFFECTIVE and ACTIVE */
    enum curve mask;  /* of ACTIVE */
} row;

/* clang-format off */
static const row rows[] = {
    {TW_EFFECTIVE_CONCURRENCY, EFFECTIVE, C1_CONCURRENCY, CURVES},
    {TW_EFFECTIVE_DECODE_THROUGHPUT, EFFECTIVE, C5_DECODE_RATE, CURVES},
    {TW_EFFECTIVE_PREFILL_THROUGHPUT, EFFECTIVE, C4_PREFILL_RATE, CURVES},
    {TW_EFFECTIVE_DECODE_CONCURRENCY, EFFECTIVE, C3_DECODE, CURVES},
    {TW_EFFECTIVE_PREFILL_CONCURRENCY, EFFECTIVE, C2_PREFILL, CURVES},
    {TW_EFFECTIVE_TOTAL_THROUGHPUT, EFFECTIVE, C6_TOTAL_RATE, CURVES},
    {TW_EFFECTIVE_DECODE_THROUGHPUT_PER_USER, EFFECTIVE, C7_DECODE_USER, CURVES},
    {TW_EFFECTIVE_PREFILL_THROUGHPUT_PER_USER, EFFECTIVE, C8_PREFILL_USER, CURVES},
    {TW_TOKENS_IN_FLIGHT, EFFECTIVE, C9_TOKENS, CURVES},
    {TW_EFFECTIVE_QUEUE_DEPTH, EFFECTIVE, C0_QUEUED, CURVES},
    {TW_ACTIVE_DECODE_THROUGHPUT, ACTIVE, C5_DECODE_RATE, C3_DECODE},
    {TW_ACTIVE_PREFILL_THROUGHPUT, ACTIVE, C4_PREFILL_RATE, C2_PREFILL},
    {TW_ACTIVE_DECODE_THROUGHPUT_PER_USER, ACTIVE, C7_DECODE_USER, C3_DECODE},
    {TW_ACTIVE_PREFILL_THROUGHPUT_PER_USER, ACTIVE, C8_PREFILL_USER, C2_PREFILL},
    {TW_ACTIVE_TOTAL_THROUGHPUT, ACTIVE, C6_TOTAL_RATE, C1_CONCURRENCY},
    {TW_EFFECTIVE_LATENCY, SAMPLE, CURVES, CURVES},
    {TW_ADJ_EFFECTIVE_LATENCY, ADJUSTED, CURVES, CURVES},
    {TW_TIME_TO_FIRST_TOKEN, SAMPLE, CURVES, CURVES},
    {TW_TIME_TO_SECOND_TOKEN, SAMPLE, CURVES, CURVES},
    {TW_REQUEST_LATENCY, SAMPLE, CURVES, CURVES},
    {TW_INTER_TOKEN_LATENCY, SAMPLE, CURVES, CURVES},
    {TW_INTER_CHUNK_LATENCY, SAMPLE, CURVES, CURVES},
    {TW_OUTPUT_TOKEN_THROUGHPUT_PER_USER, SAMPLE, CURVES, CURVES},
    {TW_OUTPUT_SEQUENCE_LENGTH, SAMPLE, CURVES, CURVES},
    {TW_INPUT_SEQUENCE_LENGTH, SAMPLE, CURVES, CURVES},
    {TW_CREDIT_TO_START_LATENCY, SAMPLE, CURVES, CURVES},
    {TW_ADJ_REQUEST_LATENCY, ADJUSTED, CURVES, CURVES},
    {TW_REQUEST_COUNT, SCALAR, CURVES, CURVES},
    {TW_ERROR_REQUEST_COUNT, SCALAR, CURVES, CURVES},
    {TW_BENCHMARK_DURATION, SCALAR, CURVES, CURVES},
    {TW_REQUEST_THROUGHPUT, SCALAR, CURVES, CURVES},
    {TW_OUTPUT_TOKEN_THROUGHPUT, SCALAR, CURVES, CURVES},
    {TW_TOTAL_TOKEN_THROUGHPUT, SCALAR, CURVES, CURVES},
};
/* clang-format on */

#define ROWS (sizeof rows / sizeof rows[0])

/* A record adds amount to a curve on [from, to). */
typedef struct piece {
    enum curve curve;
    int64_t from, to;
    long double amount;
} piece;

/* A value and how much it weighs: the nanoseconds it lasted, or 1 for a sample. */
typedef struct point {
    long double value;
    int64_t weight;
} point;

/* All points of a metric by ascending value; none: not emitted. */
typedef struct cloud {
    point *points;
    size_t count;
} cloud;

struct oracle {
    const tw_record *records;
    size_t count;
    int64_t begin, end;   /* the window */
    int64_t first_credit; /* of the run, whatever the window */
    piece *pieces;
    size_t piece_count;
    cloud clouds[ROWS];
};

/* ---- What a record says ------------------------------------------------------------ */

static int known(int64_t time)
{
    return time != TW_TIME_NONE;
}

static int64_t credit_of(const tw_record *r)
{
    return known(r->credit_issued_ns) && r->credit_issued_ns < r->start_ns
               ? r->credit_issued_ns
               : r->start_ns;
}

static int64_t last_time(const tw_record *r)
{
    if (known(r->end_ns)) {
        return r->end_ns;
    }
    if (r->chunk_count > 0) {
        return r->chunk_arrival_ns[r->chunk_count - 1];
    }
    return known(r->generation_start_ns) ? r->generation_start_ns : r->start_ns;
}

static int is_member(const oracle *o, const tw_record *r)
{
    if (!known(r->end_ns)) {
        return 0;
    }
    if (r->end_ns == o->begin) {
        return o->begin <= o->first_credit;
    }
    return o->begin < r->end_ns && r->end_ns <= o->end;
}

/* Chunk token counts that are there and make sense. */
static int has_counts(const tw_record *r)
{
    if (r->chunk_count == 0 || r->chunk_tokens == NULL || r->output_tokens < 0) {
        return 0;
    }
    wide sum = 0;
    for (uint64_t i = 0; i < r->chunk_count; i++) {
        sum += r->chunk_tokens[i];
    }
    return sum <= r->output_tokens;
}

static int64_t positive_gaps(const tw_record *r)
{
    int64_t gaps = 0;
    int64_t previous = r->generation_start_ns;
    for (uint64_t i = 0; i < r->chunk_count; i++) {
        gaps += r->chunk_arrival_ns[i] > previous;
        previous = r->chunk_arrival_ns[i];
    }
    return gaps;
}

/* ---- Curves ------------------------------------------------------------------------ */

/* May this record ever add to the curve, judged by its fields alone? */
static int eligible(const tw_record *r, enum curve curve)
{
    int first_token = known(r->generation_start_ns);
    int waiting = !first_token && (r->flags & TW_RECORD_STREAMING) != 0;
    switch (curve) {
    case C0_QUEUED:
        return known(r->credit_issued_ns);
    case C1_CONCURRENCY:
        return 1;
    case C2_PREFILL:
        return first_token || waiting;
    case C3_DECODE:
        return first_token;
    case C4_PREFILL_RATE:
    case C8_PREFILL_USER:
        return first_token && r->input_tokens >= 0;
    case C5_DECODE_RATE:
    case C7_DECODE_USER:
        return first_token && r->output_tokens >= 1 &&
               (r->chunk_count > 0 || known(r->end_ns));
    case C6_TOTAL_RATE:
        return eligible(r, C4_PREFILL_RATE) || eligible(r, C5_DECODE_RATE);
    case C9_TOKENS:
        return ((first_token || waiting) && r->input_tokens >= 0) ||
               (first_token && r->output_tokens >= 0);
    case CURVES:
        break;
    }
    return 0;
}

static void add(oracle *o, enum curve curve, int64_t from, int64_t to, long double amount)
{
    if (from < to) {
        o->pieces[o->piece_count++] = (piece){curve, from, to, amount};
    }
}

/* Tokens spread over [from, to). */
static void add_rate(oracle *o, enum curve curve, int64_t from, int64_t to,
                     long double tokens)
{
    if (from < to) {
        add(o, curve, from, to, tokens / (long double)(to - from));
    }
}

/* The output of a record with at least one positive gap between its arrivals. */
static void add_chunks(oracle *o, const tw_record *r, int64_t end, int64_t gaps)
{
    int counted = has_counts(r);
    int64_t first = 1; /* tokens that arrival 0 brought */
    long double share = (long double)(r->output_tokens - 1) / (long double)gaps;
    int64_t previous = r->generation_start_ns;

    if (counted) {
        first = r->output_tokens;
        for (uint64_t i = 0; i < r->chunk_count; i++) {
            if (r->chunk_arrival_ns[i] > r->generation_start_ns) {
                first -= r->chunk_tokens[i];
            }
        }
    }
    add(o, C9_TOKENS, r->generation_start_ns, end, (long double)first);
    for (uint64_t i = 0; i < r->chunk_count; i++) {
        int64_t at = r->chunk_arrival_ns[i];
        if (at == previous) {
            continue; /* counted with the arrival that opened this instant */
        }
        long double tokens = share;
        if (counted) {
            tokens = 0;
            for (uint64_t k = 0; k < r->chunk_count; k++) {
                if (r->chunk_arrival_ns[k] == at) {
                    tokens += (long double)r->chunk_tokens[k];
                }
            }
        }
        add_rate(o, C5_DECODE_RATE, previous, at, tokens);
        add(o, C9_TOKENS, at, end, tokens);
        previous = at;
    }
}

static void add_record(oracle *o, const tw_record *r)
{
    int64_t start = r->start_ns;
    int64_t first = r->generation_start_ns;
    int64_t end = known(r->end_ns) ? r->end_ns : FOREVER;

    add(o, C0_QUEUED, credit_of(r), start, 1); /* an unknown credit is no interval */
    add(o, C1_CONCURRENCY, start, end, 1);
    if (eligible(r, C9_TOKENS) && r->input_tokens >= 0) {
        add(o, C9_TOKENS, start, end, (long double)r->input_tokens);
    }
    if (!known(first)) {
        if (eligible(r, C2_PREFILL)) {
            add(o, C2_PREFILL, start, end, 1);
        }
        return;
    }
    add(o, C2_PREFILL, start, first, 1);
    add(o, C3_DECODE, first, end, 1);
    if (r->input_tokens >= 0) {
        add_rate(o, C4_PREFILL_RATE, start, first, (long double)r->input_tokens);
    }
    if (r->output_tokens < 1) {
        return;
    }
    int64_t gaps = positive_gaps(r);
    if (gaps > 0) {
        add_chunks(o, r, end, gaps);
        return;
    }
    add(o, C9_TOKENS, first, end, (long double)r->output_tokens);
    if (r->chunk_count == 0 && known(r->end_ns)) {
        add_rate(o, C5_DECODE_RATE, first, end, (long double)(r->output_tokens - 1));
    }
}

/* All curves at one instant, in their units. */
static void evaluate(const oracle *o, int64_t at, long double value[CURVES])
{
    for (int c = 0; c < CURVES; c++) {
        value[c] = 0;
    }
    for (size_t i = 0; i < o->piece_count; i++) {
        if (o->pieces[i].from <= at && at < o->pieces[i].to) {
            value[o->pieces[i].curve] += o->pieces[i].amount;
        }
    }
    value[C4_PREFILL_RATE] *= 1e9L; /* tokens per second */
    value[C5_DECODE_RATE] *= 1e9L;
    value[C6_TOTAL_RATE] = value[C4_PREFILL_RATE] + value[C5_DECODE_RATE];
    if (value[C3_DECODE] > 0) {
        value[C7_DECODE_USER] = value[C5_DECODE_RATE] / value[C3_DECODE];
    }
    if (value[C2_PREFILL] > 0) {
        value[C8_PREFILL_USER] = value[C4_PREFILL_RATE] / value[C2_PREFILL];
    }
}

static int by_time(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int by_value(const void *left, const void *right)
{
    long double a = ((const point *)left)->value;
    long double b = ((const point *)right)->value;
    return (a > b) - (a < b);
}

/* Nothing changes between neighbouring edges: one look at each left one will do. */
static int measure_curves(oracle *o)
{
    size_t edges = 0;
    int64_t *edge = malloc((2 * o->piece_count + 2) * sizeof *edge);
    if (edge == NULL) {
        return -1;
    }
    edge[edges++] = o->begin;
    edge[edges++] = o->end;
    for (size_t i = 0; i < o->piece_count; i++) {
        int64_t ends[2] = {o->pieces[i].from, o->pieces[i].to};
        for (int k = 0; k < 2; k++) {
            if (o->begin < ends[k] && ends[k] < o->end) {
                edge[edges++] = ends[k];
            }
        }
    }
    qsort(edge, edges, sizeof *edge, by_time);

    int emitted[CURVES] = {0};
    for (size_t i = 0; i < o->count; i++) {
        for (int c = 0; c < CURVES; c++) {
            emitted[c] |= eligible(&o->records[i], (enum curve)c);
        }
    }
    for (size_t m = 0; m < ROWS; m++) {
        if (rows[m].kind <= ACTIVE && emitted[rows[m].curve]) {
            o->clouds[m].points = malloc(edges * sizeof(point));
            if (o->clouds[m].points == NULL) {
                free(edge);
                return -1;
            }
        }
    }
    for (size_t i = 0; i + 1 < edges; i++) {
        long double value[CURVES];
        if (edge[i] >= edge[i + 1]) {
            continue;
        }
        evaluate(o, edge[i], value);
        for (size_t m = 0; m < ROWS; m++) {
            cloud *c = &o->clouds[m];
            int masked = rows[m].mask != CURVES && value[rows[m].mask] <= 0;
            if (c->points != NULL && !masked) {
                c->points[c->count++] = (point){value[rows[m].curve],
                                                edge[i + 1] - edge[i]};
            }
        }
    }
    free(edge);
    return 0;
}

/* ---- Samples ----------------------------------------------------------------------- */

static long double ms(int64_t from, int64_t to)
{
    return (long double)(to - from) / 1e6L;
}

/* What one ok member gives to a metric, its chunk gaps aside; negative: nothing. */
static long double sample(const tw_record *r, int32_t metric)
{
    int has_credit = known(r->credit_issued_ns);
    int has_first = known(r->generation_start_ns);
    int64_t decode = has_first ? r->end_ns - r->generation_start_ns : 0;
    long double gaps = (long double)(r->output_tokens - 1);
    switch (metric) {
    case TW_EFFECTIVE_LATENCY:
    case TW_ADJ_EFFECTIVE_LATENCY:
        return has_credit ? ms(credit_of(r), r->end_ns) : -1;
    case TW_CREDIT_TO_START_LATENCY:
        return has_credit ? ms(credit_of(r), r->start_ns) : -1;
    case TW_REQUEST_LATENCY:
    case TW_ADJ_REQUEST_LATENCY:
        return ms(r->start_ns, r->end_ns);
    case TW_TIME_TO_FIRST_TOKEN:
        return has_first ? ms(r->start_ns, r->generation_start_ns) : -1;
    case TW_TIME_TO_SECOND_TOKEN:
        return r->chunk_count > 0 ? ms(r->generation_start_ns, *r->chunk_arrival_ns) : -1;
    case TW_INTER_TOKEN_LATENCY:
        return has_first && gaps >= 1 ? (long double)decode / 1e6L / gaps : -1;
    case TW_OUTPUT_TOKEN_THROUGHPUT_PER_USER:
        return decode > 0 && gaps >= 1 ? gaps * 1e9L / (long double)decode : -1;
    case TW_OUTPUT_SEQUENCE_LENGTH:
        return (long double)r->output_tokens; /* unknown: negative */
    case TW_INPUT_SEQUENCE_LENGTH:
        return (long double)r->input_tokens;
    default:
        return -1;
    }
}

static void put(cloud *c, long double value)
{
    if (value >= 0) {
        c->points[c->count++] = (point){value, 1};
    }
}

static void put_chunk_gaps(const tw_record *r, cloud *c)
{
    int64_t previous = r->generation_start_ns;
    for (uint64_t i = 0; i < r->chunk_count; i++) {
        put(c, ms(previous, r->chunk_arrival_ns[i]));
        previous = r->chunk_arrival_ns[i];
    }
}

static int take_samples(oracle *o, size_t room)
{
    for (size_t m = 0; m < ROWS; m++) {
        cloud *c = &o->clouds[m];
        size_t errors = 0;
        int all = rows[m].id != TW_ADJ_EFFECTIVE_LATENCY;
        if (rows[m].kind != SAMPLE && rows[m].kind != ADJUSTED) {
            continue;
        }
        c->points = malloc((room + 1) * sizeof(point));
        if (c->points == NULL) {
            return -1;
        }
        for (size_t i = 0; i < o->count; i++) {
            const tw_record *r = &o->records[i];
            if (!is_member(o, r)) {
                continue;
            }
            if (r->status != TW_RECORD_OK) {
                errors += all || known(r->credit_issued_ns);
            } else if (rows[m].id == TW_INTER_CHUNK_LATENCY) {
                put_chunk_gaps(r, c);
            } else {
                put(c, sample(r, rows[m].id));
            }
        }
        if (rows[m].kind == ADJUSTED && (c->count == 0 || errors == 0)) {
            c->count = 0; /* it takes one of either kind */
        } else if (rows[m].kind == ADJUSTED) {
            for (size_t i = 0; i < errors; i++) {
                put(c, (long double)INFINITY);
            }
        }
    }
    return 0;
}

/* ---- Making it --------------------------------------------------------------------- */

static void choose_window(oracle *o, int has_begin, int64_t begin, int has_end,
                          int64_t end)
{
    int64_t last = 0;
    for (size_t i = 0; i < o->count; i++) {
        int64_t credit = credit_of(&o->records[i]);
        int64_t latest = last_time(&o->records[i]);
        o->first_credit = i == 0 || credit < o->first_credit ? credit : o->first_credit;
        last = i == 0 || latest > last ? latest : last;
    }
    o->begin = has_begin ? begin : o->first_credit;
    o->end = has_end ? end : last;
}

oracle *oracle_new(const tw_record *records, size_t count, int has_begin,
                   int64_t begin_ns, int has_end, int64_t end_ns)
{
    size_t arrivals = 0;
    oracle *o = calloc(1, sizeof *o);
    if (o == NULL) {
        return NULL;
    }
    o->records = records;
    o->count = count;
    choose_window(o, has_begin, begin_ns, has_end, end_ns);
    for (size_t i = 0; i < count; i++) {
        arrivals += (size_t)records[i].chunk_count;
    }
    /* Per record at most eight pieces, and two for each chunk. */
    o->pieces = malloc((8 * count + 2 * arrivals + 1) * sizeof *o->pieces);
    if (o->pieces == NULL) {
        oracle_free(o);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        add_record(o, &records[i]);
    }
    if (measure_curves(o) != 0 || take_samples(o, count + arrivals) != 0) {
        oracle_free(o);
        return NULL;
    }
    for (size_t m = 0; m < ROWS; m++) {
        if (o->clouds[m].count > 0) {
            qsort(o->clouds[m].points, o->clouds[m].count, sizeof(point), by_value);
        }
    }
    return o;
}

void oracle_free(oracle *o)
{
    if (o != NULL) {
        for (size_t m = 0; m < ROWS; m++) {
            free(o->clouds[m].points);
        }
        free(o->pieces);
        free(o);
    }
}

/* ---- Asking ------------------------------------------------------------------------ */

void oracle_window(const oracle *o, int64_t *begin_ns, int64_t *end_ns)
{
    *begin_ns = o->begin;
    *end_ns = o->end;
}

static void scalar(const oracle *o, int32_t metric, oracle_value *out)
{
    int64_t ok = 0, errors = 0, input = 0, output = 0;
    long double seconds = (long double)(o->end - o->begin) / 1e9L;
    long double value = seconds; /* TW_BENCHMARK_DURATION */

    for (size_t i = 0; i < o->count; i++) {
        const tw_record *r = &o->records[i];
        if (is_member(o, r) && r->status != TW_RECORD_OK) {
            errors++;
        } else if (is_member(o, r)) {
            ok++;
            input += r->input_tokens >= 0 ? r->input_tokens : 0;
            output += r->output_tokens >= 0 ? r->output_tokens : 0;
        }
    }
    if (o->count == 0 || (metric >= TW_REQUEST_THROUGHPUT && o->end <= o->begin)) {
        return;
    }
    if (metric == TW_REQUEST_COUNT) {
        value = (long double)ok;
    } else if (metric == TW_ERROR_REQUEST_COUNT) {
        value = (long double)errors;
    } else if (metric == TW_REQUEST_THROUGHPUT) {
        value = (long double)ok / seconds;
    } else if (metric == TW_OUTPUT_TOKEN_THROUGHPUT) {
        value = (long double)output / seconds;
    } else if (metric == TW_TOTAL_TOKEN_THROUGHPUT) {
        value = (long double)(input + output) / seconds;
    }
    out->emitted = 1;
    out->fields = TW_HAS_AVG;
    out->avg = (double)value;
    out->scale = out->avg;
}

/* ROWS if there is no such metric. */
static size_t find(int32_t metric)
{
    size_t m = 0;
    while (m < ROWS && rows[m].id != metric) {
        m++;
    }
    return m;
}

static int64_t total_weight(const cloud *c)
{
    int64_t total = 0;
    for (size_t i = 0; i < c->count; i++) {
        total += c->points[i].weight;
    }
    return total;
}

void oracle_metric(const oracle *o, int32_t metric, oracle_value *out)
{
    size_t m = find(metric);
    memset(out, 0, sizeof *out);
    if (m < ROWS && rows[m].kind == SCALAR) {
        scalar(o, metric, out);
    }
    if (m == ROWS || o->clouds[m].count == 0) {
        return;
    }
    const cloud *c = &o->clouds[m];
    long double total = (long double)total_weight(c);
    long double sum = 0;
    long double squares = 0;
    for (size_t i = 0; i < c->count; i++) {
        sum += c->points[i].value * (long double)c->points[i].weight;
        if (isfinite(c->points[i].value)) {
            out->scale = (double)c->points[i].value; /* none is negative */
        }
    }
    out->emitted = 1;
    out->fields = TW_HAS_AVG | TW_HAS_MIN | TW_HAS_MAX;
    out->avg = (double)(sum / total);
    out->min = (double)c->points[0].value;
    out->max = (double)c->points[c->count - 1].value;
    if (rows[m].kind != ADJUSTED) {
        for (size_t i = 0; i < c->count; i++) {
            long double off = c->points[i].value - sum / total;
            squares += off * off * (long double)c->points[i].weight;
        }
        out->fields |= TW_HAS_STD;
        out->std = (double)sqrtl(squares / total);
    }
    if (rows[m].kind <= ACTIVE) {
        out->fields |= TW_HAS_WEIGHT;
        out->weight_ns = o->end - o->begin;
    } else {
        out->fields |= TW_HAS_SUM | TW_HAS_COUNT;
        out->sum = (double)sum;
        out->count = c->count;
    }
    if (rows[m].kind == ACTIVE) {
        out->fields |= TW_HAS_ACTIVE;
        out->active_ns = total_weight(c);
    }
}

int oracle_quantile(const oracle *o, int32_t metric, double q, double *value)
{
    size_t m = find(metric);
    int64_t steps = (int64_t)roundl((long double)q * (long double)Q_ONE);
    if (m == ROWS || rows[m].kind == SCALAR) {
        return -2;
    }
    const cloud *c = &o->clouds[m];
    if (c->count == 0) {
        return -1;
    }
    if (rows[m].kind == SAMPLE) {
        wide rank = (wide)steps * (wide)(c->count - 1);
        size_t low = (size_t)(rank / Q_ONE);
        size_t high = low + 1 < c->count ? low + 1 : low;
        long double part = (long double)(rank % Q_ONE) / (long double)Q_ONE;
        *value = (double)(c->points[low].value * (1 - part) +
                          c->points[high].value * part);
        return 0;
    }
    wide wanted = (wide)steps * total_weight(c);
    wide reached = 0;
    for (size_t i = 0; i < c->count; i++) {
        reached += c->points[i].weight;
        if (reached * Q_ONE >= wanted) {
            *value = (double)c->points[i].value;
            return 0;
        }
    }
    return -1; /* never: all of the weight is at least q of it */
}

void oracle_balance(const oracle *o, tw_balance *b)
{
    b->flags = 0;
    b->issued = o->count;
    b->ok = b->failed = b->cancelled = b->in_flight = 0;
    b->credit_after_start = b->chunk_tokens_ignored = 0;
    b->overlapping = b->members = b->cut_at_begin = b->cut_at_end = 0;
    for (size_t i = 0; i < o->count; i++) {
        const tw_record *r = &o->records[i];
        int64_t end = known(r->end_ns) ? r->end_ns : FOREVER;
        int64_t from = r->start_ns > o->begin ? r->start_ns : o->begin;
        int64_t to = end < o->end ? end : o->end;

        b->in_flight += !known(r->end_ns);
        b->ok += known(r->end_ns) && r->status == TW_RECORD_OK;
        b->failed += r->status == TW_RECORD_FAILED;
        b->cancelled += r->status == TW_RECORD_CANCELLED;
        b->credit_after_start += known(r->credit_issued_ns) &&
                                 r->credit_issued_ns > r->start_ns;
        b->chunk_tokens_ignored += r->chunk_count > 0 && r->chunk_tokens != NULL &&
                                   !has_counts(r);
        b->members += (uint64_t)is_member(o, r);
        b->overlapping += from < to || is_member(o, r);
        b->cut_at_begin += r->start_ns < o->begin && o->begin < end;
        b->cut_at_end += r->start_ns < o->end && o->end < last_time(r);
    }
}
