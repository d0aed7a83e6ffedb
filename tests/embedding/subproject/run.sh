# SPDX-License-Identifier: MIT
# shellcheck shell=sh
unset LD_LIBRARY_PATH # the library that is built here, not the installed one
mkdir subprojects
ln -s "$source" subprojects/timeweight

check_needs() { # build dir: the libraries that the program asks for
    readelf -d "$1/generator" | grep -c 'NEEDED.*libtimeweight.so.0\]' || true
}

meson setup build-shared -Ddefault_library=shared --force-fallback-for=timeweight >>log
meson compile -C build-shared >>log
[ "$(check_needs build-shared)" = 1 ] || fail "shared: libtimeweight.so.0 is not asked for"
build-shared/generator

meson setup build-static -Ddefault_library=static --force-fallback-for=timeweight >>log
meson compile -C build-static >>log
[ "$(check_needs build-static)" = 0 ] || fail "static: libtimeweight.so.0 is asked for"
build-static/generator
grep -q 'check_laws\|cli_main' build-static/build.ninja && fail "more than the library is built"
true
