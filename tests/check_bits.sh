#!/bin/sh
# SPDX-License-Identifier: MIT
# The same bits from another compiler, without optimisation and with all of it: builds the
# library from its sources and compares what bits_probe says with what the given one, of this
# build, says. Exits with 77 if there is no such compiler.
#
#     check_bits.sh COMPILER SOURCE_DIR BUILT_INCLUDE_DIR BITS_PROBE WORK_DIR
set -eu
compiler=$1 source=$2 built_include=$3 probe=$(realpath "$4") work=$5

command -v "$compiler" >/dev/null || {
    echo "SKIPPED: no $compiler"
    exit 77
}
mkdir -p "$work"
cd "$source"

# The objects of one build; kernels are compiled as in lib/meson.build.
build() { # dir, options
    dir=$1
    shift
    set -- "$@" -std=c11 -DNDEBUG -ffp-contract=off -pthread -DTWI_HAVE_THREADS \
        -Iinclude -I"$built_include" -Ilib -Itests
    rm -rf "$dir"
    mkdir "$dir"
    case $(uname -m) in
    x86_64)
        set -- "$@" -DTWI_HAVE_AVX2 -DTWI_HAVE_AVX512
        "$compiler" "$@" -mavx2 -mfma -mbmi2 -c lib/kernel/kernel_avx2.c -o "$dir/avx2.o"
        "$compiler" "$@" -mavx512f -mavx512dq -mavx512vl -mavx512ifma -mbmi2 \
            -mprefer-vector-width=512 -c lib/kernel/kernel_avx512.c -o "$dir/avx512.o"
        ;;
    aarch64)
        set -- "$@" -DTWI_HAVE_NEON
        "$compiler" "$@" -c lib/kernel/kernel_neon.c -o "$dir/neon.o"
        ;;
    esac
    # shellcheck disable=SC2046
    "$compiler" "$@" -o "$dir/bits_probe" tests/bits_probe.c tests/result_bits.c \
        tests/workload.c $(find lib -name '*.c' ! -name 'kernel_a*.c' ! -name kernel_neon.c) \
        "$dir"/*.o -lm
}

# Without optimisation it takes long, so there are fewer and smaller runs than usual; as large
# as two threads need.
runs="40 34000"
# shellcheck disable=SC2086
"$probe" $runs >"$work/wanted"
for level in 0 3; do
    build "$work/O$level" -O$level
    "$work/O$level/bits_probe" $runs >"$work/O$level/got"
    diff "$work/wanted" "$work/O$level/got" || {
        echo "$compiler -O$level gives other bits"
        exit 1
    }
done
