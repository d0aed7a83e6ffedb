/* SPDX-License-Identifier: MIT */
#ifndef TWI_API_H
#define TWI_API_H

/* What the api_*.c files share. */

#include <stdint.h>
#include <timeweight/allocator.h>
#include <timeweight/analysis.h>

#include "metric/registry.h"

/* The caller's allocator, checked, or the malloc family for NULL. TW_OK, TW_ERR_ABI,
 * TW_ERR_NOTSUP, TW_ERR_INVAL. */
int32_t twi_api_allocator(const tw_allocator *caller, tw_allocator *allocator);

/* The curve metric of an id, if the analysis has it. TW_OK, TW_ERR_NOTSUP, TW_ERR_NODATA. */
int32_t twi_api_curve(const tw_analysis *analysis, int32_t id, const twi_metric **metric);

#endif
