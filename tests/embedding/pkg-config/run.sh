# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2046,SC2086

$CC $CFLAGS -std=c11 -Wall -Wextra -Werror quickstart.c -o shared \
    $(pkg-config --cflags --libs timeweight)
./shared >shared.out
readelf -d shared | grep -q 'libtimeweight.so.0\]' ||
    fail "the program does not ask for libtimeweight.so.0"

# The archive by name, where the shared library lies beside it.
$CC $CFLAGS quickstart.c -o static $(pkg-config --static --cflags --libs timeweight |
    sed 's/-ltimeweight/-l:libtimeweight.a/')
readelf -d static | grep -q libtimeweight &&
    fail "the static program asks for the shared library"
./static >static.out
cmp shared.out static.out

# Nothing shared at all. Sanitizers do not exist that way.
if [ -z "$CFLAGS" ]; then
    $CC -static quickstart.c -o whole $(pkg-config --static --cflags --libs timeweight)
    ./whole >whole.out
    cmp shared.out whole.out
fi

$CXX $CFLAGS -std=c++98 -Wall -Wextra -pedantic -Werror version.cpp -o version \
    $(pkg-config --cflags --libs timeweight)
./version
cat shared.out
