/* SPDX-License-Identifier: MIT */
#ifndef APPEND_H
#define APPEND_H

#include <stddef.h>

/* An append beside a plain store: the same records are made and put one after the other
 * into a recorder, or into an array with room for all. Each returns seconds. */
typedef struct append append;

append *append_new(size_t count);
void append_free(append *a);

/* Into memory that was never used: a new recorder, a new array. */
double append_run_fresh(append *a);
double append_run_fresh_array(append *a);

/* Into memory that was: a cleared recorder, an array that was written before. */
double append_run_warm(append *a);
double append_run_warm_array(append *a);

/* 256 records a call, into a cleared recorder. */
double append_run_batches(append *a);

#endif
