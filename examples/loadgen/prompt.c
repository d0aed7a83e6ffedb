/* SPDX-License-Identifier: MIT */
#include "prompt.h"
#include "../common/random.h"

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
    json_t *text;
    int64_t words;
};

struct prompts {
    const struct options *options;
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
    prompts->lines[count] = (struct line){.text = string, .words = count_words(text)};
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

struct prompts *prompts_new(const struct options *options)
{
    struct prompts *prompts = calloc(1, sizeof *prompts);
    bool good = false;
    if (prompts) {
        prompts->options = options;
        good = options->prompts_path ? read_file(prompts, options->prompts_path)
                                     : fill_pool(prompts);
    }
    if (good)
        return prompts;
    if (!prompts || !options->prompts_path)
        fprintf(stderr, "timeweight-loadgen: no memory\n");
    prompts_free(prompts);
    return NULL;
}

static json_t *make_prompt(const struct prompts *prompts, uint64_t i, int64_t tokens)
{
    struct random random = random_begin(prompts->options->seed, ~i);
    size_t count = (size_t)tokens;
    char *text = malloc(count * WORD_LENGTH);
    if (!text)
        return NULL;
    size_t made = 0;
    for (; made < count && made < OWN_WORDS; made++)
        put_word(text + made * WORD_LENGTH, &random);
    size_t from = (size_t)(random_bits(&random) % POOL_WORDS);
    while (made < count) {
        size_t piece = POOL_WORDS - from;
        piece = piece < count - made ? piece : count - made;
        memcpy(text + made * WORD_LENGTH, prompts->pool + from * WORD_LENGTH,
               piece * WORD_LENGTH);
        made += piece;
        from = 0;
    }
    json_t *string = json_stringn(text + 1, count * WORD_LENGTH - 1);
    free(text);
    return string;
}

static json_t *choose_prompt(const struct prompts *prompts, uint64_t i,
                             int64_t *input_tokens)
{
    if (!prompts->lines)
        return make_prompt(prompts, i, *input_tokens);
    const struct line *line = &prompts->lines[i % prompts->line_count];
    *input_tokens = line->words;
    return json_incref(line->text);
}

/* Steals the prompt. */
static json_t *make_body(const struct options *options, json_t *prompt,
                         int64_t output_tokens)
{
    json_t *body = options->chat
                       ? json_pack("{s:s, s:[{s:s, s:o}]}", "model", options->model,
                                   "messages", "role", "user", "content", prompt)
                       : json_pack("{s:s, s:o}", "model", options->model, "prompt",
                                   prompt);
    bool good = body &&
                json_object_set_new(body, "max_tokens", json_integer(output_tokens)) == 0;
    if (good && options->stream)
        good = json_object_set_new(body, "stream", json_true()) == 0;
    if (good && options->stream && options->ask_usage)
        good = json_object_set_new(body, "stream_options",
                                   json_pack("{s:b}", "include_usage", 1)) == 0;
    if (good && options->extra)
        good = json_object_update(body, options->extra) == 0;
    if (good)
        return body;
    json_decref(body);
    return NULL;
}

char *prompts_body(struct prompts *prompts, uint64_t i, int64_t *input_tokens,
                   int64_t output_tokens)
{
    json_t *prompt = choose_prompt(prompts, i, input_tokens);
    json_t *body = prompt ? make_body(prompts->options, prompt, output_tokens) : NULL;
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    return text;
}

void prompts_free(struct prompts *prompts)
{
    if (!prompts)
        return;
    for (size_t i = 0; i < prompts->line_count; i++)
        json_decref(prompts->lines[i].text);
    free(prompts->lines);
    free(prompts->pool);
    free(prompts);
}
