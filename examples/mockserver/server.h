/* SPDX-License-Identifier: MIT */
#ifndef MOCKSERVER_SERVER_H
#define MOCKSERVER_SERVER_H

#include "options.h"

/* Serves until SIGTERM or SIGINT. Returns 0, or -1 after a message. */
int server_run(const struct options *options);

#endif
