/* SPDX-License-Identifier: MIT */
#ifndef CHECK_H
#define CHECK_H

/* As much of Check as the suites here use, for machines that Check is not installed for
 * (tests/machines.sh). No forks: a failed assertion jumps out of its test. The tests and
 * the assertions of a program are all in one thread of one process. */

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CK_SILENT, CK_MINIMAL, CK_NORMAL, CK_VERBOSE, CK_ENV };
enum test_result { CK_TEST_RESULT_INVALID, CK_PASS, CK_FAILURE, CK_ERROR };
enum { CK_MOST_TESTS = 256, CK_MOST_CASES = 32, CK_MESSAGE = 8000 };

typedef void (*TFun)(int _i);
typedef struct TTest {
    const char *name;
    TFun run;
} TTest;
typedef struct TestResult {
    enum test_result type;
    char message[CK_MESSAGE]; /* of a failure */
} TestResult;
typedef struct ck_test {
    const TTest *test;
    int from, to;
} ck_test;
typedef struct TCase {
    const char *name;
    ck_test tests[CK_MOST_TESTS];
    int count;
} TCase;
typedef struct Suite {
    const char *name;
    TCase *cases[CK_MOST_CASES];
    int count;
} Suite;
typedef struct SRunner {
    Suite *suite;
    TestResult results[CK_MOST_TESTS];
    int run, failed;
} SRunner;

/* Where a failed assertion goes: to the innermost runner; and what it said. One
 * definition for the program, which may have several files. */
__attribute__((weak)) jmp_buf *ck_return;
__attribute__((weak)) char ck_message[CK_MESSAGE];

#define START_TEST(test)                                  \
    static void test##_run(int _i);                       \
    static const TTest test##_test = {#test, test##_run}; \
    static const TTest *test = &test##_test;              \
    static void test##_run(int _i __attribute__((unused)))
#define END_TEST
#define ck_abort_msg(...) \
    (snprintf(ck_message, sizeof ck_message, __VA_ARGS__), ck_leave())
#define ck_assert(condition)                \
    do {                                    \
        if (!(condition))                   \
            ck_abort_msg("%s", #condition); \
    } while (0)
#define ck_assert_msg(condition, ...)  \
    do {                               \
        if (!(condition))              \
            ck_abort_msg(__VA_ARGS__); \
    } while (0)
#define ck_assert_uint_le(a, b) ck_assert((a) <= (b))
#define ck_assert_uint_eq(a, b) ck_assert((a) == (b))
#define ck_assert_int_eq(a, b) ck_assert((a) == (b))
#define ck_assert_double_eq(a, b) ck_assert((a) == (b))
#define ck_assert_double_ge(a, b) ck_assert((a) >= (b))
#define ck_assert_double_eq_tol(a, b, tolerance) \
    ck_assert((a) - (b) <= (tolerance) && (b) - (a) <= (tolerance))
#define ck_assert_str_eq(a, b) ck_assert(strcmp((a), (b)) == 0)
#define ck_assert_mem_eq(a, b, size) ck_assert(memcmp((a), (b), (size)) == 0)
#define ck_assert_ptr_nonnull(a) ck_assert((a) != NULL)

static inline _Noreturn void ck_leave(void)
{
    longjmp(*ck_return, 1);
}

static inline void *ck_make(size_t size)
{
    void *made = calloc(1, size);
    if (!made)
        abort();
    return made;
}

static inline Suite *suite_create(const char *name)
{
    Suite *suite = ck_make(sizeof *suite);
    suite->name = name;
    return suite;
}

static inline TCase *tcase_create(const char *name)
{
    TCase *made = ck_make(sizeof *made);
    made->name = name;
    return made;
}

static inline void tcase_set_timeout(TCase *made, double seconds)
{
    (void)made;
    (void)seconds;
}

static inline void suite_add_tcase(Suite *suite, TCase *made)
{
    if (suite->count == CK_MOST_CASES)
        abort();
    suite->cases[suite->count++] = made;
}

static inline void tcase_add_loop_test(TCase *made, const TTest *test, int from, int to)
{
    if (made->count == CK_MOST_TESTS)
        abort();
    made->tests[made->count++] = (ck_test){test, from, to};
}

#define tcase_add_test(made, test) tcase_add_loop_test(made, test, 0, 1)

static inline SRunner *srunner_create(Suite *suite)
{
    SRunner *runner = ck_make(sizeof *runner);
    runner->suite = suite;
    return runner;
}

static inline enum test_result ck_run(const TTest *test, int i)
{
    jmp_buf here, *const outer = ck_return;
    volatile enum test_result result = CK_FAILURE;

    ck_return = &here;
    if (setjmp(here) == 0) {
        test->run(i);
        result = CK_PASS;
    }
    ck_return = outer;
    return result;
}

static inline void ck_note(SRunner *runner, enum test_result type)
{
    TestResult *result;

    if (runner->run == CK_MOST_TESTS)
        abort();
    result = &runner->results[runner->run++];
    result->type = type;
    if (type == CK_PASS)
        return;
    strcpy(result->message, ck_message);
    runner->failed++;
}

static inline void srunner_run_all(SRunner *runner, int verbosity)
{
    for (int c = 0; c < runner->suite->count; c++) {
        const TCase *made = runner->suite->cases[c];
        for (int t = 0; t < made->count; t++) {
            for (int i = made->tests[t].from; i < made->tests[t].to; i++) {
                const TTest *test = made->tests[t].test;

                ck_note(runner, ck_run(test, i));
                if (runner->results[runner->run - 1].type != CK_PASS &&
                    verbosity != CK_SILENT)
                    printf("%s, %s, %s (%d): %s\n", runner->suite->name, made->name,
                           test->name, i, ck_message);
            }
        }
    }
    if (verbosity != CK_SILENT)
        printf("%s: %d tests, %d failed\n", runner->suite->name, runner->run,
               runner->failed);
}

static inline int srunner_ntests_run(SRunner *runner)
{
    return runner->run;
}

static inline int srunner_ntests_failed(SRunner *runner)
{
    return runner->failed;
}

/* The caller frees the array, as with Check. */
static inline TestResult **srunner_results(SRunner *runner)
{
    TestResult **all = ck_make((size_t)(runner->run + 1) * sizeof *all);
    for (int i = 0; i < runner->run; i++)
        all[i] = &runner->results[i];
    return all;
}

static inline int tr_rtype(const TestResult *result)
{
    return (int)result->type;
}

static inline const char *tr_msg(const TestResult *result)
{
    return result->message;
}

static inline void srunner_free(SRunner *runner)
{
    for (int c = 0; c < runner->suite->count; c++)
        free(runner->suite->cases[c]);
    free(runner->suite);
    free(runner);
}

#endif
