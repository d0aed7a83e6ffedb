/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_CAPACITY ((size_t)256 * 1024)

int lines_open(struct lines *lines, const char *path)
{
    *lines = (struct lines){.fd = STDIN_FILENO, .at_start = true};
    if (strcmp(path, "-") != 0) {
        lines->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (lines->fd < 0)
            return errno;
        (void)posix_fadvise(lines->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    lines->buffer = malloc(FIRST_CAPACITY + LINES_PADDING);
    if (!lines->buffer) {
        lines_close(lines);
        return ENOMEM;
    }
    lines->capacity = FIRST_CAPACITY;
    return 0;
}

void lines_close(struct lines *lines)
{
    free(lines->buffer);
    lines->buffer = NULL;
    if (lines->fd > STDIN_FILENO)
        (void)close(lines->fd);
    lines->fd = -1;
}

static int grow(struct lines *lines)
{
    if (lines->capacity > SIZE_MAX / 4)
        return ENOMEM;
    char *larger = realloc(lines->buffer, lines->capacity * 2 + LINES_PADDING);
    if (!larger)
        return ENOMEM;
    lines->buffer = larger;
    lines->capacity *= 2;
    return 0;
}

/* Reads more behind what is there, which is an unfinished line. */
static int fill(struct lines *lines)
{
    if (lines->begin > 0) {
        memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
        lines->end -= lines->begin;
        lines->scanned -= lines->begin;
        lines->begin = 0;
    }
    if (lines->end == lines->capacity) {
        int error = grow(lines);
        if (error)
            return error;
    }
    ssize_t got;
    do {
        got = read(lines->fd, lines->buffer + lines->end, lines->capacity - lines->end);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno;
    lines->at_eof = got == 0;
    lines->end += (size_t)got;
    memset(lines->buffer + lines->end, 0, LINES_PADDING);
    return 0;
}

/* Finds the next line, blank or not. The last one needs no newline. */
static int find_line(struct lines *lines, struct line *line)
{
    for (;;) {
        char *from = lines->buffer + lines->scanned;
        size_t left = lines->end - lines->scanned;
        char *newline = left > 0 ? memchr(from, '\n', left) : NULL;
        if (!newline && !lines->at_eof) {
            lines->scanned = lines->end;
            int error = fill(lines);
            if (error)
                return -error;
            continue;
        }
        if (!newline && lines->begin == lines->end)
            return 0;
        line->text = lines->buffer + lines->begin;
        line->length = newline ? (size_t)(newline - line->text)
                               : lines->end - lines->begin;
        line->number = ++lines->number;
        lines->begin += line->length + (newline ? 1 : 0);
        lines->scanned = lines->begin;
        return 1;
    }
}

static void skip_byte_order_mark(struct line *line)
{
    if (line->length >= 3 && memcmp(line->text, "\xEF\xBB\xBF", 3) == 0) {
        line->text += 3;
        line->length -= 3;
    }
}

static bool is_blank(const struct line *line)
{
    for (size_t i = 0; i < line->length; i++)
        if (line->text[i] != ' ' && line->text[i] != '\t' && line->text[i] != '\r')
            return false;
    return true;
}

int lines_next(struct lines *lines, struct line *line)
{
    int result;
    while ((result = find_line(lines, line)) > 0) {
        if (lines->at_start)
            skip_byte_order_mark(line);
        lines->at_start = false;
        if (!is_blank(line))
            return 1;
    }
    return result;
}
