/* SPDX-License-Identifier: MIT */
#include "arguments.h"
#include "cli.h"
#include "load.h"
#include "output.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct report {
    struct load load;
    int32_t format;
    tw_options options;
    struct quantile_list quantiles;
    char **paths;
    size_t path_count;
    tw_recorder **recorders; /* one for each path */
    tw_analysis *analysis;
};

/* ---- the command line ------------------------------------------------------------ */

enum key { KEY_FORMAT = 256, KEY_WINDOW, KEY_INPUT, KEY_QUANTILES, KEY_KEEP_GOING };

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "text|csv|json", 0, "What to write (default: text)", 0},
    {"window", KEY_WINDOW, "BEGIN:END", 0,
     "Integrate from BEGIN to END, in ns of the files' clock; either may be left out "
     "(default: from the first credit to the last response)",
     0},
    {"input", KEY_INPUT, "auto|aiperf|records", 0,
     "What the files hold (default: auto, each file by its first row)", 0},
    {"quantiles", KEY_QUANTILES, "Q,...", 0,
     "Report these quantiles too, such as 0.5,0.999", 0},
    {"keep-going", KEY_KEEP_GOING, NULL, 0,
     "Skip and count bad rows (default: stop at the first)", 0},
    {0}};

static const char doc[] =
    "Reads the requests of one run from one or several files and reports every metric. "
    "'-' is standard input.\n"
    "\v"
    "Formats, both JSON Lines, one request a line:\n"
    "\n"
    "  aiperf   profile_export.jsonl of AIPerf. Warm-up rows are left out and counted.\n"
    "  records  credit_issued_ns, start_ns, generation_start_ns, end_ns, input_tokens, "
    "output_tokens, status (\"ok\", \"failed\", \"cancelled\"), streaming, "
    "chunk_arrival_ns, chunk_tokens. Only start_ns must be there.\n"
    "\n"
    "Exit status: 0 if all went well, 1 if something is wrong with the data or a file, "
    "2 if the command line is wrong.";

/* The index of a word in a list, or a usage error. */
static int choose(struct argp_state *state, const char *option, const char *word,
                  const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    argp_error(state, "%s: unknown: '%s'", option, word);
    return 0;
}

static void complain_if(struct argp_state *state, const char *option,
                        const char *argument, const char *complaint)
{
    if (complaint)
        argp_error(state, "%s: '%s': %s", option, argument, complaint);
}

static void read_format(struct report *report, struct argp_state *state,
                        const char *argument)
{
    static const char *const words[] = {"text", "csv", "json"};
    static const int32_t formats[] = {TW_FORMAT_TEXT, TW_FORMAT_CSV, TW_FORMAT_JSON};
    report->format = formats[choose(state, "--format", argument, words, 3)];
}

static void read_input(struct report *report, struct argp_state *state,
                       const char *argument)
{
    static const char *const words[] = {"auto", "aiperf", "records"};
    static const enum input_format formats[] = {INPUT_AUTO, INPUT_AIPERF, INPUT_RECORDS};
    report->load.format = formats[choose(state, "--input", argument, words, 3)];
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct report *report = state->input;
    switch (key) {
    case KEY_FORMAT:
        read_format(report, state, argument);
        return 0;
    case KEY_INPUT:
        read_input(report, state, argument);
        return 0;
    case KEY_WINDOW:
        complain_if(state, "--window", argument,
                    arguments_window(argument, &report->options));
        return 0;
    case KEY_QUANTILES:
        complain_if(state, "--quantiles", argument,
                    arguments_quantiles(argument, &report->quantiles));
        return 0;
    case KEY_KEEP_GOING:
        report->load.keep_going = true;
        return 0;
    case ARGP_KEY_ARGS:
        report->paths = state->argv + state->next;
        report->path_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which file?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- the work -------------------------------------------------------------------- */

static int complain(const char *what)
{
    fprintf(stderr, "timeweight: %s\n", what);
    return CLI_FAILURE;
}

static int load_files(struct report *report)
{
    report->recorders = calloc(report->path_count, sizeof(tw_recorder *));
    if (!report->recorders)
        return complain(tw_strerror(TW_ERR_NOMEM));
    for (size_t i = 0; i < report->path_count; i++) {
        int32_t status = tw_recorder_new(&report->recorders[i], NULL);
        if (status != TW_OK)
            return complain(tw_strerror(status));
        if (load_file(&report->load, report->paths[i], report->recorders[i]) != 0)
            return CLI_FAILURE;
    }
    return EXIT_SUCCESS;
}

static int check_not_empty(const struct report *report)
{
    uint64_t records = 0;
    for (size_t i = 0; i < report->path_count; i++)
        records += tw_recorder_count(report->recorders[i]);
    if (records > 0)
        return EXIT_SUCCESS;
    fprintf(stderr,
            "timeweight: no records (rows skipped: %" PRIu64
            ", warm-up rows left out: %" PRIu64 ")\n",
            report->load.rows_skipped, report->load.warmup_rows_left_out);
    return CLI_FAILURE;
}

static int analyze(struct report *report)
{
    report->options.quantiles = report->quantiles.values;
    report->options.quantile_count = report->quantiles.count;
    int32_t status = tw_analyze(&report->analysis, report->recorders, report->path_count,
                                &report->options);
    /* The arguments are checked, so it can only be an edge against the run. */
    if (status == TW_ERR_INVAL)
        return complain(
            "--window: must not begin after the end of the run, nor end before "
            "its begin");
    return status == TW_OK ? EXIT_SUCCESS : complain(tw_strerror(status));
}

/* Only the counters that these inputs could have moved. */
static int write_report(const struct report *report)
{
    const char *names[3];
    uint64_t values[3];
    size_t count = 0;
    if (report->load.saw_aiperf) {
        names[count] = "warmup_rows_left_out";
        values[count++] = report->load.warmup_rows_left_out;
        names[count] = "end_adjusted_rows";
        values[count++] = report->load.end_adjusted_rows;
    }
    if (report->load.keep_going) {
        names[count] = "rows_skipped";
        values[count++] = report->load.rows_skipped;
    }
    tw_report_options how = {.struct_size = sizeof how,
                             .counter_names = names,
                             .counter_values = values,
                             .counter_count = count};
    int32_t status = tw_report_write(report->analysis, report->format, &how, output_write,
                                     NULL);
    if (status == TW_ERR_IO)
        return CLI_FAILURE; /* told at exit */
    return status == TW_OK ? EXIT_SUCCESS : complain(tw_strerror(status));
}

static int run(struct report *report)
{
    int result = load_files(report);
    if (result == EXIT_SUCCESS)
        result = check_not_empty(report);
    if (result == EXIT_SUCCESS)
        result = analyze(report);
    if (result == EXIT_SUCCESS)
        result = write_report(report);
    if (report->load.rows_skipped > 0)
        fprintf(stderr, "timeweight: rows skipped: %" PRIu64 ", the first: %s\n",
                report->load.rows_skipped, report->load.first_skipped);
    return result;
}

static void clear(struct report *report)
{
    tw_analysis_free(report->analysis);
    for (size_t i = 0; report->recorders && i < report->path_count; i++)
        tw_recorder_free(report->recorders[i]);
    free(report->recorders);
    load_clear(&report->load);
}

int cli_report(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "FILE...", .doc = doc};
    static struct report report = {.format = TW_FORMAT_TEXT};

    tw_options_init(&report.options, sizeof report.options);
    if (argp_parse(&argp, argc, argv, 0, NULL, &report) != 0)
        return CLI_FAILURE;
    int result = run(&report);
    clear(&report);
    return result;
}
