/* SPDX-License-Identifier: MIT */
#include "arrow/import/append.h"

#include <string.h>

#include "arrow/import/batch.h"
#include "base/mem.h"

typedef struct import {
    twi_append append;
    twi_complaint complaint;
    twi_arrow_plan plan;
    twi_arrow_scratch scratch[2];
    twi_arrow_batch batch;
} import;

static void begin(import *in, tw_recorder *recorder, bool skip_invalid)
{
    twi_append_begin(&in->append, recorder, skip_invalid);
    twi_complaint_begin(&in->complaint, TW_FIELD_NONE, "");
    memset(in->scratch, 0, sizeof in->scratch);
    in->batch.plan = &in->plan;
    in->batch.allocator = &recorder->allocator;
    in->batch.complaint = &in->complaint;
    in->batch.scratch = in->scratch;
}

/* The append has failed, or is ended here. */
static int32_t end(import *in, int32_t status, size_t *accepted)
{
    tw_recorder *recorder = in->append.recorder;

    for (int i = 0; i < 2; i++)
        twi_mem_free(&recorder->allocator, in->scratch[i].values, in->scratch[i].room,
                     sizeof(int64_t));
    if (status)
        memcpy(recorder->detail, in->complaint.text, sizeof recorder->detail);
    else
        twi_append_end(&in->append, accepted);
    return status;
}

/* Something else than a row is wrong. */
static int32_t fail(import *in, int32_t status)
{
    return twi_append_fail(&in->append, status, &in->complaint.fault);
}

static int32_t take_schema(import *in, const struct ArrowSchema *schema)
{
    const int32_t status = twi_arrow_plan_make(&in->plan, schema, &in->complaint);
    return status ? fail(in, status) : TW_OK;
}

static int32_t take_array(import *in, const struct ArrowArray *array)
{
    const int32_t status = twi_arrow_batch_bind(&in->batch, array);

    if (status)
        return fail(in, status);
    return twi_append_rows(&in->append, twi_arrow_batch_get, &in->batch,
                           (size_t)in->batch.root.length);
}

int32_t twi_arrow_append(tw_recorder *recorder, const struct ArrowSchema *schema,
                         const struct ArrowArray *array, bool skip_invalid,
                         size_t *accepted)
{
import in;
    int32_t status;

    begin(&in, recorder, skip_invalid);
    status = take_schema(&in, schema);
    if (!status)
        status = take_array(&in, array);
    return end(&in, status, accepted);
}

/* What a function of the stream failed with. */
static int32_t fail_stream(import *in, struct ArrowArrayStream *stream,
                           const char *function, int code)
{
    const char *words = stream->get_last_error ? stream->get_last_error(stream) : NULL;

    twi_complaint_begin(&in->complaint, TW_FIELD_NONE, "stream");
    in->complaint.fault.value_a = code;
    (void)twi_complain(&in->complaint, TW_ERR_IO, function, words ? words : "failed");
    return fail(in, TW_ERR_IO);
}

static int32_t take_arrays(import *in, struct ArrowArrayStream *stream)
{
    int32_t status = TW_OK;

    while (!status) {
        struct ArrowArray array;
        int code;

        memset(&array, 0, sizeof array);
        code = stream->get_next(stream, &array);
        if (code)
            return fail_stream(in, stream, "get_next", code);
        if (!array.release)
            break;
        status = take_array(in, &array);
        array.release(&array);
    }
    return status;
}

int32_t twi_arrow_append_stream(tw_recorder *recorder, struct ArrowArrayStream *stream,
                                bool skip_invalid, size_t *accepted)
{
    struct ArrowSchema schema;
import in;
    int32_t status;
    int code;

    begin(&in, recorder, skip_invalid);
    twi_complaint_begin(&in.complaint, TW_FIELD_NONE, "stream");
    if (!stream->release || !stream->get_schema || !stream->get_next) {
        (void)twi_complain(&in.complaint, TW_ERR_INVAL, NULL,
                           stream->release ? "a function is missing" : "was released");
        return end(&in, fail(&in, TW_ERR_INVAL), accepted);
    }
    memset(&schema, 0, sizeof schema);
    code = stream->get_schema(stream, &schema);
    if (code)
        return end(&in, fail_stream(&in, stream, "get_schema", code), accepted);
    status = take_schema(&in, &schema);
    if (!status)
        status = take_arrays(&in, stream);
    if (schema.release)
        schema.release(&schema);
    return end(&in, status, accepted);
}
