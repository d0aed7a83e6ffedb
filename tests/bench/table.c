/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <math.h>

const char *table_verdict(const figure *f)
{
    double median;
    if (f->rounds == 0 || !(f->goal.must > 0))
        return "-";
    median = bench_spread(f->values, f->rounds).median;
    return (f->goal.at_least ? median >= f->goal.must : median <= f->goal.must)
               ? "OK"
               : "MISSED";
}

/* ---- for people ------------------------------------------------------------------ */

static void print_number(FILE *file, double value, const char *unit)
{
    char text[32];
    snprintf(text, sizeof text, "%.*f%s", fabs(value) >= 100 ? 0 : 2, value, unit);
    fprintf(file, " %9s", text);
}

static void print_goal(FILE *file, double value, const goal *g)
{
    char text[32] = "";
    if (value > 0)
        snprintf(text, sizeof text, "%s %g", g->at_least ? ">=" : "<=", value);
    fprintf(file, " %8s", text);
}

static void print_figure(FILE *file, const figure *f)
{
    spread s;
    fprintf(file, "%-54s %-8s", f->goal.what, f->goal.group);
    if (f->rounds == 0) {
        fprintf(file, " not measured: %s\n", f->missing);
        return;
    }
    s = bench_spread(f->values, f->rounds);
    print_number(file, s.median, f->goal.unit);
    print_number(file, s.min, f->goal.unit);
    print_number(file, s.max, f->goal.unit);
    print_number(file, f->least, f->goal.unit);
    fprintf(file, " %3zu", f->rounds);
    print_goal(file, f->goal.must, &f->goal);
    print_goal(file, f->goal.reach, &f->goal);
    fprintf(file, "  %s\n", table_verdict(f));
}

void table_print(const table *t, FILE *file)
{
    for (size_t i = 0; i < t->fact_count; i++)
        fprintf(file, "%-10s %s\n", t->facts[i].name, t->facts[i].value);
    fprintf(file, "\n%-36s %-8s %12s %9s %9s %9s %3s\n", "ns a record, gap or byte",
            "workload", "items", "median", "min", "max", "n");
    for (size_t i = 0; i < t->times_count; i++) {
        const timing *row = &t->times[i];
        spread s = bench_spread(row->seconds, row->rounds);
        double scale = 1e9 / (double)row->items;
        fprintf(file, "%-36s %-8s %12zu", row->name, row->group, row->items);
        print_number(file, s.median * scale, "");
        print_number(file, s.min * scale, "");
        print_number(file, s.max * scale, "");
        fprintf(file, " %3zu\n", row->rounds);
    }
    fprintf(file, "\n%-54s %-8s %9s %9s %9s %9s %3s %8s %8s  %s\n", "goal", "workload",
            "median", "min", "max", "of least", "n", "must", "reach", "verdict");
    for (size_t i = 0; i < t->figure_count; i++)
        print_figure(file, &t->figures[i]);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void write_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20)
            fprintf(file, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else
            fputc(c, file);
    }
    fputc('"', file);
}

static void write_values(FILE *file, const double *values, size_t count)
{
    spread s = bench_spread(values, count);
    fprintf(file, "\"median\": %.9g, \"min\": %.9g, \"max\": %.9g, \"rounds\": [",
            s.median, s.min, s.max);
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%s%.9g", i > 0 ? ", " : "", values[i]);
    fputc(']', file);
}

static void write_goal(FILE *file, const char *name, double value)
{
    if (value > 0)
        fprintf(file, "\"%s\": %g, ", name, value);
    else
        fprintf(file, "\"%s\": null, ", name);
}

static void write_figure(FILE *file, const figure *f)
{
    fputs("    {\"goal\": ", file);
    write_string(file, f->goal.what);
    fputs(", \"workload\": ", file);
    write_string(file, f->goal.group);
    fprintf(file, ", \"better\": \"%s\", ", f->goal.at_least ? "more" : "less");
    write_goal(file, "must", f->goal.must);
    write_goal(file, "reach", f->goal.reach);
    fputs("\"verdict\": ", file);
    write_string(file, table_verdict(f));
    fputs(", ", file);
    if (f->rounds > 0) {
        fprintf(file, "\"of_least\": %.9g, ", f->least);
        write_values(file, f->values, f->rounds);
    } else {
        fputs("\"missing\": ", file);
        write_string(file, f->missing);
    }
    fputc('}', file);
}

static void write_times(FILE *file, const timing *t)
{
    fputs("    {\"what\": ", file);
    write_string(file, t->name);
    fputs(", \"workload\": ", file);
    write_string(file, t->group);
    fprintf(file, ", \"items\": %zu, ", t->items);
    write_values(file, t->seconds, t->rounds);
    fputc('}', file);
}

void table_write_json(const table *t, FILE *file)
{
    fputs("{\n  \"machine\": {\n", file);
    for (size_t i = 0; i < t->fact_count; i++) {
        fputs("    ", file);
        write_string(file, t->facts[i].name);
        fputs(": ", file);
        write_string(file, t->facts[i].value);
        fputs(i + 1 < t->fact_count ? ",\n" : "\n", file);
    }
    fputs("  },\n  \"ratios\": [\n", file);
    for (size_t i = 0; i < t->figure_count; i++) {
        write_figure(file, &t->figures[i]);
        fputs(i + 1 < t->figure_count ? ",\n" : "\n", file);
    }
    fputs("  ],\n  \"seconds\": [\n", file);
    for (size_t i = 0; i < t->times_count; i++) {
        write_times(file, &t->times[i]);
        fputs(i + 1 < t->times_count ? ",\n" : "\n", file);
    }
    fputs("  ]\n}\n", file);
}
