/* SPDX-License-Identifier: MIT */
/* Shown in doc/loadgen.md: the same with libuv. */

#include <stdint.h>
#include <timeweight/timeweight.h>
#include <uv.h>

struct request {
    uv_write_t write;
    tw_record record;
};

/* The generator's own. */
extern int64_t next_due_ns, interval_ns;
struct request *new_request(void);
void send_request(struct request *request);
void take_chunk(struct request *request, const char *bytes, ssize_t length,
                int64_t now_ns);
void record_and_free(struct request *request, int failed);

void on_timer(uv_timer_t *timer);
void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer);

/* libuv counts in milliseconds, and a timer may be late: what is due is decided by the
 * schedule, and all of it is sent. */
void on_timer(uv_timer_t *timer)
{
    while (next_due_ns <= (int64_t)uv_hrtime()) {
        struct request *request = new_request();
        tw_record_init(&request->record, sizeof request->record);
        request->record.credit_issued_ns = next_due_ns;
        request->record.start_ns = (int64_t)uv_hrtime();
        send_request(request);
        next_due_ns += interval_ns;
    }
    int64_t wait_ns = next_due_ns - (int64_t)uv_hrtime();
    uv_timer_start(timer, on_timer, wait_ns > 0 ? (uint64_t)wait_ns / 1000000 : 0, 0);
}

/* uv_now() is the time at which the loop woke up: late for all but the first callback of
 * a turn. uv_hrtime() is a monotonic clock in ns. */
void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct request *request = stream->data;
    if (length >= 0)
        take_chunk(request, buffer->base, length, (int64_t)uv_hrtime());
    else
        record_and_free(request, length != UV_EOF);
}
