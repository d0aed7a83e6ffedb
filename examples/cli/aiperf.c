/* SPDX-License-Identifier: MIT */
#include "aiperf.h"

static int refuse(struct input_row *row, const char *field, const char *rule)
{
    row->field = field;
    row->rule = rule;
    return 0;
}

static int64_t first_known(int64_t a, int64_t b)
{
    return a != TW_TIME_NONE ? a : b;
}

static int add(int64_t time, int64_t duration, int64_t *sum)
{
    return !__builtin_add_overflow(time, duration, sum) && *sum != TW_TIME_NONE;
}

static int32_t status_of(const struct aiperf_row *aiperf)
{
    if (aiperf->cancelled || aiperf->metadata.was_cancelled)
        return TW_RECORD_CANCELLED;
    return aiperf->failed ? TW_RECORD_FAILED : TW_RECORD_OK;
}

static int find_first_token(const struct aiperf_row *aiperf, struct input_row *row)
{
    tw_record *record = &row->record;
    int64_t wait = aiperf->metrics.first_token;
    if (wait == TW_TIME_NONE)
        return 1;
    if (!add(record->start_ns, wait, &record->generation_start_ns))
        return refuse(row, "time_to_first_token", tw_rule_text(TW_RULE_TIME_RANGE));
    return 1;
}

static int add_up_gaps(const struct aiperf_row *aiperf, struct input_row *row)
{
    int64_t time = row->record.generation_start_ns;
    if (aiperf->gap_count > 0 && time == TW_TIME_NONE)
        return refuse(row, "inter_chunk_latency", "must come with time_to_first_token");
    for (size_t i = 0; i < aiperf->gap_count; i++) {
        if (!add(time, aiperf->gaps[i], &time))
            return refuse(row, "inter_chunk_latency", tw_rule_text(TW_RULE_TIME_RANGE));
        aiperf->gaps[i] = time;
    }
    row->record.chunk_arrival_ns = aiperf->gaps;
    row->record.chunk_count = aiperf->gap_count;
    return 1;
}

/* An error may have no recorded end: it then ended when it was cancelled, or at once. */
static int find_end(const struct aiperf_row *aiperf, struct input_row *row)
{
    tw_record *record = &row->record;
    record->end_ns = first_known(aiperf->metadata.request_end,
                                 aiperf->metrics.max_response);
    if (record->end_ns != TW_TIME_NONE)
        return 1;
    if (record->status != TW_RECORD_OK) {
        record->end_ns = first_known(aiperf->metadata.cancellation, record->start_ns);
        return 1;
    }
    if (aiperf->metrics.latency == TW_TIME_NONE)
        return refuse(row, "request_end_ns", "must be recorded, or request_latency");
    if (!add(record->start_ns, aiperf->metrics.latency, &record->end_ns))
        return refuse(row, "request_latency", tw_rule_text(TW_RULE_TIME_RANGE));
    return 1;
}

/* Clocks and roundings differ by a few ns; a token that arrived did arrive. */
static void adjust_end(struct input_row *row)
{
    tw_record *record = &row->record;
    int64_t last = record->generation_start_ns; /* TW_TIME_NONE lies before every end */
    if (record->chunk_count > 0)
        last = record->chunk_arrival_ns[record->chunk_count - 1];
    row->end_adjusted = last > record->end_ns;
    if (row->end_adjusted)
        record->end_ns = last;
}

int aiperf_build(const struct aiperf_row *aiperf, struct input_row *row)
{
    tw_record *record = &row->record;
    record->credit_issued_ns = aiperf->metadata.credit_issued;
    record->start_ns = first_known(
        aiperf->metadata.request_start,
        first_known(aiperf->metadata.timestamp, aiperf->metrics.min_request));
    record->input_tokens = aiperf->metrics.input_tokens;
    record->output_tokens = aiperf->metrics.output_tokens;
    record->status = status_of(aiperf);
    if (record->start_ns == TW_TIME_NONE)
        return refuse(row, "request_start_ns", tw_rule_text(TW_RULE_START_MISSING));
    if (!find_first_token(aiperf, row) || !add_up_gaps(aiperf, row) ||
        !find_end(aiperf, row))
        return 0;
    adjust_end(row);
    return 1;
}
