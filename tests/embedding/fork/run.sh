# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2046,SC2086
$CC $CFLAGS -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror fork.c -o forks \
    $(pkg-config --cflags --libs timeweight)
./forks
