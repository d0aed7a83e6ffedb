/* SPDX-License-Identifier: MIT */
/* Public entry points of analysis.h that read curves: validate, delegate, fill arrays. */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <timeweight/analysis.h>

#include "analysis/curve.h"
#include "base/abi.h"
#include "stat/dist.h"
#include "store/rules.h"

/* The curve metric of an id, or NULL. */
static const twi_metric *find_curve(int32_t id)
{
    const size_t index = twi_metric_index(id);

    if (index == TWI_METRIC_COUNT || twi_metrics[index].row.kind != TW_KIND_CURVE)
        return NULL;
    return &twi_metrics[index];
}

static bool is_emitted(const tw_analysis *analysis, const twi_metric *metric)
{
    return analysis->emitted[metric - twi_metrics];
}

int32_t tw_analysis_curve(const tw_analysis *analysis, int32_t metric, int64_t from_ns,
                          tw_segment *segments, size_t capacity, size_t segment_size,
                          size_t *written, int64_t *next_ns)
{
    const twi_metric *found = find_curve(metric);
    twi_pieces pieces;
    twi_piece piece;
    size_t count = 0;

    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!analysis || !written || !next_ns || (!segments && capacity))
        return TW_ERR_INVAL;
    if (twi_abi_check_size(segment_size, TWI_ABI_UPTO(tw_segment, value)))
        return TW_ERR_ABI;
    if (capacity > SIZE_MAX / segment_size)
        return TW_ERR_INVAL;
    if (!found)
        return TW_ERR_NOTSUP;
    if (!is_emitted(analysis, found))
        return TW_ERR_NODATA;

    twi_pieces_begin(&pieces, analysis, found, from_ns, INT64_MAX);
    while (count < capacity && twi_pieces_next(&pieces, &piece)) {
        if (piece.is_on) {
            const tw_segment segment = {piece.begin_ns, piece.end_ns,
                                        twi_dist_value(piece.value, found->scale)};
            twi_abi_write_element(segments, count++, segment_size, &segment,
                                  sizeof segment);
        }
    }
    *written = count;
    *next_ns = pieces.now_ns < analysis->run.window.end_ns ? pieces.now_ns
                                                           : analysis->run.window.end_ns;
    return TW_OK;
}

/* True if `count` bins end in the range of times. */
static int bins_fit(int64_t begin_ns, int64_t width_ns, size_t count)
{
    return twi_time_in_range(begin_ns) && width_ns > 0 &&
           (uint64_t)count <= (uint64_t)(TWI_TIME_LIMIT - begin_ns) / (uint64_t)width_ns;
}

static void put_bin(tw_bin *bins, size_t i, size_t bin_size, int64_t begin_ns,
                    const twi_bin_sum *sum, twi_scale scale)
{
    tw_bin bin = {begin_ns, (int64_t)sum->weight, 0, 0, 0};

    if (sum->weight) {
        bin.mean = twi_bin_mean(sum, scale);
        bin.min = twi_dist_value(sum->least, scale);
        bin.max = twi_dist_value(sum->most, scale);
    }
    twi_abi_write_element(bins, i, bin_size, &bin, sizeof bin);
}

int32_t tw_analysis_series(const tw_analysis *analysis, int32_t metric, int64_t begin_ns,
                           int64_t width_ns, tw_bin *bins, size_t count, size_t bin_size)
{
    const twi_bin_sum empty = {0};
    const twi_metric *found = find_curve(metric);
    twi_pieces pieces;
    twi_piece piece = {0};

    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!analysis || (!bins && count))
        return TW_ERR_INVAL;
    if (twi_abi_check_size(bin_size, TWI_ABI_UPTO(tw_bin, max)))
        return TW_ERR_ABI;
    if (count > SIZE_MAX / bin_size)
        return TW_ERR_INVAL;
    if (!found)
        return TW_ERR_NOTSUP;
    if (!bins_fit(begin_ns, width_ns, count))
        return TW_ERR_INVAL;
    if (!is_emitted(analysis, found))
        return TW_ERR_NODATA;

    twi_pieces_begin(&pieces, analysis, found, begin_ns,
                     begin_ns + width_ns * (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        const int64_t bin_begin = begin_ns + width_ns * (int64_t)i;
        const int64_t bin_end = bin_begin + width_ns;
        twi_bin_sum sum = empty;

        /* `piece` is what is left of the last one that was read. */
        while (piece.begin_ns < piece.end_ns || twi_pieces_next(&pieces, &piece)) {
            const int64_t to = piece.end_ns < bin_end ? piece.end_ns : bin_end;

            if (piece.begin_ns >= bin_end)
                break;
            if (piece.is_on)
                twi_bin_add(&sum, piece.value, (uint64_t)(to - piece.begin_ns));
            piece.begin_ns = to;
        }
        put_bin(bins, i, bin_size, bin_begin, &sum, found->scale);
    }
    return TW_OK;
}
