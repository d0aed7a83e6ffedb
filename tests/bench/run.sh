#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds for release in build-bench/ and measures; doc/benchmarks.md says what.
#     sh tests/bench/run.sh [--quick] [--only PATTERN] [--json FILE]
#
# The peer in numpy runs with the Python that TIMEWEIGHT_BENCH_NUMPY names, else with one in
# build-bench/python that gets the current numpy from pip. AIPerf's own module is measured if
# TIMEWEIGHT_BENCH_AIPERF names a Python that can import it (pip install aiperf==0.13.0).
set -eu
here=$(pwd)
cd "$(dirname "$0")/../.."
. tests/packages.sh
need_packages meson ninja-build gcc g++ pkg-config check libsimdjson-dev python3 python3-venv

build=build-bench
mkdir -p $build
if ! { [ -f $build/build.ninja ] || meson setup $build -Dbuildtype=release; } \
        >$build/setup.log 2>&1 || ! ninja -C $build tests/bench/bench tests/bench/parse \
        examples/timeweight examples/simulate >$build/build.log 2>&1; then
    cat $build/setup.log $build/build.log >&2
    exit 1
fi

if [ -z "${TIMEWEIGHT_BENCH_NUMPY:-}" ]; then
    python=$build/python
    if ! "$python/bin/python" -c 'import numpy' 2>/dev/null; then
        { python3 -m venv "$python" && "$python/bin/pip" install -q numpy; } \
            >$build/pip.log 2>&1 || echo "no numpy: see $build/pip.log" >&2
    fi
    TIMEWEIGHT_BENCH_NUMPY=$(pwd)/$python/bin/python
fi
export TIMEWEIGHT_BENCH_NUMPY
export TIMEWEIGHT_BENCH_SCRIPTS="$(pwd)/tests/bench"
export TIMEWEIGHT_BENCH_TOOL="$(pwd)/$build/examples/timeweight"
export TIMEWEIGHT_BENCH_SIMULATE="$(pwd)/$build/examples/simulate"
export TIMEWEIGHT_BENCH_PARSE="$(pwd)/$build/tests/bench/parse"
bench=$(pwd)/$build/tests/bench/bench
cd "$here"
exec "$bench" "$@"
