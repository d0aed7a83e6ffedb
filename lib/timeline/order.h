/* SPDX-License-Identifier: MIT */
#ifndef TWI_TIMELINE_ORDER_H
#define TWI_TIMELINE_ORDER_H

#include <stdint.h>

#include "kernel/kernel.h"

/* Orders keys by their bits from `from_bit` on; keys that are equal there may come in any
 * order, for nothing depends on it. Linear in the number of keys for any input. `scratch`
 * has room for all of them; it is not used for up to TWI_SORT_MOST. */
void twi_order_keys(const twi_kernel *kernel, uint64_t *keys, uint64_t *scratch,
                    uint64_t count, unsigned from_bit);

#endif
