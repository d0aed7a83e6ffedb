#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into an empty folder and builds the quick start against what lies there, through
# pkg-config, shared and static, as C and as C++.
#     check_install.sh BUILD_DIR SOURCE_DIR EXTRA_FLAGS
set -eu
build=$1
source=$2
flags=$3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

meson install -C "$build" --destdir "$root" --no-rebuild >"$root/log" 2>&1 ||
    { cat "$root/log" >&2; exit 1; }
pc=$(find "$root" -name timeweight.pc)
[ -n "$pc" ] || { echo "no timeweight.pc was installed" >&2; exit 1; }
PKG_CONFIG_LIBDIR=$(dirname "$pc")
PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
libdir=$(dirname "$PKG_CONFIG_LIBDIR")

# The headers are the installed ones: nothing of the source tree is on the path.
cp "$source/examples/quickstart.c" "$root/quickstart.c"
cd "$root"

# Sanitizer builds need their run time in the program too.
# shellcheck disable=SC2046,SC2086
gcc -std=c11 -Wall -Wextra -Werror $flags quickstart.c -o shared \
    $(pkg-config --cflags --libs timeweight)
LD_LIBRARY_PATH=$libdir ./shared >shared.out
readelf -d shared | grep -q 'libtimeweight.so.0\]' ||
    { echo "the program does not ask for libtimeweight.so.0" >&2; exit 1; }

# shellcheck disable=SC2046,SC2086
gcc -std=c11 $flags quickstart.c -o static $(pkg-config --cflags timeweight) \
    "$libdir/libtimeweight.a" \
    $(pkg-config --static --libs-only-l timeweight | sed 's/-ltimeweight//')
if readelf -d static | grep -q libtimeweight; then
    echo "the static program asks for the shared library" >&2
    exit 1
fi
./static >static.out
cmp shared.out static.out

cat >embed.cpp <<'CPP'
#include <timeweight/timeweight.h>
int main()
{
    return tw_version() == TW_VERSION ? 0 : 1;
}
CPP
# shellcheck disable=SC2046,SC2086
g++ -std=c++98 -Wall -Wextra -pedantic -Werror $flags embed.cpp -o cxx \
    $(pkg-config --cflags --libs timeweight)
LD_LIBRARY_PATH=$libdir ./cxx
cat shared.out
