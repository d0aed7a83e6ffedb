/* SPDX-License-Identifier: MIT */
#ifndef MOCKSERVER_SERVICE_H
#define MOCKSERVER_SERVICE_H

#include "../common/random.h"
#include "../common/timers.h"
#include "answer.h"
#include "options.h"
#include "request.h"
#include "timing.h"

/* The server as a model of time: which requests are worked on, what each says and when.
 * It knows nothing of HTTP; it calls wake() when a response has something to do. */

enum fate { FATE_OK, FATE_ERROR, FATE_STREAM_ERROR, FATE_ABORT };

enum stage { STAGE_QUEUED, STAGE_PREFILL, STAGE_DECODE, STAGE_ENDED };

struct response {
    struct service *service;
    void *owner; /* NULL: the client is gone */
    struct request request;
    struct random random;
    uint64_t number;
    enum fate fate;
    enum stage stage;
    int64_t output_tokens;
    int64_t sent_tokens;
    int64_t next_tokens; /* that the timer that is running will bring */
    int64_t due_ns;
    bool timer_running;
    bool aborted; /* by its fate, or for lack of memory */
    struct text text;
    size_t taken; /* bytes of the text that have been handed to the network */
    int64_t waiting_due_ns;
    uint64_t waiting_chunks; /* not handed out yet, the oldest due at waiting_due_ns */
    struct response *next;   /* in the queue */
};

struct service {
    const struct options *options;
    void (*wake)(struct response *response);
    struct timers timers;
    struct response *queue;
    struct response **queue_tail;
    int64_t first_request_ns;
    uint64_t requests;
    uint64_t active;
    uint64_t most_active;
    uint64_t queued;
    uint64_t completed;
    uint64_t errors;
    struct timing timing;
};

void service_init(struct service *service, const struct options *options,
                  void (*wake)(struct response *));

/* Takes over the request. NULL: no memory. Unless its fate is FATE_ERROR the owner is
 * woken when the response begins (perhaps before this returns), and later for each
 * piece. */
struct response *service_begin(struct service *service, struct request *request,
                               void *owner, int64_t now_ns);

/* Does what is due. */
void service_run(struct service *service, int64_t now_ns);

/* When there is something to do again; INT64_MAX: never. */
int64_t service_next_ns(const struct service *service);

/* Has the response begun (a stream), or is it complete (no stream)? */
bool response_ready(const struct response *response);

/* Hands out up to size bytes of a stream; 0: there is none right now. */
size_t response_take(struct response *response, char *bytes, size_t size, int64_t now_ns);

/* Nothing follows what was handed out. */
bool response_ended(const struct response *response);

/* The owner is done with it, sent or not. */
void service_end(struct response *response, int64_t now_ns);

void service_clear(struct service *service);

#endif
