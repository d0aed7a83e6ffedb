/* SPDX-License-Identifier: MIT */
#ifndef TWI_KERNEL_KERNEL_H
#define TWI_KERNEL_KERNEL_H

/* The loops that take the time, over plain arrays, in one version per instruction set. All
 * versions give the same bits: kernel_portable.c is what the others are compared with. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/lanes.h"

#define TWI_BATCH_SIZE 256
#define TWI_KERNEL_ALIGN 64 /* the largest register, and a cache line */

/* ---- Events -> stretches of time ------------------------------------------------- */

/* Events in order of time: buckets of equal width, each with its keys in order. A key is
 * (time - begin of its bucket) << what_bits | index << TWI_KIND_BITS | kind. Times are
 * relative to the begin of bucket 0. Behind the last key, TWI_LOOK_AHEAD zeros may be
 * read. */
typedef struct twi_events {
    const uint64_t *keys;
    const uint64_t *bucket_end; /* [b]: the key behind those of bucket b */
    uint64_t bucket_count;
    unsigned bucket_shift; /* width of a bucket: 2^bucket_shift ns */
    unsigned what_bits;
    const twi_entry *entries;
    twi_chunk_table chunks;
} twi_events;

/* A run of 2^cell_shift buckets. */
typedef struct twi_cell {
    /* Before its first event; while the events are placed, what they do all together. */
    uint64_t state[TWI_LANES];
} twi_cell;

/* Events on their way into the buckets. */
typedef struct twi_placing {
    const twi_events *events;
    uint64_t *keys;
    uint64_t *bucket_next; /* where the next key of each bucket goes */
    twi_cell *cells;       /* or NULL: no sums */
    unsigned cell_shift;
} twi_placing;

static inline uint64_t twi_key(const twi_events *events, uint64_t time, uint64_t what)
{
    const uint64_t inside = time & ((UINT64_C(1) << events->bucket_shift) - 1);
    return inside << events->what_bits | what;
}

/* Lets any event take effect. */
static inline void twi_apply(const twi_events *events, uint64_t what, uint64_t *state)
{
    const unsigned kind = (unsigned)(what % (1u << TWI_KIND_BITS));
    const uint64_t index = what >> TWI_KIND_BITS;

    if (twi_kind_is_chunk(kind))
        twi_apply_chunk(&events->chunks, index, kind == TWI_KIND_CHUNK_LAST, state);
    else
        twi_apply_entry(&events->entries[index], kind, state);
}

/* How many events ahead to ask for what an event will need: entries lie in the order of the
 * records, so most of them would be waited for. */
#define TWI_LOOK_AHEAD 64

typedef struct twi_cursor {
    uint64_t bucket; /* of the next key */
    uint64_t next;   /* key that has not taken effect yet */
    uint64_t now;    /* all before it has been given out */
    uint64_t end;    /* the last stretch ends here */
    uint64_t state[TWI_LANES];
} twi_cursor;

/* Stretches of positive length in which nothing happens, with the state during each. Faster
 * where it is aligned to TWI_KERNEL_ALIGN. */
typedef struct twi_batch {
    uint64_t state[TWI_BATCH_SIZE][TWI_LANES];
    uint64_t duration_ns[TWI_BATCH_SIZE];
    size_t count;
} twi_batch;

/* ---- States -> values of curves -------------------------------------------------- */

/* Curves whose values are counts, and those whose values are real. */
enum {
    TWI_COUNT_QUEUED,
    TWI_COUNT_ACTIVE,
    TWI_COUNT_PREFILL,
    TWI_COUNT_DECODE,
    TWI_COUNTS
};
enum {
    TWI_REAL_PREFILL_RATE, /* units of 2^-59 tokens/s */
    TWI_REAL_DECODE_RATE,
    TWI_REAL_TOTAL_RATE,
    TWI_REAL_DECODE_RATE_PER_USER,
    TWI_REAL_PREFILL_RATE_PER_USER,
    TWI_REAL_TOKENS, /* 2^-44 tokens */
    TWI_REALS
};

typedef struct twi_values {
    uint32_t count[TWI_COUNTS][TWI_BATCH_SIZE];
    double real[TWI_REALS][TWI_BATCH_SIZE];
} twi_values;

/* ---- Values -> distribution ------------------------------------------------------ */

/* All values are whole numbers in their unit, below 2^192, as doubles. Their bins: the
 * leading bits of the double, its exponent and some of its fraction; 0 for zero. Coarser
 * bins are unions of finer ones. */
#define TWI_BIN_LEAST_BITS 6 /* of the fraction */
#define TWI_BIN_MOST_BITS 12
#define TWI_BIN_PAGES 193 /* page 0: zero; page p: values from 2^(p - 1) on */
#define TWI_BIN_BASE ((uint64_t)(TWI_F64_BIAS - 1) << TWI_F64_FRACTION_BITS)

static inline uint32_t twi_bin_number(double value, unsigned bin_bits)
{
    const uint64_t bits = twi_f64_bits(value);
    return bits > TWI_BIN_BASE
               ? (uint32_t)((bits - TWI_BIN_BASE) >> (TWI_F64_FRACTION_BITS - bin_bits))
               : 0;
}

/* An exact sum of value * weight: 320 bits, unit 2^-64. */
typedef struct twi_sum {
    uint64_t w[5];
} twi_sum;

#define TWI_SUM_LIMBS 5
#define TWI_SUM_SHIFT 64

/* What a batch of values amounts to beside its bins. */
typedef struct twi_tally {
    unsigned bin_bits;
    twi_sum sum;  /* of value * weight */
    double least; /* value above 0 (infinity: none) */
    double most;
} twi_tally;

/* Moments of values as whole numbers: floor(value * factor) < 2^TWI_MOMENT_BITS. */
#define TWI_MOMENT_BITS 48
typedef struct twi_moment_sums {
    double factor;      /* a power of two */
    uint64_t sum[2];    /* of whole * weight */
    uint64_t square[3]; /* of whole^2 * weight */
} twi_moment_sums;

/* A bit for each bin number modulo the size. */
#define TWI_FILTER_BITS 4096
typedef struct twi_filter {
    unsigned bin_bits;
    uint64_t w[TWI_FILTER_BITS / 64];
} twi_filter;

static inline bool twi_filter_passes(const twi_filter *filter, uint32_t number)
{
    return filter->w[number / 64 % (TWI_FILTER_BITS / 64)] >> number % 64 & 1;
}

typedef struct twi_kernel {
    const char *name;

    /* Orders up to TWI_SORT_MOST keys. */
    void (*sort)(uint64_t *keys, size_t count);

    /* Puts events into their buckets, unordered, and adds what they do to their cells. */
    void (*place)(const twi_placing *placing, const uint64_t *time, const uint64_t *what,
                  size_t count);

    /* Fills the batch with the next stretches; false if there is none left. */
    bool (*advance)(const twi_events *events, twi_cursor *cursor, twi_batch *batch);

    /* The values of all curves. */
    void (*values)(const twi_batch *batch, twi_values *values);

    /* The bin number of each value, and the tally of all: least and most are taken
     * further, the sum is added to. 0 < weight < 2^63. */
    void (*tally)(const double *value, const uint64_t *weight, size_t count,
                  uint32_t *number, twi_tally *tally);

    /* Adds to the moments. */
    void (*moments)(const double *value, const uint64_t *weight, size_t count,
                    twi_moment_sums *moments);

    /* The indices of values that are not zero and whose bin passes the filter. */
    size_t (*find)(const double *value, size_t count, const twi_filter *filter,
                   uint16_t *index);
} twi_kernel;

#define TWI_SORT_MOST 64

extern const twi_kernel twi_kernel_portable;
#if defined(TWI_HAVE_AVX2)
extern const twi_kernel twi_kernel_avx2;
#endif
#if defined(TWI_HAVE_AVX512)
extern const twi_kernel twi_kernel_avx512;
#endif
#if defined(TWI_HAVE_NEON)
extern const twi_kernel twi_kernel_neon;
#endif

/* The kernel for a value of tw_options::kernel, or NULL: unknown, or this machine cannot run
 * it. */
const twi_kernel *twi_kernel_get(int32_t kernel);

/* sum += (high, low) * 2^exponent, for an exponent of at least -TWI_SUM_SHIFT. */
void twi_sum_add_product(twi_sum *sum, uint64_t low, uint64_t high, int exponent);

#endif
