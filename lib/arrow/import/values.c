/* SPDX-License-Identifier: MIT */
#include "arrow/import/values.h"

#include <string.h>

/* ---- Types ----------------------------------------------------------------------- */

static const struct kind {
    const char *format;
    twi_arrow_kind kind;
    int buffers; /* as many at least; exactly so but for views of text */
} kinds[] = {
    {"n", TWI_ARROW_NULL, 0},
    {"b", TWI_ARROW_BOOL, 2},
    {"c", TWI_ARROW_INT8, 2},
    {"C", TWI_ARROW_UINT8, 2},
    {"s", TWI_ARROW_INT16, 2},
    {"S", TWI_ARROW_UINT16, 2},
    {"i", TWI_ARROW_INT32, 2},
    {"I", TWI_ARROW_UINT32, 2},
    {"l", TWI_ARROW_INT64, 2},
    {"L", TWI_ARROW_UINT64, 2},
    {"f", TWI_ARROW_FLOAT32, 2},
    {"g", TWI_ARROW_FLOAT64, 2},
    {"u", TWI_ARROW_UTF8, 3},
    {"U", TWI_ARROW_LARGE_UTF8, 3},
    {"vu", TWI_ARROW_UTF8_VIEW, 3},
    {"+l", TWI_ARROW_LIST, 2},
    {"+L", TWI_ARROW_LARGE_LIST, 2},
    {"+vl", TWI_ARROW_LIST_VIEW, 3},
    {"+vL", TWI_ARROW_LARGE_LIST_VIEW, 3},
    {"+s", TWI_ARROW_STRUCT, 1},
    /* Written with a unit in their formats. */
    {"", TWI_ARROW_TIMESTAMP, 2},
    {"", TWI_ARROW_DURATION, 2},
};

static const struct kind *find_kind(twi_arrow_kind kind)
{
    const struct kind *found = kinds;

    while (found->kind != kind)
        found++;
    return found;
}

static int64_t unit_of(char letter)
{
    switch (letter) {
    case 's':
        return 1000000000;
    case 'm':
        return 1000000;
    case 'u':
        return 1000;
    case 'n':
        return 1;
    default:
        return 0;
    }
}

static twi_arrow_type parse(const char *format)
{
    const twi_arrow_type other = {TWI_ARROW_OTHER, 1};

    if (format[0] == 't' && (format[1] == 's' || format[1] == 'D')) {
        const int64_t unit = unit_of(format[2]);
        const char end = format[1] == 's' ? ':' : 0; /* a time zone follows */

        if (!unit || format[3] != end)
            return other;
        return (twi_arrow_type){end ? TWI_ARROW_TIMESTAMP : TWI_ARROW_DURATION, unit};
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && *kinds[i].format; i++)
        if (strcmp(format, kinds[i].format) == 0)
            return (twi_arrow_type){kinds[i].kind, 1};
    return other;
}

int32_t twi_arrow_type_of(twi_arrow_type *type, const struct ArrowSchema *schema,
                          uint32_t set, const char *part, const char *what,
                          twi_complaint *complaint)
{
    if (!schema->release)
        return twi_complain(complaint, TW_ERR_INVAL, part, "the schema was released");
    if (!schema->format)
        return twi_complain(complaint, TW_ERR_INVAL, part, "there is no format");
    *type = parse(schema->format);
    if (set & TWI_ARROW_SET(type->kind))
        return TW_OK;
    (void)twi_complain(complaint, TW_ERR_NOTSUP, part, "must be ");
    twi_complaint_add(complaint, what);
    twi_complaint_add(complaint, ", not of format \"");
    twi_complaint_add(complaint, schema->format);
    twi_complaint_add(complaint, "\"");
    return TW_ERR_NOTSUP;
}

/* ---- Arrays ---------------------------------------------------------------------- */

static int64_t load32(const unsigned char *at, uint64_t i)
{
    int32_t value;
    memcpy(&value, at + i * sizeof value, sizeof value);
    return value;
}

static int64_t load64(const unsigned char *at, uint64_t i)
{
    int64_t value;
    memcpy(&value, at + i * sizeof value, sizeof value);
    return value;
}

static bool is_wide(twi_arrow_kind kind)
{
    return kind == TWI_ARROW_LARGE_UTF8 || kind == TWI_ARROW_LARGE_LIST ||
           kind == TWI_ARROW_LARGE_LIST_VIEW;
}

/* A number of the first (or second) buffer of a list or a text, by its width. */
static int64_t load(const twi_arrow_values *values, const unsigned char *at, uint64_t i)
{
    return is_wide(values->type.kind) ? load64(at, i) : load32(at, i);
}

static const char *check_counts(const struct ArrowArray *array, const struct kind *kind,
                                int64_t children)
{
    if (!array->release)
        return "the array was released";
    if (array->length < 0)
        return "the length is negative";
    if (array->offset < 0)
        return "the offset is negative";
    /* So that no address of a value or of the number after it can overflow. */
    if ((uint64_t)array->length + (uint64_t)array->offset > (SIZE_MAX >> 1) / 16 - 1)
        return "length and offset are too large";
    if (array->null_count < -1 || array->null_count > array->length)
        return "null_count is out of range";
    if (array->n_buffers < kind->buffers ||
        (array->n_buffers != kind->buffers && kind->kind != TWI_ARROW_UTF8_VIEW))
        return "there is a wrong number of buffers";
    if (kind->buffers && !array->buffers)
        return "there are no buffers";
    if (array->n_children != children)
        return "there is a wrong number of children";
    if (children && !array->children)
        return "there are no children";
    return NULL;
}

static const char *check_buffers(twi_arrow_values *values, const struct ArrowArray *array,
                                 const struct kind *kind)
{
    const bool text = kind->kind == TWI_ARROW_UTF8 || kind->kind == TWI_ARROW_LARGE_UTF8;

    if (!kind->buffers)
        return NULL;
    if (array->null_count != 0)
        values->validity = array->buffers[0];
    if (array->null_count > 0 && !values->validity)
        return "there are nulls and no validity bitmap";
    if (kind->buffers == 1 || array->length == 0)
        return NULL;
    values->data = array->buffers[1];
    values->more = array->n_buffers > 2 ? array->buffers[2] : NULL;
    if (!values->data)
        return "the buffer of the values is NULL";
    if (kind->buffers == 3 && kind->kind != TWI_ARROW_UTF8_VIEW && !text && !values->more)
        return "the buffer of the sizes is NULL";
    if (text)
        values->text_end = load(values, values->data, values->offset + values->length);
    return NULL;
}

int32_t twi_arrow_values_bind(twi_arrow_values *values, twi_arrow_type type,
                              const struct ArrowArray *array, int64_t children,
                              const char *part, twi_complaint *complaint)
{
    const struct kind *kind = find_kind(type.kind);
    const char *wrong = array ? check_counts(array, kind, children) : "the array is NULL";

    memset(values, 0, sizeof *values);
    values->type = type;
    if (!wrong) {
        values->offset = (uint64_t)array->offset;
        values->length = (uint64_t)array->length;
        wrong = check_buffers(values, array, kind);
    }
    return wrong ? twi_complain(complaint, TW_ERR_INVAL, part, wrong) : TW_OK;
}

/* ---- Values ---------------------------------------------------------------------- */

bool twi_arrow_bool(const twi_arrow_values *values, uint64_t i)
{
    i += values->offset;
    return values->data[i / 8] >> i % 8 & 1;
}

/* The nearest int64_t to value * unit. */
static int64_t scaled(int64_t value, int64_t unit)
{
    if (value > INT64_MAX / unit)
        return INT64_MAX;
    if (value < INT64_MIN / unit)
        return INT64_MIN;
    return value * unit;
}

static bool whole(double real, int64_t *number)
{
    const double limit = 9007199254740992.0; /* 2^53 */

    if (!(real >= -limit && real <= limit))
        return false;
    *number = (int64_t)real;
    return (double)*number == real;
}

/* The value's bytes, of either byte order. */
#define LOAD(type, name) \
    type name;           \
    memcpy(&name, values->data + (values->offset + i) * sizeof name, sizeof name)

bool twi_arrow_number(const twi_arrow_values *values, uint64_t i, int64_t *number)
{
    switch (values->type.kind) {
    case TWI_ARROW_INT8: {
        LOAD(int8_t, value);
        *number = value;
        return true;
    }
    case TWI_ARROW_UINT8: {
        LOAD(uint8_t, value);
        *number = value;
        return true;
    }
    case TWI_ARROW_INT16: {
        LOAD(int16_t, value);
        *number = value;
        return true;
    }
    case TWI_ARROW_UINT16: {
        LOAD(uint16_t, value);
        *number = value;
        return true;
    }
    case TWI_ARROW_INT32: {
        LOAD(int32_t, value);
        *number = value;
        return true;
    }
    case TWI_ARROW_UINT32: {
        LOAD(uint32_t, value);
        *number = value;
        return true;
    }
    case TWI_ARROW_UINT64: {
        LOAD(uint64_t, value);
        *number = value > INT64_MAX ? INT64_MAX : (int64_t)value;
        return true;
    }
    case TWI_ARROW_FLOAT32: {
        LOAD(float, value);
        return whole((double)value, number);
    }
    case TWI_ARROW_FLOAT64: {
        LOAD(double, value);
        return whole(value, number);
    }
    default: { /* int64_t, timestamp, duration */
        LOAD(int64_t, value);
        *number = scaled(value, values->type.unit_ns);
        return true;
    }
    }
}

int64_t twi_arrow_index(const twi_arrow_values *values, uint64_t i)
{
    int64_t number = -1;
    return twi_arrow_number(values, i, &number) ? number : -1;
}

const char *twi_arrow_text(const twi_arrow_values *values, uint64_t i, uint64_t *length)
{
    int64_t begin, end;

    *length = 0;
    i += values->offset;
    if (values->type.kind == TWI_ARROW_UTF8_VIEW) {
        const unsigned char *view = values->data + i * 16;
        const int64_t size = load32(view, 0);

        *length = size < 0 ? 0 : (uint64_t)size;
        return size >= 0 && size <= 12 ? (const char *)view + 4 : NULL;
    }
    begin = load(values, values->data, i);
    end = load(values, values->data, i + 1);
    if (begin < 0 || begin > end || end > values->text_end)
        return NULL;
    if (begin == end)
        return "";
    if (!values->more)
        return NULL;
    *length = (uint64_t)(end - begin);
    return *length <= 12 ? (const char *)values->more + begin : NULL;
}

bool twi_arrow_list(const twi_arrow_values *values, uint64_t i, uint64_t items,
                    uint64_t *begin, uint64_t *count)
{
    int64_t from, size;

    i += values->offset;
    from = load(values, values->data, i);
    if (values->more) {
        size = load(values, values->more, i);
    } else {
        const int64_t to = load(values, values->data, i + 1);
        if (from < 0 || to < from)
            return false;
        size = to - from;
    }
    if (from < 0 || size < 0 || (uint64_t)from > items ||
        (uint64_t)size > items - (uint64_t)from)
        return false;
    *begin = (uint64_t)from;
    *count = (uint64_t)size;
    return true;
}
