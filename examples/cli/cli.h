/* SPDX-License-Identifier: MIT */
#ifndef CLI_CLI_H
#define CLI_CLI_H

/* Exit statuses, beside 0: something about the data or a file; a wrong command line. */
#define CLI_FAILURE 1
#define CLI_USAGE 2

/* The commands. argv[0] is what the command is called in messages. They return an exit
 * status, or exit on a wrong command line. */
int cli_report(int argc, char **argv);
int cli_metrics(int argc, char **argv);

#endif
