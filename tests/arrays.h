/* SPDX-License-Identifier: MIT */
#ifndef ARRAYS_H
#define ARRAYS_H

/* Arrow data made by hand: a struct with columns, whose members a test may then change, and
 * streams of such. The buffers are the test's own. */

#include <stddef.h>
#include <stdint.h>
#include <timeweight/arrow.h>

enum { BATCH_COLUMNS = 14, BATCH_BUFFERS = 4 };

/* One array with its type. */
typedef struct batch_part {
    struct ArrowSchema schema;
    struct ArrowArray array;
    const void *buffers[BATCH_BUFFERS];
} batch_part;

typedef struct batch {
    batch_part root;
    batch_part column[BATCH_COLUMNS];
    batch_part inner[BATCH_COLUMNS]; /* items of a list or values of a dictionary */
    struct ArrowSchema *schemas[BATCH_COLUMNS], *inner_schemas[BATCH_COLUMNS];
    struct ArrowArray *arrays[BATCH_COLUMNS], *inner_arrays[BATCH_COLUMNS];
    int columns;
    int array_releases, schema_releases;
    int child_releases;               /* called by others than the parent's */
    const struct ArrowArray *last_at; /* where the array was when it was released */
} batch;

/* A struct of so many rows and no columns yet. */
void batch_init(batch *b, int64_t length);
/* Adds a column of as many values. `validity` is a bitmap or NULL, which makes null_count -1
 * or 0; `values` is the second buffer. Other buffers and members are for the test to set. */
batch_part *batch_add(batch *b, const char *name, const char *format,
                      const void *validity, const void *values);
/* Items of the list that was added last. */
batch_part *batch_add_items(batch *b, const char *format, int64_t length,
                            const void *validity, const void *values);
/* Values of the dictionary of the column that was added last; offsets and text. */
batch_part *batch_add_dictionary(batch *b, const char *format, int64_t length,
                                 const void *offsets, const void *text);
batch_part *batch_column(batch *b, const char *name);
/* Copies to be passed on, each to be released once. */
struct ArrowSchema batch_schema(batch *b);
struct ArrowArray batch_array(batch *b);

/* A stream of batches of one type. */
typedef struct feed {
    batch *const *batches;
    int count;
    int schema_code;   /* what get_schema fails with, or 0 */
    int next_code;     /* what get_next fails with after the batches, or 0 */
    const char *words; /* of get_last_error */
    int next;          /* batch */
    int next_calls, error_calls, releases;
} feed;

struct ArrowArrayStream feed_stream(feed *f);

#endif
