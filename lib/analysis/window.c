/* SPDX-License-Identifier: MIT */
#include "analysis/window.h"

bool twi_window_is_member(const twi_window *window, const twi_row *row)
{
    if (twi_row_in_flight(row) || row->end_ns > window->end_ns)
        return false;
    /* A record that ends with the run's first credit has no window before to belong to.
     */
    return row->end_ns > window->begin_ns ||
           (row->end_ns == window->begin_ns && window->begin_ns <= window->first_ns);
}

bool twi_window_overlaps(const twi_window *window, const twi_row *row)
{
    const int64_t from = row->start_ns > window->begin_ns ? row->start_ns
                                                          : window->begin_ns;
    const int64_t to = twi_row_in_flight(row) || row->end_ns > window->end_ns
                           ? window->end_ns
                           : row->end_ns;
    return from < to || twi_window_is_member(window, row);
}

bool twi_window_cuts_at_begin(const twi_window *window, const twi_row *row)
{
    return row->start_ns < window->begin_ns &&
           (twi_row_in_flight(row) || window->begin_ns < row->end_ns);
}

bool twi_window_cuts_at_end(const twi_window *window, const twi_row *row)
{
    return row->start_ns < window->end_ns && window->end_ns < twi_row_last_ns(row);
}
