/* SPDX-License-Identifier: MIT */
#ifndef TIMEWEIGHT_REPORT_H
#define TIMEWEIGHT_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <timeweight/analysis.h>
#include <timeweight/export.h>

TW_BEGIN_DECLS

/** @defgroup tw_report Reports
 *  Writes an analysis out through a function of the caller's. No locale is involved: the
 *  decimal point is a point.
 *  @{
 */

/** Formats of tw_report_write(). */
enum tw_format {
    /** For people: window, balance, counters, one table per group. */
    TW_FORMAT_TEXT = 1,
    /** One line per metric under a line of names; numbers as in JSON, "inf" where JSON
     *  leaves them out, empty where there are none. */
    TW_FORMAT_CSV = 2,
    /** One JSON object on one line; doubles are the shortest that read back to the same
     *  bits; schema in doc/json.md. */
    TW_FORMAT_JSON = 3
};

/** Takes length bytes (not terminated). Returns 0 to go on; anything else stops the
 *  report with #TW_ERR_IO. It must not unwind through the library, or free the analysis. */
typedef int32_t (*tw_write_fn)(void *user_data, const char *bytes, size_t length);

/** Most counters that tw_report_options may name. */
#define TW_COUNTERS_LIMIT 256

/** What to add to a report. Zero every field that is not set. */
typedef struct tw_report_options {
    uint32_t struct_size; /**< sizeof(tw_report_options) */
    uint32_t flags;       /**< 0 */
    /** Counters of the caller's own, such as rows that a reader left out, shown beside
     *  the library's: counter_count names, of [a-z0-9_], each another. */
    const char *const *counter_names;
    const uint64_t *counter_values; /**< the value of each */
    uint64_t counter_count;         /**< at most #TW_COUNTERS_LIMIT; 0: none */
} tw_report_options;

/** Writes a report. The quantiles named in tw_options are shown beside the standard ones.
 *  Any thread.
 *
 *  @param format   #tw_format
 *  @param options  NULL: the defaults
 *  @param write    called with successive pieces of the report, on the calling thread
 *  @return TW_OK; TW_ERR_IO; TW_ERR_NOTSUP for an unknown format or flag; TW_ERR_INVAL
 *          (NULL, or a counter name with other characters or that is there twice);
 *          TW_ERR_ABI. @since 0.1 */
TW_API int32_t tw_report_write(const tw_analysis *analysis, int32_t format,
                               const tw_report_options *options, tw_write_fn write,
                               void *user_data);

/** @} */

TW_END_DECLS

#endif
