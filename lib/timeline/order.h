/* SPDX-License-Identifier: MIT */
#ifndef TWI_TIMELINE_ORDER_H
#define TWI_TIMELINE_ORDER_H

#include <stdint.h>

#include "timeline/timeline.h"

/* Orders events by key; events of one key may come in any order, for nothing depends on it.
 * Linear in the number of events for any input. Memory beyond the events: as much as the
 * largest of 2048 equal parts of their time takes. TW_OK or TW_ERR_NOMEM. */
int32_t twi_order_events(const tw_allocator *allocator, twi_event *events,
                         uint64_t count);

#endif
