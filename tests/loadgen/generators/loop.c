/* SPDX-License-Identifier: MIT */
/* Shown in doc/loadgen.md: a generator with one event loop, as wrk has. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <timeweight/timeweight.h>

#define MOST_CHUNKS 1024

struct connection {
    int socket;
    tw_record record;
    int64_t arrivals[MOST_CHUNKS];
    uint64_t arrival_count;
};

struct generator {
    tw_recorder *recorder;
    int64_t next_due_ns;
    int64_t interval_ns;
};

/* The generator's own. */
int64_t now_ns(void);
struct connection *free_connection(struct generator *generator);
void write_request(struct connection *connection);
void give_back(struct generator *generator, struct connection *connection);

void begin(struct generator *generator);
void send_what_is_due(struct generator *generator);
void on_chunk(struct connection *connection);
void on_over(struct generator *generator, struct connection *connection, bool failed);
void end(struct generator *generator);

void begin(struct generator *generator)
{
    if (tw_recorder_new(&generator->recorder, NULL) != TW_OK) /* 1 */
        fputs("no memory\n", stderr);
}

/* Called by the loop before it waits, and whenever a connection is free again. */
void send_what_is_due(struct generator *generator)
{
    struct connection *connection;
    while (generator->next_due_ns <= now_ns() &&
           (connection = free_connection(generator))) {
        tw_record *record = &connection->record;
        tw_record_init(record, sizeof *record);            /* 2 */
        record->credit_issued_ns = generator->next_due_ns; /* not now_ns()! */
        record->flags = TW_RECORD_STREAMING;
        record->input_tokens = 200;
        connection->arrival_count = 0;
        record->start_ns = now_ns();
        write_request(connection);
        generator->next_due_ns += generator->interval_ns;
    }
}

/* Content has arrived. */
void on_chunk(struct connection *connection)
{
    if (connection->arrival_count < MOST_CHUNKS)
        connection->arrivals[connection->arrival_count++] = now_ns();
}

/* The response is complete, or there will be none. */
void on_over(struct generator *generator, struct connection *connection, bool failed)
{
    tw_record *record = &connection->record;
    uint64_t count = connection->arrival_count;
    record->status = failed ? TW_RECORD_FAILED : TW_RECORD_OK;
    record->end_ns = now_ns();
    if (count > 0) {
        record->generation_start_ns = connection->arrivals[0];
        record->chunk_arrival_ns = connection->arrivals + 1;
        record->chunk_count = count - 1;
        record->output_tokens = (int64_t)count; /* or what the server's usage says */
        if (!failed)
            record->end_ns = connection->arrivals[count - 1];
    }
    if (tw_recorder_append(generator->recorder, record, 1, sizeof *record, 0, NULL) !=
        TW_OK) /* 3 */
        fputs("a record was refused\n", stderr);
    give_back(generator, connection);
}

static int32_t write_stdout(void *user_data, const char *bytes, size_t length)
{
    (void)user_data;
    return fwrite(bytes, 1, length, stdout) != length;
}

void end(struct generator *generator)
{
    tw_analysis *analysis;
    if (tw_analyze(&analysis, &generator->recorder, 1, NULL) == TW_OK) {           /* 4 */
        (void)tw_report_write(analysis, TW_FORMAT_TEXT, NULL, write_stdout, NULL); /* 5 */
        tw_analysis_free(analysis);
    }
    tw_recorder_free(generator->recorder);
}
