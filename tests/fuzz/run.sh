#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes each target for some seconds (default 60), starting from the committed corpus. What it
# finds lies in build-fuzz/found/; new corpus entries in build-fuzz/corpus/.
#     sh tests/fuzz/run.sh [SECONDS]
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
. tests/packages.sh
need_packages meson ninja-build gcc g++ clang libclang-rt-14-dev pkg-config libsimdjson-dev

[ -f build-fuzz/build.ninja ] || CC=clang CXX=clang++ meson setup build-fuzz -Dfuzzing=true \
    -Dtests=false -Db_sanitize=address,undefined -Db_lundef=false \
    -Dbuildtype=debugoptimized >/dev/null
ninja -C build-fuzz >/dev/null || { ninja -C build-fuzz; exit 1; }
mkdir -p build-fuzz/found
status=0
for target in analysis arrow reader; do
    mkdir -p "build-fuzz/corpus/$target"
    "build-fuzz/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=4096 \
        -artifact_prefix=build-fuzz/found/ "build-fuzz/corpus/$target" \
        "tests/fuzz/corpus/$target" >"build-fuzz/$target.log" 2>&1 || status=1
    tail -n 1 "build-fuzz/$target.log" | sed "s/^/$target: /"
done
ls build-fuzz/found
exit $status
