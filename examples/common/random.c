/* SPDX-License-Identifier: MIT */
#include "random.h"

#include <math.h>

/* SplitMix64. */
uint64_t random_bits(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

struct random random_begin(uint64_t seed, uint64_t stream)
{
    struct random random = {.state = seed};
    random.state = random_bits(&random) ^ stream;
    random.state = random_bits(&random);
    return random;
}

double random_unit(struct random *random)
{
    return (double)(random_bits(random) >> 11) * 0x1p-53;
}

double random_exponential(struct random *random)
{
    return -log1p(-random_unit(random));
}

/* The polar method of Marsaglia. */
static double normal(struct random *random)
{
    for (;;) {
        double x = 2 * random_unit(random) - 1;
        double y = 2 * random_unit(random) - 1;
        double square = x * x + y * y;
        if (square > 0 && square < 1)
            return x * sqrt(-2 * log(square) / square);
    }
}

/* Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), for a
 * shape of at least 1. */
static double gamma_from_1(struct random *random, double shape)
{
    double d = shape - 1.0 / 3;
    double c = 1 / sqrt(9 * d);
    for (;;) {
        double x = normal(random);
        double root = 1 + c * x;
        if (root <= 0)
            continue;
        double v = root * root * root;
        double u = 1 - random_unit(random); /* in (0, 1] */
        if (log(u) < x * x / 2 + d - d * v + d * log(v))
            return d * v;
    }
}

double random_gamma(struct random *random, double shape)
{
    if (shape == 1)
        return random_exponential(random);
    if (shape > 1)
        return gamma_from_1(random, shape) / shape;
    double boost = pow(1 - random_unit(random), 1 / shape);
    return gamma_from_1(random, shape + 1) * boost / shape;
}
