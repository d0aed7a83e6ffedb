# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034
# Sourced in the root of the source tree: where run.sh and bench.sh build, and how what they build
# is found, as an installed library is.
root=${FFI_BUILD:-build-ffi}
mkdir -p "$root"
root=$(cd "$root" && pwd)
CC=${CC:-cc} CXX=${CXX:-c++}
python=python3
[ ! -x /usr/bin/python3 ] || python=/usr/bin/python3 # Debian's packages belong to Debian's

PKG_CONFIG_PATH=$root/prefix/lib/pkgconfig
LD_LIBRARY_PATH=$root/prefix/lib
DYLD_LIBRARY_PATH=$LD_LIBRARY_PATH
TIMEWEIGHT_LAYOUT=$root/layout.txt
CARGO_TARGET_DIR=$root/rust
GOTOOLCHAIN=local
PYTHONDONTWRITEBYTECODE=1
export PKG_CONFIG_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH TIMEWEIGHT_LAYOUT CARGO_TARGET_DIR \
    GOTOOLCHAIN PYTHONDONTWRITEBYTECODE

# java.lang.foreign where the JDK has it, else JNA.
java_way() {
    jna=${JNA_JAR:-/usr/share/java/jna.jar}
    if [ "$(javac -version 2>&1 | sed 's/^javac \([0-9]*\).*/\1/')" -ge 22 ]; then
        way=foreign path=$root/java java_options=--enable-native-access=ALL-UNNAMED
    else
        way=jna path=$root/java:$jna java_options=
    fi
}
