/* SPDX-License-Identifier: MIT */
#ifndef TWI_STORE_APPEND_H
#define TWI_STORE_APPEND_H

/* Appending, in steps for records that come in batches: begin, rows any number of times,
 * end. Nothing of it is seen before the end, nor by other appends in between, of which
 * there must be none. A failure of rows, or fail, ends it and leaves the recorder as it was
 * but for the error and its counter.
 *
 * An ordinary record goes straight into its block, at little more than the cost of the
 * bytes. All others take a closer look, and so does the first record of a block. */

#include "base/mem.h"
#include "store/recorder.h"

/* Where records come from: fills in the row-th one, whose fields are not checked yet.
 * TW_OK; TW_ERR_RANGE with the rule that refuses it, as if the record had broken it; or
 * another status that ends the append (and the fault that goes with it). */
typedef int32_t (*twi_record_fn)(const void *source, size_t row, tw_record *record,
                                 twi_fault *fault);

typedef struct twi_append {
    tw_recorder *recorder;
    twi_block *tail;    /* where the next row goes; NULL: before the first block */
    uint64_t published; /* number of rows before it, over all blocks */
    uint64_t row;       /* number of rows that were looked at */
    twi_outcomes outcomes;
    bool skip_invalid;

    bool is_marked;      /* mark and first are set: only once a row took a closer look */
    twi_block_mark mark; /* of the recorder's tail as it was */
    twi_fault first;     /* refusal; if there was one, what follows is set too */
    uint64_t first_row;
    uint64_t refused[TW_RULE_LIMIT];
} twi_append;

void twi_append_begin(twi_append *append, tw_recorder *recorder, bool skip_invalid);
/* Records that lie `stride` bytes apart, which is at least their size, and are aligned. */
int32_t twi_append_array(twi_append *append, const tw_record *records, size_t stride,
                         size_t count);
/* Records from anywhere. */
int32_t twi_append_rows(twi_append *append, twi_record_fn get, const void *source,
                        size_t count);
void twi_append_end(twi_append *append, size_t *accepted);
/* Notes the fault (NULL: none in particular) at the next row, and returns the status. */
int32_t twi_append_fail(twi_append *append, int32_t status, const twi_fault *fault);

/* ---- Records that need no closer look -------------------------------------------- */

/* Rows ahead whose memory is asked for, in this block or, with luck, in the next one:
 * without that the writer waits for each line of it (measured: 13 ns a record then, 8 with
 * it). */
enum { TWI_APPEND_AHEAD = 16 };

/* Writes a record of which twi_rules_is_ordinary(): there is nothing to be tallied. */
static inline void twi_append_put(twi_packed *row, const tw_record *record)
{
    twi_mem_prefetch(row, TWI_APPEND_AHEAD * sizeof *row);
    twi_packed_write(row, record,
                     record->flags & TW_RECORD_STREAMING ? TWI_ROW_STREAMING : 0u);
}

/* A whole append of one record, if it needs no closer look and its block has begun. False
 * says that nothing was done. */
static inline bool twi_append_one(tw_recorder *recorder, const tw_record *record)
{
    const uint64_t published = atomic_load_explicit(&recorder->published,
                                                    memory_order_relaxed);
    const uint32_t at = (uint32_t)(published % TWI_BLOCK_ROWS);

    if (!at || !twi_rules_is_ordinary(record))
        return false;
    twi_append_put(&recorder->tail->rows[at], record);
    atomic_store_explicit(&recorder->published, published + 1, memory_order_release);
    return true;
}

#endif
