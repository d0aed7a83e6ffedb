/* SPDX-License-Identifier: MIT */
/* What the benchmark compares with: peers compute what the library computes, and where one
 * did not, it would be noticed. */

#include <stdlib.h>
#include <string.h>

#include "../vocabulary.h"
#include "floors.h"
#include "harness.h"
#include "ours.h"
#include "peer_radix.h"
#include "table.h"

/* ---- Traffic ----------------------------------------------------------------------- */

static void check_times(const traffic *t)
{
    for (size_t i = 0; i < t->count; i++) {
        assert_that(!t->credit_ns || t->credit_ns[i] < t->start_ns[i]);
        assert_that(t->start_ns[i] < t->first_ns[i] && t->first_ns[i] < t->end_ns[i]);
        assert_that(t->input[i] >= 1 && t->output[i] >= 1);
        for (size_t k = 0; k < t->gaps; k++)
            assert_that(t->chunk_ns[i * t->gaps + k] >
                        (k > 0 ? t->chunk_ns[i * t->gaps + k - 1] : t->first_ns[i]));
        if (t->gaps > 0)
            assert_i64(t->chunk_ns[(i + 1) * t->gaps - 1], t->end_ns[i]);
    }
}

static size_t descents(const int64_t *times, size_t count)
{
    size_t descents = 0;
    for (size_t i = 1; i < count; i++)
        descents += times[i - 1] > times[i];
    return descents;
}

START_TEST(traffic_in_three_orders)
{
    enum { COUNT = 3000 };
    traffic *by_end = traffic_new(COUNT, TRAFFIC_CLOSED, TRAFFIC_BY_END, true, 0);
    traffic *by_start = traffic_new(COUNT, TRAFFIC_CLOSED, TRAFFIC_BY_START, false, 0);
    traffic *shuffled = traffic_new(COUNT, TRAFFIC_CLOSED, TRAFFIC_SHUFFLED, false, 0);
    int64_t sums[3] = {0, 0, 0};

    check_times(by_end);
    check_times(by_start);
    check_times(shuffled);
    assert_u64(descents(by_end->end_ns, COUNT), 0);
    assert_u64(descents(by_start->start_ns, COUNT), 0);
    assert_that(descents(shuffled->start_ns, COUNT) > COUNT / 3);
    assert_that(descents(shuffled->end_ns, COUNT) > COUNT / 3);
    for (size_t i = 0; i < COUNT; i++) { /* they are the same requests */
        sums[0] += by_end->end_ns[i] % 1000003 * by_end->output[i];
        sums[1] += by_start->end_ns[i] % 1000003 * by_start->output[i];
        sums[2] += shuffled->end_ns[i] % 1000003 * shuffled->output[i];
    }
    assert_i64(sums[1], sums[0]);
    assert_i64(sums[2], sums[0]);
    traffic_free(by_end);
    traffic_free(by_start);
    traffic_free(shuffled);
}
END_TEST

static double peak_concurrency(enum traffic_load load, size_t count)
{
    traffic *t = traffic_new(count, load, TRAFFIC_BY_END, false, 0);
    tw_recorder *recorder = ours_recorder(t);
    curve_stats stats[CURVE_METRICS];
    ours_run(recorder, TW_KERNEL_AUTO, 1, stats);
    tw_recorder_free(recorder);
    traffic_free(t);
    return stats[CURVE_CONCURRENCY].max;
}

START_TEST(traffic_has_its_concurrency)
{
    double bursty = peak_concurrency(TRAFFIC_BURSTY, 100000);

    assert_same(peak_concurrency(TRAFFIC_CLOSED, 5000), 1024.0);
    assert_that(bursty > 30000 && bursty < 100000);
}
END_TEST

/* ---- Peers ------------------------------------------------------------------------- */

typedef struct compared {
    traffic *traffic;
    tw_recorder *recorder;
    peer_radix_input *input;
    size_t events;
} compared;

static compared compared_new(enum traffic_load load, size_t count, size_t gaps)
{
    compared c;
    c.traffic = traffic_new(count, load, TRAFFIC_SHUFFLED, false, gaps);
    c.recorder = ours_recorder(c.traffic);
    c.input = peer_radix_input_new(c.traffic);
    c.events = 4 * count * (gaps > 0 ? gaps : 1);
    return c;
}

static void compared_free(compared *c)
{
    traffic_free(c->traffic);
    tw_recorder_free(c->recorder);
    peer_radix_input_free(c->input);
}

static bool agrees(const compared *c, const curve_stats *stats)
{
    return ours_agree(c->recorder, stats, CURVE_METRICS, CURVE_CONCURRENCY, c->events,
                      "radix");
}

START_TEST(radix_agrees)
{
    static const struct {
        enum traffic_load load;
        size_t count, gaps;
    } loads[] = {{TRAFFIC_CLOSED, 1, 0},
                 {TRAFFIC_CLOSED, 4000, 0},
                 {TRAFFIC_BURSTY, 4000, 0},
                 {TRAFFIC_CLOSED, 1, 1},
                 {TRAFFIC_CLOSED, 300, 20}};

    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        compared c = compared_new(loads[i].load, loads[i].count, loads[i].gaps);
        curve_stats one[CURVE_METRICS], two[CURVE_METRICS], decode;

        vocabulary_context("load %zu", i);
        peer_radix_run(c.input, 1, one);
        assert_that(agrees(&c, one));
        peer_radix_run(c.input, 2, two);
        assert_that(memcmp(one, two, sizeof one) == 0);
        peer_radix_run_decode(c.input, &decode);
        assert_that(memcmp(&decode, &one[CURVE_DECODE_THROUGHPUT], sizeof decode) == 0);
        compared_free(&c);
    }
}
END_TEST

/* Times on a grid of 10 ms: nearly all events are tied. */
START_TEST(radix_agrees_on_ties)
{
    traffic *t = traffic_new(2000, TRAFFIC_CLOSED, TRAFFIC_SHUFFLED, false, 0);
    int64_t *columns[] = {t->start_ns, t->first_ns, t->end_ns};
    compared c = {.traffic = t, .events = 8000};
    curve_stats stats[CURVE_METRICS];

    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < t->count; i++)
            columns[k][i] -= columns[k][i] % 10000000;
    c.recorder = ours_recorder(t);
    c.input = peer_radix_input_new(t);
    peer_radix_run(c.input, 1, stats);
    assert_that(agrees(&c, stats));
    compared_free(&c);
}
END_TEST

/* Each number of each metric in turn is off by a ten-thousandth of the metric's peak. */
START_TEST(disagreement_is_noticed)
{
    compared c = compared_new(TRAFFIC_CLOSED, 500, 0);
    curve_stats stats[CURVE_METRICS], wrong[CURVE_METRICS];
    double *numbers[] = {&wrong->avg,         &wrong->min,         &wrong->max,
                         &wrong->std,         &wrong->quantile[0], &wrong->quantile[1],
                         &wrong->quantile[2], &wrong->quantile[3]};

    peer_radix_run(c.input, 1, stats);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        for (int metric = 0; metric < CURVE_METRICS; metric++) {
            wrong[0] = stats[metric];
            *numbers[i] += 1e-4 * stats[metric].max;
            vocabulary_context("metric %d, number %zu", metric, i);
            assert_that(!ours_agree(c.recorder, wrong, 1, (enum curve_metric)metric,
                                    c.events, "wrong"));
        }
    compared_free(&c);
}
END_TEST

/* ---- Floors ------------------------------------------------------------------------ */

static int by_key(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

START_TEST(bare_sort_sorts)
{
    traffic *t = traffic_new(1000, TRAFFIC_CLOSED, TRAFFIC_SHUFFLED, false, 0);
    bare_keys *k = bare_keys_new(t);
    uint64_t *wanted = bench_alloc(k->count, sizeof *wanted);

    memcpy(wanted, k->source, k->count * sizeof *wanted);
    qsort(wanted, k->count, sizeof *wanted, by_key);
    for (unsigned digit = 8; digit <= 11; digit += 3) {
        k->digit = digit;
        bare_keys_sort(k);
        assert_that(memcmp(k->sorted, wanted, k->count * sizeof *wanted) == 0);
    }
    for (size_t i = 0; i < k->count; i++) /* nothing to do */
        k->source[i] = 5;
    bare_keys_sort(k);
    assert_u64(k->sorted[0], 5);
    assert_u64(k->sorted[k->count - 1], 5);
    free(wanted);
    bare_keys_free(k);
    traffic_free(t);
}
END_TEST

/* All input bytes are 1; what is written is a word of the sum's last bit and, first, the
 * sum of all. */
START_TEST(bare_bytes_are_moved)
{
    enum { RECORDS = 25 };
    bare_bytes *b = bare_bytes_new(RECORDS);
    uint64_t word = UINT64_C(0x0101010101010101);
    uint64_t input = RECORDS * 4 * word, output = 0;

    assert_u64(b->read_words * sizeof(uint64_t), RECORDS * 32);
    assert_u64(b->written_words * sizeof(uint64_t), RECORDS * 56);
    assert_u64(input & 1, 0); /* so zeros are written */
    assert_u64(bare_bytes_move(b), input + output + input);
    assert_u64(b->output[0], input);
    assert_u64(b->output[1], 0);
    assert_u64(b->output[b->written_words - 1], 0);
    bare_bytes_free(b);
}
END_TEST

START_TEST(bare_store_stores)
{
    enum { COUNT = 5 };
    traffic *t = traffic_new(2, TRAFFIC_CLOSED, TRAFFIC_BY_END, true, 0);
    tw_record source[2] = {ours_record(t, 0), ours_record(t, 1)};
    bare_record stored[COUNT];

    bare_store(stored, COUNT, source, 2);
    for (int i = 0; i < COUNT; i++) {
        assert_i64(stored[i].credit_issued_ns, t->credit_ns[i % 2] + i);
        assert_i64(stored[i].start_ns, t->start_ns[i % 2] + i);
        assert_i64(stored[i].generation_start_ns, t->first_ns[i % 2] + i);
        assert_i64(stored[i].end_ns, t->end_ns[i % 2] + i);
        assert_i64(stored[i].input_tokens, t->input[i % 2]);
        assert_i64(stored[i].output_tokens, t->output[i % 2]);
    }
    traffic_free(t);
}
END_TEST

/* ---- Figures ----------------------------------------------------------------------- */

START_TEST(spreads)
{
    const double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 10};
    spread a = bench_spread(odd, 3), b = bench_spread(even, 4), c = bench_spread(odd, 1);

    assert_same(a.median, 3.0);
    assert_same(a.min, 1.0);
    assert_same(a.max, 5.0);
    assert_same(b.median, 3.5);
    assert_same(b.min, 1.0);
    assert_same(b.max, 10.0);
    assert_same(c.median, 5.0);
}
END_TEST

START_TEST(verdicts)
{
    figure f = {.goal = {.must = 3, .at_least = true}, .values = {1, 3, 9}, .rounds = 3};

    assert_text(table_verdict(&f), "OK");
    f.values[1] = 2.5;
    assert_text(table_verdict(&f), "MISSED");
    f.goal.at_least = false;
    assert_text(table_verdict(&f), "OK");
    f.values[1] = 3.5;
    assert_text(table_verdict(&f), "MISSED");
    f.goal.must = 0;
    assert_text(table_verdict(&f), "-");
    f.goal.must = 3;
    f.rounds = 0;
    assert_text(table_verdict(&f), "-");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peers");
    TCase *load = vocabulary_case(suite, "traffic"),
          *peer = vocabulary_case(suite, "peer"),
          *floor = vocabulary_case(suite, "floor"),
          *figures = vocabulary_case(suite, "figures");

    tcase_add_test(load, traffic_in_three_orders);
    tcase_add_test(load, traffic_has_its_concurrency);
    tcase_add_test(peer, radix_agrees);
    tcase_add_test(peer, radix_agrees_on_ties);
    tcase_add_test(peer, disagreement_is_noticed);
    tcase_add_test(floor, bare_sort_sorts);
    tcase_add_test(floor, bare_bytes_are_moved);
    tcase_add_test(floor, bare_store_stores);
    tcase_add_test(figures, spreads);
    tcase_add_test(figures, verdicts);
    return vocabulary_main(suite);
}
