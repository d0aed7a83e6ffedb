/* SPDX-License-Identifier: MIT */
/* Public entry point of report.h: validate, normalise structs, delegate. */

#include <assert.h>
#include <string.h>
#include <timeweight/report.h>

#include "base/abi.h"
#include "report/report.h"

static int is_counter_name(const char *name)
{
    if (!name || !*name)
        return 0;
    for (; *name; name++)
        if (!(*name >= 'a' && *name <= 'z') && !(*name >= '0' && *name <= '9') &&
            *name != '_')
            return 0;
    return 1;
}

static int32_t check_options(const tw_report_options *options)
{
    if (options->flags)
        return TW_ERR_NOTSUP;
    if (options->counter_count > TW_COUNTERS_LIMIT ||
        (options->counter_count && (!options->counter_names || !options->counter_values)))
        return TW_ERR_INVAL;
    for (uint64_t i = 0; i < options->counter_count; i++)
        if (!is_counter_name(options->counter_names[i]))
            return TW_ERR_INVAL;
    return TW_OK;
}

/* No name stands for two counters: it is a key of the JSON report. */
static int counters_differ(const twi_report *report)
{
    char room[TWI_REPORT_NAME], other_room[TWI_REPORT_NAME];
    const char *name, *other;
    uint64_t value;

    for (size_t i = 0; twi_report_counter(report, i, &name, room, &value); i++)
        for (size_t j = 0; j < i; j++)
            if (twi_report_counter(report, j, &other, other_room, &value) &&
                strcmp(name, other) == 0)
                return 0;
    return 1;
}

int32_t tw_report_write(const tw_analysis *analysis, int32_t format,
                        const tw_report_options *options, tw_write_fn write,
                        void *user_data)
{
    tw_report_options known = {sizeof known, 0, NULL, NULL, 0};
    void (*write_format)(twi_report * report);
    twi_report report;
    int32_t status;

    assert(!analysis || analysis->mark == TWI_MARK_ANALYSIS);
    if (!analysis || !write)
        return TW_ERR_INVAL;
    if (options) {
        status = twi_abi_read(&known, sizeof known,
                              TWI_ABI_UPTO(tw_report_options, counter_count), options);
        if (status)
            return status;
    }
    status = check_options(&known);
    if (status)
        return status;
    twi_report_begin(&report, analysis, &known, write, user_data);
    if (!counters_differ(&report))
        return TW_ERR_INVAL;
    switch (format) {
    case TW_FORMAT_TEXT:
        write_format = twi_report_text;
        break;
    case TW_FORMAT_CSV:
        write_format = twi_report_csv;
        break;
    case TW_FORMAT_JSON:
        write_format = twi_report_json;
        break;
    default:
        return TW_ERR_NOTSUP;
    }
    write_format(&report);
    return twi_report_end(&report);
}
