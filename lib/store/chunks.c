/* SPDX-License-Identifier: MIT */
#include "store/chunks.h"

/* Gap i of a record. */
static uint64_t gap_before(const tw_record *record, uint64_t i)
{
    const int64_t before = i ? record->chunk_arrival_ns[i - 1]
                             : record->generation_start_ns;
    return (uint64_t)record->chunk_arrival_ns[i] - (uint64_t)before;
}

static uint64_t span_of(const tw_record *record)
{
    return (uint64_t)record->chunk_arrival_ns[record->chunk_count - 1] -
           (uint64_t)record->generation_start_ns;
}

static uint64_t count_long_gaps(const tw_record *record)
{
    const int64_t *arrival_ns = record->chunk_arrival_ns;
    const uint64_t below = (UINT64_C(1) << 63) - TWI_GAP_LONG;
    uint64_t any = gap_before(record, 0) + below, count = 0;

    if (span_of(record) < TWI_GAP_LONG)
        return 0;
    /* Without branches first: few records have one. */
    for (uint64_t i = 1; i < record->chunk_count; i++)
        any |= (uint64_t)arrival_ns[i] - (uint64_t)arrival_ns[i - 1] + below;
    if (any >> 63)
        for (uint64_t i = 0; i < record->chunk_count; i++)
            count += gap_before(record, i) >= TWI_GAP_LONG;
    return count;
}

static uint32_t bytes_of_counts(const tw_record *record)
{
    uint64_t any = 0;

    for (uint64_t i = 0; i < record->chunk_count; i++)
        any |= (uint64_t)record->chunk_tokens[i];
    return any <= UINT8_MAX ? 1 : any <= UINT16_MAX ? 2 : any <= UINT32_MAX ? 4 : 8;
}

twi_chunk_plan twi_chunks_plan(const tw_record *record)
{
    const uint64_t count = record->chunk_count;
    twi_chunk_plan plan = {count_long_gaps(record), 0, 0};

    plan.words = count + 2 * plan.long_gaps;
    if (record->chunk_tokens) {
        plan.token_bytes = bytes_of_counts(record);
        plan.words += 1 + (count * plan.token_bytes + 3) / 4;
    }
    return plan;
}

static void encode_tokens(const tw_record *record, uint32_t bytes, uint32_t *words)
{
    const int64_t *tokens = record->chunk_tokens;
    const uint64_t count = record->chunk_count;
    unsigned char *out = (unsigned char *)(words + 1);

    *words = bytes;
    switch (bytes) {
    case 1:
        for (uint64_t i = 0; i < count; i++)
            out[i] = (unsigned char)tokens[i];
        break;
    case 2:
        for (uint64_t i = 0; i < count; i++) {
            const uint16_t narrow = (uint16_t)tokens[i];
            memcpy(out + 2 * i, &narrow, sizeof narrow);
        }
        break;
    case 4:
        for (uint64_t i = 0; i < count; i++)
            words[1 + i] = (uint32_t)tokens[i];
        break;
    default:
        memcpy(out, tokens, (size_t)count * sizeof *tokens);
    }
}

twi_chunks twi_chunks_encode(const tw_record *record, twi_chunk_plan plan,
                             uint32_t *words)
{
    const int64_t *arrival_ns = record->chunk_arrival_ns;
    const uint64_t count = record->chunk_count;
    twi_chunks chunks = {words, NULL, count, span_of(record)};

    if (plan.long_gaps == 0) {
        words[0] = (uint32_t)gap_before(record, 0);
        for (uint64_t i = 1; i < count; i++)
            words[i] = (uint32_t)((uint64_t)arrival_ns[i] - (uint64_t)arrival_ns[i - 1]);
        words += count;
    } else {
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t gap = gap_before(record, i);

            if (gap < TWI_GAP_LONG) {
                *words++ = (uint32_t)gap;
            } else {
                *words++ = TWI_GAP_LONG;
                *words++ = (uint32_t)gap;
                *words++ = (uint32_t)(gap >> 32);
            }
        }
    }
    if (plan.token_bytes) {
        chunks.tokens = words;
        encode_tokens(record, plan.token_bytes, words);
    }
    return chunks;
}

void twi_chunks_decode(const twi_chunks *chunks, int64_t generation_ns,
                       int64_t *arrival_ns, int64_t *tokens)
{
    twi_chunk_reader reader;
    int64_t at_ns = generation_ns, brought;
    uint64_t gap_ns;

    twi_chunks_open(&reader, chunks, tokens != NULL);
    for (uint64_t i = 0; twi_chunks_next(&reader, &gap_ns, &brought); i++) {
        at_ns += (int64_t)gap_ns;
        arrival_ns[i] = at_ns;
        if (tokens)
            tokens[i] = brought;
    }
}
