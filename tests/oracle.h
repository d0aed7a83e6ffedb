/* SPDX-License-Identifier: MIT */
#ifndef ORACLE_H
#define ORACLE_H

#include <stddef.h>
#include <stdint.h>
#include <timeweight/analysis.h>
#include <timeweight/metric.h>
#include <timeweight/record.h>

/* A second answer to every question that libtimeweight answers: straight from the
 * definitions in doc/semantics.md, in quadratic time and long double. */

/* One metric. Members without their bit in fields are 0. */
typedef struct oracle_value {
    int emitted;     /* 0: not emitted; everything else is then 0 */
    uint32_t fields; /* TW_HAS_* as in tw_summary */
    double avg, min, max, std, sum;
    int64_t weight_ns, active_ns;
    uint64_t count;
    double scale; /* largest finite |value| in the window, which std is compared to */
} oracle_value;

typedef struct oracle oracle;

/* Records: valid, clock offsets added; they are not copied and must outlive the oracle.
 * The window must not begin after its end, defaults included. NULL: out of memory. */
oracle *oracle_new(const tw_record *records, size_t count, int has_begin,
                   int64_t begin_ns, int has_end, int64_t end_ns);
void oracle_free(oracle *o);
void oracle_window(const oracle *o, int64_t *begin_ns, int64_t *end_ns);
/* An unknown metric is "not emitted". */
void oracle_metric(const oracle *o, int32_t metric, oracle_value *out);
/* 0; -1: not emitted; -2: a scalar or no metric at all. q in [0, 1]. */
int oracle_quantile(const oracle *o, int32_t metric, double q, double *value);
/* Fills all but struct_size, refused and refused_by_rule, which stay as they are. */
void oracle_balance(const oracle *o, tw_balance *balance);

#endif
