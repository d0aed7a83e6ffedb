/* SPDX-License-Identifier: MIT */

/* The only C++ file: simdjson's On-Demand parser behind the C interface of input.h. It
 * walks each line once. Errors are values; the one exception, for lack of memory, ends at
 * input_parse(). */

#include "input.h"
#include "aiperf.h"

#include <cmath>
#include <cstring>
#include <new>
#include <simdjson.h>
#include <string_view>
#include <utility>
#include <vector>

namespace json = simdjson::ondemand;
using std::string_view;

static_assert(INPUT_PADDING >= simdjson::SIMDJSON_PADDING, "simdjson reads further");

namespace
{

constexpr const char *AN_INTEGER = "must be a 64-bit integer";
constexpr const char *INTEGERS = "must be an array of 64-bit integers";
constexpr const char *TOO_LONG = "must be shorter than 2^61 ns";
constexpr const char *A_METRIC = "must be an object with a value";

/* 2^61 ns, where the library's times end. */
constexpr double LARGEST_NS = 2305843009213693952.0;

constexpr aiperf_metadata NO_METADATA = {
    TW_TIME_NONE, TW_TIME_NONE, TW_TIME_NONE, TW_TIME_NONE, TW_TIME_NONE, 0, 0};
constexpr aiperf_metrics NO_METRICS = {TW_TIME_NONE, TW_TIME_NONE,   TW_TIME_NONE,
                                       TW_TIME_NONE, TW_TOKENS_NONE, TW_TOKENS_NONE};

} // namespace

struct input {
    json::parser parser;
    enum input_format format;
    std::vector<int64_t> arrivals; /* from AIPerf at first the gaps between them */
    std::vector<int64_t> tokens;
};

namespace
{

/* Readers return true, or say what is wrong and return false. */
bool refuse(input_row *row, const char *field, const char *rule,
            const char *detail = nullptr)
{
    row->field = field;
    row->rule = rule;
    row->detail = detail;
    return false;
}

bool refuse_json(input_row *row, simdjson::error_code error)
{
    if (error == simdjson::MEMALLOC)
        throw std::bad_alloc();
    return refuse(row, "row", "must be one valid JSON object",
                  simdjson::error_message(error));
}

/* Consumes a null. Anything else, broken or not, is left for the reader that follows. */
bool is_null(json::value value)
{
    bool null = false;
    return value.is_null().get(null) == simdjson::SUCCESS && null;
}

template <class Visit> bool each_field(json::object object, input_row *row, Visit visit)
{
    for (auto result : object) {
        json::field field;
        string_view key;
        if (auto error = std::move(result).get(field))
            return refuse_json(row, error);
        if (auto error = field.unescaped_key().get(key))
            return refuse_json(row, error);
        if (!visit(key, field.value()))
            return false;
    }
    return true;
}

/* An integer or null. The number that stands for "not recorded" is no integer of a file:
 * it would turn a wrong value into a missing one. */
bool read_integer(json::value value, const char *field, int64_t none, int64_t *out,
                  input_row *row)
{
    *out = none;
    if (is_null(value))
        return true;
    if (value.get_int64().get(*out))
        return refuse(row, field, AN_INTEGER);
    if (*out != none)
        return true;
    if (none == TW_TOKENS_NONE)
        return refuse(row, field, tw_rule_text(TW_RULE_TOKENS_RANGE), "-1");
    return refuse(row, field, tw_rule_text(TW_RULE_TIME_RANGE), "-9223372036854775808");
}

/* A token count, which AIPerf may write as 200.0. */
bool read_tokens(json::value value, const char *field, int64_t *out, input_row *row)
{
    double number = 0;
    int64_t integer = 0;
    *out = TW_TOKENS_NONE;
    if (is_null(value))
        return true;
    if (value.get_int64().get(integer)) {
        if (value.get_double().get(number) || std::trunc(number) != number)
            return refuse(row, field, "must be a whole number");
        /* Too large for a count, and perhaps for the conversion. */
        if (std::fabs(number) > 9007199254740992.0)
            return refuse(row, field, tw_rule_text(TW_RULE_TOKENS_RANGE));
        integer = static_cast<int64_t>(number);
    }
    if (integer == TW_TOKENS_NONE)
        return refuse(row, field, tw_rule_text(TW_RULE_TOKENS_RANGE), "-1");
    *out = integer;
    return true;
}

bool read_boolean(json::value value, const char *field, int *out, input_row *row)
{
    bool boolean = false;
    if (!is_null(value) && value.get_bool().get(boolean))
        return refuse(row, field, "must be true or false");
    *out = boolean;
    return true;
}

/* Milliseconds, which are exact nanoseconds divided by a million. */
bool to_ns(double ms, int64_t *out)
{
    double ns = ms * 1e6;
    if (!(std::fabs(ns) <= LARGEST_NS))
        return false;
    *out = std::llround(ns);
    return true;
}

/* ---- the format of our own ------------------------------------------------------- */

struct record_field {
    string_view name; /* ends in a NUL: a literal */
    int64_t tw_record::*member;
    int64_t none;
};

constexpr record_field RECORD_FIELDS[] = {
    {"credit_issued_ns", &tw_record::credit_issued_ns, TW_TIME_NONE},
    {"start_ns", &tw_record::start_ns, TW_TIME_NONE},
    {"generation_start_ns", &tw_record::generation_start_ns, TW_TIME_NONE},
    {"end_ns", &tw_record::end_ns, TW_TIME_NONE},
    {"input_tokens", &tw_record::input_tokens, TW_TOKENS_NONE},
    {"output_tokens", &tw_record::output_tokens, TW_TOKENS_NONE},
};

bool read_integers(json::value value, const char *field, std::vector<int64_t> *out,
                   bool *known, input_row *row)
{
    json::array array;
    out->clear();
    *known = !is_null(value);
    if (!*known)
        return true;
    if (value.get_array().get(array))
        return refuse(row, field, INTEGERS);
    for (auto element : array) {
        int64_t integer = 0;
        if (element.error())
            return refuse_json(row, element.error());
        if (element.get_int64().get(integer))
            return refuse(row, field, INTEGERS);
        out->push_back(integer);
    }
    return true;
}

bool read_status(json::value value, int32_t *status, input_row *row)
{
    string_view text;
    *status = TW_RECORD_OK;
    if (is_null(value))
        return true;
    if (value.get_string().get(text) == simdjson::SUCCESS) {
        if (text == "ok")
            return true;
        *status = text == "failed" ? TW_RECORD_FAILED : TW_RECORD_CANCELLED;
        if (text == "failed" || text == "cancelled")
            return true;
    }
    return refuse(row, "status", "must be \"ok\", \"failed\" or \"cancelled\"");
}

bool read_record(input *in, json::object object, input_row *row)
{
    tw_record *record = &row->record;
    bool has_arrivals = false;
    bool has_tokens = false;
    int streaming = 0;
    in->arrivals.clear();
    in->tokens.clear();
    auto visit = [&](string_view key, json::value value) {
        for (const record_field &field : RECORD_FIELDS)
            if (key == field.name)
                return read_integer(value, field.name.data(), field.none,
                                    &(record->*field.member), row);
        if (key == "chunk_arrival_ns")
            return read_integers(value, "chunk_arrival_ns", &in->arrivals, &has_arrivals,
                                 row);
        if (key == "chunk_tokens")
            return read_integers(value, "chunk_tokens", &in->tokens, &has_tokens, row);
        if (key == "status")
            return read_status(value, &record->status, row);
        if (key == "streaming")
            return read_boolean(value, "streaming", &streaming, row);
        return true;
    };
    if (!each_field(object, row, visit))
        return false;
    if (has_tokens && in->tokens.size() != in->arrivals.size())
        return refuse(row, "chunk_tokens", "must be as long as chunk_arrival_ns");
    if (streaming)
        record->flags |= TW_RECORD_STREAMING;
    record->chunk_arrival_ns = in->arrivals.data();
    record->chunk_tokens = has_tokens ? in->tokens.data() : nullptr;
    record->chunk_count = in->arrivals.size();
    return true;
}

/* ---- AIPerf's profile_export.jsonl ----------------------------------------------- */

struct metadata_field {
    string_view name;
    int64_t aiperf_metadata::*member;
};

constexpr metadata_field METADATA_FIELDS[] = {
    {"credit_issued_ns", &aiperf_metadata::credit_issued},
    {"request_start_ns", &aiperf_metadata::request_start},
    {"timestamp_ns", &aiperf_metadata::timestamp},
    {"request_end_ns", &aiperf_metadata::request_end},
    {"cancellation_time_ns", &aiperf_metadata::cancellation},
};

enum metric_type { TIME_NS, DURATION_MS, TOKENS };

struct metric_field {
    string_view name;
    metric_type type;
    int64_t aiperf_metrics::*member;
};

constexpr metric_field METRIC_FIELDS[] = {
    {"min_request_timestamp", TIME_NS, &aiperf_metrics::min_request},
    {"max_response_timestamp", TIME_NS, &aiperf_metrics::max_response},
    {"time_to_first_token", DURATION_MS, &aiperf_metrics::first_token},
    {"ttft", DURATION_MS, &aiperf_metrics::first_token},
    {"request_latency", DURATION_MS, &aiperf_metrics::latency},
    {"input_sequence_length", TOKENS, &aiperf_metrics::input_tokens},
    {"output_sequence_length", TOKENS, &aiperf_metrics::output_tokens},
};

bool read_phase(json::value value, const char *field, int *warmup, input_row *row)
{
    string_view text;
    *warmup = 0;
    if (is_null(value))
        return true;
    if (value.get_string().get(text))
        return refuse(row, field, "must be a string");
    *warmup = text == "warmup";
    return true;
}

bool read_metadata(json::value value, aiperf_metadata *metadata, input_row *row)
{
    json::object object;
    *metadata = NO_METADATA;
    if (value.get_object().get(object))
        return refuse(row, "metadata", "must be an object");
    return each_field(object, row, [&](string_view key, json::value member) {
        for (const metadata_field &field : METADATA_FIELDS)
            if (key == field.name)
                return read_integer(member, field.name.data(), TW_TIME_NONE,
                                    &(metadata->*field.member), row);
        if (key == "benchmark_phase")
            return read_phase(member, "benchmark_phase", &metadata->warmup, row);
        if (key == "credit_phase")
            return read_phase(member, "credit_phase", &metadata->warmup, row);
        if (key == "was_cancelled")
            return read_boolean(member, "was_cancelled", &metadata->was_cancelled, row);
        return true;
    });
}

bool read_duration(json::value value, const char *field, int64_t *out, input_row *row)
{
    double ms = 0;
    *out = TW_TIME_NONE;
    if (is_null(value))
        return true;
    if (value.get_double().get(ms))
        return refuse(row, field, "must be a number of milliseconds");
    if (!to_ns(ms, out))
        return refuse(row, field, TOO_LONG);
    return true;
}

bool read_gaps(json::value value, std::vector<int64_t> *gaps, input_row *row)
{
    constexpr const char *field = "inter_chunk_latency";
    json::array array;
    gaps->clear();
    if (is_null(value))
        return true;
    if (value.get_array().get(array))
        return refuse(row, field, "must be an array of milliseconds");
    for (auto element : array) {
        double ms = 0;
        int64_t ns = 0;
        if (element.error())
            return refuse_json(row, element.error());
        if (element.get_double().get(ms))
            return refuse(row, field, "must be an array of milliseconds");
        if (!to_ns(ms, &ns))
            return refuse(row, field, TOO_LONG);
        if (ns < 0)
            return refuse(row, field, "must not be negative");
        gaps->push_back(ns);
    }
    return true;
}

/* A wrong unit would be wrong by orders of magnitude and look right. */
bool check_unit(json::value value, const char *field, string_view unit, input_row *row)
{
    string_view text;
    if (is_null(value))
        return true;
    if (value.get_string().get(text) == simdjson::SUCCESS && text == unit)
        return true;
    return refuse(row, field, unit == "ms" ? "must be in ms" : "must be in ns");
}

/* Looks into {"value": ..., "unit": ...}. */
template <class ReadValue>
bool read_metric(json::value metric, const char *field, const char *unit, input_row *row,
                 ReadValue read_value)
{
    json::object object;
    bool has_value = false;
    if (is_null(metric))
        return true;
    if (metric.get_object().get(object))
        return refuse(row, field, A_METRIC);
    auto visit = [&](string_view key, json::value member) {
        if (key == "unit" && unit)
            return check_unit(member, field, unit, row);
        if (key != "value")
            return true;
        has_value = true;
        return read_value(member);
    };
    if (!each_field(object, row, visit))
        return false;
    return has_value || refuse(row, field, A_METRIC);
}

bool read_number(json::value metric, const metric_field &field, aiperf_metrics *metrics,
                 input_row *row)
{
    int64_t *out = &(metrics->*field.member);
    const char *name = field.name.data();
    switch (field.type) {
    case TIME_NS:
        *out = TW_TIME_NONE;
        return read_metric(metric, name, "ns", row, [&](json::value value) {
            return read_integer(value, name, TW_TIME_NONE, out, row);
        });
    case DURATION_MS:
        *out = TW_TIME_NONE;
        return read_metric(metric, name, "ms", row, [&](json::value value) {
            return read_duration(value, name, out, row);
        });
    case TOKENS:
        break;
    }
    *out = TW_TOKENS_NONE;
    return read_metric(metric, name, nullptr, row, [&](json::value value) {
        return read_tokens(value, name, out, row);
    });
}

bool read_metrics(input *in, json::value value, aiperf_metrics *metrics, input_row *row)
{
    json::object object;
    *metrics = NO_METRICS;
    in->arrivals.clear();
    if (is_null(value))
        return true;
    if (value.get_object().get(object))
        return refuse(row, "metrics", "must be an object");
    return each_field(object, row, [&](string_view key, json::value metric) {
        for (const metric_field &field : METRIC_FIELDS)
            if (key == field.name)
                return read_number(metric, field, metrics, row);
        if (key == "inter_chunk_latency") {
            in->arrivals.clear();
            return read_metric(
                metric, "inter_chunk_latency", "ms", row,
                [&](json::value gaps) { return read_gaps(gaps, &in->arrivals, row); });
        }
        return true;
    });
}

/* Anything but null is an error; one of code 499 is a cancellation. */
bool read_error(json::value value, aiperf_row *aiperf, input_row *row)
{
    json::object object;
    aiperf->cancelled = 0;
    aiperf->failed = !is_null(value);
    if (!aiperf->failed || value.get_object().get(object))
        return true;
    return each_field(object, row, [&](string_view key, json::value member) {
        int64_t code = 0;
        if (key == "code")
            aiperf->cancelled = member.get_int64().get(code) == simdjson::SUCCESS &&
                                code == 499;
        return true;
    });
}

bool read_aiperf(input *in, json::object object, input_row *row, bool *left_out)
{
    aiperf_row aiperf = {NO_METADATA, NO_METRICS, nullptr, 0, 0, 0};
    bool has_metadata = false;
    in->arrivals.clear();
    auto visit = [&](string_view key, json::value value) {
        if (key == "metadata") {
            has_metadata = true;
            return read_metadata(value, &aiperf.metadata, row);
        }
        if (key == "metrics")
            return read_metrics(in, value, &aiperf.metrics, row);
        if (key == "error")
            return read_error(value, &aiperf, row);
        return true;
    };
    if (!each_field(object, row, visit))
        return false;
    if (!has_metadata)
        return refuse(row, "metadata", "must be an object");
    aiperf.gaps = in->arrivals.data();
    aiperf.gap_count = in->arrivals.size();
    *left_out = aiperf.metadata.warmup != 0;
    return *left_out || aiperf_build(&aiperf, row);
}

/* ---- lines ----------------------------------------------------------------------- */

/* Starts on a line. Room grows by doubling, so that slowly growing lines do not allocate
 * each time. */
bool open_line(input *in, string_view line, json::document *document,
               json::object *object, input_row *row)
{
    if (std::memchr(line.data(), 0, line.size()))
        return refuse(row, "row", "must not contain NUL bytes");
    if (line.size() > in->parser.capacity()) {
        size_t room = in->parser.capacity() < 32768 ? 32768 : in->parser.capacity();
        while (room < line.size() && room < simdjson::SIMDJSON_MAXSIZE_BYTES)
            room *= 2;
        if (room > simdjson::SIMDJSON_MAXSIZE_BYTES)
            room = simdjson::SIMDJSON_MAXSIZE_BYTES;
        if (auto error = in->parser.allocate(room))
            return refuse_json(row, error);
    }
    if (auto error = in->parser
                         .iterate(simdjson::padded_string_view(
                             line.data(), line.size(), line.size() + INPUT_PADDING))
                         .get(*document))
        return refuse_json(row, error);
    if (auto error = document->get_object().get(*object)) {
        if (error == simdjson::INCORRECT_TYPE)
            return refuse(row, "row", "must be a JSON object");
        return refuse_json(row, error);
    }
    return true;
}

/* The first row decides. */
bool detect(input *in, string_view line, input_row *row)
{
    json::document document;
    json::object object;
    bool aiperf = false;
    bool records = false;
    auto visit = [&](string_view key, json::value) {
        aiperf |= key == "metadata";
        records |= key == "start_ns";
        return true;
    };
    if (!open_line(in, line, &document, &object, row) || !each_field(object, row, visit))
        return false;
    if (!aiperf && !records)
        return refuse(row, "row",
                      "must be of a known format: aiperf (with metadata) or "
                      "records (with start_ns)");
    in->format = aiperf ? INPUT_AIPERF : INPUT_RECORDS;
    return true;
}

bool parse(input *in, string_view line, input_row *row, bool *left_out)
{
    json::document document;
    json::object object;
    if (in->format == INPUT_AUTO && !detect(in, line, row))
        return false;
    if (!open_line(in, line, &document, &object, row))
        return false;
    bool good = in->format == INPUT_AIPERF ? read_aiperf(in, object, row, left_out)
                                           : read_record(in, object, row);
    if (good && document.current_location().error() != simdjson::OUT_OF_BOUNDS)
        return refuse(row, "row", "must be one JSON object, with nothing behind it");
    return good;
}

} // namespace

struct input *input_new(enum input_format format)
{
    input *in = new (std::nothrow) input;
    if (in)
        in->format = format;
    return in;
}

void input_free(struct input *input)
{
    delete input;
}

enum input_format input_detected(const struct input *input)
{
    return input->format;
}

enum input_result input_parse(struct input *input, const char *line, size_t length,
                              struct input_row *row)
{
    bool left_out = false;
    *row = input_row();
    tw_record_init(&row->record, sizeof row->record);
    try {
        if (!parse(input, string_view(line, length), row, &left_out))
            return INPUT_BAD;
    } catch (const std::bad_alloc &) {
        return INPUT_NOMEM;
    }
    return left_out ? INPUT_LEFT_OUT : INPUT_RECORD;
}
