/* SPDX-License-Identifier: MIT */
#include "cli.h"
#include "output.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

enum { COLUMNS = 8 };

/* One line of the table: a metric, or the headings. */
struct cells {
    const char *text[COLUMNS];
};

static const struct cells headings = {
    {"tag", "header", "unit", "group", "kind", "mask", "better", "description"}};

static const char *group_name(int32_t group)
{
    switch (group) {
    case TW_GROUP_EFFECTIVE:
        return "effective";
    case TW_GROUP_ACTIVE:
        return "active";
    case TW_GROUP_DEFAULT:
        return "default";
    default:
        return "-";
    }
}

static const char *kind_name(int32_t kind)
{
    switch (kind) {
    case TW_KIND_CURVE:
        return "curve";
    case TW_KIND_SAMPLE:
        return "sample";
    case TW_KIND_SCALAR:
        return "scalar";
    default:
        return "-";
    }
}

static const char *better_name(int32_t better)
{
    if (better == 0)
        return "-";
    return better > 0 ? "higher" : "lower";
}

static tw_metric_row metric_at(size_t index)
{
    tw_metric_row row = {.struct_size = sizeof row};
    (void)tw_metric_info(index, &row); /* fails for no index below the count */
    return row;
}

static const char *mask_name(int32_t mask)
{
    for (size_t i = 0; mask != 0 && i < tw_metric_count(); i++)
        if (metric_at(i).id == mask)
            return metric_at(i).tag;
    return "-";
}

static struct cells cells_of(size_t index)
{
    tw_metric_row row = metric_at(index);
    return (struct cells){{row.tag, row.header, row.unit, group_name(row.group),
                           kind_name(row.kind), mask_name(row.mask),
                           better_name(row.better), row.description}};
}

static void widen(int *widths, const struct cells *cells)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        int length = (int)strlen(cells->text[i]);
        if (length > widths[i])
            widths[i] = length;
    }
}

/* Every column is as wide as its widest cell, but the last. */
static void print(const int *widths, const struct cells *cells)
{
    for (size_t i = 0; i + 1 < COLUMNS; i++)
        printf("%-*s  ", widths[i], cells->text[i]);
    printf("%s\n", cells->text[COLUMNS - 1]);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    argp_error(state, "takes no argument: %s", argument);
    return 0;
}

int cli_metrics(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse,
        .doc =
            "Lists every metric: its tag, header and unit, its group in a report, what "
            "it is computed from, the concurrency that an Active metric is restricted "
            "to (mask), whether higher or lower is better, and what it means."};
    int widths[COLUMNS] = {0};

    if (argp_parse(&argp, argc, argv, 0, NULL, NULL) != 0)
        return CLI_FAILURE;
    widen(widths, &headings);
    for (size_t i = 0; i < tw_metric_count(); i++) {
        struct cells cells = cells_of(i);
        widen(widths, &cells);
    }
    print(widths, &headings);
    for (size_t i = 0; i < tw_metric_count(); i++) {
        struct cells cells = cells_of(i);
        print(widths, &cells);
    }
    return EXIT_SUCCESS;
}
