/* SPDX-License-Identifier: MIT */
#include "curves.h"

const double curve_quantiles[CURVE_QUANTILES] = {0.5, 0.9, 0.95, 0.99};
