# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2046,SC2086
$CC $CFLAGS -std=c11 -Wall -Wextra -Werror live.c -o live \
    $(pkg-config --cflags --libs timeweight)
./live
