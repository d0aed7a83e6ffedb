/* SPDX-License-Identifier: MIT */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes past the end of any line that may be read: the JSON parser asks for them. */
#define LINES_PADDING 64

/* Hands out the lines of one file. Memory grows with the longest line, not the file. */
struct lines {
    int fd;
    char *buffer;
    size_t capacity; /* without the padding */
    size_t begin;    /* first byte not handed out yet */
    size_t scanned;  /* no newline lies in [begin, scanned) */
    size_t end;      /* bytes in the buffer */
    uint64_t number; /* of the line handed out last, from 1 */
    bool at_start;
    bool at_eof;
};

/* A line without its newline. It stays valid until the next call. */
struct line {
    const char *text;
    size_t length;
    uint64_t number;
};

/* Opens a file; "-" is standard input. Returns 0 or an errno. */
int lines_open(struct lines *lines, const char *path);

/* The next line that is not blank; blank lines count in the numbering. Returns 1, 0 at
 * the end of the file, or a negative errno. */
int lines_next(struct lines *lines, struct line *line);

void lines_close(struct lines *lines);

#endif
