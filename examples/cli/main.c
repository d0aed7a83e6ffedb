/* SPDX-License-Identifier: MIT */
#include "cli.h"
#include "output.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

static const struct command {
    const char *name;
    char *title; /* for messages; not const because it becomes an argv[0] */
    int (*run)(int argc, char **argv);
} commands[] = {
    {"report", (char[]){"timeweight report"}, cli_report},
    {"metrics", (char[]){"timeweight metrics"}, cli_metrics},
};

/* The command and the arguments from its name on. */
struct choice {
    const struct command *command;
    int argc;
    char **argv;
};

static const char doc[] =
    "Exact time-weighted metrics of LLM load tests.\n"
    "\n"
    "Commands:\n"
    "  report FILE...   read the requests of a run and report every metric\n"
    "  metrics          list the metrics\n"
    "\n"
    "'timeweight COMMAND --help' tells more.\n"
    "\v"
    "Exit status: 0 if all went well, 1 if something is wrong with the data or a file, "
    "2 if the command line is wrong.";

static void choose(struct choice *choice, char *name, struct argp_state *state)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(name, commands[i].name) == 0)
            choice->command = &commands[i];
    if (!choice->command)
        argp_error(state, "no such command: %s", name);
    choice->argc = state->argc - state->next + 1;
    choice->argv = state->argv + state->next - 1;
    state->next = state->argc;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case ARGP_KEY_ARG:
        choose(state->input, argument, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which command?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "timeweight %s\n", tw_version_string());
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse, .args_doc = "COMMAND [ARGUMENT...]", .doc = doc};
    struct choice choice = {0};

    /* A closed pipe is then an error of write() like any other. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (atexit(output_close) != 0)
        return CLI_FAILURE;
    argp_program_version_hook = print_version;
    argp_err_exit_status = CLI_USAGE;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice) != 0)
        return CLI_FAILURE;
    choice.argv[0] = choice.command->title;
    return choice.command->run(choice.argc, choice.argv);
}
