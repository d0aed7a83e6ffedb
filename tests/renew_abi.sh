#!/bin/sh
# SPDX-License-Identifier: MIT
# Renews the dump of the ABI in tests/abi/ after an addition. Refuses a break, unless told:
#     sh tests/renew_abi.sh [--break]
set -eu
cd "$(dirname "$0")/.."
. tests/packages.sh
need_packages meson ninja-build gcc python3 binutils abigail-tools
. tests/abi/dump.sh
missing=$(abi_needs)
[ -z "$missing" ] || { echo "this needs:" $missing >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
committed=tests/abi/$abi_file

abi_dump "$PWD" "$work"
if [ -f $committed ]; then
    result=0
    python3 tests/abi/compare.py $committed "$work/new.abi" || result=$?
    if [ $result != 0 ] && [ $result != 4 ] && [ "${1:-}" != --break ]; then
        echo "Not renewed: this breaks programs that exist (doc/abi.md)." >&2
        exit 1
    fi
fi
cp "$work/new.abi" $committed
