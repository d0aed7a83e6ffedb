/* SPDX-License-Identifier: MIT */
#ifndef TWI_BASE_ABI_H
#define TWI_BASE_ABI_H

/* The one place that knows how structs grow across versions of the library. Every in/out
 * struct begins with a uint32_t struct_size that the caller sets to its own sizeof. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Size of a struct whose last member is `member`: what it was in its first version, whatever
 * has been appended since. */
#define TWI_ABI_UPTO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* Reads a caller's struct into `known`, the library's own of `known_size` bytes.
 * `first_size` is the size that the struct had in its first version.
 *
 * Smaller than the first version, or absurdly large: TW_ERR_ABI. Older (shorter): the
 * missing fields read as zero. Newer (longer): accepted if all that this library does not
 * know is zero, else TW_ERR_ABI. */
int32_t twi_abi_read(void *known, size_t known_size, size_t first_size,
                     const void *caller);

/* Writes a struct of the library's out to the caller's, as much as the caller has room
 * for; fields that only the caller knows become zero. struct_size stays the caller's. */
int32_t twi_abi_write(void *caller, const void *known, size_t known_size,
                      size_t first_size);

/* Arrays are passed with the size of their elements beside them: the same test for it, and
 * element i read or written. What the caller's element is too short for is zero or left out;
 * what only the caller knows is not looked at when reading (a field of a record counts only
 * with its flag) and becomes zero when writing. */
int32_t twi_abi_check_size(size_t size, size_t first_size);
static inline void twi_abi_read_element(void *known, size_t known_size, const void *array,
                                        size_t i, size_t size)
{
    const unsigned char *element = (const unsigned char *)array + i * size;

    if (size >= known_size) {
        memcpy(known, element, known_size);
    } else {
        memset(known, 0, known_size);
        memcpy(known, element, size);
    }
}
void twi_abi_write_element(void *array, size_t i, size_t size, const void *known,
                           size_t known_size);

#endif
