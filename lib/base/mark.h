/* SPDX-License-Identifier: MIT */
#ifndef TWI_BASE_MARK_H
#define TWI_BASE_MARK_H

/* A mark that a handle bears while it lives. Asserts at the entry points look at it, so that
 * a debug build stops where a handle is used that was freed already, as long as its memory
 * still shows it; a release build does not look. */

#include <stdint.h>

typedef uint32_t twi_mark;

#define TWI_MARK_RECORDER UINT32_C(0x74775265)
#define TWI_MARK_ANALYSIS UINT32_C(0x7477416e)
#define TWI_MARK_FREED UINT32_C(0xdeadf4ee)

#endif
