/* SPDX-License-Identifier: MIT */
#include "transport.h"
#include "../common/clock.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* curl_multi_poll() is never asked to wait longer. */
#define LONGEST_WAIT_MS 1000
/* A connection is a file. */
#define MOST_FILES 200000

struct transport {
    const struct options *options;
    struct transport_events events;
    CURLM *multi;
    struct curl_slist *headers;
    char *api_key; /* NULL: none */
    int timer;     /* curl_multi_poll() counts in ms, this in ns */
};

struct call {
    struct transport *transport;
    void *owner;
    CURL *easy;
    char *body;
    bool begun;
    bool stopped; /* by us: the rest does not matter */
    char error[CURL_ERROR_SIZE];
};

/* ---- one call -------------------------------------------------------------------- */

static bool is_event_stream(CURL *easy)
{
    static const char wanted[] = "text/event-stream";
    const char *type = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    return type && strncasecmp(type, wanted, strlen(wanted)) == 0;
}

static size_t write_body(char *bytes, size_t size, size_t count, void *user_data)
{
    struct call *call = user_data;
    const struct transport_events *events = &call->transport->events;
    (void)size; /* 1 */
    if (!call->begun)
        events->begun(call->owner, is_event_stream(call->easy));
    call->begun = true;
    call->stopped = !events->bytes(call->owner, bytes, count);
    return call->stopped ? 0 : count;
}

static bool set_up(struct call *call)
{
    CURL *easy = call->easy;
    const struct options *options = call->transport->options;
    long timeout_ms = (long)(options->timeout_ns / NS_PER_MS);
    CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, options->url);
    if (code == CURLE_OK)
        code = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->transport->headers);
    if (code == CURLE_OK && options->ca_path)
        code = curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_path);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options->insecure ? 0L : 1L);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options->insecure ? 0L : 2L);
    /* A connection for each request: streams that share one would hold up each other. */
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->error);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    (void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
    return code == CURLE_OK;
}

struct call *transport_call(struct transport *transport, void *owner)
{
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->transport = transport;
    call->owner = owner;
    call->easy = curl_easy_init();
    if (call->easy && set_up(call))
        return call;
    transport_call_free(call);
    return NULL;
}

static void drop_body(struct call *call)
{
    free(call->body);
    call->body = NULL;
}

bool transport_send(struct call *call, char *body)
{
    call->body = body;
    call->begun = false;
    call->stopped = false;
    call->error[0] = '\0';
    (void)curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, body);
    (void)curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE,
                           (curl_off_t)strlen(body));
    if (curl_multi_add_handle(call->transport->multi, call->easy) == CURLM_OK)
        return true;
    drop_body(call);
    return false;
}

void transport_cancel(struct call *call)
{
    (void)curl_multi_remove_handle(call->transport->multi, call->easy);
    drop_body(call);
}

void transport_call_free(struct call *call)
{
    if (!call)
        return;
    curl_easy_cleanup(call->easy);
    drop_body(call);
    free(call);
}

/* ---- all of them ----------------------------------------------------------------- */

/* Takes the key out of the environment, where others might see it. */
static bool take_key(struct transport *transport)
{
    char *value = getenv(transport->options->api_key_name);
    if (!value || !*value)
        return true;
    transport->api_key = strdup(value);
    explicit_bzero(value, strlen(value));
    return transport->api_key && unsetenv(transport->options->api_key_name) == 0;
}

static bool add_header(struct transport *transport, const char *header)
{
    struct curl_slist *longer = curl_slist_append(transport->headers, header);
    if (!longer)
        return false;
    transport->headers = longer;
    return true;
}

static bool add_headers(struct transport *transport)
{
    char *authorization = NULL;
    bool good = add_header(transport, "Content-Type: application/json") &&
                add_header(transport, "Expect:"); /* do not wait to send a long body */
    if (good && transport->api_key) {
        good = asprintf(&authorization, "Authorization: Bearer %s", transport->api_key) >=
                   0 &&
               add_header(transport, authorization);
        free(authorization);
    }
    return good;
}

static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max < MOST_FILES ? limit.rlim_max : MOST_FILES;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

struct transport *transport_new(const struct options *options,
                                const struct transport_events *events)
{
    struct transport *transport = calloc(1, sizeof *transport);
    raise_file_limit();
    if (transport && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
        transport->options = options;
        transport->events = *events;
        transport->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        transport->multi = curl_multi_init();
        if (transport->multi && transport->timer >= 0 && take_key(transport) &&
            add_headers(transport)) {
            (void)curl_multi_setopt(transport->multi, CURLMOPT_MAXCONNECTS,
                                    (long)MOST_FILES);
            return transport;
        }
        transport_free(transport);
        transport = NULL;
    }
    fprintf(stderr, "timeweight-loadgen: libcurl cannot be set up\n");
    free(transport);
    return NULL;
}

static const char *explain(const struct call *call, CURLcode code)
{
    if (code == CURLE_OK || call->stopped)
        return NULL;
    if (code == CURLE_OPERATION_TIMEDOUT)
        return "timed out";
    if (code == CURLE_COULDNT_CONNECT) /* without a port or a time that differ */
        return "cannot connect";
    return call->error[0] ? call->error : curl_easy_strerror(code);
}

static void finish(struct transport *transport, CURL *easy, CURLcode code)
{
    struct call *call = NULL;
    long http_status = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&call);
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &http_status);
    (void)curl_multi_remove_handle(transport->multi, easy);
    drop_body(call);
    transport->events.over(call->owner, http_status, explain(call, code));
}

static void perform(struct transport *transport)
{
    int left;
    struct CURLMsg *message;
    (void)curl_multi_perform(transport->multi, &left);
    while ((message = curl_multi_info_read(transport->multi, &left)))
        if (message->msg == CURLMSG_DONE)
            finish(transport, message->easy_handle, message->data.result);
}

int64_t transport_wait(struct transport *transport, int64_t until_ns)
{
    struct itimerspec alarm = {.it_value = clock_monotonic(until_ns)};
    struct curl_waitfd timer = {.fd = transport->timer, .events = CURL_WAIT_POLLIN};
    int64_t begin_ns = clock_now_ns();
    int64_t end_ns = begin_ns;
    if (until_ns > begin_ns) {
        /* Returns at once where a request was just handed over. */
        (void)timerfd_settime(transport->timer, TFD_TIMER_ABSTIME, &alarm, NULL);
        (void)curl_multi_poll(transport->multi, &timer, 1, LONGEST_WAIT_MS, NULL);
        end_ns = clock_now_ns();
    }
    perform(transport);
    return end_ns - begin_ns;
}

/* A text may have been cut inside the key. */
static void hide_cut_key(const char *key, char *text)
{
    size_t length = strlen(text);
    for (size_t part = strlen(key); part-- > 4;)
        if (part <= length && memcmp(text + length - part, key, part) == 0) {
            memset(text + length - part, '*', part);
            return;
        }
}

void transport_hide_key(const struct transport *transport, char *text)
{
    const char *key = transport->api_key;
    char *found = text;
    while (key && (found = strstr(found, key)))
        memset(found, '*', strlen(key));
    if (key)
        hide_cut_key(key, text);
}

void transport_free(struct transport *transport)
{
    if (!transport)
        return;
    (void)curl_multi_cleanup(transport->multi);
    curl_slist_free_all(transport->headers);
    if (transport->api_key)
        explicit_bzero(transport->api_key, strlen(transport->api_key));
    free(transport->api_key);
    if (transport->timer >= 0)
        (void)close(transport->timer);
    curl_global_cleanup();
    free(transport);
}
