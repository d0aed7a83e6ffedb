# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2046,SC2086

$CC $CFLAGS -std=c11 -fPIC -shared plugin.c -o libplugin.so \
    -Wl,--exclude-libs,libtimeweight.a \
    $(pkg-config --static --cflags --libs timeweight | sed 's/-ltimeweight/-l:libtimeweight.a/')
nm -D --defined-only libplugin.so | sed 's/.* //' >exported
grep '^twi\{0,1\}_' exported && fail "exports symbols of the library"
nm -D libplugin.so | grep ' U tw' && fail "needs symbols of the library from elsewhere"
grep -qx plugin_concurrency exported || fail "does not export its own function"

$CC $CFLAGS -std=c11 main.c -o main -L. -lplugin
LD_LIBRARY_PATH=. ./main

# The test sees the difference: without the option all public functions come out.
$CC $CFLAGS -std=c11 -fPIC -shared plugin.c -o libopen.so \
    $(pkg-config --static --cflags --libs timeweight | sed 's/-ltimeweight/-l:libtimeweight.a/')
nm -D --defined-only libopen.so | grep -q ' tw_analyze' || fail "nothing to hide"
