/* SPDX-License-Identifier: MIT */
#ifndef TIMEWEIGHT_ANALYSIS_H
#define TIMEWEIGHT_ANALYSIS_H

#include <stddef.h>
#include <stdint.h>
#include <timeweight/allocator.h>
#include <timeweight/export.h>
#include <timeweight/metric.h>
#include <timeweight/record.h>
#include <timeweight/status.h>

TW_BEGIN_DECLS

/** @defgroup tw_analysis Analyses
 *  From recorders to numbers: tw_analyze() makes an immutable analysis. Any number of
 *  threads may query it at once; queries never lock, never allocate and never change it.
 *  Results depend on the records alone: their order, their split over recorders and the
 *  origin of time change no bit of any of them.
 *  @{
 */

/** tw_options::flags. Other bits: #TW_ERR_NOTSUP. */
enum tw_options_flags {
    TW_WINDOW_BEGIN = 1, /**< window_begin_ns is set */
    TW_WINDOW_END = 2    /**< window_end_ns is set */
};

/** tw_options::kernel: with which instructions to compute. Every kernel gives the same bits;
 *  one that this machine or this build does not have is #TW_ERR_NOTSUP. */
enum tw_kernel {
    TW_KERNEL_AUTO = 0,     /**< the fastest that this machine has */
    TW_KERNEL_PORTABLE = 1, /**< plain C */
    TW_KERNEL_AVX2 = 2,     /**< x86-64 with AVX2, FMA, BMI2 */
    TW_KERNEL_AVX512 = 3,   /**< x86-64 with AVX-512 F, DQ, VL, IFMA */
    TW_KERNEL_NEON = 4      /**< aarch64 */
};

/** Most quantiles that tw_options may name. */
#define TW_QUANTILES_LIMIT 256

/** Runs task(context, i) once for each i below count, on whatever threads the caller
 *  likes, and returns when all are done: 0, or non-zero if some did not run, which makes
 *  the library run them itself. It must not unwind through the library. */
typedef int32_t (*tw_executor_fn)(void *executor_data,
                                  void (*task)(void *context, uint32_t index),
                                  void *context, uint32_t count);

/** How to analyse. Initialise with tw_options_init(); zero means the default. */
typedef struct tw_options {
    uint32_t struct_size; /**< sizeof(tw_options) */
    uint32_t flags;       /**< #tw_options_flags */
    /** Default: the first credit (or start) of the run. */
    int64_t window_begin_ns;
    /** Default: the last response (for requests in flight, the latest time known). */
    int64_t window_end_ns;
    int32_t kernel; /**< #tw_kernel */
    /** The most threads to use inside tw_analyze(); 0 and 1: only the calling one. Fewer
     *  are used for small runs. The result does not depend on it. */
    uint32_t threads;
    /** Used instead of own threads, if any are used; NULL: none. */
    tw_executor_fn executor;
    void *executor_data; /**< passed back to executor */
    /** Quantiles in [0, 1] to have at hand beside the standard ones (1 5 10 25 50 75 90
     *  95 99 %); copied. */
    const double *quantiles;
    /** Of the analysis; copied; NULL: the malloc family. */
    const tw_allocator *allocator;
    uint64_t quantile_count; /**< at most #TW_QUANTILES_LIMIT */
} tw_options;

/** Sets struct_size and zeroes the rest.
 *  @param options      NULL is ignored
 *  @param struct_size  sizeof(tw_options) as the caller sees it. Any thread. @since 0.1
 */
TW_API void tw_options_init(tw_options *options, size_t struct_size);

/** The immutable result. Opaque. */
typedef struct tw_analysis tw_analysis;

/** Analyses all records that the recorders hold when the call begins, as one run.
 *
 *  The recorders may be appended to meanwhile, and cleared or freed afterwards.
 *
 *  @param[out] analysis   the caller releases it with tw_analysis_free()
 *  @param recorders       recorder_count of them, none NULL, none twice; may be NULL if
 *                         recorder_count is 0
 *  @param options         NULL: the defaults
 *  @return TW_OK; TW_ERR_NOMEM; TW_ERR_INVAL (NULL, a recorder twice, an edge or quantile
 *          out of range, or a window that begins after its end: also where one of the
 *          edges is a default); TW_ERR_RANGE (a time leaves [-2^61, 2^61] by its
 *          clock's offset); TW_ERR_NOTSUP (unknown flag or kernel); TW_ERR_ABI.
 *          Any thread. @since 0.1 */
TW_API int32_t tw_analyze(tw_analysis **analysis, tw_recorder *const *recorders,
                          size_t recorder_count, const tw_options *options);

/** Releases an analysis; NULL is ignored. No query of it may be running. @since 0.1 */
TW_API void tw_analysis_free(tw_analysis *analysis);

/** Analyses another window of the same records, without ordering them again: the same
 *  bits as tw_analyze() with that window. Wider than the run is fine. Allocator and
 *  quantiles at hand are those of the analysis; the two may be freed in any order. Any
 *  thread.
 *
 *  @param[out] window  the caller releases it with tw_analysis_free()
 *  @return TW_OK; TW_ERR_NOMEM; TW_ERR_INVAL (NULL, an edge out of range, begin after
 *          end); TW_ERR_NOTSUP for an analysis that keeps no timeline (none does so in
 *          this version). @since 0.1 */
TW_API int32_t tw_analysis_window(tw_analysis **window, const tw_analysis *analysis,
                                  int64_t begin_ns, int64_t end_ns);

/** The window [begin, end) that the statistics integrate over. Both 0 if there are no
 *  records and no edge was set. Any thread.
 *  @return TW_OK, TW_ERR_INVAL (NULL). @since 0.1 */
TW_API int32_t tw_analysis_bounds(const tw_analysis *analysis, int64_t *begin_ns,
                                  int64_t *end_ns);

/** The balance of all recorders together, with the window's members. Any thread.
 *  @param[out] balance  struct_size set by the caller; the rest is filled
 *  @return TW_OK, TW_ERR_INVAL (NULL), TW_ERR_ABI. @since 0.1 */
TW_API int32_t tw_analysis_balance(const tw_analysis *analysis, tw_balance *balance);

/** tw_summary::fields: which members hold a value. */
enum tw_summary_fields {
    TW_HAS_AVG = 1,
    TW_HAS_MIN = 2,
    TW_HAS_MAX = 4,
    TW_HAS_STD = 8,
    TW_HAS_SUM = 16,
    TW_HAS_WEIGHT = 32, /**< weight_ns */
    TW_HAS_ACTIVE = 64, /**< active_ns */
    TW_HAS_COUNT = 128
};

/** One metric in numbers, in the unit of its tw_metric_row. A member without its bit in
 *  fields is 0. min <= avg <= max. */
typedef struct tw_summary {
    uint32_t struct_size; /**< sizeof(tw_summary), set by the caller */
    uint32_t fields;      /**< #tw_summary_fields */
    uint32_t flags;       /**< 0; a bit for approximate results may come */
    uint32_t reserved;    /**< 0 */
    double error_bound;   /**< 0: exact */
    /** Weighted by duration, or over the samples; a scalar's value. +inf for the
     *  error-adjusted latencies, as their max and sum. */
    double avg;
    double min; /**< the least value */
    double max; /**< the greatest value */
    double std; /**< of the population, weighted like avg */
    double sum; /**< samples only */
    /** Curves: the window's length. The integral of an Effective metric is avg *
     *  weight_ns. */
    int64_t weight_ns;
    /** Active metrics: the time in the window with the mask > 0, by which they are
     *  weighted: their integral is avg * active_ns, their share of the window active_ns /
     *  weight_ns. */
    int64_t active_ns;
    /** Samples: how many values, the infinite ones included. */
    uint64_t count;
} tw_summary;

/** Summary of one metric. Any thread; O(1).
 *  @param metric        #tw_metric
 *  @param[out] summary  struct_size set by the caller; the rest is filled
 *  @return TW_OK; TW_ERR_NODATA if the metric is not emitted: no record is eligible; for
 *          curves also an empty window, or a mask that was never on; for samples also no
 *          member with a value. TW_ERR_NOTSUP for an unknown id; TW_ERR_INVAL (NULL);
 *          TW_ERR_ABI. @since 0.1 */
TW_API int32_t tw_analysis_summary(const tw_analysis *analysis, int32_t metric,
                                   tw_summary *summary);

/** Quantiles of one metric. Any thread.
 *
 *  Curves: the least value v such that the time at or below v is at least q of all; never
 *  interpolated. Samples: linear interpolation between order statistics, at rank q times
 *  (n - 1). Error-adjusted samples: the least value whose cumulative share is at least q.
 *  q is first rounded to 12 decimal places and then compared exactly, so that 0.9 means
 *  nine tenths. q = 0 is min, q = 1 is max.
 *
 *  The standard quantiles and those named in the options cost O(1). Any others cost O(N)
 *  passes over the run, on some 80 KB of stack; a few share the passes, so name many in
 *  the options. Error-adjusted latencies can be +inf.
 *
 *  @param q            count values in [0, 1], in any order
 *  @param[out] values  count results
 *  @return TW_OK; TW_ERR_NODATA as for tw_analysis_summary(); TW_ERR_NOTSUP for a scalar
 *          or an unknown id; TW_ERR_INVAL (NULL, or a q outside [0, 1]). @since 0.1 */
TW_API int32_t tw_analysis_quantiles(const tw_analysis *analysis, int32_t metric,
                                     const double *q, double *values, size_t count);

/** A maximal piece of a curve: one value for [begin_ns, end_ns). */
typedef struct tw_segment {
    int64_t begin_ns; /**< where it begins */
    int64_t end_ns;   /**< where it ends: > begin_ns */
    double value;     /**< in the metric's unit */
} tw_segment;

/** Reads a metric's curve inside the window, page by page. Neighbours of one value are
 *  one segment; an Active metric has segments only where its mask is > 0. Any thread;
 *  costs O(log N) and the part of the run that the page covers.
 *
 *  @param metric         a metric of kind #TW_KIND_CURVE
 *  @param from_ns        where to begin: the window's begin (or less), then the next_ns
 *                        of the page before. A segment that began earlier is cut there.
 *  @param[out] segments  capacity elements, segment_size bytes apart; may be NULL if
 *                        capacity is 0
 *  @param segment_size   sizeof(tw_segment) as the caller sees it
 *  @param[out] written   number of segments written: fewer than capacity only at the end
 *  @param[out] next_ns   where the next page begins; the window's end: there is none
 *  @return TW_OK; TW_ERR_NODATA as for tw_analysis_summary(); TW_ERR_NOTSUP for another
 *          kind of metric, an unknown id, or an analysis that keeps no timeline (none
 *          does so in this version); TW_ERR_INVAL (NULL); TW_ERR_ABI. @since 0.1 */
TW_API int32_t tw_analysis_curve(const tw_analysis *analysis, int32_t metric,
                                 int64_t from_ns, tw_segment *segments, size_t capacity,
                                 size_t segment_size, size_t *written, int64_t *next_ns);

/** A curve over one bin of time. */
typedef struct tw_bin {
    int64_t begin_ns; /**< where it begins */
    /** Time of the bin inside the window, for an Active metric with its mask > 0. 0: there
     *  is no value, and the three below are 0. */
    int64_t weight_ns;
    double mean; /**< weighted by duration */
    double min;  /**< the least value */
    double max;  /**< the greatest value */
} tw_bin;

/** Reduces a metric's curve to bins of equal width: bin i covers
 *  [begin_ns + i * width_ns, begin_ns + (i + 1) * width_ns). Exact, in one pass over the
 *  part of the run that the bins cover. Any thread.
 *
 *  @param metric     a metric of kind #TW_KIND_CURVE
 *  @param width_ns   > 0; all bins lie in [-2^61, 2^61]
 *  @param[out] bins  count elements, bin_size bytes apart
 *  @param bin_size   sizeof(tw_bin) as the caller sees it
 *  @return as tw_analysis_curve(); TW_ERR_INVAL also for bins out of range. @since 0.1 */
TW_API int32_t tw_analysis_series(const tw_analysis *analysis, int32_t metric,
                                  int64_t begin_ns, int64_t width_ns, tw_bin *bins,
                                  size_t count, size_t bin_size);

/** @} */

TW_END_DECLS

#endif
