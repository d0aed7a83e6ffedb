/* SPDX-License-Identifier: MIT */
#ifndef TIMEWEIGHT_RECORD_H
#define TIMEWEIGHT_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <timeweight/allocator.h>
#include <timeweight/export.h>
#include <timeweight/status.h>

TW_BEGIN_DECLS

/** @defgroup tw_record Records and recorders
 *  A load generator appends one record per request to a recorder.
 *
 *  A recorder has one writer: calls that name it come from one thread at a time. Any
 *  number of tw_analyze() calls may read it on other threads while the writer appends.
 *  Only tw_recorder_clear() and tw_recorder_free() must wait until no tw_analyze() call
 *  that names the recorder is running, and none may begin before they return; analyses
 *  that exist already keep what they need.
 *  @{
 */

/** "Not recorded": the only special time, -9223372036854775808. Other times lie in
 *  [-2^61, 2^61]. */
#define TW_TIME_NONE INT64_MIN
/** "Not recorded": the only special token count, -1. Other counts lie in [0, 2^40). */
#define TW_TOKENS_NONE (-1)

/** tw_record::status. A request without end_ns is in flight and has TW_RECORD_OK. */
enum tw_record_status {
    TW_RECORD_OK = 0,       /**< it ended well, or is in flight */
    TW_RECORD_FAILED = 1,   /**< it ended with an error */
    TW_RECORD_CANCELLED = 2 /**< the load generator gave it up */
};

/** tw_record::flags. Other bits are reserved: #TW_ERR_NOTSUP. */
enum tw_record_flags {
    /** The response was to stream. It matters for a record without generation_start_ns:
     *  the request then waits in prefill for a first token. */
    TW_RECORD_STREAMING = 1
};

/** What is known about one request.
 *
 *  Times are nanoseconds of one monotonic clock, any origin. Required: start_ns. Where
 *  they are known, start_ns <= generation_start_ns <= end_ns. A credit later than
 *  start_ns counts as start_ns and is counted. Initialise with tw_record_init(). */
typedef struct tw_record {
    /** When the request was due: not the time of sending, which is start_ns. */
    int64_t credit_issued_ns;
    /** When it was handed to the transport. */
    int64_t start_ns;
    /** When its first token arrived. */
    int64_t generation_start_ns;
    /** When its last byte arrived, or it failed or was cancelled; #TW_TIME_NONE: it is
     *  still in flight. */
    int64_t end_ns;
    /** Tokens of the prompt. */
    int64_t input_tokens;
    /** All generated tokens, the first included; so far, while in flight. */
    int64_t output_tokens;
    /** Arrivals of the content chunks after the first token (which is arrival 0),
     *  non-decreasing within [generation_start_ns, end_ns]; chunk_count of them, aligned
     *  for int64_t. Copied. */
    const int64_t *chunk_arrival_ns;
    /** Tokens that each chunk brought, chunk_count of them, or NULL if not known: the
     *  tokens after the first are then spread evenly over the gaps. Copied. */
    const int64_t *chunk_tokens;
    /** 0: no chunk arrivals; both pointers are then ignored. */
    uint64_t chunk_count;
    /** #tw_record_status */
    int32_t status;
    /** #tw_record_flags */
    uint32_t flags;
} tw_record;

/** Sets every field to "not recorded", status #TW_RECORD_OK, flags 0.
 *
 *  @param record       NULL is ignored
 *  @param record_size  sizeof(tw_record) as the caller sees it; bytes beyond the fields
 *                      that the library knows are zeroed. Any thread. @since 0.1 */
TW_API void tw_record_init(tw_record *record, size_t record_size);

/** A growing set of records. Opaque. */
typedef struct tw_recorder tw_recorder;

/** How a recorder is made. Zero every field that is not set. */
typedef struct tw_recorder_options {
    uint32_t struct_size;          /**< sizeof(tw_recorder_options) */
    uint32_t flags;                /**< 0 */
    const tw_allocator *allocator; /**< copied; NULL: the malloc family */
} tw_recorder_options;

/** Makes an empty recorder.
 *
 *  @param[out] recorder  the caller releases it with tw_recorder_free()
 *  @param options        NULL: the defaults
 *  @return TW_OK, TW_ERR_NOMEM, TW_ERR_INVAL, TW_ERR_ABI, TW_ERR_NOTSUP (unknown flags).
 *          Any thread. @since 0.1 */
TW_API int32_t tw_recorder_new(tw_recorder **recorder,
                               const tw_recorder_options *options);

/** Releases a recorder; NULL is ignored. Analyses made from it stay valid. @since 0.1 */
TW_API void tw_recorder_free(tw_recorder *recorder);

/** Flags of tw_recorder_append(). */
enum tw_append_flags {
    /** Store the good records, refuse and count the bad ones, and return #TW_OK. Without
     *  it the call is all or nothing. */
    TW_APPEND_SKIP_INVALID = 1
};

/** Appends finished requests (or, for a live view, a snapshot of open ones). Once the
 *  call returns TW_OK the records are final and visible to every tw_analyze() that begins
 *  later.
 *
 *  @param records      count records, record_size bytes apart; may be NULL if count is 0
 *  @param record_size  sizeof(tw_record) as the caller sees it
 *  @param flags        #tw_append_flags
 *  @param[out] accepted  number of records stored; may be NULL
 *  @return TW_OK; TW_ERR_RANGE if a record breaks a rule (the counter of that rule goes
 *          up by one, and tw_recorder_last_error() names row, field and values);
 *          TW_ERR_NOTSUP for unknown flags here or in a record, whatever the mode;
 *          TW_ERR_NOMEM; TW_ERR_INVAL (NULL, chunk arrays that are not aligned);
 *          TW_ERR_ABI for an impossible record_size. On any error nothing is stored.
 *          @since 0.1 */
TW_API int32_t tw_recorder_append(tw_recorder *recorder, const tw_record *records,
                                  size_t count, size_t record_size, uint32_t flags,
                                  size_t *accepted);

/** One field of many records: values apart by a fixed number of bytes, as in an array, an
 *  array of structs or a data frame. Values need no alignment. */
typedef struct tw_column {
    /** Of the type that tw_columns names; NULL: not recorded in any row. */
    const void *values;
    /** A byte per row, 0: not recorded there; NULL: recorded in all rows. */
    const uint8_t *validity;
    /** Bytes from one value to the next, at least the size of one; 0: they are packed. */
    uint64_t stride;
    uint32_t flags;    /**< 0 */
    uint32_t reserved; /**< 0 */
} tw_column;

/** Many records by field. Zero every field that is not set. A value equal to
 *  #TW_TIME_NONE or #TW_TOKENS_NONE also means "not recorded". */
typedef struct tw_columns {
    uint32_t struct_size;          /**< sizeof(tw_columns) */
    uint32_t flags;                /**< 0 */
    uint64_t count;                /**< number of rows */
    tw_column credit_issued_ns;    /**< int64_t */
    tw_column start_ns;            /**< int64_t */
    tw_column generation_start_ns; /**< int64_t */
    tw_column end_ns;              /**< int64_t */
    tw_column input_tokens;        /**< int64_t */
    tw_column output_tokens;       /**< int64_t */
    tw_column status;              /**< int32_t, #tw_record_status; not recorded: ok */
    tw_column record_flags;        /**< uint32_t, #tw_record_flags; not recorded: 0 */
    /** Row i has the chunks from chunk_offsets[i] up to chunk_offsets[i + 1]: count + 1
     *  numbers that never decrease, the last at most chunk_value_count. NULL: no chunks.
     *  The three arrays are aligned for their type. */
    const uint64_t *chunk_offsets;
    const int64_t *chunk_arrival_ns; /**< of all rows, one after the other */
    const int64_t *chunk_tokens;     /**< beside them, or NULL */
    uint64_t chunk_value_count;      /**< number of values in chunk_arrival_ns */
} tw_columns;

/** Appends many records in one call: the same as tw_recorder_append() of the records that
 *  the rows describe.
 *
 *  @param flags          #tw_append_flags
 *  @param[out] accepted  number of records stored; may be NULL
 *  @return as tw_recorder_append(); also TW_ERR_INVAL for a stride smaller than an
 *          element, for chunk offsets that decrease or lead outside
 *          (tw_recorder_last_error() names the row), and for chunk values without
 *          arrivals. @since 0.1 */
TW_API int32_t tw_recorder_append_columns(tw_recorder *recorder,
                                          const tw_columns *columns, uint32_t flags,
                                          size_t *accepted);

/** Reads stored records back, exactly as they were appended but for the chunks: of those
 *  chunk_count is set and both pointers are NULL, until tw_recorder_read_chunks() fetches
 *  them. (A record that is appended without is refused: #TW_RULE_CHUNK_ARRIVAL_MISSING.)
 *
 *  Any thread, also while the writer appends; not during tw_recorder_clear(). To find the
 *  first record costs O(first / 1024): read in pages of some 10,000.
 *
 *  @param first          index of the first record wanted
 *  @param[out] records   capacity elements, record_size bytes apart; bytes of an element
 *                        that this library does not know are zeroed
 *  @param record_size    sizeof(tw_record) as the caller sees it
 *  @param[out] written   number of records read: fewer than capacity only at the end
 *  @return TW_OK, TW_ERR_INVAL (NULL; first beyond the number of records), TW_ERR_ABI.
 *          @since 0.1 */
TW_API int32_t tw_recorder_read(const tw_recorder *recorder, uint64_t first,
                                tw_record *records, size_t capacity, size_t record_size,
                                size_t *written);

/** Reads the chunks of stored records into arrays of the caller's, one record after the
 *  other, and points the records to them: they are then exactly as they were appended, for
 *  as long as the caller keeps the arrays. Threads and cost as with tw_recorder_read().
 *
 *  @param first            index of the first record
 *  @param[in,out] records  the count records that tw_recorder_read() gave for that index,
 *                          record_size bytes apart: chunk_arrival_ns, chunk_tokens (NULL
 *                          if they were not counted) and chunk_count of each are set
 *  @param record_size      sizeof(tw_record) as the caller sees it
 *  @param[out] arrival_ns  capacity numbers, aligned; may be NULL if capacity is 0
 *  @param[out] tokens      capacity numbers, aligned, beside the arrivals:
 *                          #TW_TOKENS_NONE where they were not counted; or NULL if they
 *                          are not wanted
 *  @param capacity         at least the sum of the chunk_count of these records
 *  @param[out] written     number of chunks read: that sum
 *  @return TW_OK, TW_ERR_INVAL (NULL; not so many records; a capacity that is too small;
 *          arrays that are not aligned), TW_ERR_ABI. @since 0.1 */
TW_API int32_t tw_recorder_read_chunks(const tw_recorder *recorder, uint64_t first,
                                       tw_record *records, size_t count,
                                       size_t record_size, int64_t *arrival_ns,
                                       int64_t *tokens, size_t capacity, size_t *written);

/** Makes room for `records` more records, so that appending them allocates nothing but
 *  room for chunk arrivals, and touches that memory now rather than then.
 *  @return TW_OK, TW_ERR_NOMEM, TW_ERR_INVAL. @since 0.1 */
TW_API int32_t tw_recorder_reserve(tw_recorder *recorder, uint64_t records);

/** Forgets all records, counters and the last error; keeps the clock, and keeps for reuse
 *  the memory that no analysis holds. NULL is ignored. @since 0.1 */
TW_API void tw_recorder_clear(tw_recorder *recorder);

/** Number of records stored; 0 for NULL. Any thread. @since 0.1 */
TW_API uint64_t tw_recorder_count(const tw_recorder *recorder);

/** Bytes that the recorder holds now, spare room included; 0 for NULL. @since 0.1 */
TW_API uint64_t tw_recorder_memory(const tw_recorder *recorder);

/** How a recorder's clock stands to the others of the same run. */
typedef struct tw_clock {
    uint32_t struct_size; /**< sizeof(tw_clock) */
    uint32_t flags;       /**< 0 */
    int64_t offset_ns;    /**< added to each time of the recorder when an analysis begins;
                               in [-2^61, 2^61] */
} tw_clock;

/** Sets the clock for the analyses that begin later.
 *  @return TW_OK, TW_ERR_INVAL (NULL, or an offset out of range), TW_ERR_ABI,
 *          TW_ERR_NOTSUP. @since 0.1 */
TW_API int32_t tw_recorder_set_clock(tw_recorder *recorder, const tw_clock *clock);

/** Where every record went. issued = ok + failed + cancelled + in_flight, always.
 *
 *  The last four members speak of a window and are zero in a recorder's balance. */
typedef struct tw_balance {
    uint32_t struct_size; /**< sizeof(tw_balance), set by the caller */
    uint32_t flags;       /**< 0 */
    uint64_t issued;      /**< records stored */
    uint64_t ok;          /**< ended well */
    uint64_t failed;      /**< ended with #TW_RECORD_FAILED */
    uint64_t cancelled;   /**< ended with #TW_RECORD_CANCELLED */
    uint64_t in_flight;   /**< no end_ns */
    uint64_t refused;     /**< not stored: the sum of refused_by_rule */
    /** Stored with a credit later than start_ns. */
    uint64_t credit_after_start;
    /** Stored with chunk token counts that have no output_tokens beside them, or exceed
     *  them. */
    uint64_t chunk_tokens_ignored;
    uint64_t refused_by_rule[TW_RULE_LIMIT]; /**< indexed by #tw_rule */
    uint64_t overlapping;  /**< occupied some of the window, or members */
    uint64_t members;      /**< ended in the window: the records of the samples */
    uint64_t cut_at_begin; /**< start < begin < end, or still in flight */
    /** start < end of the window < end; in flight: < the latest time known. */
    uint64_t cut_at_end;
} tw_balance;

/** The balance of all records so far.
 *  @param[out] balance  struct_size set by the caller; the rest is filled
 *  @return TW_OK, TW_ERR_INVAL (NULL), TW_ERR_ABI. @since 0.1 */
TW_API int32_t tw_recorder_balance(const tw_recorder *recorder, tw_balance *balance);

/** What the last failing call on this recorder found; with TW_APPEND_SKIP_INVALID, the
 *  first record that it refused. A later success does not clear it.
 *  @param[out] error  struct_size set by the caller; the rest is filled
 *  @return TW_OK, TW_ERR_INVAL (NULL), TW_ERR_ABI. @since 0.1 */
TW_API int32_t tw_recorder_last_error(const tw_recorder *recorder, tw_error *error);

/** @} */

TW_END_DECLS

#endif
