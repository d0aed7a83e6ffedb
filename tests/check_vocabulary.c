/* SPDX-License-Identifier: MIT */
/* The vocabulary itself: above all that its assertions fail when they should. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vocabulary.h"

/* ---- Tests that must fail ---------------------------------------------------------- */

static const twi_u192 one = {{1, 0, 0}}, high_one = {{0, 0, 1}};

START_TEST(wrong_condition)
{
    assert_that(1 + 1 == 3);
}
END_TEST

START_TEST(wrong_status)
{
    assert_status(TW_ERR_NOMEM, TW_ERR_INVAL);
}
END_TEST

START_TEST(wrong_ok)
{
    assert_ok(TW_ERR_NODATA);
}
END_TEST

START_TEST(wrong_number_for_a_status)
{
    assert_ok(17);
}
END_TEST

START_TEST(wrong_signed)
{
    assert_i64(-1, 1);
}
END_TEST

START_TEST(wrong_unsigned)
{
    assert_u64(UINT64_MAX, 0);
}
END_TEST

START_TEST(wrong_u192)
{
    assert_u192(one, high_one);
}
END_TEST

START_TEST(wrong_text)
{
    assert_text("abcd", "abxd");
}
END_TEST

START_TEST(wrong_longer_text)
{
    assert_text("abcd", "abc");
}
END_TEST

START_TEST(wrong_null_text)
{
    assert_text((const char *)NULL, "abc");
}
END_TEST

START_TEST(wrong_bits)
{
    assert_same(0.1 + 0.2, 0.3);
}
END_TEST

START_TEST(wrong_sign_of_zero)
{
    assert_same(0.0, -0.0);
}
END_TEST

START_TEST(wrong_relative)
{
    assert_near(1.0 + 3e-12, 1.0, 1e-12, 0);
}
END_TEST

START_TEST(wrong_absolute)
{
    assert_near(3e-9, 0, 1, 1e-9);
}
END_TEST

START_TEST(wrong_infinity)
{
    assert_near(1e308, HUGE_VAL, 1, 1);
}
END_TEST

START_TEST(wrong_nan)
{
    assert_near((double)NAN, 1, 1, 1);
}
END_TEST

START_TEST(wrong_in_context)
{
    vocabulary_context("seed %d", 42);
    assert_that(0);
}
END_TEST

START_TEST(wrong_leak)
{
    memory m;
    void *block;

    memory_init(&m);
    block = m.allocator.alloc(m.allocator.user_data, 8, 8);
    assert_that(block != NULL);
    memory_done(&m);
}
END_TEST

START_TEST(wrong_size_of_free)
{
    memory m;
    void *block;

    memory_init(&m);
    block = m.allocator.alloc(m.allocator.user_data, 8, 8);
    m.allocator.free(m.allocator.user_data, block, 9, 8);
    memory_done(&m);
}
END_TEST

START_TEST(wrong_align_of_free)
{
    memory m;
    void *block;

    memory_init(&m);
    block = m.allocator.alloc(m.allocator.user_data, 8, 8);
    m.allocator.free(m.allocator.user_data, block, 8, 16);
    memory_done(&m);
}
END_TEST

START_TEST(wrong_align_of_alloc)
{
    memory m;
    void *block;

    memory_init(&m);
    block = m.allocator.alloc(m.allocator.user_data, 8, 128);
    m.allocator.free(m.allocator.user_data, block, 8, 128);
    memory_done(&m);
}
END_TEST

START_TEST(wrong_append)
{
    const tw_record bad = record(10, 5, 20, 1, 1);
    (void)recorder_of(&bad, 1);
}
END_TEST

START_TEST(wrong_analysis)
{
    const tw_options bad = options_window(1, 0);
    (void)analysis_of(NULL, 0, &bad);
}
END_TEST

START_TEST(wrong_summary)
{
    (void)summary_of(analysis_of(NULL, 0, NULL), TW_REQUEST_LATENCY);
}
END_TEST

static results all_of(const tw_record *r)
{
    tw_analysis *analysis = analysis_of(r, 1, NULL);
    static results all;

    assert_ok(results_take(&all, analysis));
    tw_analysis_free(analysis);
    return all;
}

START_TEST(wrong_results)
{
    const tw_record a = record(0, 10, 20, 5, 6), b = record(0, 10, 20, 5, 7);
    static results of_a, of_b;

    of_a = all_of(&a);
    of_b = all_of(&b);
    assert_same_results(&of_a, &of_b);
}
END_TEST

START_TEST(wrong_balance)
{
    tw_balance a = {.struct_size = sizeof a}, b = a;

    b.refused_by_rule[TW_RULE_LIMIT - 1] = 1;
    assert_same_balance(&a, &b);
}
END_TEST

static const struct {
    const TTest **test;
    const char *complaint; /* part of it */
} failing[] = {
    {&wrong_condition, "1 + 1 == 3 does not hold"},
    {&wrong_status, "is TW_ERR_NOMEM (-1), wanted TW_ERR_INVAL"},
    {&wrong_ok, "is TW_ERR_NODATA (-4), wanted TW_OK"},
    {&wrong_number_for_a_status, "is not a status (17), wanted TW_OK"},
    {&wrong_signed, "-1 is -1, wanted 1 = 1"},
    {&wrong_unsigned, "is 18446744073709551615, wanted 0 = 0"},
    {&wrong_u192, "0000000000000000'0000000000000000'0000000000000001, wanted high_one = "
                  "0000000000000001'0000000000000000'0000000000000000"},
    {&wrong_text, "differs from \"abxd\" after 2 bytes: \"cd\", wanted \"xd\""},
    {&wrong_longer_text, "after 3 bytes: \"d\", wanted \"\""},
    {&wrong_null_text, "is NULL, wanted"},
    {&wrong_bits, "is 0.30000000000000004 (0x1.3333333333334p-2), wanted 0.3 = "},
    {&wrong_sign_of_zero, "is 0 (0x0p+0), wanted -0.0 = -0 (-0x0p+0)"},
    {&wrong_relative, "allowed 1e-12"},
    {&wrong_absolute, "allowed 1e-09"},
    {&wrong_infinity, "wanted HUGE_VAL = inf"},
    {&wrong_nan, "wanted 1 = 1"},
    {&wrong_in_context, "[seed 42] 0 does not hold"},
    {&wrong_leak, "live_blocks"},
    {&wrong_size_of_free, "wrong"},
    {&wrong_align_of_free, "wrong"},
    {&wrong_align_of_alloc, "wrong"},
    {&wrong_append, "TW_ERR_RANGE (-3), wanted TW_OK"},
    {&wrong_analysis, "TW_ERR_INVAL (-2), wanted TW_OK"},
    {&wrong_summary, "TW_ERR_NODATA (-4), wanted TW_OK"},
    {&wrong_results, "of effective_decode_throughput is "},
    {&wrong_balance, "refused_by_rule[31] is 0, wanted 1"},
};
enum { FAILING = sizeof failing / sizeof failing[0] };

/* What came of them, in their order; filled before the suite begins. */
static char complaints[FAILING][1024];
static int failures;

static void run_failing(void)
{
    Suite *suite = suite_create("must fail");
    TCase *all = tcase_create("all");
    SRunner *runner;
    TestResult **outcomes;

    for (int i = 0; i < FAILING; i++)
        tcase_add_test(all, *failing[i].test);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_SILENT);
    failures = srunner_ntests_failed(runner);
    outcomes = srunner_results(runner);
    for (int i = 0; i < FAILING && i < srunner_ntests_run(runner); i++)
        if (tr_rtype(outcomes[i]) == CK_FAILURE)
            strncpy(complaints[i], tr_msg(outcomes[i]), sizeof complaints[i] - 1);
    free((void *)outcomes);
    srunner_free(runner);
    vocabulary_context("%s", "");
}

START_TEST(wrong_things_fail)
{
    if (strstr(complaints[_i], failing[_i].complaint) == NULL)
        ck_abort_msg("test %d said \"%s\", wanted \"%s\"", _i, complaints[_i],
                     failing[_i].complaint);
}
END_TEST

START_TEST(all_wrong_things_fail)
{
    assert_i64(failures, FAILING);
}
END_TEST

/* ---- Tests that must pass ---------------------------------------------------------- */

START_TEST(right_things_pass)
{
    double evaluated = 0;

    assert_that(2);
    assert_ok(TW_OK);
    assert_status(TW_ERR_ABI, TW_ERR_ABI);
    assert_i64(INT64_MIN, INT64_MIN);
    assert_u64(UINT64_MAX, UINT64_MAX);
    assert_u192(high_one, high_one);
    assert_text("abc", "abc");
    assert_same(0.5, 0.5);
    assert_same((double)NAN, (double)NAN);
    assert_near(1.0 + 1e-13, 1.0, 1e-12, 0);
    assert_near(-1.0 - 1e-13, -1.0, 1e-12, 0);
    assert_near(1e-10, 0, 0, 1e-9);
    assert_near(HUGE_VAL, HUGE_VAL, 0, 0);
    assert_same(evaluated += 1, 1.0);
    assert_same(evaluated, 1.0); /* once */
}
END_TEST

START_TEST(random_numbers)
{
    /* The first numbers of splitmix64 for the seed 1234567, from its author's page. */
    uint64_t state = 1234567;
    int seen[10] = {0};

    assert_u64(random_next(&state), UINT64_C(6457827717110365317));
    assert_u64(random_next(&state), UINT64_C(3203168211198807973));
    assert_u64(random_next(&state), UINT64_C(9817491932198370423));
    assert_u64(random_next(&state), UINT64_C(4593380528125082431));
    assert_u64(random_next(&state), UINT64_C(16408922859458223821));
    for (int i = 0; i < 1000; i++) {
        const int64_t number = random_between(&state, -5, 4);
        const twi_u192 wide = random_u192(&state, 100);

        assert_that(number >= -5 && number <= 4);
        seen[number + 5] = 1;
        assert_that(twi_bits(wide) <= 100);
        (void)random_between(&state, INT64_MIN, INT64_MAX); /* no division by 0 */
    }
    for (int i = 0; i < 10; i++)
        assert_that(seen[i]);
}
END_TEST

START_TEST(exact_numbers)
{
    const twi_u192 odd = {{3, 0, UINT64_C(1) << 63}};

    assert_u192(exact_whole(0), twi_from64(0));
    assert_u192(exact_whole(5), twi_from64(5));
    assert_u192(exact_whole(0x1.8p191), ((twi_u192){{0, 0, UINT64_C(3) << 62}}));
    assert_u192(exact_whole(0x1.fffffffffffffp52), twi_from64((UINT64_C(1) << 53) - 1));
    assert_same(exact_double(twi_from64(0)), 0.0);
    assert_same(exact_double(odd), 0x1p191);
    /* ties to even */
    assert_same(exact_double(twi_from64((UINT64_C(1) << 53) + 1)), 0x1p53);
    assert_same(exact_double(twi_from64((UINT64_C(1) << 53) + 3)), 0x1.0000000000002p53);
    assert_same(exact_rate(1, 1000000000), 0x1p59);
    assert_same(exact_rate(7, 1750000000), 0x1p61);
    /* 2^59 / 3 = 192153584101141162.67: doubles there are multiples of 32 */
    assert_same(exact_rate(1, UINT64_C(3000000000)), 192153584101141152.0);
    /* 10^9 * 2^59 / 2^62 */
    assert_same(exact_rate(1, UINT64_C(1) << 62), 125000000.0);
    assert_same(exact_rate(0, 5), 0.0);
    /* 125000000 / 7 = 17857142.86, rounded down to the unit */
    assert_same(exact_share(1, UINT64_C(1) << 62, 7), 17857142.0);
    assert_same(exact_share(3, 500000000, 6), 0x1p59);
    assert_same(exact_per_user(7, 2), 3.0);
    assert_same(exact_per_user(7, 0), 0.0);
    assert_same(exact_per_user(0x1p60, 3), 384307168202282304.0); /* of ...325.3 */
}
END_TEST

START_TEST(shuffled_records)
{
    tw_record records[50];
    uint64_t state = 1;
    int64_t sum = 0, moved = 0;

    for (int i = 0; i < 50; i++)
        records[i] = record(i, NEVER, NEVER, UNKNOWN, UNKNOWN);
    random_shuffle(&state, records, 50);
    for (int i = 0; i < 50; i++) {
        sum += INT64_C(1) << records[i].start_ns;
        moved += records[i].start_ns != i;
    }
    assert_i64(sum, (INT64_C(1) << 50) - 1); /* each is still there */
    assert_that(moved > 25);
}
END_TEST

START_TEST(records)
{
    const int64_t arrivals[2] = {5, 6};
    int64_t *moved;
    tw_record r = record(1, 2, 3, 4, 5);

    assert_i64(r.credit_issued_ns, NEVER);
    assert_i64(r.start_ns, 1);
    assert_i64(r.generation_start_ns, 2);
    assert_i64(r.end_ns, 3);
    assert_i64(r.input_tokens, 4);
    assert_i64(r.output_tokens, 5);
    assert_i64(r.status, TW_RECORD_OK);
    assert_u64(r.flags, 0);
    assert_u64(r.chunk_count, 0);
    r = with_chunks(with_flags(with_status(with_credit(r, -9), 2), 1), arrivals, NULL, 2);
    assert_i64(r.credit_issued_ns, -9);
    assert_i64(r.status, 2);
    assert_u64(r.flags, 1);
    assert_that(r.chunk_arrival_ns == arrivals);
    r.end_ns = NEVER;
    r = with_shift(r, 100, &moved);
    assert_i64(r.credit_issued_ns, 91);
    assert_i64(r.start_ns, 101);
    assert_i64(r.generation_start_ns, 102);
    assert_i64(r.end_ns, NEVER);
    assert_i64(r.chunk_arrival_ns[0], 105);
    assert_i64(r.chunk_arrival_ns[1], 106);
    free(moved);
}
END_TEST

START_TEST(memory_fails_as_told)
{
    memory m;
    void *blocks[6];

    memory_init(&m);
    memory_fail_nth(&m, 2);
    for (int i = 0; i < 3; i++)
        blocks[i] = m.allocator.alloc(m.allocator.user_data, 10, 64);
    assert_that(blocks[0] && !blocks[1] && blocks[2]);
    assert_that((uintptr_t)blocks[0] % 64 == 0);
    assert_u64(atomic_load(&m.live_blocks), 2);
    assert_u64(atomic_load(&m.live_bytes), 20);
    memory_fail_from(&m, 2);
    for (int i = 3; i < 6; i++)
        blocks[i] = m.allocator.alloc(m.allocator.user_data, 1, 1);
    assert_that(blocks[3] && !blocks[4] && !blocks[5]);
    memory_fail_never(&m);
    m.allocator.free(m.allocator.user_data, blocks[0], 10, 64);
    m.allocator.free(m.allocator.user_data, blocks[2], 10, 64);
    m.allocator.free(m.allocator.user_data, blocks[3], 1, 1);
    assert_u64(atomic_load(&m.calls), 6);
    memory_done(&m);
}
END_TEST

START_TEST(sinks)
{
    sink s = {0};

    s.fail_at = 3;
    assert_i64(sink_write(&s, "ab", 2), 0);
    assert_i64(sink_write(&s, "cde", 2), 0);
    assert_text(s.text, "abcd");
    assert_that(sink_write(&s, "x", 1) != 0);
    assert_text(s.text, "abcd");
    assert_i64(sink_write(&s, "", 0), 0);
    assert_u64(s.length, 4);
    sink_free(&s);
    assert_that(s.text == NULL);
}
END_TEST

START_TEST(counts)
{
    assert_u64(vocabulary_count("TIMEWEIGHT_TEST_NO_SUCH_VARIABLE", 7), 7);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vocabulary");
    TCase *failure = vocabulary_case(suite, "failure"),
          *success = vocabulary_case(suite, "success");

    run_failing();
    tcase_add_loop_test(failure, wrong_things_fail, 0, FAILING);
    tcase_add_test(failure, all_wrong_things_fail);
    tcase_add_test(success, right_things_pass);
    tcase_add_test(success, random_numbers);
    tcase_add_test(success, exact_numbers);
    tcase_add_test(success, shuffled_records);
    tcase_add_test(success, records);
    tcase_add_test(success, memory_fails_as_told);
    tcase_add_test(success, sinks);
    tcase_add_test(success, counts);
    return vocabulary_main(suite);
}
