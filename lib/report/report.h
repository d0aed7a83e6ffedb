/* SPDX-License-Identifier: MIT */
#ifndef TWI_REPORT_REPORT_H
#define TWI_REPORT_REPORT_H

/* What all formats share: where the bytes go, the counters, the names of quantiles. One
 * file per format. */

#include <stdbool.h>
#include <stddef.h>
#include <timeweight/report.h>

#include "analysis/analysis.h"

#define TWI_REPORT_BUFFER 4096

typedef struct twi_report {
    const tw_analysis *analysis;
    const tw_report_options *options;
    tw_write_fn write;
    void *user_data;
    bool stopped; /* the caller's function asked to stop: the rest goes nowhere */
    size_t used;
    char buffer[TWI_REPORT_BUFFER];
} twi_report;

void twi_report_begin(twi_report *report, const tw_analysis *analysis,
                      const tw_report_options *options, tw_write_fn write,
                      void *user_data);
/* TW_OK, or TW_ERR_IO if the caller's function stopped the report. */
int32_t twi_report_end(twi_report *report);

void twi_report_put(twi_report *report, const char *text);
void twi_report_put_bytes(twi_report *report, const char *bytes, size_t length);
void twi_report_put_repeated(twi_report *report, char c, size_t count);

/* The counters: the library's own, each rule's refusals, then the caller's. False when there
 * is none of that index. `room` has TWI_REPORT_NAME bytes, for names that are put together:
 * *name may point there. */
#define TWI_REPORT_NAME 64
bool twi_report_counter(const twi_report *report, size_t index, const char **name,
                        char *room, uint64_t *value);

/* "p99", "p99.9": the quantile of the analysis of that index. */
void twi_report_quantile_name(const twi_report *report, size_t index, char *name);

/* The numbers of a metric, in the order of the JSON and CSV reports. */
typedef struct twi_quantity {
    char name[32];
    bool present;
    bool is_whole; /* `whole` holds the value, else `real` */
    uint64_t whole;
    double real;
} twi_quantity;

/* The index-th quantity of a metric; false when there is none of that index. Every metric
 * has the same quantities, of which some are not present. */
bool twi_report_quantity(const twi_report *report, size_t metric, size_t index,
                         twi_quantity *quantity);
const char *twi_report_group_name(int32_t group);

void twi_report_text(twi_report *report);
void twi_report_csv(twi_report *report);
void twi_report_json(twi_report *report);

#endif
