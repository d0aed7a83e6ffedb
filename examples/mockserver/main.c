/* SPDX-License-Identifier: MIT */
#include "options.h"
#include "server.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    struct options options;
    options_read(&options, argc, argv);
    return server_run(&options) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
