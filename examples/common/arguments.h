/* SPDX-License-Identifier: MIT */
#ifndef COMMON_ARGUMENTS_H
#define COMMON_ARGUMENTS_H

#include <argp.h>
#include <stdint.h>

/* Strict readers of option arguments; a bad one is a usage error that names the option
 * and the range. */

int64_t argument_integer(struct argp_state *state, const char *option, const char *text,
                         int64_t least, int64_t most);

double argument_decimal(struct argp_state *state, const char *option, const char *text,
                        double least, double most);

/* A decimal number of a unit of unit_ns, from 0 to most. */
int64_t argument_duration_ns(struct argp_state *state, const char *option,
                             const char *text, int64_t unit_ns, double most);

#endif
