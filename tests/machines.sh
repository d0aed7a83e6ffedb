#!/bin/sh
# SPDX-License-Identifier: MIT
# Other machines: builds the library for 32-bit x86, aarch64 and s390x (which is
# big-endian), runs the unit suites there, under qemu-user where this machine cannot, and
# compares the bits of all results with those of this machine. Lines begin with
# PASS, FAIL, or SKIP with the reason.
#
# MACHINES names the machines to try, PROBE_WORKLOADS says how many workloads are compared.
# The sizes of the suites are smaller than elsewhere, unless the environment sets them.
set -u
cd "$(dirname "$0")/.."
. tests/packages.sh
need_packages meson ninja-build gcc || exit 1

root=build-tests/machines
workloads=${PROBE_WORKLOADS:-2000}
export TIMEWEIGHT_TEST_WORKLOADS="${TIMEWEIGHT_TEST_WORKLOADS:-50}"
export TIMEWEIGHT_TEST_LARGE="${TIMEWEIGHT_TEST_LARGE:-2}"
export TIMEWEIGHT_TEST_NUMBERS="${TIMEWEIGHT_TEST_NUMBERS:-20000}"
export TIMEWEIGHT_TEST_RECORDS="${TIMEWEIGHT_TEST_RECORDS:-20000}"
export TIMEWEIGHT_TEST_KERNEL_RUNS="${TIMEWEIGHT_TEST_KERNEL_RUNS:-5}"
warnings='-Wall -Wextra -Wconversion -Wshadow -Werror -Wno-stringop-truncation -Wno-format-truncation'
failed=0 dir='' cc='' run=''
mkdir -p $root

fail() { # machine, why
    echo "FAIL  machines: $1: $2"
    failed=1
}

# Sets dir, cc and run (how to start a program) for a machine, and names the packages that
# it needs in `packages`. Returns 1 for a machine that is not known.
describe() { # machine
    dir=$root/$1 packages='' run='' cross=yes ar=ar family=$1 endian=little
    case $1 in
    native)
        cc=gcc cross=
        ;;
    i386)
        # gcc-multilib would do, but Debian lets no cross compiler be installed beside it;
        # all that it adds to this one are the headers of the kernel in their usual place.
        packages="gcc-$(gcc -dumpversion)-multilib"
        cc="gcc -m32 -idirafter /usr/include/$(gcc -print-multiarch)" family=x86
        ;;
    aarch64)
        packages='gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user'
        cc=aarch64-linux-gnu-gcc ar=aarch64-linux-gnu-ar
        run='qemu-aarch64 -L /usr/aarch64-linux-gnu'
        ;;
    s390x)
        packages='gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user'
        cc=s390x-linux-gnu-gcc ar=s390x-linux-gnu-ar endian=big
        run='qemu-s390x -L /usr/s390x-linux-gnu'
        ;;
    *)
        return 1
        ;;
    esac
    mkdir -p "$dir"
}

# True if a program can be built for the machine and runs here.
works() {
    printf '#include <errno.h>\nint main(void) { return errno; }\n' >"$dir/hello.c"
    $cc -static "$dir/hello.c" -o "$dir/hello" -lm >"$dir/hello.log" 2>&1 &&
        $run "$dir/hello" >>"$dir/hello.log" 2>&1
}

# As a list of strings for Meson.
quoted() {
    list=
    for word; do
        list="$list${list:+, }'$word'"
    done
    echo "[$list]"
}

# The library, as the project builds it.
build_library() {
    rm -rf "$dir/lib"
    set -- --werror -Dtests=false -Dexamples=false -Dman=disabled
    if [ "$cross" ]; then
        {
            echo '[binaries]'
            # shellcheck disable=SC2086
            echo "c = $(quoted $cc)"
            echo "ar = '$ar'"
            # shellcheck disable=SC2086
            [ -z "$run" ] || echo "exe_wrapper = $(quoted $run)"
            echo '[host_machine]'
            echo "system = 'linux'"
            echo "cpu_family = '$family'"
            echo "cpu = '$family'"
            echo "endian = '$endian'"
        } >"$dir/cross.txt"
        set -- "$@" --cross-file "$dir/cross.txt"
    fi
    CC=gcc meson setup "$dir/lib" "$@" >"$dir/lib.log" 2>&1 &&
        ninja -C "$dir/lib" >>"$dir/lib.log" 2>&1 && return
    tail -n 40 "$dir/lib.log"
    return 1
}

# One test program: main file, then what goes with it.
build_program() { # name, sources
    name=$1
    shift
    # shellcheck disable=SC2086
    $cc -std=c11 -O2 -ffp-contract=off $sse $warnings -Wno-psabi -static -pthread \
        -Itests/machines -Itests -Iinclude -I"$dir/lib/include" -Ilib "$@" \
        "$(find "$dir/lib" -name libtimeweight.a)" -lm -o "$dir/$name" \
        >"$dir/$name.log" 2>&1 && return
    head -n 40 "$dir/$name.log"
    return 1
}

has_int128() {
    printf '__extension__ __int128 a; int main(void) { return (int)a; }\n' >"$dir/wide.c"
    $cc "$dir/wide.c" -o "$dir/wide" 2>/dev/null
}

# The suites. The oracle counts in 128-bit integers.
run_suites() { # machine
    bad=0
    for source in tests/check_*.c; do
        suite=$(basename "$source" .c) oracle=
        if grep -q '"oracle.h"' "$source"; then
            if ! has_int128; then
                echo "SKIP  machines: $1: $suite: no 128-bit integers"
                continue
            fi
            oracle=tests/oracle.c
        fi
        # shellcheck disable=SC2086
        if ! build_program "$suite" "$source" tests/vocabulary.c tests/arrays.c tests/workload.c \
            $oracle; then
            fail "$1" "$suite does not build"
            bad=1
        elif ! timeout 2400 $run "$dir/$suite" >"$dir/$suite.out" 2>&1; then
            tail -n 20 "$dir/$suite.out"
            fail "$1" "$suite"
            bad=1
        fi
    done
    return $bad
}

probe() { # count, first, step
    $run "$dir/machine_probe" "$@"
}

# Shows in which workloads, and where in them, the machine differs.
locate() { # machine
    seed=$(diff $root/native/probe.out "$dir/probe.out" |
        sed -n 's/^< to seed \([0-9]*\):.*/\1/p' | head -n 1)
    [ "$seed" ] || return
    first=$((seed > 100 ? seed - 99 : 1))
    probe 100 $first 1 >"$dir/probe.near"
    describe native
    probe 100 $first 1 >"$dir/probe.near"
    describe "$1"
    diff $root/native/probe.near "$dir/probe.near" | head -n 20
}

# Builds and runs the probe.
take_probe() { # machine
    build_program machine_probe tests/machine_probe.c tests/result_bits.c tests/workload.c &&
        probe "$workloads" >"$dir/probe.out" && return
    fail "$1" "the probe"
    return 1
}

compare() { # machine
    take_probe "$1" || return 1
    cmp -s $root/native/probe.out "$dir/probe.out" && return
    locate "$1"
    fail "$1" "results differ from those of this machine"
    return 1
}

try() { # machine
    describe "$1" || { fail "$1" "not known"; return; }
    # shellcheck disable=SC2086
    works || (need_packages $packages) >"$dir/packages.log" 2>&1
    if ! works; then
        echo "SKIP  machines: $1: no programs for it without $packages"
        return
    fi
    sse=
    [ "$family" != x86 ] || sse='-msse2 -mfpmath=sse' # as in meson.build
    build_library || { fail "$1" "the library does not build"; return; }
    run_suites "$1" && compare "$1" && echo "PASS  machines: $1"
}

describe native
sse=
build_library && take_probe native || exit 1
for name in ${MACHINES:-i386 aarch64 s390x}; do
    try "$name"
done
exit $failed
