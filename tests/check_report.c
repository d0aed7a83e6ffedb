/* SPDX-License-Identifier: MIT */
/* Reports of tiny runs against texts written by hand. */

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vocabulary.h"

#define SEC INT64_C(1000000000)

/* ---- One request ------------------------------------------------------------------- */

/* Two seconds long, and nothing else is known of it. */
static tw_analysis *analyze_one(void)
{
    const tw_record r = record(0, NEVER, 2 * SEC, UNKNOWN, UNKNOWN);
    return analysis_of(&r, 1, NULL);
}

/* clang-format off */
static const char text_of_one[] =
"libtimeweight " TW_VERSION_STRING "\n"
"Window:  0 to 2000000000 ns (2 sec)\n"
"Records: 1 issued = 1 ok + 0 failed + 0 cancelled + 0 in flight; 0 refused\n"
"         1 overlap the window, 1 ended in it; cut at its begin: 0, at its end: 0\n"
"\n"
"LLM Metrics: Effective\n"
"Metric                             avg   min   max   p99   p90   p50   std\n"
"--------------------------------------------------------------------------\n"
"Effective Concurrency (requests)  1.00  1.00  1.00  1.00  1.00  1.00  0.00\n"
"\n"
"LLM Metrics\n"
"Metric                                     avg       min       max       p99       p90       p50   std\n"
"------------------------------------------------------------------------------------------------------\n"
"Request Latency (ms)                  2,000.00  2,000.00  2,000.00  2,000.00  2,000.00  2,000.00  0.00\n"
"Request Count (requests)                  1.00       N/A       N/A       N/A       N/A       N/A   N/A\n"
"Error Request Count (requests)            0.00       N/A       N/A       N/A       N/A       N/A   N/A\n"
"Benchmark Duration (sec)                  2.00       N/A       N/A       N/A       N/A       N/A   N/A\n"
"Request Throughput (requests/sec)         0.50       N/A       N/A       N/A       N/A       N/A   N/A\n"
"Output Token Throughput (tokens/sec)      0.00       N/A       N/A       N/A       N/A       N/A   N/A\n"
"Total Token Throughput (tokens/sec)       0.00       N/A       N/A       N/A       N/A       N/A   N/A\n";

#define NO_REFUSALS \
"\"refused_start_missing\":0,\"refused_time_range\":0," \
"\"refused_generation_before_start\":0,\"refused_end_before_start\":0," \
"\"refused_end_before_generation\":0,\"refused_end_missing\":0," \
"\"refused_status_unknown\":0,\"refused_tokens_range\":0," \
"\"refused_chunk_arrival_missing\":0,\"refused_chunk_count_range\":0," \
"\"refused_chunk_before_generation\":0,\"refused_chunk_order\":0," \
"\"refused_chunk_after_end\":0,\"refused_chunk_tokens_range\":0," \
"\"refused_number_inexact\":0,\"refused_chunk_tokens_count\":0"

#define SCALAR(tag, header, unit, value) \
"\"" tag "\":{\"group\":\"DEFAULT\",\"header\":\"" header "\",\"unit\":\"" unit \
"\",\"avg\":" value "}"

static const char json_of_one[] =
"{\"schema\":1,\"library\":\"" TW_VERSION_STRING "\","
"\"window\":{\"begin_ns\":0,\"end_ns\":2000000000},"
"\"balance\":{\"issued\":1,\"ok\":1,\"failed\":0,\"cancelled\":0,\"in_flight\":0,\"refused\":0,"
"\"overlapping\":1,\"members\":1,\"cut_at_begin\":0,\"cut_at_end\":0},"
"\"counters\":{\"credit_after_start\":0,\"chunk_tokens_ignored\":0," NO_REFUSALS "},"
"\"metrics\":{"
"\"effective_concurrency\":{\"group\":\"EFFECTIVE\",\"header\":\"Effective Concurrency\","
"\"unit\":\"requests\",\"avg\":1,\"min\":1,\"max\":1,\"std\":0,\"p1\":1,\"p5\":1,\"p10\":1,"
"\"p25\":1,\"p50\":1,\"p75\":1,\"p90\":1,\"p95\":1,\"p99\":1},"
"\"request_latency\":{\"group\":\"DEFAULT\",\"header\":\"Request Latency\",\"unit\":\"ms\","
"\"avg\":2000,\"min\":2000,\"max\":2000,\"std\":0,\"p1\":2000,\"p5\":2000,\"p10\":2000,"
"\"p25\":2000,\"p50\":2000,\"p75\":2000,\"p90\":2000,\"p95\":2000,\"p99\":2000,\"count\":1,"
"\"sum\":2000},"
SCALAR("request_count", "Request Count", "requests", "1") ","
SCALAR("error_request_count", "Error Request Count", "requests", "0") ","
SCALAR("benchmark_duration", "Benchmark Duration", "sec", "2") ","
SCALAR("request_throughput", "Request Throughput", "requests/sec", "0.5") ","
SCALAR("output_token_throughput", "Output Token Throughput", "tokens/sec", "0") ","
SCALAR("total_token_throughput", "Total Token Throughput", "tokens/sec", "0")
"}}\n";

#define EMPTY_16 ",,,,,,,,,,,,,,,,"

static const char csv_of_one[] =
"metric,group,header,unit,avg,min,max,std,p1,p5,p10,p25,p50,p75,p90,p95,p99,count,sum,"
"active_ns,active_fraction\n"
"effective_concurrency,EFFECTIVE,Effective Concurrency,requests,1,1,1,0,1,1,1,1,1,1,1,1,1,,,,\n"
"request_latency,DEFAULT,Request Latency,ms,2000,2000,2000,0,2000,2000,2000,2000,2000,2000,"
"2000,2000,2000,1,2000,,\n"
"request_count,DEFAULT,Request Count,requests,1" EMPTY_16 "\n"
"error_request_count,DEFAULT,Error Request Count,requests,0" EMPTY_16 "\n"
"benchmark_duration,DEFAULT,Benchmark Duration,sec,2" EMPTY_16 "\n"
"request_throughput,DEFAULT,Request Throughput,requests/sec,0.5" EMPTY_16 "\n"
"output_token_throughput,DEFAULT,Output Token Throughput,tokens/sec,0" EMPTY_16 "\n"
"total_token_throughput,DEFAULT,Total Token Throughput,tokens/sec,0" EMPTY_16 "\n";
/* clang-format on */

static void check_report(const tw_analysis *analysis, int32_t format,
                         const tw_report_options *options, const char *wanted)
{
    sink s = report_of(analysis, format, options);

    assert_text(s.text, wanted);
    assert_u64(s.length, strlen(wanted));
    sink_free(&s);
}

START_TEST(one_request)
{
    tw_analysis *analysis = analyze_one();

    check_report(analysis, TW_FORMAT_TEXT, NULL, text_of_one);
    check_report(analysis, TW_FORMAT_JSON, NULL, json_of_one);
    check_report(analysis, TW_FORMAT_CSV, NULL, csv_of_one);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(no_request)
{
    tw_analysis *analysis = analysis_of(NULL, 0, NULL);

    check_report(analysis, TW_FORMAT_TEXT, NULL,
                 "libtimeweight " TW_VERSION_STRING "\n"
                 "Window:  0 to 0 ns (0 sec)\n"
                 "Records: 0 issued = 0 ok + 0 failed + 0 cancelled + 0 in flight; "
                 "0 refused\n"
                 "         0 overlap the window, 0 ended in it; cut at its begin: 0, "
                 "at its end: 0\n");
    check_report(
        analysis, TW_FORMAT_JSON, NULL,
        "{\"schema\":1,\"library\":\"" TW_VERSION_STRING "\","
        "\"window\":{\"begin_ns\":0,\"end_ns\":0},"
        "\"balance\":{\"issued\":0,\"ok\":0,\"failed\":0,\"cancelled\":0,"
        "\"in_flight\":0,\"refused\":0,\"overlapping\":0,\"members\":0,"
        "\"cut_at_begin\":0,\"cut_at_end\":0},"
        "\"counters\":{\"credit_after_start\":0,\"chunk_tokens_ignored\":0," NO_REFUSALS
        "},\"metrics\":{}}\n");
    check_report(analysis, TW_FORMAT_CSV, NULL,
                 "metric,group,header,unit,avg,min,max,std,p1,p5,p10,p25,p50,p75,p90,p95,"
                 "p99,count,sum,active_ns,active_fraction\n");
    tw_analysis_free(analysis);
}
END_TEST

/* ---- Parts of a larger report ------------------------------------------------------ */

/* A waits and decodes 4 tokens over two of four seconds; B fails; in a window that begins
 * and ends inside of both; three records are refused. */
static tw_analysis *analyze_some(const double *quantiles, uint64_t count)
{
    const int64_t epoch = INT64_C(1760000000123456789);
    tw_record records[] = {
        with_credit(record(0, SEC, 3 * SEC, 10, 5), SEC / 2), /* late: counts as 0 */
        with_status(record(SEC, NEVER, 4 * SEC, UNKNOWN, UNKNOWN), TW_RECORD_FAILED),
        record(NEVER, NEVER, NEVER, 1, 1),
        record(5, 4, NEVER, 1, 1),
        record(5, 4, NEVER, 1, 1),
    };
    tw_options options = options_new();
    tw_recorder *recorder = recorder_new();
    tw_analysis *analysis;

    for (int i = 0; i < 5; i++) {
        int64_t *arrivals;
        records[i] = with_shift(records[i], epoch, &arrivals);
        free(arrivals);
        records[i].chunk_arrival_ns = NULL;
    }
    assert_ok(tw_recorder_append(recorder, records, 5, sizeof *records,
                                 TW_APPEND_SKIP_INVALID, NULL));
    options.quantiles = quantiles;
    options.quantile_count = count;
    analysis = analysis_new(&recorder, 1, &options);
    tw_recorder_free(recorder);
    return analysis;
}

static void check_holds(const sink *s, const char *part)
{
    if (!strstr(s->text, part))
        ck_abort_msg("no \"%s\" in:\n%.2500s", part, s->text);
}

static void check_lacks(const sink *s, const char *part)
{
    if (strstr(s->text, part))
        ck_abort_msg("\"%s\" in:\n%.2500s", part, s->text);
}

/* The n-th line of a text report that begins so, each run of blanks shown as one. */
static void check_row(const sink *s, const char *begin, int n, const char *wanted)
{
    char row[512];
    size_t length = 0;
    const char *at = s->text;

    while (at && (strncmp(at, begin, strlen(begin)) != 0 || n--)) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        ck_abort_msg("no line \"%s\" in:\n%.2500s", begin, s->text);
    for (; *at != '\n' && length + 1 < sizeof row; at++)
        if (*at != ' ' || at[1] != ' ')
            row[length++] = *at;
    row[length] = 0;
    assert_text(row, wanted);
}

/* The lines of a table are of one length. */
static void check_tables(const sink *s)
{
    size_t width = 0;

    for (const char *line = s->text, *end; (end = strchr(line, '\n')) != NULL;
         line = end + 1) {
        if (strncmp(line, "Metric ", 7) == 0)
            width = (size_t)(end - line);
        else if (end == line)
            width = 0;
        if (width)
            assert_u64((uint64_t)(end - line), width);
    }
}

START_TEST(heads)
{
    tw_analysis *analysis = analyze_some(NULL, 0);
    sink text = report_of(analysis, TW_FORMAT_TEXT, NULL);
    sink json = report_of(analysis, TW_FORMAT_JSON, NULL);

    check_holds(&text, "Window:  1760000000123456789 to 1760000004123456789 ns (4 sec)\n"
                       "Records: 2 issued = 1 ok + 1 failed + 0 cancelled + 0 in flight; "
                       "3 refused\n"
                       "         2 overlap the window, 2 ended in it; cut at its begin: "
                       "0, at its end: 0\n"
                       "Counted: credit_after_start 1\n"
                       "         refused_start_missing 1\n"
                       "         refused_generation_before_start 2\n"
                       "\n"
                       "LLM Metrics: Effective\n");
    check_holds(&json, "\"window\":{\"begin_ns\":1760000000123456789,"
                       "\"end_ns\":1760000004123456789},");
    check_holds(&json,
                "\"counters\":{\"credit_after_start\":1,\"chunk_tokens_ignored\":0,"
                "\"refused_start_missing\":1,\"refused_time_range\":0,"
                "\"refused_generation_before_start\":2,");
    sink_free(&text);
    sink_free(&json);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(groups)
{
    tw_analysis *analysis = analyze_some(NULL, 0);
    sink text = report_of(analysis, TW_FORMAT_TEXT, NULL);
    const char *effective = strstr(text.text, "\nLLM Metrics: Effective\nMetric ");
    const char *active = strstr(text.text, "\nLLM Metrics: Active\nMetric ");
    const char *others = strstr(text.text, "\nLLM Metrics\nMetric ");
    const char *last = strstr(text.text, "\nRequest Latency (error-adjusted) (ms) ");

    assert_that(effective && active && others && last);
    assert_that(effective < active && active < others && others < last);
    sink_free(&text);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(active_metrics)
{
    tw_analysis *analysis = analyze_some(NULL, 0);
    sink json = report_of(analysis, TW_FORMAT_JSON, NULL);
    sink csv = report_of(analysis, TW_FORMAT_CSV, NULL);
    sink text = report_of(analysis, TW_FORMAT_TEXT, NULL);

    /* 4 tokens over two seconds, half of the window; their two as the only request */
    check_holds(&json,
                "\"active_decode_throughput\":{\"group\":\"ACTIVE\","
                "\"header\":\"Active Decode Throughput\",\"unit\":\"tokens/sec\","
                "\"avg\":2,\"min\":2,\"max\":2,\"std\":0,\"p1\":2,\"p5\":2,\"p10\":2,"
                "\"p25\":2,\"p50\":2,\"p75\":2,\"p90\":2,\"p95\":2,\"p99\":2,"
                "\"active_ns\":2000000000,\"active_fraction\":0.5}");
    check_holds(&csv, "\nactive_decode_throughput,ACTIVE,Active Decode Throughput,"
                      "tokens/sec,2,2,2,0,2,2,2,2,2,2,2,2,2,,,2000000000,0.5\n");
    check_row(&text, "Active Decode Throughput (", 0,
              "Active Decode Throughput (tokens/sec) 2.00 2.00 2.00 2.00 2.00 2.00 0.00");
    check_tables(&text);
    sink_free(&json);
    sink_free(&csv);
    sink_free(&text);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(infinities)
{
    tw_analysis *analysis = analyze_some(NULL, 0);
    sink json = report_of(analysis, TW_FORMAT_JSON, NULL);
    sink csv = report_of(analysis, TW_FORMAT_CSV, NULL);
    sink text = report_of(analysis, TW_FORMAT_TEXT, NULL);

    /* One of 3,000 ms and one infinite: the median is the first. */
    check_holds(&json, "\"adj_request_latency\":{\"group\":\"DEFAULT\","
                       "\"header\":\"Request Latency (error-adjusted)\",\"unit\":\"ms\","
                       "\"min\":3000,\"p1\":3000,\"p5\":3000,\"p10\":3000,\"p25\":3000,"
                       "\"p50\":3000,\"count\":2}");
    check_lacks(&json, "inf,");
    check_lacks(&json, "inf}");
    check_lacks(&json, "nan");
    check_holds(&csv, "\nadj_request_latency,DEFAULT,Request Latency (error-adjusted),ms,"
                      "inf,3000,inf,,3000,3000,3000,3000,3000,inf,inf,inf,inf,2,inf,,\n");
    check_row(
        &text, "Request Latency (error", 0,
        "Request Latency (error-adjusted) (ms) inf 3,000.00 inf inf inf 3,000.00 N/A");
    check_tables(&text);
    sink_free(&json);
    sink_free(&csv);
    sink_free(&text);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(named_quantiles)
{
    static const double q[] = {1,     0.999, 0.9, 0.07,  0.123456789012, 0.001,
                               0.999, 0.705, 0,   1e-12, 1 / 3.0};
    static const char keys[] =
        "\"p99\":2,\"p0\":2,\"p0.0000000001\":2,\"p0.1\":2,\"p7\":2,\"p12.3456789012\":2,"
        "\"p33.3333333333\":2,\"p70.5\":2,\"p99.9\":2,\"p100\":2,\"active_ns\":";
    static const char names[] = ",p95,p99,p0,p0.0000000001,p0.1,p7,p12.3456789012,"
                                "p33.3333333333,p70.5,p99.9,p100,count,sum,";
    tw_analysis *analysis = analyze_some(q, sizeof q / sizeof q[0]);
    sink json = report_of(analysis, TW_FORMAT_JSON, NULL);
    sink csv = report_of(analysis, TW_FORMAT_CSV, NULL);
    sink text = report_of(analysis, TW_FORMAT_TEXT, NULL);

    check_holds(&json, keys);
    check_holds(&csv, names);
    for (int table = 0; table < 3; table++) /* in each one */
        check_row(&text, "Metric ", table,
                  "Metric avg min max p99 p90 p50 std p0 p0.0000000001 p0.1 p7 "
                  "p12.3456789012 p33.3333333333 p70.5 p99.9 p100");
    check_row(
        &text, "Request Latency (error", 0,
        "Request Latency (error-adjusted) (ms) inf 3,000.00 inf inf inf 3,000.00 N/A "
        "3,000.00 3,000.00 3,000.00 3,000.00 3,000.00 3,000.00 inf inf inf");
    check_row(&text, "Request Count", 0,
              "Request Count (requests) 1.00 N/A N/A N/A N/A N/A N/A N/A N/A N/A N/A N/A "
              "N/A N/A N/A N/A");
    check_tables(&text);
    sink_free(&json);
    sink_free(&csv);
    sink_free(&text);
    tw_analysis_free(analysis);
}
END_TEST

/* ---- Counters of the caller -------------------------------------------------------- */

START_TEST(counters_of_the_caller)
{
    static const char *const names[] = {"warmup_rows", "x9"};
    static const uint64_t values[] = {1234567, 0};
    const tw_report_options options = {sizeof options, 0, names, values, 2};
    tw_analysis *analysis = analyze_one();
    sink text = report_of(analysis, TW_FORMAT_TEXT, &options);
    sink json = report_of(analysis, TW_FORMAT_JSON, &options);
    sink csv = report_of(analysis, TW_FORMAT_CSV, &options);

    check_holds(&text, "at its end: 0\nCounted: warmup_rows 1,234,567\n\nLLM Metrics");
    check_holds(&json,
                "\"refused_chunk_tokens_count\":0,\"warmup_rows\":1234567,\"x9\":0},"
                "\"metrics\":");
    assert_text(csv.text, csv_of_one); /* has no counters */
    sink_free(&text);
    sink_free(&json);
    sink_free(&csv);
    tw_analysis_free(analysis);
}
END_TEST

START_TEST(counters_refused)
{
    static const char *const wrong[] = {
        "",       "Rows", "rows left", "rows\"", "rows-left", "a.b", "r\xc3\xa4",
        "rows\n", "/",    ":",         "`",      "{",         NULL};
    const char *names[] = {"good", "good_too"};
    static const uint64_t values[] = {1, 2};
    tw_report_options options = {sizeof options, 0, names, values, 2};
    tw_analysis *analysis = analyze_one();
    sink s = {0};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        vocabulary_context("name %zu", i);
        names[1] = wrong[i];
        assert_status(tw_report_write(analysis, TW_FORMAT_TEXT, &options, sink_write, &s),
                      TW_ERR_INVAL);
        assert_status(tw_report_write(analysis, TW_FORMAT_JSON, &options, sink_write, &s),
                      TW_ERR_INVAL);
    }
    /* Each name stands for one counter. */
    names[1] = "good";
    assert_status(tw_report_write(analysis, TW_FORMAT_JSON, &options, sink_write, &s),
                  TW_ERR_INVAL);
    names[1] = "credit_after_start";
    assert_status(tw_report_write(analysis, TW_FORMAT_JSON, &options, sink_write, &s),
                  TW_ERR_INVAL);
    names[1] = "refused_chunk_order";
    assert_status(tw_report_write(analysis, TW_FORMAT_JSON, &options, sink_write, &s),
                  TW_ERR_INVAL);
    names[1] = "good_too";
    options.counter_values = NULL;
    assert_status(tw_report_write(analysis, TW_FORMAT_JSON, &options, sink_write, &s),
                  TW_ERR_INVAL);
    options.counter_values = values;
    options.counter_names = NULL;
    assert_status(tw_report_write(analysis, TW_FORMAT_JSON, &options, sink_write, &s),
                  TW_ERR_INVAL);
    assert_u64(s.calls, 0);
    options.counter_count = TW_COUNTERS_LIMIT + 1;
    assert_status(tw_report_write(analysis, TW_FORMAT_JSON, &options, sink_write, &s),
                  TW_ERR_INVAL);
    options.counter_count = 0;
    assert_ok(tw_report_write(analysis, TW_FORMAT_JSON, &options, sink_write, &s));
    sink_free(&s);
    tw_analysis_free(analysis);
}
END_TEST

/* ---- Writing ----------------------------------------------------------------------- */

START_TEST(arguments)
{
    tw_report_options options = {sizeof options, 0, NULL, NULL, 0};
    tw_analysis *analysis = analyze_one();
    sink s = {0};

    assert_status(tw_report_write(NULL, TW_FORMAT_TEXT, NULL, sink_write, &s),
                  TW_ERR_INVAL);
    assert_status(tw_report_write(analysis, TW_FORMAT_TEXT, NULL, NULL, &s),
                  TW_ERR_INVAL);
    assert_status(tw_report_write(analysis, 0, NULL, sink_write, &s), TW_ERR_NOTSUP);
    assert_status(tw_report_write(analysis, 4, NULL, sink_write, &s), TW_ERR_NOTSUP);
    assert_status(tw_report_write(analysis, -1, NULL, sink_write, &s), TW_ERR_NOTSUP);
    options.flags = 1;
    assert_status(tw_report_write(analysis, TW_FORMAT_TEXT, &options, sink_write, &s),
                  TW_ERR_NOTSUP);
    options.flags = 0;
    options.struct_size = 8;
    assert_status(tw_report_write(analysis, TW_FORMAT_TEXT, &options, sink_write, &s),
                  TW_ERR_ABI);
    assert_u64(s.calls, 0);
    tw_analysis_free(analysis);
}
END_TEST

/* The function asks to stop at its k-th call, for every k. */
START_TEST(writing_stops)
{
    static const int32_t formats[] = {TW_FORMAT_TEXT, TW_FORMAT_JSON, TW_FORMAT_CSV};
    double q[200];
    tw_analysis *analysis;

    for (int i = 0; i < 200; i++)
        q[i] = (i + 0.5) / 200;
    analysis = analyze_some(q, 200);
    for (int f = 0; f < 3; f++) {
        sink all = report_of(analysis, formats[f], NULL);

        assert_that(all.calls >= 3); /* it comes in pieces */
        for (uint64_t k = 1; k <= all.calls + 1; k++) {
            sink s = {.fail_at = k};
            const int32_t status = tw_report_write(analysis, formats[f], NULL, sink_write,
                                                   &s);

            vocabulary_context("format %d, call %d", f, (int)k);
            assert_status(status, k <= all.calls ? TW_ERR_IO : TW_OK);
            assert_u64(s.calls, k <= all.calls ? k : all.calls); /* and is left alone */
            assert_that(s.length <= all.length);
            assert_that(s.length == 0 || memcmp(s.text, all.text, s.length) == 0);
            sink_free(&s);
        }
        sink_free(&all);
    }
    tw_analysis_free(analysis);
}
END_TEST

/* What the function got so far, byte by byte, has no gaps: any failure value stops. */
static int32_t stop_with(void *user_data, const char *bytes, size_t length)
{
    assert_that(bytes && length);
    return *(int32_t *)user_data;
}

START_TEST(writing_stops_with_any_value)
{
    int32_t values[] = {1, -1, INT32_MIN, INT32_MAX, TW_ERR_NODATA};
    tw_analysis *analysis = analyze_one();

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        assert_status(
            tw_report_write(analysis, TW_FORMAT_TEXT, NULL, stop_with, &values[i]),
            TW_ERR_IO);
    tw_analysis_free(analysis);
}
END_TEST

/* Under a locale with decimal commas, where one is installed, nothing changes. */
START_TEST(locales)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE",
                                        "fr_FR.UTF-8", "fr_FR.utf8", "es_ES.UTF-8",
                                        "it_IT.UTF-8"};
    tw_analysis *analysis = analyze_one();
    char printed[8] = "1.5";

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue;
        snprintf(printed, sizeof printed, "%.1f", 1.5);
        if (strcmp(printed, "1,5") == 0)
            break;
    }
    check_report(analysis, TW_FORMAT_TEXT, NULL, text_of_one);
    check_report(analysis, TW_FORMAT_JSON, NULL, json_of_one);
    check_report(analysis, TW_FORMAT_CSV, NULL, csv_of_one);
    setlocale(LC_ALL, "C");
    tw_analysis_free(analysis);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *whole = vocabulary_case(suite, "whole"),
          *parts = vocabulary_case(suite, "parts"),
          *counters = vocabulary_case(suite, "counters"),
          *writing = vocabulary_case(suite, "writing");

    tcase_add_test(whole, one_request);
    tcase_add_test(whole, no_request);
    tcase_add_test(parts, heads);
    tcase_add_test(parts, groups);
    tcase_add_test(parts, active_metrics);
    tcase_add_test(parts, infinities);
    tcase_add_test(parts, named_quantiles);
    tcase_add_test(counters, counters_of_the_caller);
    tcase_add_test(counters, counters_refused);
    tcase_add_test(writing, arguments);
    tcase_add_test(writing, writing_stops);
    tcase_add_test(writing, writing_stops_with_any_value);
    tcase_add_test(writing, locales);
    return vocabulary_main(suite);
}
