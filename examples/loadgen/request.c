/* SPDX-License-Identifier: MIT */
#include "request.h"

bool request_has_usage(const struct request *request)
{
    return request->answer.completion_tokens >= 0;
}

/* Without a count of the server's each chunk is taken for a token; a whole body cannot
 * be counted. */
static int64_t output_tokens(const struct request *request)
{
    const struct answer *answer = &request->answer;
    if (request_has_usage(request))
        return answer->completion_tokens;
    return answer->streaming || request->in_flight ? (int64_t)answer->arrival_count
                                                   : TW_TOKENS_NONE;
}

/* A stream ends with its last token: what comes behind it, such as the usage, is not
 * generation. All else ends when it is over. */
static int64_t end_ns(const struct request *request)
{
    const struct answer *answer = &request->answer;
    if (request->in_flight)
        return TW_TIME_NONE;
    if (request->status == TW_RECORD_OK && answer->arrival_count > 0)
        return answer->arrivals[answer->arrival_count - 1];
    return request->end_ns;
}

/* It was to stream, unless the server answered with a whole body all the same. */
static bool is_streaming(const struct request *request)
{
    bool whole = request->status == TW_RECORD_OK && !request->in_flight &&
                 !request->answer.streaming;
    return request->asked_stream && !whole;
}

void request_record(const struct request *request, tw_record *record)
{
    const struct answer *answer = &request->answer;
    tw_record_init(record, sizeof *record);
    record->credit_issued_ns = request->due_ns;
    record->start_ns = request->start_ns;
    record->end_ns = end_ns(request);
    record->input_tokens = answer->prompt_tokens >= 0 ? answer->prompt_tokens
                                                      : request->input_tokens;
    record->output_tokens = output_tokens(request);
    record->status = request->status;
    if (is_streaming(request))
        record->flags |= TW_RECORD_STREAMING;
    if (answer->arrival_count > 0) {
        record->generation_start_ns = answer->arrivals[0];
        record->chunk_arrival_ns = answer->arrivals + 1;
        record->chunk_count = answer->arrival_count - 1;
    }
}
