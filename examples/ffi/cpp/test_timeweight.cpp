/* SPDX-License-Identifier: MIT */

/* What of timeweight.hpp the quick start does not use. */
#include "timeweight.hpp"
#include <cstdio>
#include <cstdlib>
#include <utility>

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(bool holds, const char *what, int line)
{
    if (!holds) {
        std::fprintf(stderr, "%s:%d: %s\n", __FILE__, line, what);
        std::exit(1);
    }
}

static tw_record request(int64_t start_ns, int64_t end_ns)
{
    tw_record record = timeweight::make_record();
    record.start_ns = start_ns;
    record.end_ns = end_ns;
    return record;
}

/* Concurrency 1, 2, 1 over 10 ns each. */
static timeweight::analysis three_steps()
{
    timeweight::recorder recorder;
    const tw_record records[] = {request(0, 20), request(10, 30)};
    CHECK(recorder.append(records, 2) == 2);
    return timeweight::analysis(recorder); /* outlives the recorder */
}

static void test_answers()
{
    const timeweight::analysis analysis = three_steps();
    const std::vector<tw_segment> curve = analysis.curve(TW_EFFECTIVE_CONCURRENCY);
    CHECK(curve.size() == 3 && curve[1].begin_ns == 10 && curve[1].end_ns == 20);
    CHECK(curve[0].value < 1.5 && curve[1].value > 1.5);
    const std::vector<tw_bin> bins = analysis.series(TW_EFFECTIVE_CONCURRENCY, 0, 20, 2);
    CHECK(bins.size() == 2 && bins[0].weight_ns == 20 && bins[1].weight_ns == 10);
    tw_summary summary;
    CHECK(analysis.window(10, 20).summary(TW_EFFECTIVE_CONCURRENCY, summary));
    CHECK(summary.weight_ns == 10 && summary.min > 1.5);
    CHECK(!analysis.summary(TW_TIME_TO_FIRST_TOKEN, summary));
    CHECK(analysis.curve(TW_TOKENS_IN_FLIGHT).empty());
    CHECK(analysis.series(TW_TOKENS_IN_FLIGHT, 0, 1, 1).empty());
    CHECK(analysis.quantiles(TW_TIME_TO_FIRST_TOKEN, {0.5}).empty());
    CHECK(analysis.balance().members == 2);
    CHECK(analysis.report(TW_FORMAT_TEXT).find("Effective Concurrency (requests)") !=
          std::string::npos);
}

static void test_long_curve()
{
    timeweight::recorder recorder;
    recorder.reserve(5000);
    for (int64_t i = 0; i < 5000; i++) {
        recorder.append(request(10 * i, 10 * i + 5));
    }
    CHECK(recorder.count() == 5000);
    CHECK(timeweight::analysis(recorder).curve(TW_EFFECTIVE_CONCURRENCY).size() == 9999);
    recorder.clear();
    CHECK(recorder.count() == 0);
}

static void test_errors()
{
    timeweight::recorder recorder;
    try {
        const tw_record records[] = {request(0, 1), request(5, 4)};
        recorder.append(records, 2);
        CHECK(false); /* it is refused */
    } catch (const timeweight::error &error) {
        CHECK(error.status() == TW_ERR_RANGE);
        CHECK(error.detail().rule == TW_RULE_END_BEFORE_START && error.detail().row == 1);
        CHECK(error.detail().value_a == 4 && error.detail().value_b == 5);
    }
    CHECK(recorder.count() == 0);
    const tw_record records[] = {request(0, 1), request(5, 4)};
    CHECK(recorder.append(records, 2, TW_APPEND_SKIP_INVALID) == 1);
    CHECK(recorder.balance().refused == 2);
    try {
        recorder.set_clock(INT64_MAX);
        CHECK(false); /* it is out of range */
    } catch (const timeweight::error &error) {
        CHECK(error.status() == TW_ERR_INVAL && error.detail().rule == TW_RULE_NONE);
    }
}

static void test_moves()
{
    timeweight::recorder one;
    one.append(request(0, 10));
    timeweight::recorder two(std::move(one));
    CHECK(two.count() == 1 && one.get() == nullptr);
    timeweight::recorder three;
    three.append(request(1000, 1010));
    three.set_clock(-1000);
    const std::vector<tw_recorder *> both = {two.get(), three.get()};
    tw_summary summary;
    CHECK(timeweight::analysis(both).summary(TW_EFFECTIVE_CONCURRENCY, summary));
    CHECK(summary.weight_ns == 10 && summary.min > 1.5);
}

int main()
{
    test_answers();
    test_long_curve();
    test_errors();
    test_moves();
    return 0;
}
