#!/bin/sh
# SPDX-License-Identifier: MIT
# The Arrow interface against three engines, in a virtual environment that is made once. Skipped
# where the engines cannot be had.
#     run.sh SHARED_LIBRARY ENVIRONMENT_DIR
set -eu
library=$1
environment=$2
here=$(cd "$(dirname "$0")" && pwd)
wanted=$here/requirements.txt

skip() {
    [ ! -f "$environment.log" ] || tail -n 3 "$environment.log"
    echo "skipped: $*"
    exit 77
}

if ! cmp -s "$wanted" "$environment/installed.txt"; then
    rm -rf "$environment" "$environment.log"
    python3 -m venv "$environment" >"$environment.log" 2>&1 ||
        skip "python3 cannot make a virtual environment (Debian: python3-venv)"
    "$environment/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
        --timeout 30 --retries 2 -r "$wanted" >"$environment.log" 2>&1 ||
        skip "pip cannot install" $(cat "$wanted")
    cp "$wanted" "$environment/installed.txt"
fi
exec "$environment/bin/python" "$here/test_engines.py" "$library"
