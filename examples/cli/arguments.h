/* SPDX-License-Identifier: MIT */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include <timeweight/timeweight.h>

/* What the library lets a caller name, with room for it. */
struct quantile_list {
    double values[TW_QUANTILES_LIMIT];
    size_t count;
};

/* Strict readers of option arguments. They return NULL, or what is wrong. */

/* "BEGIN:END" in ns; either side may be empty. */
const char *arguments_window(const char *text, tw_options *options);

/* "0.5,0.999": decimal numbers in [0, 1]. */
const char *arguments_quantiles(const char *text, struct quantile_list *list);

#endif
