/* SPDX-License-Identifier: MIT */
#ifndef SETTINGS_H
#define SETTINGS_H

/* Where the other programs are. NULL: there is none, and what needs it is not run. */
typedef struct settings {
    const char *scripts;       /* the folder of the peers in Python */
    const char *numpy_python;  /* can import numpy */
    const char *aiperf_python; /* can import aiperf.analysis.sweepline */
    const char *timeweight;    /* the tool */
    const char *simulate;      /* the example */
    const char *parse;         /* parses with simdjson and does nothing else */
    const char *scratch;       /* a folder for files */
} settings;

#endif
