/* SPDX-License-Identifier: MIT */

/* Measures the library against what else there is, on the same records in the same run.
 * Within a round all that is compared runs once, one after the other; a figure is the median
 * of the rounds' ratios.
 *
 *     bench [--quick] [--only PATTERN] [--json FILE]
 *
 * run.sh builds and starts it; settings come from the environment, see read_settings(). */

#include "harness.h"
#include "ours.h"
#include "settings.h"
#include "table.h"
#include "world.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is measured ------------------------------------------------------------ */

enum group {
    CLOSED_5,
    CLOSED_6,
    CLOSED_7,
    BURSTY_6,
    CHUNKED,
    APPENDS,
    FILE_CHUNKS,
    FILE_PLAIN,
    GROUPS
};

/* A workload; its rounds are fewer where one takes more than 10 s. */
static const struct {
    const char *name;
    size_t count, quick_count, gaps, rounds;
    enum traffic_load load;
} groups[GROUPS] = {
    [CLOSED_5] = {"1e5", 100000, 2000, 0, 9, TRAFFIC_CLOSED},
    [CLOSED_6] = {"1e6", 1000000, 10000, 0, 5, TRAFFIC_CLOSED},
    [CLOSED_7] = {"1e7", 10000000, 50000, 0, 3, TRAFFIC_CLOSED},
    [BURSTY_6] = {"bursty", 1000000, 10000, 0, 5, TRAFFIC_BURSTY},
    [CHUNKED] = {"chunked", 100000, 500, 200, 3, TRAFFIC_CLOSED},
    [APPENDS] = {"append", 4000000, 50000, 0, 7, TRAFFIC_CLOSED},
    [FILE_CHUNKS] = {"1 GB", 1000000000, 1000000, 0, 3, TRAFFIC_CLOSED},
    [FILE_PLAIN] = {"1 GB", 1000000000, 1000000, 0, 3, TRAFFIC_CLOSED},
};

enum kind {
    RATIO,    /* over / under */
    EXPONENT, /* k of time ~ N^k, from the small runs `under` to `over` */
    BYTES_OF  /* what count() says */
};

struct entry {
    enum group group;
    const char *what;
    double must, reach;
    bool at_least;
    enum kind kind;
    enum contender over, under;
    double (*count)(world *w);
};

#define FASTER true, RATIO
#define COSTS false, RATIO

/* clang-format off */
static const struct entry entries[] = {
    {CLOSED_6, "numpy / ours, 1T", 80, 150, FASTER, NUMPY, OURS, NULL},
    {CLOSED_6, "AIPerf's module / ours, 1T", 0, 200, FASTER, AIPERF, OURS, NULL},
    {CLOSED_5, "radix per curve / ours, 1T", 12, 20, FASTER, RADIX, OURS, NULL},
    {CLOSED_6, "radix per curve / ours, 1T", 18, 30, FASTER, RADIX, OURS, NULL},
    {CLOSED_7, "radix per curve / ours, 1T", 25, 45, FASTER, RADIX, OURS, NULL},
    {CLOSED_6, "radix per curve / ours, 2T", 15, 30, FASTER, RADIX_2T, OURS_2T, NULL},
    {CLOSED_6, "radix per curve / ours, 1T, portable kernel", 9, 14, FASTER, RADIX, OURS_KERNEL + TW_KERNEL_PORTABLE, NULL},
    {CLOSED_6, "ours / radix sort of 3 bare keys a record", 2.4, 1.5, COSTS, OURS, SORT, NULL},
    {CLOSED_6, "ours / reading and writing the bytes once", 10, 5, COSTS, OURS, BYTES, NULL},
    {CLOSED_6, "ours: shuffled / in order of completion", 1.6, 1.25, COSTS, OURS_SHUFFLED, OURS, NULL},
    {CLOSED_7, "ours: shuffled / in order of completion", 1.9, 1.4, COSTS, OURS_SHUFFLED, OURS, NULL},
    {CLOSED_6, "ours: with credits / without", 1.35, 1.2, COSTS, OURS_CREDITS, OURS, NULL},
    {CHUNKED, "radix per curve, decode alone / ours, all metrics, 1T", 7, 12, FASTER, RADIX_DECODE, OURS, NULL},
    {CHUNKED, "radix per curve / ours, 1T, all metrics", 7, 12, FASTER, RADIX, OURS, NULL},
    {CLOSED_6, "memory of the analysis at most, a record", 96, 72, false, BYTES_OF, OURS, OURS, world_peak_per_record},
    {CLOSED_6, "memory that the analysis keeps, a record", 0, 0, false, BYTES_OF, OURS, OURS, world_kept_per_record},
    {CHUNKED, "memory of the analysis at most, a chunk boundary", 16, 12, false, BYTES_OF, OURS, OURS, world_peak_per_boundary},
    {CHUNKED, "memory that the analysis keeps, a chunk boundary", 0, 0, false, BYTES_OF, OURS, OURS, world_kept_per_boundary},
    {CLOSED_6, "memory of the recorder, a record", 56, 48, false, BYTES_OF, OURS, OURS, world_store_per_record},
    {CLOSED_7, "k of time ~ N^k, from a hundredth of the records", 1.05, 1, false, EXPONENT, OURS, OURS_SMALL, NULL},
    {APPENDS, "append / store into an array, both of new memory", 1.15, 1, COSTS, APPEND_FRESH, ARRAY_FRESH, NULL},
    {APPENDS, "the same, both of used memory", 0, 0, COSTS, APPEND_WARM, ARRAY_WARM, NULL},
    {APPENDS, "the same, 256 records a call", 0, 0, COSTS, APPEND_BATCHES, ARRAY_WARM, NULL},
    {CLOSED_6, "ours: window of the middle half / the analysis", 0.5, 0.3, COSTS, OURS_WINDOW, OURS, NULL},
    {FILE_CHUNKS, "timeweight report / simdjson, rows with 99 chunks", 3, 1.5, COSTS, REPORT_CHUNKS, PARSE_CHUNKS, NULL},
    {FILE_PLAIN, "timeweight report / simdjson, rows without chunks", 3, 1.5, COSTS, REPORT_PLAIN, PARSE_PLAIN, NULL},
    {CLOSED_6, "ours: in order of start / of completion", 0, 0, COSTS, OURS_BY_START, OURS, NULL},
    {CLOSED_6, "ours: 1T / 2T", 0, 0, FASTER, OURS, OURS_2T, NULL},
    {BURSTY_6, "radix per curve / ours, 1T", 0, 0, FASTER, RADIX, OURS, NULL},
};
/* clang-format on */

enum { ENTRIES = sizeof entries / sizeof entries[0], FIGURES = ENTRIES + 32 };

/* ---- settings -------------------------------------------------------------------- */

struct arguments {
    bool quick;
    const char *only, *json;
};

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static char scratch[4096];

/* What is in it was removed by who wrote it, unless the program failed. */
static void remove_scratch(void)
{
    static const char *const files[] = {"columns", "profile_export.jsonl"};
    char path[sizeof scratch + 32];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", scratch, files[i]);
        remove(path);
    }
    rmdir(scratch);
}

static settings read_settings(void)
{
    const char *folder = setting("TMPDIR");
    settings s = {.scripts = setting("TIMEWEIGHT_BENCH_SCRIPTS"),
                  .numpy_python = setting("TIMEWEIGHT_BENCH_NUMPY"),
                  .aiperf_python = setting("TIMEWEIGHT_BENCH_AIPERF"),
                  .timeweight = setting("TIMEWEIGHT_BENCH_TOOL"),
                  .simulate = setting("TIMEWEIGHT_BENCH_SIMULATE"),
                  .parse = setting("TIMEWEIGHT_BENCH_PARSE"),
                  .scratch = scratch};
    if (!s.scripts)
        s.numpy_python = s.aiperf_python = NULL;
    snprintf(scratch, sizeof scratch, "%s/timeweight-bench-XXXXXX",
             folder ? folder : "/tmp");
    if (!mkdtemp(scratch))
        bench_fail(scratch, "cannot be made");
    atexit(remove_scratch);
    return s;
}

static struct arguments read_arguments(int count, char **texts)
{
    struct arguments a = {false, NULL, NULL};
    for (int i = 1; i < count; i++) {
        if (strcmp(texts[i], "--quick") == 0)
            a.quick = true;
        else if (strcmp(texts[i], "--only") == 0 && i + 1 < count)
            a.only = texts[++i];
        else if (strcmp(texts[i], "--json") == 0 && i + 1 < count)
            a.json = texts[++i];
        else
            bench_fail(texts[i], "[--quick] [--only PATTERN] [--json FILE]");
    }
    return a;
}

/* ---- the run --------------------------------------------------------------------- */

/* The entries and one for each kernel that there is, as far as they were asked for. */
struct plan {
    struct entry entries[FIGURES];
    size_t count;
};

static bool asked_for(const struct entry *e, const struct arguments *a)
{
    char name[256];
    snprintf(name, sizeof name, "%s, %s", e->what, groups[e->group].name);
    return !a->only || strstr(name, a->only);
}

static void add_entry(struct plan *p, struct entry e, const struct arguments *a)
{
    if (asked_for(&e, a))
        p->entries[p->count++] = e;
}

static void make_plan(struct plan *p, const struct arguments *a)
{
    static char names[32][64];
    p->count = 0;
    for (size_t i = 0; i < ENTRIES; i++)
        add_entry(p, entries[i], a);
    for (int32_t kernel = 2; kernel < 32; kernel++) {
        if (!ours_has_kernel(kernel))
            continue;
        snprintf(names[kernel], sizeof names[kernel],
                 "radix per curve / ours, 1T, kernel %s", ours_kernel_name(kernel));
        add_entry(p,
                  (struct entry){CLOSED_6, names[kernel], 0, 0, FASTER, RADIX,
                                 OURS_KERNEL + (enum contender)kernel, NULL},
                  a);
    }
}

struct bench {
    const settings *settings;
    struct arguments arguments;
    struct plan plan;
    figure figures[FIGURES];
    timing times[CONTENDERS * GROUPS];
    size_t times_count;
    char numpy[128], aiperf[128];
};

/* Times of this group by contender; NULL if it is not used or cannot be run. */
typedef struct used {
    timing *times[CONTENDERS];
    const char *missing[CONTENDERS];
} used;

static void use(struct bench *b, world *w, used *u, enum group group, enum contender c)
{
    timing *t;
    if (u->times[c] || u->missing[c])
        return;
    u->missing[c] = world_prepare(w, c);
    if (u->missing[c])
        return;
    t = u->times[c] = &b->times[b->times_count++];
    snprintf(t->name, sizeof t->name, "%s", world_name(c));
    t->group = groups[group].name;
    t->items = b->arguments.quick ? groups[group].quick_count : groups[group].count;
    if (groups[group].gaps > 0)
        t->items *= groups[group].gaps;
    t->rounds = 0;
}

/* To and fro, so that no contender always runs after the same one. */
static void run_rounds(world *w, used *u, size_t rounds)
{
    for (size_t round = 0; round < rounds; round++)
        for (int i = 0; i < CONTENDERS; i++) {
            int c = round % 2 == 0 ? i : CONTENDERS - 1 - i;
            if (u->times[c])
                u->times[c]->seconds[u->times[c]->rounds++] = world_run(
                    w, (enum contender)c);
        }
}

/* By how much the runs of OURS_SMALL are smaller. */
#define SMALLER 100.0

static double combine(const struct entry *e, double over, double under)
{
    return e->kind == EXPONENT ? log(over / under) / log(SMALLER) : over / under;
}

static void compute(figure *f, const struct entry *e, const used *u, world *w)
{
    const timing *over = u->times[e->over], *under = u->times[e->under];
    if (e->kind == BYTES_OF) {
        f->values[0] = f->least = e->count(w);
        f->rounds = 1;
        return;
    }
    f->missing = u->missing[e->over] ? u->missing[e->over] : u->missing[e->under];
    if (f->missing)
        return;
    f->rounds = over->rounds;
    for (size_t i = 0; i < f->rounds; i++)
        f->values[i] = combine(e, over->seconds[i], under->seconds[i]);
    f->least = combine(e, bench_spread(over->seconds, over->rounds).min,
                       bench_spread(under->seconds, under->rounds).min);
}

static void note_version(const world *w, enum contender c, char *to, size_t size)
{
    const char *version = world_version(w, c);
    if (version)
        snprintf(to, size, "%s", version);
}

static bool has_entries(const struct plan *p, enum group group)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->entries[i].group == group)
            return true;
    return false;
}

static void run_group(struct bench *b, enum group group)
{
    size_t count = b->arguments.quick ? groups[group].quick_count : groups[group].count;
    world *w = world_new(b->settings, count, groups[group].load, groups[group].gaps);
    used u = {{NULL}, {NULL}};
    fprintf(stderr, "%s: %zu ...\n", groups[group].name, count);
    for (size_t i = 0; i < b->plan.count; i++) {
        const struct entry *e = &b->plan.entries[i];
        if (e->group == group && e->kind != BYTES_OF) {
            use(b, w, &u, group, e->over);
            use(b, w, &u, group, e->under);
        }
    }
    run_rounds(w, &u, b->arguments.quick ? 2 : groups[group].rounds);
    for (size_t i = 0; i < b->plan.count; i++)
        if (b->plan.entries[i].group == group)
            compute(&b->figures[i], &b->plan.entries[i], &u, w);
    note_version(w, NUMPY, b->numpy, sizeof b->numpy);
    note_version(w, AIPERF, b->aiperf, sizeof b->aiperf);
    world_free(w);
}

static void set_goals(struct bench *b)
{
    for (size_t i = 0; i < b->plan.count; i++) {
        const struct entry *e = &b->plan.entries[i];
        b->figures[i].goal = (goal){.what = e->what,
                                    .group = groups[e->group].name,
                                    .must = b->arguments.quick ? 0 : e->must,
                                    .reach = b->arguments.quick ? 0 : e->reach,
                                    .at_least = e->at_least,
                                    .unit = e->kind == RATIO      ? "x"
                                            : e->kind == BYTES_OF ? " B"
                                                                  : ""};
    }
}

/* ---- the machine ----------------------------------------------------------------- */

/* What follows the colon in the first line of a file that begins with a key. */
static void read_fact(const char *path, const char *key, char *value, size_t size)
{
    char line[512];
    FILE *file = fopen(path, "r");
    snprintf(value, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *begin = *key ? strchr(line, ':') : line;
        if (strncmp(line, key, strlen(key)) != 0 || !begin)
            continue;
        begin += strspn(begin, ": \t");
        snprintf(value, size, "%.*s", (int)strcspn(begin, "\n"), begin);
        break;
    }
    if (file)
        fclose(file);
}

static void list_kernels(char *value, size_t size)
{
    size_t length = 0;
    for (int32_t kernel = 0; kernel < 32 && length < size; kernel++)
        if (ours_has_kernel(kernel))
            length += (size_t)snprintf(value + length, size - length, "%s%s",
                                       kernel > 0 ? ", " : "", ours_kernel_name(kernel));
}

static size_t find_facts(const struct bench *b, fact facts[])
{
    static const char *const names[] = {"processor", "system",  "pages", "library",
                                        "compiler",  "kernels", "numpy", "aiperf",
                                        "load",      "quick"};
    size_t count = sizeof names / sizeof names[0];
    for (size_t i = 0; i < count; i++)
        facts[i].name = names[i];
    read_fact("/proc/cpuinfo", "model name", facts[0].value, sizeof facts[0].value);
    read_fact("/proc/version", "", facts[1].value, sizeof facts[1].value);
    read_fact("/sys/kernel/mm/transparent_hugepage/enabled", "", facts[2].value,
              sizeof facts[2].value);
    snprintf(facts[3].value, sizeof facts[3].value, "%s", tw_version_string());
    snprintf(facts[4].value, sizeof facts[4].value, "%s", BENCH_COMPILER);
    list_kernels(facts[5].value, sizeof facts[5].value);
    snprintf(facts[6].value, sizeof facts[6].value, "%s", b->numpy);
    snprintf(facts[7].value, sizeof facts[7].value, "%s", b->aiperf);
    read_fact("/proc/loadavg", "", facts[8].value, sizeof facts[8].value);
    snprintf(facts[9].value, sizeof facts[9].value, "%s",
             b->arguments.quick ? "yes: too small to mean anything" : "no");
    return count;
}

int main(int argc, char **argv)
{
    static struct bench b = {.numpy = "not measured", .aiperf = "not measured"};
    static fact facts[16];
    settings s;
    table t = {.figures = b.figures, .times = b.times, .facts = facts};
    signal(SIGPIPE, SIG_IGN); /* a peer that died is reported */
    b.arguments = read_arguments(argc, argv);
    s = read_settings();
    b.settings = &s;
    make_plan(&b.plan, &b.arguments);
    set_goals(&b);
    for (int group = 0; group < GROUPS; group++)
        if (has_entries(&b.plan, (enum group)group))
            run_group(&b, (enum group)group);
    t.figure_count = b.plan.count;
    t.times_count = b.times_count;
    t.fact_count = find_facts(&b, facts);
    table_print(&t, stdout);
    if (b.arguments.json) {
        FILE *file = fopen(b.arguments.json, "w");
        if (!file)
            bench_fail(b.arguments.json, "cannot be opened");
        table_write_json(&t, file);
        if (fclose(file) != 0)
            bench_fail(b.arguments.json, "cannot be written");
    }
    return EXIT_SUCCESS;
}
