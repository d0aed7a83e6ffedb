/* SPDX-License-Identifier: MIT */
#include "schedule.h"
#include "../common/clock.h"

#include <math.h>

/* A stream of chance of its own, so that prompts do not change arrivals. */
#define ARRIVALS_STREAM 1

void schedule_init(struct schedule *schedule, const struct options *options,
                   const struct trace *trace)
{
    *schedule = (struct schedule){
        .options = options,
        .trace = trace,
        .random = random_begin(options->seed, ARRIVALS_STREAM),
    };
}

/* Of mean 1. */
static double random_gap(struct schedule *schedule)
{
    if (schedule->options->arrivals == ARRIVALS_GAMMA)
        return random_gamma(&schedule->random, schedule->options->shape);
    return random_exponential(&schedule->random);
}

static int64_t arrival_ns(struct schedule *schedule)
{
    double mean_ns = (double)NS_PER_SEC / schedule->options->request_rate;
    if (schedule->options->arrivals == ARRIVALS_CONSTANT)
        return llround((double)schedule->count * mean_ns); /* without drift */
    int64_t due_ns = llround(schedule->elapsed_ns);
    schedule->elapsed_ns += random_gap(schedule) * mean_ns;
    return due_ns;
}

static int64_t at_least_1(int64_t tokens)
{
    return tokens > 0 ? tokens : 1;
}

bool schedule_next(struct schedule *schedule, struct plan *plan)
{
    const struct options *options = schedule->options;
    if (schedule->count >= (uint64_t)options->request_count)
        return false;
    if (!schedule->trace) {
        plan->due_ns = arrival_ns(schedule);
        plan->input_tokens = options->input_tokens;
        plan->output_tokens = options->output_tokens;
    } else {
        if (schedule->count >= schedule->trace->count)
            return false;
        const struct trace_row *row = &schedule->trace->rows[schedule->count];
        plan->due_ns = llround((double)row->due_ns / options->trace_speed);
        plan->input_tokens = at_least_1(row->input_tokens);
        plan->output_tokens = at_least_1(row->output_tokens);
    }
    schedule->count++;
    return true;
}
