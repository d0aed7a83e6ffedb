/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_TRANSPORT_H
#define LOADGEN_TRANSPORT_H

#include "options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* HTTP requests in flight: libcurl's multi interface, driven by one thread. */
struct transport;

/* One place for a request; its connection stays open from one to the next. */
struct call;

struct transport_events {
    /* The headers are there. */
    void (*begun)(void *owner, bool event_stream);
    /* Bytes of the body; false: the rest does not matter. */
    bool (*bytes)(void *owner, const char *bytes, size_t length);
    /* It is over. failure: why there is no whole response, or NULL; http_status: 0 if
     * there was none. The call may be sent again from here on. */
    void (*over)(void *owner, long http_status, const char *failure);
};

/* NULL after a message. The API key is taken out of the environment. */
struct transport *transport_new(const struct options *options,
                                const struct transport_events *events);

/* NULL: no memory. */
struct call *transport_call(struct transport *transport, void *owner);

/* Hands a request to the transport, which frees the body (malloc). False: no memory, and
 * there will be no events. */
bool transport_send(struct call *call, char *body);

/* Gives up a request without an event. */
void transport_cancel(struct call *call);

/* Waits until there is something to send or receive, but not beyond until_ns, and does
 * that; events come out. Returns for how long it waited. */
int64_t transport_wait(struct transport *transport, int64_t until_ns);

/* Replaces the API key wherever it occurs in a text. */
void transport_hide_key(const struct transport *transport, char *text);

void transport_call_free(struct call *call);
void transport_free(struct transport *transport);

#endif
