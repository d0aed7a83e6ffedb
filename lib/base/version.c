/* SPDX-License-Identifier: MIT */
#include <timeweight/version.h>

uint32_t tw_version(void)
{
    return TW_VERSION;
}

const char *tw_version_string(void)
{
    return TW_VERSION_STRING;
}
