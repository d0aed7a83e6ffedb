/* SPDX-License-Identifier: MIT */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <timeweight/timeweight.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that input_parse() may read past the end of a line. */
#define INPUT_PADDING 64

enum input_format {
    INPUT_AUTO = 0, /* decided by the first row that is a JSON object */
    INPUT_AIPERF,
    INPUT_RECORDS
};

enum input_result {
    INPUT_RECORD,   /* row.record is filled */
    INPUT_LEFT_OUT, /* a warm-up row */
    INPUT_BAD,      /* row.field, row.rule and perhaps row.detail say why */
    INPUT_NOMEM
};

/* What a line turned out to be. All pointers belong to the input or are static, and hold
 * until the next line is parsed. */
struct input_row {
    tw_record record;
    int end_adjusted; /* the end was moved to the last arrival */
    const char *field;
    const char *rule;
    const char *detail; /* or NULL */
};

/* The rows of one file. */
struct input;

/* NULL if there is no memory. */
struct input *input_new(enum input_format format);
void input_free(struct input *input);

/* Parses one line, behind which INPUT_PADDING bytes can be read and the first is neither
 * a brace, a bracket nor a comma. */
enum input_result input_parse(struct input *input, const char *line, size_t length,
                              struct input_row *row);

/* The format, as far as it is known. */
enum input_format input_detected(const struct input *input);

#ifdef __cplusplus
}
#endif

#endif
