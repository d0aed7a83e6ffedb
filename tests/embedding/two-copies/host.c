/* SPDX-License-Identifier: MIT */

/* Uses the shared library, and plugins that have the archive inside. */
#include "../hidden/plugin.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeweight/timeweight.h>

static void check(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "two-copies: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

static void *symbol(void *plugin, const char *name)
{
    void *address = dlsym(plugin, name);
    check(address != NULL, name);
    return address;
}

/* own: must the plugin use the copy inside of it? */
static void run_plugin(const char *path, int own)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    double (*concurrency)(void);
    plugin_fn (*function)(void);

    check(plugin != NULL, path);
    *(void **)&concurrency = symbol(plugin, "plugin_concurrency");
    *(void **)&function = symbol(plugin, "plugin_library_function");
    check(concurrency() == 500.0 / 950.0, "the plugin's result");
    if (own)
        check(function() != (plugin_fn)tw_version, "there are no two copies");
}

int main(int argc, char **argv)
{
    tw_recorder *recorder;
    tw_analysis *analysis;
    tw_summary summary = {.struct_size = sizeof summary};
    tw_record record;

    check(argc == 3, "which plugins?");
    tw_record_init(&record, sizeof record);
    record.start_ns = 0;
    record.end_ns = 1000;
    check(tw_recorder_new(&recorder, NULL) == TW_OK, "new");
    check(tw_recorder_append(recorder, &record, 1, sizeof record, 0, NULL) == TW_OK,
          "append");

    /* The plugin works while this copy has objects, and leaves them alone. */
    run_plugin(argv[1], 1);
    check(tw_analyze(&analysis, &recorder, 1, NULL) == TW_OK, "analyze");
    run_plugin(argv[2], 0);
    check(tw_analysis_summary(analysis, TW_EFFECTIVE_CONCURRENCY, &summary) == TW_OK &&
              summary.avg == 1,
          "the host's result");
    check(tw_recorder_count(recorder) == 1, "the host's recorder");

    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
    puts("two copies, both work");
    return EXIT_SUCCESS;
}
