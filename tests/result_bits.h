/* SPDX-License-Identifier: MIT */
#ifndef RESULT_BITS_H
#define RESULT_BITS_H

/* Hashes over the bits of all that an analysis says, for comparing machines, compilers,
 * kernels, and ways of computing. */

#include <stdbool.h>
#include <stdint.h>
#include <timeweight/timeweight.h>

enum {
    BITS_SUMMARIES,
    BITS_QUANTILES,
    BITS_CURVES, /* and series */
    BITS_BALANCE,
    BITS_REPORTS,
    BITS_COUNT
};

typedef struct result_bits {
    uint64_t of[BITS_COUNT];
} result_bits;

/* The quantiles that are asked for: naming them in tw_options saves passes. */
#define BITS_QUANTILES_ASKED 15
extern const double result_bits_quantiles[BITS_QUANTILES_ASKED];

void result_bits_begin(result_bits *bits);
void result_bits_add_number(result_bits *bits, uint64_t number); /* to the balance */
/* False if something cannot be had that always can. */
bool result_bits_add(result_bits *bits, const tw_analysis *analysis);
bool result_bits_same(const result_bits *a, const result_bits *b);
/* One line, without its end. */
void result_bits_print(const result_bits *bits);

#endif
