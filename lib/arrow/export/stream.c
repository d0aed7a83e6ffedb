/* SPDX-License-Identifier: MIT */
#include "arrow/export/stream.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

/* ---- Blocks ---------------------------------------------------------------------- */

/* A schema or an array with its children and all that they point to, in one piece of memory.
 * A child may be moved out of its parent and outlive it, so each holds a reference. */
typedef struct block {
    atomic_uint references;
    tw_allocator allocator;
    size_t size;
} block;

/* Parts of a block are laid out one after the other. */
static size_t padded(size_t size)
{
    const size_t align = alignof(max_align_t);
    return (size + align - 1) / align * align;
}

static block *block_new(const tw_allocator *allocator, size_t size, size_t references)
{
    block *made;

    size += padded(sizeof *made);
    made = twi_mem_zalloc(allocator, size, 1);
    if (!made)
        return NULL;
    atomic_init(&made->references, (unsigned)references);
    made->allocator = *allocator;
    made->size = size;
    return made;
}

static unsigned char *block_room(block *b)
{
    return (unsigned char *)b + padded(sizeof *b);
}

static void block_release(block *b)
{
    const tw_allocator allocator = b->allocator;

    if (atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) == 1)
        twi_mem_free(&allocator, b, b->size, 1);
}

/* ---- Streams --------------------------------------------------------------------- */

typedef union slot {
    const char *text;
    int64_t integer;
    double real;
} slot;

typedef struct stream {
    tw_allocator allocator;
    size_t size;
    twi_arrow_table table;
    twi_arrow_column *columns;
    void *state;
    twi_arrow_cell *cells; /* of one row */
    slot *slots;           /* of the next array, column by column */
    uint8_t *nulls;        /* beside them */
    size_t rows;           /* that are there */
    bool is_done;          /* there are no further ones */
} stream;

/* ---- Schemas --------------------------------------------------------------------- */

static void release_child_schema(struct ArrowSchema *schema)
{
    block *b = schema->private_data;

    schema->release = NULL;
    block_release(b);
}

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    release_child_schema(schema);
}

static int get_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    static const char *const formats[] = {
        [TWI_ARROW_COLUMN_TEXT] = "u",
        [TWI_ARROW_COLUMN_INT64] = "l",
        [TWI_ARROW_COLUMN_FLOAT64] = "g",
    };
    const stream *s = self->private_data;
    const size_t count = s->table.column_count;
    const size_t pointers_size = padded(count * sizeof(struct ArrowSchema *));
    const size_t children_size = padded(count * sizeof(struct ArrowSchema));
    block *b = block_new(&s->allocator,
                         pointers_size + children_size + count * sizeof s->columns->name,
                         count + 1);
    struct ArrowSchema **pointers, *children;
    char *names;

    if (!b)
        return ENOMEM;
    pointers = (struct ArrowSchema **)(void *)block_room(b);
    children = (struct ArrowSchema *)(void *)(block_room(b) + pointers_size);
    names = (char *)block_room(b) + pointers_size + children_size;
    for (size_t i = 0; i < count; i++) {
        const twi_arrow_column *column = &s->columns[i];

        memcpy(names, column->name, sizeof column->name);
        pointers[i] = &children[i];
        children[i] = (struct ArrowSchema){
            .format = formats[column->type],
            .name = names,
            .flags = column->nullable ? ARROW_FLAG_NULLABLE : 0,
            .release = release_child_schema,
            .private_data = b,
        };
        names += sizeof column->name;
    }
    *out = (struct ArrowSchema){
        .format = "+s",
        .name = "",
        .n_children = (int64_t)count,
        .children = pointers,
        .release = release_schema,
        .private_data = b,
    };
    return 0;
}

/* ---- Arrays ---------------------------------------------------------------------- */

static void fill(stream *s)
{
    const size_t room = s->table.page_rows;

    while (s->rows < room && !s->is_done) {
        memset(s->cells, 0, s->table.column_count * sizeof *s->cells);
        if (!s->table.next(s->state, s->cells)) {
            s->is_done = true;
            break;
        }
        for (size_t c = 0; c < s->table.column_count; c++) {
            const size_t at = c * room + s->rows;

            s->nulls[at] = s->cells[c].is_null;
            memcpy(&s->slots[at], &s->cells[c].as, sizeof *s->slots);
        }
        s->rows++;
    }
}

static size_t bitmap_size(const stream *s)
{
    return padded((s->rows + 7) / 8);
}

/* Of the offsets or the values. */
static size_t values_size(const stream *s, size_t column)
{
    if (s->columns[column].type == TWI_ARROW_COLUMN_TEXT)
        return padded((s->rows + 1) * sizeof(int32_t));
    return padded(s->rows * sizeof(int64_t));
}

static size_t text_size(const stream *s, size_t column)
{
    const size_t first = column * s->table.page_rows;
    size_t size = 0;

    if (s->columns[column].type != TWI_ARROW_COLUMN_TEXT)
        return 0;
    for (size_t at = first; at < first + s->rows; at++)
        if (!s->nulls[at])
            size += strlen(s->slots[at].text);
    return padded(size);
}

static int64_t write_validity(const stream *s, size_t column, unsigned char *bits)
{
    int64_t nulls = 0;

    for (size_t i = 0; i < s->rows; i++) {
        const bool is_null = s->nulls[column * s->table.page_rows + i];

        nulls += is_null;
        if (!is_null)
            bits[i / 8] = (unsigned char)(bits[i / 8] | 1u << i % 8);
    }
    return nulls;
}

static void write_texts(const stream *s, size_t column, unsigned char *offsets,
                        unsigned char *text)
{
    const size_t first = column * s->table.page_rows;
    int32_t end = 0;

    memcpy(offsets, &end, sizeof end);
    for (size_t i = 0; i < s->rows; i++) {
        if (!s->nulls[first + i]) {
            const size_t length = strlen(s->slots[first + i].text);

            memcpy(text + end, s->slots[first + i].text, length);
            end += (int32_t)length;
        }
        memcpy(offsets + (i + 1) * sizeof end, &end, sizeof end);
    }
}

static void release_child_array(struct ArrowArray *array)
{
    block *b = array->private_data;

    array->release = NULL;
    block_release(b);
}

static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    release_child_array(array);
}

enum { BUFFERS = 3 };

/* Buffers and numbers of one column, from `room` on; gives the end. */
static unsigned char *write_column(const stream *s, size_t column,
                                   struct ArrowArray *array, const void **buffers,
                                   unsigned char *room)
{
    const bool is_text = s->columns[column].type == TWI_ARROW_COLUMN_TEXT;
    unsigned char *values = room + bitmap_size(s),
                  *text = values + values_size(s, column);

    array->length = (int64_t)s->rows;
    array->null_count = write_validity(s, column, room);
    array->n_buffers = is_text ? 3 : 2;
    array->buffers = buffers;
    buffers[0] = array->null_count ? room : NULL;
    buffers[1] = values;
    buffers[2] = text;
    if (is_text)
        write_texts(s, column, values, text);
    else if (s->rows)
        memcpy(values, &s->slots[column * s->table.page_rows], s->rows * sizeof(int64_t));
    return text + text_size(s, column);
}

static int get_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    stream *s = self->private_data;
    const size_t count = s->table.column_count;
    const size_t pointers_size = padded(count * sizeof(struct ArrowArray *));
    const size_t children_size = padded(count * sizeof(struct ArrowArray));
    const size_t buffers_size = padded((1 + count * BUFFERS) * sizeof(void *));
    size_t size = pointers_size + children_size + buffers_size;
    struct ArrowArray **pointers, *children;
    const void **buffers;
    unsigned char *room;
    block *b;

    fill(s);
    if (s->rows == 0) {
        memset(out, 0, sizeof *out);
        return 0;
    }
    for (size_t c = 0; c < count; c++)
        size += bitmap_size(s) + values_size(s, c) + text_size(s, c);
    b = block_new(&s->allocator, size, count + 1);
    if (!b)
        return ENOMEM; /* the rows stay for another try */
    room = block_room(b);
    pointers = (struct ArrowArray **)(void *)room;
    children = (struct ArrowArray *)(void *)(room + pointers_size);
    buffers = (const void **)(void *)(room + pointers_size + children_size);
    room += pointers_size + children_size + buffers_size;
    for (size_t c = 0; c < count; c++) {
        pointers[c] = &children[c];
        children[c].release = release_child_array;
        children[c].private_data = b;
        room = write_column(s, c, &children[c], buffers + 1 + c * BUFFERS, room);
    }
    *out = (struct ArrowArray){
        .length = (int64_t)s->rows,
        .n_buffers = 1,
        .n_children = (int64_t)count,
        .buffers = buffers,
        .children = pointers,
        .release = release_array,
        .private_data = b,
    };
    s->rows = 0;
    return 0;
}

/* ---- The rest -------------------------------------------------------------------- */

static const char *get_last_error(struct ArrowArrayStream *self)
{
    (void)self;
    return tw_strerror(TW_ERR_NOMEM); /* nothing else can happen */
}

static void release_stream(struct ArrowArrayStream *self)
{
    stream *s = self->private_data;
    const tw_allocator allocator = s->allocator;

    if (s->table.release)
        s->table.release(s->state);
    twi_mem_free(&allocator, s, s->size, 1);
    self->release = NULL;
}

void *twi_arrow_stream_new(struct ArrowArrayStream *out, const tw_allocator *allocator,
                           const twi_arrow_table *table)
{
    const size_t count = table->column_count, slots = count * table->page_rows;
    const size_t columns_at = padded(sizeof(stream));
    const size_t state_at = columns_at + padded(count * sizeof *table->columns);
    const size_t cells_at = state_at + padded(table->state_size);
    const size_t slots_at = cells_at + padded(count * sizeof(twi_arrow_cell));
    const size_t nulls_at = slots_at + slots * sizeof(slot);
    const size_t size = nulls_at + slots;
    unsigned char *room = twi_mem_alloc(allocator, size, 1);
    stream *s;

    if (!room)
        return NULL;
    memset(room, 0, slots_at);
    s = (stream *)(void *)room;
    s->allocator = *allocator;
    s->size = size;
    s->table = *table;
    s->columns = (twi_arrow_column *)(void *)(room + columns_at);
    memcpy(s->columns, table->columns, count * sizeof *table->columns);
    s->state = room + state_at;
    s->cells = (twi_arrow_cell *)(void *)(room + cells_at);
    s->slots = (slot *)(void *)(room + slots_at);
    s->nulls = room + nulls_at;
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream,
                                     s};
    return s->state;
}

void twi_arrow_stream_prefetch(struct ArrowArrayStream *self)
{
    fill(self->private_data);
}
