/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <string.h>

#include "base/decimal.h"
#include "stat/rank.h"

void twi_report_begin(twi_report *report, const tw_analysis *analysis,
                      const tw_report_options *options, tw_write_fn write,
                      void *user_data)
{
    report->analysis = analysis;
    report->options = options;
    report->write = write;
    report->user_data = user_data;
    report->stopped = false;
    report->used = 0;
}

static void flush(twi_report *report)
{
    if (!report->stopped && report->used)
        report->stopped = report->write(report->user_data, report->buffer,
                                        report->used) != 0;
    report->used = 0;
}

int32_t twi_report_end(twi_report *report)
{
    flush(report);
    return report->stopped ? TW_ERR_IO : TW_OK;
}

void twi_report_put_bytes(twi_report *report, const char *bytes, size_t length)
{
    while (length) {
        size_t room = TWI_REPORT_BUFFER - report->used;
        size_t some = length < room ? length : room;

        memcpy(report->buffer + report->used, bytes, some);
        report->used += some;
        bytes += some;
        length -= some;
        if (report->used == TWI_REPORT_BUFFER)
            flush(report);
    }
}

void twi_report_put(twi_report *report, const char *text)
{
    twi_report_put_bytes(report, text, strlen(text));
}

void twi_report_put_repeated(twi_report *report, char c, size_t count)
{
    while (count--)
        twi_report_put_bytes(report, &c, 1);
}

bool twi_report_counter(const twi_report *report, size_t index, const char **name,
                        char *room, uint64_t *value)
{
    const tw_balance *balance = &report->analysis->balance;
    const struct {
        const char *name;
        uint64_t value;
    } own[] = {
        {"credit_after_start", balance->credit_after_start},
        {"chunk_tokens_ignored", balance->chunk_tokens_ignored},
    };
    const size_t own_count = sizeof own / sizeof own[0];
    int32_t rule;

    if (index < own_count) {
        *name = own[index].name;
        *value = own[index].value;
        return true;
    }
    index -= own_count;
    for (rule = 1; tw_rule_name(rule); rule++) {
        if (index-- == 0) {
            const size_t prefix = sizeof "refused_" - 1;
            memcpy(room, "refused_", prefix);
            strncpy(room + prefix, tw_rule_name(rule), TWI_REPORT_NAME - prefix - 1);
            room[TWI_REPORT_NAME - 1] = 0;
            *name = room;
            *value = balance->refused_by_rule[rule];
            return true;
        }
    }
    if (index >= report->options->counter_count)
        return false;
    *name = report->options->counter_names[index];
    *value = report->options->counter_values[index];
    return true;
}

void twi_report_quantile_name(const twi_report *report, size_t index, char *name)
{
    const uint64_t percent = TWI_QUANTILE_ONE / 100;
    const uint64_t quantile = report->analysis->quantiles[index];
    uint64_t rest = quantile % percent;

    *name++ = 'p';
    name += twi_decimal_unsigned(name, quantile / percent, 0);
    if (rest)
        *name++ = '.';
    for (uint64_t place = percent / 10; rest; place /= 10) {
        *name++ = (char)('0' + rest / place);
        rest %= place;
    }
    *name = 0;
}

const char *twi_report_group_name(int32_t group)
{
    switch (group) {
    case TW_GROUP_EFFECTIVE:
        return "EFFECTIVE";
    case TW_GROUP_ACTIVE:
        return "ACTIVE";
    default:
        return "DEFAULT";
    }
}

static void set_real(twi_quantity *quantity, const char *name, bool present, double value)
{
    strcpy(quantity->name, name);
    quantity->present = present;
    quantity->is_whole = false;
    quantity->real = value;
}

static void set_whole(twi_quantity *quantity, const char *name, bool present,
                      uint64_t value)
{
    strcpy(quantity->name, name);
    quantity->present = present;
    quantity->is_whole = true;
    quantity->whole = value;
}

bool twi_report_quantity(const twi_report *report, size_t metric, size_t index,
                         twi_quantity *quantity)
{
    const tw_analysis *analysis = report->analysis;
    const tw_summary *s = &analysis->summary[metric];
    const size_t quantiles = analysis->quantile_count;
    const size_t moments = 4;
    const bool active = (s->fields & TW_HAS_ACTIVE) != 0;

    if (index >= moments && index < moments + quantiles) {
        char name[TWI_DECIMAL_SIZE];
        twi_report_quantile_name(report, index - moments, name);
        set_real(quantity, name, twi_metrics[metric].row.kind != TW_KIND_SCALAR,
                 analysis->values[metric * quantiles + index - moments]);
        return true;
    }
    switch (index < moments ? index : index - quantiles) {
    case 0:
        set_real(quantity, "avg", s->fields & TW_HAS_AVG, s->avg);
        return true;
    case 1:
        set_real(quantity, "min", s->fields & TW_HAS_MIN, s->min);
        return true;
    case 2:
        set_real(quantity, "max", s->fields & TW_HAS_MAX, s->max);
        return true;
    case 3:
        set_real(quantity, "std", s->fields & TW_HAS_STD, s->std);
        return true;
    case 4:
        set_whole(quantity, "count", s->fields & TW_HAS_COUNT, s->count);
        return true;
    case 5:
        set_real(quantity, "sum", s->fields & TW_HAS_SUM, s->sum);
        return true;
    case 6:
        set_whole(quantity, "active_ns", active, (uint64_t)s->active_ns);
        return true;
    case 7:
        set_real(quantity, "active_fraction", active,
                 active ? (double)s->active_ns / (double)s->weight_ns : 0);
        return true;
    default:
        return false;
    }
}
