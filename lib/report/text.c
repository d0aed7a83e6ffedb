/* SPDX-License-Identifier: MIT */
/* The report for people: the window, where every record went, and one table per group. */

#include <string.h>
#include <timeweight/version.h>

#include "base/decimal.h"
#include "report/report.h"
#include "stat/rank.h"

static void put_count(twi_report *report, uint64_t count)
{
    char text[TWI_DECIMAL_SIZE];
    twi_report_put_bytes(report, text, twi_decimal_unsigned(text, count, 1));
}

static void put_labelled(twi_report *report, const char *label, uint64_t count)
{
    twi_report_put(report, label);
    put_count(report, count);
}

static void put_window(twi_report *report)
{
    const twi_window *window = &report->analysis->run.window;
    const uint64_t length = (uint64_t)window->end_ns - (uint64_t)window->begin_ns;
    char text[TWI_DECIMAL_SIZE];

    twi_report_put(report, "Window:  ");
    twi_report_put_bytes(report, text, twi_decimal_signed(text, window->begin_ns));
    twi_report_put(report, " to ");
    twi_report_put_bytes(report, text, twi_decimal_signed(text, window->end_ns));
    twi_report_put(report, " ns (");
    twi_report_put_bytes(report, text, twi_decimal_shortest(text, (double)length / 1e9));
    twi_report_put(report, " sec)\n");
}

static void put_balance(twi_report *report)
{
    const tw_balance *b = &report->analysis->balance;

    put_labelled(report, "Records: ", b->issued);
    put_labelled(report, " issued = ", b->ok);
    put_labelled(report, " ok + ", b->failed);
    put_labelled(report, " failed + ", b->cancelled);
    put_labelled(report, " cancelled + ", b->in_flight);
    put_labelled(report, " in flight; ", b->refused);
    put_labelled(report, " refused\n         ", b->overlapping);
    put_labelled(report, " overlap the window, ", b->members);
    put_labelled(report, " ended in it; cut at its begin: ", b->cut_at_begin);
    put_labelled(report, ", at its end: ", b->cut_at_end);
    twi_report_put(report, "\n");
}

static void put_counters(twi_report *report)
{
    const char *label = "Counted: ", *name;
    char room[TWI_REPORT_NAME];
    uint64_t value;

    for (size_t i = 0; twi_report_counter(report, i, &name, room, &value); i++) {
        if (value == 0)
            continue;
        twi_report_put(report, label);
        twi_report_put(report, name);
        put_labelled(report, " ", value);
        twi_report_put(report, "\n");
        label = "         ";
    }
}

/* ---- Tables ---------------------------------------------------------------------- */

/* The field's columns; the quantiles named by the caller follow. */
enum column { AVG, MIN, MAX, P99, P90, P50, STD, FIXED_COLUMNS };

static const char *const headings[FIXED_COLUMNS] = {"avg", "min", "max", "p99",
                                                    "p90", "p50", "std"};

static size_t column_count(const tw_analysis *analysis)
{
    return FIXED_COLUMNS + analysis->quantile_count - TWI_STANDARD_QUANTILES;
}

static void column_name(const twi_report *report, size_t column, char *name)
{
    if (column < FIXED_COLUMNS)
        strcpy(name, headings[column]);
    else
        twi_report_quantile_name(report, column - FIXED_COLUMNS + TWI_STANDARD_QUANTILES,
                                 name);
}

static size_t standard_index(const tw_analysis *analysis, uint64_t percent)
{
    size_t q = 0;
    while (analysis->quantiles[q] != percent * (TWI_QUANTILE_ONE / 100))
        q++;
    return q;
}

static bool quantile_cell(const tw_analysis *analysis, size_t metric, size_t quantile,
                          double *value)
{
    *value = analysis->values[metric * analysis->quantile_count + quantile];
    return twi_metrics[metric].row.kind != TW_KIND_SCALAR;
}

/* False if the cell does not exist. */
static bool cell_value(const tw_analysis *analysis, size_t metric, size_t column,
                       double *value)
{
    const tw_summary *s = &analysis->summary[metric];

    switch (column) {
    case AVG:
        *value = s->avg;
        return s->fields & TW_HAS_AVG;
    case MIN:
        *value = s->min;
        return s->fields & TW_HAS_MIN;
    case MAX:
        *value = s->max;
        return s->fields & TW_HAS_MAX;
    case STD:
        *value = s->std;
        return s->fields & TW_HAS_STD;
    case P99:
        return quantile_cell(analysis, metric, standard_index(analysis, 99), value);
    case P90:
        return quantile_cell(analysis, metric, standard_index(analysis, 90), value);
    case P50:
        return quantile_cell(analysis, metric, standard_index(analysis, 50), value);
    default:
        return quantile_cell(analysis, metric,
                             column - FIXED_COLUMNS + TWI_STANDARD_QUANTILES, value);
    }
}

static size_t cell_text(const tw_analysis *analysis, size_t metric, size_t column,
                        char *text)
{
    double value;
    if (cell_value(analysis, metric, column, &value))
        return twi_decimal_grouped(text, value);
    strcpy(text, "N/A");
    return 3;
}

static bool in_table(const tw_analysis *analysis, size_t metric, int32_t group)
{
    return analysis->emitted[metric] && twi_metrics[metric].row.group == group;
}

static size_t label_length(const tw_metric_row *row)
{
    return strlen(row->header) + strlen(row->unit) + sizeof " ()" - 1;
}

/* Of the widest cell, the heading included. */
static size_t column_width(const twi_report *report, int32_t group, size_t column)
{
    const tw_analysis *analysis = report->analysis;
    char text[TWI_DECIMAL_SIZE];
    size_t width;

    column_name(report, column, text);
    width = strlen(text);
    for (size_t m = 0; m < TWI_METRIC_COUNT; m++) {
        size_t length;
        if (!in_table(analysis, m, group))
            continue;
        length = cell_text(analysis, m, column, text);
        if (length > width)
            width = length;
    }
    return width;
}

static void put_right(twi_report *report, const char *text, size_t length, size_t width)
{
    twi_report_put(report, "  ");
    if (length < width)
        twi_report_put_repeated(report, ' ', width - length);
    twi_report_put_bytes(report, text, length);
}

static void put_table(twi_report *report, int32_t group, const char *title)
{
    const tw_analysis *analysis = report->analysis;
    const size_t columns = column_count(analysis);
    size_t widths[FIXED_COLUMNS + TW_QUANTILES_LIMIT];
    size_t label_width = sizeof "Metric" - 1, total;
    char text[TWI_DECIMAL_SIZE];
    bool empty = true;

    for (size_t m = 0; m < TWI_METRIC_COUNT; m++) {
        if (!in_table(analysis, m, group))
            continue;
        empty = false;
        if (label_length(&twi_metrics[m].row) > label_width)
            label_width = label_length(&twi_metrics[m].row);
    }
    if (empty)
        return;

    twi_report_put(report, "\n");
    twi_report_put(report, title);
    twi_report_put(report, "\nMetric");
    twi_report_put_repeated(report, ' ', label_width - (sizeof "Metric" - 1));
    total = label_width;
    for (size_t c = 0; c < columns; c++) {
        widths[c] = column_width(report, group, c);
        column_name(report, c, text);
        put_right(report, text, strlen(text), widths[c]);
        total += 2 + widths[c];
    }
    twi_report_put(report, "\n");
    twi_report_put_repeated(report, '-', total);
    twi_report_put(report, "\n");
    for (size_t m = 0; m < TWI_METRIC_COUNT; m++) {
        const tw_metric_row *row = &twi_metrics[m].row;
        if (!in_table(analysis, m, group))
            continue;
        twi_report_put(report, row->header);
        twi_report_put(report, " (");
        twi_report_put(report, row->unit);
        twi_report_put(report, ")");
        twi_report_put_repeated(report, ' ', label_width - label_length(row));
        for (size_t c = 0; c < columns; c++)
            put_right(report, text, cell_text(analysis, m, c, text), widths[c]);
        twi_report_put(report, "\n");
    }
}

void twi_report_text(twi_report *report)
{
    twi_report_put(report, "libtimeweight " TW_VERSION_STRING "\n");
    put_window(report);
    put_balance(report);
    put_counters(report);
    put_table(report, TW_GROUP_EFFECTIVE, "LLM Metrics: Effective");
    put_table(report, TW_GROUP_ACTIVE, "LLM Metrics: Active");
    put_table(report, TW_GROUP_DEFAULT, "LLM Metrics");
}
