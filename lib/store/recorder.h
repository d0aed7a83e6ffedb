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

/* Counts the stored records that did not simply end well: the others are what is left. */
typedef struct twi_outcomes {
    uint64_t failed;
    uint64_t cancelled;
    uint64_t in_flight;
    uint64_t credit_after_start;
    uint64_t chunk_tokens_ignored;
} twi_outcomes;

struct tw_recorder {
    twi_mark mark; /* TWI_MARK_RECORDER */
    tw_allocator allocator;
    twi_block *head;
    twi_block *tail; /* the block of the next row, once there is one */

    atomic_uint_least64_t published; /* number of records */
    atomic_int_least64_t offset_ns;
    atomic_uint_least64_t refused[TW_RULE_LIMIT];

    twi_outcomes outcomes; /* of the stored records */
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

/* Writer's side. The block after `block` (the first one for NULL), made if there is none;
 * NULL if that fails. */
twi_block *twi_recorder_next_block(tw_recorder *recorder, twi_block *block);
/* What tw_recorder_last_error() will say; no detail yet. */
void twi_recorder_set_error(tw_recorder *recorder, int32_t status, uint64_t row,
                            const twi_fault *fault);

/* Reads records back from `first` on, which is at most the number of records. */
size_t twi_recorder_read(const tw_recorder *recorder, uint64_t first, void *records,
                         size_t capacity, size_t stride);
/* Number of chunks of so many published records, and the chunks, behind each other; the
 * records, which were read before, are pointed to theirs. `tokens` may be NULL. */
uint64_t twi_recorder_chunk_count(const tw_recorder *recorder, uint64_t first,
                                  size_t count);
size_t twi_recorder_read_chunks(const tw_recorder *recorder, uint64_t first,
                                void *records, size_t count, size_t stride,
                                int64_t *arrival_ns, int64_t *tokens);
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
