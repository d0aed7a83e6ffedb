/* SPDX-License-Identifier: MIT */
#include "arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int64_t argument_integer(struct argp_state *state, const char *option, const char *text,
                         int64_t least, int64_t most)
{
    errno = 0;
    char *end;
    long long value = strtoll(text, &end, 10);
    bool good = *text != '\0' && strspn(text, "0123456789") == strlen(text) && errno == 0;
    if (!good || value < least || value > most)
        argp_error(state,
                   "--%s: '%s': must be a whole number from %" PRId64 " to %" PRId64,
                   option, text, least, most);
    return value;
}

double argument_decimal(struct argp_state *state, const char *option, const char *text,
                        double least, double most)
{
    errno = 0;
    char *end;
    double value = strtod(text, &end);
    bool good = *text != '\0' && strspn(text, "0123456789.") == strlen(text) &&
                *end == '\0' && errno == 0;
    if (!good || value < least || value > most)
        argp_error(state, "--%s: '%s': must be a decimal number from %g to %g", option,
                   text, least, most);
    return value;
}

int64_t argument_duration_ns(struct argp_state *state, const char *option,
                             const char *text, int64_t unit_ns, double most)
{
    return llround(argument_decimal(state, option, text, 0, most) * (double)unit_ns);
}
