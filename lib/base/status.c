/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <timeweight/status.h>

struct status_text {
    const char *name;
    const char *text;
};

/* Indexed by the negated status. */
static const struct status_text statuses[] = {
    {"TW_OK", "success"},
    {"TW_ERR_NOMEM", "out of memory"},
    {"TW_ERR_INVAL", "invalid argument"},
    {"TW_ERR_RANGE", "a record breaks a rule or a value leaves its range"},
    {"TW_ERR_NODATA", "the metric is not emitted for this run"},
    {"TW_ERR_NOTSUP", "not supported by this version of the library"},
    {"TW_ERR_IO", "the write function or the stream failed"},
    {"TW_ERR_ABI", "a struct size that does not fit this library"},
};

static const struct status_text rules[] = {
    [TW_RULE_START_MISSING] = {"start_missing", "must be recorded"},
    [TW_RULE_TIME_RANGE] = {"time_range", "must lie in [-2^61, 2^61]"},
    [TW_RULE_GENERATION_BEFORE_START] = {"generation_before_start",
                                         "must not be earlier than start_ns"},
    [TW_RULE_END_BEFORE_START] = {"end_before_start",
                                  "must not be earlier than start_ns"},
    [TW_RULE_END_BEFORE_GENERATION] = {"end_before_generation",
                                       "must not be earlier than generation_start_ns"},
    [TW_RULE_END_MISSING] = {"end_missing",
                             "must be recorded for a failed or cancelled request"},
    [TW_RULE_STATUS_UNKNOWN] = {"status_unknown", "must be ok, failed or cancelled"},
    [TW_RULE_TOKENS_RANGE] = {"tokens_range", "must lie in [0, 2^40)"},
    [TW_RULE_CHUNK_ARRIVAL_MISSING] = {"chunk_arrival_missing",
                                       "must be given if chunk_count is not 0"},
    [TW_RULE_CHUNK_COUNT_RANGE] = {"chunk_count_range", "must be below 2^40"},
    [TW_RULE_CHUNK_BEFORE_GENERATION] = {"chunk_before_generation",
                                         "must not be earlier than generation_start_ns, "
                                         "which must be recorded"},
    [TW_RULE_CHUNK_ORDER] = {"chunk_order", "must not be earlier than the chunk before"},
    [TW_RULE_CHUNK_AFTER_END] = {"chunk_after_end", "must not be later than end_ns"},
    [TW_RULE_CHUNK_TOKENS_RANGE] = {"chunk_tokens_range", "must lie in [0, 2^40)"},
    [TW_RULE_NUMBER_INEXACT] = {"number_inexact",
                                "must be a whole number, and at most 2^53 as a "
                                "floating-point one"},
    [TW_RULE_CHUNK_TOKENS_COUNT] = {"chunk_tokens_count",
                                    "must be as many as chunk_arrival_ns"},
};

static const char *const fields[] = {
    [TW_FIELD_CREDIT_ISSUED_NS] = "credit_issued_ns",
    [TW_FIELD_START_NS] = "start_ns",
    [TW_FIELD_GENERATION_START_NS] = "generation_start_ns",
    [TW_FIELD_END_NS] = "end_ns",
    [TW_FIELD_INPUT_TOKENS] = "input_tokens",
    [TW_FIELD_OUTPUT_TOKENS] = "output_tokens",
    [TW_FIELD_CHUNK_ARRIVAL_NS] = "chunk_arrival_ns",
    [TW_FIELD_CHUNK_TOKENS] = "chunk_tokens",
    [TW_FIELD_CHUNK_COUNT] = "chunk_count",
    [TW_FIELD_STATUS] = "status",
    [TW_FIELD_FLAGS] = "flags",
};

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

static const struct status_text *find_status(int32_t status)
{
    return status <= 0 && status > -COUNT(statuses) ? &statuses[-status] : NULL;
}

static const struct status_text *find_rule(int32_t rule)
{
    return rule > 0 && rule < COUNT(rules) ? &rules[rule] : NULL;
}

const char *tw_strerror(int32_t status)
{
    const struct status_text *found = find_status(status);
    return found ? found->text : "unknown status";
}

const char *tw_status_name(int32_t status)
{
    const struct status_text *found = find_status(status);
    return found ? found->name : NULL;
}

const char *tw_rule_name(int32_t rule)
{
    const struct status_text *found = find_rule(rule);
    return found ? found->name : NULL;
}

const char *tw_rule_text(int32_t rule)
{
    const struct status_text *found = find_rule(rule);
    return found ? found->text : NULL;
}

const char *tw_field_name(int32_t field)
{
    return field > 0 && field < COUNT(fields) ? fields[field] : NULL;
}
