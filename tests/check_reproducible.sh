#!/bin/sh
# SPDX-License-Identifier: MIT
# Two builds in two folders are equal, byte by byte: as released, and with debug information,
# which needs an option.
#     check_reproducible.sh SOURCE_DIR
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() { # name, source dir, build dir, C flags
    CFLAGS=$4 meson setup "$3" "$2" -Dtests=false -Dexamples=false >"$work/log" 2>&1 &&
        ninja -C "$3" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    DESTDIR=$work/installed/$1 meson install -C "$3" --no-rebuild >"$work/log"
    (cd "$work/installed/$1" && find . -type f | sort | xargs sha256sum) >"$work/$1.sums"
    grep -q 'libtimeweight\.so\.' "$work/$1.sums" && grep -q 'libtimeweight\.a' "$work/$1.sums"
}

compare() { # what, two names
    diff "$work/$2.sums" "$work/$3.sums" >&2 || { echo "$1: two builds differ" >&2; exit 1; }
    echo "$1: $(wc -l <"$work/$2.sums") files are the same"
}

copy() { # where to
    mkdir -p "$1"
    tar c -C "$source" --exclude=.git --exclude='./build*' . | tar x -C "$1"
}

# The second source lies elsewhere, under a longer name, and so does its build folder.
SOURCE_DATE_EPOCH=1700000000 # manual pages carry a date
export SOURCE_DATE_EPOCH
here=$work/here
there="$work/some where/else"
copy "$here"
copy "$there"
build release-1 "$here" "$here/build" ""
build release-2 "$there" "$work/some where/build" ""
compare "as released" release-1 release-2

# Debug information names folders, unless they are mapped away; the build folder must then lie in
# the same place under the source.
build debug-1 "$here" "$here/build-g" "-g '-ffile-prefix-map=$here=.'"
build debug-2 "$there" "$there/build-g" "-g '-ffile-prefix-map=$there=.'"
compare "with -g -ffile-prefix-map=SOURCE=." debug-1 debug-2
