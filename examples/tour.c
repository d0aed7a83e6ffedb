/* SPDX-License-Identifier: MIT */

/* A piece of code for each part of the interface; the reference shows them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <timeweight/timeweight.h>

static void check(int32_t status)
{
    if (status != TW_OK) {
        fprintf(stderr, "tour: %s\n", tw_strerror(status));
        exit(EXIT_FAILURE);
    }
}

static void expect(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "tour: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

/* What every program does. */
static void first_number(int64_t due, int64_t sent, int64_t first_token,
                         int64_t last_token)
{
    /* [append] */
    tw_recorder *recorder;
    check(tw_recorder_new(&recorder, NULL));

    tw_record record;
    tw_record_init(&record, sizeof record); /* nothing is known */
    record.credit_issued_ns = due;
    record.start_ns = sent;
    record.generation_start_ns = first_token;
    record.end_ns = last_token;
    record.input_tokens = 200;
    record.output_tokens = 100;
    check(tw_recorder_append(recorder, &record, 1, sizeof record, 0, NULL));
    /* [append] */

    /* [ask] */
    tw_analysis *analysis;
    check(tw_analyze(&analysis, &recorder, 1, NULL));

    tw_summary summary = {.struct_size = sizeof summary};
    check(tw_analysis_summary(analysis, TW_EFFECTIVE_LATENCY, &summary));
    printf("latency as the user sees it: %g ms\n", summary.avg);

    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
    /* [ask] */
    expect(summary.avg == 2000, "from 0 to 2 s");
}

static void look_at_the_version(void)
{
    /* [version] */
    if (tw_version() < TW_VERSION) {
        fprintf(stderr, "built for libtimeweight " TW_VERSION_STRING ", but this is %s\n",
                tw_version_string());
    }
    /* [version] */
}

static int32_t append_or_explain(tw_recorder *recorder, const tw_record *record)
{
    /* [status] */
    int32_t status = tw_recorder_append(recorder, record, 1, sizeof *record, 0, NULL);
    if (status == TW_ERR_RANGE) { /* refused: the recorder knows which rule was broken */
        tw_error error = {.struct_size = sizeof error};
        check(tw_recorder_last_error(recorder, &error));
        printf("record %" PRIu64 ": %s %s [%s]\n", error.row, tw_field_name(error.field),
               tw_rule_text(error.rule), tw_rule_name(error.rule));
    } else if (status != TW_OK) {
        printf("%s: %s\n", tw_status_name(status), tw_strerror(status));
    }
    /* [status] */
    return status;
}

/* [allocator] */
/* Memory up to a limit. */
struct budget {
    size_t used, limit;
};

static void *budget_alloc(void *user_data, size_t size, size_t align)
{
    struct budget *budget = user_data;
    size_t whole = (size + align - 1) / align * align; /* as aligned_alloc() wants it */
    if (whole < size || whole > budget->limit - budget->used) {
        return NULL; /* the call that needed it returns TW_ERR_NOMEM */
    }
    void *ptr = aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align, whole);
    budget->used += ptr != NULL ? whole : 0;
    return ptr;
}

static void budget_free(void *user_data, void *ptr, size_t size, size_t align)
{
    struct budget *budget = user_data;
    budget->used -= (size + align - 1) / align * align;
    free(ptr);
}

static tw_recorder *recorder_within(struct budget *budget)
{
    tw_allocator allocator = {
        .struct_size = sizeof allocator,
        .user_data = budget,
        .alloc = budget_alloc,
        .free = budget_free,
    };
    tw_recorder_options options = {.struct_size = sizeof options,
                                   .allocator = &allocator};
    tw_recorder *recorder;
    check(tw_recorder_new(&recorder, &options));
    return recorder;
}
/* [allocator] */

static void append_one(tw_recorder *recorder)
{
    /* [record] */
    const int64_t chunks[] = {40, 60, 100};
    tw_record record;
    tw_record_init(&record, sizeof record);
    record.credit_issued_ns = 0; /* it was due */
    record.start_ns = 10;        /* it was sent */
    record.generation_start_ns = 30;
    record.end_ns = 100;
    record.input_tokens = 50;
    record.output_tokens = 4;
    record.chunk_arrival_ns = chunks; /* of the tokens after the first */
    record.chunk_count = 3;
    check(append_or_explain(recorder, &record));
    /* [record] */
    record.end_ns = 5; /* before its start */
    expect(append_or_explain(recorder, &record) == TW_ERR_RANGE, "it is refused");
}

static void append_many(tw_recorder *recorder)
{
    /* [columns] */
    /* Requests as the program keeps them: a column is a member of each. */
    struct request {
        char url[20];
        int64_t sent_ns, done_ns;
    };
    const struct request requests[] = {{"/a", 0, 40}, {"/b", 20, 60}, {"/c", 60, 100}};
    tw_columns columns = {.struct_size = sizeof columns, .count = 3};
    columns.start_ns.values = &requests[0].sent_ns;
    columns.start_ns.stride = sizeof requests[0];
    columns.end_ns.values = &requests[0].done_ns;
    columns.end_ns.stride = sizeof requests[0];
    check(tw_recorder_append_columns(recorder, &columns, 0, NULL));
    /* [columns] */
}

static void list_metrics(void)
{
    /* [metric] */
    for (size_t i = 0; i < tw_metric_count(); i++) {
        tw_metric_row row = {.struct_size = sizeof row};
        check(tw_metric_info(i, &row));
        printf("%s (%s): %s\n", row.tag, row.unit, row.description);
    }
    /* [metric] */
}

/* The mean concurrency of two recorders between 0 and 100 ns. */
static tw_analysis *analyze(tw_recorder *first, tw_recorder *second)
{
    /* [analysis] */
    tw_recorder *recorders[] = {first, second}; /* one run, from two threads */
    tw_options options;
    tw_analysis *analysis;
    tw_options_init(&options, sizeof options);
    options.flags = TW_WINDOW_BEGIN | TW_WINDOW_END;
    options.window_begin_ns = 0;
    options.window_end_ns = 100;
    check(tw_analyze(&analysis, recorders, 2, &options));

    tw_summary summary = {.struct_size = sizeof summary};
    check(tw_analysis_summary(analysis, TW_EFFECTIVE_CONCURRENCY, &summary));
    printf("%g requests in flight, at most %g\n", summary.avg, summary.max);
    /* [analysis] */

    /* 90 ns of the one, 120 ns of the three others, in 100 ns. */
    expect(summary.avg == 2.1, "the mean is 210 / 100");
    return analysis;
}

static void ask_quantiles(const tw_analysis *analysis)
{
    /* [quantiles] */
    const double q[] = {0.5, 0.99};
    double values[2];
    int32_t status;
    status = tw_analysis_quantiles(analysis, TW_EFFECTIVE_CONCURRENCY, q, values, 2);
    if (status == TW_ERR_NODATA) {
        printf("not measured in this run\n"); /* which is not a zero */
    } else {
        check(status);
        printf("half of the time %g requests or fewer were in flight\n", values[0]);
    }
    /* [quantiles] */
    expect(status == TW_OK && values[0] == 2, "the median is 2");
}

static void read_curve(const tw_analysis *analysis)
{
    size_t pieces = 0;
    /* [curve] */
    int64_t from_ns, end_ns;
    check(tw_analysis_bounds(analysis, &from_ns, &end_ns));
    do {
        tw_segment page[64];
        size_t written;
        check(tw_analysis_curve(analysis, TW_EFFECTIVE_CONCURRENCY, from_ns, page, 64,
                                sizeof page[0], &written, &from_ns));
        for (size_t i = 0; i < written; i++) {
            printf("%" PRId64 " %" PRId64 " %g\n", page[i].begin_ns, page[i].end_ns,
                   page[i].value);
        }
        pieces += written;
    } while (from_ns != end_ns);
    /* [curve] */
    expect(pieces == 4, "1 from 0, 2 from 10, 3 from 20, 2 from 40 on");
}

/* [report] */
static int32_t to_file(void *user_data, const char *bytes, size_t length)
{
    return fwrite(bytes, 1, length, user_data) == length ? 0 : 1;
}

static void print_report(const tw_analysis *analysis)
{
    check(tw_report_write(analysis, TW_FORMAT_TEXT, NULL, to_file, stdout));
}
/* [report] */

static void count_rows(const tw_analysis *analysis)
{
    int64_t rows = 0;
    /* [arrow] */
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    check(tw_arrow_metrics(&stream, analysis));
    while (stream.get_next(&stream, &array) == 0 && array.release != NULL) {
        rows += array.length;
        array.release(&array);
    }
    stream.release(&stream);
    /* [arrow] */
    expect(rows > 20 && rows <= (int64_t)tw_metric_count(), "a row per metric");
}

int main(void)
{
    struct budget budget = {.limit = 1 << 20};
    tw_recorder *bounded = recorder_within(&budget), *other;

    first_number(0, 5000000, 100000000, 2000000000);
    look_at_the_version();
    append_one(bounded);
    check(tw_recorder_new(&other, NULL));
    append_many(other);
    list_metrics();

    tw_analysis *analysis = analyze(bounded, other);
    ask_quantiles(analysis);
    read_curve(analysis);
    print_report(analysis);
    count_rows(analysis);

    tw_analysis_free(analysis);
    tw_recorder_free(bounded);
    tw_recorder_free(other);
    expect(budget.used == 0, "all memory came back");
    return EXIT_SUCCESS;
}
