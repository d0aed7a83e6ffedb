/* SPDX-License-Identifier: MIT */
#ifndef TWI_ARROW_EXPORT_STREAM_H
#define TWI_ARROW_EXPORT_STREAM_H

/* Tables as Arrow streams. Who makes one says what the columns are and fills in rows; all
 * that the Arrow interfaces ask for (release, move, lifetimes of their own) is here. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <timeweight/allocator.h>
#include <timeweight/arrow.h>

typedef enum twi_arrow_column_type {
    TWI_ARROW_COLUMN_TEXT, /* utf8 */
    TWI_ARROW_COLUMN_INT64,
    TWI_ARROW_COLUMN_FLOAT64
} twi_arrow_column_type;

typedef struct twi_arrow_column {
    char name[32];
    twi_arrow_column_type type;
    bool nullable;
} twi_arrow_column;

/* One value, of its column's type. */
typedef struct twi_arrow_cell {
    bool is_null;
    union {
        const char *text; /* in static storage */
        int64_t integer;
        double real;
    } as;
} twi_arrow_cell;

typedef struct twi_arrow_table {
    const twi_arrow_column *columns; /* copied */
    size_t column_count;
    size_t page_rows;  /* most rows of an array */
    size_t state_size; /* of what `next` and `release` are given */
    /* Fills in the next row; false at the end. */
    bool (*next)(void *state, twi_arrow_cell *cells);
    /* Lets go of what the state refers to; NULL: of nothing. */
    void (*release)(void *state);
} twi_arrow_table;

/* Makes a stream and gives its state, which is zero, to be filled in. NULL if there is no
 * memory; `out` is then as it was. */
void *twi_arrow_stream_new(struct ArrowArrayStream *out, const tw_allocator *allocator,
                           const twi_arrow_table *table);
/* Takes the rows of the first array now. */
void twi_arrow_stream_prefetch(struct ArrowArrayStream *stream);

#endif
