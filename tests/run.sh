#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the project in several ways in build-tests/ and runs all tests. The last line counts
# the tests that really ran: 'N passed, N failed, N skipped'.
set -u
cd "$(dirname "$0")/.."
. tests/packages.sh
need_packages meson ninja-build gcc g++ clang libclang-rt-14-dev clang-format pkg-config \
    check libsimdjson-dev libcurl4-openssl-dev libmicrohttpd-dev libjansson-dev libuv1-dev openssl \
    python3 python3-hypothesis python3-numpy python3-venv valgrind binutils cmake \
    abigail-tools scdoc doxygen doxygen-awesome-css git xz-utils || exit 1

passed=0 failed=0 skipped=0
root=build-tests
mkdir -p $root

result() { # PASS|FAIL|SKIP, what
    case $1 in
    PASS) passed=$((passed + 1)) ;;
    FAIL) failed=$((failed + 1)) ;;
    SKIP) skipped=$((skipped + 1)) ;;
    esac
    echo "$1  $2"
}

# Adds up what Meson ran, from its own log.
count() { # build dir
    log=$(ls -t "$1"/meson-logs/testlog*.json 2>/dev/null | head -n 1)
    [ -n "$log" ] || { result FAIL "$1: no tests ran"; return; }
    python3 tests/count_results.py "$log" >"$root/counted" || { result FAIL "$log"; return; }
    while read -r outcome name; do
        result "$outcome" "$(basename "$1"): $name"
    done <"$root/counted"
}

# One way of building: name, compiler pair, meson options, then the options of meson test.
build() { # name, CC, CXX, setup options
    dir=$root/$1
    rm -rf "$dir"
    if ! CC=$2 CXX=$3 meson setup "$dir" --werror $4 >"$root/$1.log" 2>&1 ||
        ! ninja -C "$dir" >>"$root/$1.log" 2>&1; then
        cat "$root/$1.log"
        result FAIL "$1: build"
        return 1
    fi
    result PASS "$1: build without a warning"
}

run() { # name, options of meson test
    dir=$root/$1
    shift
    rm -f "$dir"/meson-logs/testlog*.json
    before=$failed
    status=0
    meson test -C "$dir" --print-errorlogs "$@" >"$dir/test.log" 2>&1 || status=$?
    count "$dir"
    [ $status -eq 0 ] && return
    sed -n '/stdout\|stderr\|FAIL\|ERROR\|TIMEOUT/,$p' "$dir/test.log" | head -n 200
    [ "$failed" -gt "$before" ] || result FAIL "$(basename "$dir"): the tests did not end"
}

begin=$(date +%s)
build gcc gcc g++ "-Ddocs=true" && run gcc
build clang clang clang++ "" && run clang --no-suite property --no-suite slow \
    --no-suite arrow --no-suite loadgen
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
build asan gcc g++ "-Db_sanitize=address,undefined -Dbuildtype=debugoptimized" &&
    run asan --no-suite slow --timeout-multiplier 5
build tsan clang clang++ "-Db_sanitize=thread -Db_lundef=false
    -Dbuildtype=debugoptimized" && run tsan --suite threads --timeout-multiplier 5
build debug gcc g++ "-Dbuildtype=debug" &&
    run debug --setup valgrind --suite unit --timeout-multiplier 20

# A script that prints PASS, FAIL or SKIP and a name for each of its tests.
script() { # name, command...
    name=$1
    shift
    status=0
    "$@" >"$root/$name.log" 2>&1 || status=$?
    grep -E '^(PASS|FAIL|SKIP)  ' "$root/$name.log" >"$root/counted" ||
        echo "FAIL  $name: nothing ran" >"$root/counted"
    [ $status -eq 0 ] || {
        cat "$root/$name.log"
        grep -q '^FAIL' "$root/counted" ||
            echo "FAIL  $name: the script did not end" >>"$root/counted"
    }
    while read -r outcome name; do
        result "$outcome" "$name"
    done <"$root/counted"
}

# 32-bit x86, aarch64 and big-endian s390x: the unit suites, and the same bits of all results.
script machines sh tests/machines.sh
# The library called from other languages.
script ffi env FFI_BUILD="$root/ffi" sh examples/ffi/run.sh

if find lib include examples tests \( -name '*.[ch]' -o -name '*.[ch]pp' \) |
    xargs clang-format --dry-run -Werror; then
    result PASS "clang-format"
else
    result FAIL "clang-format"
fi

echo "took $(($(date +%s) - begin)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
