/* SPDX-License-Identifier: MIT */
#ifndef TWI_ANALYSIS_WINDOW_H
#define TWI_ANALYSIS_WINDOW_H

/* The window, and how a record stands to it. */

#include <stdbool.h>
#include <stdint.h>

#include "store/row.h"

typedef struct twi_window {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t first_ns; /* the run's first credit */
} twi_window;

/* True if the record's end lies in the window. Windows that tile a run share its records.
 */
bool twi_window_is_member(const twi_window *window, const twi_row *row);
bool twi_window_overlaps(const twi_window *window, const twi_row *row);
bool twi_window_cuts_at_begin(const twi_window *window, const twi_row *row);
bool twi_window_cuts_at_end(const twi_window *window, const twi_row *row);

#endif
