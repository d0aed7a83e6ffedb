/* SPDX-License-Identifier: MIT */
/* The mock server without HTTP and without a clock: what it says, and when. */

#include "../../examples/mockserver/service.h"

#include <string.h>

#include "../vocabulary.h"

#define BEGIN INT64_C(1000000)

/* ---- pace -------------------------------------------------------------------------- */

START_TEST(a_stall_does_no_work)
{
    const struct pace pace = {.stall_at_ns = 100, .stall_ns = 50};

    assert_i64(pace_done(&pace, 0, 99), 99);
    assert_i64(pace_done(&pace, 0, 100), 150); /* nothing is done at its begin */
    assert_i64(pace_done(&pace, 80, 30), 160);
    assert_i64(pace_done(&pace, 100, 10), 160);
    assert_i64(pace_done(&pace, 149, 10), 160);
    assert_i64(pace_done(&pace, 150, 10), 160);
    assert_i64(pace_done(&pace, 200, 10), 210);
    /* In how many steps makes no difference. */
    assert_i64(pace_done(&pace, pace_done(&pace, 0, 60), 60), pace_done(&pace, 0, 120));
}
END_TEST

START_TEST(times_of_tokens)
{
    struct pace pace = {.ttft_ns = 1000, .itl_ns = 10, .prefill_ns = 3};
    struct random random = random_begin(1, 1);

    assert_i64(pace_first(&pace, 5, 100, &random), 1305);
    assert_i64(pace_next(&pace, 1305, &random), 1315);
    pace.jitter_ns = 100;
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < 10000; i++) {
        int64_t wait_ns = pace_first(&pace, 0, 0, &random);
        least = wait_ns < least ? wait_ns : least;
        most = wait_ns > most ? wait_ns : most;
        assert_that(pace_next(&pace, 7, &random) >= 7); /* never back in time */
    }
    assert_that(least >= 900 && least < 910 && most <= 1100 && most > 1090);
}
END_TEST

START_TEST(timing_errors)
{
    static struct timing timing;

    assert_i64(timing_quantile_ns(&timing, 0.5), 0);
    for (int64_t i = 1; i <= 1000; i++)
        timing_add(&timing, i * 100000); /* 0.1 to 100 ms */
    assert_i64(timing_quantile_ns(&timing, 0.5), 50000000 + TIMING_BIN_NS);
    assert_i64(timing_quantile_ns(&timing, 0.99), 99000000 + TIMING_BIN_NS);
    assert_i64(timing_quantile_ns(&timing, 1), 100000000);
    timing_add(&timing, INT64_C(5000000000));
    timing_add(&timing, -5);
    assert_i64(timing_quantile_ns(&timing, 1), INT64_C(5000000000));
    assert_u64(timing.count, 1002);
}
END_TEST

/* ---- requests ---------------------------------------------------------------------- */

static const char *read_body(struct request *request, bool chat, const char *body)
{
    vocabulary_context("%s: ", body);
    return request_read(request, chat, body, strlen(body));
}

START_TEST(requests)
{
    struct request r;

    assert_that(!read_body(&r, true,
                           "{\"model\":\"a\\\"b\",\"messages\":[{\"role\":\"user\","
                           "\"content\":\" one  two \"},{\"content\":[{\"type\":\"text\","
                           "\"text\":\"three\"},7]}],\"stream\":true,\"max_tokens\":9,"
                           "\"stream_options\":{\"include_usage\":true}}"));
    assert_text(r.model, "\"a\\\"b\"");
    assert_that(r.chat && r.stream && r.include_usage);
    assert_i64(r.input_tokens, 3);
    assert_i64(r.output_tokens, 9);
    request_clear(&r);
    assert_that(!read_body(&r, false,
                           "{\"model\":\"m\",\"prompt\":[\"a b\",\"c\"],\"max_tokens\":1,"
                           "\"max_completion_tokens\":2}"));
    assert_that(!r.stream && !r.include_usage);
    assert_i64(r.input_tokens, 3);
    assert_i64(r.output_tokens, 2);
    request_clear(&r);
    assert_that(!read_body(&r, false, "{\"model\":\"m\",\"prompt\":\"\"}"));
    assert_i64(r.output_tokens, -1);
    request_clear(&r);
}
END_TEST

START_TEST(bad_requests)
{
    static const char *const bodies[] = {
        "",
        "[]",
        "{",
        "{}",
        "{\"model\":\"m\"}",
        "{\"model\":7,\"messages\":[{}]}",
        "{\"model\":\"m\",\"messages\":[]}",
        "{\"model\":\"m\",\"messages\":{}}",
        "{\"model\":\"m\",\"messages\":[{}],\"max_tokens\":-1}",
        "{\"model\":\"m\",\"messages\":[{}],\"max_tokens\":1.5}",
        "{\"model\":\"m\",\"messages\":[{}],\"max_tokens\":1000001}"};
    struct request r;

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        assert_that(read_body(&r, true, bodies[i]) != NULL);
        request_clear(&r);
    }
}
END_TEST

/* ---- the service over time --------------------------------------------------------- */

static int wakes;

static void wake(struct response *response)
{
    assert_that(response->owner != NULL);
    wakes++;
}

static int an_owner;

static struct response *ask(struct service *service, bool stream, int64_t output_tokens,
                            int64_t now_ns)
{
    struct request request = {.chat = true,
                              .stream = stream,
                              .include_usage = true,
                              .input_tokens = 10,
                              .output_tokens = output_tokens,
                              .model = strdup("\"m\"")};
    struct response *response = service_begin(service, &request, &an_owner, now_ns);

    assert_that(response != NULL);
    return response;
}

/* What a stream says now, as text. */
static const char *take(struct response *response, int64_t now_ns)
{
    static char text[65536];
    size_t length = 0, got;

    while ((got = response_take(response, text + length, 7, now_ns)) > 0)
        length += got;
    text[length] = '\0';
    return text;
}

static int count_in(const char *text, const char *part)
{
    int count = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

static struct options options(void)
{
    return (struct options){.pace = {.ttft_ns = 1000, .itl_ns = 100},
                            .output_tokens = 5,
                            .tokens_per_chunk = 1,
                            .seed = 1};
}

START_TEST(a_stream_over_time)
{
    struct options o = options();
    struct service service;
    const char *text;

    service_init(&service, &o, wake);
    struct response *response = ask(&service, true, 3, BEGIN);
    assert_that(response_ready(response));
    text = take(response, BEGIN);
    assert_i64(count_in(text, "\"role\":\"assistant\""), 1);
    assert_i64(count_in(text, " word"), 0);
    for (int token = 0; token < 3; token++) {
        int64_t due_ns = BEGIN + 1000 + 100 * token;
        assert_i64(service_next_ns(&service), due_ns);
        service_run(&service, due_ns - 1);
        assert_text(take(response, due_ns - 1), "");
        assert_that(!response_ended(response));
        service_run(&service, due_ns);
        text = take(response, due_ns + 30);
        assert_i64(count_in(text, "\"delta\":{\"content\":\" word\"}"), 1);
        assert_i64(count_in(text, "data: [DONE]\n\n"), token == 2);
        assert_i64(count_in(text, "\"completion_tokens\":3"), token == 2);
        assert_i64(count_in(text, "\"prompt_tokens\":10"), token == 2);
    }
    assert_that(response_ended(response));
    assert_i64(service_next_ns(&service), INT64_MAX);
    assert_u64(service.timing.count, 3);
    assert_i64(service.timing.max_ns, 30);
    service_end(response, BEGIN + 2000);
    assert_u64(service.completed, 1);
    assert_u64(service.active, 0);
    service_clear(&service);
}
END_TEST

/* The first token comes alone, the others in chunks, each with its last token. */
START_TEST(tokens_per_chunk)
{
    struct options o = options();
    struct service service;
    static const int words[] = {1, 4, 4, 1};
    static const int64_t due_ns[] = {1000, 1400, 1800, 1900};

    o.tokens_per_chunk = 4;
    service_init(&service, &o, wake);
    struct response *response = ask(&service, true, 10, BEGIN);
    (void)take(response, BEGIN);
    for (int i = 0; i < 4; i++) {
        assert_i64(service_next_ns(&service), BEGIN + due_ns[i]);
        service_run(&service, BEGIN + due_ns[i]);
        assert_i64(count_in(take(response, BEGIN + due_ns[i]), " word"), words[i]);
    }
    service_end(response, BEGIN);
    service_clear(&service);
}
END_TEST

START_TEST(a_body_comes_at_the_end)
{
    struct options o = options();
    struct service service;

    service_init(&service, &o, wake);
    struct response *response = ask(&service, false, -1, BEGIN);
    assert_that(!response_ready(response));
    assert_i64(service_next_ns(&service), BEGIN + 1400); /* 5 tokens by default */
    service_run(&service, BEGIN + 1400);
    assert_that(response_ready(response));
    assert_i64(count_in(take(response, BEGIN), " word"), 5);
    service_end(response, BEGIN);
    service_clear(&service);
}
END_TEST

START_TEST(a_limit_and_its_queue)
{
    struct options o = options();
    struct service service;
    struct response *r[4];

    o.concurrency = 1;
    service_init(&service, &o, wake);
    for (int i = 0; i < 4; i++)
        r[i] = ask(&service, true, 1, BEGIN);
    assert_u64(service.active, 1);
    assert_u64(service.queued, 3);
    assert_that(response_ready(r[0]) && !response_ready(r[1]));
    service_end(r[2], BEGIN); /* leaves the queue from its middle */
    assert_u64(service.queued, 2);
    service_run(&service, BEGIN + 1000); /* the first ends, the second begins */
    assert_that(response_ready(r[1]) && !response_ready(r[3]));
    assert_i64(service_next_ns(&service), BEGIN + 2000);
    service_end(r[1], BEGIN + 1500); /* its client leaves: the last begins */
    assert_that(response_ready(r[3]));
    service_run(&service, BEGIN + 2500);
    assert_that(response_ended(r[0]) == false && service.active == 0);
    assert_u64(service.completed, 2);
    assert_u64(service.most_active, 1);
    service_end(r[0], BEGIN + 2500);
    service_end(r[3], BEGIN + 2500);
    service_clear(&service);
}
END_TEST

START_TEST(fates)
{
    struct options o = options();
    struct service service;
    struct response *response;

    o.error_rate = 1;
    service_init(&service, &o, wake);
    response = ask(&service, true, 4, BEGIN);
    assert_i64(response->fate, FATE_ERROR);
    assert_u64(service.errors, 1);
    service_end(response, BEGIN);
    o.error_rate = 0;
    o.stream_error_rate = 1;
    response = ask(&service, true, 4, BEGIN);
    service_run(&service, BEGIN + 1000);
    service_run(&service, BEGIN + 1100); /* half of the tokens */
    assert_i64(count_in(take(response, BEGIN), "\"error\":{"), 1);
    assert_that(response_ended(response) && !response->aborted);
    service_end(response, BEGIN);
    o.stream_error_rate = 0;
    o.abort_rate = 1;
    response = ask(&service, true, 4, BEGIN);
    service_run(&service, BEGIN + 1000);
    service_run(&service, BEGIN + 1100);
    assert_i64(count_in(take(response, BEGIN), "[DONE]"), 0);
    assert_that(response_ended(response) && response->aborted);
    service_end(response, BEGIN);
    assert_u64(service.errors, 3);
    service_clear(&service);
}
END_TEST

START_TEST(rates_of_fates)
{
    struct options o = options();
    struct service service;

    o.error_rate = 0.25;
    service_init(&service, &o, wake);
    for (int i = 0; i < 10000; i++)
        service_end(ask(&service, true, 1, BEGIN), BEGIN);
    assert_near((double)service.errors, 2500, 0.1, 0);
    service_clear(&service);
}
END_TEST

START_TEST(no_tokens)
{
    struct options o = options();
    struct service service;

    service_init(&service, &o, wake);
    struct response *response = ask(&service, true, 0, BEGIN);
    service_run(&service, BEGIN + 1000);
    const char *text = take(response, BEGIN);
    assert_i64(count_in(text, " word"), 0);
    assert_i64(count_in(text, "[DONE]"), 1);
    service_end(response, BEGIN);
    service_clear(&service);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mockserver");
    TCase *pace = vocabulary_case(suite, "pace"),
          *request = vocabulary_case(suite, "requests"),
          *service = vocabulary_case(suite, "service");

    tcase_add_test(pace, a_stall_does_no_work);
    tcase_add_test(pace, times_of_tokens);
    tcase_add_test(pace, timing_errors);
    tcase_add_test(request, requests);
    tcase_add_test(request, bad_requests);
    tcase_add_test(service, a_stream_over_time);
    tcase_add_test(service, tokens_per_chunk);
    tcase_add_test(service, a_body_comes_at_the_end);
    tcase_add_test(service, a_limit_and_its_queue);
    tcase_add_test(service, fates);
    tcase_add_test(service, rates_of_fates);
    tcase_add_test(service, no_tokens);
    return vocabulary_main(suite);
}
