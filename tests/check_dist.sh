#!/bin/sh
# SPDX-License-Identifier: MIT
# A release as CONTRIBUTING.md has it, from the last commit: tag, `meson dist`, and the tests of
# what is in the tarball.
#     check_dist.sh SOURCE_DIR
set -eu
source=$1
git -C "$source" rev-parse --verify -q HEAD >/dev/null 2>&1 ||
    { echo "skipped, this is not a git repository"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    [ ! -f "$work/log" ] || tail -n 100 "$work/log" >&2
    echo "$*" >&2
    exit 1
}

git clone -q "$source" "$work/clone"
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$work/clone/meson.build")
git -C "$work/clone" -c user.name=Release -c user.email=release@localhost \
    tag -a "v$version" -m "libtimeweight $version"
git -C "$work/clone" checkout -q "v$version"
meson setup "$work/build" "$work/clone" >"$work/log" 2>&1 || fail "setup failed"
meson dist -C "$work/build" --no-tests --formats xztar >"$work/log" 2>&1 || fail "dist failed"
cd "$work/build/meson-dist"
sha256sum -c "timeweight-$version.tar.xz.sha256sum" || fail "another checksum"

tar xJf "timeweight-$version.tar.xz" -C "$work"
git -C "$work/clone" ls-files | sort >"$work/tracked"
(cd "$work/timeweight-$version" && find . -type f | sed 's|^\./||' | sort) >"$work/shipped"
cmp "$work/tracked" "$work/shipped" || fail "the tarball holds other files than the tag"

meson setup "$work/from-tar" "$work/timeweight-$version" >"$work/log" 2>&1 || fail "setup failed"
ninja -C "$work/from-tar" >"$work/log" 2>&1 || fail "the tarball does not build"
# What takes long has been tested elsewhere.
meson test -C "$work/from-tar" --no-suite slow --no-suite arrow --no-suite property \
    --no-suite loadgen >"$work/log" 2>&1 || fail "tests failed"
sed -n '/^Ok:/,/^Skipped:/p' "$work/log"
[ "$("$work/from-tar/examples/timeweight" --version)" = "timeweight $version" ] ||
    fail "the tool has another version"
