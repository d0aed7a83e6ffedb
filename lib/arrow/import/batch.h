/* SPDX-License-Identifier: MIT */
#ifndef TWI_ARROW_IMPORT_BATCH_H
#define TWI_ARROW_IMPORT_BATCH_H

/* Arrays of structs as records: which child is which field (a plan, from the schema), then
 * batch by batch the rows. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arrow/import/values.h"

typedef enum twi_arrow_field {
    TWI_ARROW_CREDIT,
    TWI_ARROW_START,
    TWI_ARROW_GENERATION,
    TWI_ARROW_END,
    TWI_ARROW_INPUT_TOKENS,
    TWI_ARROW_OUTPUT_TOKENS,
    TWI_ARROW_STATUS,
    TWI_ARROW_STREAMING,
    TWI_ARROW_ARRIVALS,
    TWI_ARROW_CHUNK_TOKENS,
    TWI_ARROW_FIELDS
} twi_arrow_field;

typedef struct twi_arrow_plan {
    int64_t children;
    struct {
        int64_t child; /* -1: there is none of this name */
        bool in_dictionary;
        twi_arrow_type type;
        twi_arrow_type inner; /* of a list's items, of a dictionary's values */
    } columns[TWI_ARROW_FIELDS];
} twi_arrow_plan;

/* TW_OK, TW_ERR_INVAL, TW_ERR_NOTSUP. */
int32_t twi_arrow_plan_make(twi_arrow_plan *plan, const struct ArrowSchema *schema,
                            twi_complaint *complaint);

/* Room for the chunks of one row where they cannot be read in place. */
typedef struct twi_arrow_scratch {
    int64_t *values;
    uint64_t room;
} twi_arrow_scratch;

typedef struct twi_arrow_batch {
    const twi_arrow_plan *plan;
    const tw_allocator *allocator;
    twi_complaint *complaint;
    twi_arrow_values root;
    twi_arrow_values columns[TWI_ARROW_FIELDS];
    twi_arrow_values inner[TWI_ARROW_FIELDS];
    twi_arrow_scratch *scratch; /* of arrivals and of chunk tokens */
} twi_arrow_batch;

/* Checks an array against the plan; the batch is valid as long as the array is. `plan`,
 * `allocator`, `complaint` and `scratch` are set. TW_OK, TW_ERR_INVAL. */
int32_t twi_arrow_batch_bind(twi_arrow_batch *batch, const struct ArrowArray *array);
/* A twi_record_fn; the source is a batch. What it says of an array that contradicts itself
 * is in the complaint. */
int32_t twi_arrow_batch_get(const void *source, size_t row, tw_record *record,
                            twi_fault *fault);

#endif
