/* SPDX-License-Identifier: MIT */
#ifndef TWI_BASE_MEM_H
#define TWI_BASE_MEM_H

/* Memory through the caller's allocator. */

#include <stddef.h>
#include <stdint.h>
#include <timeweight/allocator.h>

/* The malloc family, for allocator == NULL. */
tw_allocator twi_mem_default(void);

/* count * size bytes, or NULL if that overflows or the allocator fails. count 0 gives one
 * element, so that NULL always means failure. */
void *twi_mem_alloc(const tw_allocator *allocator, uint64_t count, size_t size);
void *twi_mem_zalloc(const tw_allocator *allocator, uint64_t count, size_t size);
/* Releases what was asked for with the same count and size; NULL is ignored. */
void twi_mem_free(const tw_allocator *allocator, void *memory, uint64_t count,
                  size_t size);

/* Asks for the line of memory at an offset from an address, which need not be valid, because
 * it is going to be written soon. Does nothing where the compiler knows no way. */
static inline void twi_mem_prefetch(const void *base, size_t offset)
{
#ifdef __GNUC__
    __builtin_prefetch((const void *)((uintptr_t)base + offset), 1);
#else
    (void)base;
    (void)offset;
#endif
}

/* The same, aligned to cache lines: each is released by its own. */
#define TWI_CACHE_LINE 64
void *twi_mem_alloc_lines(const tw_allocator *allocator, uint64_t count, size_t size);
void twi_mem_free_lines(const tw_allocator *allocator, void *memory, uint64_t count,
                        size_t size);

#endif
