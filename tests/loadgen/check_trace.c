/* SPDX-License-Identifier: MIT */
/* The reader of traces. */

#include "../../examples/loadgen/trace.h"

#include <string.h>

#include "../vocabulary.h"

static bool read_bytes(struct trace *trace, struct trace_error *error, const char *bytes,
                       size_t length)
{
    /* fmemopen() wants at least a byte. */
    FILE *file = length > 0 ? fmemopen((void *)(uintptr_t)bytes, length, "r")
                            : fopen("/dev/null", "r");
    bool good;

    assert_that(file != NULL);
    *trace = (struct trace){0};
    good = trace_read(trace, file, error);
    (void)fclose(file);
    return good;
}

static void check_rows(const char *text, const struct trace_row *rows, size_t count)
{
    struct trace trace;
    struct trace_error error;

    vocabulary_context("%s", text);
    assert_that(read_bytes(&trace, &error, text, strlen(text)));
    assert_u64(trace.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_i64(trace.rows[i].due_ns, rows[i].due_ns);
        assert_i64(trace.rows[i].input_tokens, rows[i].input_tokens);
        assert_i64(trace.rows[i].output_tokens, rows[i].output_tokens);
    }
    trace_clear(&trace);
}

static void check_error(const char *text, uint64_t line, const char *field)
{
    struct trace trace;
    struct trace_error error;

    vocabulary_context("%s", text);
    assert_that(!read_bytes(&trace, &error, text, strlen(text)));
    assert_u64(error.line, line);
    assert_text(error.field, field);
    assert_that(error.rule != NULL);
    trace_clear(&trace);
}

#define MOONCAKE(time, input, output)                                                   \
    "{\"timestamp\": " time ", \"input_length\": " input ", \"output_length\": " output \
    ", \"hash_ids\": [0, 1]}\n"
#define AZURE "TIMESTAMP,ContextTokens,GeneratedTokens\n"

START_TEST(mooncake)
{
    static const struct trace_row rows[] = {
        {0, 6758, 500}, {0, 7322, 490}, {3000000000, 1, 2}, {3000500000, 0, 0}};

    check_rows(MOONCAKE("1000", "6758", "500")
                   MOONCAKE("1000", "7322", "490") "\n \r\n" MOONCAKE("4000", "1", "2")
                       MOONCAKE("4000.5", "0", "0"),
               rows, 4);
}
END_TEST

START_TEST(azure)
{
    static const struct trace_row rows[] = {
        {0, 374, 44}, {4314579000, 396, 109}, {86400000000000, 1, 1}};

    check_rows(AZURE "2023-11-16 18:15:46.6805900,374,44\n"
                     "2023-11-16 18:15:50.9951690,396,109\n"
                     "2023-11-17 18:15:46.6805900,1,1",
               rows, 3);
    check_rows("\xEF\xBB\xBFTIMESTAMP,ContextTokens,GeneratedTokens\r\n"
               "2023-11-16 18:15:46.6805900+00:00,374,44\r\n"
               "2023-11-16 18:15:50.995169Z,396,109\r\n",
               rows, 2);
}
END_TEST

START_TEST(months_and_leap_days)
{
    static const struct trace_row rows[] = {
        {0, 1, 1}, {86400000000000, 2, 1}, {2 * 86400000000000, 3, 1}};

    check_rows(AZURE "2024-02-28 00:00:00,1,1\n2024-02-29 00:00:00,2,1\n"
                     "2024-03-01 00:00:00,3,1\n",
               rows, 3);
}
END_TEST

START_TEST(rows_are_put_in_order)
{
    static const struct trace_row rows[] = {{0, 2, 1}, {1000000, 3, 1}, {5000000, 1, 1}};

    check_rows(MOONCAKE("7", "1", "1") MOONCAKE("2", "2", "1") MOONCAKE("3", "3", "1"),
               rows, 3);
}
END_TEST

START_TEST(bad_mooncake)
{
    static const char *const bad[][2] = {
        {"{\"timestamp\": 1, \"input_length\": 1}", "output_length"},
        {"{\"timestamp\": 1, \"output_length\": 1}", "input_length"},
        {"{\"input_length\": 1, \"output_length\": 1}", "timestamp"},
        {MOONCAKE("-1", "1", "1"), "timestamp"},
        {MOONCAKE("1e300", "1", "1"), "timestamp"},
        {MOONCAKE("\"1\"", "1", "1"), "timestamp"},
        {MOONCAKE("1", "-1", "1"), "input_length"},
        {MOONCAKE("1", "1.5", "1"), "input_length"},
        {MOONCAKE("1", "1", "10000001"), "output_length"},
        {"[]", "row"},
        {"{", "row"},
        {"{} {}", "row"},
        {"nonsense", "row"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "%s\n%s", MOONCAKE("1", "1", "1"), bad[i][0]);
        check_error(text, 3, bad[i][1]);
    }
}
END_TEST

START_TEST(bad_azure)
{
    static const char *const bad[][2] = {
        {"2023-11-16 18:15:46.1,1", "ContextTokens"},
        {"2023-11-16 18:15:46.1,1,", "GeneratedTokens"},
        {"2023-11-16 18:15:46.1,,1", "ContextTokens"},
        {"2023-11-16 18:15:46.1,1,1,1", "row"},
        {"2023-11-16 18:15:46.1,1,99999999999999999999", "GeneratedTokens"},
        {"2023-11-16 18:15:46.1,-1,1", "ContextTokens"},
        {"2023-11-16 18:15:46.,1,1", "TIMESTAMP"},
        {"2023-11-16 18:15:46.1234567890,1,1", "TIMESTAMP"},
        {"2023-02-29 18:15:46,1,1", "TIMESTAMP"},
        {"2023-13-01 18:15:46,1,1", "TIMESTAMP"},
        {"2023-00-10 18:15:46,1,1", "TIMESTAMP"},
        {"2023-11-16 24:15:46,1,1", "TIMESTAMP"},
        {"2023-11-16 18:60:46,1,1", "TIMESTAMP"},
        {"2023-11-16T18:15:46,1,1", "TIMESTAMP"},
        {"1969-11-16 18:15:46,1,1", "TIMESTAMP"},
        {"2023-11-16", "TIMESTAMP"},
        {"x", "TIMESTAMP"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "%s\n%s\n", AZURE, bad[i][0]);
        check_error(text, 3, bad[i][1]);
    }
}
END_TEST

START_TEST(bad_files)
{
    check_error("", 0, "file");
    check_error("\n\n", 0, "file");
    check_error(AZURE, 0, "file");
    check_error("timestamp,a,b\n1,2,3\n", 1, "row");
    check_error("[{}]", 1, "row");
}
END_TEST

START_TEST(zero_bytes)
{
    static const char bad_row[] = AZURE "2023-11-16 18:15:46,1,1\0,1\n";
    static const char bad_object[] = "{\"timestamp\": 1\0}\n";
    struct trace trace;
    struct trace_error error;

    assert_that(!read_bytes(&trace, &error, bad_row, sizeof bad_row - 1));
    assert_u64(error.line, 2);
    trace_clear(&trace);
    assert_that(!read_bytes(&trace, &error, bad_object, sizeof bad_object - 1));
    assert_u64(error.line, 1);
    trace_clear(&trace);
}
END_TEST

/* Valid files with a few bytes changed: whatever comes, rows that are read are in order
 * and in range, and errors name a place. */
START_TEST(damaged_files)
{
    static const char *const files[] = {
        MOONCAKE("1000", "6758", "500") MOONCAKE("1000.25", "7322", "490"),
        AZURE "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.995,396,109\n"};
    uint64_t random = 7, good = 0, bad = 0;

    for (uint64_t turn = 0; turn < vocabulary_count("TIMEWEIGHT_TEST_NUMBERS", 100000);
         turn++) {
        char bytes[256];
        size_t length = strlen(files[turn % 2]);
        struct trace trace;
        struct trace_error error;
        memcpy(bytes, files[turn % 2], length);
        for (uint64_t change = 0; change <= turn % 3; change++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
            bytes[(random >> 33) % length] = (char)(random >> 56);
        }
        vocabulary_context("turn %ju: ", (uintmax_t)turn);
        if (!read_bytes(&trace, &error, bytes, length)) {
            bad++;
            assert_that(error.field != NULL && error.rule != NULL);
            assert_that(error.line <= length);
        } else {
            good++;
            assert_i64(trace.rows[0].due_ns, 0);
            for (size_t i = 0; i < trace.count; i++) {
                assert_that(i == 0 || trace.rows[i - 1].due_ns <= trace.rows[i].due_ns);
                assert_that(trace.rows[i].input_tokens >= 0);
                assert_that(trace.rows[i].output_tokens <= 10000000);
            }
        }
        trace_clear(&trace);
    }
    assert_that(good > 0 && bad > 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace");
    TCase *traces = vocabulary_case(suite, "traces");

    tcase_add_test(traces, mooncake);
    tcase_add_test(traces, azure);
    tcase_add_test(traces, months_and_leap_days);
    tcase_add_test(traces, rows_are_put_in_order);
    tcase_add_test(traces, bad_mooncake);
    tcase_add_test(traces, bad_azure);
    tcase_add_test(traces, bad_files);
    tcase_add_test(traces, zero_bytes);
    tcase_add_test(traces, damaged_files);
    return vocabulary_main(suite);
}
