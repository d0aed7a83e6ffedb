# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2046,SC2086

# One plugin that hides its copy, one that does not: the loader then gives it the host's.
archive=$(pkg-config --static --cflags --libs timeweight |
    sed 's/-ltimeweight/-l:libtimeweight.a/')
$CC $CFLAGS -std=c11 -fPIC -shared ../hidden/plugin.c -o hidden.so $archive \
    -Wl,--exclude-libs,libtimeweight.a
$CC $CFLAGS -std=c11 -fPIC -shared ../hidden/plugin.c -o open.so $archive
$CC $CFLAGS -std=c11 -Wall -Wextra -Werror host.c -o host \
    $(pkg-config --cflags --libs timeweight) -ldl
./host ./hidden.so ./open.so
