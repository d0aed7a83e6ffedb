/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = alignof(max_align_t) };

static void *default_alloc(void *user_data, size_t size, size_t align)
{
    (void)user_data;
    (void)align; /* the library asks for no more than malloc's own alignment */
    return malloc(size);
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

void *twi_mem_alloc(const tw_allocator *allocator, uint64_t count, size_t size)
{
    if (count == 0)
        count = 1;
    if (count > (SIZE_MAX / 2) / size)
        return NULL;
    return allocator->alloc(allocator->user_data, (size_t)count * size, ALIGN);
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
    if (memory)
        allocator->free(allocator->user_data, memory, (size_t)(count ? count : 1) * size,
                        ALIGN);
}
