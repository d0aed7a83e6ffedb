/* SPDX-License-Identifier: MIT */
#ifndef TWI_BASE_DECIMAL_H
#define TWI_BASE_DECIMAL_H

/* Doubles and integers as text, without a locale: '.' is the decimal point. */

#include <stddef.h>
#include <stdint.h>

/* Room for any result, its terminating zero included. */
#define TWI_DECIMAL_SIZE 448

/* The shortest digits that read back to the same double: "0.1", "1e-07", "-12.5", "inf".
 * Returns the length. */
size_t twi_decimal_shortest(char *out, double value);

/* Two decimals, rounded half to even from the exact value, and thousands separators:
 * "1,477.97", "inf". Returns the length. */
size_t twi_decimal_grouped(char *out, double value);

/* An integer; grouped with thousands separators if `grouped` is not 0. */
size_t twi_decimal_unsigned(char *out, uint64_t value, int grouped);
size_t twi_decimal_signed(char *out, int64_t value);

#endif
