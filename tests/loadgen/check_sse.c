/* SPDX-License-Identifier: MIT */
/* Server-sent events, cut anywhere. */

#include "../../examples/loadgen/sse.h"

#include <stdlib.h>
#include <string.h>

#include "../vocabulary.h"

/* What came out: each event between brackets. */
typedef struct heard {
    char text[4096];
    size_t length;
    int stop_after; /* events; 0: never */
    int events;
} heard;

static void put(heard *to, const char *bytes, size_t length)
{
    assert_that(to->length + length < sizeof to->text);
    memcpy(to->text + to->length, bytes, length);
    to->length += length;
    to->text[to->length] = '\0';
}

static bool hear(void *user_data, const char *data, size_t length)
{
    heard *to = user_data;

    put(to, "[", 1);
    put(to, data, length);
    put(to, "]", 1);
    return ++to->events != to->stop_after;
}

static void parse(heard *to, const char *text, size_t length, size_t piece)
{
    struct sse sse = {0};

    *to = (heard){0};
    for (size_t at = 0; at < length; at += piece)
        assert_i64(sse_feed(&sse, text + at, piece < length - at ? piece : length - at,
                            hear, to),
                   SSE_OK);
    sse_clear(&sse);
}

/* In pieces of any length. */
static void check(const char *text, const char *wanted)
{
    size_t length = strlen(text);
    heard to;

    for (size_t piece = 1; piece <= length; piece++) {
        vocabulary_context("%s in pieces of %zu: ", text, piece);
        parse(&to, text, length, piece);
        assert_text(to.text, wanted);
    }
}

START_TEST(ends_of_lines)
{
    check("data: a\n\ndata: b\n\n", "[a][b]");
    check("data: a\r\n\r\ndata: b\r\n\r\n", "[a][b]");
    check("data: a\r\rdata: b\r\r", "[a][b]");
    check("data: a\r\n\ndata: b\n\r\ndata: c\r\n\r", "[a][b][c]");
    check("data: a\n\n\n\r\r\n\ndata: b\n\n", "[a][b]");
}
END_TEST

START_TEST(fields)
{
    check("data:a\n\n", "[a]");
    check("data:  a \n\n", "[ a ]");
    check("data: a:b: c\n\n", "[a:b: c]");
    check("data\n\n", "[]");
    check("data:\n\n", "[]");
    check("data:\ndata:\n\n", "[\n]");
    check("data: a\ndata: b\ndata:\n\n", "[a\nb\n]");
    check("event: x\nid: 7\nretry: 10\ndata: a\n\n", "[a]");
    check("event: x\n\n", "");
    check("Data: a\ndata : b\ndatax: c\n data: d\n\n", "");
}
END_TEST

START_TEST(comments)
{
    check(": a comment\n\n:\n:data: x\n\ndata: a\n: in between\ndata: b\n\n", "[a\nb]");
    check(":\r\n\r\n: keep-alive\r\n\r\ndata: [DONE]\r\n\r\n", "[[DONE]]");
}
END_TEST

START_TEST(begin_and_end)
{
    check("\xEF\xBB\xBF"
          "data: a\n\n",
          "[a]");
    check("data: a\n\n\xEF\xBB\xBF"
          "data: b\n\n",
          "[a]");
    check("data: a\n\ndata: b\n", "[a]"); /* not dispatched: it may go on */
    check("data: a\n\ndata: b", "[a]");
    check("", "");
}
END_TEST

START_TEST(any_bytes_are_data)
{
    static const char text[] = "data: \0\x80\xFF\n\n";
    static const char wanted[] = "[\0\x80\xFF]";
    heard to;

    parse(&to, text, sizeof text - 1, 1);
    assert_u64(to.length, sizeof wanted - 1);
    assert_that(memcmp(to.text, wanted, sizeof wanted - 1) == 0);
}
END_TEST

START_TEST(the_listener_stops)
{
    struct sse sse = {0};
    heard to = {.stop_after = 2};
    static const char text[] = "data: a\n\ndata: b\n\ndata: c\n\n";

    assert_i64(sse_feed(&sse, text, strlen(text), hear, &to), SSE_STOPPED);
    assert_text(to.text, "[a][b]");
    sse_reset(&sse);
    to = (heard){0};
    assert_i64(sse_feed(&sse, "data: d\n\n", 9, hear, &to), SSE_OK);
    assert_text(to.text, "[d]");
    sse_clear(&sse);
}
END_TEST

START_TEST(endless_lines_end)
{
    struct sse sse = {0};
    heard to = {0};
    size_t size = (size_t)1024 * 1024;
    char *block = malloc(size);
    int blocks = 0;

    assert_that(block != NULL);
    memset(block, 'x', size);
    while (sse_feed(&sse, block, size, hear, &to) == SSE_OK)
        blocks++;
    assert_i64(blocks, (int64_t)(SSE_LIMIT / size));
    assert_i64(sse_feed(&sse, block, size, hear, &to), SSE_TOO_LONG);
    sse_clear(&sse);
    free(block);
}
END_TEST

/* ---- An oracle: the standard's rules on the whole text at once ----------------------- */

/* CR LF and CR become LF. */
static size_t unify(char *text, size_t length)
{
    size_t out = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\r' && i + 1 < length && text[i + 1] == '\n')
            continue;
        text[out++] = text[i] == '\r' ? '\n' : text[i];
    }
    return out;
}

static void expect(heard *to, const char *original, size_t length)
{
    char text[512], data[512];
    size_t data_length = 0, begin = 0;

    *to = (heard){0};
    memcpy(text, original, length);
    length = unify(text, length);
    for (size_t i = 0; i < length; i++) {
        char *line = text + begin;
        size_t n = i - begin;
        if (text[i] != '\n')
            continue;
        begin = i + 1;
        if (n == 0 && data_length > 0)
            (void)hear(to, data, data_length - 1);
        if (n == 0)
            data_length = 0;
        if (n >= 4 && memcmp(line, "data", 4) == 0 && (n == 4 || line[4] == ':')) {
            size_t skip = n == 4 ? 4 : n > 5 && line[5] == ' ' ? 6 : 5;
            memcpy(data + data_length, line + skip, n - skip);
            data_length += n - skip;
            data[data_length++] = '\n';
        }
    }
}

START_TEST(random_texts_in_random_pieces)
{
    static const char *const parts[] = {"data", ":", " ",      "\n",    "\r", "\r\n",
                                        "x",    "{", "[DONE]", "event", "da", "data: y"};
    uint64_t random = 1;

    for (uint64_t turn = 0; turn < vocabulary_count("TIMEWEIGHT_TEST_NUMBERS", 100000);
         turn++) {
        char text[256];
        size_t length = 0;
        heard wanted, got = {0};
        struct sse sse = {0};
        for (int part = 0; part < 24; part++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
            const char *piece = parts[(random >> 33) % (sizeof parts / sizeof *parts)];
            memcpy(text + length, piece, strlen(piece));
            length += strlen(piece);
        }
        expect(&wanted, text, length);
        for (size_t at = 0; at < length;) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407U;
            size_t piece = 1 + (size_t)(random >> 33) % 9;
            piece = piece < length - at ? piece : length - at;
            assert_i64(sse_feed(&sse, text + at, piece, hear, &got), SSE_OK);
            at += piece;
        }
        sse_clear(&sse);
        vocabulary_context("turn %ju: ", (uintmax_t)turn);
        assert_text(got.text, wanted.text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sse");
    TCase *sse = vocabulary_case(suite, "events");

    tcase_add_test(sse, ends_of_lines);
    tcase_add_test(sse, fields);
    tcase_add_test(sse, comments);
    tcase_add_test(sse, begin_and_end);
    tcase_add_test(sse, any_bytes_are_data);
    tcase_add_test(sse, the_listener_stops);
    tcase_add_test(sse, endless_lines_end);
    tcase_add_test(sse, random_texts_in_random_pieces);
    return vocabulary_main(suite);
}
