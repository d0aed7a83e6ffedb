/* SPDX-License-Identifier: MIT */
/* The JSON report: one object on one line. Nothing needs escaping: names are made of
 * letters, digits and plain punctuation, by the registry's and the counters' rules. */

#include <math.h>
#include <timeweight/version.h>

#include "base/decimal.h"
#include "report/report.h"

static void put_key(twi_report *report, const char *key, bool *first)
{
    if (!*first)
        twi_report_put(report, ",");
    *first = false;
    twi_report_put(report, "\"");
    twi_report_put(report, key);
    twi_report_put(report, "\":");
}

static void put_string(twi_report *report, const char *key, const char *value,
                       bool *first)
{
    put_key(report, key, first);
    twi_report_put(report, "\"");
    twi_report_put(report, value);
    twi_report_put(report, "\"");
}

static void put_unsigned(twi_report *report, const char *key, uint64_t value, bool *first)
{
    char text[TWI_DECIMAL_SIZE];
    put_key(report, key, first);
    twi_report_put_bytes(report, text, twi_decimal_unsigned(text, value, 0));
}

static void put_signed(twi_report *report, const char *key, int64_t value, bool *first)
{
    char text[TWI_DECIMAL_SIZE];
    put_key(report, key, first);
    twi_report_put_bytes(report, text, twi_decimal_signed(text, value));
}

/* What is not finite has no JSON and is left out. */
static void put_double(twi_report *report, const char *key, double value, bool *first)
{
    char text[TWI_DECIMAL_SIZE];
    if (!isfinite(value))
        return;
    put_key(report, key, first);
    twi_report_put_bytes(report, text, twi_decimal_shortest(text, value));
}

static void put_balance(twi_report *report)
{
    const tw_balance *b = &report->analysis->balance;
    bool first = true;

    twi_report_put(report, "{");
    put_unsigned(report, "issued", b->issued, &first);
    put_unsigned(report, "ok", b->ok, &first);
    put_unsigned(report, "failed", b->failed, &first);
    put_unsigned(report, "cancelled", b->cancelled, &first);
    put_unsigned(report, "in_flight", b->in_flight, &first);
    put_unsigned(report, "refused", b->refused, &first);
    put_unsigned(report, "overlapping", b->overlapping, &first);
    put_unsigned(report, "members", b->members, &first);
    put_unsigned(report, "cut_at_begin", b->cut_at_begin, &first);
    put_unsigned(report, "cut_at_end", b->cut_at_end, &first);
    twi_report_put(report, "}");
}

static void put_counters(twi_report *report)
{
    char room[TWI_REPORT_NAME];
    const char *name;
    uint64_t value;
    bool first = true;

    twi_report_put(report, "{");
    for (size_t i = 0; twi_report_counter(report, i, &name, room, &value); i++)
        put_unsigned(report, name, value, &first);
    twi_report_put(report, "}");
}

static void put_metric(twi_report *report, size_t metric)
{
    const tw_metric_row *row = &twi_metrics[metric].row;
    twi_quantity quantity;
    bool first = true;

    twi_report_put(report, "{");
    put_string(report, "group", twi_report_group_name(row->group), &first);
    put_string(report, "header", row->header, &first);
    put_string(report, "unit", row->unit, &first);
    for (size_t i = 0; twi_report_quantity(report, metric, i, &quantity); i++) {
        if (!quantity.present)
            continue;
        if (quantity.is_whole)
            put_unsigned(report, quantity.name, quantity.whole, &first);
        else
            put_double(report, quantity.name, quantity.real, &first);
    }
    twi_report_put(report, "}");
}

void twi_report_json(twi_report *report)
{
    const tw_analysis *analysis = report->analysis;
    bool first = true, first_edge = true, first_metric = true;

    twi_report_put(report, "{");
    put_unsigned(report, "schema", 1, &first);
    put_string(report, "library", TW_VERSION_STRING, &first);
    put_key(report, "window", &first);
    twi_report_put(report, "{");
    put_signed(report, "begin_ns", analysis->run.window.begin_ns, &first_edge);
    put_signed(report, "end_ns", analysis->run.window.end_ns, &first_edge);
    twi_report_put(report, "}");
    put_key(report, "balance", &first);
    put_balance(report);
    put_key(report, "counters", &first);
    put_counters(report);
    put_key(report, "metrics", &first);
    twi_report_put(report, "{");
    for (size_t m = 0; m < TWI_METRIC_COUNT; m++) {
        if (!analysis->emitted[m])
            continue;
        put_key(report, twi_metrics[m].row.tag, &first_metric);
        put_metric(report, m);
    }
    twi_report_put(report, "}}\n");
}
