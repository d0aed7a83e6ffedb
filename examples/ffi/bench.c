/* SPDX-License-Identifier: MIT */

/* What an appended record costs, in ns: one by one, and as a row of a call with a million.
 * The benchmarks of the other languages do the same: the best of ten rounds, each into a
 * new recorder. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <timeweight/timeweight.h>

#define ROWS 1000000
#define ROUNDS 10

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void check(int32_t status)
{
    if (status != TW_OK) {
        fprintf(stderr, "bench: %s\n", tw_strerror(status));
        exit(EXIT_FAILURE);
    }
}

static int64_t column[6][ROWS];

static void append_in_a_loop(tw_recorder *recorder)
{
    for (int64_t i = 0; i < ROWS; i++) {
        tw_record record;
        tw_record_init(&record, sizeof record);
        record.credit_issued_ns = i * 1000;
        record.start_ns = i * 1000 + 5;
        record.generation_start_ns = i * 1000 + 100;
        record.end_ns = i * 1000 + 5000;
        record.input_tokens = 200;
        record.output_tokens = 100;
        check(tw_recorder_append(recorder, &record, 1, sizeof record, 0, NULL));
    }
}

static void append_columns(tw_recorder *recorder)
{
    tw_columns columns = {
        .struct_size = sizeof columns,
        .count = ROWS,
        .credit_issued_ns.values = column[0],
        .start_ns.values = column[1],
        .generation_start_ns.values = column[2],
        .end_ns.values = column[3],
        .input_tokens.values = column[4],
        .output_tokens.values = column[5],
    };
    check(tw_recorder_append_columns(recorder, &columns, 0, NULL));
}

static double best(void (*append)(tw_recorder *))
{
    int64_t best_ns = INT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        tw_recorder *recorder;
        check(tw_recorder_new(&recorder, NULL));
        int64_t begin_ns = now_ns();
        append(recorder);
        int64_t took_ns = now_ns() - begin_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
        tw_recorder_free(recorder);
    }
    return (double)best_ns / ROWS;
}

int main(void)
{
    for (int64_t i = 0; i < ROWS; i++) {
        const int64_t row[6] = {i * 1000,        i * 1000 + 5, i * 1000 + 100,
                                i * 1000 + 5000, 200,          100};
        for (int j = 0; j < 6; j++) {
            column[j][i] = row[j];
        }
    }
    double loop = best(append_in_a_loop);
    printf("c %.1f %.1f\n", loop, best(append_columns));
    return EXIT_SUCCESS;
}
