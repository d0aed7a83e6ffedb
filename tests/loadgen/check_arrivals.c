/* SPDX-License-Identifier: MIT */
/* When requests are due, and how they wait: chance, schedules, timers, the queue. */

#include "../../examples/common/random.h"
#include "../../examples/common/timers.h"
#include "../../examples/loadgen/queue.h"
#include "../../examples/loadgen/schedule.h"

#include <math.h>
#include <stdlib.h>

#include "../vocabulary.h"

#define SAMPLES 200000

/* ---- chance ------------------------------------------------------------------------ */

typedef double (*draw_fn)(struct random *random, double shape);

static double exponential(struct random *random, double shape)
{
    (void)shape;
    return random_exponential(random);
}

/* Of mean 1 and variance 1 / shape. The mean of n draws has a standard error of
 * sqrt(variance / n); five of them are never left in practice, and the seed is fixed. */
static void check_moments(draw_fn draw, double shape)
{
    struct random random = random_begin(7, 3);
    double sum = 0, squares = 0, mean, variance;

    vocabulary_context("shape %g: ", shape);
    for (int i = 0; i < SAMPLES; i++) {
        double x = draw(&random, shape);
        assert_that(x >= 0 && isfinite(x));
        sum += x;
        squares += x * x;
    }
    mean = sum / SAMPLES;
    variance = squares / SAMPLES - mean * mean;
    assert_near(mean, 1, 0, 5 * sqrt(1 / shape / SAMPLES));
    assert_near(variance, 1 / shape, 0.1, 0);
}

START_TEST(moments)
{
    static const double shapes[] = {0.25, 0.5, 1, 2, 10};

    check_moments(exponential, 1);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_moments(random_gamma, shapes[i]);
}
END_TEST

/* The share of an exponential below its median. */
START_TEST(median_of_an_exponential)
{
    struct random random = random_begin(1, 1);
    int below = 0;

    for (int i = 0; i < SAMPLES; i++)
        below += random_exponential(&random) < log(2);
    assert_near((double)below / SAMPLES, 0.5, 0, 0.01);
}
END_TEST

START_TEST(streams_are_repeated_and_differ)
{
    struct random a = random_begin(1, 1), b = random_begin(1, 1), c = random_begin(1, 2),
                  d = random_begin(2, 1);
    uint64_t bits = random_bits(&a);

    assert_u64(random_bits(&b), bits);
    assert_that(random_bits(&c) != bits && random_bits(&d) != bits);
    for (int i = 0; i < 1000; i++) {
        double u = random_unit(&a);
        assert_that(u >= 0 && u < 1);
    }
}
END_TEST

/* ---- schedules --------------------------------------------------------------------- */

static struct options open_loop(enum arrivals arrivals, double rate)
{
    return (struct options){.arrivals = arrivals,
                            .request_rate = rate,
                            .shape = 0.5,
                            .trace_speed = 1,
                            .request_count = INT64_MAX,
                            .input_tokens = 20,
                            .output_tokens = 10,
                            .seed = 1};
}

START_TEST(constant_arrivals_do_not_drift)
{
    struct options options = open_loop(ARRIVALS_CONSTANT, 3);
    struct schedule schedule;
    struct plan plan = {0};

    options.request_count = 3000001;
    schedule_init(&schedule, &options, NULL);
    assert_that(schedule_next(&schedule, &plan));
    assert_i64(plan.due_ns, 0);
    assert_i64(plan.input_tokens, 20);
    assert_i64(plan.output_tokens, 10);
    assert_that(schedule_next(&schedule, &plan));
    assert_i64(plan.due_ns, 333333333);
    for (int i = 2; i <= 3000000; i++)
        assert_that(schedule_next(&schedule, &plan));
    assert_i64(plan.due_ns, INT64_C(1000000000000000)); /* 3e6 thirds of a second */
    assert_that(!schedule_next(&schedule, &plan));
}
END_TEST

START_TEST(random_arrivals_have_their_rate)
{
    static const enum arrivals kinds[] = {ARRIVALS_POISSON, ARRIVALS_GAMMA};

    for (int i = 0; i < 2; i++) {
        struct options options = open_loop(kinds[i], 1000);
        struct schedule schedule;
        struct plan plan;
        int64_t previous_ns = 0;
        schedule_init(&schedule, &options, NULL);
        for (int n = 0; n < SAMPLES; n++) {
            assert_that(schedule_next(&schedule, &plan));
            assert_that(plan.due_ns >= previous_ns);
            assert_that(n > 0 || plan.due_ns == 0);
            previous_ns = plan.due_ns;
        }
        assert_near((double)previous_ns / 1e9, SAMPLES / 1000.0, 0.02, 0);
    }
}
END_TEST

START_TEST(traces)
{
    struct trace_row rows[] = {{0, 5, 6}, {1000, 0, 0}, {3000, 7, 8}};
    struct trace trace = {.rows = rows, .count = 3};
    struct options options = open_loop(ARRIVALS_POISSON, 0);
    struct schedule schedule;
    struct plan plan;

    options.trace_speed = 2;
    schedule_init(&schedule, &options, &trace);
    assert_that(schedule_next(&schedule, &plan));
    assert_i64(plan.due_ns, 0);
    assert_i64(plan.input_tokens, 5);
    assert_that(schedule_next(&schedule, &plan));
    assert_i64(plan.due_ns, 500);
    assert_i64(plan.input_tokens, 1); /* no request is empty */
    assert_i64(plan.output_tokens, 1);
    assert_that(schedule_next(&schedule, &plan));
    assert_i64(plan.due_ns, 1500);
    assert_i64(plan.output_tokens, 8);
    assert_that(!schedule_next(&schedule, &plan));
    options.request_count = 1;
    schedule_init(&schedule, &options, &trace);
    assert_that(schedule_next(&schedule, &plan));
    assert_that(!schedule_next(&schedule, &plan));
}
END_TEST

/* ---- timers and the queue ---------------------------------------------------------- */

START_TEST(timers_run_in_order)
{
    enum { COUNT = 5000 };
    struct timers timers = {0};
    struct random random = random_begin(1, 1);
    struct timer timer;
    int64_t last_ns = -1;
    uint64_t last_number = 0;
    int taken = 0;

    assert_that(timers_first(&timers) == NULL);
    assert_that(!timers_take(&timers, INT64_MAX, &timer));
    for (int i = 0; i < COUNT; i++)
        assert_that(timers_add(&timers, (int64_t)(random_bits(&random) % 1000), NULL));
    assert_that(!timers_take(&timers, -1, &timer));
    while (timers_take(&timers, 499, &timer)) {
        assert_that(timer.due_ns > last_ns ||
                    (timer.due_ns == last_ns && timer.number > last_number));
        last_ns = timer.due_ns;
        last_number = timer.number;
        taken++;
    }
    assert_that(timers_first(&timers)->due_ns >= 500);
    while (timers_take(&timers, 999, &timer)) {
        assert_that(timer.due_ns >= last_ns);
        last_ns = timer.due_ns;
        taken++;
    }
    assert_i64(taken, COUNT);
    timers_clear(&timers);
}
END_TEST

START_TEST(the_queue_keeps_order)
{
    struct queue queue = {0};
    int64_t in = 0, out = 0;
    struct random random = random_begin(1, 1);

    for (int i = 0; i < 100000; i++) {
        if (random_bits(&random) % 100 < (i < 50000 ? 52 : 48) || queue.count == 0) {
            struct plan plan = {.due_ns = in++};
            assert_that(queue_add(&queue, &plan));
        } else {
            assert_i64(queue_take(&queue).due_ns, out++);
        }
        assert_u64(queue.count, (uint64_t)(in - out));
    }
    while (queue.count > 0)
        assert_i64(queue_take(&queue).due_ns, out++);
    assert_i64(out, in);
    queue_clear(&queue);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arrivals");
    TCase *chance = vocabulary_case(suite, "chance"),
          *schedules = vocabulary_case(suite, "schedules"),
          *waiting = vocabulary_case(suite, "waiting");

    tcase_add_test(chance, moments);
    tcase_add_test(chance, median_of_an_exponential);
    tcase_add_test(chance, streams_are_repeated_and_differ);
    tcase_add_test(schedules, constant_arrivals_do_not_drift);
    tcase_add_test(schedules, random_arrivals_have_their_rate);
    tcase_add_test(schedules, traces);
    tcase_add_test(waiting, timers_run_in_order);
    tcase_add_test(waiting, the_queue_keeps_order);
    return vocabulary_main(suite);
}
