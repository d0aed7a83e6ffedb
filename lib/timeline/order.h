/* SPDX-License-Identifier: MIT */
#ifndef TWI_TIMELINE_ORDER_H
#define TWI_TIMELINE_ORDER_H

#include <stdint.h>

#include "timeline/timeline.h"

/* Orders events by key; events of one key stay in any order, for nothing depends on it.
 * `scratch` has room for as many events. Linear in the number of events for any input: a
 * radix sort that skips the digits that all keys share. Returns where the result lies: in
 * `events` or in `scratch`. */
twi_event *twi_order_events(twi_event *events, twi_event *scratch, uint64_t count);

#endif
