/* SPDX-License-Identifier: MIT */

/* Four users, each sending ten requests of 200 tokens one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <timeweight/timeweight.h>

#define MS INT64_C(1000000) /* ns */

static void check(int32_t status)
{
    if (status != TW_OK) {
        fprintf(stderr, "quickstart: %s\n", tw_strerror(status));
        exit(EXIT_FAILURE);
    }
}

int main(void)
{
    tw_recorder *recorder;
    tw_analysis *analysis;
    tw_summary summary = {.struct_size = sizeof summary};
    double quantiles[2];

    check(tw_recorder_new(&recorder, NULL));
    for (int i = 0; i < 40; i++) {
        tw_record record;
        tw_record_init(&record, sizeof record);
        record.credit_issued_ns = i / 4 * 2100 * MS + i % 4 * MS; /* it is due */
        record.start_ns = record.credit_issued_ns + 5 * MS;       /* it is sent */
        record.generation_start_ns = record.start_ns + 100 * MS;  /* the first token */
        record.end_ns = record.generation_start_ns + 1980 * MS;   /* the last token */
        record.input_tokens = 200;
        record.output_tokens = 100;
        check(tw_recorder_append(recorder, &record, 1, sizeof record, 0, NULL));
    }
    check(tw_analyze(&analysis, &recorder, 1, NULL));

    check(tw_analysis_summary(analysis, TW_EFFECTIVE_CONCURRENCY, &summary));
    printf("effective concurrency      %10.2f requests\n", summary.avg);
    check(tw_analysis_summary(analysis, TW_ACTIVE_PREFILL_THROUGHPUT, &summary));
    printf("active prefill throughput  %10.2f tokens/sec\n", summary.avg);
    check(tw_analysis_quantiles(analysis, TW_EFFECTIVE_LATENCY, (double[]){0.5, 0.99},
                                quantiles, 2));
    printf("effective latency          %10.2f ms (p99 %.2f ms)\n", quantiles[0],
           quantiles[1]);

    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
    return EXIT_SUCCESS;
}
