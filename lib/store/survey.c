/* SPDX-License-Identifier: MIT */
#include "store/survey.h"

#include <string.h>

void twi_survey_begin(twi_survey *survey)
{
    memset(survey, 0, sizeof *survey);
    survey->first_ns = INT64_MAX;
    survey->last_ns = INT64_MIN;
    survey->most_tokens = TW_TOKENS_NONE;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void twi_survey_span(twi_survey *survey, const twi_span *span)
{
    const twi_block *b = span->block;
    int64_t first = INT64_MAX, last = INT64_MIN, tokens = survey->most_tokens;

    for (uint32_t r = 0; r < span->rows; r++) {
        const twi_packed *p = &b->rows[r];
        const int64_t credit = p->credit_ns, start = p->start_ns, end = p->end_ns;
        const int64_t input = p->input_tokens, output = twi_packed_output(p);
        uint32_t shape = twi_packed_state(p);

        shape |= credit != TW_TIME_NONE ? TWI_SHAPE_CREDIT : 0;
        shape |= p->generation_ns != TW_TIME_NONE ? TWI_SHAPE_GENERATION : 0;
        shape |= end != TW_TIME_NONE ? TWI_SHAPE_END : 0;
        shape |= input != TW_TOKENS_NONE ? TWI_SHAPE_INPUT : 0;
        shape |= output != TW_TOKENS_NONE ? TWI_SHAPE_OUTPUT : 0;
        shape |= output >= 1 ? TWI_SHAPE_OUTPUT_SOME : 0;
        survey->records[shape]++;
        first = lesser(first, lesser(start, credit != TW_TIME_NONE ? credit : start));
        if (end != TW_TIME_NONE) {
            last = greater(last, end);
        } else {
            twi_row row;
            twi_block_read(b, r, 0, &row);
            last = greater(last, twi_row_last_ns(&row));
        }
        tokens = greater(tokens, greater(input, output));
    }
    survey->most_tokens = tokens;
    if (span->rows) {
        survey->first_ns = lesser(survey->first_ns, first + span->offset_ns);
        survey->last_ns = greater(survey->last_ns, last + span->offset_ns);
    }
}

void twi_survey_merge(twi_survey *survey, const twi_survey *from)
{
    for (uint32_t shape = 0; shape < TWI_SHAPES; shape++)
        survey->records[shape] += from->records[shape];
    survey->first_ns = lesser(survey->first_ns, from->first_ns);
    survey->last_ns = greater(survey->last_ns, from->last_ns);
    survey->most_tokens = greater(survey->most_tokens, from->most_tokens);
}

twi_row twi_shape_row(uint32_t shape)
{
    twi_row row;

    memset(&row, 0, sizeof row);
    row.credit_ns = shape & TWI_SHAPE_CREDIT ? 0 : TW_TIME_NONE;
    row.generation_ns = shape & TWI_SHAPE_GENERATION ? 0 : TW_TIME_NONE;
    row.end_ns = shape & TWI_SHAPE_END ? 0 : TW_TIME_NONE;
    row.input_tokens = shape & TWI_SHAPE_INPUT ? 0 : TW_TOKENS_NONE;
    row.output_tokens = shape & TWI_SHAPE_OUTPUT_SOME ? 1
                        : shape & TWI_SHAPE_OUTPUT    ? 0
                                                      : TW_TOKENS_NONE;
    row.status = shape & 3;
    row.flags = (shape & (TWI_SHAPE_CREDIT - 1)) >> 2;
    row.chunks.count = row.flags & TWI_ROW_HAS_CHUNKS ? 1 : 0;
    return row;
}
