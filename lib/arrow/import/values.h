/* SPDX-License-Identifier: MIT */
#ifndef TWI_ARROW_IMPORT_VALUES_H
#define TWI_ARROW_IMPORT_VALUES_H

/* One array without what hangs on it, checked, and its values one by one. Nothing here
 * trusts an address to be aligned. */

#include <stdbool.h>
#include <stdint.h>
#include <timeweight/arrow.h>

#include "arrow/import/complaint.h"

typedef enum twi_arrow_kind {
    TWI_ARROW_OTHER, /* none of those below */
    TWI_ARROW_NULL,
    TWI_ARROW_BOOL,
    TWI_ARROW_INT8,
    TWI_ARROW_UINT8,
    TWI_ARROW_INT16,
    TWI_ARROW_UINT16,
    TWI_ARROW_INT32,
    TWI_ARROW_UINT32,
    TWI_ARROW_INT64,
    TWI_ARROW_UINT64,
    TWI_ARROW_FLOAT32,
    TWI_ARROW_FLOAT64,
    TWI_ARROW_TIMESTAMP,
    TWI_ARROW_DURATION,
    TWI_ARROW_UTF8,
    TWI_ARROW_LARGE_UTF8,
    TWI_ARROW_UTF8_VIEW,
    TWI_ARROW_LIST,
    TWI_ARROW_LARGE_LIST,
    TWI_ARROW_LIST_VIEW,
    TWI_ARROW_LARGE_LIST_VIEW,
    TWI_ARROW_STRUCT
} twi_arrow_kind;

/* Sets of kinds. */
#define TWI_ARROW_SET(kind) (UINT32_C(1) << (kind))
#define TWI_ARROW_INTEGERS                                              \
    (TWI_ARROW_SET(TWI_ARROW_INT8) | TWI_ARROW_SET(TWI_ARROW_UINT8) |   \
     TWI_ARROW_SET(TWI_ARROW_INT16) | TWI_ARROW_SET(TWI_ARROW_UINT16) | \
     TWI_ARROW_SET(TWI_ARROW_INT32) | TWI_ARROW_SET(TWI_ARROW_UINT32) | \
     TWI_ARROW_SET(TWI_ARROW_INT64) | TWI_ARROW_SET(TWI_ARROW_UINT64))
#define TWI_ARROW_NUMBERS                                 \
    (TWI_ARROW_INTEGERS | TWI_ARROW_SET(TWI_ARROW_NULL) | \
     TWI_ARROW_SET(TWI_ARROW_FLOAT32) | TWI_ARROW_SET(TWI_ARROW_FLOAT64))
#define TWI_ARROW_TIMES (TWI_ARROW_NUMBERS | TWI_ARROW_SET(TWI_ARROW_TIMESTAMP))
#define TWI_ARROW_TEXTS                                              \
    (TWI_ARROW_SET(TWI_ARROW_NULL) | TWI_ARROW_SET(TWI_ARROW_UTF8) | \
     TWI_ARROW_SET(TWI_ARROW_LARGE_UTF8) | TWI_ARROW_SET(TWI_ARROW_UTF8_VIEW))
#define TWI_ARROW_LISTS                                                         \
    (TWI_ARROW_SET(TWI_ARROW_NULL) | TWI_ARROW_SET(TWI_ARROW_LIST) |            \
     TWI_ARROW_SET(TWI_ARROW_LARGE_LIST) | TWI_ARROW_SET(TWI_ARROW_LIST_VIEW) | \
     TWI_ARROW_SET(TWI_ARROW_LARGE_LIST_VIEW))

typedef struct twi_arrow_type {
    twi_arrow_kind kind;
    int64_t unit_ns; /* of a timestamp or a duration, else 1 */
} twi_arrow_type;

/* `part` names for complaints what of a column this is, NULL: the column itself. */

/* The type of a schema that is not NULL, if it is one of a set; `what` names the set for
 * the complaint. The schema's dictionary is not looked at. TW_OK, TW_ERR_INVAL,
 * TW_ERR_NOTSUP. */
int32_t twi_arrow_type_of(twi_arrow_type *type, const struct ArrowSchema *schema,
                          uint32_t kinds, const char *part, const char *what,
                          twi_complaint *complaint);

typedef struct twi_arrow_values {
    twi_arrow_type type;
    const uint8_t *validity;   /* NULL: no value is null */
    const unsigned char *data; /* the type's first buffer, NULL if there are no values */
    const unsigned char *more; /* the second one of lists views and texts */
    uint64_t offset;
    uint64_t length;
    int64_t text_end; /* where the text of the last value ends */
} twi_arrow_values;

/* Checks an array of a type: its own members, not those of its children, of which it must
 * have `children`. TW_OK, TW_ERR_INVAL. */
int32_t twi_arrow_values_bind(twi_arrow_values *values, twi_arrow_type type,
                              const struct ArrowArray *array, int64_t children,
                              const char *part, twi_complaint *complaint);

/* All below: i < length. */

static inline bool twi_arrow_is_null(const twi_arrow_values *values, uint64_t i)
{
    if (values->type.kind == TWI_ARROW_NULL)
        return true;
    i += values->offset;
    return values->validity && !(values->validity[i / 8] >> i % 8 & 1);
}

/* For values that are not null: */

bool twi_arrow_bool(const twi_arrow_values *values, uint64_t i);
/* A number as it is (a time in ns), or the nearest int64_t; false if it is not exact. */
bool twi_arrow_number(const twi_arrow_values *values, uint64_t i, int64_t *number);
/* The whole integer behind an index, or -1 if it is none or too large. */
int64_t twi_arrow_index(const twi_arrow_values *values, uint64_t i);
/* A piece of text of at most 12 bytes; NULL with *length > 12 for any longer one, and NULL
 * with *length 0 for one that contradicts itself. */
const char *twi_arrow_text(const twi_arrow_values *values, uint64_t i, uint64_t *length);
/* Begin and count of a list's items, of which there are `items` in all. False if they lie
 * outside. */
bool twi_arrow_list(const twi_arrow_values *values, uint64_t i, uint64_t items,
                    uint64_t *begin, uint64_t *count);

#endif
