/* SPDX-License-Identifier: MIT */
#ifndef TIMEWEIGHT_ARROW_H
#define TIMEWEIGHT_ARROW_H

#include <stddef.h>
#include <stdint.h>
#include <timeweight/analysis.h>
#include <timeweight/export.h>
#include <timeweight/record.h>

TW_BEGIN_DECLS

/** @defgroup tw_arrow Arrow
 *  Records from, and results to, whatever speaks the Arrow C data and stream interfaces:
 *  pyarrow, polars, DuckDB and the like. No Arrow library is involved.
 *
 *  **Columns** have the names of the `records` format, in any order; others are ignored,
 *  whatever their type. Only `start_ns` must be there. Null means "not recorded"; a row
 *  that is null as a whole has no `start_ns`.
 *
 *  | column | type |
 *  |---|---|
 *  | the four times (`start_ns` ...) | integer, float, timestamp |
 *  | `input_tokens`, `output_tokens` | integer, float |
 *  | `status`: `ok`, `failed`, `cancelled` | text, also behind a dictionary |
 *  | `streaming` | boolean |
 *  | `chunk_arrival_ns` | list of integer, float, timestamp, or duration (gaps) |
 *  | `chunk_tokens` | list of integer, float |
 *
 *  - Integers have any width and sign, and are ns where they are times.
 *  - Floats are float32 and float64, whole and at most 2^53 (#TW_RULE_NUMBER_INEXACT). NaN
 *    is no null.
 *  - Timestamps have any unit and time zone, and become ns since 1970 exactly.
 *  - Texts are utf8, large utf8 or utf8 view; lists are lists, large lists or list views
 *    of either size. No list, null and the empty list are the same: no chunks. A null
 *    inside of a list is refused.
 *  - Durations are the gaps between successive chunks, the first since
 *    `generation_start_ns`.
 *  - The null type stands for any of these. No number means "not recorded":
 *    #TW_TIME_NONE is a time out of range here, and #TW_TOKENS_NONE such a count.
 *  - A value that its field cannot hold is refused by a rule, like a record that breaks
 *    one, and before those. A number beyond 64 bits is taken for the nearest one of 64
 *    bits, which no rule lets pass.
 *
 *  What is said of the array itself (lengths, offsets, buffers, children) is checked as far
 *  as it can be, whatever the flags: an array that contradicts itself is refused as a
 *  whole, and nothing of it is stored. How long a buffer really is no consumer can see.
 *  @{
 */

#ifndef ARROW_C_DATA_INTERFACE
/** The specification's guard: whoever defines the two structs defines it too. */
#define ARROW_C_DATA_INTERFACE

/** ArrowSchema::flags: the order of a dictionary's values means something. */
#define ARROW_FLAG_DICTIONARY_ORDERED 1
/** ArrowSchema::flags: there may be nulls. */
#define ARROW_FLAG_NULLABLE 2
/** ArrowSchema::flags: the keys of a map are sorted. */
#define ARROW_FLAG_MAP_KEYS_SORTED 4

/** A type: of the Arrow C data interface. */
struct ArrowSchema {
    const char *format;             /**< the type in a few characters */
    const char *name;               /**< of the field, or NULL */
    const char *metadata;           /**< keys and values, or NULL */
    int64_t flags;                  /**< ARROW_FLAG_NULLABLE and the like */
    int64_t n_children;             /**< number of fields */
    struct ArrowSchema **children;  /**< the fields of a nested type */
    struct ArrowSchema *dictionary; /**< type of the dictionary's values, or NULL */
    void (*release)(struct ArrowSchema *); /**< gives it back; NULL: it was released */
    void *private_data;                    /**< the producer's */
};

/** Data of a type: of the Arrow C data interface. */
struct ArrowArray {
    int64_t length;                       /**< number of values */
    int64_t null_count;                   /**< how many are null; -1: not known */
    int64_t offset;                       /**< values to skip in the buffers */
    int64_t n_buffers;                    /**< number of buffers */
    int64_t n_children;                   /**< number of fields */
    const void **buffers;                 /**< bitmap of validity, then the type's own */
    struct ArrowArray **children;         /**< the fields of a nested type */
    struct ArrowArray *dictionary;        /**< the dictionary's values, or NULL */
    void (*release)(struct ArrowArray *); /**< gives it back; NULL: it was released */
    void *private_data;                   /**< the producer's */
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
/** The specification's guard of the struct below. */
#define ARROW_C_STREAM_INTERFACE

/** Arrays of one type, one after the other: of the Arrow C stream interface. */
struct ArrowArrayStream {
    /** Gives the type; 0 or an errno code. */
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    /** Gives the next array, a released one at the end; 0 or an errno code. */
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    /** Says more of the error of the call before, or NULL. */
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *); /**< gives it back; NULL: was released */
    void *private_data;                         /**< the producer's */
};

#endif

/** Appends the rows of one array of structs (a record batch).
 *
 *  @param schema         its type; left as it is, for further arrays; the caller releases
 *                        it
 *  @param array          moved: whatever comes back, also for a NULL recorder, it has been
 *                        released then and array->release is NULL
 *  @param flags          #tw_append_flags
 *  @param[out] accepted  number of records stored; may be NULL
 *  @return as tw_recorder_append(); also TW_ERR_INVAL for a schema or an array that was
 *          released, contradicts itself or has no `start_ns`, and TW_ERR_NOTSUP for a
 *          column of a type that is not in the table above: tw_recorder_last_error() names
 *          field and row as far as there are any, tw_recorder_arrow_error() the place. On
 *          any error nothing is stored. @since 0.1 */
TW_API int32_t tw_recorder_append_arrow(tw_recorder *recorder,
                                        const struct ArrowSchema *schema,
                                        struct ArrowArray *array, uint32_t flags,
                                        size_t *accepted);

/** Appends the rows of all arrays of a stream, as one append: if an array cannot be
 *  stored, or the stream reports an error, nothing of those before is either, whatever the
 *  flags; the rest is not asked for. Rows are counted over all arrays. No analysis sees a
 *  part of it.
 *
 *  The stream's functions run on the calling thread, in the middle of the append: they
 *  must not call the library with this recorder.
 *
 *  @param stream         moved: whatever comes back, also for a NULL recorder, it and all
 *                        that it gave out has been released then and stream->release is
 *                        NULL
 *  @param flags          #tw_append_flags
 *  @param[out] accepted  number of records stored; may be NULL
 *  @return as tw_recorder_append_arrow(); TW_ERR_IO if the stream reports an error: its
 *          code is value_a of tw_recorder_last_error(), its words are in
 *          tw_recorder_arrow_error(). @since 0.1 */
TW_API int32_t tw_recorder_append_arrow_stream(tw_recorder *recorder,
                                               struct ArrowArrayStream *stream,
                                               uint32_t flags, size_t *accepted);

/** What tw_recorder_last_error() has no room for, in a line of words: which column, which
 *  part of the array and what was expected of it, or what the stream said of its error.
 *  Empty if the last failing call was none of the two above, or its numbers say it all.
 *
 *  @return never NULL (empty for NULL); it stays until the next call that changes the
 *          recorder. @since 0.1 */
TW_API const char *tw_recorder_arrow_error(const tw_recorder *recorder);

/** The metrics as a stream: one row per emitted metric, in the order of the registry, with
 *  the columns of the CSV report: `metric`, `group`, `header`, `unit` (utf8), then `avg`,
 *  `min`, `max`, `std`, the quantiles at hand (`p50`, `p99.9`), `sum`, `active_fraction`
 *  (float64), `count`, `active_ns` (int64). Null: there is no such number.
 *
 *  This stream, like the two below, and what it gives out are released by whoever holds
 *  them, in any order, also after the analysis. Their memory is that of the analysis'
 *  allocator, whose context must outlive them. A stream is read by one thread at a time;
 *  any thread may release what it gave out.
 *
 *  @param[out] stream  need not be initialised; what it holds is not released
 *  @return TW_OK, TW_ERR_INVAL (NULL), TW_ERR_NOMEM. Any thread. @since 0.1 */
TW_API int32_t tw_arrow_metrics(struct ArrowArrayStream *stream,
                                const tw_analysis *analysis);

/** A metric's curve inside the window as a stream, segment by segment, in arrays of at
 *  most 8192 rows: `begin_ns`, `end_ns` (int64) and `value` (float64), as
 *  tw_analysis_curve() has them. The stream computes each array when it is asked for.
 *
 *  @param[out] stream  see tw_arrow_metrics()
 *  @param metric       a metric of kind #TW_KIND_CURVE
 *  @return TW_OK; TW_ERR_INVAL, TW_ERR_NODATA, TW_ERR_NOTSUP as tw_analysis_curve();
 *          TW_ERR_NOMEM. Any thread. @since 0.1 */
TW_API int32_t tw_arrow_curve(struct ArrowArrayStream *stream,
                              const tw_analysis *analysis, int32_t metric);

/** A metric's curve in bins of equal width as a stream, in arrays of at most 8192 rows:
 *  `begin_ns`, `weight_ns` (int64), `mean`, `min`, `max` (float64), as
 *  tw_analysis_series() has them; the last three are null in a bin of no weight.
 *
 *  @param[out] stream  see tw_arrow_metrics()
 *  @param metric       a metric of kind #TW_KIND_CURVE
 *  @param begin_ns     where the first bin begins
 *  @param width_ns     > 0; all bins lie in [-2^61, 2^61]
 *  @param count        number of bins
 *  @return TW_OK; TW_ERR_INVAL, TW_ERR_NODATA, TW_ERR_NOTSUP as tw_analysis_series();
 *          TW_ERR_NOMEM. Any thread. @since 0.1 */
TW_API int32_t tw_arrow_series(struct ArrowArrayStream *stream,
                               const tw_analysis *analysis, int32_t metric,
                               int64_t begin_ns, int64_t width_ns, uint64_t count);

/** @} */

TW_END_DECLS

#endif
