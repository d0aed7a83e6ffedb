/* SPDX-License-Identifier: MIT */
#ifndef TWI_KERNEL_CPU_H
#define TWI_KERNEL_CPU_H

/* What this machine can run: the instructions, and that the operating system keeps their
 * registers. */

#include <stdbool.h>

bool twi_cpu_has_avx2(void);   /* with FMA, BMI, and POPCNT */
bool twi_cpu_has_avx512(void); /* F, DQ, VL, IFMA */

#endif
