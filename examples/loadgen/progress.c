/* SPDX-License-Identifier: MIT */
#include "progress.h"
#include "../common/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TERMINAL_NS (NS_PER_SEC / 5)
#define PLAIN_NS (5 * NS_PER_SEC)
#define BAR_WIDTH 20

void progress_begin(struct progress *progress, bool quiet, int64_t now_ns)
{
    *progress = (struct progress){
        .terminal = isatty(STDERR_FILENO) == 1,
        .quiet = quiet,
        .begin_ns = now_ns,
        .last_ns = now_ns,
    };
    progress->next_ns = now_ns + (progress->terminal ? TERMINAL_NS : PLAIN_NS);
}

static void print_bar(double share)
{
    char bar[BAR_WIDTH + 1];
    int full = (int)(share * BAR_WIDTH);
    full = full < 0 ? 0 : full > BAR_WIDTH ? BAR_WIDTH : full;
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', (size_t)full);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] ", bar);
}

static void print(struct progress *progress, const struct progress_numbers *numbers,
                  int64_t now_ns)
{
    char total[32] = "";
    double span_sec = (double)(now_ns - progress->last_ns) / 1e9;
    double rate = span_sec > 0
                      ? (double)(numbers->chunks - progress->last_chunks) / span_sec
                      : 0;
    if (numbers->total != UINT64_MAX)
        (void)snprintf(total, sizeof total, "/%" PRIu64, numbers->total);
    if (progress->terminal)
        print_bar(numbers->share);
    fprintf(stderr, "%.1f s  %" PRIu64 "%s done  %" PRIu64 " in flight",
            (double)(now_ns - progress->begin_ns) / 1e9, numbers->ended, total,
            numbers->in_flight);
    if (numbers->waiting > 0)
        fprintf(stderr, "  %" PRIu64 " waiting", numbers->waiting);
    fprintf(stderr, "  %.0f tokens/s  %" PRIu64 " errors", rate, numbers->unsuccessful);
    fputs(progress->terminal ? "\033[K" : "\n", stderr);
    progress->last_ns = now_ns;
    progress->last_chunks = numbers->chunks;
}

void progress_update(struct progress *progress, const struct progress_numbers *numbers,
                     int64_t now_ns)
{
    if (progress->quiet || now_ns < progress->next_ns)
        return;
    print(progress, numbers, now_ns);
    progress->next_ns = now_ns + (progress->terminal ? TERMINAL_NS : PLAIN_NS);
}

void progress_end(struct progress *progress, const struct progress_numbers *numbers,
                  int64_t now_ns)
{
    if (progress->quiet)
        return;
    /* Over the whole run. */
    progress->last_ns = progress->begin_ns;
    progress->last_chunks = 0;
    print(progress, numbers, now_ns);
    if (progress->terminal)
        fputc('\n', stderr);
}
