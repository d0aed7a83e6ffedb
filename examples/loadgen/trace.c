/* SPDX-License-Identifier: MIT */
#include "trace.h"
#include "../common/clock.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_TOKENS 10000000
/* Ten years: beyond it a timestamp is of another unit. */
#define LONGEST_MS 315576000000.0

static const char TOKENS_RULE[] = "must be a whole number from 0 to 10000000";

static bool refuse(struct trace_error *error, const char *field, const char *rule)
{
    error->field = field;
    error->rule = rule;
    return false;
}

static bool add_row(struct trace *trace, const struct trace_row *row,
                    struct trace_error *error)
{
    if (trace->count == trace->capacity) {
        size_t capacity = trace->capacity ? 2 * trace->capacity : 1024;
        struct trace_row *rows = reallocarray(trace->rows, capacity, sizeof *rows);
        if (!rows)
            return refuse(error, "row", "no memory");
        trace->rows = rows;
        trace->capacity = capacity;
    }
    trace->rows[trace->count++] = *row;
    return true;
}

/* ---- Mooncake -------------------------------------------------------------------- */

static bool read_tokens(const json_t *root, const char *key, int64_t *tokens,
                        struct trace_error *error)
{
    const json_t *value = json_object_get(root, key);
    *tokens = json_is_integer(value) ? json_integer_value(value) : -1;
    if (*tokens < 0 || *tokens > MOST_TOKENS)
        return refuse(error, key, TOKENS_RULE);
    return true;
}

static bool read_object(const json_t *root, struct trace_row *row,
                        struct trace_error *error)
{
    const json_t *timestamp = json_object_get(root, "timestamp");
    double ms = json_number_value(timestamp);
    if (!json_is_number(timestamp) || !(ms >= 0 && ms <= LONGEST_MS))
        return refuse(error, "timestamp",
                      "must be a number of milliseconds, from 0 to ten years");
    row->due_ns = llround(ms * 1e6);
    return read_tokens(root, "input_length", &row->input_tokens, error) &&
           read_tokens(root, "output_length", &row->output_tokens, error);
}

static bool read_mooncake(const char *line, size_t length, struct trace_row *row,
                          struct trace_error *error)
{
    json_t *root = json_loadb(line, length, JSON_ALLOW_NUL, NULL);
    bool good = json_is_object(root) ? read_object(root, row, error)
                                     : refuse(error, "row", "must be one JSON object");
    json_decref(root);
    return good;
}

/* ---- Azure ----------------------------------------------------------------------- */

static const char AZURE_HEADER[] = "TIMESTAMP,ContextTokens,GeneratedTokens";

/* Digits, so many of them; moves on. */
static bool read_digits(const char **text, int count, int *value)
{
    *value = 0;
    for (int i = 0; i < count; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return false;
        *value = *value * 10 + (**text - '0');
    }
    return true;
}

static bool read_mark(const char **text, char mark)
{
    return *(*text)++ == mark;
}

/* Up to nine decimals. */
static bool read_fraction(const char **text, int64_t *ns)
{
    int64_t unit_ns = NS_PER_SEC;
    *ns = 0;
    if (**text != '.')
        return true;
    for ((*text)++; **text >= '0' && **text <= '9'; (*text)++) {
        unit_ns /= 10;
        if (unit_ns == 0)
            return false;
        *ns += unit_ns * (**text - '0');
    }
    return unit_ns < NS_PER_SEC;
}

/* "2023-11-16 18:15:46.6805900", perhaps with "+00:00" or "Z". */
static bool read_timestamp(const char **text, int64_t *time_ns)
{
    struct tm tm = {0};
    struct tm normal;
    int64_t ns;
    bool good = read_digits(text, 4, &tm.tm_year) && read_mark(text, '-') &&
                read_digits(text, 2, &tm.tm_mon) && read_mark(text, '-') &&
                read_digits(text, 2, &tm.tm_mday) && read_mark(text, ' ') &&
                read_digits(text, 2, &tm.tm_hour) && read_mark(text, ':') &&
                read_digits(text, 2, &tm.tm_min) && read_mark(text, ':') &&
                read_digits(text, 2, &tm.tm_sec) && read_fraction(text, &ns);
    if (!good || tm.tm_year < 1970 || tm.tm_year > 2200)
        return false;
    if (strncmp(*text, "+00:00", 6) == 0)
        *text += 6;
    else if (**text == 'Z')
        (*text)++;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    normal = tm;
    *time_ns = timegm(&normal) * NS_PER_SEC + ns;
    /* A day or an hour that does not exist has become another one. */
    return normal.tm_mon == tm.tm_mon && normal.tm_mday == tm.tm_mday &&
           normal.tm_hour == tm.tm_hour && normal.tm_min == tm.tm_min &&
           normal.tm_sec == tm.tm_sec;
}

static bool read_count(const char **text, int64_t *count)
{
    const char *begin = *text;
    *count = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        *count = *count * 10 + (**text - '0');
        if (*count > MOST_TOKENS)
            return false;
    }
    return *text > begin;
}

static bool read_azure(const char *line, size_t length, struct trace_row *row,
                       struct trace_error *error)
{
    if (strlen(line) != length)
        return refuse(error, "row", "must not contain NUL bytes");
    if (!read_timestamp(&line, &row->due_ns) || !read_mark(&line, ','))
        return refuse(error, "TIMESTAMP", "must be YYYY-MM-DD HH:MM:SS.fffffff");
    if (!read_count(&line, &row->input_tokens) || !read_mark(&line, ','))
        return refuse(error, "ContextTokens", TOKENS_RULE);
    if (!read_count(&line, &row->output_tokens))
        return refuse(error, "GeneratedTokens", TOKENS_RULE);
    return *line == '\0' || refuse(error, "row", "must have three columns");
}

/* ---- files ----------------------------------------------------------------------- */

typedef bool (*row_fn)(const char *line, size_t length, struct trace_row *row,
                       struct trace_error *error);

static size_t trim(char **line, size_t length)
{
    if (strncmp(*line, "\xEF\xBB\xBF", 3) == 0) {
        *line += 3;
        length -= 3;
    }
    while (length > 0 && memchr(" \t\r\n", (*line)[length - 1], 4))
        length--;
    (*line)[length] = '\0';
    return length;
}

/* The first line decides; that of Azure's is nothing but a header. */
static bool detect(const char *line, row_fn *read_row, struct trace_error *error)
{
    *read_row = *line == '{' ? read_mooncake : read_azure;
    if (*line == '{' || strcmp(line, AZURE_HEADER) == 0)
        return true;
    return refuse(error, "row",
                  "must be a JSON object (Mooncake) or the header "
                  "TIMESTAMP,ContextTokens,GeneratedTokens (Azure)");
}

static bool take_line(struct trace *trace, char *line, size_t length, row_fn *read_row,
                      struct trace_error *error)
{
    struct trace_row row;
    length = trim(&line, length);
    if (length == 0)
        return true;
    if (!*read_row) {
        if (!detect(line, read_row, error))
            return false;
        if (*read_row == read_azure)
            return true;
    }
    return (*read_row)(line, length, &row, error) && add_row(trace, &row, error);
}

static int compare_rows(const void *a, const void *b)
{
    int64_t x = ((const struct trace_row *)a)->due_ns;
    int64_t y = ((const struct trace_row *)b)->due_ns;
    return (x > y) - (x < y);
}

/* Traces are in order of time, or nearly so. */
static void order(struct trace *trace)
{
    bool ordered = true;
    for (size_t i = 1; i < trace->count; i++)
        ordered &= trace->rows[i - 1].due_ns <= trace->rows[i].due_ns;
    if (!ordered)
        qsort(trace->rows, trace->count, sizeof *trace->rows, compare_rows);
    int64_t first_ns = trace->rows[0].due_ns;
    for (size_t i = 0; i < trace->count; i++)
        trace->rows[i].due_ns -= first_ns;
}

bool trace_read(struct trace *trace, FILE *file, struct trace_error *error)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    row_fn read_row = NULL;
    bool good = true;
    *error = (struct trace_error){0};
    errno = 0;
    while (good && (length = getline(&line, &capacity, file)) >= 0) {
        error->line++;
        good = take_line(trace, line, (size_t)length, &read_row, error);
    }
    free(line);
    if (!good)
        return false;
    error->line = 0;
    if (ferror(file) || !feof(file))
        return refuse(error, "file", errno ? strerror(errno) : "cannot be read");
    if (trace->count == 0)
        return refuse(error, "file", "has no rows");
    order(trace);
    return true;
}

void trace_clear(struct trace *trace)
{
    free(trace->rows);
    *trace = (struct trace){0};
}
