/* SPDX-License-Identifier: MIT */
#include "options.h"
#include "../common/arguments.h"
#include "../common/clock.h"

#include <stdlib.h>
#include <timeweight/version.h>

/* What a wrong command line exits with. */
#define USAGE 2

enum key {
    KEY_HOST = 256,
    KEY_PORT,
    KEY_TTFT,
    KEY_ITL,
    KEY_JITTER,
    KEY_PREFILL,
    KEY_SEED,
    KEY_OUTPUT_TOKENS,
    KEY_REASONING_TOKENS,
    KEY_TOKENS_PER_CHUNK,
    KEY_CONCURRENCY,
    KEY_STALL_AT,
    KEY_STALL,
    KEY_ERROR_RATE,
    KEY_STREAM_ERROR_RATE,
    KEY_ABORT_RATE,
    KEY_NO_USAGE,
    KEY_API_KEY_ENV
};

static const struct argp_option list[] = {
    {"host", KEY_HOST, "ADDRESS", 0, "IPv4 address to listen on (127.0.0.1)", 1},
    {"port", KEY_PORT, "N", 0, "Port to listen on; 0: any that is free (8000)", 1},
    {"api-key-env", KEY_API_KEY_ENV, "NAME", 0,
     "Ask for the API key in this environment variable", 1},

    {"ttft", KEY_TTFT, "MS", 0, "Time to the first token (100)", 2},
    {"itl", KEY_ITL, "MS", 0, "Time from token to token (20)", 2},
    {"jitter", KEY_JITTER, "MS", 0,
     "Each of these is up to so much longer or shorter (0)", 2},
    {"prefill", KEY_PREFILL, "US", 0, "Added to the first for each input token (0)", 2},
    {"seed", KEY_SEED, "N", 0, "Seed of all that is random (1)", 2},
    {"stall-at", KEY_STALL_AT, "SEC", 0, "... when the first request is so old (0)", 2},
    {"stall", KEY_STALL, "SEC", 0, "Stand still for so long (0) ...", 2},

    {"output-tokens", KEY_OUTPUT_TOKENS, "N", 0,
     "Tokens of a response where the request has no max_tokens (100)", 3},
    {"reasoning-tokens", KEY_REASONING_TOKENS, "N", 0,
     "The first N tokens come as reasoning_content (0)", 3},
    {"tokens-per-chunk", KEY_TOKENS_PER_CHUNK, "N", 0,
     "Tokens of each chunk after the first, which has one (1)", 3},
    {"no-usage", KEY_NO_USAGE, NULL, 0, "Send no usage, whatever the request asks for",
     3},

    {"concurrency", KEY_CONCURRENCY, "N", 0,
     "Work on so many requests at once, and queue the others (0: no limit)", 4},
    {"error-rate", KEY_ERROR_RATE, "P", 0, "Share of requests answered with HTTP 500 (0)",
     4},
    {"stream-error-rate", KEY_STREAM_ERROR_RATE, "P", 0,
     "Share of streams with an error in the middle (0)", 4},
    {"abort-rate", KEY_ABORT_RATE, "P", 0,
     "Share of streams whose connection breaks in the middle (0)", 4},
    {0}};

static void read_key(struct options *options, const char *name, struct argp_state *state)
{
    options->api_key = getenv(name);
    if (!options->api_key)
        argp_error(state, "--api-key-env: '%s': is not set", name);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    struct pace *pace = &options->pace;
    switch (key) {
    case KEY_HOST:
        options->host = text;
        return 0;
    case KEY_PORT:
        options->port = argument_integer(state, "port", text, 0, 65535);
        return 0;
    case KEY_API_KEY_ENV:
        read_key(options, text, state);
        return 0;
    case KEY_TTFT:
        pace->ttft_ns = argument_duration_ns(state, "ttft", text, NS_PER_MS, 1e7);
        return 0;
    case KEY_ITL:
        pace->itl_ns = argument_duration_ns(state, "itl", text, NS_PER_MS, 1e7);
        return 0;
    case KEY_JITTER:
        pace->jitter_ns = argument_duration_ns(state, "jitter", text, NS_PER_MS, 1e7);
        return 0;
    case KEY_PREFILL:
        pace->prefill_ns = argument_duration_ns(state, "prefill", text, NS_PER_US, 1e6);
        return 0;
    case KEY_SEED:
        options->seed = (uint64_t)argument_integer(state, "seed", text, 0, INT64_MAX);
        return 0;
    case KEY_STALL_AT:
        pace->stall_at_ns = argument_duration_ns(state, "stall-at", text, NS_PER_SEC,
                                                 1e6);
        return 0;
    case KEY_STALL:
        pace->stall_ns = argument_duration_ns(state, "stall", text, NS_PER_SEC, 1e6);
        return 0;
    case KEY_OUTPUT_TOKENS:
        options->output_tokens = argument_integer(state, "output-tokens", text, 0,
                                                  1000000);
        return 0;
    case KEY_REASONING_TOKENS:
        options->reasoning_tokens = argument_integer(state, "reasoning-tokens", text, 0,
                                                     1000000);
        return 0;
    case KEY_TOKENS_PER_CHUNK:
        options->tokens_per_chunk = argument_integer(state, "tokens-per-chunk", text, 1,
                                                     1000000);
        return 0;
    case KEY_NO_USAGE:
        options->no_usage = true;
        return 0;
    case KEY_CONCURRENCY:
        options->concurrency = argument_integer(state, "concurrency", text, 0, 1000000);
        return 0;
    case KEY_ERROR_RATE:
        options->error_rate = argument_decimal(state, "error-rate", text, 0, 1);
        return 0;
    case KEY_STREAM_ERROR_RATE:
        options->stream_error_rate = argument_decimal(state, "stream-error-rate", text, 0,
                                                      1);
        return 0;
    case KEY_ABORT_RATE:
        options->abort_rate = argument_decimal(state, "abort-rate", text, 0, 1);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "takes no argument: '%s'", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void options_read(struct options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = list,
        .parser = parse,
        .doc =
            "A server with the streaming API of OpenAI's chat and text completions and "
            "a given sense of time, for load generators to fire at. A word is a token.\n"
            "\v"
            "It prints the address it listens on. SIGTERM and SIGINT end it; it then "
            "prints how far off its own timing was. GET /health tells its counters."};

    *options = (struct options){
        .host = "127.0.0.1",
        .port = 8000,
        .pace = {.ttft_ns = 100 * NS_PER_MS, .itl_ns = 20 * NS_PER_MS},
        .seed = 1,
        .output_tokens = 100,
        .tokens_per_chunk = 1,
    };
    argp_program_version = "timeweight-mockserver " TW_VERSION_STRING;
    argp_err_exit_status = USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, options) != 0)
        exit(EXIT_FAILURE);
}
