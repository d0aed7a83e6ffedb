#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into an empty folder and embeds the library in one of the ways of doc/embedding.md:
# the commands are those of embedding/WAY/run.sh, run in a copy of that folder.
#     check_embedding.sh WAY BUILD_DIR SOURCE_DIR EXTRA_FLAGS
set -eu
way=$1
build=$2
source=$3
CFLAGS=$4 # sanitizer builds need their run time in the program too
CC=${CC:-cc}
CXX=${CXX:-c++}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

fail() {
    echo "$way: $*" >&2
    exit 1
}

need() {
    command -v "$1" >/dev/null || { echo "$way: skipped, $1 is missing"; exit 77; }
}

meson install -C "$build" --destdir "$root" --no-rebuild >"$root/log" 2>&1 ||
    { cat "$root/log" >&2; exit 1; }
pc=$(find "$root" -name timeweight.pc)
[ -n "$pc" ] || fail "no timeweight.pc was installed"
PKG_CONFIG_LIBDIR=$(dirname "$pc")
export PKG_CONFIG_LIBDIR
prefix=$root$(pkg-config --variable=prefix timeweight)
PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_SYSROOT_DIR
libdir=$(dirname "$PKG_CONFIG_LIBDIR")
LD_LIBRARY_PATH=$libdir
export LD_LIBRARY_PATH

# The headers are the installed ones: nothing of the source tree is on the path.
cp -R "$source/tests/embedding" "$root/embedding"
cd "$root/embedding/$way"
cp "$source/examples/quickstart.c" .
# shellcheck disable=SC1091
. ./run.sh
