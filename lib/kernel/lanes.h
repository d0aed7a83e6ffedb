/* SPDX-License-Identifier: MIT */
#ifndef TWI_KERNEL_LANES_H
#define TWI_KERNEL_LANES_H

/* The state of all curves in eight 64-bit lanes, and what an event does to it.
 *
 *      PREFILL  high, low      rate in units of 2^-59 tokens/s: high * 2^44 + low
 *      DECODE   high, low      the same
 *      TOKENS   whole, part    tokens in flight: whole + part * 2^-44
 *      COUNTS   active + queued * 2^32, decode + prefill * 2^32
 *
 * Lanes are added and subtracted modulo 2^64 without carries between them. A low lane is
 * the sum of values below 2^44, so it holds a million of them; the carry into the high lane
 * is made when a value is read. twi_timeline checks the bounds before lanes are used. */

#include <stdbool.h>
#include <stdint.h>

#include "base/f64.h"

#define TWI_LANES 8
#define TWI_LOW_BITS 44
#define TWI_LOW_MASK ((UINT64_C(1) << TWI_LOW_BITS) - 1)
#define TWI_LANES_MOST_COUNT (UINT64_C(1) << 20) /* requests in flight */
#define TWI_LANES_MOST_HIGH (UINT64_C(1) << 51)  /* each high lane, and TOKENS */

enum {
    TWI_LANE_PREFILL_HIGH,
    TWI_LANE_PREFILL_LOW,
    TWI_LANE_DECODE_HIGH,
    TWI_LANE_DECODE_LOW,
    TWI_LANE_TOKENS,
    TWI_LANE_TOKENS_PART,
    TWI_LANE_ACTIVE_QUEUED,
    TWI_LANE_DECODE_PREFILL
};

/* What one record adds when its events come. The first four words are added to the lanes of
 * the same number, then come three amounts for the lane TOKENS. */
typedef struct twi_entry {
    uint64_t w[TWI_LANES];
} twi_entry;

enum {
    TWI_ENTRY_PREFILL = TWI_LANE_PREFILL_HIGH, /* two words */
    TWI_ENTRY_DECODE = TWI_LANE_DECODE_HIGH, /* two: of the phase, or of the first gap */
    TWI_ENTRY_INPUT = 4,                     /* tokens that come with the start */
    TWI_ENTRY_OUTPUT = 5,                    /* tokens that come with the first token */
    TWI_ENTRY_ALL = 6                        /* tokens that go with the end */
};

/* Kinds of events, in the low bits of a key. An entry's events at one instant are in the
 * order of their kinds. */
enum {
    TWI_KIND_CREDIT,
    TWI_KIND_START,
    TWI_KIND_START_CREDIT,         /* had a credit event */
    TWI_KIND_START_PREFILL,        /* counts in prefill */
    TWI_KIND_START_PREFILL_CREDIT, /* both */
    TWI_KIND_GENERATION,
    TWI_KIND_CHUNK,       /* index of the gap that ends; the next gap begins */
    TWI_KIND_CHUNK_LAST,  /* index of a gap; no gap follows */
    TWI_KIND_END,         /* never counted in prefill */
    TWI_KIND_END_PREFILL, /* still counts in prefill */
    TWI_KIND_END_DECODE,
    TWI_KIND_END_CHUNKED, /* its chunk events have ended its decode rate */
    TWI_KIND_COUNT,
    TWI_KIND_BITS = 4
};

#define TWI_ACTIVE UINT64_C(1)
#define TWI_QUEUED (UINT64_C(1) << 32)
#define TWI_DECODE UINT64_C(1)
#define TWI_PREFILL (UINT64_C(1) << 32)

/* How a kind takes an entry: lane += (word & take) or -= (word & take), plus a constant. The
 * word of lane TOKENS is the one numbered `tokens`, of all others that of the lane. */
typedef struct twi_effect {
    uint64_t take[TWI_LANES];
    uint64_t negate[TWI_LANES]; /* all ones: subtract */
    uint64_t add[TWI_LANES];
    uint64_t tokens;
} twi_effect;

/* For every kind but CHUNK and CHUNK_LAST. */
extern const twi_effect twi_effects[TWI_KIND_COUNT];

/* ---- Chunks ---------------------------------------------------------------------- */

/* A record with gaps between its chunks, at whose right edges tokens arrive. */
typedef struct twi_chunked {
    uint64_t first_gap;
    uint64_t gap_count;
    uint64_t counts; /* place of its first gap in twi_chunk_table.tokens + 1, or 0 */
    uint64_t tokens; /* without counts: of all gaps together */
    uint64_t share;  /* without counts: tokens / gap_count, 64.64 bits fixed point */
    uint64_t share_part;
    double share_rate; /* without counts: tokens * 1e9 * 2^59 */
} twi_chunked;

#define TWI_GAPS_A_MARK 32 /* gaps from one entry of twi_chunk_table.at to the next */

typedef struct twi_long_gap {
    uint64_t gap;
    uint64_t duration_ns;
} twi_long_gap;

typedef struct twi_chunk_table {
    const twi_chunked *records; /* in order of their gaps */
    const uint32_t *at;     /* index of the record that gap TWI_GAPS_A_MARK * i is of */
    const uint32_t *gap_ns; /* UINT32_MAX: look in `longer` */
    const twi_long_gap *longer; /* in order */
    uint64_t longer_count;
    const uint64_t *tokens; /* per gap, of records with counts */
    /* The first gap that there is and its record: 0 but where a table is being filled. */
    uint64_t from_gap;
    uint64_t from_record;
} twi_chunk_table;

static inline uint64_t twi_gap_ns(const twi_chunk_table *table, uint64_t gap)
{
    uint64_t low = 0, high = table->longer_count;

    if (table->gap_ns[gap] != UINT32_MAX)
        return table->gap_ns[gap];
    while (low + 1 < high) {
        const uint64_t middle = (low + high) / 2;
        if (table->longer[middle].gap <= gap)
            low = middle;
        else
            high = middle;
    }
    return table->longer[low].duration_ns;
}

static inline const twi_chunked *twi_chunked_of(const twi_chunk_table *table,
                                                uint64_t gap)
{
    const bool marked = gap - gap % TWI_GAPS_A_MARK >= table->from_gap;
    const twi_chunked *record =
        &table->records[marked ? table->at[gap / TWI_GAPS_A_MARK] : table->from_record];
    while (gap - record->first_gap >= record->gap_count)
        record++;
    return record;
}

#define TWI_RATE_SHIFT 59 /* unit of rates: 2^-59 tokens/s */
#define TWI_RATE_ONE 0x1p59

/* tokens / duration in the unit of rates: rounded to a double, then down to the unit. */
static inline double twi_rate(double tokens_times_1e9, double duration_ns)
{
    return twi_f64_floor(twi_f64_ratio(tokens_times_1e9, duration_ns));
}

/* A number of tokens as twi_rate() wants it. */
static inline double twi_rate_tokens(uint64_t tokens)
{
    return twi_f64_product((double)(int64_t)tokens, 1e9 * TWI_RATE_ONE);
}

/* The rate over a gap of a record. */
static inline double twi_gap_rate(const twi_chunk_table *table, const twi_chunked *record,
                                  uint64_t gap)
{
    const double ns = (double)(int64_t)twi_gap_ns(table, gap);

    if (record->counts)
        return twi_rate(
            twi_rate_tokens(table->tokens[record->counts - 1 + gap - record->first_gap]),
            ns);
    return twi_rate(record->share_rate,
                    twi_f64_product(ns, (double)(int64_t)record->gap_count));
}

/* A rate shared among users. */
static inline double twi_per_user(double rate, uint32_t users)
{
    return users ? twi_f64_floor(twi_f64_ratio(rate, (double)(int64_t)users)) : 0;
}

/* An amount of tokens: whole + part * 2^-44. */
typedef struct twi_amount {
    uint64_t whole;
    uint64_t part;
} twi_amount;

/* What the first `gaps` gaps of a record without counts have brought: evenly spread, and
 * exact at the end. */
static inline twi_amount twi_spread(const twi_chunked *record, uint64_t gaps)
{
    uint64_t whole;
    const uint64_t part = twi_mul64(gaps, record->share_part, &whole);

    if (gaps == record->gap_count)
        return (twi_amount){record->tokens, 0};
    return (twi_amount){whole + gaps * record->share, part >> (64 - TWI_LOW_BITS)};
}

/* A rate below 2^95 units as two lanes. */
static inline void twi_split_rate(double rate, uint64_t *high, uint64_t *low)
{
    const int64_t above = (int64_t)(rate * 0x1p-44);
    *high = (uint64_t)above;
    *low = (uint64_t)(int64_t)(rate - (double)above * 0x1p44);
}

/* Lets the event at the right edge of a gap take effect; `last`: no gap follows. */
static inline void twi_apply_chunk(const twi_chunk_table *table, uint64_t gap, int last,
                                   uint64_t *state)
{
    const twi_chunked *record = twi_chunked_of(table, gap);
    const uint64_t number = gap - record->first_gap;
    uint64_t high, low;

    twi_split_rate(twi_gap_rate(table, record, gap), &high, &low);
    state[TWI_LANE_DECODE_HIGH] -= high;
    state[TWI_LANE_DECODE_LOW] -= low;
    if (!last) {
        twi_split_rate(twi_gap_rate(table, record, gap + 1), &high, &low);
        state[TWI_LANE_DECODE_HIGH] += high;
        state[TWI_LANE_DECODE_LOW] += low;
    }
    if (record->counts) {
        state[TWI_LANE_TOKENS] += table->tokens[record->counts - 1 + number];
    } else {
        const twi_amount from = twi_spread(record, number);
        const twi_amount to = twi_spread(record, number + 1);
        state[TWI_LANE_TOKENS] += to.whole - from.whole;
        state[TWI_LANE_TOKENS_PART] += to.part - from.part;
    }
}

static inline int twi_kind_is_chunk(unsigned kind)
{
    return kind == TWI_KIND_CHUNK || kind == TWI_KIND_CHUNK_LAST;
}

/* Lets an event that is not a chunk take effect. */
static inline void twi_apply_entry(const twi_entry *entry, unsigned kind, uint64_t *state)
{
    const twi_effect *effect = &twi_effects[kind];
    uint64_t word[TWI_LANES];

    for (int i = 0; i < TWI_LANES; i++)
        word[i] = entry->w[i];
    word[TWI_LANE_TOKENS] = entry->w[effect->tokens];
    for (int i = 0; i < TWI_LANES; i++)
        state[i] += (((word[i] & effect->take[i]) ^ effect->negate[i]) -
                     effect->negate[i]) +
                    effect->add[i];
}

#endif
