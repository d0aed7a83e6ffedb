/* SPDX-License-Identifier: MIT */
#include "arguments.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The library's times lie in [-TIME_LIMIT, TIME_LIMIT]. */
#define TIME_LIMIT ((int64_t)1 << 61)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* An optional minus and digits, and nothing else; not beyond the limit. */
static bool read_time(const char *text, size_t length, int64_t *time)
{
    bool minus = length > 0 && text[0] == '-';
    size_t first = minus ? 1 : 0;
    int64_t value = 0;
    for (size_t i = first; i < length; i++) {
        if (!is_digit(text[i]))
            return false;
        int digit = text[i] - '0';
        if (value > (TIME_LIMIT - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *time = minus ? -value : value;
    return length > first;
}

const char *arguments_window(const char *text, tw_options *options)
{
    static const char bad_edge[] =
        "an edge must be a whole number of ns in [-2^61, 2^61], or empty";
    const char *colon = strchr(text, ':');
    if (!colon)
        return "must be BEGIN:END";
    size_t begin_length = (size_t)(colon - text);
    size_t end_length = strlen(colon + 1);
    options->flags &= ~(uint32_t)(TW_WINDOW_BEGIN | TW_WINDOW_END);
    if (begin_length > 0) {
        if (!read_time(text, begin_length, &options->window_begin_ns))
            return bad_edge;
        options->flags |= TW_WINDOW_BEGIN;
    }
    if (end_length > 0) {
        if (!read_time(colon + 1, end_length, &options->window_end_ns))
            return bad_edge;
        options->flags |= TW_WINDOW_END;
    }
    if (begin_length == 0 && end_length == 0)
        return "must name an edge";
    if (begin_length > 0 && end_length > 0 &&
        options->window_begin_ns > options->window_end_ns)
        return "must not begin after its end";
    return NULL;
}

/* Digits with at most one point. */
static bool is_decimal(const char *text, size_t length)
{
    size_t digits = 0;
    size_t points = 0;
    for (size_t i = 0; i < length; i++) {
        digits += is_digit(text[i]);
        points += text[i] == '.';
    }
    return digits > 0 && points <= 1 && digits + points == length;
}

const char *arguments_quantiles(const char *text, struct quantile_list *list)
{
    list->count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (!is_decimal(text, length))
            return "must be decimal numbers with commas between them";
        double value = strtod(text, NULL); /* stops at the comma */
        if (value > 1)
            return "must lie in [0, 1]";
        if (list->count == TW_QUANTILES_LIMIT)
            return "are too many";
        list->values[list->count++] = value;
        if (text[length] == '\0')
            return NULL;
        text += length + 1;
    }
}
