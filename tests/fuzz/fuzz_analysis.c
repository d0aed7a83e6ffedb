/* SPDX-License-Identifier: MIT */
/* Bytes become records, an analysis, every query and every report; what comes out must
 * obey the invariants that hold for any input. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

#include "fuzz.h"

enum { RECORDS_MOST = 64, CHUNKS_MOST = 16, RECORDERS = 2 };

#define EXPECT(condition) expect((condition) != 0, #condition, __LINE__)

static void expect(int holds, const char *what, int line)
{
    if (!holds) {
        fprintf(stderr, "fuzz_analysis.c:%d: does not hold: %s\n", line, what);
        abort();
    }
}

/* ---- Bytes to records -------------------------------------------------------------- */

typedef struct bytes {
    const uint8_t *at;
    size_t left;
} bytes;

static uint64_t take(bytes *in, unsigned count)
{
    uint64_t value = 0;
    for (; count && in->left; count--, in->left--)
        value = value << 8 | *in->at++;
    return value;
}

/* A time near `base`, or missing, or anything at all. */
static int64_t take_time(bytes *in, int64_t base)
{
    switch (take(in, 1) % 16) {
    case 0:
        return TW_TIME_NONE;
    case 1:
        return (int64_t)take(in, 8);
    case 2:
        return base;
    case 3:
        return base + (int64_t)take(in, 4);
    default:
        return base + (int64_t)take(in, 1);
    }
}

static int64_t take_tokens(bytes *in)
{
    switch (take(in, 1) % 8) {
    case 0:
        return TW_TOKENS_NONE;
    case 1:
        return (int64_t)take(in, 5);
    case 2:
        return (int64_t)take(in, 8);
    default:
        return (int64_t)take(in, 1);
    }
}

typedef struct made {
    tw_record record;
    int64_t arrival[CHUNKS_MOST];
    int64_t tokens[CHUNKS_MOST];
} made;

static void take_record(bytes *in, int64_t base, made *m)
{
    tw_record *r = &m->record;
    const uint64_t kind = take(in, 1);
    int64_t from;

    tw_record_init(r, sizeof *r);
    r->start_ns = take_time(in, base);
    from = r->start_ns == TW_TIME_NONE ? 0 : r->start_ns;
    r->generation_start_ns = kind & 1 ? take_time(in, from) : TW_TIME_NONE;
    if (r->generation_start_ns != TW_TIME_NONE)
        from = r->generation_start_ns;
    if (kind & 2) {
        r->chunk_count = take(in, 1) % (CHUNKS_MOST + 1);
        r->chunk_arrival_ns = m->arrival;
        for (uint64_t i = 0; i < r->chunk_count; i++) {
            m->arrival[i] = from = take_time(in, from);
            m->tokens[i] = take_tokens(in);
        }
        if (kind & 4)
            r->chunk_tokens = m->tokens;
    }
    r->end_ns = kind & 8 ? TW_TIME_NONE : take_time(in, from);
    r->credit_issued_ns = kind & 16 ? take_time(in, base - 100) : TW_TIME_NONE;
    r->input_tokens = take_tokens(in);
    r->output_tokens = take_tokens(in);
    r->status = (int32_t)(kind >> 5 & 3);
    r->flags = kind & 128 ? TW_RECORD_STREAMING : 0;
}

/* ---- Invariants -------------------------------------------------------------------- */

static int close_to(double a, double b, double tolerance)
{
    return a == b || fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static void check_quantiles(const tw_analysis *analysis, int32_t metric,
                            const tw_summary *summary, double odd)
{
    const double q[] = {0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1, odd};
    enum { COUNT = sizeof q / sizeof q[0] };
    double v[COUNT];

    EXPECT(tw_analysis_quantiles(analysis, metric, q, v, COUNT) == TW_OK);
    EXPECT(v[0] == summary->min);
    EXPECT(v[COUNT - 2] == summary->max);
    for (int i = 1; i < COUNT - 1; i++)
        EXPECT(v[i - 1] <= v[i]);
    for (int i = 0; i < COUNT - 1; i++) {
        EXPECT(!(q[i] <= odd) || v[i] <= v[COUNT - 1]);
        EXPECT(!(q[i] >= odd) || v[i] >= v[COUNT - 1]);
    }
}

static void check_summary(const tw_summary *s)
{
    EXPECT(s->error_bound == 0 && s->flags == 0);
    if (!(s->fields & TW_HAS_MIN)) {
        EXPECT(s->fields == TW_HAS_AVG && isfinite(s->avg) && s->avg >= 0);
        return;
    }
    EXPECT(s->min >= 0);
    EXPECT(s->min <= s->avg && s->avg <= s->max);
    if (s->fields & TW_HAS_STD) {
        EXPECT(isfinite(s->max) && s->std >= 0);
        EXPECT(s->std <= (s->max - s->min) / 2 * (1 + 1e-12) + s->max * 1e-12);
        if (s->min == s->max)
            EXPECT(s->std <= s->max * 1e-12);
    }
    if (s->fields & TW_HAS_ACTIVE)
        EXPECT(s->active_ns > 0 && s->active_ns <= s->weight_ns);
}

static double mean(const tw_analysis *analysis, int32_t metric, int64_t *weight_ns)
{
    tw_summary s = {.struct_size = sizeof s};
    const int32_t status = tw_analysis_summary(analysis, metric, &s);

    EXPECT(status == TW_OK || status == TW_ERR_NODATA);
    *weight_ns = s.fields & TW_HAS_ACTIVE ? s.active_ns : s.weight_ns;
    return status == TW_OK ? s.avg : 0;
}

/* active avg * active time = effective avg * window. */
static void check_active(const tw_analysis *analysis, int32_t effective, int32_t active)
{
    int64_t window_ns, active_ns;
    const double a = mean(analysis, effective, &window_ns) * (double)window_ns;
    const double b = mean(analysis, active, &active_ns) * (double)active_ns;

    EXPECT(close_to(a, b, 1e-12) || (active_ns == 0 && a == 0));
}

/* Little's law: the integral of concurrency is the time that requests spend in the
 * window. */
static void check_little(const tw_analysis *analysis, const made *all, size_t count,
                         const int *stored, int64_t begin, int64_t end)
{
    long double time = 0;
    int64_t window_ns;
    double avg;

    for (size_t i = 0; i < count; i++) {
        const tw_record *r = &all[i].record;
        int64_t from = r->start_ns > begin ? r->start_ns : begin;
        int64_t to = r->end_ns == TW_TIME_NONE || r->end_ns > end ? end : r->end_ns;
        if (stored[i] && from < to)
            time += (long double)(to - from);
    }
    avg = mean(analysis, TW_EFFECTIVE_CONCURRENCY, &window_ns);
    EXPECT(close_to(avg * (double)window_ns, (double)time, 1e-12));
}

/* The segments of a curve weigh what its summary says, and lie between min and max. */
static void check_curve(const tw_analysis *analysis, int32_t metric, const tw_summary *s)
{
    const int64_t weight = s->fields & TW_HAS_ACTIVE ? s->active_ns : s->weight_ns;
    int64_t next = INT64_MIN, sum = 0, last = INT64_MIN;
    size_t written;

    do {
        tw_segment page[5];

        EXPECT(tw_analysis_curve(analysis, metric, next, page, 5, sizeof page[0],
                                 &written, &next) == TW_OK);
        for (size_t i = 0; i < written; i++) {
            EXPECT(page[i].begin_ns >= last && page[i].begin_ns < page[i].end_ns);
            EXPECT(s->min <= page[i].value && page[i].value <= s->max);
            last = page[i].end_ns;
            sum += page[i].end_ns - page[i].begin_ns;
        }
    } while (written == 5);
    EXPECT(sum == weight);
}

/* A series of one bin is the summary; two bins that tile the window add up to it. */
static void check_series(const tw_analysis *analysis, int32_t metric, const tw_summary *s)
{
    const int64_t limit = INT64_C(1) << 61;
    const int64_t weight = s->fields & TW_HAS_ACTIVE ? s->active_ns : s->weight_ns;
    int64_t begin, end, width;
    tw_bin one, two[2];

    EXPECT(tw_analysis_bounds(analysis, &begin, &end) == TW_OK);
    EXPECT(tw_analysis_series(analysis, metric, begin, end - begin, &one, 1,
                              sizeof one) == TW_OK);
    EXPECT(one.weight_ns == weight);
    EXPECT(one.mean == s->avg && one.min == s->min && one.max == s->max);
    width = (end - begin) / 2 + (end - begin) % 2;
    if (width > (limit - begin) / 2)
        return;
    EXPECT(tw_analysis_series(analysis, metric, begin, width, two, 2, sizeof one) ==
           TW_OK);
    EXPECT(two[0].weight_ns + two[1].weight_ns == weight);
    EXPECT(close_to(two[0].mean * (double)two[0].weight_ns +
                        two[1].mean * (double)two[1].weight_ns,
                    s->avg * (double)weight, 1e-12));
}

/* ---- Queries ----------------------------------------------------------------------- */

static int32_t swallow(void *user_data, const char *text, size_t length)
{
    size_t *sum = user_data;
    for (size_t i = 0; i < length; i++)
        *sum += (unsigned char)text[i];
    return 0;
}

static void check_analysis(const tw_analysis *analysis, double odd)
{
    tw_balance balance = {.struct_size = sizeof balance};
    size_t sum = 0;

    EXPECT(tw_analysis_balance(analysis, &balance) == TW_OK);
    EXPECT(balance.issued ==
           balance.ok + balance.failed + balance.cancelled + balance.in_flight);
    EXPECT(balance.members <= balance.overlapping &&
           balance.overlapping <= balance.issued);
    for (size_t i = 0; i < tw_metric_count(); i++) {
        tw_metric_row row = {.struct_size = sizeof row};
        tw_summary summary = {.struct_size = sizeof summary};
        int32_t status;

        EXPECT(tw_metric_info(i, &row) == TW_OK);
        status = tw_analysis_summary(analysis, row.id, &summary);
        EXPECT(status == TW_OK || status == TW_ERR_NODATA);
        if (status == TW_OK) {
            check_summary(&summary);
            if (row.kind != TW_KIND_SCALAR)
                check_quantiles(analysis, row.id, &summary, odd);
            if (row.kind == TW_KIND_CURVE) {
                check_curve(analysis, row.id, &summary);
                check_series(analysis, row.id, &summary);
            }
        }
    }
    check_active(analysis, TW_EFFECTIVE_DECODE_THROUGHPUT, TW_ACTIVE_DECODE_THROUGHPUT);
    check_active(analysis, TW_EFFECTIVE_PREFILL_THROUGHPUT, TW_ACTIVE_PREFILL_THROUGHPUT);
    check_active(analysis, TW_EFFECTIVE_TOTAL_THROUGHPUT, TW_ACTIVE_TOTAL_THROUGHPUT);
    for (int32_t format = TW_FORMAT_TEXT; format <= TW_FORMAT_JSON; format++)
        EXPECT(tw_report_write(analysis, format, NULL, swallow, &sum) == TW_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static made all[RECORDS_MOST];
    int stored[RECORDS_MOST];
    bytes in = {data, size};
    const uint64_t setup = take(&in, 1);
    const int64_t base = setup & 1 ? INT64_C(1760000000000000000) : 0;
    const double odd = (double)take(&in, 2) / 65535;
    tw_options options;
    tw_recorder *recorders[RECORDERS];
    tw_analysis *analysis = NULL;
    size_t count = 0;
    int64_t begin, end;
    int32_t status;

    tw_options_init(&options, sizeof options);
    if (setup & 2)
        options.flags |= TW_WINDOW_BEGIN;
    if (setup & 4)
        options.flags |= TW_WINDOW_END;
    options.window_begin_ns = take_time(&in, base);
    options.window_end_ns = take_time(&in, options.window_begin_ns);
    if (setup & 8) {
        options.quantiles = &odd;
        options.quantile_count = 1;
    }
    for (int i = 0; i < RECORDERS; i++)
        EXPECT(tw_recorder_new(&recorders[i], NULL) == TW_OK);
    for (; count < RECORDS_MOST && in.left; count++) {
        tw_recorder *recorder = recorders[count % RECORDERS];
        size_t accepted = 0;

        take_record(&in, base, &all[count]);
        EXPECT(tw_recorder_append(recorder, &all[count].record, 1, sizeof(tw_record),
                                  TW_APPEND_SKIP_INVALID, &accepted) == TW_OK);
        stored[count] = accepted == 1;
    }

    status = tw_analyze(&analysis, recorders, RECORDERS, &options);
    EXPECT(status == TW_OK || status == TW_ERR_INVAL);
    if (status == TW_OK) {
        EXPECT(tw_analysis_bounds(analysis, &begin, &end) == TW_OK && begin <= end);
        tw_analysis *window = NULL;
        const int64_t middle = begin + (int64_t)((double)(end - begin) * odd);

        check_analysis(analysis, odd);
        check_little(analysis, all, count, stored, begin, end);
        EXPECT(tw_analysis_window(&window, analysis, middle < end ? middle : end, end) ==
               TW_OK);
        check_analysis(window, 1 - odd);
        check_little(window, all, count, stored, middle < end ? middle : end, end);
        tw_analysis_free(window);
    } else {
        EXPECT(analysis == NULL && (options.flags & (TW_WINDOW_BEGIN | TW_WINDOW_END)));
    }
    tw_analysis_free(analysis);
    for (int i = 0; i < RECORDERS; i++)
        tw_recorder_free(recorders[i]);
    return 0;
}
