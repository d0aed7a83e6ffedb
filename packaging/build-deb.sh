#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds Debian packages of the last commit (or, without git, of this folder) in a temporary
# folder, checks them with lintian, and copies them to OUTPUT_DIR, or only lists what is in them.
#     sh packaging/build-deb.sh [OUTPUT_DIR]
set -eu
output=${1:+$(mkdir -p "$1" && cd "$1" && pwd)}
cd "$(dirname "$0")/.."
. tests/packages.sh
need_packages debhelper dpkg-dev fakeroot lintian xz-utils gcc g++ meson ninja-build pkg-config \
    libsimdjson-dev libcurl4-openssl-dev libmicrohttpd-dev libjansson-dev check python3 scdoc

version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
packaged=$(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' packaging/debian/changelog)
[ "$version" = "$packaged" ] ||
    { echo "meson.build is at $version, packaging/debian/changelog at $packaged" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tree=$work/libtimeweight-$version
mkdir "$tree"
if git rev-parse --git-dir >/dev/null 2>&1; then
    git archive HEAD | tar x -C "$tree"
else
    tar c --exclude='./build*' . | tar x -C "$tree"
fi
tar c -C "$work" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="$(dpkg-parsechangelog -l packaging/debian/changelog -S Date)" \
    "libtimeweight-$version" | xz >"$work/libtimeweight_$version.orig.tar.xz"
cp -R "$tree/packaging/debian" "$tree/debian"

(cd "$tree" && dpkg-buildpackage -us -uc) >"$work/log" 2>&1 ||
    { tail -n 60 "$work/log" >&2; exit 1; }
lintian --allow-root --fail-on error,warning "$work"/*.changes
for package in "$work"/*.deb; do
    echo "$(basename "$package"):"
    dpkg-deb -c "$package" | awk '!/\/$/ { print "  " $6, $7, $8 }'
done
[ -z "$output" ] || cp "$work"/*.deb "$work"/*.dsc "$work"/*.tar.xz "$work"/*.changes "$output"
