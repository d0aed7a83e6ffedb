/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_SUMMARY_H
#define LOADGEN_SUMMARY_H

#include "run.h"

/* Analyses a run that has ended and writes what it came to: the tables and what belongs
 * to them to standard output (unless another output has it), the JSON report to its file.
 * False after a message. */
bool summary_write(const struct run *run, struct writer *json);

#endif
