/* SPDX-License-Identifier: MIT */
#include "service.h"

#include <stdlib.h>
#include <string.h>

void service_init(struct service *service, const struct options *options,
                  void (*wake)(struct response *))
{
    *service = (struct service){.options = options, .wake = wake};
    service->queue_tail = &service->queue;
}

static void free_response(struct response *response)
{
    request_clear(&response->request);
    text_clear(&response->text);
    free(response);
}

/* ---- one response over time ------------------------------------------------------ */

static void schedule(struct response *response, int64_t due_ns)
{
    struct service *service = response->service;
    response->due_ns = due_ns;
    response->timer_running = timers_add(&service->timers,
                                         due_ns + service->first_request_ns, response);
    response->aborted |= !response->timer_running;
}

/* A chunk goes out when its last token is made. */
static void schedule_chunk(struct response *response)
{
    const struct options *options = response->service->options;
    int64_t left = response->output_tokens - response->sent_tokens;
    int64_t due_ns = response->due_ns;
    response->next_tokens = left < options->tokens_per_chunk ? left
                                                             : options->tokens_per_chunk;
    for (int64_t i = 0; i < response->next_tokens; i++)
        due_ns = pace_next(&options->pace, due_ns, &response->random);
    schedule(response, due_ns);
}

static void start_work(struct response *response, int64_t now_ns)
{
    struct service *service = response->service;
    const struct pace *pace = &service->options->pace;
    int64_t due_ns = pace_first(pace, now_ns - service->first_request_ns,
                                response->request.input_tokens, &response->random);
    response->stage = STAGE_PREFILL;
    service->active++;
    if (service->active > service->most_active)
        service->most_active = service->active;
    if (response->request.stream) {
        response->next_tokens = response->output_tokens > 0 ? 1 : 0;
        answer_role(&response->text, &response->request, response->number);
        schedule(response, due_ns);
        service->wake(response);
        return;
    }
    for (int64_t i = 1; i < response->output_tokens; i++)
        due_ns = pace_next(pace, due_ns, &response->random);
    schedule(response, due_ns);
    if (response->aborted)
        service->wake(response);
}

static void admit_next(struct service *service, int64_t now_ns)
{
    struct response *response = service->queue;
    if (!response)
        return;
    service->queue = response->next;
    if (!service->queue)
        service->queue_tail = &service->queue;
    service->queued--;
    start_work(response, now_ns);
}

static void stop_work(struct response *response, int64_t now_ns)
{
    struct service *service = response->service;
    response->stage = STAGE_ENDED;
    service->active--;
    admit_next(service, now_ns);
}

static bool wants_usage(const struct response *response)
{
    if (response->service->options->no_usage)
        return false;
    return !response->request.stream || response->request.include_usage;
}

static int64_t reasoning_tokens(const struct response *response)
{
    int64_t tokens = response->service->options->reasoning_tokens;
    return tokens < response->output_tokens ? tokens : response->output_tokens;
}

static void say_tokens(struct response *response)
{
    bool reasoning = response->sent_tokens < reasoning_tokens(response);
    answer_tokens(&response->text, &response->request, response->number,
                  response->next_tokens, reasoning);
    response->sent_tokens += response->next_tokens;
}

/* Fate strikes when half of the tokens are out. */
static bool is_broken(const struct response *response)
{
    return (response->fate == FATE_STREAM_ERROR || response->fate == FATE_ABORT) &&
           response->sent_tokens >= (response->output_tokens + 1) / 2;
}

static void say_end(struct response *response, int64_t now_ns)
{
    struct service *service = response->service;
    bool broken = response->request.stream && is_broken(response);
    if (!response->request.stream)
        answer_body(&response->text, &response->request, response->number,
                    response->output_tokens, reasoning_tokens(response),
                    wants_usage(response));
    else if (!broken)
        answer_end(&response->text, &response->request, response->number,
                   response->output_tokens, wants_usage(response));
    else if (response->fate == FATE_STREAM_ERROR)
        answer_stream_error(&response->text, "injected in the middle of a stream");
    response->aborted |= broken && response->fate == FATE_ABORT;
    service->completed += !broken;
    service->errors += broken;
    stop_work(response, now_ns);
}

/* The timer of a response has run out. */
static void work(struct response *response, int64_t due_ns, int64_t now_ns)
{
    response->timer_running = false;
    if (response->waiting_chunks++ == 0)
        response->waiting_due_ns = due_ns;
    response->stage = STAGE_DECODE;
    if (response->request.stream && response->next_tokens > 0)
        say_tokens(response);
    if (!response->request.stream || response->sent_tokens == response->output_tokens ||
        is_broken(response))
        say_end(response, now_ns);
    else
        schedule_chunk(response);
    response->aborted |= response->text.no_memory;
    response->service->wake(response);
}

/* ---- the service ----------------------------------------------------------------- */

static enum fate choose_fate(struct response *response)
{
    const struct options *options = response->service->options;
    double chance = random_unit(&response->random);
    if (chance < options->error_rate)
        return FATE_ERROR;
    if (!response->request.stream)
        return FATE_OK;
    if (random_unit(&response->random) < options->stream_error_rate)
        return FATE_STREAM_ERROR;
    if (random_unit(&response->random) < options->abort_rate)
        return FATE_ABORT;
    return FATE_OK;
}

struct response *service_begin(struct service *service, struct request *request,
                               void *owner, int64_t now_ns)
{
    const struct options *options = service->options;
    struct response *response = calloc(1, sizeof *response);
    if (!response)
        return NULL;
    if (service->requests == 0)
        service->first_request_ns = now_ns;
    response->service = service;
    response->owner = owner;
    response->request = *request;
    response->number = service->requests++;
    response->random = random_begin(options->seed, response->number);
    response->output_tokens = request->output_tokens >= 0 ? request->output_tokens
                                                          : options->output_tokens;
    response->fate = choose_fate(response);
    if (response->fate == FATE_ERROR) {
        response->stage = STAGE_ENDED;
        service->errors++;
    } else if (options->concurrency == 0 ||
               service->active < (uint64_t)options->concurrency) {
        start_work(response, now_ns);
    } else {
        response->stage = STAGE_QUEUED;
        *service->queue_tail = response;
        service->queue_tail = &response->next;
        service->queued++;
    }
    return response;
}

void service_run(struct service *service, int64_t now_ns)
{
    struct timer timer;
    while (timers_take(&service->timers, now_ns, &timer)) {
        struct response *response = timer.owner;
        if (response->owner)
            work(response, timer.due_ns, now_ns);
        else
            free_response(response);
    }
}

int64_t service_next_ns(const struct service *service)
{
    const struct timer *first = timers_first(&service->timers);
    return first ? first->due_ns : INT64_MAX;
}

bool response_ready(const struct response *response)
{
    if (!response->request.stream || response->fate == FATE_ERROR)
        return response->stage == STAGE_ENDED || response->aborted;
    return response->stage != STAGE_QUEUED;
}

size_t response_take(struct response *response, char *bytes, size_t size, int64_t now_ns)
{
    struct text *text = &response->text;
    size_t left = text->length - response->taken;
    size_t length = left < size ? left : size;
    if (length == 0)
        return 0;
    for (; response->waiting_chunks > 0; response->waiting_chunks--)
        timing_add(&response->service->timing, now_ns - response->waiting_due_ns);
    memcpy(bytes, text->bytes + response->taken, length);
    response->taken += length;
    if (response->taken == text->length)
        response->taken = text->length = 0;
    return length;
}

bool response_ended(const struct response *response)
{
    return response->text.length == 0 &&
           (response->stage == STAGE_ENDED || response->aborted);
}

static void leave_queue(struct response *response)
{
    struct service *service = response->service;
    struct response **link = &service->queue;
    while (*link != response)
        link = &(*link)->next;
    *link = response->next;
    if (!response->next)
        service->queue_tail = link;
    service->queued--;
}

void service_end(struct response *response, int64_t now_ns)
{
    response->owner = NULL;
    if (response->stage == STAGE_QUEUED)
        leave_queue(response);
    else if (response->stage != STAGE_ENDED)
        stop_work(response, now_ns);
    /* Otherwise its timer finds it, and frees it. */
    if (!response->timer_running)
        free_response(response);
}

void service_clear(struct service *service)
{
    struct timer timer;
    while (timers_take(&service->timers, INT64_MAX, &timer))
        free_response(timer.owner);
    timers_clear(&service->timers);
}
