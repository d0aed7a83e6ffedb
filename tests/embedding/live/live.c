/* SPDX-License-Identifier: MIT */

/* A live view: finished requests in one recorder, the open ones in a second, which is filled
 * anew for each look. */
#include <stdio.h>
#include <stdlib.h>
#include <timeweight/timeweight.h>

#define MS INT64_C(1000000) /* ns */

enum { REQUESTS = 8 };

static void check(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "live: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

/* Every request takes 400 ms, the first 100 of them without a token; one begins each 100 ms. */
static tw_record request_at(int i, int64_t now)
{
    tw_record record;
    tw_record_init(&record, sizeof record);
    record.flags = TW_RECORD_STREAMING;
    record.start_ns = i * 100 * MS;
    record.input_tokens = 50;
    if (record.start_ns + 100 * MS <= now)
        record.generation_start_ns = record.start_ns + 100 * MS;
    if (record.start_ns + 400 * MS <= now) {
        record.end_ns = record.start_ns + 400 * MS;
        record.output_tokens = 31;
    }
    return record;
}

/* Concurrency of the last width_ns, the open requests included. */
static double look(tw_recorder *finished, tw_recorder *open, const tw_record *requests,
                   size_t count, int64_t now_ns, int64_t width_ns)
{
    tw_recorder *recorders[] = {finished, open};
    tw_options options;
    tw_analysis *analysis;
    tw_summary summary = {.struct_size = sizeof summary};

    tw_options_init(&options, sizeof options);
    tw_recorder_clear(open);
    check(tw_recorder_append(open, requests, count, sizeof *requests, 0, NULL) == TW_OK,
          "open");
    options.flags = TW_WINDOW_BEGIN | TW_WINDOW_END;
    options.window_begin_ns = now_ns - width_ns;
    options.window_end_ns = now_ns;
    check(tw_analyze(&analysis, recorders, 2, &options) == TW_OK, "analyze");
    check(tw_analysis_summary(analysis, TW_EFFECTIVE_CONCURRENCY, &summary) == TW_OK,
          "summary");
    tw_analysis_free(analysis);
    return summary.avg;
}

int main(void)
{
    tw_recorder *finished, *open;
    int done = 0;

    check(tw_recorder_new(&finished, NULL) == TW_OK, "new");
    check(tw_recorder_new(&open, NULL) == TW_OK, "new");
    for (int64_t now = 100 * MS; now <= 700 * MS; now += 100 * MS) {
        tw_record requests[REQUESTS];
        size_t count = 0;
        for (; request_at(done, now).end_ns != TW_TIME_NONE; done++) {
            tw_record record = request_at(done, now);
            check(tw_recorder_append(finished, &record, 1, sizeof record, 0, NULL) ==
                      TW_OK,
                  "finished");
        }
        for (int i = done; i * 100 * MS < now; i++)
            requests[count++] = request_at(i, now);
        double expected = now < 400 * MS ? (double)(now / (100 * MS)) : 4;
        double seen = look(finished, open, requests, count, now, 100 * MS);
        printf("%3d ms: %.0f requests\n", (int)(now / MS), seen);
        check(seen == expected, "another concurrency");
    }
    tw_recorder_free(open);
    tw_recorder_free(finished);
    return EXIT_SUCCESS;
}
