/* SPDX-License-Identifier: MIT */
/* Public entry points of arrow.h: validate, take over what is moved in, delegate. */

#include <assert.h>
#include <stddef.h>
#include <timeweight/arrow.h>

#include "analysis/analysis.h"
#include "api.h"
#include "arrow/export/results.h"
#include "arrow/import/append.h"
#include "series/series.h"
#include "store/recorder.h"

static int32_t check_append(tw_recorder *recorder, const void *source, uint32_t flags)
{
    int32_t status = TW_OK;

    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    if (!recorder)
        return TW_ERR_INVAL;
    if (!source)
        status = TW_ERR_INVAL;
    else if (flags & ~(uint32_t)TW_APPEND_SKIP_INVALID)
        status = TW_ERR_NOTSUP;
    if (status)
        twi_recorder_set_error(recorder, status, 0, NULL);
    return status;
}

int32_t tw_recorder_append_arrow(tw_recorder *recorder, const struct ArrowSchema *schema,
                                 struct ArrowArray *array, uint32_t flags,
                                 size_t *accepted)
{
    struct ArrowArray mine;
    int32_t status = check_append(recorder, array, flags);

    if (!array)
        return status;
    mine = *array;
    array->release = NULL;
    if (!status)
        status = twi_arrow_append(recorder, schema, &mine,
                                  (flags & TW_APPEND_SKIP_INVALID) != 0, accepted);
    if (mine.release)
        mine.release(&mine);
    return status;
}

int32_t tw_recorder_append_arrow_stream(tw_recorder *recorder,
                                        struct ArrowArrayStream *stream, uint32_t flags,
                                        size_t *accepted)
{
    struct ArrowArrayStream mine;
    int32_t status = check_append(recorder, stream, flags);

    if (!stream)
        return status;
    mine = *stream;
    stream->release = NULL;
    if (!status)
        status = twi_arrow_append_stream(recorder, &mine,
                                         (flags & TW_APPEND_SKIP_INVALID) != 0, accepted);
    if (mine.release)
        mine.release(&mine);
    return status;
}

const char *tw_recorder_arrow_error(const tw_recorder *recorder)
{
    assert(!recorder || recorder->mark == TWI_MARK_RECORDER);
    return recorder ? recorder->detail : "";
}

int32_t tw_arrow_metrics(struct ArrowArrayStream *stream, const tw_analysis *analysis)
{
    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!stream || !analysis)
        return TW_ERR_INVAL;
    return twi_arrow_metrics(stream, analysis);
}

int32_t tw_arrow_curve(struct ArrowArrayStream *stream, const tw_analysis *analysis,
                       int32_t metric)
{
    const twi_metric *found;
    int32_t status;

    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!stream || !analysis)
        return TW_ERR_INVAL;
    status = twi_api_curve(analysis, metric, &found);
    return status ? status : twi_arrow_curve(stream, analysis, found);
}

int32_t tw_arrow_series(struct ArrowArrayStream *stream, const tw_analysis *analysis,
                        int32_t metric, int64_t begin_ns, int64_t width_ns,
                        uint64_t count)
{
    const twi_metric *found;
    int32_t status;

    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!stream || !analysis)
        return TW_ERR_INVAL;
    status = twi_api_curve(analysis, metric, &found);
    if (status == TW_ERR_NOTSUP)
        return status;
    if (!twi_series_fits(begin_ns, width_ns, count))
        return TW_ERR_INVAL;
    return status ? status
                  : twi_arrow_series(stream, analysis, found, begin_ns, width_ns, count);
}
