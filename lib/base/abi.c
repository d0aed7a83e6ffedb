/* SPDX-License-Identifier: MIT */
#include "base/abi.h"

#include <string.h>
#include <timeweight/status.h>

/* No struct of this interface will ever be larger; a larger size is garbage. */
#define SIZE_LIMIT 4096

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

int32_t twi_abi_check_size(size_t size, size_t first_size)
{
    return size >= first_size && size <= SIZE_LIMIT ? TW_OK : TW_ERR_ABI;
}

static int32_t read_size(size_t *size, const void *caller, size_t first_size)
{
    uint32_t struct_size;
    memcpy(&struct_size, caller, sizeof struct_size);
    *size = struct_size;
    return twi_abi_check_size(*size, first_size);
}

int32_t twi_abi_read(void *known, size_t known_size, size_t first_size,
                     const void *caller)
{
    const unsigned char *bytes = caller;
    size_t size;

    if (read_size(&size, caller, first_size))
        return TW_ERR_ABI;
    for (size_t i = known_size; i < size; i++)
        if (bytes[i])
            return TW_ERR_ABI;
    memset(known, 0, known_size);
    memcpy(known, caller, smaller(size, known_size));
    return TW_OK;
}

int32_t twi_abi_write(void *caller, const void *known, size_t known_size,
                      size_t first_size)
{
    const size_t head = sizeof(uint32_t);
    unsigned char *bytes = caller;
    size_t size, common;

    if (read_size(&size, caller, first_size))
        return TW_ERR_ABI;
    common = smaller(size, known_size);
    memcpy(bytes + head, (const unsigned char *)known + head, common - head);
    memset(bytes + common, 0, size - common);
    return TW_OK;
}

void twi_abi_write_element(void *array, size_t i, size_t size, const void *known,
                           size_t known_size)
{
    unsigned char *element = (unsigned char *)array + i * size;

    memset(element, 0, size);
    memcpy(element, known, smaller(size, known_size));
}
