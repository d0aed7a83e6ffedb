/* SPDX-License-Identifier: MIT */
#include "kernel/cpu.h"

#include <stdint.h>

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)

#include <cpuid.h>

/* Registers that the system saves: XCR0. */
static uint32_t saved_state(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* All bits that are asked for, of leaf 1 ecx, leaf 7 ebx, and XCR0. */
static bool has(uint32_t leaf1_ecx, uint32_t leaf7_ebx, uint32_t state)
{
    const uint32_t saving = 1u << 27; /* OSXSAVE: xgetbv may be asked */
    uint32_t a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) ||
        (c & (leaf1_ecx | saving)) != (leaf1_ecx | saving))
        return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & leaf7_ebx) != leaf7_ebx)
        return false;
    return (saved_state() & state) == state;
}

enum {
    STATE_AVX = 1 << 1 | 1 << 2,                        /* xmm, ymm */
    STATE_AVX512 = STATE_AVX | 1 << 5 | 1 << 6 | 1 << 7 /* masks, zmm */
};

bool twi_cpu_has_avx2(void)
{
    return has(1u << 12 | 1u << 23 | 1u << 28, 1u << 3 | 1u << 5 | 1u << 8, STATE_AVX);
}

bool twi_cpu_has_avx512(void)
{
    return twi_cpu_has_avx2() &&
           has(0, 1u << 16 | 1u << 17 | 1u << 21 | 1u << 31, STATE_AVX512);
}

#else

bool twi_cpu_has_avx2(void)
{
    return false;
}

bool twi_cpu_has_avx512(void)
{
    return false;
}

#endif
