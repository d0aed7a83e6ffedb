/* SPDX-License-Identifier: MIT */
#ifndef TWI_STORE_CHUNKS_H
#define TWI_STORE_CHUNKS_H

/* The chunks of one record as they are stored, in 32-bit words:
 *
 *      gaps    a word each: ns since the arrival before, the first since generation_start.
 *              A gap of TWI_GAP_LONG or more takes three: TWI_GAP_LONG, its low half, its
 *              high half
 *      tokens  only if they were counted: a word that says how many bytes a count takes
 *              (1, 2, 4 or 8: as few as the record's largest count needs), then the counts
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <timeweight/record.h>

#define TWI_GAP_LONG UINT32_MAX

typedef struct twi_chunks {
    const uint32_t *gaps;
    const uint32_t *tokens; /* NULL: not counted */
    uint64_t count;
    uint64_t span_ns; /* from generation_start to the last arrival */
} twi_chunks;

/* What the chunks of an acceptable record, which has some, come to when they are stored. */
typedef struct twi_chunk_plan {
    uint64_t long_gaps;
    uint64_t words;       /* all in all */
    uint32_t token_bytes; /* 0: not counted */
} twi_chunk_plan;

twi_chunk_plan twi_chunks_plan(const tw_record *record);
/* Stores them in as many words as planned, which must outlive the result. */
twi_chunks twi_chunks_encode(const tw_record *record, twi_chunk_plan plan,
                             uint32_t *words);
/* All of them as they were appended, where generation_start was `generation_ns`. `tokens`
 * may be NULL; it is filled with TW_TOKENS_NONE if they were not counted. */
void twi_chunks_decode(const twi_chunks *chunks, int64_t generation_ns,
                       int64_t *arrival_ns, int64_t *tokens);

/* Reads chunks one after the other. */
typedef struct twi_chunk_reader {
    const uint32_t *gap;
    const unsigned char *tokens; /* NULL: not counted */
    uint64_t left;
    uint32_t token_bytes;
} twi_chunk_reader;

static inline void twi_chunks_open(twi_chunk_reader *reader, const twi_chunks *chunks,
                                   bool with_tokens)
{
    reader->gap = chunks->gaps;
    reader->left = chunks->count;
    reader->tokens = NULL;
    reader->token_bytes = 0;
    if (with_tokens && chunks->tokens) {
        reader->tokens = (const unsigned char *)(chunks->tokens + 1);
        reader->token_bytes = *chunks->tokens;
    }
}

static inline int64_t twi_chunks_take_tokens(twi_chunk_reader *reader)
{
    const unsigned char *at = reader->tokens;
    uint16_t two;
    uint32_t four;
    int64_t eight;

    reader->tokens += reader->token_bytes;
    switch (reader->token_bytes) {
    case 1:
        return *at;
    case 2:
        memcpy(&two, at, sizeof two);
        return two;
    case 4:
        memcpy(&four, at, sizeof four);
        return four;
    default:
        memcpy(&eight, at, sizeof eight);
        return eight;
    }
}

/* The next chunk: the gap since the one before (since generation_start for the first), and
 * its tokens, TW_TOKENS_NONE if they are not counted. False if there is none. */
static inline bool twi_chunks_next(twi_chunk_reader *reader, uint64_t *gap_ns,
                                   int64_t *tokens)
{
    uint64_t gap;

    if (!reader->left)
        return false;
    reader->left--;
    gap = *reader->gap++;
    if (gap == TWI_GAP_LONG) {
        gap = reader->gap[0] | (uint64_t)reader->gap[1] << 32;
        reader->gap += 2;
    }
    *gap_ns = gap;
    *tokens = reader->tokens ? twi_chunks_take_tokens(reader) : TW_TOKENS_NONE;
    return true;
}

#endif
