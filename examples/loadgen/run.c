/* SPDX-License-Identifier: MIT */

/* The life of a run. A request comes by these stations, and each leaves a time in it:
 *
 *     due      the schedule, or the end of the user's last request        credit_issued
 *     ready    there is a place for it: at once, unless all are taken
 *     start    it is handed to the transport                              start
 *     bytes    chunks of content arrive                generation_start, chunk arrivals
 *     over     its last token has arrived, or it failed                   end
 *
 * and then it is appended to the recorder: tw_recorder_append(). */

#include "run.h"
#include "../common/clock.h"
#include "../common/timers.h"
#include "places.h"
#include "progress.h"
#include "queue.h"
#include "schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Files and the live line are looked after so often. */
#define TICK_NS (NS_PER_SEC / 5)
/* A user waits so long after a request to which no server answered. */
#define PAUSE_NS (NS_PER_SEC / 10)
/* Users of the warm-up of an open loop without a limit. */
#define WARMUP_USERS 8

struct loop {
    struct run *run;
    const struct options *options;
    bool warmup;
    bool open;
    struct places places;
    struct queue queue;       /* due, and no place for them */
    struct timers users;      /* closed loop: when each has its next request */
    struct schedule schedule; /* open loop */
    struct plan next;
    bool has_next;
    uint64_t target; /* number of requests; UINT64_MAX: no limit */
    uint64_t planned;
    uint64_t started;
    uint64_t ended;
    uint64_t unsuccessful;
    uint64_t in_flight;
    uint64_t chunks;
    int64_t begin_ns;
    int64_t last_due_ns;
    int64_t give_up_ns;
    int64_t tick_ns;
    bool broken; /* after a message */
    struct progress progress;
};

static void break_off(struct loop *loop, const char *why)
{
    if (!loop->broken)
        fprintf(stderr, "timeweight-loadgen: %s\n", why);
    loop->broken = true;
}

static int64_t add_time(int64_t time_ns, int64_t duration_ns)
{
    return duration_ns < INT64_MAX - time_ns ? time_ns + duration_ns : INT64_MAX;
}

/* ---- due ------------------------------------------------------------------------- */

static void plan_user(struct loop *loop, int64_t due_ns)
{
    if (loop->planned >= loop->target || due_ns > loop->last_due_ns)
        return;
    loop->planned++;
    if (!timers_add(&loop->users, due_ns, NULL))
        break_off(loop, "no memory");
}

static void plan_next_arrival(struct loop *loop)
{
    loop->has_next = schedule_next(&loop->schedule, &loop->next);
    loop->next.due_ns = add_time(loop->begin_ns, loop->next.due_ns);
    loop->has_next &= loop->next.due_ns <= loop->last_due_ns;
}

static void add_to_queue(struct loop *loop, const struct plan *plan)
{
    if (!queue_add(&loop->queue, plan))
        break_off(loop, "no memory");
}

static void collect_due(struct loop *loop, int64_t now_ns)
{
    struct timer timer;
    struct plan plan = {.input_tokens = loop->options->input_tokens,
                        .output_tokens = loop->options->output_tokens};
    while (timers_take(&loop->users, now_ns, &timer)) {
        plan.due_ns = timer.due_ns;
        add_to_queue(loop, &plan);
    }
    while (loop->has_next && loop->next.due_ns <= now_ns) {
        add_to_queue(loop, &loop->next);
        plan_next_arrival(loop);
    }
}

/* ---- start ----------------------------------------------------------------------- */

static void start(struct loop *loop, struct request *request, const struct plan *plan)
{
    struct run *run = loop->run;
    int64_t ready_ns = plan->due_ns > request->free_ns ? plan->due_ns : request->free_ns;
    request->loop = loop;
    request->number = loop->started++;
    request->due_ns = plan->due_ns;
    request->input_tokens = plan->input_tokens;
    request->asked_stream = loop->options->stream;
    request->status = TW_RECORD_OK;
    request->http_status = 0;
    request->in_flight = true;
    answer_reset(&request->answer);
    /* Prompts of the warm-up are others, as no cache should know those that count. */
    char *body = prompts_body(run->prompts,
                              request->number + (loop->warmup ? 1U << 31 : 0),
                              &request->input_tokens, plan->output_tokens);
    request->start_ns = clock_now_ns();
    if (!body || !transport_send(request->call, body) ||
        !overhead_started(&run->overhead, ready_ns, request->start_ns))
        break_off(loop, "no memory");
    loop->in_flight++;
}

static void start_waiting(struct loop *loop)
{
    while (loop->queue.count > 0 && !loop->broken) {
        bool no_memory;
        struct request *request = places_take(&loop->places, loop->run->transport,
                                              &no_memory);
        if (no_memory)
            break_off(loop, "no memory");
        if (!request)
            return;
        struct plan plan = queue_take(&loop->queue);
        start(loop, request, &plan);
    }
}

/* ---- bytes ----------------------------------------------------------------------- */

static void on_begun(void *owner, bool event_stream)
{
    struct request *request = owner;
    answer_begin(&request->answer, event_stream);
}

static bool on_bytes(void *owner, const char *bytes, size_t length)
{
    struct request *request = owner;
    struct answer *answer = &request->answer;
    size_t before = answer->arrival_count;
    bool good = answer_take(answer, bytes, length, clock_now_ns());
    request->loop->chunks += answer->arrival_count - before;
    return good;
}

/* ---- over ------------------------------------------------------------------------ */

/* Into the recorder and the files. */
static void keep(struct loop *loop, const struct request *request, int64_t now_ns)
{
    struct run *run = loop->run;
    tw_record record;
    request_record(request, &record);
    writer_add_aiperf(run->aiperf, request, &record, loop->warmup, now_ns);
    if (loop->warmup)
        return;
    writer_add_record(run->records, &record);
    int32_t status = tw_recorder_append(run->recorder, &record, 1, sizeof record, 0,
                                        NULL);
    if (status != TW_OK)
        break_off(loop, tw_strerror(status));
}

static void count(struct loop *loop, struct request *request)
{
    struct run *run = loop->run;
    bool ok = request->status == TW_RECORD_OK;
    loop->ended++;
    loop->unsuccessful += !ok;
    if (loop->warmup)
        return;
    run->ok += ok;
    run->ok_with_usage += ok && request_has_usage(request);
    run->ok_without_usage += ok && !request_has_usage(request);
    if (!ok)
        failures_add(&run->failures, request->answer.error);
}

static void set_error(struct request *request, int32_t status, const char *why)
{
    request->status = status;
    message_copy_error(request->answer.error, why);
}

/* A connection that breaks behind the last token breaks nothing. */
static void judge(struct request *request, const char *failure)
{
    struct answer *answer = &request->answer;
    if (failure && !answer->done)
        set_error(request, TW_RECORD_FAILED, failure);
    else if (!answer_end(answer, request->http_status))
        request->status = TW_RECORD_FAILED;
}

static void on_over(void *owner, long http_status, const char *failure)
{
    struct request *request = owner;
    struct loop *loop = request->loop;
    request->end_ns = clock_now_ns();
    request->http_status = http_status;
    request->in_flight = false;
    loop->in_flight--;
    judge(request, failure);
    transport_hide_key(loop->run->transport, request->answer.error);
    keep(loop, request, request->end_ns);
    count(loop, request);
    places_give_back(&loop->places, request, request->end_ns);
    if (!loop->open)
        plan_user(loop, request->end_ns + (http_status == 0 ? PAUSE_NS : 0));
}

/* ---- the end --------------------------------------------------------------------- */

/* Requests in flight are recorded as such, or as cancelled by a Ctrl-C. */
static void cut(struct loop *loop, struct request *request, int64_t now_ns)
{
    struct run *run = loop->run;
    transport_cancel(request->call);
    if (*run->interrupted) {
        request->in_flight = false;
        request->end_ns = now_ns;
        set_error(request, TW_RECORD_CANCELLED, "cancelled by an interrupt");
        count(loop, request);
    } else if (!loop->warmup) {
        run->in_flight++;
        failures_add(&run->failures, "in flight at the end");
    }
    keep(loop, request, now_ns);
}

/* Requests that were due and never sent: given up now, after a wait that counts. */
static void cut_queue(struct loop *loop, int64_t now_ns)
{
    struct request request = {
        .asked_stream = loop->options->stream, .start_ns = now_ns, .end_ns = now_ns};
    answer_reset(&request.answer);
    while (loop->queue.count > 0) {
        struct plan plan = queue_take(&loop->queue);
        request.number = loop->started++;
        request.due_ns = plan.due_ns;
        request.input_tokens = plan.input_tokens;
        set_error(&request, TW_RECORD_CANCELLED, "due, but not sent before the end");
        count(loop, &request);
        keep(loop, &request, now_ns);
    }
}

static void end(struct loop *loop)
{
    int64_t now_ns = clock_now_ns();
    loop->run->end_ns = now_ns;
    for (size_t i = 0; i < loop->places.count; i++)
        if (loop->places.all[i]->in_flight)
            cut(loop, loop->places.all[i], now_ns);
    cut_queue(loop, now_ns);
    overhead_end(&loop->run->overhead, now_ns);
}

/* ---- the loop -------------------------------------------------------------------- */

static double share_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static struct progress_numbers progress_numbers(const struct loop *loop, int64_t now_ns)
{
    struct progress_numbers numbers = {
        .ended = loop->ended,
        .total = loop->target,
        .in_flight = loop->in_flight,
        .waiting = loop->queue.count,
        .unsuccessful = loop->unsuccessful,
        .chunks = loop->chunks,
    };
    double by_count = 0;
    double by_time = 0;
    if (loop->target != UINT64_MAX)
        by_count = share_of((double)loop->ended, (double)loop->target);
    if (loop->last_due_ns != INT64_MAX)
        by_time = share_of((double)(now_ns - loop->begin_ns),
                           (double)(loop->last_due_ns - loop->begin_ns));
    numbers.share = by_count > by_time ? by_count : by_time;
    return numbers;
}

static void tick(struct loop *loop, int64_t now_ns)
{
    struct run *run = loop->run;
    if (now_ns < loop->tick_ns)
        return;
    struct progress_numbers numbers = progress_numbers(loop, now_ns);
    loop->tick_ns = now_ns + TICK_NS;
    writer_flush(run->records);
    writer_flush(run->aiperf);
    if (run->records->error || run->aiperf->error)
        break_off(loop, "a file cannot be written");
    progress_update(&loop->progress, &numbers, now_ns);
}

static int64_t earlier(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* When there is something to do even if no byte comes. */
static int64_t next_event_ns(const struct loop *loop)
{
    const struct timer *user = timers_first(&loop->users);
    int64_t next_ns = earlier(loop->tick_ns, loop->give_up_ns);
    if (user)
        next_ns = earlier(next_ns, user->due_ns);
    return loop->has_next ? earlier(next_ns, loop->next.due_ns) : next_ns;
}

static bool is_over(const struct loop *loop, int64_t now_ns)
{
    bool nothing_left = loop->in_flight == 0 && loop->queue.count == 0 &&
                        loop->users.count == 0 && !loop->has_next;
    return nothing_left || loop->broken || *loop->run->interrupted ||
           now_ns >= loop->give_up_ns;
}

static void turn(struct loop *loop)
{
    int64_t begin_ns = clock_now_ns();
    collect_due(loop, begin_ns);
    start_waiting(loop);
    int64_t waited_ns = transport_wait(loop->run->transport, next_event_ns(loop));
    int64_t now_ns = clock_now_ns();
    tick(loop, now_ns);
    overhead_turn(&loop->run->overhead, now_ns - begin_ns, waited_ns);
}

/* When the load begins and ends, and its first requests. */
static void begin(struct loop *loop)
{
    const struct options *options = loop->options;
    loop->begin_ns = clock_now_ns();
    loop->tick_ns = loop->begin_ns + TICK_NS;
    loop->last_due_ns = loop->warmup ? INT64_MAX
                                     : add_time(loop->begin_ns, options->duration_ns);
    loop->give_up_ns = add_time(loop->last_due_ns, options->grace_ns);
    progress_begin(&loop->progress, options->quiet || loop->warmup, loop->begin_ns);
    if (loop->open) {
        schedule_init(&loop->schedule, options, loop->run->trace);
        plan_next_arrival(loop);
        return;
    }
    int64_t ramp_ns = loop->warmup ? 0 : options->ramp_ns;
    size_t users = loop->places.limit;
    for (size_t i = 0; i < users && !loop->broken; i++)
        plan_user(loop, loop->begin_ns + ramp_ns / (int64_t)users * (int64_t)i);
}

static bool run_loop(struct loop *loop)
{
    int64_t now_ns;
    if (!overhead_begin(&loop->run->overhead, clock_now_ns()))
        break_off(loop, "no memory");
    begin(loop);
    while (now_ns = clock_now_ns(), !is_over(loop, now_ns))
        turn(loop);
    end(loop);
    struct progress_numbers numbers = progress_numbers(loop, now_ns);
    progress_end(&loop->progress, &numbers, now_ns);
    places_clear(&loop->places);
    queue_clear(&loop->queue);
    timers_clear(&loop->users);
    return !loop->broken;
}

static bool run_warmup(struct run *run)
{
    const struct options *options = run->options;
    struct loop loop = {.run = run, .options = options, .warmup = true};
    loop.target = (uint64_t)options->warmup;
    places_init(&loop.places,
                options->concurrency > 0 ? (size_t)options->concurrency : WARMUP_USERS);
    bool good = run_loop(&loop);
    overhead_clear(&run->overhead);
    if (good && loop.unsuccessful > 0 && !*run->interrupted)
        fprintf(stderr,
                "timeweight-loadgen: %" PRIu64 " of %" PRIu64
                " requests of the warm-up failed\n",
                loop.unsuccessful, loop.ended);
    return good;
}

static uint64_t target_of(const struct run *run)
{
    uint64_t target = run->options->request_count == INT64_MAX
                          ? UINT64_MAX
                          : (uint64_t)run->options->request_count;
    return run->trace && run->trace->count < target ? run->trace->count : target;
}

bool run_load(struct run *run)
{
    static const struct transport_events events = {on_begun, on_bytes, on_over};
    const struct options *options = run->options;
    struct loop loop = {.run = run, .options = options};
    run->transport = transport_new(options, &events);
    if (!run->transport)
        return false;
    bool good = options->warmup == 0 || run_warmup(run);
    if (good) {
        loop.open = options_open_loop(options);
        loop.target = target_of(run);
        places_init(&loop.places,
                    options->concurrency > 0 ? (size_t)options->concurrency : SIZE_MAX);
        good = run_loop(&loop);
    }
    transport_free(run->transport);
    run->transport = NULL;
    return good;
}
