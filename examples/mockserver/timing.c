/* SPDX-License-Identifier: MIT */
#include "timing.h"

#include <math.h>

void timing_add(struct timing *timing, int64_t late_ns)
{
    if (late_ns < 0)
        late_ns = 0;
    int64_t bin = late_ns / TIMING_BIN_NS;
    timing->bins[bin < TIMING_BINS ? bin : TIMING_BINS - 1]++;
    timing->count++;
    if (late_ns > timing->max_ns)
        timing->max_ns = late_ns;
}

int64_t timing_quantile_ns(const struct timing *timing, double q)
{
    double rank = ceil(q * (double)timing->count);
    uint64_t seen = 0;
    for (int64_t bin = 0; bin < TIMING_BINS - 1; bin++) {
        seen += timing->bins[bin];
        int64_t edge_ns = (bin + 1) * TIMING_BIN_NS;
        if (seen > 0 && (double)seen >= rank)
            return edge_ns < timing->max_ns ? edge_ns : timing->max_ns;
    }
    return timing->max_ns;
}
