#!/bin/sh
# SPDX-License-Identifier: MIT
# The ABI is the one of tests/abi/*.abi. A break always fails; an addition fails until the dump
# is renewed in the same change: sh tests/renew_abi.sh
#     check_abi.sh SOURCE_DIR
set -eu
source=$1
. "$source/tests/abi/dump.sh"
missing=$(abi_needs)
[ -z "$missing" ] || { echo "skipped, this needs:" $missing; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
committed=$source/tests/abi/$abi_file

abi_dump "$source" "$work"

# What the headers say: our rules, and abidiff's report; then the symbols of the library itself.
rules=0 types=0 library=0
python3 "$source/tests/abi/compare.py" "$committed" "$work/new.abi" >"$work/judgement" || rules=$?
abidiff --non-reachable-types "$committed" "$work/new.abi" >"$work/types" || types=$?
abidiff --drop-private-types --headers-dir2 "$source/include/timeweight" \
    "$committed" "$work/real.so" >"$work/symbols" || library=$?

[ $rules = 0 ] && [ $types = 0 ] && [ $library = 0 ] && exit 0
cat "$work/judgement" "$work/types"
[ $library = 0 ] || cat "$work/symbols"
if [ $rules = 12 ] || [ $(((types | library) & ~4)) != 0 ]; then
    echo "This breaks programs that exist (doc/abi.md)." >&2
else
    echo "The interface has grown. If it is meant to: sh tests/renew_abi.sh" >&2
fi
exit 1
