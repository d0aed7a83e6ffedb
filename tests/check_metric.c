/* SPDX-License-Identifier: MIT */
/* The registry of metrics, and per-record samples. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/big.h"
#include "metric/registry.h"
#include "metric/sample.h"
#include "vocabulary.h"

/* ---- Registry ---------------------------------------------------------------------- */

#define E TW_GROUP_EFFECTIVE
#define A TW_GROUP_ACTIVE
#define D TW_GROUP_DEFAULT
#define CURVE TW_KIND_CURVE
#define SAMPLE TW_KIND_SAMPLE
#define SCALAR TW_KIND_SCALAR
#define DECODE TW_EFFECTIVE_DECODE_CONCURRENCY
#define PREFILL TW_EFFECTIVE_PREFILL_CONCURRENCY
#define ANY TW_EFFECTIVE_CONCURRENCY

/* In the order of a report. */
/* clang-format off */
static const struct {
    int32_t id, group, kind, mask;
    const char *tag, *header, *unit;
} wanted[] = {
    {100, E, CURVE, 0, "effective_concurrency", "Effective Concurrency", "requests"},
    {101, E, CURVE, 0, "effective_decode_throughput", "Effective Decode Throughput",
        "tokens/sec"},
    {102, E, CURVE, 0, "effective_prefill_throughput", "Effective Prefill Throughput",
        "tokens/sec"},
    {103, E, CURVE, 0, "effective_decode_concurrency", "Effective Decode Concurrency",
        "requests"},
    {104, E, CURVE, 0, "effective_prefill_concurrency", "Effective Prefill Concurrency",
        "requests"},
    {105, E, CURVE, 0, "effective_total_throughput", "Effective Total Throughput",
        "tokens/sec"},
    {106, E, CURVE, 0, "effective_decode_throughput_per_user",
        "Effective Decode Throughput Per User", "tokens/sec/user"},
    {107, E, CURVE, 0, "effective_prefill_throughput_per_user",
        "Effective Prefill Throughput Per User", "tokens/sec/user"},
    {108, E, CURVE, 0, "tokens_in_flight", "Tokens In Flight", "tokens"},
    {109, E, CURVE, 0, "effective_queue_depth", "Effective Queue Depth", "requests"},
    {130, E, SAMPLE, 0, "effective_latency", "Effective Latency (CO-aware)", "ms"},
    {131, E, SAMPLE, 0, "adj_effective_latency",
        "Effective Latency (CO-aware) (error-adjusted)", "ms"},
    {200, A, CURVE, DECODE, "active_decode_throughput", "Active Decode Throughput",
        "tokens/sec"},
    {201, A, CURVE, PREFILL, "active_prefill_throughput", "Active Prefill Throughput",
        "tokens/sec"},
    {202, A, CURVE, DECODE, "active_decode_throughput_per_user",
        "Active Decode Throughput Per User", "tokens/sec/user"},
    {203, A, CURVE, PREFILL, "active_prefill_throughput_per_user",
        "Active Prefill Throughput Per User", "tokens/sec/user"},
    {204, A, CURVE, ANY, "active_total_throughput", "Active Total Throughput",
        "tokens/sec"},
    {800, D, SAMPLE, 0, "time_to_first_token", "Time to First Token", "ms"},
    {801, D, SAMPLE, 0, "time_to_second_token", "Time to Second Token", "ms"},
    {802, D, SAMPLE, 0, "request_latency", "Request Latency", "ms"},
    {803, D, SAMPLE, 0, "inter_token_latency", "Inter Token Latency", "ms"},
    {804, D, SAMPLE, 0, "inter_chunk_latency", "Inter Chunk Latency", "ms"},
    {805, D, SAMPLE, 0, "output_token_throughput_per_user",
        "Output Token Throughput Per User", "tokens/sec/user"},
    {806, D, SAMPLE, 0, "output_sequence_length", "Output Sequence Length", "tokens"},
    {807, D, SAMPLE, 0, "input_sequence_length", "Input Sequence Length", "tokens"},
    {840, D, SCALAR, 0, "request_count", "Request Count", "requests"},
    {841, D, SCALAR, 0, "error_request_count", "Error Request Count", "requests"},
    {842, D, SCALAR, 0, "benchmark_duration", "Benchmark Duration", "sec"},
    {843, D, SCALAR, 0, "request_throughput", "Request Throughput", "requests/sec"},
    {844, D, SCALAR, 0, "output_token_throughput", "Output Token Throughput",
        "tokens/sec"},
    {845, D, SCALAR, 0, "total_token_throughput", "Total Token Throughput",
        "tokens/sec"},
    {808, D, SAMPLE, 0, "credit_to_start_latency", "Credit to Start Latency", "ms"},
    {809, D, SAMPLE, 0, "adj_request_latency", "Request Latency (error-adjusted)", "ms"},
};
/* clang-format on */
enum { WANTED = sizeof wanted / sizeof wanted[0] };

static tw_metric_row row_of(size_t index)
{
    tw_metric_row row = {.struct_size = sizeof row};
    assert_ok(tw_metric_info(index, &row));
    return row;
}

START_TEST(registry_rows)
{
    assert_u64(tw_metric_count(), WANTED);
    for (size_t i = 0; i < WANTED; i++) {
        const tw_metric_row row = row_of(i);

        vocabulary_context("row %zu", i);
        assert_u64(row.struct_size, sizeof row);
        assert_i64(row.id, wanted[i].id);
        assert_i64(row.group, wanted[i].group);
        assert_i64(row.kind, wanted[i].kind);
        assert_i64(row.mask, wanted[i].mask);
        assert_text(row.tag, wanted[i].tag);
        assert_text(row.header, wanted[i].header);
        assert_text(row.unit, wanted[i].unit);
    }
}
END_TEST

START_TEST(registry_is_consistent)
{
    for (size_t i = 0; i < WANTED; i++) {
        const tw_metric_row row = row_of(i);

        vocabulary_context("%s", row.tag);
        for (size_t k = 0; k < i; k++) {
            const tw_metric_row other = row_of(k);
            assert_that(other.id != row.id);
            assert_that(strcmp(other.tag, row.tag) != 0);
            assert_that(strcmp(other.header, row.header) != 0);
            assert_that(other.group <= row.group); /* one table after the other */
        }
        assert_u64(strspn(row.tag, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                   strlen(row.tag));
        assert_that(row.better >= -1 && row.better <= 1);
        if (strstr(row.tag, "latency") || strncmp(row.tag, "time_to_", 8) == 0)
            assert_i64(row.better, -1);
        if (strstr(row.tag, "throughput"))
            assert_i64(row.better, 1);
        assert_that(*row.description && !strchr(row.description, '\n'));
        assert_i64(row.mask != 0, row.group == TW_GROUP_ACTIVE);
        if (row.mask) { /* a concurrency that is in the registry itself */
            const twi_metric *mask = &twi_metrics[twi_metric_index(row.mask)];
            assert_text(mask->row.unit, "requests");
            assert_i64(twi_metrics[i].mask, mask->source);
        }
    }
}
END_TEST

START_TEST(registry_info)
{
    unsigned char bytes[sizeof(tw_metric_row) + 16];
    tw_metric_row *row = (tw_metric_row *)(void *)bytes;
    uint32_t size = sizeof(tw_metric_row) + 8;

    memset(bytes, 0x44, sizeof bytes);
    memcpy(bytes, &size, sizeof size);
    assert_status(tw_metric_info(WANTED, row), TW_ERR_INVAL);
    assert_status(tw_metric_info(SIZE_MAX, row), TW_ERR_INVAL);
    assert_status(tw_metric_info(0, NULL), TW_ERR_INVAL);
    assert_u64(bytes[4], 0x44);
    /* a later version's struct: what is not known here is zero */
    assert_ok(tw_metric_info(0, row));
    for (size_t i = sizeof *row; i < sizeof bytes; i++)
        assert_u64(bytes[i], i < size ? 0 : 0x44);
    assert_u64(row->struct_size, size);
    memset(bytes, 0x44, sizeof bytes);
    size = sizeof *row - 8; /* no version was as small */
    memcpy(bytes, &size, sizeof size);
    assert_status(tw_metric_info(0, row), TW_ERR_ABI);
    size = 0;
    memcpy(bytes, &size, sizeof size);
    assert_status(tw_metric_info(0, row), TW_ERR_ABI);
    assert_u64(bytes[4], 0x44);
}
END_TEST

START_TEST(registry_find)
{
    static const char *const unknown[] = {"",
                                          "effective",
                                          "effective_concurrency ",
                                          "Effective_Concurrency",
                                          "request_latenc",
                                          "adj_time_to_first_token"};
    int32_t id = 77;

    for (size_t i = 0; i < WANTED; i++) {
        assert_ok(tw_metric_find(wanted[i].tag, &id));
        assert_i64(id, wanted[i].id);
        assert_u64(twi_metric_index(wanted[i].id), i);
    }
    id = 77;
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        assert_status(tw_metric_find(unknown[i], &id), TW_ERR_NOTSUP);
    assert_status(tw_metric_find(NULL, &id), TW_ERR_INVAL);
    assert_status(tw_metric_find("request_latency", NULL), TW_ERR_INVAL);
    assert_i64(id, 77);
    assert_u64(twi_metric_index(0), WANTED);
    assert_u64(twi_metric_index(-1), WANTED);
    assert_u64(twi_metric_index(110), WANTED);
}
END_TEST

/* ---- Samples ----------------------------------------------------------------------- */

/* The value of a record in a sample, if `has`: alone, and as one of some rows of a block
 * that the others do not show in. */
static void check_sample(const tw_record *r, twi_sample sample, bool has, double value)
{
    const tw_record other = with_credit(record(100, 200, 400, 77, 88), 50);
    const tw_record records[] = {*r, other, *r, *r, other};
    static const uint16_t rows[] = {0, 2, 3};
    run one = run_of(records, 5);
    double values[3 + 1] = {-1, -1, -1, -1};

    vocabulary_context("sample %d", (int)sample);
    assert_u64(twi_sample_values(sample, one.spans[0].block, rows, 0, values), 0);
    assert_u64(twi_sample_values(sample, one.spans[0].block, rows, 1, values), has);
    if (has)
        assert_same(values[0], value);
    assert_u64(twi_sample_values(sample, one.spans[0].block, rows, 3, values),
               has ? 3 : 0);
    for (int i = 0; i < 3 && has; i++)
        assert_same(values[i], value);
    assert_same(values[3], -1.0);
    run_free(&one);
}

/* The one value of a record in each sample, or NONE. */
#define NONE UINT64_MAX
typedef struct sampled {
    uint64_t effective_latency, credit_to_start, request_latency, first_token,
        second_token;
    uint64_t inter_token_over, inter_token_by; /* a quotient; over NONE: no value */
    uint64_t rate_over, rate_by;
    uint64_t output, input;
} sampled;

static void check_one(const tw_record *r, twi_sample sample, uint64_t value)
{
    check_sample(r, sample, value != NONE, (double)value);
}

/* The double nearest to ns / tokens, in units of 2^-88 ns. */
static void check_latency(const tw_record *r, uint64_t ns, uint64_t tokens)
{
    const twi_u192 whole = twi_shl(twi_from64(ns), 88);
    const twi_big over = twi_big_from(whole.w, 3), by = twi_big_from64(tokens);
    check_sample(r, TWI_SAMPLE_INTER_TOKEN, ns != NONE,
                 floor(twi_big_ratio(&over, &by, 0)));
}

static void check_rate(const tw_record *r, uint64_t tokens, uint64_t ns)
{
    check_sample(r, TWI_SAMPLE_TOKEN_RATE, tokens != NONE,
                 tokens != NONE ? exact_rate(tokens, ns) : 0);
}

static void check_samples(const tw_record *r, const sampled *s)
{
    check_one(r, TWI_SAMPLE_EFFECTIVE_LATENCY, s->effective_latency);
    check_one(r, TWI_SAMPLE_CREDIT_TO_START, s->credit_to_start);
    check_one(r, TWI_SAMPLE_REQUEST_LATENCY, s->request_latency);
    check_one(r, TWI_SAMPLE_FIRST_TOKEN, s->first_token);
    check_one(r, TWI_SAMPLE_SECOND_TOKEN, s->second_token);
    check_latency(r, s->inter_token_over, s->inter_token_by);
    check_rate(r, s->rate_over, s->rate_by);
    check_one(r, TWI_SAMPLE_OUTPUT_TOKENS, s->output);
    check_one(r, TWI_SAMPLE_INPUT_TOKENS, s->input);
}

/* [SAMPLE] */
START_TEST(samples_of_a_full_record)
{
    const tw_record r = with_credit(record(0, 10, 31, 5, 8), -3);
    const sampled s = {34, 3, 31, 10, NONE, 21, 7, 7, 21, 8, 5};

    check_samples(&r, &s);
}
END_TEST

START_TEST(samples_that_are_none)
{
    const tw_record bare = record(0, NEVER, 31, UNKNOWN, UNKNOWN);
    const sampled of_bare = {NONE, NONE, 31, NONE, NONE, NONE, 1, NONE, 1, NONE, NONE};
    const tw_record one_token = record(0, 10, 31, 0, 1);
    const sampled of_one_token = {NONE, NONE, 31, 10, NONE, NONE, 1, NONE, 1, 1, 0};
    const tw_record no_tokens = record(0, 10, 31, 0, 0);
    const sampled of_no_tokens = {NONE, NONE, 31, 10, NONE, NONE, 1, NONE, 1, 0, 0};
    const tw_record no_stream = record(0, NEVER, 31, 5, 8); /* no phases, no rates */
    const sampled of_no_stream = {NONE, NONE, 31, NONE, NONE, NONE, 1, NONE, 1, 8, 5};
    const tw_record streaming = with_flags(no_stream, TW_RECORD_STREAMING);

    check_samples(&bare, &of_bare);
    check_samples(&one_token, &of_one_token);
    check_samples(&no_tokens, &of_no_tokens);
    check_samples(&no_stream, &of_no_stream);
    check_samples(&streaming, &of_no_stream);
}
END_TEST

START_TEST(samples_of_no_duration)
{
    const tw_record all_at_once = with_credit(record(7, 7, 7, 5, 8), 7);
    const sampled s = {0, 0, 0, 0, NONE, 0, 7, NONE, 1, 8, 5}; /* a latency, no rate */

    check_samples(&all_at_once, &s);
}
END_TEST

/* [CREDIT] */
START_TEST(samples_of_a_late_credit)
{
    const tw_record r = with_credit(record(10, 20, 30, 5, 2), 15);
    const sampled s = {20, 0, 20, 10, NONE, 10, 1, 1, 10, 2, 5};

    check_samples(&r, &s);
}
END_TEST

START_TEST(samples_over_all_of_time)
{
    const int64_t limit = INT64_C(1) << 61;
    const uint64_t all = UINT64_C(1) << 62;
    const tw_record r = with_credit(record(limit, limit, limit, 0, 2), -limit);
    const sampled s = {all, all, 0, 0, NONE, 0, 1, NONE, 1, 2, 0};
    const tw_record slow = record(-limit, -limit, limit, 0, (INT64_C(1) << 40) - 1);
    const uint64_t tokens = (UINT64_C(1) << 40) - 2;
    const sampled of_slow = {NONE,   NONE,   all, 0,          NONE, all,
                             tokens, tokens, all, tokens + 1, 0};

    check_samples(&r, &s);
    check_samples(&slow, &of_slow);
}
END_TEST

START_TEST(samples_of_chunks)
{
    static const int64_t at[] = {12, 12, 17, 30}, at_first[] = {10, 19},
                         late[] = {10 + (INT64_C(1) << 40)};
    tw_record r = with_chunks(record(0, 10, 31, 5, 8), at, NULL, 4);
    sampled s = {NONE, NONE, 31, 10, 2, 21, 7, 7, 21, 8, 5};

    check_samples(&r, &s);
    r = with_chunks(r, at_first, NULL, 2);
    s.second_token = 0;
    check_samples(&r, &s);
    r.chunk_count = 0;
    s.second_token = NONE;
    check_samples(&r, &s);
    r = with_chunks(record(0, 10, late[0], 5, 8), late, NULL, 1);
    check_one(&r, TWI_SAMPLE_SECOND_TOKEN, UINT64_C(1) << 40);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metric");
    TCase *registry = vocabulary_case(suite, "registry"),
          *sample = vocabulary_case(suite, "sample");

    tcase_add_test(registry, registry_rows);
    tcase_add_test(registry, registry_is_consistent);
    tcase_add_test(registry, registry_info);
    tcase_add_test(registry, registry_find);
    tcase_add_test(sample, samples_of_a_full_record);
    tcase_add_test(sample, samples_that_are_none);
    tcase_add_test(sample, samples_of_no_duration);
    tcase_add_test(sample, samples_of_a_late_credit);
    tcase_add_test(sample, samples_over_all_of_time);
    tcase_add_test(sample, samples_of_chunks);
    return vocabulary_main(suite);
}
