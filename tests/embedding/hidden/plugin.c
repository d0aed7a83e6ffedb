/* SPDX-License-Identifier: MIT */

/* A shared library that uses libtimeweight inside and shows nothing of it. */
#include "plugin.h"

#include <timeweight/timeweight.h>

#define MS INT64_C(1000000) /* ns */

static int32_t append(tw_recorder *recorder)
{
    for (int i = 0; i < 10; i++) {
        tw_record record;
        tw_record_init(&record, sizeof record);
        record.start_ns = i * 100 * MS;
        record.end_ns = record.start_ns + 50 * MS;
        int32_t status = tw_recorder_append(recorder, &record, 1, sizeof record, 0, NULL);
        if (status != TW_OK)
            return status;
    }
    return TW_OK;
}

double plugin_concurrency(void)
{
    tw_recorder *recorder = NULL;
    tw_analysis *analysis = NULL;
    tw_summary summary = {.struct_size = sizeof summary, .avg = -1};

    int32_t status = tw_recorder_new(&recorder, NULL);
    if (status == TW_OK)
        status = append(recorder);
    if (status == TW_OK)
        status = tw_analyze(&analysis, &recorder, 1, NULL);
    if (status == TW_OK)
        (void)tw_analysis_summary(analysis, TW_EFFECTIVE_CONCURRENCY, &summary);
    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
    return summary.avg;
}

plugin_fn plugin_library_function(void)
{
    return (plugin_fn)tw_version;
}
