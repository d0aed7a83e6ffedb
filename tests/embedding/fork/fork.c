/* SPDX-License-Identifier: MIT */

/* A recorder that was filled before a fork serves parent and child alike. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <timeweight/timeweight.h>
#include <unistd.h>

enum { RECORDS = 5000, REPORT_LIMIT = 1 << 16 };

struct report {
    size_t length;
    char bytes[REPORT_LIMIT];
};

static void check(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fork: %s\n", what);
        _exit(EXIT_FAILURE);
    }
}

static int32_t keep(void *user_data, const char *bytes, size_t length)
{
    struct report *report = user_data;
    if (length > sizeof report->bytes - report->length)
        return 1;
    memcpy(report->bytes + report->length, bytes, length);
    report->length += length;
    return 0;
}

static void append(tw_recorder *recorder, int from, int to)
{
    for (int i = from; i < to; i++) {
        tw_record record;
        tw_record_init(&record, sizeof record);
        record.start_ns = i * INT64_C(1000);
        record.generation_start_ns = record.start_ns + i % 700;
        record.end_ns = record.generation_start_ns + i % 9000;
        record.input_tokens = i % 100;
        record.output_tokens = 1 + i % 50;
        check(tw_recorder_append(recorder, &record, 1, sizeof record, 0, NULL) == TW_OK,
              "append");
    }
}

static void analyze(tw_recorder *recorder, struct report *report)
{
    tw_analysis *analysis;
    report->length = 0;
    check(tw_analyze(&analysis, &recorder, 1, NULL) == TW_OK, "analyze");
    check(tw_report_write(analysis, TW_FORMAT_JSON, NULL, keep, report) == TW_OK,
          "report");
    tw_analysis_free(analysis);
}

static void send_all(int pipe_end, const struct report *report)
{
    for (size_t sent = 0; sent < report->length;) {
        ssize_t count = write(pipe_end, report->bytes + sent, report->length - sent);
        check(count > 0, "write");
        sent += (size_t)count;
    }
}

static void receive_all(int pipe_end, struct report *report)
{
    ssize_t count;
    report->length = 0;
    do {
        count = read(pipe_end, report->bytes + report->length,
                     sizeof report->bytes - report->length);
        check(count >= 0, "read");
        report->length += (size_t)count;
    } while (count > 0);
}

/* Analyses what it got and what it adds, as if it were alone, and sends the first report. */
static int child(tw_recorder *recorder, int pipe_end)
{
    static struct report report;
    analyze(recorder, &report);
    send_all(pipe_end, &report);
    append(recorder, RECORDS, 2 * RECORDS);
    analyze(recorder, &report);
    check(tw_recorder_count(recorder) == 2 * RECORDS, "the child's count");
    tw_recorder_free(recorder);
    return EXIT_SUCCESS;
}

int main(void)
{
    static struct report before, after, of_child;
    tw_recorder *recorder;
    int ends[2];
    int status;

    check(tw_recorder_new(&recorder, NULL) == TW_OK, "new");
    append(recorder, 0, RECORDS);
    analyze(recorder, &before);
    check(pipe(ends) == 0, "pipe");
    pid_t pid = fork();
    check(pid >= 0, "fork");
    if (pid == 0)
        return child(recorder, ends[1]);

    close(ends[1]);
    append(recorder, RECORDS, RECORDS + 1);
    receive_all(ends[0], &of_child);
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
              WEXITSTATUS(status) == 0,
          "the child");
    check(of_child.length == before.length &&
              memcmp(of_child.bytes, before.bytes, before.length) == 0,
          "the child's report differs");
    check(tw_recorder_count(recorder) == RECORDS + 1, "the parent's count");
    analyze(recorder, &after);
    tw_recorder_free(recorder);
    printf("%zu bytes of report, the same in both processes\n", before.length);
    return EXIT_SUCCESS;
}
