/* SPDX-License-Identifier: MIT */
/* What an append and an analysis cost per record, on a closed loop of 1024 users. Prints
 * nanoseconds per record; a benchmark, not a test. */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <timeweight/timeweight.h>

static double now_sec(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t random_state = 1;

static int64_t random_below(int64_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) +
                   UINT64_C(1442695040888963407);
    return (int64_t)((random_state >> 33) % (uint64_t)limit);
}

static void check(int32_t status, const char *what)
{
    if (status) {
        fprintf(stderr, "%s: %s\n", what, tw_strerror(status));
        exit(1);
    }
}

enum { USERS = 1024 };

int main(int argc, char **argv)
{
    const long records = argc > 1 ? atol(argv[1]) : 1000000;
    const int runs = argc > 2 ? atoi(argv[2]) : 3;
    int64_t free_at[USERS];
    tw_recorder *recorder;
    double begin, best = 1e30;

    check(tw_recorder_new(&recorder, NULL), "tw_recorder_new");
    for (int u = 0; u < USERS; u++)
        free_at[u] = random_below(2000000000);
    begin = now_sec();
    for (long i = 0; i < records; i++) {
        const int user = (int)(i % USERS);
        tw_record r;

        tw_record_init(&r, sizeof r);
        r.credit_issued_ns = free_at[user];
        r.start_ns = r.credit_issued_ns + random_below(1000000);
        r.generation_start_ns = r.start_ns + 30000000 + random_below(120000000);
        r.end_ns = r.generation_start_ns + 900000000 + random_below(1800000000);
        r.input_tokens = 100 + random_below(800);
        r.output_tokens = 50 + random_below(300);
        free_at[user] = r.end_ns;
        check(tw_recorder_append(recorder, &r, 1, sizeof r, 0, NULL),
              "tw_recorder_append");
    }
    printf("append   %8.1f ns a record, with making it (%ld records)\n",
           (now_sec() - begin) * 1e9 / (double)records, records);
    printf("store    %8.1f bytes a record\n",
           (double)tw_recorder_memory(recorder) / (double)records);

    for (int run = 0; run < runs; run++) {
        tw_analysis *analysis;
        double took;

        begin = now_sec();
        check(tw_analyze(&analysis, &recorder, 1, NULL), "tw_analyze");
        took = now_sec() - begin;
        if (took < best)
            best = took;
        tw_analysis_free(analysis);
    }
    printf("analyze  %8.1f ns a record, %.3f s (best of %d)\n",
           best * 1e9 / (double)records, best, runs);
    tw_recorder_free(recorder);
    return 0;
}
