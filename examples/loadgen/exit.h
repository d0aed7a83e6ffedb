/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_EXIT_H
#define LOADGEN_EXIT_H

/* Exit statuses, beside 0: every request succeeded. */
#define EXIT_FAILED 1 /* something is wrong beside the requests: a file, memory */
#define EXIT_USAGE 2
#define EXIT_UNSUCCESSFUL 3 /* not every request succeeded */

#endif
