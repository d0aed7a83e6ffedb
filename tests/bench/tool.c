/* SPDX-License-Identifier: MIT */
#include "tool.h"
#include "harness.h"
#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Enough to know how long a row is. */
#define FEW 1000

struct tool {
    const settings *settings;
    char path[4096];
};

static size_t write_file(const tool *t, size_t requests, bool chunks)
{
    char number[24];
    const char *const arguments[] = {t->settings->simulate,
                                     "--concurrency",
                                     "1024",
                                     "--requests",
                                     number,
                                     "--aiperf",
                                     "-",
                                     chunks ? NULL : "--no-chunks",
                                     NULL};
    struct stat file;
    snprintf(number, sizeof number, "%zu", requests);
    if (!process_run(arguments, t->path) || stat(t->path, &file) != 0 ||
        file.st_size == 0)
        bench_fail(t->path, "cannot be written");
    return (size_t)file.st_size;
}

tool *tool_new(const settings *s, size_t bytes, bool chunks)
{
    tool *t = bench_alloc(1, sizeof *t);
    size_t few;
    t->settings = s;
    snprintf(t->path, sizeof t->path, "%s/profile_export.jsonl", s->scratch);
    few = write_file(t, FEW, chunks);
    write_file(t, (size_t)((double)bytes / (double)few * FEW), chunks);
    return t;
}

void tool_free(tool *t)
{
    if (!t)
        return;
    remove(t->path);
    free(t);
}

static double run(const char *const arguments[])
{
    double before = bench_now();
    if (!process_run(arguments, NULL))
        bench_fail(arguments[0], "fails");
    return bench_now() - before;
}

double tool_run_report(const tool *t)
{
    const char *const arguments[] = {t->settings->timeweight, "report", t->path, NULL};
    return run(arguments);
}

double tool_run_parse(const tool *t)
{
    const char *const arguments[] = {t->settings->parse, t->path, NULL};
    return run(arguments);
}
