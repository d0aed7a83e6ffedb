/* SPDX-License-Identifier: MIT */
#include "arrow/import/batch.h"

#include <stdalign.h>
#include <string.h>

#include "base/mem.h"
#include "store/rules.h"

/* ---- Columns --------------------------------------------------------------------- */

static const char a_time[] = "an integer, a float or a timestamp";
static const char a_count[] = "an integer or a float";

static const struct field {
    const char *name;
    int32_t field;  /* tw_field */
    uint32_t kinds; /* set of types */
    const char *what;
    uint32_t inner_kinds; /* of items, or of a dictionary's values; 0: neither */
    const char *inner_what;
} fields[TWI_ARROW_FIELDS] = {
    [TWI_ARROW_CREDIT] = {"credit_issued_ns", TW_FIELD_CREDIT_ISSUED_NS, TWI_ARROW_TIMES,
                          a_time, 0, NULL},
    [TWI_ARROW_START] = {"start_ns", TW_FIELD_START_NS, TWI_ARROW_TIMES, a_time, 0, NULL},
    [TWI_ARROW_GENERATION] = {"generation_start_ns", TW_FIELD_GENERATION_START_NS,
                              TWI_ARROW_TIMES, a_time, 0, NULL},
    [TWI_ARROW_END] = {"end_ns", TW_FIELD_END_NS, TWI_ARROW_TIMES, a_time, 0, NULL},
    [TWI_ARROW_INPUT_TOKENS] = {"input_tokens", TW_FIELD_INPUT_TOKENS, TWI_ARROW_NUMBERS,
                                a_count, 0, NULL},
    [TWI_ARROW_OUTPUT_TOKENS] = {"output_tokens", TW_FIELD_OUTPUT_TOKENS,
                                 TWI_ARROW_NUMBERS, a_count, 0, NULL},
    [TWI_ARROW_STATUS] = {"status", TW_FIELD_STATUS, TWI_ARROW_TEXTS, "utf8",
                          TWI_ARROW_TEXTS, "utf8"},
    [TWI_ARROW_STREAMING] = {"streaming", TW_FIELD_FLAGS,
                             TWI_ARROW_SET(TWI_ARROW_BOOL) |
                                 TWI_ARROW_SET(TWI_ARROW_NULL),
                             "a boolean", 0, NULL},
    [TWI_ARROW_ARRIVALS] = {"chunk_arrival_ns", TW_FIELD_CHUNK_ARRIVAL_NS,
                            TWI_ARROW_LISTS, "a list",
                            TWI_ARROW_TIMES | TWI_ARROW_SET(TWI_ARROW_DURATION),
                            "an integer, a float, a timestamp or a duration"},
    [TWI_ARROW_CHUNK_TOKENS] = {"chunk_tokens", TW_FIELD_CHUNK_TOKENS, TWI_ARROW_LISTS,
                                "a list", TWI_ARROW_NUMBERS, a_count},
};

static bool is_list(twi_arrow_type type)
{
    return type.kind >= TWI_ARROW_LIST && type.kind <= TWI_ARROW_LARGE_LIST_VIEW;
}

/* ---- Schemas --------------------------------------------------------------------- */

static int32_t plan_dictionary(twi_arrow_plan *plan, int f,
                               const struct ArrowSchema *schema, twi_complaint *complaint)
{
    const struct ArrowSchema *dictionary = schema->dictionary;
    int32_t status;

    if (f != TWI_ARROW_STATUS)
        return twi_complain(complaint, TW_ERR_NOTSUP, NULL,
                            "must not be dictionary-encoded");
    status = twi_arrow_type_of(&plan->columns[f].type, schema, TWI_ARROW_INTEGERS,
                               "index", "an integer", complaint);
    if (status)
        return status;
    if (schema->n_children || dictionary->n_children)
        return twi_complain(complaint, TW_ERR_INVAL, NULL, "must not have children");
    if (dictionary->dictionary)
        return twi_complain(complaint, TW_ERR_NOTSUP, "dictionary",
                            "must not be dictionary-encoded");
    plan->columns[f].in_dictionary = true;
    return twi_arrow_type_of(&plan->columns[f].inner, dictionary, fields[f].inner_kinds,
                             "dictionary", fields[f].inner_what, complaint);
}

static int32_t plan_items(twi_arrow_plan *plan, int f, const struct ArrowSchema *schema,
                          twi_complaint *complaint)
{
    const struct ArrowSchema *item = schema->n_children == 1 && schema->children
                                         ? schema->children[0]
                                         : NULL;

    if (!item)
        return twi_complain(complaint, TW_ERR_INVAL, NULL,
                            "a list must have one child, its items");
    if (item->dictionary)
        return twi_complain(complaint, TW_ERR_NOTSUP, "items",
                            "must not be dictionary-encoded");
    if (item->n_children)
        return twi_complain(complaint, TW_ERR_NOTSUP, "items", "must not have children");
    return twi_arrow_type_of(&plan->columns[f].inner, item, fields[f].inner_kinds,
                             "items", fields[f].inner_what, complaint);
}

static int32_t plan_column(twi_arrow_plan *plan, int f, const struct ArrowSchema *schema,
                           twi_complaint *complaint)
{
    int32_t status;

    if (schema->dictionary)
        return plan_dictionary(plan, f, schema, complaint);
    status = twi_arrow_type_of(&plan->columns[f].type, schema, fields[f].kinds, NULL,
                               fields[f].what, complaint);
    if (status)
        return status;
    if (is_list(plan->columns[f].type))
        return plan_items(plan, f, schema, complaint);
    return schema->n_children
               ? twi_complain(complaint, TW_ERR_INVAL, NULL, "must not have children")
               : TW_OK;
}

static int field_named(const char *name)
{
    int f = 0;

    while (f < TWI_ARROW_FIELDS && (!name || strcmp(name, fields[f].name) != 0))
        f++;
    return f;
}

int32_t twi_arrow_plan_make(twi_arrow_plan *plan, const struct ArrowSchema *schema,
                            twi_complaint *complaint)
{
    twi_arrow_type type;
    int32_t status;

    twi_complaint_begin(complaint, TW_FIELD_NONE, "schema");
    if (!schema)
        return twi_complain(complaint, TW_ERR_INVAL, NULL, "is NULL");
    status = twi_arrow_type_of(&type, schema, TWI_ARROW_SET(TWI_ARROW_STRUCT), NULL,
                               "a struct with a column for each field", complaint);
    if (status)
        return status;
    if (schema->dictionary)
        return twi_complain(complaint, TW_ERR_INVAL, NULL,
                            "must not be dictionary-encoded");
    if (schema->n_children < 0 || (schema->n_children && !schema->children))
        return twi_complain(complaint, TW_ERR_INVAL, NULL, "there are no children");
    plan->children = schema->n_children;
    for (int f = 0; f < TWI_ARROW_FIELDS; f++)
        plan->columns[f].child = -1;
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *child = schema->children[i];
        int f;

        if (!child)
            return twi_complain(complaint, TW_ERR_INVAL, NULL, "a child is NULL");
        f = field_named(child->name);
        if (f == TWI_ARROW_FIELDS)
            continue;
        twi_complaint_begin(complaint, fields[f].field, fields[f].name);
        if (plan->columns[f].child >= 0)
            return twi_complain(complaint, TW_ERR_INVAL, NULL,
                                "there are two columns of this name");
        plan->columns[f].child = i;
        plan->columns[f].in_dictionary = false;
        status = plan_column(plan, f, child, complaint);
        if (status)
            return status;
        twi_complaint_begin(complaint, TW_FIELD_NONE, "schema");
    }
    if (plan->columns[TWI_ARROW_START].child < 0) {
        twi_complaint_begin(complaint, TW_FIELD_START_NS, "start_ns");
        complaint->fault.rule = TW_RULE_START_MISSING;
        return twi_complain(complaint, TW_ERR_INVAL, NULL, "there is no such column");
    }
    return TW_OK;
}

/* ---- Arrays ---------------------------------------------------------------------- */

static int32_t bind_column(twi_arrow_batch *batch, int f, const struct ArrowArray *array)
{
    const twi_arrow_type type = batch->plan->columns[f].type;
    const bool in_dictionary = batch->plan->columns[f].in_dictionary;
    twi_complaint *complaint = batch->complaint;
    twi_arrow_values *values = &batch->columns[f];
    int32_t status = twi_arrow_values_bind(values, type, array, is_list(type), NULL,
                                           complaint);

    if (status)
        return status;
    if (batch->root.offset + batch->root.length > values->length)
        return twi_complain(complaint, TW_ERR_INVAL, NULL, "has too few values");
    if (in_dictionary != (array->dictionary != NULL))
        return twi_complain(complaint, TW_ERR_INVAL, NULL,
                            in_dictionary ? "there is no dictionary"
                                          : "there must be no dictionary");
    if (in_dictionary)
        return twi_arrow_values_bind(&batch->inner[f], batch->plan->columns[f].inner,
                                     array->dictionary, 0, "dictionary", complaint);
    if (is_list(type)) {
        status = twi_arrow_values_bind(&batch->inner[f], batch->plan->columns[f].inner,
                                       array->children[0], 0, "items", complaint);
        if (!status && array->children[0]->dictionary)
            status = twi_complain(complaint, TW_ERR_INVAL, "items",
                                  "there must be no dictionary");
    }
    return status;
}

int32_t twi_arrow_batch_bind(twi_arrow_batch *batch, const struct ArrowArray *array)
{
    const twi_arrow_type root = {TWI_ARROW_STRUCT, 1};
    int32_t status;

    twi_complaint_begin(batch->complaint, TW_FIELD_NONE, "array");
    status = twi_arrow_values_bind(&batch->root, root, array, batch->plan->children, NULL,
                                   batch->complaint);
    if (status)
        return status;
    if (array->dictionary)
        return twi_complain(batch->complaint, TW_ERR_INVAL, NULL,
                            "there must be no dictionary");
    for (int f = 0; f < TWI_ARROW_FIELDS; f++) {
        const int64_t child = batch->plan->columns[f].child;

        if (child < 0)
            continue;
        twi_complaint_begin(batch->complaint, fields[f].field, fields[f].name);
        status = bind_column(batch, f, array->children[child]);
        if (status)
            return status;
    }
    return TW_OK;
}

/* ---- Rows ------------------------------------------------------------------------ */

static int32_t break_rule(twi_fault *fault, int32_t rule, int f, uint64_t index,
                          int64_t value_a, int64_t value_b)
{
    *fault = (twi_fault){rule, fields[f].field, index, value_a, value_b};
    return TW_ERR_RANGE;
}

/* The array contradicts itself in this row. */
static int32_t contradict(const twi_arrow_batch *batch, twi_fault *fault, int f,
                          const char *words)
{
    twi_complaint_begin(batch->complaint, fields[f].field, fields[f].name);
    *fault = batch->complaint->fault;
    return twi_complain(batch->complaint, TW_ERR_INVAL, NULL, words);
}

static bool is_recorded(const twi_arrow_batch *batch, int f, uint64_t i)
{
    return batch->plan->columns[f].child >= 0 &&
           !twi_arrow_is_null(&batch->columns[f], i);
}

/* What stands for "not recorded" in a record is no value here. */
static int32_t get_time(const twi_arrow_batch *batch, int f, uint64_t i, int64_t *time,
                        twi_fault *fault)
{
    *time = TW_TIME_NONE;
    if (!is_recorded(batch, f, i))
        return TW_OK;
    if (!twi_arrow_number(&batch->columns[f], i, time))
        return break_rule(fault, TW_RULE_NUMBER_INEXACT, f, 0, 0, 0);
    if (*time == TW_TIME_NONE)
        return break_rule(fault, TW_RULE_TIME_RANGE, f, 0, *time, -TWI_TIME_LIMIT);
    return TW_OK;
}

static int32_t get_tokens(const twi_arrow_batch *batch, int f, uint64_t i,
                          int64_t *tokens, twi_fault *fault)
{
    *tokens = TW_TOKENS_NONE;
    if (!is_recorded(batch, f, i))
        return TW_OK;
    if (!twi_arrow_number(&batch->columns[f], i, tokens))
        return break_rule(fault, TW_RULE_NUMBER_INEXACT, f, 0, 0, 0);
    if (*tokens == TW_TOKENS_NONE)
        return break_rule(fault, TW_RULE_TOKENS_RANGE, f, 0, *tokens, TWI_TOKENS_LIMIT);
    return TW_OK;
}

static int32_t get_status(const twi_arrow_batch *batch, uint64_t i, int32_t *status,
                          twi_fault *fault)
{
    static const char *const names[] = {"ok", "failed", "cancelled"};
    const int f = TWI_ARROW_STATUS;
    const twi_arrow_values *texts = &batch->columns[f];
    const char *text;
    uint64_t length;

    *status = TW_RECORD_OK;
    if (!is_recorded(batch, f, i))
        return TW_OK;
    if (batch->plan->columns[f].in_dictionary) {
        const int64_t index = twi_arrow_index(texts, i);

        texts = &batch->inner[f];
        if (index < 0 || (uint64_t)index >= texts->length)
            return contradict(batch, fault, f,
                              "an index leads outside of the dictionary");
        i = (uint64_t)index;
        if (twi_arrow_is_null(texts, i))
            return TW_OK;
    }
    text = twi_arrow_text(texts, i, &length);
    if (!text && length == 0)
        return contradict(batch, fault, f, "the offsets of a text contradict each other");
    for (int32_t s = TW_RECORD_OK; text && s <= TW_RECORD_CANCELLED; s++)
        if (length == strlen(names[s]) && memcmp(text, names[s], (size_t)length) == 0) {
            *status = s;
            return TW_OK;
        }
    return break_rule(fault, TW_RULE_STATUS_UNKNOWN, f, 0, -1, TW_RECORD_CANCELLED);
}

static bool make_room(const twi_arrow_batch *batch, twi_arrow_scratch *scratch,
                      uint64_t count)
{
    const uint64_t room = count < scratch->room * 2 ? scratch->room * 2 : count;
    int64_t *values;

    if (count <= scratch->room)
        return true;
    values = twi_mem_alloc(batch->allocator, room, sizeof *values);
    if (!values)
        return false;
    twi_mem_free(batch->allocator, scratch->values, scratch->room, sizeof *values);
    scratch->values = values;
    scratch->room = room;
    return true;
}

static int64_t later(int64_t time_ns, int64_t by_ns)
{
    if (by_ns > 0 && time_ns > INT64_MAX - by_ns)
        return INT64_MAX;
    if (by_ns < 0 && time_ns < INT64_MIN - by_ns)
        return INT64_MIN;
    return time_ns + by_ns;
}

/* Items as they lie in memory, if they are what a record wants. */
static const int64_t *in_place(const twi_arrow_values *items, uint64_t begin)
{
    const unsigned char *at = items->data;

    if ((items->type.kind != TWI_ARROW_INT64 &&
         items->type.kind != TWI_ARROW_TIMESTAMP) ||
        items->type.unit_ns != 1 || items->validity)
        return NULL;
    at += (items->offset + begin) * sizeof(int64_t);
    return (uintptr_t)at % alignof(int64_t) ? NULL : (const int64_t *)(const void *)at;
}

/* A row's list as an array of integers. `since_ns`: where gaps begin. */
static int32_t get_list(const twi_arrow_batch *batch, int f, uint64_t i, int64_t since_ns,
                        const int64_t **list, uint64_t *count, twi_fault *fault)
{
    static const int64_t too_many = 0;
    const bool arrivals = f == TWI_ARROW_ARRIVALS;
    const twi_arrow_values *items = &batch->inner[f];
    twi_arrow_scratch *scratch = &batch->scratch[arrivals ? 0 : 1];
    const bool gaps = items->type.kind == TWI_ARROW_DURATION;
    uint64_t begin;

    *list = NULL;
    *count = 0;
    if (!is_recorded(batch, f, i))
        return TW_OK;
    if (!twi_arrow_list(&batch->columns[f], i, items->length, &begin, count))
        return contradict(batch, fault, f, "a list's offsets go back or lead outside");
    if (*count == 0)
        return TW_OK;
    *list = &too_many; /* which a rule will say before anything is read */
    if (*count >= (uint64_t)TWI_TOKENS_LIMIT)
        return TW_OK;
    *list = in_place(items, begin);
    if (*list)
        return TW_OK;
    if (!make_room(batch, scratch, *count))
        return TW_ERR_NOMEM;
    *list = scratch->values;
    for (uint64_t k = 0; k < *count; k++) {
        int64_t *value = &scratch->values[k];

        if (twi_arrow_is_null(items, begin + k))
            return arrivals ? break_rule(fault, TW_RULE_CHUNK_ARRIVAL_MISSING, f, k, 0, 0)
                            : break_rule(fault, TW_RULE_CHUNK_TOKENS_RANGE, f, k,
                                         TW_TOKENS_NONE, TWI_TOKENS_LIMIT);
        if (!twi_arrow_number(items, begin + k, value))
            return break_rule(fault, TW_RULE_NUMBER_INEXACT, f, k, 0, 0);
        if (gaps)
            *value = since_ns = later(since_ns, *value);
    }
    return TW_OK;
}

static int32_t get_chunks(const twi_arrow_batch *batch, uint64_t i, tw_record *record,
                          twi_fault *fault)
{
    const int64_t since = record->generation_start_ns;
    const int64_t *tokens;
    uint64_t count;
    int32_t status;

    status = get_list(batch, TWI_ARROW_ARRIVALS, i, since == TW_TIME_NONE ? 0 : since,
                      &record->chunk_arrival_ns, &record->chunk_count, fault);
    if (status || !is_recorded(batch, TWI_ARROW_CHUNK_TOKENS, i))
        return status;
    status = get_list(batch, TWI_ARROW_CHUNK_TOKENS, i, 0, &tokens, &count, fault);
    if (status)
        return status;
    if (count != record->chunk_count)
        return break_rule(fault, TW_RULE_CHUNK_TOKENS_COUNT, TWI_ARROW_CHUNK_TOKENS, 0,
                          (int64_t)count, (int64_t)record->chunk_count);
    record->chunk_tokens = tokens;
    return TW_OK;
}

int32_t twi_arrow_batch_get(const void *source, size_t row, tw_record *record,
                            twi_fault *fault)
{
    static const tw_record blank = {.credit_issued_ns = TW_TIME_NONE,
                                    .start_ns = TW_TIME_NONE,
                                    .generation_start_ns = TW_TIME_NONE,
                                    .end_ns = TW_TIME_NONE,
                                    .input_tokens = TW_TOKENS_NONE,
                                    .output_tokens = TW_TOKENS_NONE};
    const twi_arrow_batch *batch = source;
    const uint64_t i = batch->root.offset + row;
    int32_t status;

    *record = blank;
    if (twi_arrow_is_null(&batch->root, row))
        return TW_OK; /* without a start_ns */
    status = get_status(batch, i, &record->status, fault);
    if (!status)
        status = get_time(batch, TWI_ARROW_CREDIT, i, &record->credit_issued_ns, fault);
    if (!status)
        status = get_time(batch, TWI_ARROW_START, i, &record->start_ns, fault);
    if (!status)
        status = get_time(batch, TWI_ARROW_GENERATION, i, &record->generation_start_ns,
                          fault);
    if (!status)
        status = get_time(batch, TWI_ARROW_END, i, &record->end_ns, fault);
    if (!status)
        status = get_tokens(batch, TWI_ARROW_INPUT_TOKENS, i, &record->input_tokens,
                            fault);
    if (!status)
        status = get_tokens(batch, TWI_ARROW_OUTPUT_TOKENS, i, &record->output_tokens,
                            fault);
    if (!status)
        status = get_chunks(batch, i, record, fault);
    if (!status && is_recorded(batch, TWI_ARROW_STREAMING, i) &&
        twi_arrow_bool(&batch->columns[TWI_ARROW_STREAMING], i))
        record->flags |= TW_RECORD_STREAMING;
    return status;
}
