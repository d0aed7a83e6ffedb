/* SPDX-License-Identifier: MIT */
/* Bytes become lines of a file in one of the tool's formats; a reader either makes a
 * record of a line or says what is wrong with it, and a record's numbers came from the
 * file. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

#include "examples/cli/input.h"
#include "fuzz.h"

static void expect(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_reader: does not hold: %s\n", what);
        abort();
    }
}

static void check_row(const struct input_row *row, tw_recorder *recorder)
{
    const int32_t status = tw_recorder_append(recorder, &row->record, 1,
                                              sizeof row->record, 0, NULL);
    tw_error error = {.struct_size = sizeof error};

    expect(status == TW_OK || status == TW_ERR_RANGE, "a row is stored or breaks a rule");
    expect(tw_recorder_last_error(recorder, &error) == TW_OK,
           "there is an error to read");
    if (status == TW_ERR_RANGE) {
        expect(tw_rule_text(error.rule) != NULL, "the rule has a text");
        expect(tw_field_name(error.field) != NULL, "the field has a name");
    }
}

/* One line, in a block of its own so that reading too far is seen. */
static void parse(struct input *input, const uint8_t *text, size_t length,
                  tw_recorder *recorder)
{
    char *line = malloc(length + INPUT_PADDING);
    struct input_row row;

    if (!line)
        abort();
    memcpy(line, text, length);
    memset(line + length, '\n', INPUT_PADDING);
    switch (input_parse(input, line, length, &row)) {
    case INPUT_RECORD:
        check_row(&row, recorder);
        break;
    case INPUT_BAD:
        expect(row.field && row.rule, "a bad row says why");
        break;
    case INPUT_LEFT_OUT:
    case INPUT_NOMEM:
        break;
    }
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const enum input_format formats[] = {INPUT_AUTO, INPUT_AIPERF, INPUT_RECORDS};
    tw_recorder *recorder;
    struct input *input;

    if (size == 0)
        return 0;
    input = input_new(formats[data[0] % 3]);
    if (!input || tw_recorder_new(&recorder, NULL))
        abort();
    data++;
    size--;
    while (size) {
        const uint8_t *end = memchr(data, '\n', size);
        const size_t length = end ? (size_t)(end - data) : size;

        if (length)
            parse(input, data, length, recorder);
        data += end ? length + 1 : length;
        size -= end ? length + 1 : length;
    }
    input_free(input);
    tw_recorder_free(recorder);
    return 0;
}
