/* SPDX-License-Identifier: MIT */
#include <timeweight/timeweight.h>

int main()
{
    return tw_version() == TW_VERSION ? 0 : 1;
}
