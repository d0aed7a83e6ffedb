/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_H
#define PROCESS_H

#include "curves.h"

#include <stdbool.h>

/* Runs a program to its end; arguments end with NULL. Its output goes to a file, or nowhere.
 * False if it did not end well. */
bool process_run(const char *const arguments[], const char *output_path);

/* A peer in Python, which waits between its runs. */
typedef struct python_peer python_peer;

/* python script columns. NULL if it does not start, say because a module is missing. */
python_peer *python_peer_new(const char *python, const char *script, const char *columns);
void python_peer_free(python_peer *p);

/* What it says about itself. */
const char *python_peer_version(const python_peer *p);

/* Seconds, as it measures them itself. */
double python_peer_run(python_peer *p);

/* Of the last run. */
void python_peer_results(python_peer *p, curve_stats results[CURVE_METRICS]);

#endif
