# SPDX-License-Identifier: MIT
# Sourced. abi_dump SOURCE_DIR WORK_DIR builds the library with debug information as
# WORK_DIR/real.so, and writes the interface that its headers describe to WORK_DIR/new.abi.

# shellcheck disable=SC2034
abi_file=timeweight-0.x86_64.abi

abi_needs() { # prints what is missing, if anything is
    [ "$(uname -m)" = x86_64 ] || echo "an x86_64 machine"
    for tool in abidw abidiff gcc meson; do
        command -v $tool >/dev/null || echo "$tool"
    done
}

abi_dump() { # source dir, work dir
    CC=gcc CFLAGS='-g -O0' meson setup "$2/build" "$1" --buildtype=plain \
        -Dtests=false -Dexamples=false -Dman=disabled >"$2/log" 2>&1 &&
        ninja -C "$2/build" >>"$2/log" 2>&1 || { cat "$2/log" >&2; return 1; }
    cp "$2/build/lib/libtimeweight.so" "$2/real.so"

    # Types of the library's inside never show in this one. It has the same symbols and soname.
    python3 "$1/tests/abi/surface.py" "$1/include/timeweight" "$2/build/include/timeweight" \
        >"$2/surface.c" || return 1
    soname=$(readelf -d "$2/real.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    gcc -std=gnu11 -g -O0 -fPIC -shared -I"$2/build/include" -I"$1/include" "$2/surface.c" \
        -o "$2/surface.so" -Wl,-soname,"$soname" \
        -Wl,--version-script="$1/lib/timeweight.map" || return 1
    abidw --load-all-types --no-show-locs --no-comp-dir-path --no-corpus-path --no-elf-needed \
        --type-id-style hash "$2/surface.so" |
        sed "s| path='[^']*'||" >"$2/new.abi"
}
