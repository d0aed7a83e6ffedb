/* SPDX-License-Identifier: MIT */
/* Random workloads: the library against the oracle, which works straight from the
 * definitions. TIMEWEIGHT_TEST_WORKLOADS and TIMEWEIGHT_TEST_LARGE say how many;
 * TIMEWEIGHT_TEST_SEED where the seeds begin. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle.h"
#include "vocabulary.h"
#include "workload.h"

/* One unit of a rate, in tokens per second. */
#define RATE_UNIT 0x1p-59

/* Quantiles beside the standard ones. */
static const double odd[] = {0, 1, 1 / 3.0, 0.999, 0.9, 0.123456789012};
enum { ODD = sizeof odd / sizeof odd[0] };
static const double standard[] = {0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99};
enum { STANDARD = sizeof standard / sizeof standard[0] };

/* Each record and each chunk is rounded down once, a quotient per user once more. */
static double allowance(const workload *w, const tw_metric_row *row)
{
    uint64_t roundings = w->count + 1;

    if (strncmp(row->unit, "tokens/sec", strlen("tokens/sec")) != 0)
        return 0;
    for (size_t i = 0; i < w->count; i++)
        roundings += w->records[i].chunk_count;
    return (double)roundings * RATE_UNIT;
}

static void check_quantiles(const tw_analysis *analysis, const oracle *o,
                            const tw_metric_row *row, const double *q, size_t count,
                            double absolute)
{
    double values[16];

    ck_assert_uint_le(count, 16);
    if (row->kind == TW_KIND_SCALAR) {
        assert_status(tw_analysis_quantiles(analysis, row->id, q, values, count),
                      TW_ERR_NOTSUP);
        return;
    }
    assert_ok(tw_analysis_quantiles(analysis, row->id, q, values, count));
    for (size_t i = 0; i < count; i++) {
        double wanted = -1;
        assert_i64(oracle_quantile(o, row->id, q[i], &wanted), 0);
        assert_near(values[i], wanted, 1e-12, absolute);
    }
}

static void check_metric(const tw_analysis *analysis, const tw_analysis *named,
                         const workload *w, const oracle *o, const tw_metric_row *row)
{
    const double absolute = allowance(w, row);
    oracle_value wanted;
    tw_summary got;
    double q;

    oracle_metric(o, row->id, &wanted);
    if (!wanted.emitted) {
        assert_status(summary_status(analysis, row->id), TW_ERR_NODATA);
        assert_status(tw_analysis_quantiles(analysis, row->id, odd, &q, 1),
                      row->kind == TW_KIND_SCALAR ? TW_ERR_NOTSUP : TW_ERR_NODATA);
        return;
    }
    got = summary_of(analysis, row->id);
    assert_u64(got.fields, wanted.fields);
    assert_u64(got.flags, 0);
    assert_same(got.error_bound, 0.0);
    assert_near(got.avg, wanted.avg, 1e-12, absolute);
    assert_near(got.min, wanted.min, 1e-12, absolute);
    assert_near(got.max, wanted.max, 1e-12, absolute);
    assert_near(got.sum, wanted.sum, 1e-12, absolute * (double)(wanted.count + 1));
    assert_near(got.std, wanted.std, 0, 1e-12 * wanted.scale + absolute);
    assert_i64(got.weight_ns, wanted.weight_ns);
    assert_i64(got.active_ns, wanted.active_ns);
    assert_u64(got.count, wanted.count);

    check_quantiles(analysis, o, row, standard, STANDARD, absolute);
    check_quantiles(analysis, o, row, odd, ODD, absolute);
    for (size_t i = 0; i < ODD && row->kind != TW_KIND_SCALAR; i++)
        assert_same(quantile_of(analysis, row->id, odd[i]),
                    quantile_of(named, row->id, odd[i]));
}

static void check_workload(uint64_t seed, size_t most)
{
    workload w;
    oracle *o;
    tw_options options;
    tw_analysis *analysis, *named;
    tw_balance wanted = {.struct_size = sizeof wanted}, balance;
    int64_t begin, end, wanted_begin, wanted_end;

    vocabulary_context("seed %" PRIu64 ", at most %zu records", seed, most);
    assert_i64(workload_new(&w, seed, most), 0);
    options = options_of(&w);
    analysis = analysis_of(w.records, w.count, &options);
    options.quantiles = odd;
    options.quantile_count = ODD;
    named = analysis_of(w.records, w.count, &options);
    o = oracle_new(w.records, w.count, w.has_begin, w.begin_ns, w.has_end, w.end_ns);
    assert_that(o != NULL);

    oracle_window(o, &wanted_begin, &wanted_end);
    assert_ok(tw_analysis_bounds(analysis, &begin, &end));
    assert_i64(begin, wanted_begin);
    assert_i64(end, wanted_end);
    oracle_balance(o, &wanted);
    balance = analysis_balance(analysis);
    assert_same_balance(&balance, &wanted);
    for (size_t m = 0; m < tw_metric_count(); m++) {
        tw_metric_row row = {.struct_size = sizeof row};

        assert_ok(tw_metric_info(m, &row));
        vocabulary_context("seed %" PRIu64 ", at most %zu records, %s", seed, most,
                           row.tag);
        check_metric(analysis, named, &w, o, &row);
    }
    oracle_free(o);
    tw_analysis_free(named);
    tw_analysis_free(analysis);
    workload_free(&w);
}

/* [ACC] */
START_TEST(small_workloads)
{
    const uint64_t first = vocabulary_count("TIMEWEIGHT_TEST_SEED", 1);
    const uint64_t count = vocabulary_count("TIMEWEIGHT_TEST_WORKLOADS", 4000);

    for (uint64_t i = 0; i < count; i++)
        check_workload(first + i, 40);
}
END_TEST

START_TEST(large_workloads)
{
    const uint64_t first = vocabulary_count("TIMEWEIGHT_TEST_SEED", 1) + 1000000;
    const uint64_t count = vocabulary_count("TIMEWEIGHT_TEST_LARGE", 30);

    for (uint64_t i = 0; i < count; i++)
        check_workload(first + i, 300);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oracle");
    TCase *small = vocabulary_case(suite, "small"),
          *large = vocabulary_case(suite, "large");

    tcase_add_test(small, small_workloads);
    tcase_add_test(large, large_workloads);
    return vocabulary_main(suite);
}
