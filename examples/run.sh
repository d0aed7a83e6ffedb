#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds everything in build/ and runs the tool on the sample run that is shipped.
set -eu
cd "$(dirname "$0")/.."
. tests/packages.sh
need_packages meson ninja-build gcc g++ pkg-config libsimdjson-dev

[ -f build/build.ninja ] || meson setup build -Dtests=false >/dev/null
ninja -C build >/dev/null || { ninja -C build; exit 1; }

echo '$ build/examples/quickstart'
build/examples/quickstart
echo
echo '$ build/examples/timeweight report examples/data/worked_example.jsonl'
build/examples/timeweight report examples/data/worked_example.jsonl
