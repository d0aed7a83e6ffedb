/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_H
#define PLUGIN_H

/* 0.5 / 0.95: the average over ten requests of 50 ms, each 100 ms after the last. */
double plugin_concurrency(void);

/* The address of a function of the copy of the library that the plugin uses. */
typedef void (*plugin_fn)(void);
plugin_fn plugin_library_function(void);

#endif
