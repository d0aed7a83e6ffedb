/* SPDX-License-Identifier: MIT */
#ifndef TWI_STAT_RANK_H
#define TWI_STAT_RANK_H

/* Quantiles in exact integers: which rank of the ordered values a quantile asks for. */

#include <stdbool.h>
#include <stdint.h>

/* A quantile is a number of 10^-12 parts, so that 0.9 means nine tenths. */
#define TWI_QUANTILE_ONE UINT64_C(1000000000000)

/* q rounded to 12 decimal places. False if q is not in [0, 1]. */
bool twi_quantile_from(double q, uint64_t *quantile);

/* A place among ordered values of which `rank` counts the weight from 1 on: the value at
 * `rank`, moved by fraction / TWI_QUANTILE_ONE towards the value at rank + 1. */
typedef struct twi_place {
    uint64_t rank;
    uint64_t fraction;
} twi_place;

/* The least value whose cumulative weight is at least the quantile of `weight`. */
twi_place twi_place_least(uint64_t quantile, uint64_t weight);
/* Linear interpolation at rank quantile * (count - 1), counted from 0. */
twi_place twi_place_interpolated(uint64_t quantile, uint64_t count);

#endif
