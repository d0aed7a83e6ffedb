/* SPDX-License-Identifier: MIT */
#include "kernel/kernel.h"

#include <timeweight/analysis.h>

#include "kernel/cpu.h"

/* Each NULL where the machine cannot run it. */
static const twi_kernel *get_avx512(void)
{
#if defined(TWI_HAVE_AVX512)
    if (twi_cpu_has_avx512())
        return &twi_kernel_avx512;
#endif
    return NULL;
}

static const twi_kernel *get_avx2(void)
{
#if defined(TWI_HAVE_AVX2)
    if (twi_cpu_has_avx2())
        return &twi_kernel_avx2;
#endif
    return NULL;
}

static const twi_kernel *get_neon(void)
{
#if defined(TWI_HAVE_NEON)
    return &twi_kernel_neon;
#else
    return NULL;
#endif
}

const twi_kernel *twi_kernel_get(int32_t kernel)
{
    switch (kernel) {
    case TW_KERNEL_AUTO: {
        const twi_kernel *best = get_avx512();
        best = best ? best : get_avx2();
        best = best ? best : get_neon();
        return best ? best : &twi_kernel_portable;
    }
    case TW_KERNEL_PORTABLE:
        return &twi_kernel_portable;
    case TW_KERNEL_AVX2:
        return get_avx2();
    case TW_KERNEL_AVX512:
        return get_avx512();
    case TW_KERNEL_NEON:
        return get_neon();
    default:
        return NULL;
    }
}

void twi_sum_add_product(twi_sum *sum, uint64_t low, uint64_t high, int exponent)
{
    twi_u192 shifted;
    unsigned at, carry = 0;

    if ((low | high) == 0)
        return;
    exponent += TWI_SUM_SHIFT;
    assert(exponent >= 0 && exponent <= 208);
    at = (unsigned)exponent / 64;
    shifted = twi_shl((twi_u192){{low, high, 0}}, (unsigned)exponent % 64);
    for (unsigned i = 0; at < TWI_SUM_LIMBS && (i < 3 || carry); i++, at++)
        sum->w[at] = twi_add_carry(sum->w[at], i < 3 ? shifted.w[i] : 0, &carry);
    assert(!carry);
}
