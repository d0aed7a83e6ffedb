/* SPDX-License-Identifier: MIT */
#ifndef TIMEWEIGHT_METRIC_H
#define TIMEWEIGHT_METRIC_H

#include <stddef.h>
#include <stdint.h>
#include <timeweight/export.h>
#include <timeweight/status.h>

TW_BEGIN_DECLS

/** @defgroup tw_metric The metric registry
 *  Every metric is a row of one table: bindings, tools and documents are written from it.
 *  All functions here may be called on any thread.
 *  @{
 */

/** Groups in the order of a report; 3 to 7 are left for the field's usage, cache,
 *  prediction, audio and reasoning groups. */
enum tw_group { TW_GROUP_EFFECTIVE = 1, TW_GROUP_ACTIVE = 2, TW_GROUP_DEFAULT = 8 };

/** What a metric is computed from. */
enum tw_kind {
    TW_KIND_CURVE = 1,  /**< a step function of time, weighted by duration */
    TW_KIND_SAMPLE = 2, /**< one value (or several) per record */
    TW_KIND_SCALAR = 3  /**< one number, in avg */
};

/** Metric ids, with the units of their values: stable, never reused, with gaps. */
enum tw_metric {
    TW_EFFECTIVE_CONCURRENCY = 100,                 /**< requests */
    TW_EFFECTIVE_DECODE_THROUGHPUT = 101,           /**< tokens/sec */
    TW_EFFECTIVE_PREFILL_THROUGHPUT = 102,          /**< tokens/sec */
    TW_EFFECTIVE_DECODE_CONCURRENCY = 103,          /**< requests */
    TW_EFFECTIVE_PREFILL_CONCURRENCY = 104,         /**< requests */
    TW_EFFECTIVE_TOTAL_THROUGHPUT = 105,            /**< tokens/sec */
    TW_EFFECTIVE_DECODE_THROUGHPUT_PER_USER = 106,  /**< tokens/sec/user */
    TW_EFFECTIVE_PREFILL_THROUGHPUT_PER_USER = 107, /**< tokens/sec/user */
    TW_TOKENS_IN_FLIGHT = 108,                      /**< tokens */
    TW_EFFECTIVE_QUEUE_DEPTH = 109,                 /**< requests */
    TW_EFFECTIVE_LATENCY = 130,                     /**< ms */
    TW_ADJ_EFFECTIVE_LATENCY = 131,                 /**< ms */

    TW_ACTIVE_DECODE_THROUGHPUT = 200,           /**< tokens/sec */
    TW_ACTIVE_PREFILL_THROUGHPUT = 201,          /**< tokens/sec */
    TW_ACTIVE_DECODE_THROUGHPUT_PER_USER = 202,  /**< tokens/sec/user */
    TW_ACTIVE_PREFILL_THROUGHPUT_PER_USER = 203, /**< tokens/sec/user */
    TW_ACTIVE_TOTAL_THROUGHPUT = 204,            /**< tokens/sec */

    TW_TIME_TO_FIRST_TOKEN = 800,              /**< ms */
    TW_TIME_TO_SECOND_TOKEN = 801,             /**< ms */
    TW_REQUEST_LATENCY = 802,                  /**< ms */
    TW_INTER_TOKEN_LATENCY = 803,              /**< ms */
    TW_INTER_CHUNK_LATENCY = 804,              /**< ms */
    TW_OUTPUT_TOKEN_THROUGHPUT_PER_USER = 805, /**< tokens/sec/user */
    TW_OUTPUT_SEQUENCE_LENGTH = 806,           /**< tokens */
    TW_INPUT_SEQUENCE_LENGTH = 807,            /**< tokens */
    TW_CREDIT_TO_START_LATENCY = 808,          /**< ms */
    TW_ADJ_REQUEST_LATENCY = 809,              /**< ms */
    TW_REQUEST_COUNT = 840,                    /**< requests */
    TW_ERROR_REQUEST_COUNT = 841,              /**< requests */
    TW_BENCHMARK_DURATION = 842,               /**< sec */
    TW_REQUEST_THROUGHPUT = 843,               /**< requests/sec */
    TW_OUTPUT_TOKEN_THROUGHPUT = 844,          /**< tokens/sec */
    TW_TOTAL_TOKEN_THROUGHPUT = 845            /**< tokens/sec */
};

/** One row of the registry. Strings are ASCII in static storage. */
typedef struct tw_metric_row {
    uint32_t struct_size;    /**< sizeof(tw_metric_row), set by the caller */
    int32_t id;              /**< #tw_metric */
    int32_t group;           /**< #tw_group */
    int32_t kind;            /**< #tw_kind */
    int32_t mask;            /**< Active metrics: the concurrency metric that must be > 0;
                                  else 0 */
    int32_t better;          /**< 1: higher is better, -1: lower is better, 0: neither */
    const char *tag;         /**< "effective_concurrency" */
    const char *header;      /**< "Effective Concurrency" */
    const char *unit;        /**< "requests" */
    const char *description; /**< one line */
} tw_metric_row;

/** Number of rows. @since 0.1 */
TW_API size_t tw_metric_count(void);

/** The row at index, in the order of a report.
 *  @param[out] row  struct_size set by the caller; the rest is filled
 *  @return TW_OK; TW_ERR_INVAL if index is not below tw_metric_count() or row is NULL;
 *          TW_ERR_ABI. @since 0.1 */
TW_API int32_t tw_metric_info(size_t index, tw_metric_row *row);

/** The id of a tag such as "effective_latency".
 *  @param[out] id  #tw_metric
 *  @return TW_OK; TW_ERR_NOTSUP if there is no such tag; TW_ERR_INVAL (NULL). @since 0.1
 */
TW_API int32_t tw_metric_find(const char *tag, int32_t *id);

/** @} */

TW_END_DECLS

#endif
