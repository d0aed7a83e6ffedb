/* SPDX-License-Identifier: MIT */
#include "summary.h"
#include "../common/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Most rows of --timeline. */
#define TIMELINE_LIMIT 100000

static bool complain(const char *what)
{
    fprintf(stderr, "timeweight-loadgen: %s\n", what);
    return false;
}

/* A tw_write_fn; user_data is a FILE. */
static int32_t write_to(void *user_data, const char *bytes, size_t length)
{
    return fwrite(bytes, 1, length, user_data) != length;
}

static bool write_report(const tw_analysis *analysis, int32_t format, FILE *file)
{
    int32_t status = tw_report_write(analysis, format, NULL, write_to, file);
    /* A file that cannot be written is told when it is closed. */
    return status == TW_OK || status == TW_ERR_IO || complain(tw_strerror(status));
}

/* ---- curves over time ------------------------------------------------------------ */

static const struct column {
    int32_t metric;
    const char *title;
    bool max; /* the largest value of the bin beside its mean */
} columns[] = {
    {TW_EFFECTIVE_CONCURRENCY, "concurrency", false},
    {TW_EFFECTIVE_QUEUE_DEPTH, "queue", true},
    {TW_EFFECTIVE_PREFILL_THROUGHPUT, "prefill tok/s", false},
    {TW_EFFECTIVE_DECODE_THROUGHPUT, "decode tok/s", false},
};

#define COLUMNS (sizeof columns / sizeof columns[0])

static void print_value(const tw_analysis *analysis, const struct column *column,
                        int64_t begin_ns, int64_t width_ns)
{
    tw_bin bin;
    int32_t status = tw_analysis_series(analysis, column->metric, begin_ns, width_ns,
                                        &bin, 1, sizeof bin);
    if (status == TW_OK && bin.weight_ns > 0)
        printf("  %13.2f", bin.mean);
    else
        printf("  %13s", "-");
    if (column->max && status == TW_OK && bin.weight_ns > 0)
        printf("  %9.0f", bin.max);
    else if (column->max)
        printf("  %9s", "-");
}

static void print_timeline(const tw_analysis *analysis, int64_t width_ns)
{
    int64_t begin_ns;
    int64_t end_ns;
    if (tw_analysis_bounds(analysis, &begin_ns, &end_ns) != TW_OK)
        return;
    printf("\nOver time (means)\n%10s", "sec");
    for (size_t i = 0; i < COLUMNS; i++)
        printf("  %13s%s", columns[i].title, columns[i].max ? "        max" : "");
    printf("\n");
    int64_t rows = (end_ns - begin_ns + width_ns - 1) / width_ns;
    for (int64_t row = 0; row < rows && row < TIMELINE_LIMIT; row++) {
        printf("%10.3f", (double)(row * width_ns) / 1e9);
        for (size_t i = 0; i < COLUMNS; i++)
            print_value(analysis, &columns[i], begin_ns + row * width_ns, width_ns);
        printf("\n");
    }
}

/* ---- what belongs to the tables -------------------------------------------------- */

static void print_tokens(const struct run *run)
{
    const struct options *options = run->options;
    const char *input = options->prompts_path ? "words of the prompts"
                                              : "the lengths asked for";
    const char *output = options->stream ? "chunks of content" : "not counted";
    if (run->ok == 0)
        return;
    printf("Tokens:    ");
    if (run->ok_without_usage == 0)
        printf("as the server's usage counts them\n");
    else if (run->ok_with_usage == 0)
        printf("the server sends no usage: input %s, output %s\n", input, output);
    else
        printf("of %" PRIu64 " responses as the server's usage counts them, of %" PRIu64
               " without usage: input %s, output %s\n",
               run->ok_with_usage, run->ok_without_usage, input, output);
}

/* For a shell. */
static void print_quoted(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./+-";
    if (*path != '-' && strspn(path, plain) == strlen(path)) {
        printf("%s", path);
        return;
    }
    printf("%s'", *path == '-' ? "./" : "");
    for (; *path; path++)
        printf(*path == '\'' ? "'\\''" : "%c", *path);
    printf("'");
}

/* The same numbers from the file. */
static void print_command(const struct run *run)
{
    const char *path = run->options->records_path;
    if (!path)
        return;
    printf("Again:     timeweight report ");
    if (run->in_flight > 0)
        printf("--window=:%" PRId64 " ", run->end_ns);
    print_quoted(path);
    printf("\n");
}

static double median_latency_ms(const tw_analysis *analysis)
{
    static const double median = 0.5;
    double value = 0;
    (void)tw_analysis_quantiles(analysis, TW_REQUEST_LATENCY, &median, &value, 1);
    return value;
}

static bool print_tables(const struct run *run, const tw_analysis *analysis)
{
    bool good = write_report(analysis, TW_FORMAT_TEXT, stdout);
    if (run->options->timeline_ns > 0)
        print_timeline(analysis, run->options->timeline_ns);
    printf("\n");
    print_tokens(run);
    overhead_print(&run->overhead, median_latency_ms(analysis), stdout);
    failures_print(&run->failures, stdout);
    print_command(run);
    return good;
}

/* Requests in flight count until now, which no record tells. */
static int32_t analyze(const struct run *run, tw_analysis **analysis)
{
    tw_recorder *recorder = run->recorder;
    tw_options options;
    tw_options_init(&options, sizeof options);
    if (run->in_flight > 0) {
        options.flags = TW_WINDOW_END;
        options.window_end_ns = run->end_ns;
    }
    return tw_analyze(analysis, &recorder, 1, &options);
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

bool summary_write(const struct run *run, struct writer *json)
{
    const struct options *options = run->options;
    tw_analysis *analysis;
    if (tw_recorder_count(run->recorder) == 0)
        return complain("no requests to report");
    int32_t status = analyze(run, &analysis);
    if (status != TW_OK)
        return complain(tw_strerror(status));
    bool good = !json->file || write_report(analysis, TW_FORMAT_JSON, json->file);
    if (good && !is_stdout(options->json_path) && !is_stdout(options->records_path) &&
        !is_stdout(options->aiperf_path))
        good = print_tables(run, analysis);
    tw_analysis_free(analysis);
    return good;
}
