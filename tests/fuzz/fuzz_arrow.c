/* SPDX-License-Identifier: MIT */
/* Bytes become Arrow schemas and arrays that keep the one promise that a consumer cannot
 * check, that buffers are as long as the array says, and no other: every other member may
 * be wrong. They are stored or refused as a whole; what is stored obeys the rules; and all
 * is released once. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

#include "fuzz.h"

enum { COLUMNS = 12, BATCHES = 3, ROWS = 40, OWNED = 512 };

#define EXPECT(condition) expect((condition) != 0, #condition, __LINE__)

static void expect(int holds, const char *what, int line)
{
    if (!holds) {
        fprintf(stderr, "fuzz_arrow.c:%d: does not hold: %s\n", line, what);
        abort();
    }
}

typedef struct bytes {
    const uint8_t *at;
    size_t left;
} bytes;

static uint64_t take(bytes *in, unsigned count)
{
    uint64_t value = 0;
    for (; count && in->left; count--, in->left--)
        value = value << 8 | *in->at++;
    return value;
}

/* True once in so many times. */
static int rarely(bytes *in, unsigned times)
{
    return take(in, 1) % times == 1;
}

/* ---- Memory of one input ----------------------------------------------------------- */

typedef struct world {
    bytes in;
    void *owned[OWNED];
    size_t owned_count;
    int given_out; /* arrays, schemas and streams */
    int released;
} world;

/* Of exactly this size, so that reading too far is seen. */
static void *own(world *w, size_t size)
{
    void *memory = calloc(1, size ? size : 1);

    if (!memory || w->owned_count == OWNED)
        abort();
    return w->owned[w->owned_count++] = memory;
}

static void disown(world *w)
{
    while (w->owned_count)
        free(w->owned[--w->owned_count]);
}

static void release_array(struct ArrowArray *array)
{
    world *w = array->private_data;
    w->released++;
    array->release = NULL;
}

/* No consumer may call the one of a child. */
static void release_child_array(struct ArrowArray *array)
{
    (void)array;
    abort();
}

static void release_schema(struct ArrowSchema *schema)
{
    world *w = schema->private_data;
    w->released++;
    schema->release = NULL;
}

static void release_child_schema(struct ArrowSchema *schema)
{
    (void)schema;
    abort();
}

/* ---- Schemas ----------------------------------------------------------------------- */

static const char *const names[] = {
    "credit_issued_ns", "start_ns",     "generation_start_ns",
    "end_ns",           "input_tokens", "output_tokens",
    "status",           "streaming",    "chunk_arrival_ns",
    "chunk_tokens",     "other",        NULL};

static const char *const numbers[] = {
    "l", "l", "l",    "c",       "C",    "s",    "S",   "i",   "I",   "L",  "f",
    "g", "n", "tss:", "tsm:UTC", "tsu:", "tsn:", "tDs", "tDm", "tDu", "tDn"};
static const char *const texts[] = {"u", "U", "vu", "n"};
static const char *const lists[] = {"+l", "+L", "+vl", "+vL"};
static const char *const strange[] = {"",     "b",   "z",     "vz",   "+s",   "+m",
                                      "+r",   "tdD", "tss",   "tsx:", "tDn:", "w:42",
                                      "+w:3", "e",   "d:9,2", "tDs ", "ll",   "+vl "};

#define PICK(in, list) ((list)[take(in, 1) % (sizeof(list) / sizeof((list)[0]))])

static const char *pick_format(world *w, const char *const *list, size_t count)
{
    if (rarely(&w->in, 40))
        return rarely(&w->in, 8) ? NULL : PICK(&w->in, strange);
    return list[take(&w->in, 1) % count];
}

static struct ArrowSchema *make_child_schema(world *w, const char *name,
                                             const char *format)
{
    struct ArrowSchema *schema = own(w, sizeof *schema);

    schema->format = format;
    schema->name = name;
    schema->release = rarely(&w->in, 100) ? NULL : release_child_schema;
    return schema;
}

static struct ArrowSchema *make_column_schema(world *w, size_t n)
{
    const int status = n == 6, list = n == 8 || n == 9;
    struct ArrowSchema *schema;
    const char *format;

    if (status && !rarely(&w->in, 3))
        format = pick_format(w, texts, 4);
    else if (n == 7)
        format = pick_format(w, (const char *const[]){"b", "b", "n"}, 3);
    else if (list)
        format = pick_format(w, lists, 4);
    else
        format = pick_format(w, numbers, sizeof numbers / sizeof numbers[0]);
    schema = make_child_schema(w, names[n], format);
    if (list || rarely(&w->in, 60)) {
        schema->n_children = rarely(&w->in, 40) ? (int64_t)(int8_t)take(&w->in, 1) : 1;
        if (schema->n_children > 1)
            schema->n_children = 0;
        if (!rarely(&w->in, 40)) {
            schema->children = own(w, sizeof(void *));
            if (!rarely(&w->in, 40))
                schema->children[0] = make_child_schema(
                    w, "item", pick_format(w, numbers, sizeof numbers / sizeof *numbers));
        }
    }
    if ((status && (!format || format[0] != 'u')) || rarely(&w->in, 60))
        if (!rarely(&w->in, 40))
            schema->dictionary = make_child_schema(w, NULL, pick_format(w, texts, 4));
    return schema;
}

static void make_schema(world *w, struct ArrowSchema *schema)
{
    const uint64_t mask = take(&w->in, 2);

    memset(schema, 0, sizeof *schema);
    schema->format = rarely(&w->in, 80) ? PICK(&w->in, strange) : "+s";
    schema->children = own(w, COLUMNS * sizeof(void *));
    for (size_t n = 0; n < COLUMNS; n++) {
        if (n != 1 && !(mask >> n & 1))
            continue;
        if (n == 1 && rarely(&w->in, 80))
            continue;
        schema->children[schema->n_children++] = rarely(&w->in, 120)
                                                     ? NULL
                                                     : make_column_schema(w, n);
    }
    if (schema->n_children < COLUMNS && rarely(&w->in, 80))
        schema->children[schema->n_children++] = make_column_schema(w, 1);
    if (rarely(&w->in, 150))
        schema->n_children = -schema->n_children;
    if (rarely(&w->in, 150))
        schema->children = NULL;
    if (rarely(&w->in, 150))
        schema->dictionary = make_child_schema(w, NULL, "u");
    schema->release = rarely(&w->in, 150) ? NULL : release_schema;
    schema->private_data = w;
    w->given_out += schema->release != NULL;
}

/* ---- Arrays ------------------------------------------------------------------------ */

/* A number that is no count of anything. */
static int64_t take_odd(bytes *in)
{
    switch (take(in, 1) % 4) {
    case 0:
        return INT64_MIN;
    case 1:
        return -1 - (int64_t)take(in, 1);
    case 2:
        return INT64_MAX;
    default:
        return INT64_C(1) << 60;
    }
}

static int64_t take_count(bytes *in, int64_t most)
{
    return rarely(in, 60) ? take_odd(in) : (int64_t)(take(in, 1) % (uint64_t)(most + 1));
}

static void *take_bytes(world *w, size_t size)
{
    uint8_t *buffer = own(w, size);
    const size_t some = size < w->in.left ? size : w->in.left;

    /* What is there is used again by what follows. */
    if (some) {
        memcpy(buffer, w->in.at, some);
        w->in.at += some / 2;
        w->in.left -= some / 2;
    }
    return buffer;
}

static void *take_integers(world *w, size_t count, size_t width)
{
    const uint64_t how = take(&w->in, 1) % 4;
    uint8_t *buffer;
    int64_t last = how == 3 ? INT64_C(1700000000000000000) : 0;

    if (how == 0)
        return take_bytes(w, count * width);
    buffer = own(w, count * width);
    for (size_t i = 0; i < count; i++) {
        const int64_t wide = last = how == 1 ? (int64_t)take(&w->in, 1)
                                             : last + (int64_t)(take(&w->in, 1) % 16);
        const int32_t narrow = (int32_t)wide;

        if (width == 8)
            memcpy(buffer + i * 8, &wide, 8);
        else if (width == 4)
            memcpy(buffer + i * 4, &narrow, 4);
        else
            memset(buffer + i * width, (int)(wide & 0x7f), width);
    }
    return buffer;
}

static int64_t read_integer(const uint8_t *buffer, size_t i, size_t width)
{
    int64_t wide;
    int32_t narrow;

    if (width == 8) {
        memcpy(&wide, buffer + i * 8, 8);
        return wide;
    }
    memcpy(&narrow, buffer + i * 4, 4);
    return narrow;
}

static size_t width_of(const char *format)
{
    switch (format[0]) {
    case 'c':
    case 'C':
        return 1;
    case 's':
    case 'S':
        return 2;
    case 'i':
    case 'I':
    case 'f':
    case 'u':
        return 4;
    case 'v':
        return 16;
    case '+':
        return format[1] == 'L' || (format[1] == 'v' && format[2] == 'L') ? 8 : 4;
    default:
        return 8;
    }
}

static void make_texts(world *w, struct ArrowArray *array, size_t values, size_t width)
{
    static const char text[] = "okfailedcancelledokay";
    uint8_t *offsets = take_integers(w, values + 1, width), *data;
    const int64_t end = read_integer(offsets, values, width);
    const int64_t good = end < 0 || end > 64 ? 21 : end;
    const int32_t narrow = (int32_t)good;

    if (width == 8)
        memcpy(offsets + values * 8, &good, 8);
    else
        memcpy(offsets + values * 4, &narrow, 4);
    data = own(w, (size_t)good);
    for (int64_t i = 0; i < good; i++)
        data[i] = (uint8_t)text[i % 21];
    array->buffers[1] = offsets;
    array->buffers[2] = data;
}

static void make_views(world *w, struct ArrowArray *array, size_t values)
{
    static const char *const words[] = {"ok", "failed", "cancelled", "okay", ""};
    uint8_t *views = take_bytes(w, values * 16);

    for (size_t i = 0; i < values; i++) {
        const char *word = PICK(&w->in, words);
        const int32_t length = (int32_t)strlen(word);

        if (rarely(&w->in, 10))
            continue;
        memcpy(views + i * 16, &length, 4);
        memcpy(views + i * 16 + 4, word, (size_t)length);
    }
    array->buffers[1] = views;
    array->buffers[2] = own(w, 8);
}

/* What a format has, for as many values as the array says. */
static void make_buffers(world *w, struct ArrowArray *array, const char *format)
{
    const int real = array->length >= 0 && array->offset >= 0 && array->length <= 255 &&
                     array->offset <= 255;
    const size_t values = real ? (size_t)(array->length + array->offset) : 0;
    const size_t width = width_of(format);

    array->buffers = own(w, 4 * sizeof(void *));
    array->n_buffers = 2;
    if (array->null_count != 0 || rarely(&w->in, 4))
        array->buffers[0] = take_bytes(w, (values + 7) / 8);
    switch (format[0]) {
    case 'n':
        array->n_buffers = 0;
        break;
    case 'b':
        array->buffers[1] = take_bytes(w, (values + 7) / 8);
        break;
    case 'u':
    case 'U':
        make_texts(w, array, values, format[0] == 'u' ? 4 : 8);
        array->n_buffers = 3;
        break;
    case 'v':
        make_views(w, array, values);
        array->n_buffers = 3;
        break;
    case '+':
        if (format[1] == 's') {
            array->n_buffers = 1;
            break;
        }
        array->buffers[1] = take_integers(w, values + 1, width);
        if (format[1] == 'v') {
            array->buffers[2] = take_integers(w, values, width);
            array->n_buffers = 3;
        }
        break;
    default:
        array->buffers[1] = take_integers(w, values, width);
    }
    if (rarely(&w->in, 60))
        array->n_buffers = (int64_t)(int8_t)take(&w->in, 1) % 5;
    if (rarely(&w->in, 60))
        array->buffers[take(&w->in, 1) % 3] = NULL;
    if (rarely(&w->in, 150))
        array->buffers = NULL;
}

static struct ArrowArray *make_child(world *w, const struct ArrowSchema *schema,
                                     int64_t least)
{
    struct ArrowArray *array = own(w, sizeof *array);

    array->offset = take_count(&w->in, 9);
    array->length = rarely(&w->in, 30) ? take_count(&w->in, ROWS)
                                       : least + (int64_t)(take(&w->in, 1) % 3);
    array->null_count = rarely(&w->in, 30) ? take_count(&w->in, 9)
                                           : -(int64_t)(take(&w->in, 1) & 1);
    make_buffers(w, array, schema && schema->format ? schema->format : "l");
    if (schema && schema->n_children == 1 && schema->children) {
        array->n_children = 1;
        array->children = own(w, sizeof(void *));
        if (!rarely(&w->in, 60))
            array->children[0] = make_child(w, schema->children[0], 20);
    }
    if (schema && schema->dictionary && !rarely(&w->in, 40))
        array->dictionary = make_child(w, schema->dictionary, 5);
    if (rarely(&w->in, 150))
        array->n_children = (int64_t)(int8_t)take(&w->in, 1);
    if (rarely(&w->in, 150))
        array->children = NULL;
    array->release = rarely(&w->in, 150) ? NULL : release_child_array;
    return array;
}

static void make_array(world *w, const struct ArrowSchema *schema,
                       struct ArrowArray *array)
{
    int64_t least;

    memset(array, 0, sizeof *array);
    array->offset = rarely(&w->in, 3) ? take_count(&w->in, 9) : 0;
    array->length = take_count(&w->in, ROWS);
    least = array->length >= 0 && array->length <= ROWS && array->offset >= 0 &&
                    array->offset <= 255
                ? array->length + array->offset
                : 3;
    array->null_count = rarely(&w->in, 10) ? -1 : 0;
    make_buffers(w, array, "+s");
    array->n_children = schema->n_children;
    if (schema->children && schema->n_children > 0) {
        array->children = own(w, (size_t)schema->n_children * sizeof(void *));
        for (int64_t i = 0; i < schema->n_children; i++)
            array->children[i] = rarely(&w->in, 150)
                                     ? NULL
                                     : make_child(w, schema->children[i], least);
    }
    if (rarely(&w->in, 150))
        array->n_children--;
    if (rarely(&w->in, 150))
        array->dictionary = make_child(w, NULL, 1);
    array->release = release_array;
    array->private_data = w;
    w->given_out++;
}

/* ---- Streams ----------------------------------------------------------------------- */

typedef struct feed {
    world *w;
    struct ArrowSchema schema;
    uint64_t batches;
    uint64_t rows; /* that were given out, by their word */
} feed;

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    feed *f = stream->private_data;

    if (rarely(&f->w->in, 60))
        return 5;
    *out = f->schema;
    f->schema.release = NULL;
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    feed *f = stream->private_data;

    if (f->batches == 0) {
        out->release = NULL;
        return 0;
    }
    if (rarely(&f->w->in, 40))
        return 12;
    f->batches--;
    make_array(f->w, &f->schema, out);
    f->rows += (uint64_t)out->length;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    feed *f = stream->private_data;
    return rarely(&f->w->in, 2) ? NULL : "the producer has a problem \xc3\xa4\xc3\xb6";
}

static void release_stream(struct ArrowArrayStream *stream)
{
    feed *f = stream->private_data;

    f->w->released++;
    if (f->schema.release)
        f->schema.release(&f->schema);
    stream->release = NULL;
}

/* ---- Invariants -------------------------------------------------------------------- */

static void check_append(const tw_recorder *recorder, uint64_t before, uint64_t refused,
                         int32_t status, int skip, size_t accepted, uint64_t rows)
{
    tw_balance balance = {.struct_size = sizeof balance};
    tw_error error = {.struct_size = sizeof error};
    const char *text = tw_recorder_arrow_error(recorder);

    EXPECT(tw_recorder_balance(recorder, &balance) == TW_OK);
    EXPECT(tw_recorder_last_error(recorder, &error) == TW_OK);
    EXPECT(strlen(text) < 256);
    EXPECT(balance.issued == tw_recorder_count(recorder));
    switch (status) {
    case TW_OK:
        EXPECT(tw_recorder_count(recorder) == before + accepted);
        EXPECT(accepted + (balance.refused - refused) == rows);
        EXPECT(skip || balance.refused == refused);
        return;
    case TW_ERR_RANGE:
        EXPECT(!skip && tw_rule_name(error.rule) && tw_field_name(error.field));
        EXPECT(balance.refused == refused + 1);
        break;
    default:
        EXPECT(status == TW_ERR_INVAL || status == TW_ERR_NOTSUP || status == TW_ERR_IO);
        EXPECT(*text && balance.refused == refused);
    }
    EXPECT(error.status == status && accepted == 77);
    EXPECT(tw_recorder_count(recorder) == before);
}

/* What was stored would be stored again. */
static void check_stored(const tw_recorder *recorder)
{
    tw_record page[ROWS];
    tw_recorder *again;
    size_t written, read;

    EXPECT(tw_recorder_new(&again, NULL) == TW_OK);
    for (uint64_t i = 0; i < tw_recorder_count(recorder); i += written) {
        EXPECT(tw_recorder_read(recorder, i, page, ROWS, sizeof *page, &written) ==
               TW_OK);
        uint64_t chunks = 0;
        for (size_t r = 0; r < written; r++)
            chunks += page[r].chunk_count;
        int64_t *arrival_ns = malloc((size_t)(2 * chunks + 1) * sizeof *arrival_ns);
        EXPECT(arrival_ns);
        EXPECT(tw_recorder_read_chunks(recorder, i, page, written, sizeof *page,
                                       arrival_ns, arrival_ns + chunks, (size_t)chunks,
                                       &read) == TW_OK);
        EXPECT(read == chunks);
        EXPECT(tw_recorder_append(again, page, written, sizeof *page, 0, NULL) == TW_OK);
        free(arrival_ns);
    }
    tw_recorder_free(again);
}

static int64_t drain(struct ArrowArrayStream *stream)
{
    int64_t rows = 0;

    for (;;) {
        struct ArrowArray array;

        EXPECT(stream->get_next(stream, &array) == 0);
        if (!array.release)
            break;
        rows += array.length;
        array.release(&array);
    }
    stream->release(stream);
    return rows;
}

static void check_results(tw_recorder *recorder)
{
    struct ArrowArrayStream metrics, curve;
    tw_analysis *analysis;
    int64_t emitted = 0;
    int32_t status;

    EXPECT(tw_analyze(&analysis, &recorder, 1, NULL) == TW_OK);
    for (size_t i = 0; i < tw_metric_count(); i++) {
        tw_metric_row row = {.struct_size = sizeof row};
        tw_summary summary = {.struct_size = sizeof summary};

        EXPECT(tw_metric_info(i, &row) == TW_OK);
        emitted += tw_analysis_summary(analysis, row.id, &summary) == TW_OK;
    }
    EXPECT(tw_arrow_metrics(&metrics, analysis) == TW_OK);
    status = tw_arrow_curve(&curve, analysis, TW_EFFECTIVE_CONCURRENCY);
    tw_analysis_free(analysis);
    EXPECT(drain(&metrics) == emitted);
    if (status == TW_OK)
        EXPECT(drain(&curve) > 0);
    else
        EXPECT(status == TW_ERR_NODATA);
}

/* ---- One input --------------------------------------------------------------------- */

static void append_once(world *w, tw_recorder *recorder)
{
    const uint64_t how = take(&w->in, 1);
    const uint32_t flags = how & 1 ? TW_APPEND_SKIP_INVALID : 0;
    const uint64_t before = tw_recorder_count(recorder);
    tw_balance balance = {.struct_size = sizeof balance};
    size_t accepted = 77;
    uint64_t rows;
    int32_t status;

    EXPECT(tw_recorder_balance(recorder, &balance) == TW_OK);
    w->given_out = w->released = 0;
    if (how & 2) {
        feed f = {.w = w, .batches = how >> 2 & BATCHES};
        struct ArrowArrayStream stream = {get_schema, get_next, get_last_error,
                                          release_stream, &f};

        make_schema(w, &f.schema);
        w->given_out++;
        status = tw_recorder_append_arrow_stream(recorder, &stream, flags, &accepted);
        EXPECT(!stream.release);
        rows = f.rows;
    } else {
        struct ArrowSchema schema;
        struct ArrowArray array;

        make_schema(w, &schema);
        make_array(w, &schema, &array);
        rows = (uint64_t)array.length;
        status = tw_recorder_append_arrow(recorder, &schema, &array, flags, &accepted);
        EXPECT(!array.release);
        if (schema.release)
            schema.release(&schema);
    }
    EXPECT(w->given_out == w->released);
    check_append(recorder, before, balance.refused, status, flags != 0, accepted, rows);
    disown(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    world w = {.in = {data, size}};
    tw_recorder *recorder;

    EXPECT(tw_recorder_new(&recorder, NULL) == TW_OK);
    for (int i = 0; i < 2; i++)
        append_once(&w, recorder);
    check_stored(recorder);
    check_results(recorder);
    tw_recorder_free(recorder);
    return 0;
}
