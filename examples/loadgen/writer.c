/* SPDX-License-Identifier: MIT */
#include "writer.h"
#include "../common/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Lines are collected up to here. */
#define PENDING_LIMIT ((size_t)256 * 1024)
#define FILE_BUFFER ((size_t)1024 * 1024)

/* The code that AIPerf gives to a cancelled request. */
#define CODE_CANCELLED 499

static bool complain(const char *path, int error)
{
    fprintf(stderr, "timeweight-loadgen: %s: %s\n", path, strerror(error));
    return false;
}

bool writer_open(struct writer *writer, const char *path)
{
    *writer = (struct writer){.path = path};
    if (!path)
        return true;
    errno = 0;
    writer->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (!writer->file)
        return complain(path, errno);
    writer->buffer = malloc(FILE_BUFFER);
    if (!writer->buffer) {
        (void)writer_close(writer);
        return complain(path, ENOMEM);
    }
    (void)setvbuf(writer->file, writer->buffer, _IOFBF, FILE_BUFFER);
    return true;
}

static void note_error(struct writer *writer)
{
    if (writer->error == 0)
        writer->error = errno != 0 ? errno : EIO;
}

void writer_flush(struct writer *writer)
{
    errno = 0;
    if (writer->file && writer->pending > 0 && fflush(writer->file) != 0)
        note_error(writer);
    writer->pending = 0;
}

/* The file's buffer holds whole lines, unless one is longer than that. */
static void end_line(struct writer *writer, const char *end)
{
    errno = 0;
    if (fputs(end, writer->file) == EOF || ferror(writer->file))
        note_error(writer);
    if (writer->pending > PENDING_LIMIT)
        writer_flush(writer);
}

__attribute__((format(printf, 2, 3))) static void add(struct writer *writer,
                                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vfprintf(writer->file, format, arguments);
    va_end(arguments);
    if (length > 0)
        writer->pending += (size_t)length;
}

/* ---- records --------------------------------------------------------------------- */

static void add_number(struct writer *writer, const char *key, int64_t value,
                       int64_t none)
{
    if (value != none)
        add(writer, ",\"%s\":%" PRId64, key, value);
}

void writer_add_record(struct writer *writer, const tw_record *record)
{
    static const char *const names[] = {"ok", "failed", "cancelled"};
    if (!writer->file)
        return;
    add(writer, "{\"start_ns\":%" PRId64, record->start_ns);
    add_number(writer, "credit_issued_ns", record->credit_issued_ns, TW_TIME_NONE);
    add_number(writer, "generation_start_ns", record->generation_start_ns, TW_TIME_NONE);
    add_number(writer, "end_ns", record->end_ns, TW_TIME_NONE);
    add_number(writer, "input_tokens", record->input_tokens, TW_TOKENS_NONE);
    add_number(writer, "output_tokens", record->output_tokens, TW_TOKENS_NONE);
    if (record->status != TW_RECORD_OK)
        add(writer, ",\"status\":\"%s\"", names[record->status]);
    if (record->flags & TW_RECORD_STREAMING)
        add(writer, ",\"streaming\":true");
    for (uint64_t i = 0; i < record->chunk_count; i++)
        add(writer, "%s%" PRId64, i == 0 ? ",\"chunk_arrival_ns\":[" : ",",
            record->chunk_arrival_ns[i]);
    end_line(writer, record->chunk_count > 0 ? "]}\n" : "}\n");
}

/* ---- AIPerf ---------------------------------------------------------------------- */

/* Nanoseconds as milliseconds: exact, as decimals. */
static void add_ms(struct writer *writer, int64_t ns)
{
    add(writer, "%" PRId64 ".%06" PRId64, ns / NS_PER_MS, ns % NS_PER_MS);
}

static void add_latency(struct writer *writer, const char *name, int64_t ns)
{
    add(writer, ",\"%s\":{\"value\":", name);
    add_ms(writer, ns);
    add(writer, ",\"unit\":\"ms\"}");
}

static void add_tokens(struct writer *writer, const char *name, int64_t tokens)
{
    if (tokens >= 0)
        add(writer, ",\"%s\":{\"value\":%" PRId64 ",\"unit\":\"tokens\"}", name, tokens);
}

static void add_gaps(struct writer *writer, const tw_record *record)
{
    int64_t previous_ns = record->generation_start_ns;
    if (record->chunk_count == 0)
        return;
    add_latency(writer, "time_to_second_token",
                record->chunk_arrival_ns[0] - previous_ns);
    add(writer, ",\"inter_chunk_latency\":{\"value\":");
    for (uint64_t i = 0; i < record->chunk_count; i++) {
        add(writer, i == 0 ? "[" : ",");
        add_ms(writer, record->chunk_arrival_ns[i] - previous_ns);
        previous_ns = record->chunk_arrival_ns[i];
    }
    add(writer, "],\"unit\":\"ms\"}");
}

static void add_metrics(struct writer *writer, const struct request *request,
                        const tw_record *record, int64_t end_ns)
{
    const struct answer *answer = &request->answer;
    int64_t begin_ns = record->generation_start_ns;
    add(writer, ",\"metrics\":{\"request_latency\":{\"value\":");
    add_ms(writer, end_ns - record->start_ns);
    add(writer, ",\"unit\":\"ms\"}");
    if (record->status != TW_RECORD_OK || record->end_ns == TW_TIME_NONE)
        add(writer, ",\"error_request_count\":{\"value\":1,\"unit\":\"requests\"}");
    add_tokens(writer, "input_sequence_length", record->input_tokens);
    add_tokens(writer, "output_sequence_length", record->output_tokens);
    add_tokens(writer, "usage_prompt_tokens", answer->prompt_tokens);
    add_tokens(writer, "usage_completion_tokens", answer->completion_tokens);
    if (begin_ns != TW_TIME_NONE) {
        add_latency(writer, "time_to_first_token", begin_ns - record->start_ns);
        add_gaps(writer, record);
    }
    add(writer, "}");
}

static void add_error(struct writer *writer, long code, const char *type,
                      const char *message)
{
    json_t *string = json_string(message); /* NULL also where it is not UTF-8 */
    char *text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    add(writer, ",\"error\":{\"code\":%ld,\"type\":\"%s\",\"message\":%s}", code, type,
        text ? text : "\"(not UTF-8)\"");
    free(text);
    json_decref(string);
}

void writer_add_aiperf(struct writer *writer, const struct request *request,
                       const tw_record *record, bool warmup, int64_t now_ns)
{
    bool open = record->end_ns == TW_TIME_NONE;
    bool cancelled = open || record->status == TW_RECORD_CANCELLED;
    int64_t end_ns = open ? now_ns : record->end_ns;
    if (!writer->file)
        return;
    add(writer,
        "{\"metadata\":{\"session_num\":%" PRIu64 ",\"turn_index\":0"
        ",\"worker_id\":\"timeweight-loadgen\",\"credit_issued_ns\":%" PRId64
        ",\"request_start_ns\":%" PRId64 ",\"request_end_ns\":%" PRId64
        ",\"benchmark_phase\":\"%s\",\"was_cancelled\":%s",
        request->number, record->credit_issued_ns, record->start_ns, end_ns,
        warmup ? "warmup" : "profiling", cancelled ? "true" : "false");
    if (cancelled)
        add(writer, ",\"cancellation_time_ns\":%" PRId64, end_ns);
    add(writer, "}");
    add_metrics(writer, request, record, end_ns);
    if (cancelled)
        add_error(writer, CODE_CANCELLED, "RequestCancellationError",
                  open ? "in flight at the end of the run" : request->answer.error);
    else if (record->status == TW_RECORD_FAILED)
        add_error(writer, request->http_status, "RequestError", request->answer.error);
    end_line(writer, "}\n");
}

bool writer_close(struct writer *writer)
{
    if (!writer->file)
        return true;
    errno = 0;
    if (fflush(writer->file) != 0 || ferror(writer->file))
        note_error(writer);
    if (writer->file != stdout) { /* which keeps its buffer */
        if (fclose(writer->file) != 0)
            note_error(writer);
        free(writer->buffer);
    }
    writer->buffer = NULL;
    writer->file = NULL;
    return writer->error == 0 || complain(writer->path, writer->error);
}
