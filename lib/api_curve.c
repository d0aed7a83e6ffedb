/* SPDX-License-Identifier: MIT */
/* Public entry points of analysis.h that read curves: validate, delegate, fill arrays. */

#include <assert.h>
#include <stddef.h>
#include <timeweight/analysis.h>

#include "analysis/curve.h"
#include "api.h"
#include "base/abi.h"
#include "series/series.h"
#include "stat/sum.h"

int32_t twi_api_curve(const tw_analysis *analysis, int32_t id, const twi_metric **metric)
{
    const size_t index = twi_metric_index(id);

    if (index == TWI_METRIC_COUNT || twi_metrics[index].row.kind != TW_KIND_CURVE)
        return TW_ERR_NOTSUP;
    if (!analysis->emitted[index])
        return TW_ERR_NODATA;
    *metric = &twi_metrics[index];
    return TW_OK;
}

int32_t tw_analysis_curve(const tw_analysis *analysis, int32_t metric, int64_t from_ns,
                          tw_segment *segments, size_t capacity, size_t segment_size,
                          size_t *written, int64_t *next_ns)
{
    const twi_metric *found;
    twi_pieces pieces;
    twi_piece piece;
    size_t count = 0;
    int32_t status;

    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!analysis || !written || !next_ns || (!segments && capacity))
        return TW_ERR_INVAL;
    if (twi_abi_check_size(segment_size, TWI_ABI_UPTO(tw_segment, value)))
        return TW_ERR_ABI;
    if (capacity > SIZE_MAX / segment_size)
        return TW_ERR_INVAL;
    status = twi_api_curve(analysis, metric, &found);
    if (status)
        return status;

    twi_pieces_begin(&pieces, analysis, found, from_ns, INT64_MAX);
    while (count < capacity && twi_pieces_next(&pieces, &piece)) {
        if (piece.is_on) {
            const tw_segment segment = {piece.begin_ns, piece.end_ns,
                                        twi_sum_value(piece.value, found->scale)};
            twi_abi_write_element(segments, count++, segment_size, &segment,
                                  sizeof segment);
        }
    }
    *written = count;
    *next_ns = pieces.now_ns < analysis->run.window.end_ns ? pieces.now_ns
                                                           : analysis->run.window.end_ns;
    return TW_OK;
}

int32_t tw_analysis_series(const tw_analysis *analysis, int32_t metric, int64_t begin_ns,
                           int64_t width_ns, tw_bin *bins, size_t count, size_t bin_size)
{
    const twi_metric *found;
    twi_series series;
    tw_bin bin;
    int32_t status;

    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!analysis || (!bins && count))
        return TW_ERR_INVAL;
    if (twi_abi_check_size(bin_size, TWI_ABI_UPTO(tw_bin, max)))
        return TW_ERR_ABI;
    if (count > SIZE_MAX / bin_size)
        return TW_ERR_INVAL;
    status = twi_api_curve(analysis, metric, &found);
    if (status == TW_ERR_NOTSUP)
        return status;
    if (!twi_series_fits(begin_ns, width_ns, count))
        return TW_ERR_INVAL;
    if (status)
        return status;

    twi_series_begin(&series, analysis, found, begin_ns, width_ns, count);
    for (size_t i = 0; twi_series_next(&series, &bin); i++)
        twi_abi_write_element(bins, i, bin_size, &bin, sizeof bin);
    return TW_OK;
}
