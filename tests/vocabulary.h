/* SPDX-License-Identifier: MIT */
#ifndef VOCABULARY_H
#define VOCABULARY_H

/* The words that all suites share: a thin layer over Check. */

#include <check.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <timeweight/timeweight.h>

#include "base/wide.h"
#include "stat/dist.h"
#include "timeline/timeline.h"
#include "workload.h"

/* ---- Suites ------------------------------------------------------------------------ */

/* Runs a suite and gives the exit status for main(). Check's environment variables
 * count: CK_FORK=no, CK_VERBOSITY, CK_RUN_CASE and the like. */
int vocabulary_main(Suite *suite);

/* A new case of the suite. It has no timeout of its own: who runs the program has. */
TCase *vocabulary_case(Suite *suite, const char *name);

/* How often to do something: what the environment variable says, else `normal`. */
uint64_t vocabulary_count(const char *variable, uint64_t normal);

/* What the test is about just now, such as the seed of a random run: it is printed in
 * front of each complaint of the assertions below. */
void vocabulary_context(const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 1, 2)))
#endif
    ;

/* ---- Assertions -------------------------------------------------------------------- */

/* Each evaluates its arguments once. They may be used on the test's own thread only. */
#define assert_that(condition) \
    VOCABULARY_ASSERT(vocabulary_condition(#condition, (condition) ? 1 : 0))
#define assert_status(call, wanted) \
    VOCABULARY_ASSERT(vocabulary_status(#call, (call), (wanted)))
#define assert_ok(call) assert_status(call, TW_OK)
#define assert_i64(got, wanted) \
    VOCABULARY_ASSERT(vocabulary_signed(#got, (got), #wanted, (wanted)))
#define assert_u64(got, wanted) \
    VOCABULARY_ASSERT(vocabulary_unsigned(#got, (got), #wanted, (wanted)))
#define assert_u192(got, wanted) \
    VOCABULARY_ASSERT(vocabulary_u192(#got, (got), #wanted, (wanted)))
#define assert_text(got, wanted) \
    VOCABULARY_ASSERT(vocabulary_text(#got, (got), #wanted, (wanted)))
/* The same bits: 0 and -0 differ, a NaN equals itself. */
#define assert_same(got, wanted) \
    VOCABULARY_ASSERT(vocabulary_same(#got, (got), #wanted, (wanted)))
/* |got - wanted| <= relative * |wanted| + absolute; infinities equal themselves. */
#define assert_near(got, wanted, relative, absolute) \
    VOCABULARY_ASSERT(                               \
        vocabulary_near(#got, (got), #wanted, (wanted), (relative), (absolute)))

#define VOCABULARY_ASSERT(comparison)          \
    do {                                       \
        const char *complaint_ = (comparison); \
        if (complaint_)                        \
            ck_abort_msg("%s", complaint_);    \
    } while (0)

/* NULL, or what is wrong. */
const char *vocabulary_condition(const char *text, int holds);
const char *vocabulary_status(const char *text, int32_t got, int32_t wanted);
const char *vocabulary_signed(const char *got_text, int64_t got, const char *wanted_text,
                              int64_t wanted);
const char *vocabulary_unsigned(const char *got_text, uint64_t got,
                                const char *wanted_text, uint64_t wanted);
const char *vocabulary_u192(const char *got_text, twi_u192 got, const char *wanted_text,
                            twi_u192 wanted);
const char *vocabulary_text(const char *got_text, const char *got,
                            const char *wanted_text, const char *wanted);
const char *vocabulary_same(const char *got_text, double got, const char *wanted_text,
                            double wanted);
const char *vocabulary_near(const char *got_text, double got, const char *wanted_text,
                            double wanted, double relative, double absolute);

/* ---- Random numbers ---------------------------------------------------------------- */

/* splitmix64: the same numbers for the same seed everywhere. */
uint64_t random_next(uint64_t *state);
/* From 0 to below - 1. */
uint64_t random_below(uint64_t *state, uint64_t below);
/* Both ends included. */
int64_t random_between(uint64_t *state, int64_t least, int64_t most);
/* A value of a random length up to `bits` bits, so that all magnitudes occur. */
twi_u192 random_u192(uint64_t *state, unsigned bits);
void random_shuffle(uint64_t *state, tw_record *records, size_t count);

/* ---- Exact numbers ----------------------------------------------------------------- */

/* What the library's doubles must come to, in integers of any length and with the one
 * rounding of twi_big_ratio(): a second way to the same bits. */

/* A whole double from 0 to below 2^192, and the double nearest to a whole number. */
twi_u192 exact_whole(double value);
double exact_double(twi_u192 value);
/* [BITS] The rate of tokens over some time, and where they are spread over `gaps` gaps of
 * which this is one; in units of 2^-59 tokens/s. */
double exact_rate(uint64_t tokens, uint64_t ns);
double exact_share(uint64_t tokens, uint64_t ns, uint64_t gaps);
double exact_per_user(double rate, uint64_t users);

/* ---- Records, recorders, analyses -------------------------------------------------- */

#define NEVER TW_TIME_NONE
#define UNKNOWN TW_TOKENS_NONE

/* A record that ended well, or is in flight if it never ended; without credit. */
tw_record record(int64_t start_ns, int64_t generation_ns, int64_t end_ns, int64_t input,
                 int64_t output);
tw_record with_credit(tw_record r, int64_t credit_ns);
tw_record with_status(tw_record r, int32_t status);
tw_record with_flags(tw_record r, uint32_t flags);
/* The arrays are not copied; tokens may be NULL. */
tw_record with_chunks(tw_record r, const int64_t *arrival_ns, const int64_t *tokens,
                      uint64_t count);
/* All times later by so much; *arrivals is the moved copy of the chunk arrivals, which
 * the caller frees. */
tw_record with_shift(tw_record r, int64_t by_ns, int64_t **arrivals);

/* These fail the test unless all goes well. */
tw_recorder *recorder_new(void);
void recorder_append(tw_recorder *recorder, const tw_record *records, size_t count);
tw_recorder *recorder_of(const tw_record *records, size_t count);
tw_balance balance_of(const tw_recorder *recorder);
tw_error error_of(const tw_recorder *recorder);
tw_options options_new(void);
tw_options options_window(int64_t begin_ns, int64_t end_ns);
/* With the window of a workload. */
tw_options options_of(const workload *w);
tw_analysis *analysis_new(tw_recorder *const *recorders, size_t count,
                          const tw_options *options);
/* Of records alone; their recorder is gone already. */
tw_analysis *analysis_of(const tw_record *records, size_t count,
                         const tw_options *options);
tw_balance analysis_balance(const tw_analysis *analysis);
tw_summary summary_of(const tw_analysis *analysis, int32_t metric);
int32_t summary_status(const tw_analysis *analysis, int32_t metric);
double quantile_of(const tw_analysis *analysis, int32_t metric, double q);

/* What an analysis makes of its records first: for tests of the inner modules. */
typedef struct run {
    tw_recorder *recorder;
    twi_span *spans;
    size_t span_count;
} run;

/* No thread but the calling one. */
extern const twi_parallel one_thread;

run run_of(const tw_record *records, size_t count);
void run_free(run *r);
twi_timeline timeline_of(const run *r, int64_t begin_ns, int64_t end_ns);
/* The same sums, bins and levels; the second: the same moments too. */
void assert_same_sums(const twi_dist *got, const twi_dist *wanted);
void assert_same_dist(const twi_dist *got, const twi_dist *wanted);

/* All that an analysis has to say. */
enum { RESULT_METRICS = 64, RESULT_STANDARD = 9, RESULT_QUANTILES = 16 };
extern const double result_quantiles[RESULT_QUANTILES];

typedef struct results {
    int64_t begin_ns, end_ns;
    tw_balance balance;
    size_t count;
    int32_t id[RESULT_METRICS];
    int32_t status[RESULT_METRICS];
    tw_summary summary[RESULT_METRICS];
    double quantile[RESULT_METRICS][RESULT_QUANTILES];
} results;

/* TW_OK, or what a query failed with, for any thread. The second leaves out the quantiles
 * that are not at hand, for they take passes over the run. */
int32_t results_take(results *all, const tw_analysis *analysis);
int32_t results_take_at_hand(results *all, const tw_analysis *analysis);
/* NULL, or what differs first; complaints name the metric. Bounds and balance apart. */
const char *results_differ(const results *got, const results *wanted);
const char *balance_differs(const tw_balance *got, const tw_balance *wanted);
#define assert_same_results(got, wanted) VOCABULARY_ASSERT(results_differ(got, wanted))
#define assert_same_balance(got, wanted) VOCABULARY_ASSERT(balance_differs(got, wanted))

/* ---- Memory ------------------------------------------------------------------------ */

/* An allocator that counts, fills what it gives out and takes back with garbage, checks
 * what is freed, and can fail. Any thread. */
typedef struct memory {
    tw_allocator allocator;      /* to be passed on */
    atomic_uint_least64_t calls; /* of alloc */
    atomic_uint_least64_t live_blocks;
    atomic_uint_least64_t live_bytes;
    atomic_uint_least64_t wrong;     /* frees of another size, align or address */
    atomic_uint_least64_t fail_at;   /* this call of alloc and all later ones fail: from 1
                                      on; 0: none */
    atomic_uint_least64_t fail_once; /* this call alone fails */
} memory;

void memory_init(memory *m);
/* Makes the n-th allocation from now on fail, once or from there on. */
void memory_fail_nth(memory *m, uint64_t n);
void memory_fail_from(memory *m, uint64_t n);
void memory_fail_never(memory *m);
/* Fails the test if anything is left or was freed wrongly. */
void memory_done(const memory *m);
/* An empty recorder in such memory, which is made ready. */
tw_recorder *recorder_in(memory *m);

/* ---- Reports ----------------------------------------------------------------------- */

/* Where a report goes. Zero it before its first use. */
typedef struct sink {
    char *text; /* terminated; the caller frees it with sink_free() */
    size_t length;
    size_t room;
    uint64_t calls;
    uint64_t fail_at; /* this call asks to stop; 0: none */
} sink;

/* The tw_write_fn; user_data is a sink. */
int32_t sink_write(void *user_data, const char *bytes, size_t length);
void sink_free(sink *s);
/* A whole report; fails the test unless all goes well. */
sink report_of(const tw_analysis *analysis, int32_t format,
               const tw_report_options *options);

#endif
