/* SPDX-License-Identifier: MIT */
#ifndef TIMEWEIGHT_ALLOCATOR_H
#define TIMEWEIGHT_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>
#include <timeweight/export.h>

TW_BEGIN_DECLS

/** @defgroup tw_allocator Allocator
 *  Where an object's memory comes from. A recorder and an analysis each take an allocator
 *  of their own; the struct is copied, so it may be gone after the call. NULL means the
 *  malloc family, which is asked for large pages where a block is large.
 *  @{
 */

/** Two functions and their context.
 *
 *  The functions are called only on threads that are inside a call of this library; if
 *  such calls run on several threads at once, so may the functions. Threads that work for
 *  one tw_analyze() (tw_options::threads) call them one at a time. A recorder's memory
 *  may be released on a thread that frees an analysis (blocks live as long as an analysis
 *  holds them), so user_data must outlive both. */
typedef struct tw_allocator {
    uint32_t struct_size; /**< sizeof(tw_allocator) */
    uint32_t flags;       /**< 0 */
    void *user_data;      /**< passed back to both functions */
    /** size > 0 bytes aligned to align (a power of two, at most 64); NULL on failure. */
    void *(*alloc)(void *user_data, size_t size, size_t align);
    /** Releases ptr (never NULL), with the size and align it was asked for. */
    void (*free)(void *user_data, void *ptr, size_t size, size_t align);
} tw_allocator;

/** @} */

TW_END_DECLS

#endif
