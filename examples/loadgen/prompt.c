/* SPDX-License-Identifier: MIT */
#include "prompt.h"
#include "../common/random.h"
#include "buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of four letters that tokenizers know as one token, with the space before them. */
static const char words[][6] = {
    " time", " year", " work", " life", " part", " hand", " case", " week",
    " side", " game", " team", " line", " name", " idea", " body", " back",
    " face", " door", " road", " book", " word", " kind", " head", " home",
    " room", " area", " city", " food", " form", " land", " fact", " hour",
    " news", " mind", " girl", " tree", " bank", " fire", " plan", " rate",
    " love", " lake", " view", " term", " type", " wall", " role", " star",
    " test", " text", " note", " ship", " rock", " rain", " rule", " sort",
    " song", " step", " wind", " wood", " yard", " zone", " path", " park"};

#define WORDS (sizeof words / sizeof words[0])
#define WORD_LENGTH 5
/* Prompts are cut from a text of so many words. */
#define POOL_WORDS ((size_t)1 << 15)
/* The first words of each prompt are its own, so that no cache knows it. */
#define OWN_WORDS 12

#define PROMPTS_STREAM 2

struct line {
    char *json; /* as a JSON string, with its quotes */
    int64_t words;
};

struct prompts {
    const struct options *options;
    char *head;         /* the body up to the members that differ */
    bool has_limit;     /* max_tokens is in it already */
    struct line *lines; /* NULL: prompts are made up */
    size_t line_count;
    char *pool;
};

static void put_word(char *to, struct random *random)
{
    memcpy(to, words[random_bits(random) % WORDS], WORD_LENGTH);
}

static bool fill_pool(struct prompts *prompts)
{
    struct random random = random_begin(prompts->options->seed, PROMPTS_STREAM);
    prompts->pool = malloc(POOL_WORDS * WORD_LENGTH);
    if (!prompts->pool)
        return false;
    for (size_t i = 0; i < POOL_WORDS; i++)
        put_word(prompts->pool + i * WORD_LENGTH, &random);
    return true;
}

static int64_t count_words(const char *text)
{
    int64_t count = 0;
    while (*(text += strspn(text, " \t")) != '\0') {
        count++;
        text += strcspn(text, " \t");
    }
    return count;
}

/* Returns NULL, or what is wrong. */
static const char *add_line(struct prompts *prompts, const char *text, size_t length)
{
    size_t count = prompts->line_count;
    if ((count & (count - 1)) == 0) { /* full: at powers of two */
        struct line *lines = reallocarray(prompts->lines, count ? 2 * count : 1,
                                          sizeof *lines);
        if (!lines)
            return "no memory";
        prompts->lines = lines;
    }
    json_t *string = json_stringn(text, length);
    if (!string)
        return "must be UTF-8";
    prompts->lines[count].json = json_dumps(string, JSON_ENCODE_ANY);
    prompts->lines[count].words = count_words(text);
    json_decref(string);
    if (!prompts->lines[count].json)
        return "no memory";
    prompts->line_count++;
    return NULL;
}

static const char *read_lines(struct prompts *prompts, FILE *file, uint64_t *number)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    const char *wrong = NULL;
    while (!wrong && (length = getline(&line, &capacity, file)) >= 0) {
        ++*number;
        while (length > 0 && strchr("\r\n", line[length - 1]))
            line[--length] = '\0';
        if (strspn(line, " \t") < (size_t)length)
            wrong = add_line(prompts, line, (size_t)length);
    }
    free(line);
    return wrong;
}

static bool read_file(struct prompts *prompts, const char *path)
{
    uint64_t number = 0;
    errno = 0;
    FILE *file = fopen(path, "r");
    const char *wrong = file ? read_lines(prompts, file, &number) : strerror(errno);
    if (file && !wrong) {
        if (ferror(file))
            wrong = errno ? strerror(errno) : "cannot be read";
        else if (prompts->line_count == 0)
            wrong = "has no prompts";
        number = 0;
    }
    if (file)
        (void)fclose(file);
    if (!wrong)
        return true;
    fprintf(stderr, "timeweight-loadgen: %s", path);
    if (number > 0)
        fprintf(stderr, ":%" PRIu64, number);
    fprintf(stderr, ": %s\n", wrong);
    return false;
}

/* All but the prompt and its limit are the same in each request. */
static bool make_head(struct prompts *prompts)
{
    const struct options *options = prompts->options;
    json_t *head = json_pack("{s:s}", "model", options->model);
    bool good = head != NULL;
    if (good && options->stream)
        good = json_object_set_new(head, "stream", json_true()) == 0;
    if (good && options->stream && options->ask_usage)
        good = json_object_set_new(head, "stream_options",
                                   json_pack("{s:b}", "include_usage", 1)) == 0;
    if (good && options->extra)
        good = json_object_update(head, options->extra) == 0;
    if (good) {
        prompts->has_limit = json_object_get(head, "max_tokens") != NULL;
        prompts->head = json_dumps(head, JSON_COMPACT);
    }
    json_decref(head);
    if (!prompts->head)
        return false;
    prompts->head[strlen(prompts->head) - 1] = '\0'; /* it goes on */
    return true;
}

struct prompts *prompts_new(const struct options *options)
{
    const char *path = options->prompts_path;
    struct prompts *prompts = calloc(1, sizeof *prompts);
    if (prompts) {
        prompts->options = options;
        if (!make_head(prompts) || (!path && !fill_pool(prompts)))
            fprintf(stderr,
                    "timeweight-loadgen: the body cannot be made: is all of it UTF-8?\n");
        else if (!path || read_file(prompts, path))
            return prompts;
    }
    prompts_free(prompts);
    return NULL;
}

static bool add_text(struct buffer *body, const char *text)
{
    return buffer_add(body, text, strlen(text));
}

/* Needs no escapes. */
static bool add_words(struct buffer *body, const struct prompts *prompts, uint64_t i,
                      int64_t tokens)
{
    struct random random = random_begin(prompts->options->seed, ~i);
    size_t left = (size_t)tokens;
    bool good = add_text(body, "\"");
    for (int own = 0; good && left > 0 && own < OWN_WORDS; own++, left--)
        good = buffer_add(body, words[random_bits(&random) % WORDS], WORD_LENGTH);
    size_t from = (size_t)(random_bits(&random) % POOL_WORDS);
    while (good && left > 0) {
        size_t piece = POOL_WORDS - from < left ? POOL_WORDS - from : left;
        good = buffer_add(body, prompts->pool + from * WORD_LENGTH, piece * WORD_LENGTH);
        left -= piece;
        from = 0;
    }
    return good && add_text(body, "\"");
}

static bool add_prompt(struct buffer *body, const struct prompts *prompts, uint64_t i,
                       int64_t *input_tokens)
{
    if (!prompts->lines)
        return add_words(body, prompts, i, *input_tokens);
    const struct line *line = &prompts->lines[i % prompts->line_count];
    *input_tokens = line->words;
    return add_text(body, line->json);
}

char *prompts_body(struct prompts *prompts, uint64_t i, int64_t *input_tokens,
                   int64_t output_tokens)
{
    bool chat = prompts->options->chat;
    struct buffer body = {0};
    char limit[64] = "";
    if (!prompts->has_limit)
        (void)snprintf(limit, sizeof limit, ",\"max_tokens\":%" PRId64, output_tokens);
    if (add_text(&body, prompts->head) && add_text(&body, limit) &&
        add_text(&body, chat ? ",\"messages\":[{\"role\":\"user\",\"content\":"
                             : ",\"prompt\":") &&
        add_prompt(&body, prompts, i, input_tokens) &&
        add_text(&body, chat ? "}]}" : "}") && buffer_add(&body, "", 1))
        return body.bytes;
    buffer_clear(&body);
    return NULL;
}

void prompts_free(struct prompts *prompts)
{
    if (!prompts)
        return;
    for (size_t i = 0; i < prompts->line_count; i++)
        free(prompts->lines[i].json);
    free(prompts->lines);
    free(prompts->head);
    free(prompts->pool);
    free(prompts);
}
