/* SPDX-License-Identifier: MIT */
#include "arrays.h"

#include <string.h>

/* ---- Batches ----------------------------------------------------------------------- */

static void release_child_schema(struct ArrowSchema *schema)
{
    batch *b = schema->private_data;
    b->child_releases++;
    schema->release = NULL;
}

static void release_child_array(struct ArrowArray *array)
{
    batch *b = array->private_data;
    b->child_releases++;
    array->release = NULL;
}

static void release_schema(struct ArrowSchema *schema)
{
    batch *b = schema->private_data;
    b->schema_releases++;
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
    batch *b = array->private_data;
    b->array_releases++;
    b->last_at = array;
    array->release = NULL;
}

static void part_init(batch *b, batch_part *p, const char *name, const char *format,
                      int64_t length, const void *validity, const void *values)
{
    memset(p, 0, sizeof *p);
    p->schema = (struct ArrowSchema){.format = format,
                                     .name = name,
                                     .flags = ARROW_FLAG_NULLABLE,
                                     .release = release_child_schema,
                                     .private_data = b};
    p->buffers[0] = validity;
    p->buffers[1] = values;
    p->array = (struct ArrowArray){.length = length,
                                   .null_count = validity ? -1 : 0,
                                   .n_buffers = 2,
                                   .buffers = p->buffers,
                                   .release = release_child_array,
                                   .private_data = b};
    if (strcmp(format, "n") == 0)
        p->array.n_buffers = 0;
    else if (*format == 'u' || *format == 'U' || *format == 'v' || format[1] == 'v')
        p->array.n_buffers = 3;
}

void batch_init(batch *b, int64_t length)
{
    memset(b, 0, sizeof *b);
    part_init(b, &b->root, "", "+s", length, NULL, NULL);
    b->root.array.n_buffers = 1;
    b->root.schema.children = b->schemas;
    b->root.array.children = b->arrays;
    b->root.schema.release = release_schema;
    b->root.array.release = release_array;
}

batch_part *batch_add(batch *b, const char *name, const char *format,
                      const void *validity, const void *values)
{
    batch_part *p = &b->column[b->columns];

    part_init(b, p, name, format, b->root.array.length, validity, values);
    b->schemas[b->columns] = &p->schema;
    b->arrays[b->columns] = &p->array;
    b->columns++;
    b->root.schema.n_children = b->root.array.n_children = b->columns;
    return p;
}

batch_part *batch_add_items(batch *b, const char *format, int64_t length,
                            const void *validity, const void *values)
{
    const int c = b->columns - 1;
    batch_part *list = &b->column[c], *p = &b->inner[c];

    part_init(b, p, "item", format, length, validity, values);
    b->inner_schemas[c] = &p->schema;
    b->inner_arrays[c] = &p->array;
    list->schema.children = &b->inner_schemas[c];
    list->array.children = &b->inner_arrays[c];
    list->schema.n_children = list->array.n_children = 1;
    return p;
}

batch_part *batch_add_dictionary(batch *b, const char *format, int64_t length,
                                 const void *offsets, const void *text)
{
    const int c = b->columns - 1;
    batch_part *p = &b->inner[c];

    part_init(b, p, NULL, format, length, NULL, offsets);
    p->buffers[2] = text;
    b->column[c].schema.dictionary = &p->schema;
    b->column[c].array.dictionary = &p->array;
    return p;
}

batch_part *batch_column(batch *b, const char *name)
{
    for (int i = 0; i < b->columns; i++)
        if (strcmp(b->column[i].schema.name, name) == 0)
            return &b->column[i];
    return NULL;
}

struct ArrowSchema batch_schema(batch *b)
{
    return b->root.schema;
}

struct ArrowArray batch_array(batch *b)
{
    return b->root.array;
}

/* ---- Streams ----------------------------------------------------------------------- */

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    feed *f = stream->private_data;

    if (f->schema_code)
        return f->schema_code;
    *out = batch_schema(f->batches[0]);
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    feed *f = stream->private_data;

    f->next_calls++;
    memset(out, 0, sizeof *out);
    if (f->next < f->count)
        *out = batch_array(f->batches[f->next++]);
    else
        return f->next_code;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    feed *f = stream->private_data;
    f->error_calls++;
    return f->words;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    feed *f = stream->private_data;
    f->releases++;
    stream->release = NULL;
}

struct ArrowArrayStream feed_stream(feed *f)
{
    return (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream,
                                     f};
}
