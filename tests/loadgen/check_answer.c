/* SPDX-License-Identifier: MIT */
/* What responses say: messages, answers, and the records made of them. */

#include "../../examples/loadgen/answer.h"
#include "../../examples/loadgen/failures.h"
#include "../../examples/loadgen/request.h"

#include <stdio.h>
#include <string.h>

#include "../vocabulary.h"

/* ---- messages ---------------------------------------------------------------------- */

static struct message read_message(const char *json)
{
    struct message message;

    vocabulary_context("%s: ", json);
    assert_that(message_read(&message, json, strlen(json)));
    return message;
}

static bool is_content(const char *json)
{
    return read_message(json).content;
}

#define DELTA(delta) "{\"choices\":[{\"index\":0,\"delta\":" delta "}]}"

START_TEST(content)
{
    assert_that(is_content(DELTA("{\"content\":\"a\"}")));
    assert_that(is_content(DELTA("{\"role\":\"assistant\",\"content\":\" \"}")));
    assert_that(is_content(DELTA("{\"content\":null,\"reasoning_content\":\"a\"}")));
    assert_that(is_content(DELTA("{\"reasoning\":\"a\"}")));
    assert_that(is_content(DELTA("{\"refusal\":\"no\"}")));
    assert_that(is_content(DELTA("{\"tool_calls\":[{\"index\":0}]}")));
    assert_that(is_content("{\"choices\":[{\"text\":\"a\"}]}"));
    assert_that(is_content("{\"choices\":[{\"message\":{\"content\":\"a\"}}]}"));
    assert_that(
        is_content("{\"choices\":[{\"delta\":{}},{\"delta\":{\"content\":\"a\"}}]}"));
}
END_TEST

START_TEST(no_content)
{
    assert_that(!is_content(DELTA("{\"role\":\"assistant\"}")));
    assert_that(!is_content(DELTA("{\"role\":\"assistant\",\"content\":\"\"}")));
    assert_that(!is_content(DELTA("{\"content\":null,\"tool_calls\":[]}")));
    assert_that(!is_content(DELTA("{\"content\":7}")));
    assert_that(!is_content(DELTA("{}")));
    assert_that(!is_content("{\"choices\":[]}"));
    assert_that(!is_content("{\"choices\":7}"));
    assert_that(!is_content("{\"choices\":[7,null,[],\"a\"]}"));
    assert_that(!is_content("{}"));
}
END_TEST

START_TEST(usage)
{
    struct message message = read_message(
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}");

    assert_i64(message.prompt_tokens, 7);
    assert_i64(message.completion_tokens, 9);
    message = read_message("{\"choices\":[],\"usage\":null}");
    assert_i64(message.completion_tokens, -1);
    message = read_message(
        "{\"usage\":{\"prompt_tokens\":-7,\"completion_tokens\":1.5}}");
    assert_i64(message.prompt_tokens, -1);
    assert_i64(message.completion_tokens, -1);
    message = read_message("{\"usage\":{\"prompt_tokens\":1099511627776}}"); /* 2^40 */
    assert_i64(message.prompt_tokens, -1);
}
END_TEST

START_TEST(errors)
{
    assert_text(read_message("{\"error\":{\"message\":\"a\",\"code\":1}}").error, "a");
    assert_text(read_message("{\"error\":\"b\"}").error, "b");
    assert_text(read_message("{\"object\":\"error\",\"message\":\"c\"}").error, "c");
    assert_text(read_message("{\"detail\":\"d\"}").error, "d");
    assert_text(read_message("{\"error\":{}}").error, "an error without a message");
    assert_text(read_message("{\"error\":null,\"choices\":[]}").error, "");
    assert_text(read_message("{\"choices\":[]}").error, "");
}
END_TEST

START_TEST(long_errors_are_cut_between_characters)
{
    char text[400], error[MESSAGE_ERROR_SIZE];

    /* 254 bytes and a character of two bytes, of which only the first would fit. */
    memset(text, 'a', sizeof text);
    memcpy(text + 254, "\xC3\xA4", 3);
    message_copy_error(error, text);
    assert_u64(strlen(error), 254);
    memcpy(text + 253, "\xC3\xA4", 3);
    message_copy_error(error, text);
    assert_u64(strlen(error), 255);
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    message_copy_error(error, text);
    assert_u64(strlen(error), 255);
}
END_TEST

START_TEST(what_is_no_message)
{
    static const char *const texts[] = {"", "[1]", "7", "{", "{\"a\":}", "\xFF", "nul"};
    struct message message;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_that(!message_read(&message, texts[i], strlen(texts[i])));
}
END_TEST

/* ---- answers ----------------------------------------------------------------------- */

#define EVENT(json) "data: " json "\n\n"
#define ROLE EVENT(DELTA("{\"role\":\"assistant\",\"content\":\"\"}"))
#define TOKEN EVENT(DELTA("{\"content\":\"a\"}"))
#define FINISH EVENT("{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}")
#define USAGE \
    EVENT("{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}")
#define DONE "data: [DONE]\n\n"

static struct answer begin(bool event_stream)
{
    struct answer answer = {0};

    answer_reset(&answer);
    answer_begin(&answer, event_stream);
    return answer;
}

static bool take(struct answer *answer, const char *text, int64_t now_ns)
{
    return answer_take(answer, text, strlen(text), now_ns);
}

START_TEST(arrivals_of_content_only)
{
    struct answer answer = begin(true);

    assert_that(take(&answer, ": hello\r\n\r\n" ROLE, 10));
    assert_that(take(&answer, TOKEN, 20));
    assert_that(take(&answer, TOKEN TOKEN, 30));
    assert_that(take(&answer, FINISH USAGE DONE, 40));
    assert_that(answer_end(&answer, 200));
    assert_u64(answer.arrival_count, 3);
    assert_i64(answer.arrivals[0], 20);
    assert_i64(answer.arrivals[1], 30);
    assert_i64(answer.arrivals[2], 30);
    assert_i64(answer.prompt_tokens, 3);
    assert_i64(answer.completion_tokens, 4);
    answer_clear(&answer);
}
END_TEST

/* A chunk arrives with its last byte. */
START_TEST(arrivals_of_cut_chunks)
{
    struct answer answer = begin(true);
    const char *text = TOKEN;

    for (size_t i = 0; i < strlen(text); i++)
        assert_that(answer_take(&answer, text + i, 1, (int64_t)i));
    assert_u64(answer.arrival_count, 1);
    assert_i64(answer.arrivals[0], (int64_t)strlen(text) - 1);
    answer_clear(&answer);
}
END_TEST

static void check_end(const char *text, bool event_stream, long status, const char *error)
{
    struct answer answer = begin(event_stream);

    vocabulary_context("%s, %ld: ", text, status);
    (void)take(&answer, text, 0);
    assert_i64(answer_end(&answer, status), *error == '\0');
    assert_text(answer.error, error);
    answer_clear(&answer);
}

START_TEST(ends_of_streams)
{
    check_end(TOKEN DONE, true, 200, "");
    check_end(TOKEN FINISH, true, 200, "");
    check_end(DONE, true, 200, "");
    check_end(TOKEN, true, 200, "the stream ended too early");
    check_end("", true, 200, "the stream ended too early");
    check_end(TOKEN EVENT("{\"error\":{\"message\":\"no\"}}") DONE, true, 200, "no");
    check_end(EVENT("{nonsense}"), true, 200, "an event is no JSON object");
    check_end(EVENT("{\"error\":\"busy\"}"), true, 503, "HTTP 503: busy");
}
END_TEST

START_TEST(ends_of_bodies)
{
    check_end("{\"choices\":[{\"text\":\"a\"}]}", false, 200, "");
    check_end("{\"id\":1}", false, 200, "the body has no choices");
    check_end("{\"error\":\"busy\"}", false, 200, "busy");
    check_end("<html>", false, 200, "the body is no JSON object");
    check_end("", false, 200, "the body is no JSON object");
    check_end("{\"error\":{\"message\":\"busy\"}}", false, 503, "HTTP 503: busy");
    check_end("<html>", false, 502, "HTTP 502");
    check_end("", false, 401, "HTTP 401");
}
END_TEST

START_TEST(an_answer_is_used_again)
{
    struct answer answer = begin(true);

    assert_that(!take(&answer, TOKEN USAGE EVENT("{\"error\":\"x\"}") "data: tor", 1));
    answer_reset(&answer);
    answer_begin(&answer, true);
    assert_that(take(&answer, TOKEN DONE, 5));
    assert_that(answer_end(&answer, 200));
    assert_u64(answer.arrival_count, 1);
    assert_i64(answer.completion_tokens, -1);
    answer_clear(&answer);
}
END_TEST

/* ---- records ----------------------------------------------------------------------- */

static struct request request(const int64_t *arrivals, size_t count)
{
    struct request r = {.due_ns = 5, .start_ns = 10, .end_ns = 90, .input_tokens = 7};

    r.asked_stream = true;
    r.http_status = 200;
    answer_reset(&r.answer);
    answer_begin(&r.answer, true);
    for (size_t i = 0; i < count; i++)
        assert_that(take(&r.answer, TOKEN, arrivals[i]));
    return r;
}

static const int64_t three[] = {20, 30, 50};

START_TEST(a_stream_ends_with_its_last_token)
{
    struct request r = request(three, 3);
    tw_record record;

    request_record(&r, &record);
    assert_i64(record.credit_issued_ns, 5);
    assert_i64(record.start_ns, 10);
    assert_i64(record.generation_start_ns, 20);
    assert_i64(record.end_ns, 50);
    assert_u64(record.chunk_count, 2);
    assert_i64(record.chunk_arrival_ns[0], 30);
    assert_i64(record.chunk_arrival_ns[1], 50);
    assert_i64(record.input_tokens, 7);
    assert_i64(record.output_tokens, 3);
    assert_i64(record.flags, TW_RECORD_STREAMING);
    answer_clear(&r.answer);
}
END_TEST

START_TEST(counts_of_the_server_go_first)
{
    struct request r = request(three, 3);
    tw_record record;

    assert_that(!request_has_usage(&r));
    assert_that(take(&r.answer, USAGE, 60));
    assert_that(request_has_usage(&r));
    request_record(&r, &record);
    assert_i64(record.input_tokens, 3);
    assert_i64(record.output_tokens, 4);
    assert_i64(record.end_ns, 50);
    answer_clear(&r.answer);
}
END_TEST

START_TEST(failures_end_when_they_fail)
{
    struct request r = request(three, 3);
    tw_record record;

    r.status = TW_RECORD_FAILED;
    request_record(&r, &record);
    assert_i64(record.status, TW_RECORD_FAILED);
    assert_i64(record.end_ns, 90);
    assert_i64(record.output_tokens, 3);
    answer_clear(&r.answer);
    r = request(NULL, 0);
    r.status = TW_RECORD_FAILED;
    request_record(&r, &record);
    assert_i64(record.generation_start_ns, TW_TIME_NONE);
    assert_i64(record.flags, TW_RECORD_STREAMING);
    assert_i64(record.end_ns, 90);
    answer_clear(&r.answer);
}
END_TEST

START_TEST(in_flight_has_no_end)
{
    struct request r = request(three, 2);
    tw_record record;

    r.in_flight = true;
    request_record(&r, &record);
    assert_i64(record.end_ns, TW_TIME_NONE);
    assert_i64(record.generation_start_ns, 20);
    assert_i64(record.output_tokens, 2);
    assert_u64(record.chunk_count, 1);
    answer_clear(&r.answer);
}
END_TEST

START_TEST(whole_bodies)
{
    struct request r = request(NULL, 0);
    tw_record record;

    answer_begin(&r.answer, false); /* though it was to stream */
    assert_that(take(&r.answer, "{\"choices\":[{\"text\":\"a b\"}]}", 60));
    assert_that(answer_end(&r.answer, 200));
    request_record(&r, &record);
    assert_i64(record.generation_start_ns, TW_TIME_NONE);
    assert_i64(record.end_ns, 90);
    assert_i64(record.flags, 0);
    assert_i64(record.output_tokens, TW_TOKENS_NONE);
    answer_clear(&r.answer);
}
END_TEST

START_TEST(reasons_are_counted)
{
    struct failures failures = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_that(file != NULL);
    failures_add(&failures, "slow");
    failures_add(&failures, "red\033[31m\n");
    failures_add(&failures, "slow");
    failures_print(&failures, file);
    (void)fclose(file);
    assert_text(text, "Not successful:\n     2  slow\n     1  red [31m \n");
    free(text);
    for (int i = 0; i < 40; i++) {
        char reason[16];
        (void)snprintf(reason, sizeof reason, "reason %d", i);
        failures_add(&failures, reason);
    }
    assert_u64(failures.others, 40 - (FAILURES_LIMIT - 2));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("answer");
    TCase *messages = vocabulary_case(suite, "messages"),
          *answers = vocabulary_case(suite, "answers"),
          *records = vocabulary_case(suite, "records");

    tcase_add_test(messages, content);
    tcase_add_test(messages, no_content);
    tcase_add_test(messages, usage);
    tcase_add_test(messages, errors);
    tcase_add_test(messages, long_errors_are_cut_between_characters);
    tcase_add_test(messages, what_is_no_message);
    tcase_add_test(answers, arrivals_of_content_only);
    tcase_add_test(answers, arrivals_of_cut_chunks);
    tcase_add_test(answers, ends_of_streams);
    tcase_add_test(answers, ends_of_bodies);
    tcase_add_test(answers, an_answer_is_used_again);
    tcase_add_test(records, a_stream_ends_with_its_last_token);
    tcase_add_test(records, counts_of_the_server_go_first);
    tcase_add_test(records, failures_end_when_they_fail);
    tcase_add_test(records, in_flight_has_no_end);
    tcase_add_test(records, whole_bodies);
    tcase_add_test(records, reasons_are_counted);
    return vocabulary_main(suite);
}
