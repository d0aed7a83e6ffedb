# SPDX-License-Identifier: MIT
# Sourced by the demonstrations: builds what they need (unless TIMEWEIGHT_BUILD names a build),
# and starts servers. The working folder becomes the project's.
cd "$(dirname "$0")/.."
build=${TIMEWEIGHT_BUILD:-build}
if [ -z "${TIMEWEIGHT_BUILD:-}" ]; then
    . tests/packages.sh
    need_packages meson ninja-build gcc g++ pkg-config libsimdjson-dev libcurl4-openssl-dev \
        libmicrohttpd-dev libjansson-dev
    [ -f build/build.ninja ] || meson setup build -Dtests=false -Dloadgen=enabled >/dev/null
    [ -x build/examples/loadgen/timeweight-loadgen ] || meson configure build -Dloadgen=enabled
    ninja -C build >/dev/null || { ninja -C build; exit 1; }
fi
loadgen=$build/examples/loadgen/timeweight-loadgen
mockserver=$build/examples/mockserver/timeweight-mockserver
timeweight=$build/examples/timeweight

server=
work=$(mktemp -d)
clean_up() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# Starts the mock server on a free port; $url is its address.
start_server() { # options
    echo "\$ timeweight-mockserver $*"
    rm -f "$work/address"
    "$mockserver" --port 0 "$@" >"$work/address" 2>"$work/server" &
    server=$!
    until grep -qs listening "$work/address"; do
        kill -0 "$server" 2>/dev/null || { cat "$work/server" >&2; exit 1; }
        sleep 0.05
    done
    url=$(sed 's/listening on //' "$work/address")
}

# Ends it and shows how far off its timing was.
stop_server() {
    kill "$server"
    wait "$server" || { cat "$work/server" >&2; exit 1; }
    server=
    sed 's/^/mock server: /' "$work/server"
}

# Runs the generator; $status is its exit status.
run_load() { # options
    echo "\$ timeweight-loadgen $url $*"
    status=0
    "$loadgen" "$url" --quiet "$@" >"$work/out" || status=$?
}

# A number of the last report: tag, column.
number() {
    awk -F, -v tag="$1" -v column="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
        $1 == tag { print $at }' "$work/csv"
}
