/* SPDX-License-Identifier: MIT */
#include "analysis/window.h"

size_t twi_window_members(const twi_window *window, const twi_span *span, uint16_t *rows)
{
    const twi_block *block = span->block;
    /* As in twi_window_is_member(); no time is as early as TW_TIME_NONE. */
    const int64_t first_ns = window->begin_ns + (window->begin_ns > window->first_ns);
    size_t count = 0;

    for (uint32_t r = 0; r < span->rows; r++) {
        const twi_packed *packed = &block->rows[r];
        const int64_t end_ns = packed->end_ns;

        rows[count] = (uint16_t)r;
        count += (twi_packed_state(packed) & 3) == TW_RECORD_OK &&
                 end_ns >= first_ns - span->offset_ns &&
                 end_ns <= window->end_ns - span->offset_ns;
    }
    return count;
}
