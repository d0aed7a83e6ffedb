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
