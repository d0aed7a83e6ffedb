/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target over a corpus without a fuzzer, as an ordinary test: each file of
 * each directory named, and each of its beginnings if the file is short. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

enum { SHORT = 512 };

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0, room = 0, got;

    if (!file)
        return 0;
    do {
        if (size == room) {
            uint8_t *larger = realloc(data, room = room ? 2 * room : 4096);
            if (!larger)
                abort();
            data = larger;
        }
        got = fread(data + size, 1, room - size, file);
        size += got;
    } while (got);
    fclose(file);
    if (size <= SHORT)
        for (size_t length = 0; length < size; length++)
            (void)LLVMFuzzerTestOneInput(data, length);
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    int files = 0;

    for (int i = 1; i < argc; i++) {
        DIR *directory = opendir(argv[i]);
        struct dirent *entry;

        if (!directory) {
            perror(argv[i]);
            return 1;
        }
        while ((entry = readdir(directory)) != NULL) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            files += replay(path);
        }
        closedir(directory);
    }
    printf("%d files\n", files);
    return files ? 0 : 1;
}
