/* SPDX-License-Identifier: MIT */
#ifndef TWI_STORE_RECORDER_H
#define TWI_STORE_RECORDER_H

/* The store behind a tw_recorder: a chain of blocks, filled by one writer.
 *
 *      head -> [full] -> [full] -> [tail: rows so far | free] -> [spare] -> NULL
 *
 * `published` is the only thing that a reader and the writer share: rows below it are
 * final. Whatever lies behind the tail's rows is spare, whatever it holds. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <timeweight/record.h>

#include "base/mark.h"
#include "store/block.h"
#include "store/rules.h"

/* Room for the words that go with an error, the end of the string included. */
#define TWI_DETAIL_SIZE 256

struct tw_recorder {
    twi_mark mark; /* TWI_MARK_RECORDER */
    tw_allocator allocator;
    twi_block *head;
    twi_block *tail; /* the block of the next row, once there is one */

    atomic_uint_least64_t published; /* number of records */
    atomic_int_least64_t offset_ns;
    atomic_uint_least64_t refused[TW_RULE_LIMIT];

    tw_balance balance; /* of the stored records; `refused` above holds the others */
    tw_error last_error;
    char detail[TWI_DETAIL_SIZE]; /* about last_error, where its numbers do not say it */
};

/* The blocks of the recorder's records as of one moment, held for reading. */
typedef struct twi_span {
    twi_block *block;
    uint32_t rows;
    int64_t offset_ns;
} twi_span;

tw_recorder *twi_recorder_new(const tw_allocator *allocator);
void twi_recorder_free(tw_recorder *recorder);

/* Where records come from: fills in the row-th one, whose fields are not checked yet.
 * TW_OK; TW_ERR_RANGE with the rule that refuses it, as if the record had broken it; or
 * another status that ends the append (and the fault that goes with it). */
typedef int32_t (*twi_record_fn)(const void *source, size_t row, tw_record *record,
                                 twi_fault *fault);

/* Appends count records. All or nothing, unless skip_invalid; in that case too a failure
 * stores nothing. TW_OK, TW_ERR_RANGE, TW_ERR_NOTSUP, TW_ERR_NOMEM, or what `get`
 * returns. */
int32_t twi_recorder_append(tw_recorder *recorder, twi_record_fn get, const void *source,
                            size_t count, bool skip_invalid, size_t *accepted);

/* The same in steps, for records that come in batches: begin, rows any number of times,
 * end. Nothing of it is seen before the end, nor by other appends in between, of which
 * there must be none. A failure of rows, or fail, ends it and leaves the recorder as it
 * was but for the error and its counter. */
typedef struct twi_append {
    tw_recorder *recorder;
    bool skip_invalid;
    twi_block *tail;     /* where the next row goes; NULL: before the first block */
    uint64_t published;  /* number of rows before it, over all blocks */
    twi_block_mark mark; /* of the recorder's tail as it was */
    tw_balance balance;
    uint64_t row;    /* number of rows that were looked at */
    twi_fault first; /* refusal, if any was skipped; the two below are set with it */
    uint64_t first_row;
    uint64_t refused[TW_RULE_LIMIT];
} twi_append;

void twi_append_begin(twi_append *append, tw_recorder *recorder, bool skip_invalid);
int32_t twi_append_rows(twi_append *append, twi_record_fn get, const void *source,
                        size_t count);
void twi_append_end(twi_append *append, size_t *accepted);
/* Notes the fault (NULL: none in particular) at the next row, and returns the status. */
int32_t twi_append_fail(twi_append *append, int32_t status, const twi_fault *fault);

/* What tw_recorder_last_error() will say; no detail yet. */
void twi_recorder_set_error(tw_recorder *recorder, int32_t status, uint64_t row,
                            const twi_fault *fault);

/* Reads records back from `first` on, which is at most the number of records. */
size_t twi_recorder_read(const tw_recorder *recorder, uint64_t first, void *records,
                         size_t capacity, size_t stride);
int32_t twi_recorder_reserve(tw_recorder *recorder, uint64_t records);
void twi_recorder_clear(tw_recorder *recorder);
uint64_t twi_recorder_memory(const tw_recorder *recorder);
/* Every member but those about a window. */
void twi_recorder_balance(const tw_recorder *recorder, tw_balance *balance);

/* Reader's side, any thread: how many spans hold the `published` records, and the spans
 * themselves, each with a reference to its block. */
uint64_t twi_recorder_published(const tw_recorder *recorder);
uint64_t twi_recorder_span_count(uint64_t published);
void twi_recorder_spans(const tw_recorder *recorder, uint64_t published, twi_span *spans);
/* Adds the refusals so far to a balance. */
void twi_recorder_add_refusals(const tw_recorder *recorder, tw_balance *balance);

#endif
