/* SPDX-License-Identifier: MIT */
#include "process.h"
#include "harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a program with its standard input and output at two descriptors. */
static pid_t start(const char *const arguments[], int input, int output, bool quiet)
{
    pid_t child;
    fflush(NULL);
    child = fork();
    if (child < 0)
        bench_fail(arguments[0], "cannot fork");
    if (child > 0)
        return child;
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    if (quiet)
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    /* exec writes to none of them, whatever its type says */
    execvp(arguments[0], (char *const *)(const void *)arguments);
    _exit(127);
}

static bool ended_well(pid_t child)
{
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

bool process_run(const char *const arguments[], const char *output_path)
{
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int output = open(output_path ? output_path : "/dev/null",
                      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    pid_t child;
    if (input < 0 || output < 0)
        bench_fail(output_path ? output_path : "/dev/null", "cannot be opened");
    child = start(arguments, input, output, false);
    close(input);
    close(output);
    return ended_well(child);
}

/* ---- peers in Python ------------------------------------------------------------- */

struct python_peer {
    pid_t child;
    FILE *requests, *answers;
    char version[128];
};

static void open_pipe(int ends[2])
{
    if (pipe(ends) != 0 || fcntl(ends[0], F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(ends[1], F_SETFD, FD_CLOEXEC) != 0)
        bench_fail("pipe", "cannot be opened");
}

python_peer *python_peer_new(const char *python, const char *script, const char *columns)
{
    const char *const arguments[] = {python, script, columns, NULL};
    python_peer *p = bench_alloc(1, sizeof *p);
    int to[2], from[2];
    open_pipe(to);
    open_pipe(from);
    p->child = start(arguments, to[0], from[1], true);
    close(to[0]);
    close(from[1]);
    p->requests = fdopen(to[1], "w");
    p->answers = fdopen(from[0], "r");
    if (!p->requests || !p->answers)
        bench_fail("pipe", "cannot be used");
    if (!fgets(p->version, sizeof p->version, p->answers)) {
        python_peer_free(p);
        return NULL;
    }
    p->version[strcspn(p->version, "\n")] = '\0';
    return p;
}

void python_peer_free(python_peer *p)
{
    if (!p)
        return;
    fclose(p->requests);
    fclose(p->answers);
    ended_well(p->child);
    free(p);
}

const char *python_peer_version(const python_peer *p)
{
    return p->version;
}

static void ask(python_peer *p, const char *request)
{
    fprintf(p->requests, "%s\n", request);
    fflush(p->requests);
}

static double answer(python_peer *p)
{
    double number;
    if (fscanf(p->answers, "%lf", &number) != 1)
        bench_fail(p->version, "does not answer");
    return number;
}

double python_peer_run(python_peer *p)
{
    ask(p, "run");
    return answer(p);
}

void python_peer_results(python_peer *p, curve_stats results[CURVE_METRICS])
{
    ask(p, "results");
    for (int i = 0; i < CURVE_METRICS; i++) {
        results[i].avg = answer(p);
        results[i].min = answer(p);
        results[i].max = answer(p);
        results[i].std = answer(p);
        for (int k = 0; k < CURVE_QUANTILES; k++)
            results[i].quantile[k] = answer(p);
    }
}
