/* SPDX-License-Identifier: MIT */
#ifndef TOOL_H
#define TOOL_H

#include "settings.h"

#include <stdbool.h>
#include <stddef.h>

/* `timeweight report` of a file in AIPerf's format beside a bare parse of its bytes. Both
 * are processes of their own, which read the file from the system's cache. */
typedef struct tool tool;

/* Writes a file of some size. */
tool *tool_new(const settings *s, size_t bytes, bool chunks);
void tool_free(tool *t);

/* Seconds. */
double tool_run_report(const tool *t);
double tool_run_parse(const tool *t);

#endif
