/* SPDX-License-Identifier: MIT */
#ifndef COMMON_RANDOM_H
#define COMMON_RANDOM_H

#include <stdint.h>

/* Chance that can be repeated: the same seed and stream give the same numbers. */
struct random {
    uint64_t state;
};

struct random random_begin(uint64_t seed, uint64_t stream);

uint64_t random_bits(struct random *random);

/* In [0, 1). */
double random_unit(struct random *random);

/* Of mean 1: the gaps of a Poisson process. */
double random_exponential(struct random *random);

/* Gamma of mean 1 with a shape > 0: below 1 it comes in bursts, 1 is the exponential,
 * above 1 it is more even. */
double random_gamma(struct random *random, double shape);

#endif
