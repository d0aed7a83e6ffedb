/* SPDX-License-Identifier: MIT */
#ifndef TIMEWEIGHT_STATUS_H
#define TIMEWEIGHT_STATUS_H

#include <stdint.h>
#include <timeweight/export.h>

TW_BEGIN_DECLS

/** @defgroup tw_status Status and errors
 *  Every function that can fail returns an int32_t: #TW_OK or one of the negative
 *  #tw_status values. On failure, out-parameters keep what they held and objects stay as
 *  they were, unless a function says otherwise. The library sets no errno.
 *  @{
 */

/** What a call came to. Values never change; -8 to -10 are reserved. */
enum tw_status {
    TW_OK = 0, /**< all went well */
    /** The allocator returned NULL. */
    TW_ERR_NOMEM = -1,
    /** An argument is NULL, out of its range, or contradicts another. */
    TW_ERR_INVAL = -2,
    /** A record breaks a rule (#tw_rule), or a time leaves its range. */
    TW_ERR_RANGE = -3,
    /** Not emitted for this run: an answer of its own, not a zero. */
    TW_ERR_NODATA = -4,
    /** An id, mode or flag that this version does not know. */
    TW_ERR_NOTSUP = -5,
    /** The caller's write function asked to stop, or an Arrow stream reports an error. */
    TW_ERR_IO = -6,
    /** A struct_size or record_size that no version of the library had, or a newer struct
     *  in which a field is set that this version does not know. (Of a record only its
     *  flags decide: #TW_ERR_NOTSUP.) */
    TW_ERR_ABI = -7
};

/** Why a record was refused. The id is also the index of the rule's counter in
 *  tw_balance::refused_by_rule. Values never change. */
enum tw_rule {
    TW_RULE_NONE = 0, /**< no rule was broken */
    /** start_ns is #TW_TIME_NONE. */
    TW_RULE_START_MISSING = 1,
    /** A time lies outside [-2^61, 2^61]. */
    TW_RULE_TIME_RANGE = 2,
    /** generation_start_ns < start_ns. */
    TW_RULE_GENERATION_BEFORE_START = 3,
    /** end_ns < start_ns. */
    TW_RULE_END_BEFORE_START = 4,
    /** end_ns < generation_start_ns. */
    TW_RULE_END_BEFORE_GENERATION = 5,
    /** Failed or cancelled, and no end_ns. */
    TW_RULE_END_MISSING = 6,
    /** A status that is none of #tw_record_status. */
    TW_RULE_STATUS_UNKNOWN = 7,
    /** A token count outside [0, 2^40). */
    TW_RULE_TOKENS_RANGE = 8,
    /** chunk_count > 0 and no chunk_arrival_ns. */
    TW_RULE_CHUNK_ARRIVAL_MISSING = 9,
    /** chunk_count is 2^40 or more. */
    TW_RULE_CHUNK_COUNT_RANGE = 10,
    /** Chunks without, or before, generation_start_ns. */
    TW_RULE_CHUNK_BEFORE_GENERATION = 11,
    /** A chunk arrives before the one that it follows. */
    TW_RULE_CHUNK_ORDER = 12,
    /** A chunk arrives after end_ns. */
    TW_RULE_CHUNK_AFTER_END = 13,
    /** A chunk's token count outside [0, 2^40). */
    TW_RULE_CHUNK_TOKENS_RANGE = 14,
    /** Of columns (arrow.h): a floating-point number that is not whole, or beyond 2^53,
     *  where doubles do not hold each whole number. */
    TW_RULE_NUMBER_INEXACT = 15,
    /** Of columns (arrow.h): as many chunk_tokens as chunk_arrival_ns there are not. */
    TW_RULE_CHUNK_TOKENS_COUNT = 16
};

/** Number of places in tw_balance::refused_by_rule: it never changes. */
#define TW_RULE_LIMIT 32

/** The field that an error is about. Values never change. */
enum tw_field {
    TW_FIELD_NONE = 0, /**< no field in particular */
    TW_FIELD_CREDIT_ISSUED_NS = 1,
    TW_FIELD_START_NS = 2,
    TW_FIELD_GENERATION_START_NS = 3,
    TW_FIELD_END_NS = 4,
    TW_FIELD_INPUT_TOKENS = 5,
    TW_FIELD_OUTPUT_TOKENS = 6,
    TW_FIELD_CHUNK_ARRIVAL_NS = 7,
    TW_FIELD_CHUNK_TOKENS = 8,
    TW_FIELD_CHUNK_COUNT = 9,
    TW_FIELD_STATUS = 10,
    TW_FIELD_FLAGS = 11
};

/** What exactly was wrong: filled by tw_recorder_last_error(). */
typedef struct tw_error {
    uint32_t struct_size; /**< sizeof(tw_error), set by the caller */
    int32_t status;       /**< #TW_OK if nothing has failed yet, else the #tw_status */
    int32_t rule;         /**< #tw_rule, or #TW_RULE_NONE if no rule was broken */
    int32_t field;        /**< #tw_field at fault, or #TW_FIELD_NONE */
    uint64_t row;         /**< index of the offending record in the call that failed */
    uint64_t index;       /**< for chunks: index within the record; else 0 */
    int64_t value_a;      /**< the field's value */
    int64_t value_b;      /**< the value or bound that it was compared with, else 0 */
} tw_error;

/** One English sentence about a status; "unknown status" for any other number. Static
 *  storage, never NULL. Any thread. @since 0.1 */
TW_API const char *tw_strerror(int32_t status);

/** The constant's name, such as "TW_ERR_NOMEM"; NULL for any other number. Static
 *  storage. Any thread. @since 0.1 */
TW_API const char *tw_status_name(int32_t status);

/** A rule's stable name, such as "end_before_start"; NULL if there is no such rule.
 *  Enumerate rules with 1, 2, ... until #TW_RULE_LIMIT. Static storage. Any thread.
 *  @since 0.1 */
TW_API const char *tw_rule_name(int32_t rule);

/** What a rule asks for, such as "must not be earlier than start_ns", to be read after
 *  the field's name; NULL if there is no such rule. Static storage. Any thread.
 *  @since 0.1 */
TW_API const char *tw_rule_text(int32_t rule);

/** A field's name as in tw_record, such as "end_ns"; NULL if there is no such field.
 *  Static storage. Any thread. @since 0.1 */
TW_API const char *tw_field_name(int32_t field);

/** @} */

TW_END_DECLS

#endif
