/* SPDX-License-Identifier: MIT */
#include "metric/registry.h"

#include <string.h>

/* clang-format off */
#define WHOLE           {1, 1, 0}
#define TOKEN_AMOUNT    {1, 1, TWI_LOW_BITS}
#define TOKENS_PER_SEC  {1, 1, TWI_RATE_SHIFT}
#define MS              {1, 1000000, 0}
#define MS_PER_TOKEN    {1, 1000000, TWI_SAMPLE_SHIFT}
#define SEC             {1, 1000000000, 0}
#define PER_SEC         {1000000000, 1, 0}

/* The scale comes last and as `...`, for it has commas of its own. */
#define CURVE(id, group, mask_id, mask_curve, better, tag, header, unit, curve, text, ...) \
    {{0, id, group, TW_KIND_CURVE, mask_id, better, tag, header, unit, text},              \
     curve, mask_curve, false, __VA_ARGS__}
#define EFFECTIVE(id, better, tag, header, unit, curve, text, ...) \
    CURVE(id, TW_GROUP_EFFECTIVE, 0, -1, better, tag, header, unit, curve, text, __VA_ARGS__)
#define ACTIVE(id, phase, tag, header, unit, curve, text, ...)                            \
    CURVE(id, TW_GROUP_ACTIVE, TW_EFFECTIVE_##phase, TWI_CURVE_##phase, 1, tag, header,   \
          unit, curve, text, __VA_ARGS__)
#define SAMPLE(id, group, better, tag, header, unit, sample, adjusted, text, ...) \
    {{0, id, group, TW_KIND_SAMPLE, 0, better, tag, header, unit, text},          \
     sample, -1, adjusted, __VA_ARGS__}
#define SCALAR(id, better, tag, header, unit, scalar, text, ...)                   \
    {{0, id, TW_GROUP_DEFAULT, TW_KIND_SCALAR, 0, better, tag, header, unit, text}, \
     scalar, -1, false, __VA_ARGS__}

const twi_metric twi_metrics[] = {
    EFFECTIVE(TW_EFFECTIVE_CONCURRENCY, 0, "effective_concurrency",
        "Effective Concurrency", "requests", TWI_CURVE_CONCURRENCY,
        "requests in flight over the window", WHOLE),
    EFFECTIVE(TW_EFFECTIVE_DECODE_THROUGHPUT, 1, "effective_decode_throughput",
        "Effective Decode Throughput", "tokens/sec", TWI_CURVE_DECODE_RATE,
        "sum of the decode rates of all requests over the window", TOKENS_PER_SEC),
    EFFECTIVE(TW_EFFECTIVE_PREFILL_THROUGHPUT, 1, "effective_prefill_throughput",
        "Effective Prefill Throughput", "tokens/sec", TWI_CURVE_PREFILL_RATE,
        "sum of the prefill rates of all requests over the window", TOKENS_PER_SEC),
    EFFECTIVE(TW_EFFECTIVE_DECODE_CONCURRENCY, 0, "effective_decode_concurrency",
        "Effective Decode Concurrency", "requests", TWI_CURVE_DECODE_CONCURRENCY,
        "requests between first token and end", WHOLE),
    EFFECTIVE(TW_EFFECTIVE_PREFILL_CONCURRENCY, 0, "effective_prefill_concurrency",
        "Effective Prefill Concurrency", "requests", TWI_CURVE_PREFILL_CONCURRENCY,
        "requests between start and first token", WHOLE),
    EFFECTIVE(TW_EFFECTIVE_TOTAL_THROUGHPUT, 1, "effective_total_throughput",
        "Effective Total Throughput", "tokens/sec", TWI_CURVE_TOTAL_RATE,
        "prefill and decode throughput together", TOKENS_PER_SEC),
    EFFECTIVE(TW_EFFECTIVE_DECODE_THROUGHPUT_PER_USER, 1,
        "effective_decode_throughput_per_user", "Effective Decode Throughput Per User",
        "tokens/sec/user", TWI_CURVE_DECODE_RATE_PER_USER,
        "decode throughput divided by decode concurrency, 0 where nothing decodes",
        TOKENS_PER_SEC),
    EFFECTIVE(TW_EFFECTIVE_PREFILL_THROUGHPUT_PER_USER, 1,
        "effective_prefill_throughput_per_user", "Effective Prefill Throughput Per User",
        "tokens/sec/user", TWI_CURVE_PREFILL_RATE_PER_USER,
        "prefill throughput divided by prefill concurrency, 0 where nothing prefills",
        TOKENS_PER_SEC),
    EFFECTIVE(TW_TOKENS_IN_FLIGHT, 0, "tokens_in_flight", "Tokens In Flight", "tokens",
        TWI_CURVE_TOKENS,
        "input and output tokens of the requests in flight, a proxy for the KV cache",
        TOKEN_AMOUNT),
    EFFECTIVE(TW_EFFECTIVE_QUEUE_DEPTH, -1, "effective_queue_depth", "Effective Queue Depth",
        "requests", TWI_CURVE_QUEUED, "requests that were due but not yet started", WHOLE),
    SAMPLE(TW_EFFECTIVE_LATENCY, TW_GROUP_EFFECTIVE, -1, "effective_latency",
        "Effective Latency (CO-aware)", "ms", TWI_SAMPLE_EFFECTIVE_LATENCY, false,
        "from the time a request was due to its end, the wait before its start included",
        MS),
    SAMPLE(TW_ADJ_EFFECTIVE_LATENCY, TW_GROUP_EFFECTIVE, -1, "adj_effective_latency",
        "Effective Latency (CO-aware) (error-adjusted)", "ms", TWI_SAMPLE_EFFECTIVE_LATENCY,
        true, "effective latency with each failed or cancelled request as +inf", MS),

    ACTIVE(TW_ACTIVE_DECODE_THROUGHPUT, DECODE_CONCURRENCY, "active_decode_throughput",
        "Active Decode Throughput", "tokens/sec", TWI_CURVE_DECODE_RATE,
        "decode throughput while any request decodes", TOKENS_PER_SEC),
    ACTIVE(TW_ACTIVE_PREFILL_THROUGHPUT, PREFILL_CONCURRENCY, "active_prefill_throughput",
        "Active Prefill Throughput", "tokens/sec", TWI_CURVE_PREFILL_RATE,
        "prefill throughput while any request is in prefill", TOKENS_PER_SEC),
    ACTIVE(TW_ACTIVE_DECODE_THROUGHPUT_PER_USER, DECODE_CONCURRENCY,
        "active_decode_throughput_per_user", "Active Decode Throughput Per User",
        "tokens/sec/user", TWI_CURVE_DECODE_RATE_PER_USER,
        "decode throughput per user while any request decodes", TOKENS_PER_SEC),
    ACTIVE(TW_ACTIVE_PREFILL_THROUGHPUT_PER_USER, PREFILL_CONCURRENCY,
        "active_prefill_throughput_per_user", "Active Prefill Throughput Per User",
        "tokens/sec/user", TWI_CURVE_PREFILL_RATE_PER_USER,
        "prefill throughput per user while any request is in prefill", TOKENS_PER_SEC),
    ACTIVE(TW_ACTIVE_TOTAL_THROUGHPUT, CONCURRENCY, "active_total_throughput",
        "Active Total Throughput", "tokens/sec", TWI_CURVE_TOTAL_RATE,
        "total throughput while any request is in flight", TOKENS_PER_SEC),

    SAMPLE(TW_TIME_TO_FIRST_TOKEN, TW_GROUP_DEFAULT, -1, "time_to_first_token",
        "Time to First Token", "ms", TWI_SAMPLE_FIRST_TOKEN, false,
        "from start to the first token", MS),
    SAMPLE(TW_TIME_TO_SECOND_TOKEN, TW_GROUP_DEFAULT, -1, "time_to_second_token",
        "Time to Second Token", "ms", TWI_SAMPLE_SECOND_TOKEN, false,
        "from the first token to the first chunk after it", MS),
    SAMPLE(TW_REQUEST_LATENCY, TW_GROUP_DEFAULT, -1, "request_latency",
        "Request Latency", "ms", TWI_SAMPLE_REQUEST_LATENCY, false,
        "from start to end, without the wait before the start", MS),
    SAMPLE(TW_INTER_TOKEN_LATENCY, TW_GROUP_DEFAULT, -1, "inter_token_latency",
        "Inter Token Latency", "ms", TWI_SAMPLE_INTER_TOKEN, false,
        "decode time of a request divided by its tokens after the first", MS_PER_TOKEN),
    SAMPLE(TW_INTER_CHUNK_LATENCY, TW_GROUP_DEFAULT, -1, "inter_chunk_latency",
        "Inter Chunk Latency", "ms", TWI_SAMPLE_INTER_CHUNK, false,
        "every gap between successive chunk arrivals", MS),
    SAMPLE(TW_OUTPUT_TOKEN_THROUGHPUT_PER_USER, TW_GROUP_DEFAULT, 1,
        "output_token_throughput_per_user", "Output Token Throughput Per User",
        "tokens/sec/user", TWI_SAMPLE_TOKEN_RATE, false,
        "tokens after the first divided by the decode time of a request", TOKENS_PER_SEC),
    SAMPLE(TW_OUTPUT_SEQUENCE_LENGTH, TW_GROUP_DEFAULT, 0, "output_sequence_length",
        "Output Sequence Length", "tokens", TWI_SAMPLE_OUTPUT_TOKENS, false,
        "tokens that a request generated", WHOLE),
    SAMPLE(TW_INPUT_SEQUENCE_LENGTH, TW_GROUP_DEFAULT, 0, "input_sequence_length",
        "Input Sequence Length", "tokens", TWI_SAMPLE_INPUT_TOKENS, false,
        "tokens of a request's prompt", WHOLE),
    SCALAR(TW_REQUEST_COUNT, 0, "request_count", "Request Count", "requests",
        TWI_SCALAR_REQUESTS, "requests that ended well in the window", WHOLE),
    SCALAR(TW_ERROR_REQUEST_COUNT, -1, "error_request_count", "Error Request Count",
        "requests", TWI_SCALAR_ERRORS,
        "requests that failed or were cancelled in the window", WHOLE),
    SCALAR(TW_BENCHMARK_DURATION, 0, "benchmark_duration", "Benchmark Duration", "sec",
        TWI_SCALAR_DURATION, "length of the window", SEC),
    SCALAR(TW_REQUEST_THROUGHPUT, 1, "request_throughput", "Request Throughput",
        "requests/sec", TWI_SCALAR_REQUEST_RATE,
        "requests that ended well divided by the window", PER_SEC),
    SCALAR(TW_OUTPUT_TOKEN_THROUGHPUT, 1, "output_token_throughput",
        "Output Token Throughput", "tokens/sec", TWI_SCALAR_OUTPUT_RATE,
        "their output tokens divided by the window", PER_SEC),
    SCALAR(TW_TOTAL_TOKEN_THROUGHPUT, 1, "total_token_throughput",
        "Total Token Throughput", "tokens/sec", TWI_SCALAR_TOKEN_RATE,
        "their input and output tokens divided by the window", PER_SEC),
    SAMPLE(TW_CREDIT_TO_START_LATENCY, TW_GROUP_DEFAULT, -1, "credit_to_start_latency",
        "Credit to Start Latency", "ms", TWI_SAMPLE_CREDIT_TO_START, false,
        "from the time a request was due to its start", MS),
    SAMPLE(TW_ADJ_REQUEST_LATENCY, TW_GROUP_DEFAULT, -1, "adj_request_latency",
        "Request Latency (error-adjusted)", "ms", TWI_SAMPLE_REQUEST_LATENCY, true,
        "request latency with each failed or cancelled request as +inf", MS),
};
/* clang-format on */

_Static_assert(sizeof twi_metrics / sizeof twi_metrics[0] == TWI_METRIC_COUNT,
               "TWI_METRIC_COUNT is the number of rows");

size_t twi_metric_index(int32_t id)
{
    size_t i = 0;
    while (i < TWI_METRIC_COUNT && twi_metrics[i].row.id != id)
        i++;
    return i;
}

size_t twi_metric_index_of_tag(const char *tag)
{
    size_t i = 0;
    while (i < TWI_METRIC_COUNT && strcmp(twi_metrics[i].row.tag, tag) != 0)
        i++;
    return i;
}
