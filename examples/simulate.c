/* SPDX-License-Identifier: MIT */

/* A closed-loop load test in virtual time: a number of users send one request after the
 * other to a server with a fixed time to first token and between tokens, and a little
 * jitter. All in integers, so that a seed gives the same bytes on every machine. Prints
 * the report of the run, or writes its requests. */
#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

#define US INT64_C(1000)    /* ns */
#define MS INT64_C(1000000) /* ns */

/* The clock starts here, so that times have the size of real ones. */
#define EPOCH_NS INT64_C(1700000000000000000)
/* The library's times end here. */
#define LAST_NS ((int64_t)1 << 61)
/* The users start one after the other. */
#define RAMP_NS (200 * US)
/* From a credit to the request; a twentieth of the jitter comes on top. */
#define DISPATCH_NS (50 * US)
/* With jitter, so many of 100 responses count a token less than they had chunks, because
 * a tokenizer joined two. */
#define JOINED_PERCENT 73

struct setup {
    int64_t requests;
    int64_t concurrency;
    int64_t input_tokens;
    int64_t output_tokens;
    int64_t ttft_ms;
    int64_t itl_ms;
    int64_t jitter_us;
    int64_t seed;
    bool no_chunks;
    const char *records_path;
    const char *aiperf_path;
};

struct simulation {
    struct setup setup;
    uint64_t random;
    int64_t *free_ns; /* when each user is free again: a heap, the earliest first */
    int64_t *arrivals;
    FILE *records;
    FILE *aiperf;
    tw_recorder *recorder; /* NULL if there is to be no report */
};

_Noreturn static void fail(const char *what, const char *why)
{
    fprintf(stderr, "simulate: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void check(int32_t status)
{
    if (status != TW_OK)
        fail("timeweight", tw_strerror(status));
}

/* ---- chance ---------------------------------------------------------------------- */

/* SplitMix64. */
static uint64_t next_random(struct simulation *simulation)
{
    uint64_t z = simulation->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* In [0, limit], limit below 2^32. */
static int64_t uniform(struct simulation *simulation, int64_t limit)
{
    uint64_t high = next_random(simulation) >> 32;
    return (int64_t)((high * ((uint64_t)limit + 1)) >> 32);
}

/* In [0, jitter], most often near the middle. */
static int64_t delay(struct simulation *simulation)
{
    int64_t limit = simulation->setup.jitter_us * US;
    int64_t sum = uniform(simulation, limit);
    sum += uniform(simulation, limit);
    return sum / 2;
}

/* ---- the run --------------------------------------------------------------------- */

/* The earliest user is busy until a later time. */
static void reschedule(struct simulation *simulation, int64_t time)
{
    int64_t *heap = simulation->free_ns;
    int64_t count = simulation->setup.concurrency;
    int64_t hole = 0;
    for (;;) {
        int64_t child = 2 * hole + 1;
        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (child >= count || heap[child] >= time)
            break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = time;
}

/* Tokens are due at even distances from the start; each is late by a delay of its own. */
static tw_record request(struct simulation *simulation, int64_t credit)
{
    const struct setup *setup = &simulation->setup;
    tw_record record;
    tw_record_init(&record, sizeof record);
    record.credit_issued_ns = credit;
    record.start_ns = credit + DISPATCH_NS +
                      uniform(simulation, setup->jitter_us * US / 20);
    int64_t due = record.start_ns + setup->ttft_ms * MS;
    int64_t arrival = record.generation_start_ns = due + delay(simulation);
    for (int64_t i = 0; i + 1 < setup->output_tokens; i++) {
        due += setup->itl_ms * MS;
        int64_t next = due + delay(simulation);
        arrival = next > arrival ? next : arrival;
        simulation->arrivals[i] = arrival;
    }
    record.end_ns = arrival;
    record.input_tokens = setup->input_tokens;
    record.output_tokens = setup->output_tokens;
    bool joined = uniform(simulation, 99) < JOINED_PERCENT;
    if (joined && setup->jitter_us > 0 && setup->output_tokens > 1)
        record.output_tokens--;
    if (!setup->no_chunks) {
        record.chunk_arrival_ns = simulation->arrivals;
        record.chunk_count = (uint64_t)(setup->output_tokens - 1);
    }
    if (record.end_ns > LAST_NS)
        fail("the run", "takes too long");
    return record;
}

/* ---- the two formats ------------------------------------------------------------- */

static void write_record(FILE *file, const tw_record *record)
{
    fprintf(file, "{\"credit_issued_ns\":%" PRId64 ",\"start_ns\":%" PRId64,
            record->credit_issued_ns, record->start_ns);
    fprintf(file, ",\"generation_start_ns\":%" PRId64 ",\"end_ns\":%" PRId64,
            record->generation_start_ns, record->end_ns);
    fprintf(file, ",\"input_tokens\":%" PRId64 ",\"output_tokens\":%" PRId64,
            record->input_tokens, record->output_tokens);
    for (uint64_t i = 0; i < record->chunk_count; i++)
        fprintf(file, "%s%" PRId64, i == 0 ? ",\"chunk_arrival_ns\":[" : ",",
                record->chunk_arrival_ns[i]);
    fputs(record->chunk_count > 0 ? "]}\n" : "}\n", file);
}

static void write_ms(FILE *file, int64_t ns)
{
    fprintf(file, "%" PRId64 ".%06" PRId64, ns / MS, ns % MS);
}

static void write_latency(FILE *file, const char *name, int64_t ns)
{
    fprintf(file, "\"%s\":{\"value\":", name);
    write_ms(file, ns);
    fputs(",\"unit\":\"ms\"},", file);
}

static void write_aiperf(FILE *file, const tw_record *record, int64_t number)
{
    fprintf(file, "{\"metadata\":{\"session_num\":%" PRId64, number);
    fprintf(file, ",\"credit_issued_ns\":%" PRId64 ",\"request_start_ns\":%" PRId64,
            record->credit_issued_ns, record->start_ns);
    fprintf(file, ",\"request_end_ns\":%" PRId64, record->end_ns);
    fputs(",\"benchmark_phase\":\"profiling\",\"was_cancelled\":false},\"metrics\":{",
          file);
    write_latency(file, "request_latency", record->end_ns - record->start_ns);
    write_latency(file, "time_to_first_token",
                  record->generation_start_ns - record->start_ns);
    int64_t previous = record->generation_start_ns;
    for (uint64_t i = 0; i < record->chunk_count; i++) {
        fputs(i == 0 ? "\"inter_chunk_latency\":{\"value\":[" : ",", file);
        write_ms(file, record->chunk_arrival_ns[i] - previous);
        previous = record->chunk_arrival_ns[i];
    }
    if (record->chunk_count > 0)
        fputs("],\"unit\":\"ms\"},", file);
    fprintf(file,
            "\"input_sequence_length\":{\"value\":%" PRId64 ",\"unit\":\"tokens\"},",
            record->input_tokens);
    fprintf(file,
            "\"output_sequence_length\":{\"value\":%" PRId64 ",\"unit\":\"tokens\"}}}\n",
            record->output_tokens);
}

static FILE *open_output(const char *path)
{
    if (!path)
        return NULL;
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!file) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    return file;
}

static void close_output(FILE *file, const char *path)
{
    if (!file)
        return;
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        fail(path, "cannot be written");
}

/* ---- the report ------------------------------------------------------------------ */

static int32_t write_stdout(void *user_data, const char *bytes, size_t length)
{
    (void)user_data;
    return fwrite(bytes, 1, length, stdout) != length;
}

static void print_report(tw_recorder *recorder)
{
    tw_analysis *analysis;
    check(tw_analyze(&analysis, &recorder, 1, NULL));
    check(tw_report_write(analysis, TW_FORMAT_TEXT, NULL, write_stdout, NULL));
    tw_analysis_free(analysis);
}

/* ---- the command line ------------------------------------------------------------ */

enum key { KEY_NO_CHUNKS = 256, KEY_RECORDS, KEY_AIPERF, KEY_NUMBERS };

/* The options that are numbers, in the order of their keys from KEY_NUMBERS on. */
static const struct {
    size_t offset;
    int64_t least;
    int64_t most;
} numbers[] = {
    {offsetof(struct setup, requests), 1, 100000000},
    {offsetof(struct setup, concurrency), 1, 1000000},
    {offsetof(struct setup, input_tokens), 0, 1000000000},
    {offsetof(struct setup, output_tokens), 1, 1000000},
    {offsetof(struct setup, ttft_ms), 0, 1000000},
    {offsetof(struct setup, itl_ms), 0, 1000000},
    {offsetof(struct setup, jitter_us), 0, 1000000},
    {offsetof(struct setup, seed), 0, INT64_MAX - 1},
};

static const struct argp_option options[] = {
    {"requests", KEY_NUMBERS, "N", 0, "Requests in all (200)", 0},
    {"concurrency", KEY_NUMBERS + 1, "N", 0, "Users (16)", 0},
    {"input-tokens", KEY_NUMBERS + 2, "N", 0, "Tokens of a prompt (200)", 0},
    {"output-tokens", KEY_NUMBERS + 3, "N", 0, "Chunks of a response (100)", 0},
    {"ttft-ms", KEY_NUMBERS + 4, "MS", 0, "Time to the first token (100)", 0},
    {"itl-ms", KEY_NUMBERS + 5, "MS", 0, "Time between two tokens (20)", 0},
    {"jitter", KEY_NUMBERS + 6, "US", 0,
     "A token is late by up to this many microseconds (2000), and some responses count a "
     "token less than they have chunks; 0: neither",
     0},
    {"seed", KEY_NUMBERS + 7, "N", 0, "Another run (1)", 0},
    {"no-chunks", KEY_NO_CHUNKS, NULL, 0, "Do not record the arrival of each token", 0},
    {"records", KEY_RECORDS, "FILE", 0,
     "Write the requests to FILE in the records format; '-' is standard output, and then "
     "there is no report",
     0},
    {"aiperf", KEY_AIPERF, "FILE", 0, "Write them in the format of AIPerf, likewise", 0},
    {0}};

static void read_number(struct setup *setup, size_t index, const char *text,
                        struct argp_state *state)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || value < numbers[index].least ||
        value > numbers[index].most)
        argp_error(state, "'%s' is not a number from %" PRId64 " to %" PRId64, text,
                   numbers[index].least, numbers[index].most);
    *(int64_t *)(void *)((char *)setup + numbers[index].offset) = value;
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct setup *setup = state->input;
    switch (key) {
    case KEY_NO_CHUNKS:
        setup->no_chunks = true;
        return 0;
    case KEY_RECORDS:
        setup->records_path = argument;
        return 0;
    case KEY_AIPERF:
        setup->aiperf_path = argument;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "takes no argument: %s", argument);
        return 0;
    case ARGP_KEY_END:
        if (is_stdout(setup->records_path) && is_stdout(setup->aiperf_path))
            argp_error(state, "only one format fits on standard output");
        return 0;
    default:
        break;
    }
    if (key < KEY_NUMBERS || key > KEY_NUMBERS + 7)
        return ARGP_ERR_UNKNOWN;
    read_number(setup, (size_t)(key - KEY_NUMBERS), argument, state);
    return 0;
}

static void *allocate(int64_t count)
{
    void *memory = calloc((size_t)count, sizeof(int64_t));
    if (!memory)
        fail("memory", "exhausted");
    return memory;
}

static void run(struct simulation *simulation)
{
    const struct setup *setup = &simulation->setup;
    for (int64_t i = 0; i < setup->concurrency; i++)
        simulation->free_ns[i] = EPOCH_NS + i * RAMP_NS; /* sorted: a heap */
    for (int64_t i = 0; i < setup->requests; i++) {
        tw_record record = request(simulation, simulation->free_ns[0]);
        reschedule(simulation, record.end_ns);
        if (simulation->records)
            write_record(simulation->records, &record);
        if (simulation->aiperf)
            write_aiperf(simulation->aiperf, &record, i);
        if (simulation->recorder)
            check(tw_recorder_append(simulation->recorder, &record, 1, sizeof record, 0,
                                     NULL));
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Simulates a load test in virtual time and prints its report."};
    struct simulation simulation = {.setup = {.requests = 200,
                                              .concurrency = 16,
                                              .input_tokens = 200,
                                              .output_tokens = 100,
                                              .ttft_ms = 100,
                                              .itl_ms = 20,
                                              .jitter_us = 2000,
                                              .seed = 1}};
    struct setup *setup = &simulation.setup;

    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, 0, NULL, setup) != 0)
        return EXIT_FAILURE;
    simulation.random = (uint64_t)setup->seed;
    simulation.free_ns = allocate(setup->concurrency);
    simulation.arrivals = allocate(setup->output_tokens);
    simulation.records = open_output(setup->records_path);
    simulation.aiperf = open_output(setup->aiperf_path);
    if (!is_stdout(setup->records_path) && !is_stdout(setup->aiperf_path))
        check(tw_recorder_new(&simulation.recorder, NULL));
    run(&simulation);
    if (simulation.recorder) {
        print_report(simulation.recorder);
        close_output(stdout, "standard output");
    }
    close_output(simulation.records, setup->records_path);
    close_output(simulation.aiperf, setup->aiperf_path);
    tw_recorder_free(simulation.recorder);
    free(simulation.arrivals);
    free(simulation.free_ns);
    return EXIT_SUCCESS;
}
