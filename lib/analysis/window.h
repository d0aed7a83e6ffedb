/* SPDX-License-Identifier: MIT */
#ifndef TWI_ANALYSIS_WINDOW_H
#define TWI_ANALYSIS_WINDOW_H

/* The window, and how a record stands to it. */

#include <stdbool.h>
#include <stdint.h>

#include "store/recorder.h"

typedef struct twi_window {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t first_ns; /* the run's first credit */
} twi_window;

/* True if the record's end lies in the window. Windows that tile a run share its records.
 */
static inline bool twi_window_is_member(const twi_window *window, const twi_row *row)
{
    if (twi_row_in_flight(row) || row->end_ns > window->end_ns)
        return false;
    /* A record that ends with the run's first credit has no window before to belong to.
     */
    return row->end_ns > window->begin_ns ||
           (row->end_ns == window->begin_ns && window->begin_ns <= window->first_ns);
}

static inline bool twi_window_overlaps(const twi_window *window, const twi_row *row)
{
    const int64_t from = row->start_ns > window->begin_ns ? row->start_ns
                                                          : window->begin_ns;
    const int64_t to = twi_row_in_flight(row) || row->end_ns > window->end_ns
                           ? window->end_ns
                           : row->end_ns;
    return from < to || twi_window_is_member(window, row);
}

static inline bool twi_window_cuts_at_begin(const twi_window *window, const twi_row *row)
{
    return row->start_ns < window->begin_ns &&
           (twi_row_in_flight(row) || window->begin_ns < row->end_ns);
}

static inline bool twi_window_cuts_at_end(const twi_window *window, const twi_row *row)
{
    return row->start_ns < window->end_ns && window->end_ns < twi_row_last_ns(row);
}

/* The rows of a span that are members and ended well; `rows` has room for a block's. */
size_t twi_window_members(const twi_window *window, const twi_span *span, uint16_t *rows);

#endif
