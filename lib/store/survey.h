/* SPDX-License-Identifier: MIT */
#ifndef TWI_STORE_SURVEY_H
#define TWI_STORE_SURVEY_H

/* What kinds of records there are, how many of each, and which time they cover: one pass
 * over the records answers it all. */

#include <stddef.h>
#include <stdint.h>

#include "store/recorder.h"

/* A record's shape: its state in a block, and which of its fields are known. */
enum {
    TWI_SHAPE_CREDIT = 1 << 6,
    TWI_SHAPE_GENERATION = 1 << 7,
    TWI_SHAPE_END = 1 << 8,
    TWI_SHAPE_INPUT = 1 << 9,
    TWI_SHAPE_OUTPUT = 1 << 10,
    TWI_SHAPE_OUTPUT_SOME = 1 << 11, /* output_tokens >= 1 */
    TWI_SHAPES = 1 << 12
};

typedef struct twi_survey {
    uint64_t records[TWI_SHAPES]; /* number of them, by shape */
    int64_t first_ns;             /* the earliest twi_row_first_ns() */
    int64_t last_ns;              /* the latest twi_row_last_ns(); below first_ns if there
                                   * are no records */
    int64_t most_tokens;          /* of all token counts, or TW_TOKENS_NONE */
} twi_survey;

void twi_survey_begin(twi_survey *survey);
void twi_survey_span(twi_survey *survey, const twi_span *span);
void twi_survey_merge(twi_survey *survey, const twi_survey *from);

/* A row of a shape, with times and tokens of 0 or 1 where they are known: for predicates that
 * look at which fields a row has. */
twi_row twi_shape_row(uint32_t shape);

#endif
