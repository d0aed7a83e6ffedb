/* SPDX-License-Identifier: MIT */

/* HTTP around the service: one thread, libmicrohttpd in an event loop of ours. While a
 * response waits for its next token its connection is suspended, so that a turn of the
 * loop costs as much as there is to send, not as there are connections. */

#include "server.h"
#include "../common/clock.h"
#include "service.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LARGEST_BODY ((size_t)64 * 1024 * 1024)
#define CONNECTION_MEMORY ((size_t)16 * 1024)
#define BLOCK_SIZE 4096
#define MOST_CONNECTIONS 65536

struct server {
    const struct options *options;
    struct service service;
    struct MHD_Daemon *daemon;
    struct exchange *exchanges; /* all that there are */
    bool stopping;
};

/* One request and its response. */
struct exchange {
    struct server *server;
    struct MHD_Connection *connection;
    struct exchange *next;
    struct exchange **link; /* what leads to this one */
    struct response *response;
    char *body;
    size_t length;
    size_t capacity;
    bool too_large;
    bool suspended;
};

/* ---- answers --------------------------------------------------------------------- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status,
                             struct text *text)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        text->length, text->bytes, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  "application/json");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status,
                              const char *message, const char *quoted)
{
    struct text text = {0};
    answer_error(&text, (int)status, message, quoted);
    enum MHD_Result result = reply(connection, status, &text);
    text_clear(&text);
    return result;
}

static enum MHD_Result tell_health(struct server *server,
                                   struct MHD_Connection *connection)
{
    const struct service *service = &server->service;
    char body[512];
    struct text text = {.bytes = body};
    text.length = (size_t)snprintf(
        body, sizeof body,
        "{\"status\":\"ok\",\"requests\":%" PRIu64 ",\"active\":%" PRIu64
        ",\"queued\":%" PRIu64 ",\"completed\":%" PRIu64 ",\"errors\":%" PRIu64
        ",\"most_active\":%" PRIu64 "}\n",
        service->requests, service->active, service->queued, service->completed,
        service->errors, service->most_active);
    return reply(connection, MHD_HTTP_OK, &text);
}

/* ---- streams --------------------------------------------------------------------- */

static void suspend(struct exchange *exchange)
{
    MHD_suspend_connection(exchange->connection);
    exchange->suspended = true;
}

static void resume(struct exchange *exchange)
{
    if (exchange->suspended)
        MHD_resume_connection(exchange->connection);
    exchange->suspended = false;
}

static void wake(struct response *response)
{
    resume(response->owner);
}

static ssize_t read_stream(void *cls, uint64_t position, char *bytes, size_t size)
{
    (void)position;
    struct exchange *exchange = cls;
    struct response *response = exchange->response;
    if (exchange->server->stopping)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t length = response_take(response, bytes, size, clock_now_ns());
    if (length > 0)
        return (ssize_t)length;
    if (!response_ended(response))
        suspend(exchange);
    else
        return response->aborted ? MHD_CONTENT_READER_END_WITH_ERROR
                                 : MHD_CONTENT_READER_END_OF_STREAM;
    return 0;
}

static enum MHD_Result begin_stream(struct exchange *exchange)
{
    struct MHD_Response *stream = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_stream, exchange, NULL);
    if (!stream)
        return MHD_NO;
    (void)MHD_add_response_header(stream, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  "text/event-stream; charset=utf-8");
    (void)MHD_add_response_header(stream, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    enum MHD_Result result = MHD_queue_response(exchange->connection, MHD_HTTP_OK,
                                                stream);
    MHD_destroy_response(stream);
    return result;
}

/* ---- requests -------------------------------------------------------------------- */

static bool is_authorized(struct server *server, struct MHD_Connection *connection,
                          const char **shown)
{
    static const char scheme[] = "Bearer ";
    const char *header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                     MHD_HTTP_HEADER_AUTHORIZATION);
    bool bearer = header && strncmp(header, scheme, strlen(scheme)) == 0;
    *shown = bearer ? header + strlen(scheme) : "(none)";
    return !server->options->api_key ||
           (bearer && strcmp(*shown, server->options->api_key) == 0);
}

static struct exchange *new_exchange(struct server *server,
                                     struct MHD_Connection *connection)
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return NULL;
    exchange->server = server;
    exchange->connection = connection;
    exchange->next = server->exchanges;
    exchange->link = &server->exchanges;
    if (exchange->next)
        exchange->next->link = &exchange->next;
    server->exchanges = exchange;
    return exchange;
}

static void free_exchange(struct exchange *exchange)
{
    *exchange->link = exchange->next;
    if (exchange->next)
        exchange->next->link = exchange->link;
    if (exchange->response)
        service_end(exchange->response, clock_now_ns());
    free(exchange->body);
    free(exchange);
}

static void add_body(struct exchange *exchange, const char *bytes, size_t size)
{
    size_t wanted = exchange->length + size;
    if (wanted > LARGEST_BODY)
        exchange->too_large = true;
    if (exchange->too_large)
        return;
    if (wanted > exchange->capacity) {
        size_t capacity = wanted < 2048 ? 2048 : 2 * wanted;
        char *body = realloc(exchange->body, capacity);
        if (!body) {
            exchange->too_large = true;
            return;
        }
        exchange->body = body;
        exchange->capacity = capacity;
    }
    memcpy(exchange->body + exchange->length, bytes, size);
    exchange->length = wanted;
}

/* The whole body is there. Returns NULL, or what is wrong. */
static const char *begin_response(struct exchange *exchange, bool chat)
{
    struct request request;
    const char *wrong = request_read(&request, chat, exchange->body, exchange->length);
    free(exchange->body);
    exchange->body = NULL;
    if (!wrong) {
        exchange->response = service_begin(&exchange->server->service, &request, exchange,
                                           clock_now_ns());
        wrong = exchange->response ? NULL : "no memory";
    }
    if (wrong)
        request_clear(&request);
    return wrong;
}

static enum MHD_Result answer(struct exchange *exchange)
{
    struct response *response = exchange->response;
    if (exchange->server->stopping)
        return MHD_NO;
    if (!response_ready(response)) {
        suspend(exchange);
        return MHD_YES;
    }
    if (response->fate == FATE_ERROR)
        return refuse(exchange->connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "injected",
                      NULL);
    if (response->aborted)
        return MHD_NO; /* no memory */
    if (response->request.stream)
        return begin_stream(exchange);
    return reply(exchange->connection, MHD_HTTP_OK, &response->text);
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection,
                              const char *url, const char *method, const char *version,
                              const char *upload, size_t *upload_size, void **state)
{
    (void)version;
    struct server *server = cls;
    struct exchange *exchange = *state;
    const char *key;
    bool chat = strcmp(url, "/v1/chat/completions") == 0;
    if (!exchange) {
        exchange = *state = new_exchange(server, connection);
        return exchange ? MHD_YES : MHD_NO;
    }
    if (*upload_size > 0) {
        add_body(exchange, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (exchange->response)
        return answer(exchange);
    if (strcmp(url, "/health") == 0)
        return tell_health(server, connection);
    if (!chat && strcmp(url, "/v1/completions") != 0)
        return refuse(connection, MHD_HTTP_NOT_FOUND, "no such address: ", url);
    if (strcmp(method, MHD_HTTP_METHOD_POST) != 0)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "use POST", NULL);
    if (!is_authorized(server, connection, &key))
        return refuse(connection, MHD_HTTP_UNAUTHORIZED,
                      "incorrect API key provided: ", key);
    if (exchange->too_large)
        return refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large",
                      NULL);
    const char *wrong = begin_response(exchange, chat);
    if (wrong)
        return refuse(connection, MHD_HTTP_BAD_REQUEST, wrong, NULL);
    return answer(exchange);
}

static void completed(void *cls, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code)
{
    (void)cls;
    (void)connection;
    (void)code;
    if (*state)
        free_exchange(*state);
    *state = NULL;
}

/* ---- the loop -------------------------------------------------------------------- */

static int complain(const char *what, const char *why)
{
    fprintf(stderr, "timeweight-mockserver: %s: %s\n", what, why);
    return -1;
}

/* A connection is a file. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max < MOST_CONNECTIONS ? limit.rlim_max
                                                       : MOST_CONNECTIONS;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int start(struct server *server)
{
    const struct options *options = server->options;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)options->port)};
    if (inet_pton(AF_INET, options->host, &address.sin_addr) != 1)
        return complain(options->host, "is no IPv4 address");
    errno = 0;
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, server,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_NOTIFY_COMPLETED,
        completed, NULL, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096U, MHD_OPTION_END);
    if (!server->daemon)
        return complain("cannot listen",
                        errno != 0 ? strerror(errno) : "libmicrohttpd says no");
    const union MHD_DaemonInfo *port = MHD_get_daemon_info(server->daemon,
                                                           MHD_DAEMON_INFO_BIND_PORT);
    printf("listening on http://%s:%u\n", options->host, port ? port->port : 0U);
    (void)fflush(stdout);
    return 0;
}

static int open_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* For how long nothing will happen by itself; at most an hour. */
static int64_t idle_ns(struct server *server)
{
    MHD_UNSIGNED_LONG_LONG ms;
    int64_t idle = service_next_ns(&server->service);
    idle = idle == INT64_MAX ? 3600 * NS_PER_SEC : idle - clock_now_ns();
    if (MHD_get_timeout(server->daemon, &ms) == MHD_YES && ms < 3600000 &&
        (int64_t)ms * NS_PER_MS < idle)
        idle = (int64_t)ms * NS_PER_MS;
    return idle > 0 ? idle : 0;
}

static void serve(struct server *server, int signals)
{
    int epoll = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    struct pollfd files[] = {{.fd = epoll, .events = POLLIN},
                             {.fd = signals, .events = POLLIN}};
    while (!(files[1].revents & POLLIN)) {
        service_run(&server->service, clock_now_ns());
        (void)MHD_run(server->daemon);
        struct timespec wait = clock_duration(idle_ns(server));
        (void)ppoll(files, 2, &wait, NULL);
    }
}

/* Streams break off. */
static void stop(struct server *server)
{
    server->stopping = true;
    for (struct exchange *exchange = server->exchanges; exchange;
         exchange = exchange->next)
        resume(exchange);
    (void)MHD_run(server->daemon);
    MHD_stop_daemon(server->daemon);
}

static void print_summary(const struct service *service)
{
    const struct timing *timing = &service->timing;
    fprintf(stderr,
            "%" PRIu64 " requests, %" PRIu64 " completed, %" PRIu64
            " errors, at most %" PRIu64 " at once\n"
            "timing error of %" PRIu64
            " chunks: p50 %.3f ms, p99 %.3f ms, p99.9 %.3f ms, max %.3f ms\n",
            service->requests, service->completed, service->errors, service->most_active,
            timing->count, (double)timing_quantile_ns(timing, 0.5) / 1e6,
            (double)timing_quantile_ns(timing, 0.99) / 1e6,
            (double)timing_quantile_ns(timing, 0.999) / 1e6,
            (double)timing->max_ns / 1e6);
}

int server_run(const struct options *options)
{
    static struct server server;
    int signals = open_signals();
    if (signals < 0)
        return complain("signalfd", strerror(errno));
    server.options = options;
    clock_begin();
    raise_file_limit();
    service_init(&server.service, options, wake);
    int result = start(&server);
    if (result == 0) {
        serve(&server, signals);
        stop(&server);
        print_summary(&server.service);
    }
    service_clear(&server.service);
    (void)close(signals);
    return result;
}
