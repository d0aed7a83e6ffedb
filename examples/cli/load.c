/* SPDX-License-Identifier: MIT */
#include "load.h"
#include "lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LINES_PADDING >= INPUT_PADDING, "the parser reads further than it may");

/* One file on its way into a recorder. */
struct loading {
    struct load *load;
    const char *name;
    struct lines lines;
    struct input *input;
    tw_recorder *recorder;
};

static int complain(const char *name, const char *what)
{
    fprintf(stderr, "%s: %s\n", name, what);
    return -1;
}

/* A bad row ends the run, or is counted. */
static int bad_row(struct loading *loading, uint64_t number, const char *field,
                   const char *rule, const char *detail)
{
    struct load *load = loading->load;
    char *message = NULL;
    int length = asprintf(&message, "%s:%" PRIu64 ": %s: %s%s%s%s", loading->name, number,
                          field, rule, detail ? " (" : "", detail ? detail : "",
                          detail ? ")" : "");
    if (length < 0)
        return complain(loading->name, strerror(ENOMEM));
    if (load->keep_going) {
        load->rows_skipped++;
        if (!load->first_skipped)
            load->first_skipped = message;
        else
            free(message);
        return 0;
    }
    fprintf(stderr, "%s\n", message);
    free(message);
    return -1;
}

static bool compares_times(int32_t rule)
{
    switch (rule) {
    case TW_RULE_GENERATION_BEFORE_START:
    case TW_RULE_END_BEFORE_START:
    case TW_RULE_END_BEFORE_GENERATION:
    case TW_RULE_CHUNK_BEFORE_GENERATION:
    case TW_RULE_CHUNK_ORDER:
    case TW_RULE_CHUNK_AFTER_END:
        return true;
    default:
        return false;
    }
}

/* A record that the library refused. */
static int refused(struct loading *loading, uint64_t number)
{
    char values[64] = "";
    tw_error error = {.struct_size = sizeof error};
    (void)tw_recorder_last_error(loading->recorder, &error);
    const char *field = tw_field_name(error.field);
    const char *rule = tw_rule_text(error.rule);
    int64_t a = error.value_a;
    int64_t b = error.value_b;
    if (compares_times(error.rule) && b != TW_TIME_NONE)
        (void)snprintf(values, sizeof values, "%" PRId64 " %c %" PRId64, a,
                       a < b ? '<' : '>', b);
    else if (a != TW_TIME_NONE)
        (void)snprintf(values, sizeof values, "%" PRId64, a);
    return bad_row(loading, number, field ? field : "row",
                   rule ? rule : tw_strerror(error.status), values[0] ? values : NULL);
}

static int append(struct loading *loading, const struct input_row *row, uint64_t number)
{
    int32_t status = tw_recorder_append(loading->recorder, &row->record, 1,
                                        sizeof row->record, 0, NULL);
    if (status == TW_ERR_RANGE)
        return refused(loading, number);
    if (status != TW_OK)
        return complain(loading->name, tw_strerror(status));
    loading->load->end_adjusted_rows += row->end_adjusted != 0;
    return 0;
}

static int take_line(struct loading *loading, const struct line *line)
{
    struct input_row row;
    switch (input_parse(loading->input, line->text, line->length, &row)) {
    case INPUT_RECORD:
        return append(loading, &row, line->number);
    case INPUT_LEFT_OUT:
        loading->load->warmup_rows_left_out++;
        return 0;
    case INPUT_BAD:
        return bad_row(loading, line->number, row.field, row.rule, row.detail);
    case INPUT_NOMEM:
        break;
    }
    return complain(loading->name, strerror(ENOMEM));
}

static int take_lines(struct loading *loading)
{
    struct line line;
    bool empty = true;
    int got;
    while ((got = lines_next(&loading->lines, &line)) > 0) {
        empty = false;
        if (take_line(loading, &line) != 0)
            return -1;
    }
    if (got < 0)
        return complain(loading->name, strerror(-got));
    if (empty && !loading->load->keep_going)
        return complain(loading->name, "no rows");
    loading->load->saw_aiperf |= input_detected(loading->input) == INPUT_AIPERF;
    return 0;
}

int load_file(struct load *load, const char *path, tw_recorder *recorder)
{
    struct loading loading = {.load = load, .recorder = recorder};
    loading.name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    int error = lines_open(&loading.lines, path);
    if (error)
        return complain(loading.name, strerror(error));
    loading.input = input_new(load->format);
    int result = loading.input ? take_lines(&loading)
                               : complain(loading.name, strerror(ENOMEM));
    input_free(loading.input);
    lines_close(&loading.lines);
    return result;
}

void load_clear(struct load *load)
{
    free(load->first_skipped);
    load->first_skipped = NULL;
}
