# SPDX-License-Identifier: MIT
# shellcheck shell=sh
need cmake
cp ../pkg-config/version.cpp .
export CC CXX CFLAGS CXXFLAGS="$CFLAGS"
unset LD_LIBRARY_PATH PKG_CONFIG_LIBDIR # CMake must find all by itself

# Where it was installed, and moved to another place.
mv "$prefix" "$root/first"
for prefix in "$root/first" "$root/moved/else where"; do
    [ -d "$prefix" ] || { mkdir "$root/moved" && mv "$root/first" "$prefix"; }
    rm -rf build
    cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix"
    cmake --build build
    build/shared >shared.out
    build/static >static.out
    build/version
    cmp shared.out static.out
    readelf -d build/static | grep -q libtimeweight && fail "static: asks for the shared library"
    readelf -d build/shared | grep -q 'libtimeweight.so.0\]' || fail "no libtimeweight.so.0"
done

# Which versions it says it can serve.
serves() { # version
    mkdir -p version
    printf 'cmake_minimum_required(VERSION 3.19)\nproject(x C)\nfind_package(timeweight %s REQUIRED)\n' \
        "$1" >version/CMakeLists.txt
    rm -rf version/build
    cmake -S version -B version/build -DCMAKE_PREFIX_PATH="$prefix" >version/log 2>&1
}
version=$(sed -n 's/^set(PACKAGE_VERSION "\([0-9.]*\)")/\1/p' \
    "$(find "$prefix" -name timeweightConfigVersion.cmake)")
for wanted in "" "$version" "$version EXACT" "${version%.*}" "0.0.1...99"; do
    serves "$wanted" || fail "version $version does not serve '$wanted'"
done
for wanted in 99 "$version.1" "${version%.*}.99" "0.0.1...<$version" "98...99"; do
    serves "$wanted" && fail "version $version serves '$wanted'"
done
cat shared.out
