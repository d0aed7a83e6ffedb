#!/bin/sh
# SPDX-License-Identifier: MIT
# Each public header alone, in every language standard that it promises to be clean in, with
# warnings as errors.
#     check_headers.sh BUILT_INCLUDE_DIR SOURCE_INCLUDE_DIR
set -eu
built=$1
source=$2
headers=$(cd "$source/timeweight" && ls ./*.h)
checked=0

check() { # compiler, standard, language, more flags...
    compiler=$1 standard=$2 language=$3
    shift 3
    command -v "$compiler" >/dev/null || return 0
    for header in $headers ./version.h; do
        printf '#include <timeweight/%s>\ntypedef int something;\n' "${header#./}" |
            "$compiler" "-std=$standard" -x "$language" -fsyntax-only -I"$built" -I"$source" \
                -Wall -Wextra -Wpedantic -Werror "$@" - ||
            { echo "$header: not clean as $standard with $compiler" >&2; exit 1; }
        checked=$((checked + 1))
    done
}

# Arrow's structs may come from anyone first, or be defined again behind the same guards.
check_arrow() { # compiler, standard, language
    command -v "$1" >/dev/null || return 0
    structs=$(sed -n '/^#ifndef ARROW_C_DATA/,/^#endif/p; /^#ifndef ARROW_C_STREAM/,/^#endif/p' \
        "$source/timeweight/arrow.h")
    for order in foreign-first ours-first; do
        {
            echo '#include <stdint.h>'
            [ $order = ours-first ] || echo "$structs"
            echo '#include <timeweight/arrow.h>'
            [ $order = foreign-first ] || echo "$structs"
            echo 'extern struct ArrowArrayStream stream;'
        } | "$1" "-std=$2" -x "$3" -fsyntax-only -I"$built" -I"$source" -Wall -Wextra \
            -Wpedantic -Werror - || { echo "arrow.h: $order does not compile" >&2; exit 1; }
        checked=$((checked + 1))
    done
}
check_arrow gcc c99 c
check_arrow g++ c++98 c++

for compiler in gcc clang; do
    for standard in c99 c11 c17; do
        check $compiler $standard c -Wconversion -Wshadow -Wc++-compat -Wstrict-prototypes
    done
done
for compiler in g++ clang++; do
    for standard in c++98 c++11 c++17; do
        check $compiler $standard c++ -Wconversion -Wshadow
    done
done
[ "$checked" -gt 0 ] || { echo "no compiler found" >&2; exit 1; }
echo "$checked combinations of header, standard and compiler"
