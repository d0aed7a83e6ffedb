/* SPDX-License-Identifier: MIT */
#include "arrow/export/results.h"

#include <string.h>

#include "analysis/analysis.h"
#include "analysis/curve.h"
#include "arrow/export/stream.h"
#include "base/mem.h"
#include "report/report.h"
#include "series/series.h"
#include "stat/sum.h"

/* Most rows of an array. */
enum { PAGE = 8192 };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- The table of metrics -------------------------------------------------------- */

enum { NAMES = 4, QUANTITIES_MOST = 16 + TWI_STANDARD_QUANTILES + TW_QUANTILES_LIMIT };

typedef struct metrics {
    twi_report report; /* of which only the quantities are used */
    size_t next;       /* in the registry */
} metrics;

static bool next_metric(void *state, twi_arrow_cell *cells)
{
    metrics *all = state;
    const tw_analysis *analysis = all->report.analysis;
    const tw_metric_row *row;
    twi_quantity quantity;

    while (all->next < TWI_METRIC_COUNT && !analysis->emitted[all->next])
        all->next++;
    if (all->next == TWI_METRIC_COUNT)
        return false;
    row = &twi_metrics[all->next].row;
    cells[0].as.text = row->tag;
    cells[1].as.text = twi_report_group_name(row->group);
    cells[2].as.text = row->header;
    cells[3].as.text = row->unit;
    cells += NAMES;
    for (size_t i = 0; twi_report_quantity(&all->report, all->next, i, &quantity); i++) {
        cells[i].is_null = !quantity.present;
        if (quantity.is_whole)
            cells[i].as.integer = (int64_t)quantity.whole;
        else
            cells[i].as.real = quantity.real;
    }
    all->next++;
    return true;
}

int32_t twi_arrow_metrics(struct ArrowArrayStream *out, const tw_analysis *analysis)
{
    static const twi_arrow_column names[NAMES] = {
        {"metric", TWI_ARROW_COLUMN_TEXT, false},
        {"group", TWI_ARROW_COLUMN_TEXT, false},
        {"header", TWI_ARROW_COLUMN_TEXT, false},
        {"unit", TWI_ARROW_COLUMN_TEXT, false},
    };
    static const tw_report_options no_options;
    twi_arrow_column columns[NAMES + QUANTITIES_MOST];
    /* One row more than there can be, so that the first array sees the end. */
    twi_arrow_table table = {.columns = columns,
                             .column_count = NAMES,
                             .page_rows = TWI_METRIC_COUNT + 1,
                             .state_size = sizeof(metrics),
                             .next = next_metric};
    twi_quantity quantity;
    twi_report report;
    metrics *state;

    twi_report_begin(&report, analysis, &no_options, NULL, NULL);
    memcpy(columns, names, sizeof names);
    for (size_t i = 0; twi_report_quantity(&report, 0, i, &quantity); i++) {
        twi_arrow_column *column = &columns[table.column_count++];

        memcpy(column->name, quantity.name, sizeof column->name);
        column->type = quantity.is_whole ? TWI_ARROW_COLUMN_INT64
                                         : TWI_ARROW_COLUMN_FLOAT64;
        column->nullable = true;
    }
    state = twi_arrow_stream_new(out, &analysis->allocator, &table);
    if (!state)
        return TW_ERR_NOMEM;
    twi_report_begin(&state->report, analysis, &no_options, NULL, NULL);
    twi_arrow_stream_prefetch(out); /* the analysis may be gone when it is read */
    return TW_OK;
}

/* ---- Curves ---------------------------------------------------------------------- */

/* The records and their timeline are what a sweep goes by; the analysis itself is not
 * needed after its beginning. */
typedef struct curve {
    twi_core *core;
    twi_scale scale;
    twi_pieces pieces;
} curve;

static bool next_segment(void *state, twi_arrow_cell *cells)
{
    curve *c = state;
    twi_piece piece;

    do {
        if (!twi_pieces_next(&c->pieces, &piece))
            return false;
    } while (!piece.is_on);
    cells[0].as.integer = piece.begin_ns;
    cells[1].as.integer = piece.end_ns;
    cells[2].as.real = twi_sum_value(piece.value, c->scale);
    return true;
}

static void release_curve(void *state)
{
    curve *c = state;
    twi_core_release(c->core);
}

int32_t twi_arrow_curve(struct ArrowArrayStream *out, const tw_analysis *analysis,
                        const twi_metric *metric)
{
    static const twi_arrow_column columns[] = {
        {"begin_ns", TWI_ARROW_COLUMN_INT64, false},
        {"end_ns", TWI_ARROW_COLUMN_INT64, false},
        {"value", TWI_ARROW_COLUMN_FLOAT64, false},
    };
    const twi_arrow_table table = {columns,       COUNT(columns), PAGE,
                                   sizeof(curve), next_segment,   release_curve};
    curve *state = twi_arrow_stream_new(out, &analysis->allocator, &table);

    if (!state)
        return TW_ERR_NOMEM;
    twi_core_hold(analysis->core);
    state->core = analysis->core;
    state->scale = metric->scale;
    twi_pieces_begin(&state->pieces, analysis, metric, INT64_MIN, INT64_MAX);
    return TW_OK;
}

/* ---- Series ---------------------------------------------------------------------- */

typedef struct bins {
    twi_core *core;
    twi_series series;
} bins;

static bool next_bin(void *state, twi_arrow_cell *cells)
{
    bins *b = state;
    tw_bin bin;

    if (!twi_series_next(&b->series, &bin))
        return false;
    cells[0].as.integer = bin.begin_ns;
    cells[1].as.integer = bin.weight_ns;
    cells[2].as.real = bin.mean;
    cells[3].as.real = bin.min;
    cells[4].as.real = bin.max;
    for (int i = 2; i < 5; i++)
        cells[i].is_null = bin.weight_ns == 0;
    return true;
}

static void release_bins(void *state)
{
    bins *b = state;
    twi_core_release(b->core);
}

int32_t twi_arrow_series(struct ArrowArrayStream *out, const tw_analysis *analysis,
                         const twi_metric *metric, int64_t begin_ns, int64_t width_ns,
                         uint64_t count)
{
    static const twi_arrow_column columns[] = {
        {"begin_ns", TWI_ARROW_COLUMN_INT64, false},
        {"weight_ns", TWI_ARROW_COLUMN_INT64, false},
        {"mean", TWI_ARROW_COLUMN_FLOAT64, true},
        {"min", TWI_ARROW_COLUMN_FLOAT64, true},
        {"max", TWI_ARROW_COLUMN_FLOAT64, true},
    };
    const twi_arrow_table table = {columns,      COUNT(columns), PAGE,
                                   sizeof(bins), next_bin,       release_bins};
    bins *state = twi_arrow_stream_new(out, &analysis->allocator, &table);

    if (!state)
        return TW_ERR_NOMEM;
    twi_core_hold(analysis->core);
    state->core = analysis->core;
    twi_series_begin(&state->series, analysis, metric, begin_ns, width_ns, count);
    return TW_OK;
}
