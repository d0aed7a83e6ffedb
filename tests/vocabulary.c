/* SPDX-License-Identifier: MIT */
#include "vocabulary.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/big.h"
#include "base/mem.h"

/* ---- Suites ------------------------------------------------------------------------ */

int vocabulary_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

TCase *vocabulary_case(Suite *suite, const char *name)
{
    TCase *made = tcase_create(name);

    tcase_set_timeout(made, 3600);
    suite_add_tcase(suite, made);
    return made;
}

uint64_t vocabulary_count(const char *variable, uint64_t normal)
{
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 10) : normal;
}

/* ---- Assertions -------------------------------------------------------------------- */

static char context[256];
static char complaint[2048];

void vocabulary_context(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
}

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static const char *
complain(const char *format, ...)
{
    va_list arguments;
    size_t used = 0;

    if (*context)
        used = (size_t)snprintf(complaint, sizeof complaint, "[%s] ", context);
    va_start(arguments, format);
    vsnprintf(complaint + used, sizeof complaint - used, format, arguments);
    va_end(arguments);
    return complaint;
}

const char *vocabulary_condition(const char *text, int holds)
{
    return holds ? NULL : complain("%s does not hold", text);
}

static const char *status_text(int32_t status)
{
    const char *name = tw_status_name(status);
    return name ? name : "not a status";
}

const char *vocabulary_status(const char *text, int32_t got, int32_t wanted)
{
    if (got == wanted)
        return NULL;
    return complain("%s is %s (%" PRId32 "), wanted %s", text, status_text(got), got,
                    status_text(wanted));
}

const char *vocabulary_signed(const char *got_text, int64_t got, const char *wanted_text,
                              int64_t wanted)
{
    if (got == wanted)
        return NULL;
    return complain("%s is %" PRId64 ", wanted %s = %" PRId64, got_text, got, wanted_text,
                    wanted);
}

const char *vocabulary_unsigned(const char *got_text, uint64_t got,
                                const char *wanted_text, uint64_t wanted)
{
    if (got == wanted)
        return NULL;
    return complain("%s is %" PRIu64 ", wanted %s = %" PRIu64, got_text, got, wanted_text,
                    wanted);
}

const char *vocabulary_u192(const char *got_text, twi_u192 got, const char *wanted_text,
                            twi_u192 wanted)
{
    if (memcmp(&got, &wanted, sizeof got) == 0)
        return NULL;
    return complain("%s is %016" PRIx64 "'%016" PRIx64 "'%016" PRIx64
                    ", wanted %s = %016" PRIx64 "'%016" PRIx64 "'%016" PRIx64,
                    got_text, got.w[2], got.w[1], got.w[0], wanted_text, wanted.w[2],
                    wanted.w[1], wanted.w[0]);
}

const char *vocabulary_text(const char *got_text, const char *got,
                            const char *wanted_text, const char *wanted)
{
    size_t same = 0;

    if (got && wanted && strcmp(got, wanted) == 0)
        return NULL;
    if (!got || !wanted)
        return complain("%s is %s, wanted %s = %s", got_text, got ? got : "NULL",
                        wanted_text, wanted ? wanted : "NULL");
    while (got[same] && got[same] == wanted[same])
        same++;
    return complain("%s differs from %s after %zu bytes: \"%.200s\", wanted \"%.200s\"",
                    got_text, wanted_text, same, got + same, wanted + same);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

const char *vocabulary_same(const char *got_text, double got, const char *wanted_text,
                            double wanted)
{
    if (bits_of(got) == bits_of(wanted))
        return NULL;
    return complain("%s is %.17g (%a), wanted %s = %.17g (%a)", got_text, got, got,
                    wanted_text, wanted, wanted);
}

const char *vocabulary_near(const char *got_text, double got, const char *wanted_text,
                            double wanted, double relative, double absolute)
{
    const double allowed = relative * fabs(wanted) + absolute;

    if (isinf(got) || isinf(wanted))
        return vocabulary_same(got_text, got, wanted_text, wanted);
    if (fabs(got - wanted) <= allowed)
        return NULL;
    return complain("%s is %.17g, wanted %s = %.17g; off by %g, allowed %g", got_text,
                    got, wanted_text, wanted, got - wanted, allowed);
}

/* ---- Random numbers ---------------------------------------------------------------- */

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t random_below(uint64_t *state, uint64_t below)
{
    return random_next(state) % below;
}

int64_t random_between(uint64_t *state, int64_t least, int64_t most)
{
    const uint64_t width = (uint64_t)most - (uint64_t)least + 1;
    const uint64_t by = width ? random_next(state) % width : random_next(state);
    return (int64_t)((uint64_t)least + by);
}

twi_u192 random_u192(uint64_t *state, unsigned bits)
{
    twi_u192 value = {{random_next(state), random_next(state), random_next(state)}};
    const unsigned length = (unsigned)random_below(state, (uint64_t)bits + 1);
    return length ? twi_shr(value, 192 - length) : (twi_u192){{0, 0, 0}};
}

void random_shuffle(uint64_t *state, tw_record *records, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        const size_t other = (size_t)random_below(state, i);
        const tw_record kept = records[i - 1];
        records[i - 1] = records[other];
        records[other] = kept;
    }
}

/* ---- Exact numbers ----------------------------------------------------------------- */

twi_u192 exact_whole(double value)
{
    twi_u192 whole = {{0, 0, 0}};

    for (int bit = 191; bit >= 0; bit--) {
        if (value >= ldexp(1, bit)) {
            whole.w[bit / 64] |= UINT64_C(1) << bit % 64;
            value -= ldexp(1, bit);
        }
    }
    assert_that(value == 0);
    return whole;
}

double exact_double(twi_u192 value)
{
    const twi_big whole = twi_big_from(value.w, 3), one = twi_big_from64(1);
    return twi_big_ratio(&whole, &one, 0);
}

double exact_share(uint64_t tokens, uint64_t ns, uint64_t gaps)
{
    /* tokens * 10^9 * 2^59 and the time, each as a double; then their quotient. */
    const twi_u192 above = exact_whole(
        exact_double(twi_shl(twi_product(tokens, 1000000000), 59)));
    const twi_u192 length = exact_whole(exact_double(twi_from64(ns)));
    const twi_u192 below = exact_whole(exact_double(twi_product(length.w[0], gaps)));
    const twi_big a = twi_big_from(above.w, 3), b = twi_big_from(below.w, 3);

    return floor(twi_big_ratio(&a, &b, 0));
}

double exact_rate(uint64_t tokens, uint64_t ns)
{
    return exact_share(tokens, ns, 1);
}

double exact_per_user(double rate, uint64_t users)
{
    const twi_u192 whole = exact_whole(rate);
    const twi_big a = twi_big_from(whole.w, 3), b = twi_big_from64(users);

    return users ? floor(twi_big_ratio(&a, &b, 0)) : 0;
}

/* ---- Records, recorders, analyses -------------------------------------------------- */

tw_record record(int64_t start_ns, int64_t generation_ns, int64_t end_ns, int64_t input,
                 int64_t output)
{
    tw_record r;

    tw_record_init(&r, sizeof r);
    r.start_ns = start_ns;
    r.generation_start_ns = generation_ns;
    r.end_ns = end_ns;
    r.input_tokens = input;
    r.output_tokens = output;
    return r;
}

tw_record with_credit(tw_record r, int64_t credit_ns)
{
    r.credit_issued_ns = credit_ns;
    return r;
}

tw_record with_status(tw_record r, int32_t status)
{
    r.status = status;
    return r;
}

tw_record with_flags(tw_record r, uint32_t flags)
{
    r.flags = flags;
    return r;
}

tw_record with_chunks(tw_record r, const int64_t *arrival_ns, const int64_t *tokens,
                      uint64_t count)
{
    r.chunk_arrival_ns = arrival_ns;
    r.chunk_tokens = tokens;
    r.chunk_count = count;
    return r;
}

static int64_t shifted(int64_t time_ns, int64_t by_ns)
{
    return time_ns == NEVER ? NEVER : time_ns + by_ns;
}

tw_record with_shift(tw_record r, int64_t by_ns, int64_t **arrivals)
{
    int64_t *moved = malloc((size_t)(r.chunk_count + 1) * sizeof *moved);

    assert_that(moved != NULL);
    for (uint64_t i = 0; i < r.chunk_count; i++)
        moved[i] = r.chunk_arrival_ns[i] + by_ns;
    r.credit_issued_ns = shifted(r.credit_issued_ns, by_ns);
    r.start_ns = shifted(r.start_ns, by_ns);
    r.generation_start_ns = shifted(r.generation_start_ns, by_ns);
    r.end_ns = shifted(r.end_ns, by_ns);
    r.chunk_arrival_ns = moved;
    *arrivals = moved;
    return r;
}

tw_recorder *recorder_new(void)
{
    tw_recorder *recorder = NULL;
    assert_ok(tw_recorder_new(&recorder, NULL));
    return recorder;
}

void recorder_append(tw_recorder *recorder, const tw_record *records, size_t count)
{
    size_t accepted = 0;
    assert_ok(
        tw_recorder_append(recorder, records, count, sizeof *records, 0, &accepted));
    assert_u64(accepted, count);
}

tw_recorder *recorder_of(const tw_record *records, size_t count)
{
    tw_recorder *recorder = recorder_new();
    recorder_append(recorder, records, count);
    return recorder;
}

tw_balance balance_of(const tw_recorder *recorder)
{
    tw_balance balance = {.struct_size = sizeof balance};
    assert_ok(tw_recorder_balance(recorder, &balance));
    return balance;
}

tw_error error_of(const tw_recorder *recorder)
{
    tw_error error = {.struct_size = sizeof error};
    assert_ok(tw_recorder_last_error(recorder, &error));
    return error;
}

tw_options options_new(void)
{
    tw_options options;
    tw_options_init(&options, sizeof options);
    return options;
}

tw_options options_window(int64_t begin_ns, int64_t end_ns)
{
    tw_options options = options_new();
    options.flags = TW_WINDOW_BEGIN | TW_WINDOW_END;
    options.window_begin_ns = begin_ns;
    options.window_end_ns = end_ns;
    return options;
}

tw_options options_of(const workload *w)
{
    tw_options options = options_new();

    if (w->has_begin) {
        options.flags |= TW_WINDOW_BEGIN;
        options.window_begin_ns = w->begin_ns;
    }
    if (w->has_end) {
        options.flags |= TW_WINDOW_END;
        options.window_end_ns = w->end_ns;
    }
    return options;
}

tw_analysis *analysis_new(tw_recorder *const *recorders, size_t count,
                          const tw_options *options)
{
    tw_analysis *analysis = NULL;
    assert_ok(tw_analyze(&analysis, recorders, count, options));
    return analysis;
}

tw_analysis *analysis_of(const tw_record *records, size_t count,
                         const tw_options *options)
{
    tw_recorder *recorder = recorder_of(records, count);
    tw_analysis *analysis = analysis_new(&recorder, 1, options);
    tw_recorder_free(recorder);
    return analysis;
}

tw_balance analysis_balance(const tw_analysis *analysis)
{
    tw_balance balance = {.struct_size = sizeof balance};
    assert_ok(tw_analysis_balance(analysis, &balance));
    return balance;
}

tw_summary summary_of(const tw_analysis *analysis, int32_t metric)
{
    tw_summary summary = {.struct_size = sizeof summary};
    assert_ok(tw_analysis_summary(analysis, metric, &summary));
    return summary;
}

int32_t summary_status(const tw_analysis *analysis, int32_t metric)
{
    tw_summary summary = {.struct_size = sizeof summary};
    return tw_analysis_summary(analysis, metric, &summary);
}

double quantile_of(const tw_analysis *analysis, int32_t metric, double q)
{
    double value = -1;
    assert_ok(tw_analysis_quantiles(analysis, metric, &q, &value, 1));
    return value;
}

run run_of(const tw_record *records, size_t count)
{
    run r = {recorder_of(records, count), NULL, (size_t)twi_recorder_span_count(count)};

    r.spans = malloc((r.span_count + 1) * sizeof *r.spans);
    assert_that(r.spans != NULL);
    twi_recorder_spans(r.recorder, count, r.spans);
    return r;
}

void run_free(run *r)
{
    for (size_t i = 0; i < r->span_count; i++)
        twi_block_release(r->spans[i].block);
    free(r->spans);
    tw_recorder_free(r->recorder);
}

const twi_parallel one_thread = {0, NULL, NULL};

twi_timeline timeline_of(const run *r, int64_t begin_ns, int64_t end_ns)
{
    const tw_allocator allocator = twi_mem_default();
    const twi_slice slice = {begin_ns, end_ns};
    twi_timeline timeline;

    assert_ok(twi_timeline_build(&timeline, &allocator, &twi_kernel_portable, &one_thread,
                                 r->spans, r->span_count, slice));
    return timeline;
}

void assert_same_sums(const twi_dist *got, const twi_dist *wanted)
{
    const uint64_t levels = got->level_count > wanted->level_count ? got->level_count
                                                                   : wanted->level_count;

    assert_u64(got->bin_bits, wanted->bin_bits);
    assert_u64(got->weight, wanted->weight);
    assert_u64(got->zero_weight, wanted->zero_weight);
    assert_same(got->tally.least, wanted->tally.least);
    assert_same(got->tally.most, wanted->tally.most);
    assert_that(memcmp(&got->tally.sum, &wanted->tally.sum, sizeof got->tally.sum) == 0);
    for (unsigned page = 1; page < TWI_BIN_PAGES; page++) {
        assert_that(!got->page[page] == !wanted->page[page]);
        if (got->page[page])
            assert_that(memcmp(got->page[page], wanted->page[page],
                               sizeof(uint64_t) << got->bin_bits) == 0);
    }
    for (uint64_t i = 0; i < levels; i++) /* room beyond the largest may differ */
        assert_u64(i < got->level_count ? got->level[i] : 0,
                   i < wanted->level_count ? wanted->level[i] : 0);
}

void assert_same_dist(const twi_dist *got, const twi_dist *wanted)
{
    assert_same_sums(got, wanted);
    assert_same(got->moments.factor, wanted->moments.factor);
    assert_that(memcmp(got->moments.sum, wanted->moments.sum, sizeof got->moments.sum) ==
                0);
    assert_that(memcmp(got->moments.square, wanted->moments.square,
                       sizeof got->moments.square) == 0);
}

/* The standard ones, and some that are not at hand. */
const double result_quantiles[RESULT_QUANTILES] = {
    0.01, 0.05, 0.1, 0.25,    0.5,   0.75,           0.9,  0.95,
    0.99, 0,    1,   1 / 3.0, 0.999, 0.123456789012, 1e-9, 0.500001};

static int32_t take(results *all, const tw_analysis *analysis, size_t quantiles)
{
    int32_t status;

    memset(all, 0, sizeof *all);
    all->balance.struct_size = sizeof all->balance;
    status = tw_analysis_bounds(analysis, &all->begin_ns, &all->end_ns);
    if (!status)
        status = tw_analysis_balance(analysis, &all->balance);
    all->count = tw_metric_count();
    if (all->count > RESULT_METRICS)
        return TW_ERR_INVAL;
    for (size_t m = 0; m < all->count && !status; m++) {
        tw_metric_row row = {.struct_size = sizeof row};

        status = tw_metric_info(m, &row);
        if (status)
            break;
        all->id[m] = row.id;
        all->summary[m].struct_size = sizeof all->summary[m];
        all->status[m] = tw_analysis_summary(analysis, row.id, &all->summary[m]);
        if (all->status[m] && all->status[m] != TW_ERR_NODATA)
            status = all->status[m];
        if (!all->status[m] && row.kind != TW_KIND_SCALAR)
            status = tw_analysis_quantiles(analysis, row.id, result_quantiles,
                                           all->quantile[m], quantiles);
    }
    return status;
}

int32_t results_take(results *all, const tw_analysis *analysis)
{
    return take(all, analysis, RESULT_QUANTILES);
}

int32_t results_take_at_hand(results *all, const tw_analysis *analysis)
{
    return take(all, analysis, RESULT_STANDARD);
}

static const char *summaries_differ(const char *tag, const tw_summary *got,
                                    const tw_summary *wanted)
{
    const struct {
        const char *name;
        double got, wanted;
    } members[] = {
        {"error_bound", got->error_bound, wanted->error_bound},
        {"avg", got->avg, wanted->avg},
        {"min", got->min, wanted->min},
        {"max", got->max, wanted->max},
        {"std", got->std, wanted->std},
        {"sum", got->sum, wanted->sum},
    };

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (bits_of(members[i].got) != bits_of(members[i].wanted))
            return complain("%s of %s is %.17g, wanted %.17g", members[i].name, tag,
                            members[i].got, members[i].wanted);
    if (memcmp(got, wanted, sizeof *got) != 0)
        return complain("fields, weights or count of %s differ: fields %" PRIx32
                        ", wanted %" PRIx32,
                        tag, got->fields, wanted->fields);
    return NULL;
}

const char *results_differ(const results *got, const results *wanted)
{
    for (size_t m = 0; m < got->count; m++) {
        tw_metric_row row = {.struct_size = sizeof row};
        const char *wrong;

        tw_metric_info(m, &row);
        if (got->status[m] != wanted->status[m])
            return complain("%s is %s, wanted %s", row.tag, status_text(got->status[m]),
                            status_text(wanted->status[m]));
        wrong = summaries_differ(row.tag, &got->summary[m], &wanted->summary[m]);
        if (wrong)
            return wrong;
        for (int q = 0; q < RESULT_QUANTILES; q++)
            if (bits_of(got->quantile[m][q]) != bits_of(wanted->quantile[m][q]))
                return complain("quantile %.12g of %s is %.17g, wanted %.17g",
                                result_quantiles[q], row.tag, got->quantile[m][q],
                                wanted->quantile[m][q]);
    }
    return NULL;
}

const char *balance_differs(const tw_balance *got, const tw_balance *wanted)
{
    const struct {
        const char *name;
        uint64_t got, wanted;
    } members[] = {
        {"issued", got->issued, wanted->issued},
        {"ok", got->ok, wanted->ok},
        {"failed", got->failed, wanted->failed},
        {"cancelled", got->cancelled, wanted->cancelled},
        {"in_flight", got->in_flight, wanted->in_flight},
        {"refused", got->refused, wanted->refused},
        {"credit_after_start", got->credit_after_start, wanted->credit_after_start},
        {"chunk_tokens_ignored", got->chunk_tokens_ignored, wanted->chunk_tokens_ignored},
        {"overlapping", got->overlapping, wanted->overlapping},
        {"members", got->members, wanted->members},
        {"cut_at_begin", got->cut_at_begin, wanted->cut_at_begin},
        {"cut_at_end", got->cut_at_end, wanted->cut_at_end},
    };

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (members[i].got != members[i].wanted)
            return complain("%s is %" PRIu64 ", wanted %" PRIu64, members[i].name,
                            members[i].got, members[i].wanted);
    for (int rule = 0; rule < TW_RULE_LIMIT; rule++)
        if (got->refused_by_rule[rule] != wanted->refused_by_rule[rule])
            return complain("refused_by_rule[%d] is %" PRIu64 ", wanted %" PRIu64, rule,
                            got->refused_by_rule[rule], wanted->refused_by_rule[rule]);
    return NULL;
}

/* ---- Memory ------------------------------------------------------------------------ */

/* In front of each block, at the strictest alignment. */
typedef struct header {
    uint64_t magic;
    size_t size;
    size_t align;
} header;

enum { HEAD = 64 };
static const uint64_t magic_live = UINT64_C(0x6c697665626c6f63);
static const uint64_t magic_dead = UINT64_C(0x64656164626c6f63);

static void *memory_alloc(void *user_data, size_t size, size_t align)
{
    memory *m = user_data;
    const uint64_t call = atomic_fetch_add(&m->calls, 1) + 1;
    const uint64_t fail_at = atomic_load(&m->fail_at);
    header *h;

    if (size == 0 || align == 0 || (align & (align - 1)) || align > HEAD)
        atomic_fetch_add(&m->wrong, 1);
    if ((fail_at && call >= fail_at) || call == atomic_load(&m->fail_once))
        return NULL;
    h = aligned_alloc(HEAD, HEAD + (size + HEAD - 1) / HEAD * HEAD);
    if (!h)
        return NULL;
    *h = (header){magic_live, size, align};
    memset((unsigned char *)h + HEAD, 0xa5, size);
    atomic_fetch_add(&m->live_blocks, 1);
    atomic_fetch_add(&m->live_bytes, size);
    return (unsigned char *)h + HEAD;
}

static void memory_free(void *user_data, void *block, size_t size, size_t align)
{
    memory *m = user_data;
    header *h;

    if (!block) {
        atomic_fetch_add(&m->wrong, 1);
        return;
    }
    h = (header *)(void *)((unsigned char *)block - HEAD);
    if (h->magic != magic_live || h->size != size || h->align != align) {
        atomic_fetch_add(&m->wrong, 1);
        return;
    }
    h->magic = magic_dead;
    memset(block, 0x5a, size);
    atomic_fetch_sub(&m->live_blocks, 1);
    atomic_fetch_sub(&m->live_bytes, size);
    free(h);
}

void memory_init(memory *m)
{
    m->allocator = (tw_allocator){sizeof m->allocator, 0, m, memory_alloc, memory_free};
    atomic_init(&m->calls, 0);
    atomic_init(&m->live_blocks, 0);
    atomic_init(&m->live_bytes, 0);
    atomic_init(&m->wrong, 0);
    atomic_init(&m->fail_at, 0);
    atomic_init(&m->fail_once, 0);
}

void memory_fail_nth(memory *m, uint64_t n)
{
    memory_fail_never(m);
    atomic_store(&m->fail_once, atomic_load(&m->calls) + n);
}

void memory_fail_from(memory *m, uint64_t n)
{
    memory_fail_never(m);
    atomic_store(&m->fail_at, atomic_load(&m->calls) + n);
}

void memory_fail_never(memory *m)
{
    atomic_store(&m->fail_at, 0);
    atomic_store(&m->fail_once, 0);
}

void memory_done(const memory *m)
{
    assert_u64(atomic_load(&m->wrong), 0);
    assert_u64(atomic_load(&m->live_blocks), 0);
    assert_u64(atomic_load(&m->live_bytes), 0);
}

tw_recorder *recorder_in(memory *m)
{
    const tw_recorder_options options = {sizeof options, 0, &m->allocator};
    tw_recorder *recorder = NULL;

    memory_init(m);
    assert_ok(tw_recorder_new(&recorder, &options));
    return recorder;
}

/* ---- Reports ----------------------------------------------------------------------- */

int32_t sink_write(void *user_data, const char *bytes, size_t length)
{
    sink *s = user_data;

    if (++s->calls == s->fail_at)
        return 1;
    if (s->length + length + 1 > s->room) {
        const size_t room = 2 * (s->length + length + 1);
        char *grown = realloc(s->text, room);
        if (!grown)
            return 1;
        s->text = grown;
        s->room = room;
    }
    memcpy(s->text + s->length, bytes, length);
    s->length += length;
    s->text[s->length] = 0;
    return 0;
}

void sink_free(sink *s)
{
    free(s->text);
    memset(s, 0, sizeof *s);
}

sink report_of(const tw_analysis *analysis, int32_t format,
               const tw_report_options *options)
{
    sink s = {0};
    assert_ok(tw_report_write(analysis, format, options, sink_write, &s));
    assert_that(s.text != NULL);
    return s;
}
