/* SPDX-License-Identifier: MIT */
#include "options.h"
#include "../common/arguments.h"
#include "../common/clock.h"
#include "exit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

enum key {
    KEY_MODEL = 256,
    KEY_ENDPOINT,
    KEY_NO_STREAM,
    KEY_NO_USAGE,
    KEY_INPUT_TOKENS,
    KEY_OUTPUT_TOKENS,
    KEY_PROMPTS,
    KEY_EXTRA,
    KEY_API_KEY_ENV,
    KEY_CACERT,
    KEY_INSECURE,
    KEY_TIMEOUT,

    KEY_CONCURRENCY,
    KEY_RAMP,
    KEY_REQUEST_RATE,
    KEY_ARRIVALS,
    KEY_SHAPE,
    KEY_TRACE,
    KEY_TRACE_SPEED,
    KEY_REQUEST_COUNT,
    KEY_DURATION,
    KEY_GRACE,
    KEY_WARMUP,
    KEY_SEED,

    KEY_JSON,
    KEY_RECORDS,
    KEY_AIPERF,
    KEY_TIMELINE,
    KEY_QUIET
};

static const struct argp_option list[] = {
    {NULL, 0, NULL, 0, "When to send:", 1},
    {"concurrency", KEY_CONCURRENCY, "N", 0,
     "Closed loop: N users, each sending its next request when the last has ended. With "
     "--request-rate or --trace: at most N requests in flight, and those that are due "
     "wait (default: no limit)",
     1},
    {"ramp", KEY_RAMP, "SEC", 0,
     "Closed loop: the users begin one by one in this time (default: 0)", 1},
    {"request-rate", KEY_REQUEST_RATE, "R", 0, "Open loop: R requests a second are due",
     1},
    {"arrivals", KEY_ARRIVALS, "constant|poisson|gamma", 0,
     "How they are spread (default: poisson)", 1},
    {"shape", KEY_SHAPE, "K", 0,
     "Shape of gamma: below 1 in bursts, 1 is poisson, above 1 more even (default: 0.5)",
     1},
    {"trace", KEY_TRACE, "FILE", 0,
     "Requests are due as in a trace: Mooncake (JSON Lines) or Azure (CSV)", 1},
    {"trace-speed", KEY_TRACE_SPEED, "F", 0, "Replay it F times as fast (default: 1)", 1},
    {"request-count", KEY_REQUEST_COUNT, "N", 0, "Send N requests", 1},
    {"duration", KEY_DURATION, "SEC", 0, "Requests are due for so long", 1},
    {"grace", KEY_GRACE, "SEC", 0,
     "How long to wait then for those that have not ended (default: 30)", 1},
    {"warmup", KEY_WARMUP, "N", 0, "First send N requests that do not count (default: 0)",
     1},
    {"seed", KEY_SEED, "N", 0, "Seed of arrivals and prompts (default: 1)", 1},

    {NULL, 0, NULL, 0, "What to send:", 2},
    {"model", KEY_MODEL, "NAME", 0, "The model (default: default)", 2},
    {"endpoint", KEY_ENDPOINT, "chat|completions", 0, "The API (default: chat)", 2},
    {"no-stream", KEY_NO_STREAM, NULL, 0, "Ask for whole responses", 2},
    {"no-usage", KEY_NO_USAGE, NULL, 0, "Do not ask for token counts in streams", 2},
    {"input-tokens", KEY_INPUT_TOKENS, "N", 0, "Length of prompts (default: 200)", 2},
    {"output-tokens", KEY_OUTPUT_TOKENS, "N", 0, "The max_tokens (default: 100)", 2},
    {"prompts", KEY_PROMPTS, "FILE", 0, "Take the lines of a file as prompts, in turn",
     2},
    {"extra", KEY_EXTRA, "JSON", 0,
     "Members for the body of each request, such as {\"ignore_eos\":true}", 2},
    {"timeout", KEY_TIMEOUT, "SEC", 0,
     "A request that takes longer has failed (default: 600)", 2},
    {"api-key-env", KEY_API_KEY_ENV, "NAME", 0,
     "The environment variable with the API key (default: OPENAI_API_KEY)", 2},
    {"cacert", KEY_CACERT, "FILE", 0, "Trust the certificates in this file", 2},
    {"insecure", KEY_INSECURE, NULL, 0, "Trust any certificate", 2},

    {NULL, 0, NULL, 0, "What to tell:", 3},
    {"json", KEY_JSON, "FILE", 0, "Write the report as JSON", 3},
    {"records", KEY_RECORDS, "FILE", 0,
     "Write the requests as they end, in the records format", 3},
    {"aiperf", KEY_AIPERF, "FILE", 0, "Write them in the format of AIPerf", 3},
    {"timeline", KEY_TIMELINE, "SEC", 0, "Print curves over time, a row every SEC", 3},
    {"quiet", KEY_QUIET, NULL, 0, "No live line", 3},
    {0}};

static const char doc[] =
    "Sends requests to a server with OpenAI's API and reports exact time-weighted "
    "metrics. The API's path is added to URL unless it ends in 'completions'. For FILE, "
    "'-' is standard output; the tables are then left out.\n"
    "\v"
    "Ctrl-C ends the run early, with a report; a second one quits.\n"
    "\n"
    "Exit status: 0 if every request succeeded, 3 if one did not (it failed, was "
    "cancelled, or was still in flight at the end), 1 if something else is wrong, 2 if "
    "the command line is wrong.";

static const double LONGEST_SEC = 1e8;

static int choose(struct argp_state *state, const char *option, const char *word,
                  const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    argp_error(state, "--%s: unknown: '%s'", option, word);
    return 0;
}

static void read_extra(struct options *options, const char *text,
                       struct argp_state *state)
{
    json_error_t error;
    json_decref(options->extra);
    options->extra = json_loads(text, 0, &error);
    if (!json_is_object(options->extra))
        argp_error(state, "--extra: must be a JSON object%s%s",
                   options->extra ? "" : ": ", options->extra ? "" : error.text);
    if (json_object_get(options->extra, "messages") ||
        json_object_get(options->extra, "prompt"))
        argp_error(state, "--extra: must not have the prompt");
}

static error_t parse_when(int key, char *text, struct argp_state *state)
{
    static const char *const words[] = {"constant", "poisson", "gamma"};
    struct options *options = state->input;
    switch (key) {
    case KEY_CONCURRENCY:
        options->concurrency = argument_integer(state, "concurrency", text, 1, 100000);
        return 0;
    case KEY_RAMP:
        options->ramp_ns = argument_duration_ns(state, "ramp", text, NS_PER_SEC,
                                                LONGEST_SEC);
        return 0;
    case KEY_REQUEST_RATE:
        options->request_rate = argument_decimal(state, "request-rate", text, 1e-6, 1e6);
        return 0;
    case KEY_ARRIVALS:
        options->arrivals = (enum arrivals)choose(state, "arrivals", text, words, 3);
        return 0;
    case KEY_SHAPE:
        options->shape = argument_decimal(state, "shape", text, 0.01, 1e6);
        return 0;
    case KEY_TRACE:
        options->trace_path = text;
        return 0;
    case KEY_TRACE_SPEED:
        options->trace_speed = argument_decimal(state, "trace-speed", text, 1e-6, 1e6);
        return 0;
    case KEY_REQUEST_COUNT:
        options->request_count = argument_integer(state, "request-count", text, 1,
                                                  1000000000);
        return 0;
    case KEY_DURATION:
        options->duration_ns = argument_duration_ns(state, "duration", text, NS_PER_SEC,
                                                    LONGEST_SEC);
        return 0;
    case KEY_GRACE:
        options->grace_ns = argument_duration_ns(state, "grace", text, NS_PER_SEC,
                                                 LONGEST_SEC);
        return 0;
    case KEY_WARMUP:
        options->warmup = argument_integer(state, "warmup", text, 0, 1000000000);
        return 0;
    case KEY_SEED:
        options->seed = (uint64_t)argument_integer(state, "seed", text, 0, INT64_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_what(int key, char *text, struct argp_state *state)
{
    static const char *const words[] = {"completions", "chat"};
    struct options *options = state->input;
    switch (key) {
    case KEY_MODEL:
        options->model = text;
        return 0;
    case KEY_ENDPOINT:
        options->chat = choose(state, "endpoint", text, words, 2);
        return 0;
    case KEY_NO_STREAM:
        options->stream = false;
        return 0;
    case KEY_NO_USAGE:
        options->ask_usage = false;
        return 0;
    case KEY_INPUT_TOKENS:
        options->input_tokens = argument_integer(state, "input-tokens", text, 1,
                                                 10000000);
        return 0;
    case KEY_OUTPUT_TOKENS:
        options->output_tokens = argument_integer(state, "output-tokens", text, 1,
                                                  10000000);
        return 0;
    case KEY_PROMPTS:
        options->prompts_path = text;
        return 0;
    case KEY_EXTRA:
        read_extra(options, text, state);
        return 0;
    case KEY_TIMEOUT:
        options->timeout_ns = argument_duration_ns(state, "timeout", text, NS_PER_SEC,
                                                   1e6);
        if (options->timeout_ns < NS_PER_MS)
            argp_error(state, "--timeout: '%s': must be at least 0.001", text);
        return 0;
    case KEY_API_KEY_ENV:
        options->api_key_name = text;
        return 0;
    case KEY_CACERT:
        options->ca_path = text;
        return 0;
    case KEY_INSECURE:
        options->insecure = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_tell(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_JSON:
        options->json_path = text;
        return 0;
    case KEY_RECORDS:
        options->records_path = text;
        return 0;
    case KEY_AIPERF:
        options->aiperf_path = text;
        return 0;
    case KEY_TIMELINE:
        options->timeline_ns = argument_duration_ns(state, "timeline", text, NS_PER_SEC,
                                                    LONGEST_SEC);
        if (options->timeline_ns < NS_PER_MS)
            argp_error(state, "--timeline: '%s': must be at least 0.001", text);
        return 0;
    case KEY_QUIET:
        options->quiet = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* http://host, http://host/, http://host/v1 and the whole address all do. */
static void read_url(struct options *options, const char *text, struct argp_state *state)
{
    int length = (int)strlen(text);
    if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
        argp_error(state, "'%s': must begin with http:// or https://", text);
    const char *path = options->chat ? "/v1/chat/completions" : "/v1/completions";
    while (text[length - 1] == '/')
        length--;
    if (ends_in(text, "completions"))
        path = "";
    else if (length >= 3 && strncmp(text + length - 3, "/v1", 3) == 0)
        length -= 3;
    if (asprintf(&options->url, "%.*s%s", length, text, path) < 0)
        argp_failure(state, EXIT_FAILED, 0, "no memory");
}

static int count_stdout(const struct options *options)
{
    const char *paths[] = {options->json_path, options->records_path,
                           options->aiperf_path};
    int count = 0;
    for (int i = 0; i < 3; i++)
        count += paths[i] && strcmp(paths[i], "-") == 0;
    return count;
}

/* What only the whole command line can tell. */
static void check(struct options *options, char *url, struct argp_state *state)
{
    if (!url)
        argp_error(state, "which URL?");
    read_url(options, url, state);
    if (options->request_rate > 0 && options->trace_path)
        argp_error(state, "--request-rate and --trace exclude each other");
    if (!options_open_loop(options) && options->concurrency == 0)
        argp_error(state, "one of --concurrency, --request-rate and --trace is needed");
    if (!options->trace_path && options->request_count == INT64_MAX &&
        options->duration_ns == INT64_MAX)
        argp_error(state, "when does it end? --request-count or --duration is needed");
    if (count_stdout(options) > 1)
        argp_error(state, "only one file fits on standard output");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    static char *url;
    if (key == ARGP_KEY_ARG) {
        if (url)
            argp_error(state, "only one URL: '%s'", text);
        url = text;
        return 0;
    }
    if (key == ARGP_KEY_END) {
        check(state->input, url, state);
        return 0;
    }
    error_t result = parse_when(key, text, state);
    if (result == ARGP_ERR_UNKNOWN)
        result = parse_what(key, text, state);
    return result == ARGP_ERR_UNKNOWN ? parse_tell(key, text, state) : result;
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "timeweight-loadgen %s\n", tw_version_string());
}

void options_read(struct options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = list, .parser = parse, .args_doc = "URL", .doc = doc};

    *options = (struct options){
        .model = "default",
        .chat = true,
        .stream = true,
        .ask_usage = true,
        .input_tokens = 200,
        .output_tokens = 100,
        .api_key_name = "OPENAI_API_KEY",
        .timeout_ns = 600 * NS_PER_SEC,
        .arrivals = ARRIVALS_POISSON,
        .shape = 0.5,
        .trace_speed = 1,
        .request_count = INT64_MAX,
        .duration_ns = INT64_MAX,
        .grace_ns = 30 * NS_PER_SEC,
        .seed = 1,
    };
    argp_program_version_hook = print_version;
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, options) != 0)
        exit(EXIT_FAILED);
}

void options_clear(struct options *options)
{
    free(options->url);
    json_decref(options->extra);
    options->url = NULL;
    options->extra = NULL;
}
