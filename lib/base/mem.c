/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* posix_memalign, madvise */
#include "base/mem.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#endif

enum {
    ALIGN = alignof(max_align_t),
    LARGE = 1 << 22, /* bytes */
    LARGE_PAGE = 1 << 21
};

/* Large blocks lie on large pages where the system has them: every page that is touched for
 * the first time costs a fault, and those of 4 KB cost an analysis a tenth of its time. */
static void *default_alloc(void *user_data, size_t size, size_t align)
{
    void *memory = NULL;

    (void)user_data;
#ifdef MADV_HUGEPAGE
    if (size >= LARGE)
        align = LARGE_PAGE;
#endif
    if (align <= ALIGN)
        return malloc(size);
    if (posix_memalign(&memory, align, size))
        return NULL;
#ifdef MADV_HUGEPAGE
    if (size >= LARGE)
        (void)madvise(memory, size, MADV_HUGEPAGE); /* a wish: no matter if not granted */
#endif
    return memory;
}

static void default_free(void *user_data, void *memory, size_t size, size_t align)
{
    (void)user_data;
    (void)size;
    (void)align;
    free(memory);
}

tw_allocator twi_mem_default(void)
{
    tw_allocator allocator = {sizeof allocator, 0, NULL, default_alloc, default_free};
    return allocator;
}

static void *alloc_aligned(const tw_allocator *allocator, uint64_t count, size_t size,
                           size_t align)
{
    if (count == 0)
        count = 1;
    if (count > (SIZE_MAX / 2) / size)
        return NULL;
    return allocator->alloc(allocator->user_data, (size_t)count * size, align);
}

static void free_aligned(const tw_allocator *allocator, void *memory, uint64_t count,
                         size_t size, size_t align)
{
    if (memory)
        allocator->free(allocator->user_data, memory, (size_t)(count ? count : 1) * size,
                        align);
}

void *twi_mem_alloc(const tw_allocator *allocator, uint64_t count, size_t size)
{
    return alloc_aligned(allocator, count, size, ALIGN);
}

void *twi_mem_alloc_lines(const tw_allocator *allocator, uint64_t count, size_t size)
{
    return alloc_aligned(allocator, count, size, TWI_CACHE_LINE);
}

void *twi_mem_zalloc(const tw_allocator *allocator, uint64_t count, size_t size)
{
    void *memory = twi_mem_alloc(allocator, count, size);
    if (memory)
        memset(memory, 0, (size_t)(count ? count : 1) * size);
    return memory;
}

void twi_mem_free(const tw_allocator *allocator, void *memory, uint64_t count,
                  size_t size)
{
    free_aligned(allocator, memory, count, size, ALIGN);
}

void twi_mem_free_lines(const tw_allocator *allocator, void *memory, uint64_t count,
                        size_t size)
{
    free_aligned(allocator, memory, count, size, TWI_CACHE_LINE);
}
