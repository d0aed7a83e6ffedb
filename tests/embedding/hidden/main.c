/* SPDX-License-Identifier: MIT */
#include "plugin.h"

#include <stdio.h>

int main(void)
{
    double concurrency = plugin_concurrency();
    printf("effective concurrency %.4f\n", concurrency);
    return concurrency == 500.0 / 950.0 ? 0 : 1;
}
