/* SPDX-License-Identifier: MIT */
/* The CSV report (RFC 4180, lines end in LF): a line of names, then one line per emitted
 * metric with the quantities of the JSON report; what does not exist is empty. No cell
 * needs quotes: names and headers hold no comma, quote or line end. */

#include "base/decimal.h"
#include "report/report.h"

static void put_cell(twi_report *report, const twi_quantity *quantity)
{
    char text[TWI_DECIMAL_SIZE];
    size_t length;

    twi_report_put(report, ",");
    if (!quantity->present)
        return;
    if (quantity->is_whole)
        length = twi_decimal_unsigned(text, quantity->whole, 0);
    else
        length = twi_decimal_shortest(text, quantity->real);
    twi_report_put_bytes(report, text, length);
}

void twi_report_csv(twi_report *report)
{
    twi_quantity quantity;

    twi_report_put(report, "metric,group,header,unit");
    for (size_t i = 0; twi_report_quantity(report, 0, i, &quantity); i++) {
        twi_report_put(report, ",");
        twi_report_put(report, quantity.name);
    }
    twi_report_put(report, "\n");
    for (size_t m = 0; m < TWI_METRIC_COUNT; m++) {
        const tw_metric_row *row = &twi_metrics[m].row;

        if (!report->analysis->emitted[m])
            continue;
        twi_report_put(report, row->tag);
        twi_report_put(report, ",");
        twi_report_put(report, twi_report_group_name(row->group));
        twi_report_put(report, ",");
        twi_report_put(report, row->header);
        twi_report_put(report, ",");
        twi_report_put(report, row->unit);
        for (size_t i = 0; twi_report_quantity(report, m, i, &quantity); i++)
            put_cell(report, &quantity);
        twi_report_put(report, "\n");
    }
}
