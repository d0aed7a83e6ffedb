/* SPDX-License-Identifier: MIT */
/* A debug build stops where a handle is used that was freed already. The memory here is never
 * given back, so that looking at it is no accident. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <timeweight/timeweight.h>
#include <unistd.h>

static void *kept[4096]; /* reachable, so no leak */
static size_t kept_count;

static void *keep_alloc(void *user_data, size_t size, size_t align)
{
    (void)user_data;
    (void)align;
    if (kept_count == sizeof kept / sizeof kept[0])
        return NULL;
    return kept[kept_count++] = malloc(size);
}

static void keep_free(void *user_data, void *memory, size_t size, size_t align)
{
    (void)user_data;
    (void)memory;
    (void)size;
    (void)align;
}

static tw_recorder *recorder;
static tw_analysis *analysis;

static void count_freed(void)
{
    (void)tw_recorder_count(recorder);
}

static void free_recorder_twice(void)
{
    tw_recorder_free(recorder);
}

static void analyze_freed(void)
{
    tw_analysis *another;
    (void)tw_analyze(&another, &recorder, 1, NULL);
}

static void query_freed(void)
{
    int64_t begin, end;
    (void)tw_analysis_bounds(analysis, &begin, &end);
}

static void free_analysis_twice(void)
{
    tw_analysis_free(analysis);
}

/* True if the call stops a child by abort(). */
static int aborts(void (*call)(void))
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        (void)fclose(stderr); /* the assertion's message is expected */
        call();
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT;
}

int main(void)
{
    const tw_allocator allocator = {sizeof allocator, 0, NULL, keep_alloc, keep_free};
    const tw_recorder_options options = {sizeof options, 0, &allocator};
    const struct {
        const char *name;
        void (*call)(void);
    } calls[] = {{"tw_recorder_count", count_freed},
                 {"tw_recorder_free", free_recorder_twice},
                 {"tw_analyze", analyze_freed},
                 {"tw_analysis_bounds", query_freed},
                 {"tw_analysis_free", free_analysis_twice}};
    tw_options analyze_options;
    int failures = 0;

    tw_options_init(&analyze_options, sizeof analyze_options);
    analyze_options.allocator = &allocator;
    if (tw_recorder_new(&recorder, &options) ||
        tw_analyze(&analysis, &recorder, 1, &analyze_options))
        return 1;
    if (aborts(count_freed) || aborts(query_freed)) {
        fprintf(stderr, "a live handle was taken for a freed one\n");
        failures++;
    }
    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (!aborts(calls[i].call)) {
            fprintf(stderr, "%s: a freed handle was not noticed\n", calls[i].name);
            failures++;
        }
    }
    return failures != 0;
}
