/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The entry point of a fuzz target: libFuzzer calls it, or replay.c does. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
