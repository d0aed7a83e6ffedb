/* SPDX-License-Identifier: MIT */

/* timeweight-loadgen: sends requests to a server with OpenAI's API, and keeps the books
 * with libtimeweight while it does. Begin reading in run.c. */

#include "../common/clock.h"
#include "exit.h"
#include "options.h"
#include "run.h"
#include "summary.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* The first one ends the run; the second one finds the default action and kills. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error like any other */
}

static bool read_trace(const char *path, struct trace *trace)
{
    struct trace_error error;
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "timeweight-loadgen: %s: %s\n", path, strerror(errno));
        return false;
    }
    bool good = trace_read(trace, file, &error);
    (void)fclose(file);
    if (good)
        return true;
    fprintf(stderr, "timeweight-loadgen: %s", path);
    if (error.line > 0)
        fprintf(stderr, ":%" PRIu64, error.line);
    fprintf(stderr, ": %s: %s\n", error.field, error.rule);
    return false;
}

static bool close_stdout(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    fprintf(stderr, "timeweight-loadgen: standard output: %s\n",
            strerror(errno ? errno : EIO));
    return false;
}

/* All of them, also if one cannot be written. */
static bool close_requests(struct run *run)
{
    bool records = writer_close(run->records);
    bool aiperf = writer_close(run->aiperf);
    return records && aiperf;
}

/* With everything open: the run and its report. */
static int run_and_report(struct run *run, struct writer *json)
{
    bool good = run_load(run);
    bool written = close_requests(run);
    bool succeeded = tw_recorder_count(run->recorder) == run->ok && !interrupted;
    if (!summary_write(run, json) || !good || !written)
        return EXIT_FAILED;
    return succeeded ? EXIT_SUCCESS : EXIT_UNSUCCESSFUL;
}

static int open_and_run(struct run *run)
{
    const struct options *options = run->options;
    struct writer json = {0};
    int result = EXIT_FAILED;
    if (writer_open(run->records, options->records_path) &&
        writer_open(run->aiperf, options->aiperf_path) &&
        writer_open(&json, options->json_path)) {
        run->prompts = prompts_new(options);
        if (run->prompts && tw_recorder_new(&run->recorder, NULL) == TW_OK)
            result = run_and_report(run, &json);
    }
    if (!close_requests(run))
        result = EXIT_FAILED;
    if (!writer_close(&json))
        result = EXIT_FAILED;
    if (!close_stdout())
        result = EXIT_FAILED;
    overhead_clear(&run->overhead);
    tw_recorder_free(run->recorder);
    prompts_free(run->prompts);
    return result;
}

int main(int argc, char **argv)
{
    struct options options;
    struct trace trace = {0};
    struct writer records = {0};
    struct writer aiperf = {0};
    struct run run = {.options = &options,
                      .records = &records,
                      .aiperf = &aiperf,
                      .interrupted = &interrupted};
    int result = EXIT_FAILED;

    options_read(&options, argc, argv);
    clock_begin();
    catch_signals();
    if (!options.trace_path || read_trace(options.trace_path, &trace)) {
        run.trace = options.trace_path ? &trace : NULL;
        result = open_and_run(&run);
    }
    trace_clear(&trace);
    options_clear(&options);
    return result;
}
