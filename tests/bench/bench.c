/* SPDX-License-Identifier: MIT */
#include "harness.h"
#include "ours.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const size_t count = argc > 1 ? (size_t)atof(argv[1]) : 1000000;
    enum contender list[] = {OURS,  OURS_2T,       RADIX,        RADIX_2T,   SORT,
                             BYTES, OURS_SHUFFLED, OURS_CREDITS, OURS_WINDOW};
    enum { N = sizeof list / sizeof list[0], ROUNDS = 5 };
    double t[N][ROUNDS];
    world *w = world_new(count, TRAFFIC_CLOSED, argc > 2 ? (size_t)atoi(argv[2]) : 0);
    for (int i = 0; i < N; i++)
        world_prepare(w, list[i]);
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < N; i++)
            t[i][r] = world_run(w, list[i]);
    for (int i = 0; i < N; i++) {
        double q[ROUNDS];
        for (int r = 0; r < ROUNDS; r++)
            q[r] = t[i][r] / t[0][r];
        spread a = bench_spread(t[i], ROUNDS), b = bench_spread(q, ROUNDS);
        printf("%-36s %9.1f ns/record (%.1f-%.1f)   / ours %7.2f (%.2f-%.2f)\n",
               world_name(list[i]), a.median / (double)count * 1e9,
               a.min / (double)count * 1e9, a.max / (double)count * 1e9, b.median, b.min,
               b.max);
    }
    world_free(w);
}
