/* SPDX-License-Identifier: MIT */

/* Four users, each sending ten requests of 200 tokens one after the other: what a load
 * generator does, with all metrics that come out of it. */
#include <stdio.h>
#include <stdlib.h>
#include <timeweight/timeweight.h>

#define MS INT64_C(1000000) /* ns */
#define HALF 20             /* of the 40 requests */

/* When request i is due, and how long its tokens take after the first. */
static int64_t due_ns(int i)
{
    return i / 4 * 2100 * MS + i % 4 * MS;
}

static int64_t decode_ns(int i)
{
    return (1600 + 9 * i) * MS;
}

/* The first half of the run: each request is appended when it has ended. */
static int32_t append_in_a_loop(tw_recorder *recorder)
{
    int32_t status = TW_OK;
    for (int i = 0; i < HALF && status == TW_OK; i++) {
        tw_record record;
        tw_record_init(&record, sizeof record);
        record.credit_issued_ns = due_ns(i);                       /* it is due */
        record.start_ns = record.credit_issued_ns + 5 * MS;        /* it is sent */
        record.generation_start_ns = record.start_ns + 100 * MS;   /* first token */
        record.end_ns = record.generation_start_ns + decode_ns(i); /* last token */
        record.input_tokens = 200;
        record.output_tokens = 100;
        status = tw_recorder_append(recorder, &record, 1, sizeof record, 0, NULL);
    }
    return status;
}

/* The second half: the requests lie in columns, and one call takes them all. */
static int32_t append_columns(tw_recorder *recorder)
{
    int64_t due[HALF], start[HALF], first[HALF], end[HALF], input[HALF], output[HALF];
    for (int row = 0; row < HALF; row++) {
        due[row] = due_ns(HALF + row);
        start[row] = due[row] + 5 * MS;
        first[row] = start[row] + 100 * MS;
        end[row] = first[row] + decode_ns(HALF + row);
        input[row] = 200;
        output[row] = 100;
    }
    tw_columns columns = {
        .struct_size = sizeof columns,
        .count = HALF,
        .credit_issued_ns.values = due,
        .start_ns.values = start,
        .generation_start_ns.values = first,
        .end_ns.values = end,
        .input_tokens.values = input,
        .output_tokens.values = output,
    };
    return tw_recorder_append_columns(recorder, &columns, 0, NULL);
}

/* A row that cannot be: nothing of the call is stored, and the recorder says why. */
static int32_t append_nonsense(tw_recorder *recorder)
{
    const int64_t start[] = {0, 500 * MS}, end[] = {100 * MS, 400 * MS};
    tw_columns columns = {
        .struct_size = sizeof columns,
        .count = 2,
        .start_ns.values = start,
        .end_ns.values = end,
    };
    tw_error error = {.struct_size = sizeof error};
    int32_t status = tw_recorder_append_columns(recorder, &columns, 0, NULL);
    if (status != TW_ERR_RANGE) {
        return status == TW_OK ? TW_ERR_INVAL : status;
    }
    status = tw_recorder_last_error(recorder, &error);
    printf("refused: row %d: %s %s [%s]\n", (int)error.row, tw_field_name(error.field),
           tw_rule_text(error.rule), tw_rule_name(error.rule));
    return status;
}

/* Whatever metrics the library has, in the order of a report. */
static int32_t print_metrics(const tw_analysis *analysis)
{
    for (size_t i = 0; i < tw_metric_count(); i++) {
        tw_metric_row metric = {.struct_size = sizeof metric};
        tw_summary summary = {.struct_size = sizeof summary};
        int32_t status = tw_metric_info(i, &metric);
        if (status == TW_OK) {
            status = tw_analysis_summary(analysis, metric.id, &summary);
        }
        if (status == TW_OK) {
            printf("%s %.17g %s\n", metric.tag, summary.avg, metric.unit);
        } else if (status != TW_ERR_NODATA) { /* not measured in this run: left out */
            return status;
        }
    }
    return TW_OK;
}

static int32_t print_latency(const tw_analysis *analysis)
{
    const double q[] = {0.5, 0.99};
    double ms[2];
    int32_t status = tw_analysis_quantiles(analysis, TW_EFFECTIVE_LATENCY, q, ms, 2);
    if (status == TW_OK) {
        printf("effective latency: p50 %.17g ms, p99 %.17g ms\n", ms[0], ms[1]);
    }
    return status;
}

int main(void)
{
    tw_recorder *recorder = NULL;
    tw_analysis *analysis = NULL;
    int32_t status = tw_recorder_new(&recorder, NULL);

    if (status == TW_OK) {
        status = append_in_a_loop(recorder);
    }
    if (status == TW_OK) {
        status = append_columns(recorder);
    }
    if (status == TW_OK) {
        status = append_nonsense(recorder);
    }
    if (status == TW_OK) {
        status = tw_analyze(&analysis, &recorder, 1, NULL);
    }
    if (status == TW_OK) {
        status = print_metrics(analysis);
    }
    if (status == TW_OK) {
        status = print_latency(analysis);
    }
    if (status != TW_OK) {
        fprintf(stderr, "quickstart: %s\n", tw_strerror(status));
    }
    tw_analysis_free(analysis); /* on every path; NULL is fine */
    tw_recorder_free(recorder);
    return status == TW_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
