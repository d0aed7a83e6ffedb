/* SPDX-License-Identifier: MIT */
#ifndef FLOORS_H
#define FLOORS_H

#include "traffic.h"

#include <stdint.h>
#include <timeweight/record.h>

/* What no analysis of all events can be without: their keys in order, and their bytes. All
 * memory is allocated and touched beforehand. */

/* The keys alone: start, first and end of every request. */
typedef struct bare_keys {
    size_t count;
    unsigned bits;  /* that keys have at most */
    unsigned digit; /* bits a pass: 8 or 11 */
    uint64_t *source, *buffer[2];
    const uint64_t *sorted; /* by the last bare_keys_sort() */
} bare_keys;

/* With the digit that is faster here. */
bare_keys *bare_keys_new(const traffic *t);
void bare_keys_free(bare_keys *k);

/* LSD radix sort. */
void bare_keys_sort(bare_keys *k);

/* Reads 32 bytes a record, writes 56 and reads those twice. */
typedef struct bare_bytes {
    size_t read_words, written_words;
    uint64_t *input, *output;
} bare_bytes;

bare_bytes *bare_bytes_new(size_t records);
void bare_bytes_free(bare_bytes *b);

/* The sum of what it read, so that nothing can be left out. */
uint64_t bare_bytes_move(bare_bytes *b);

/* What an append has to store at least. */
typedef struct bare_record {
    int64_t credit_issued_ns, start_ns, generation_start_ns, end_ns;
    int64_t input_tokens, output_tokens;
} bare_record;

/* Makes count records out of those of the source, each later than the one before by 1 ns,
 * and stores them. */
void bare_store(bare_record *to, size_t count, const tw_record *source,
                size_t source_count);

#endif
