/* SPDX-License-Identifier: MIT */
/* The store: rules, blocks, recorders. */

#include <stdlib.h>
#include <string.h>

#include "store/recorder.h"
#include "vocabulary.h"

#define TIME_LIMIT (INT64_C(1) << 61)
#define TOKENS_LIMIT (INT64_C(1) << 40)

/* ---- Rules ------------------------------------------------------------------------- */

static const int64_t at_15[] = {15}, at_9[] = {9}, at_10[] = {10}, at_20[] = {20},
                     at_21[] = {21}, down[] = {12, 15, 14}, same[] = {12, 12, 12},
                     at_limit[] = {TIME_LIMIT}, past_limit[] = {TIME_LIMIT + 1},
                     far_past[] = {INT64_MAX};
static const int64_t below_0[] = {0, -1, 0}, at_most[] = {0, TOKENS_LIMIT - 1, 0},
                     too_many[] = {0, TOKENS_LIMIT, 0};
static const int64_t rising[] = {10, 15, 20};

/* start 0, first token 10, end 20. */
static tw_record plain(void)
{
    return record(0, 10, 20, 5, 6);
}

static tw_record chunked(const int64_t *arrivals, uint64_t count)
{
    return with_chunks(plain(), arrivals, NULL, count);
}

static tw_record counted(const int64_t *tokens)
{
    return with_chunks(plain(), rising, tokens, 3);
}

typedef struct offence {
    const char *what;
    tw_record record;
    int32_t rule;
    int32_t field;
    int64_t value_a;
    int64_t value_b;
    uint64_t index; /* of the chunk */
} offence;

enum { OFFENCES_ROOM = 64 };

/* Each breaks one rule by as little as possible. */
static size_t make_offences(offence *list)
{
    size_t n = 0;
#define OFFENCE(text, r, rule, field, a, b) \
    list[n++] = (offence){text, r, rule, field, a, b, 0}

    OFFENCE("no start", record(NEVER, NEVER, 20, 1, 1), TW_RULE_START_MISSING,
            TW_FIELD_START_NS, NEVER, 0);
    OFFENCE("credit too early", with_credit(plain(), -TIME_LIMIT - 1), TW_RULE_TIME_RANGE,
            TW_FIELD_CREDIT_ISSUED_NS, -TIME_LIMIT - 1, -TIME_LIMIT);
    OFFENCE("credit too late", with_credit(plain(), TIME_LIMIT + 1), TW_RULE_TIME_RANGE,
            TW_FIELD_CREDIT_ISSUED_NS, TIME_LIMIT + 1, TIME_LIMIT);
    OFFENCE("credit next to none", with_credit(plain(), INT64_MIN + 1),
            TW_RULE_TIME_RANGE, TW_FIELD_CREDIT_ISSUED_NS, INT64_MIN + 1, -TIME_LIMIT);
    OFFENCE("start too early", record(-TIME_LIMIT - 1, 10, 20, 1, 1), TW_RULE_TIME_RANGE,
            TW_FIELD_START_NS, -TIME_LIMIT - 1, -TIME_LIMIT);
    OFFENCE("start too late", record(TIME_LIMIT + 1, NEVER, NEVER, 1, 1),
            TW_RULE_TIME_RANGE, TW_FIELD_START_NS, TIME_LIMIT + 1, TIME_LIMIT);
    OFFENCE("first token too late", record(0, TIME_LIMIT + 1, NEVER, 1, 1),
            TW_RULE_TIME_RANGE, TW_FIELD_GENERATION_START_NS, TIME_LIMIT + 1, TIME_LIMIT);
    OFFENCE("end too late", record(0, NEVER, TIME_LIMIT + 1, 1, 1), TW_RULE_TIME_RANGE,
            TW_FIELD_END_NS, TIME_LIMIT + 1, TIME_LIMIT);
    OFFENCE("end far too late", record(0, NEVER, INT64_MAX, 1, 1), TW_RULE_TIME_RANGE,
            TW_FIELD_END_NS, INT64_MAX, TIME_LIMIT);
    OFFENCE("chunk too late",
            with_chunks(record(0, 10, NEVER, 1, 1), past_limit, NULL, 1),
            TW_RULE_TIME_RANGE, TW_FIELD_CHUNK_ARRIVAL_NS, TIME_LIMIT + 1, TIME_LIMIT);
    OFFENCE("chunk far too late",
            with_chunks(record(0, 10, NEVER, 1, 1), far_past, NULL, 1),
            TW_RULE_TIME_RANGE, TW_FIELD_CHUNK_ARRIVAL_NS, INT64_MAX, TIME_LIMIT);
    OFFENCE("first token before start", record(11, 10, 20, 1, 1),
            TW_RULE_GENERATION_BEFORE_START, TW_FIELD_GENERATION_START_NS, 10, 11);
    OFFENCE("end before start", record(21, NEVER, 20, 1, 1), TW_RULE_END_BEFORE_START,
            TW_FIELD_END_NS, 20, 21);
    OFFENCE("end before first token", record(0, 21, 20, 1, 1),
            TW_RULE_END_BEFORE_GENERATION, TW_FIELD_END_NS, 20, 21);
    OFFENCE("failed without end",
            with_status(record(0, 10, NEVER, 1, 1), TW_RECORD_FAILED),
            TW_RULE_END_MISSING, TW_FIELD_END_NS, NEVER, 0);
    OFFENCE("cancelled without end",
            with_status(record(0, NEVER, NEVER, 1, 1), TW_RECORD_CANCELLED),
            TW_RULE_END_MISSING, TW_FIELD_END_NS, NEVER, 0);
    OFFENCE("status 3", with_status(plain(), 3), TW_RULE_STATUS_UNKNOWN, TW_FIELD_STATUS,
            3, 2);
    OFFENCE("status -1", with_status(plain(), -1), TW_RULE_STATUS_UNKNOWN,
            TW_FIELD_STATUS, -1, 2);
    OFFENCE("input -2", record(0, 10, 20, -2, 1), TW_RULE_TOKENS_RANGE,
            TW_FIELD_INPUT_TOKENS, -2, TOKENS_LIMIT);
    OFFENCE("input 2^40", record(0, 10, 20, TOKENS_LIMIT, 1), TW_RULE_TOKENS_RANGE,
            TW_FIELD_INPUT_TOKENS, TOKENS_LIMIT, TOKENS_LIMIT);
    OFFENCE("output -2", record(0, 10, 20, 1, -2), TW_RULE_TOKENS_RANGE,
            TW_FIELD_OUTPUT_TOKENS, -2, TOKENS_LIMIT);
    OFFENCE("output 2^40", record(0, 10, 20, 1, TOKENS_LIMIT), TW_RULE_TOKENS_RANGE,
            TW_FIELD_OUTPUT_TOKENS, TOKENS_LIMIT, TOKENS_LIMIT);
    OFFENCE("output least", record(0, 10, 20, 1, INT64_MIN), TW_RULE_TOKENS_RANGE,
            TW_FIELD_OUTPUT_TOKENS, INT64_MIN, TOKENS_LIMIT);
    OFFENCE("chunks without arrivals", chunked(NULL, 1), TW_RULE_CHUNK_ARRIVAL_MISSING,
            TW_FIELD_CHUNK_ARRIVAL_NS, 0, 0);
    OFFENCE("2^40 chunks", chunked(at_15, (uint64_t)TOKENS_LIMIT),
            TW_RULE_CHUNK_COUNT_RANGE, TW_FIELD_CHUNK_COUNT, TOKENS_LIMIT, TOKENS_LIMIT);
    OFFENCE("2^64 - 1 chunks", chunked(at_15, UINT64_MAX), TW_RULE_CHUNK_COUNT_RANGE,
            TW_FIELD_CHUNK_COUNT, INT64_MAX, TOKENS_LIMIT);
    /* The other side: so many are not too many, and the first of them is wrong. */
    OFFENCE("2^40 - 1 chunks", chunked(at_9, (uint64_t)TOKENS_LIMIT - 1),
            TW_RULE_CHUNK_BEFORE_GENERATION, TW_FIELD_CHUNK_ARRIVAL_NS, 9, 10);
    OFFENCE("chunk before first token", chunked(at_9, 1), TW_RULE_CHUNK_BEFORE_GENERATION,
            TW_FIELD_CHUNK_ARRIVAL_NS, 9, 10);
    OFFENCE("chunk without first token",
            with_chunks(record(0, NEVER, 20, 1, 1), at_15, NULL, 1),
            TW_RULE_CHUNK_BEFORE_GENERATION, TW_FIELD_CHUNK_ARRIVAL_NS, 15, NEVER);
    OFFENCE("chunks out of order", chunked(down, 3), TW_RULE_CHUNK_ORDER,
            TW_FIELD_CHUNK_ARRIVAL_NS, 14, 15);
    list[n - 1].index = 2;
    OFFENCE("chunk after end", chunked(at_21, 1), TW_RULE_CHUNK_AFTER_END,
            TW_FIELD_CHUNK_ARRIVAL_NS, 21, 20);
    OFFENCE("chunk of -1 tokens", counted(below_0), TW_RULE_CHUNK_TOKENS_RANGE,
            TW_FIELD_CHUNK_TOKENS, -1, TOKENS_LIMIT);
    list[n - 1].index = 1;
    OFFENCE("chunk of 2^40 tokens", counted(too_many), TW_RULE_CHUNK_TOKENS_RANGE,
            TW_FIELD_CHUNK_TOKENS, TOKENS_LIMIT, TOKENS_LIMIT);
    list[n - 1].index = 1;
#undef OFFENCE
    return n;
}

/* [VALID] */
START_TEST(rules_refuse)
{
    offence list[OFFENCES_ROOM];
    const size_t count = make_offences(list);
    uint64_t seen = 0;

    for (size_t i = 0; i < count; i++) {
        const twi_fault fault = twi_rules_check(&list[i].record);

        vocabulary_context("%s", list[i].what);
        assert_i64(fault.rule, list[i].rule);
        assert_i64(fault.field, list[i].field);
        assert_i64(fault.value_a, list[i].value_a);
        assert_i64(fault.value_b, list[i].value_b);
        assert_u64(fault.index, list[i].index);
        seen |= UINT64_C(1) << fault.rule;
    }
    /* The others are about values that a record cannot hold. */
    for (int32_t rule = 1; rule <= TW_RULE_CHUNK_TOKENS_RANGE; rule++) {
        vocabulary_context("rule %d", (int)rule);
        assert_that(seen >> rule & 1); /* none is left out here */
    }
}
END_TEST

/* Just inside of every boundary. */
START_TEST(rules_accept)
{
    const tw_record good[] = {
        record(0, NEVER, NEVER, UNKNOWN, UNKNOWN),
        record(0, 0, 0, 0, 0),
        record(-TIME_LIMIT, -TIME_LIMIT, -TIME_LIMIT, 1, 1),
        record(TIME_LIMIT, TIME_LIMIT, TIME_LIMIT, 1, 1),
        record(-TIME_LIMIT, NEVER, TIME_LIMIT, 1, 1),
        with_credit(plain(), -TIME_LIMIT),
        with_credit(plain(), TIME_LIMIT), /* after start: counted, not refused */
        record(10, 10, 20, 1, 1),
        record(20, NEVER, 20, 1, 1),
        record(0, 20, 20, 1, 1),
        with_status(record(0, NEVER, 0, 1, 1), TW_RECORD_FAILED),
        with_status(record(0, 10, 20, 1, 1), TW_RECORD_CANCELLED),
        record(0, 10, 20, TOKENS_LIMIT - 1, TOKENS_LIMIT - 1),
        with_flags(record(0, NEVER, 20, 1, 1), TW_RECORD_STREAMING),
        chunked(at_10, 1),
        chunked(at_20, 1),
        chunked(same, 3),
        with_chunks(record(0, 10, NEVER, 1, 1), at_limit, NULL, 1),
        with_chunks(record(0, NEVER, 20, 1, 1), at_9, at_9, 0), /* pointers ignored */
        with_chunks(plain(), NULL, below_0, 0),
        counted(at_most),
    };

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        vocabulary_context("record %zu", i);
        assert_i64(twi_rules_check(&good[i]).rule, TW_RULE_NONE);
    }
}
END_TEST

/* Arrivals from all ends of their type: which rule they break, if any. */
START_TEST(rules_of_arrivals)
{
    static const int64_t times[] = {INT64_MIN,
                                    -TIME_LIMIT - 1,
                                    -TIME_LIMIT,
                                    -1,
                                    0,
                                    (INT64_C(1) << 40) - 1,
                                    INT64_C(1) << 40,
                                    TIME_LIMIT - 1,
                                    TIME_LIMIT,
                                    TIME_LIMIT + 1,
                                    3 * TIME_LIMIT - 1,
                                    /* steps that lead round */ INT64_MIN + TIME_LIMIT -
                                        2,
                                    INT64_MIN + TIME_LIMIT,
                                    INT64_MAX};
    enum { TIMES = sizeof times / sizeof times[0] };

    for (int i = 0; i < TIMES * TIMES * TIMES * TIMES * TIMES; i++) {
        const int64_t generation = times[i % TIMES], end = times[i / TIMES % TIMES];
        const int64_t arrivals[] = {times[i / TIMES / TIMES % TIMES],
                                    times[i / TIMES / TIMES / TIMES % TIMES],
                                    times[i / TIMES / TIMES / TIMES / TIMES]};
        const tw_record r = with_chunks(record(-TIME_LIMIT, generation, end, 1, 1),
                                        arrivals, NULL, 3);
        tw_record without = r;
        int32_t wanted;

        without.chunk_count = 0;
        if (generation == NEVER || twi_rules_check(&without).rule)
            continue;
        wanted = arrivals[0] < generation ? TW_RULE_CHUNK_BEFORE_GENERATION
                 : arrivals[1] < arrivals[0] || arrivals[2] < arrivals[1]
                     ? TW_RULE_CHUNK_ORDER
                 : end != NEVER && arrivals[2] > end ? TW_RULE_CHUNK_AFTER_END
                 : arrivals[2] > TIME_LIMIT          ? TW_RULE_TIME_RANGE
                                                     : TW_RULE_NONE;
        if (twi_rules_check(&r).rule != wanted) {
            vocabulary_context("times %d", i);
            assert_i64(twi_rules_check(&r).rule, wanted);
        }
    }
}
END_TEST

/* So many small steps that they lead round. */
START_TEST(rules_of_very_many_arrivals)
{
    /* (2^63 - 2^61) / 2^40 steps of 2^40 - 1 stay just below 2^63. */
    enum { COUNT = 6500000, FIRST_BACK = 6291456 };
    const uint64_t step = (UINT64_C(1) << 40) - 1;
    int64_t *arrivals = malloc(COUNT * sizeof *arrivals);
    tw_record r = with_chunks(record(0, TIME_LIMIT, NEVER, 1, 1), arrivals, NULL, COUNT);
    twi_fault fault;

    assert_that(arrivals != NULL);
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t at = (uint64_t)TIME_LIMIT + (i + 1) * step;
        memcpy(&arrivals[i], &at, sizeof at);
    }
    fault = twi_rules_check(&r);
    assert_i64(fault.rule, TW_RULE_CHUNK_ORDER);
    assert_u64(fault.index, FIRST_BACK);
    free(arrivals);
}
END_TEST

/* About the number of chunks from which on they are looked at one by one. */
START_TEST(rules_of_many_arrivals)
{
    enum { COUNT = (1 << 21) + 1 };
    int64_t *arrivals = calloc(COUNT, sizeof *arrivals);
    tw_record r = with_chunks(record(0, 0, NEVER, 1, 1), arrivals, NULL, COUNT);

    assert_that(arrivals != NULL);
    for (int last = COUNT - 3; last < COUNT; last++) {
        r.chunk_count = (uint64_t)last + 1;
        arrivals[last] = 1;
        assert_i64(twi_rules_check(&r).rule, TW_RULE_NONE);
        arrivals[last] = -1;
        assert_i64(twi_rules_check(&r).rule, TW_RULE_CHUNK_ORDER);
        arrivals[last] = 0;
    }
    free(arrivals);
}
END_TEST

/* An ordinary record is good; and one is that is good, ended well, was due in time, has no
 * chunks and stays off the upper ends of the ranges. */
START_TEST(rules_ordinary)
{
    static const int64_t times[] = {
        INT64_MIN, INT64_MIN + 1,  -TIME_LIMIT - 1, -TIME_LIMIT,    -1,       0,
        1,         TIME_LIMIT - 1, TIME_LIMIT,      TIME_LIMIT + 1, INT64_MAX};
    static const int64_t tokens[] = {
        INT64_MIN,        -2,           -1,       0, 7, TOKENS_LIMIT - 2,
        TOKENS_LIMIT - 1, TOKENS_LIMIT, INT64_MAX};
    enum {
        TIMES = sizeof times / sizeof times[0],
        TOKENS = sizeof tokens / sizeof *tokens
    };
    uint64_t ordinary = 0, others = 0;

    for (int i = 0; i < TIMES * TIMES * TIMES * TIMES; i++) {
        const int64_t t[] = {times[i % TIMES], times[i / TIMES % TIMES],
                             times[i / TIMES / TIMES % TIMES],
                             times[i / TIMES / TIMES / TIMES]};
        bool at_end = false;

        for (int k = 0; k < 4; k++)
            at_end = at_end || t[k] == TIME_LIMIT;
        for (int32_t status = -1; status <= 3; status++) {
            tw_record r = with_status(record(t[1], t[2], t[3], 5, 6), status);
            bool wanted;

            r.credit_issued_ns = t[0];
            wanted = !twi_rules_check(&r).rule && !at_end && status == TW_RECORD_OK &&
                     r.end_ns != NEVER && r.credit_issued_ns <= r.start_ns;
            if (twi_rules_is_ordinary(&r) != wanted) {
                vocabulary_context("times %d, status %d", i, (int)status);
                assert_that(false);
            }
            *(wanted ? &ordinary : &others) += 1;
        }
    }
    /* Of five times in range, i of them before the start: i + 2 credits (one is not recorded),
     * 2 to 6 - i first tokens for each end. */
    assert_u64(ordinary, 2 * 20 + 3 * 14 + 4 * 9 + 5 * 5 + 6 * 2);
    assert_u64(others, 5 * TIMES * TIMES * TIMES * TIMES - ordinary);
    for (int i = 0; i < TOKENS * TOKENS; i++) {
        const int64_t in = tokens[i % TOKENS], out = tokens[i / TOKENS];
        const tw_record r = record(0, 10, 20, in, out);
        const bool at_end = in == TOKENS_LIMIT - 1 || out == TOKENS_LIMIT - 1;

        vocabulary_context("tokens %d", i);
        assert_that(twi_rules_is_ordinary(&r) == (!twi_rules_check(&r).rule && !at_end));
    }
    vocabulary_context("%s", "flags and chunks");
    for (uint32_t bit = 0; bit < 32; bit++) {
        const tw_record r = with_flags(plain(), UINT32_C(1) << bit);
        assert_that(twi_rules_is_ordinary(&r) == (bit == 0));
    }
    for (int bit = 0; bit < 64; bit++) {
        const tw_record r = chunked(NULL, UINT64_C(1) << bit);
        assert_that(!twi_rules_is_ordinary(&r));
    }
}
END_TEST

/* The order of the rules: a record that breaks several is refused for one of them. */
START_TEST(rules_refuse_once)
{
    tw_record r = record(30, 20, 10, -5, -5);
    tw_recorder *recorder = recorder_new();
    tw_balance balance;

    r.status = 9;
    assert_status(tw_recorder_append(recorder, &r, 1, sizeof r, 0, NULL), TW_ERR_RANGE);
    balance = balance_of(recorder);
    assert_u64(balance.refused, 1);
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Reading back ------------------------------------------------------------------ */

/* `row` yields the chunks of the record, and nothing behind them. */
static void check_chunks(const twi_row *row, const tw_record *r)
{
    int64_t sum = 0, before_ns = r->generation_start_ns, tokens = 77;
    twi_chunk_reader chunks;
    uint64_t gap_ns = 77;
    bool counted = r->chunk_tokens != NULL;

    for (uint64_t i = 0; counted && i < r->chunk_count; i++)
        sum += r->chunk_tokens[i];
    if (sum > r->output_tokens) /* unknown is below any sum */
        counted = false;
    assert_u64(row->chunks.count, r->chunk_count);
    assert_that(twi_row_has_chunk_tokens(row) == (r->chunk_count && counted));
    twi_chunks_begin(&chunks, row);
    for (uint64_t i = 0; i < r->chunk_count; i++) {
        assert_that(twi_chunks_next(&chunks, &gap_ns, &tokens));
        assert_i64((int64_t)gap_ns, r->chunk_arrival_ns[i] - before_ns);
        assert_i64(tokens, counted ? r->chunk_tokens[i] : UNKNOWN);
        before_ns = r->chunk_arrival_ns[i];
    }
    if (r->chunk_count)
        assert_i64((int64_t)row->chunks.span_ns, before_ns - r->generation_start_ns);
    gap_ns = 77;
    tokens = 77;
    assert_that(!twi_chunks_next(&chunks, &gap_ns, &tokens));
    assert_u64(gap_ns, 77);
    assert_i64(tokens, 77);
}

static void check_row(const twi_row *row, const tw_record *r, int64_t offset_ns)
{
    const int64_t credit = r->credit_issued_ns;

    if (credit == NEVER)
        assert_i64(row->credit_ns, NEVER);
    else
        assert_i64(row->credit_ns,
                   (credit < r->start_ns ? credit : r->start_ns) + offset_ns);
    assert_i64(row->start_ns, r->start_ns + offset_ns);
    assert_i64(row->generation_ns, r->generation_start_ns == NEVER
                                       ? NEVER
                                       : r->generation_start_ns + offset_ns);
    assert_i64(row->end_ns, r->end_ns == NEVER ? NEVER : r->end_ns + offset_ns);
    assert_i64(row->input_tokens, r->input_tokens);
    assert_i64(row->output_tokens, r->output_tokens);
    assert_i64(row->status, r->status);
    assert_i64((row->flags & TWI_ROW_STREAMING) != 0,
               (r->flags & TW_RECORD_STREAMING) != 0);
    check_chunks(row, r);
}

/* The recorder holds exactly these records. */
static void check_records(const tw_recorder *recorder, const tw_record *records,
                          size_t count)
{
    const uint64_t published = twi_recorder_published(recorder);
    const uint64_t span_count = twi_recorder_span_count(published);
    twi_span *spans = malloc((size_t)(span_count + 1) * sizeof *spans);
    size_t next = 0;

    assert_u64(published, count);
    assert_u64(tw_recorder_count(recorder), count);
    assert_that(spans != NULL);
    twi_recorder_spans(recorder, published, spans);
    for (uint64_t s = 0; s < span_count; s++) {
        for (uint32_t i = 0; i < spans[s].rows; i++) {
            twi_row row;
            assert_that(next < count);
            twi_block_read(spans[s].block, i, spans[s].offset_ns, &row);
            check_row(&row, &records[next++], spans[s].offset_ns);
        }
        twi_block_release(spans[s].block);
    }
    assert_u64(next, count);
    free(spans);
}

/* A record whose chunks live in the pool until the test ends. */
static tw_record random_record(uint64_t *random, int64_t *pool, size_t most_chunks)
{
    const int64_t start = random_between(random, -1000, 1000);
    const int64_t generation = start + random_between(random, 0, 100);
    tw_record r = record(start, generation, generation + random_between(random, 0, 100),
                         random_between(random, -1, 100),
                         random_between(random, -1, 100));

    if (random_below(random, 2))
        r.credit_issued_ns = random_between(random, -1100, 1100);
    r.status = (int32_t)random_below(random, 3);
    r.flags = (uint32_t)random_below(random, 2);
    if (r.status == TW_RECORD_OK && random_below(random, 4) == 0)
        r.end_ns = NEVER;
    if (most_chunks && random_below(random, 2)) {
        r.chunk_count = 1 + random_below(random, most_chunks);
        for (uint64_t i = 0; i < r.chunk_count; i++) {
            pool[i] = (i ? pool[i - 1] : generation) + random_between(random, 0, 1);
            pool[r.chunk_count + i] = random_between(random, 0, 3);
        }
        if (r.end_ns != NEVER && r.end_ns < pool[r.chunk_count - 1])
            r.end_ns = pool[r.chunk_count - 1];
        r.chunk_arrival_ns = pool;
        if (random_below(random, 2))
            r.chunk_tokens = pool + r.chunk_count;
    } else if (random_below(random, 4) == 0) {
        r.generation_start_ns = NEVER;
    }
    return r;
}

static tw_record bad_record(void)
{
    return record(0, NEVER, -1, 1, 1);
}

/* ---- Blocks ------------------------------------------------------------------------ */

START_TEST(block_references)
{
    memory m;
    twi_block *block;

    memory_init(&m);
    block = twi_block_new(&m.allocator);
    assert_that(block && !block->next);
    assert_that(twi_block_is_exclusive(block));
    twi_block_hold(block);
    assert_that(!twi_block_is_exclusive(block));
    twi_block_release(block);
    assert_that(twi_block_is_exclusive(block));
    assert_u64(twi_block_memory(block), atomic_load(&m.live_bytes));
    twi_block_release(block);
    memory_done(&m);
}
END_TEST

START_TEST(block_marks)
{
    memory m;
    twi_block *block;
    twi_block_mark empty, mark;
    int64_t arrivals[2000];
    uint64_t bytes, calls;
    tw_record r = with_chunks(record(0, 0, 3000, 1, 1), arrivals, NULL, 300);
    twi_row row;

    for (int i = 0; i < 2000; i++)
        arrivals[i] = i;
    memory_init(&m);
    block = twi_block_new(&m.allocator);
    empty = twi_block_get_mark(block);
    assert_that(twi_block_write(block, 0, &r));
    mark = twi_block_get_mark(block);
    for (uint32_t i = 1; i < 10; i++) {
        r.chunk_count = 200 * i;
        assert_that(twi_block_write(block, i, &r));
    }
    bytes = twi_block_memory(block);
    assert_u64(bytes, atomic_load(&m.live_bytes));
    calls = atomic_load(&m.calls);

    /* The same again, from either mark, takes no more memory and keeps what was before. */
    for (int round = 0; round < 3; round++) {
        twi_block_return_to(block, mark);
        for (uint32_t i = 1; i < 10; i++) {
            r.chunk_count = 200 * i;
            assert_that(twi_block_write(block, i, &r));
        }
        twi_block_read(block, 0, 0, &row);
        r.chunk_count = 300;
        check_chunks(&row, &r);
    }
    twi_block_return_to(block, empty);
    r.chunk_count = 300;
    assert_that(twi_block_write(block, 0, &r));
    twi_block_reset(block);
    assert_that(twi_block_write(block, 0, &r));
    assert_u64(atomic_load(&m.calls), calls);
    assert_u64(twi_block_memory(block), bytes);
    twi_block_release(block);
    memory_done(&m);
}
END_TEST

START_TEST(block_offset)
{
    memory m;
    twi_block *block;
    const tw_record r = with_chunks(with_credit(plain(), 7), rising, NULL, 3);
    twi_row row;

    memory_init(&m);
    block = twi_block_new(&m.allocator);
    assert_that(twi_block_write(block, 1023, &r));
    twi_block_read(block, 1023, -1000, &row);
    check_row(&row, &r, -1000);
    assert_i64(row.credit_ns, -1000); /* clamped to start */
    assert_that(row.flags & TWI_ROW_CREDIT_AFTER_START);
    assert_i64(twi_row_first_ns(&row), -1000);
    assert_i64(twi_row_last_ns(&row), -980);
    twi_block_release(block);
    memory_done(&m);
}
END_TEST

START_TEST(rows_first_and_last)
{
    const struct {
        tw_record record;
        int64_t first, last;
    } cases[] = {
        {record(5, 10, 20, 1, 1), 5, 20},
        {with_credit(record(5, 10, 20, 1, 1), 3), 3, 20},
        {with_credit(record(5, 10, 20, 1, 1), 6), 5, 20},
        {record(5, NEVER, NEVER, 1, 1), 5, 5},
        {record(5, 10, NEVER, 1, 1), 5, 10},
        {with_chunks(record(5, 10, NEVER, 1, 1), rising, NULL, 2), 5, 15},
        {with_chunks(record(5, 10, 30, 1, 1), rising, NULL, 3), 5, 30},
    };
    memory m;
    twi_block *block;

    memory_init(&m);
    block = twi_block_new(&m.allocator);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        twi_row row;
        vocabulary_context("case %zu", i);
        assert_that(twi_block_write(block, 0, &cases[i].record));
        twi_block_read(block, 0, 100, &row);
        assert_i64(twi_row_first_ns(&row), cases[i].first + 100);
        assert_i64(twi_row_last_ns(&row), cases[i].last + 100);
    }
    twi_block_release(block);
    memory_done(&m);
}
END_TEST

/* ---- Making recorders -------------------------------------------------------------- */

/* [REC] */
START_TEST(record_init)
{
    unsigned char bytes[sizeof(tw_record) + 16];
    tw_record r;

    tw_record_init(NULL, 8);
    memset(bytes, 0x55, sizeof bytes);
    tw_record_init((tw_record *)(void *)bytes, sizeof(tw_record) + 8);
    memcpy(&r, bytes, sizeof r);
    assert_i64(r.credit_issued_ns, NEVER);
    assert_i64(r.start_ns, NEVER);
    assert_i64(r.generation_start_ns, NEVER);
    assert_i64(r.end_ns, NEVER);
    assert_i64(r.input_tokens, UNKNOWN);
    assert_i64(r.output_tokens, UNKNOWN);
    assert_that(!r.chunk_arrival_ns && !r.chunk_tokens);
    assert_u64(r.chunk_count, 0);
    assert_i64(r.status, TW_RECORD_OK);
    assert_u64(r.flags, 0);
    for (size_t i = sizeof r; i < sizeof bytes; i++)
        assert_u64(bytes[i], i < sizeof r + 8 ? 0 : 0x55);
    memset(bytes, 0x55, sizeof bytes);
    tw_record_init((tw_record *)(void *)bytes, 16);
    assert_u64(bytes[16], 0x55);
}
END_TEST

START_TEST(recorder_options)
{
    memory m;
    tw_recorder_options options = {sizeof options, 0, NULL};
    tw_recorder *const untouched = (tw_recorder *)(void *)&m;
    tw_recorder *recorder = untouched;
    tw_allocator wrong;

    memory_init(&m);
    assert_status(tw_recorder_new(NULL, NULL), TW_ERR_INVAL);
    options.flags = 1;
    assert_status(tw_recorder_new(&recorder, &options), TW_ERR_NOTSUP);
    options.flags = 0;
    options.struct_size = sizeof options - 1;
    assert_status(tw_recorder_new(&recorder, &options), TW_ERR_ABI);
    options.struct_size = sizeof options;
    options.allocator = &wrong;
    wrong = m.allocator;
    wrong.struct_size = 3;
    assert_status(tw_recorder_new(&recorder, &options), TW_ERR_ABI);
    wrong = m.allocator;
    wrong.flags = 1;
    assert_status(tw_recorder_new(&recorder, &options), TW_ERR_NOTSUP);
    wrong = m.allocator;
    wrong.alloc = NULL;
    assert_status(tw_recorder_new(&recorder, &options), TW_ERR_INVAL);
    wrong = m.allocator;
    wrong.free = NULL;
    assert_status(tw_recorder_new(&recorder, &options), TW_ERR_INVAL);
    wrong = m.allocator;
    memory_fail_nth(&m, 1);
    assert_status(tw_recorder_new(&recorder, &options), TW_ERR_NOMEM);
    assert_that(recorder == untouched);
    assert_ok(tw_recorder_new(&recorder, &options));
    memset(&wrong, 0, sizeof wrong); /* it was copied */
    recorder_append(recorder, &(tw_record){.generation_start_ns = 0}, 1);
    assert_that(atomic_load(&m.live_blocks) >= 2);
    tw_recorder_free(recorder);
    tw_recorder_free(NULL);
    memory_done(&m);
}
END_TEST

START_TEST(recorder_new_is_empty)
{
    tw_recorder *recorder = recorder_new();
    const tw_balance none = {.struct_size = sizeof none}, balance = balance_of(recorder);
    const tw_error error = error_of(recorder);

    assert_same_balance(&balance, &none);
    assert_u64(tw_recorder_count(recorder), 0);
    assert_i64(error.status, TW_OK);
    assert_i64(error.rule, TW_RULE_NONE);
    assert_u64(tw_recorder_count(NULL), 0);
    assert_u64(tw_recorder_memory(NULL), 0);
    tw_recorder_clear(NULL);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(recorder_structs)
{
    tw_recorder *recorder = recorder_new();
    tw_balance balance = {.struct_size = sizeof balance};
    tw_error error = {.struct_size = sizeof error};

    assert_status(tw_recorder_balance(NULL, &balance), TW_ERR_INVAL);
    assert_status(tw_recorder_balance(recorder, NULL), TW_ERR_INVAL);
    assert_status(tw_recorder_last_error(NULL, &error), TW_ERR_INVAL);
    assert_status(tw_recorder_last_error(recorder, NULL), TW_ERR_INVAL);
    balance.struct_size = sizeof balance - 1;
    assert_status(tw_recorder_balance(recorder, &balance), TW_ERR_ABI);
    error.struct_size = 0;
    assert_status(tw_recorder_last_error(recorder, &error), TW_ERR_ABI);
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Append ------------------------------------------------------------------------ */

START_TEST(append_refuses_by_rule)
{
    offence list[OFFENCES_ROOM];
    const size_t count = make_offences(list);

    for (size_t i = 0; i < count; i++) {
        for (uint32_t flags = 0; flags <= TW_APPEND_SKIP_INVALID; flags++) {
            const tw_record records[] = {plain(), plain(), list[i].record, plain()};
            const size_t stored = flags ? 3 : 0;
            tw_recorder *recorder = recorder_new();
            size_t accepted = 77;
            tw_balance balance;
            tw_error error;

            vocabulary_context("%s, flags %u", list[i].what, (unsigned)flags);
            assert_status(tw_recorder_append(recorder, records, 4, sizeof *records, flags,
                                             &accepted),
                          flags ? TW_OK : TW_ERR_RANGE);
            assert_u64(accepted, flags ? 3 : 77);
            balance = balance_of(recorder);
            assert_u64(balance.issued, stored);
            assert_u64(balance.ok, stored);
            assert_u64(balance.refused, 1);
            for (int32_t rule = 0; rule < TW_RULE_LIMIT; rule++)
                assert_u64(balance.refused_by_rule[rule], rule == list[i].rule);
            error = error_of(recorder);
            assert_i64(error.status, TW_ERR_RANGE);
            assert_i64(error.rule, list[i].rule);
            assert_i64(error.field, list[i].field);
            assert_u64(error.row, 2);
            assert_i64(error.value_a, list[i].value_a);
            assert_i64(error.value_b, list[i].value_b);
            assert_u64(error.index, list[i].index);
            check_records(recorder, (tw_record[]){plain(), plain(), plain()}, stored);
            tw_recorder_free(recorder);
        }
    }
}
END_TEST

/* [VALID] */
START_TEST(append_counts_first_offender_only)
{
    const tw_record records[] = {plain(), bad_record(), record(9, 8, 10, 1, 1),
                                 bad_record()};
    tw_recorder *recorder = recorder_new();
    tw_balance balance;

    assert_status(tw_recorder_append(recorder, records, 4, sizeof *records, 0, NULL),
                  TW_ERR_RANGE);
    balance = balance_of(recorder);
    assert_u64(balance.refused, 1);
    assert_u64(balance.refused_by_rule[TW_RULE_END_BEFORE_START], 1);
    assert_u64(balance.issued, 0);

    /* Skipping, each counts, and the error is about the first. */
    assert_ok(tw_recorder_append(recorder, records, 4, sizeof *records,
                                 TW_APPEND_SKIP_INVALID, NULL));
    balance = balance_of(recorder);
    assert_u64(balance.refused, 4);
    assert_u64(balance.refused_by_rule[TW_RULE_END_BEFORE_START], 3);
    assert_u64(balance.refused_by_rule[TW_RULE_GENERATION_BEFORE_START], 1);
    assert_u64(balance.issued, 1);
    assert_u64(error_of(recorder).row, 1);
    assert_i64(error_of(recorder).rule, TW_RULE_END_BEFORE_START);

    /* A call that goes well leaves the last error alone. */
    recorder_append(recorder, records, 1);
    assert_u64(error_of(recorder).row, 1);
    tw_recorder_free(recorder);
}
END_TEST

/* [BALANCE] */
START_TEST(append_balance)
{
    const int64_t counts[] = {2, 3, 1};
    const tw_record records[] = {
        plain(),
        with_credit(plain(), 0),                                /* at start */
        with_credit(plain(), 1),                                /* after it */
        with_credit(with_status(plain(), TW_RECORD_FAILED), 2), /* too */
        with_status(record(0, NEVER, 5, 1, 1), TW_RECORD_FAILED),
        with_status(plain(), TW_RECORD_CANCELLED),
        record(0, NEVER, NEVER, 1, 1),
        record(0, 10, NEVER, 1, 1),
        with_chunks(plain(), rising, counts, 3),                 /* 6 of 6 tokens */
        with_chunks(record(0, 10, 20, 1, 5), rising, counts, 3), /* 6 of 5 */
        with_chunks(record(0, 10, 20, 1, UNKNOWN), rising, counts, 3),
        with_chunks(record(0, 10, 20, 1, UNKNOWN), rising, NULL,
                    3), /* no counts at all */
        with_chunks(record(0, 10, 20, 1, 0), rising, below_0, 0),
    };
    tw_recorder *recorder = recorder_of(records, sizeof records / sizeof records[0]);
    const tw_balance balance = balance_of(recorder);

    assert_u64(balance.issued, 13);
    assert_u64(balance.ok, 8);
    assert_u64(balance.failed, 2);
    assert_u64(balance.cancelled, 1);
    assert_u64(balance.in_flight, 2);
    assert_u64(balance.refused, 0);
    assert_u64(balance.credit_after_start, 2);
    assert_u64(balance.chunk_tokens_ignored, 2);
    assert_u64(balance.overlapping, 0);
    assert_u64(balance.members, 0);
    assert_u64(balance.cut_at_begin, 0);
    assert_u64(balance.cut_at_end, 0);
    check_records(recorder, records, 13);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(append_unknown_flags)
{
    for (uint32_t flags = 0; flags <= TW_APPEND_SKIP_INVALID; flags++) {
        tw_record records[] = {plain(), bad_record(), plain()};
        tw_recorder *recorder = recorder_new();
        size_t accepted = 77;
        tw_error error;

        if (!flags)
            records[1] = plain();
        records[2].flags = 6 | TW_RECORD_STREAMING;
        assert_status(
            tw_recorder_append(recorder, records, 3, sizeof *records, flags, &accepted),
            TW_ERR_NOTSUP);
        assert_u64(accepted, 77);
        error = error_of(recorder);
        assert_i64(error.status, TW_ERR_NOTSUP);
        assert_i64(error.rule, TW_RULE_NONE);
        assert_i64(error.field, TW_FIELD_FLAGS);
        assert_u64(error.row, 2);
        assert_i64(error.value_a, 7);
        assert_u64(balance_of(recorder).issued, 0);
        assert_u64(balance_of(recorder).refused, 0); /* nothing came of the call */

        assert_status(tw_recorder_append(recorder, records, 1, sizeof *records, 2, NULL),
                      TW_ERR_NOTSUP);
        assert_i64(error_of(recorder).status, TW_ERR_NOTSUP);
        assert_i64(error_of(recorder).field, TW_FIELD_NONE);
        tw_recorder_free(recorder);
    }
}
END_TEST

START_TEST(append_arguments)
{
    tw_recorder *recorder = recorder_new();
    const tw_record r = plain();
    size_t accepted = 77;

    assert_status(tw_recorder_append(NULL, &r, 1, sizeof r, 0, &accepted), TW_ERR_INVAL);
    assert_status(tw_recorder_append(recorder, NULL, 1, sizeof r, 0, &accepted),
                  TW_ERR_INVAL);
    assert_i64(error_of(recorder).status, TW_ERR_INVAL);
    assert_status(tw_recorder_append(recorder, &r, 1, 0, 0, &accepted), TW_ERR_ABI);
    assert_status(tw_recorder_append(recorder, &r, 1, sizeof r - 1, 0, &accepted),
                  TW_ERR_ABI);
    assert_i64(error_of(recorder).status, TW_ERR_ABI);
    assert_status(tw_recorder_append(recorder, &r, 1, SIZE_MAX, 0, &accepted),
                  TW_ERR_ABI);
    assert_u64(accepted, 77);
    assert_u64(tw_recorder_count(recorder), 0);
    assert_ok(tw_recorder_append(recorder, NULL, 0, sizeof r, 0, &accepted));
    assert_u64(accepted, 0);
    assert_ok(tw_recorder_append(recorder, &r, 1, sizeof r, 0, NULL));
    assert_u64(tw_recorder_count(recorder), 1);
    tw_recorder_free(recorder);
}
END_TEST

/* Records of a later version, and at any address. */
START_TEST(append_with_strides)
{
    static const size_t more[] = {0, 8, 1, 7, 400};
    enum { COUNT = 100 };
    int64_t pool[COUNT][8];
    tw_record records[COUNT];
    uint64_t random = 1;

    for (int i = 0; i < COUNT; i++)
        records[i] = random_record(&random, pool[i], 4);
    for (size_t k = 0; k < sizeof more / sizeof more[0]; k++) {
        const size_t stride = sizeof(tw_record) + more[k];
        unsigned char *bytes = malloc(COUNT * stride + 1); /* ends with the last one */
        tw_recorder *recorder = recorder_new();
        size_t accepted;

        vocabulary_context("stride %zu", stride);
        assert_that(bytes != NULL);
        memset(bytes, 0x99, COUNT * stride + 1);
        for (size_t i = 0; i < COUNT; i++)
            memcpy(bytes + 1 + i * stride, &records[i], sizeof records[i]);
        assert_ok(tw_recorder_append(recorder, (tw_record *)(void *)(bytes + 1), COUNT,
                                     stride, 0, &accepted));
        assert_u64(accepted, COUNT);
        free(bytes);
        check_records(recorder, records, COUNT);
        tw_recorder_free(recorder);
    }
}
END_TEST

START_TEST(append_copies_chunks)
{
    int64_t arrivals[] = {10, 15, 20}, tokens[] = {1, 2, 3};
    const tw_record r = with_chunks(plain(), arrivals, tokens, 3);
    tw_recorder *recorder = recorder_of(&r, 1);
    const int64_t counts[] = {1, 2, 3};

    memset(arrivals, 0, sizeof arrivals);
    memset(tokens, 0, sizeof tokens);
    check_records(recorder, (tw_record[]){with_chunks(plain(), rising, counts, 3)}, 1);
    tw_recorder_free(recorder);
}
END_TEST

/* Chunks of all sizes, over several blocks. */
START_TEST(append_many_chunks)
{
    enum { COUNT = 2600, MOST = 3000 };
    static int64_t arrivals[MOST], tokens[MOST];
    tw_record *records = malloc(COUNT * sizeof *records);
    uint64_t random = 2;
    memory m;
    tw_recorder *recorder = recorder_in(&m);

    assert_that(records != NULL);
    for (int i = 0; i < MOST; i++) {
        arrivals[i] = 10 * i;
        tokens[i] = i % 7;
    }
    for (int i = 0; i < COUNT; i++) {
        const uint64_t most = random_below(&random, 20) ? 20 : MOST;
        const uint64_t count = random_below(&random, most + 1);
        const size_t at = (size_t)random_below(&random, MOST - count + 1);

        records[i] = with_chunks(record(0, 0, 10 * MOST, i, 100), arrivals + at,
                                 random_below(&random, 2) ? tokens + at : NULL, count);
    }
    for (size_t i = 0; i < COUNT;) {
        const size_t left = COUNT - i, some = 1 + (size_t)random_below(&random, 700);
        recorder_append(recorder, records + i, some < left ? some : left);
        i += some < left ? some : left;
    }
    check_records(recorder, records, COUNT);
    assert_u64(tw_recorder_memory(recorder), atomic_load(&m.live_bytes));
    free(records);
    tw_recorder_free(recorder);
    memory_done(&m);
}
END_TEST

/* ---- Append by columns ------------------------------------------------------------- */

enum { ROWS = 1500, ROW_CHUNKS = 5 };
static tw_record rows[ROWS];
static int64_t row_pool[ROWS][2 * ROW_CHUNKS];

static void make_rows(uint64_t seed)
{
    for (int i = 0; i < ROWS; i++)
        rows[i] = random_record(&seed, row_pool[i], ROW_CHUNKS);
}

/* Chunks of all rows, one after the other; either all rows have token counts or none. */
static uint64_t offsets[ROWS + 1];
static int64_t all_arrivals[ROWS * ROW_CHUNKS + 1], all_tokens[ROWS * ROW_CHUNKS + 1];

static void join_chunks(int with_tokens)
{
    for (int i = 0; i < ROWS; i++) {
        tw_record *r = &rows[i];

        offsets[i + 1] = offsets[i] + r->chunk_count;
        for (uint64_t k = 0; k < r->chunk_count; k++) {
            all_arrivals[offsets[i] + k] = r->chunk_arrival_ns[k];
            all_tokens[offsets[i] + k] = row_pool[i][r->chunk_count + k];
        }
        if (r->chunk_count)
            r->chunk_tokens = with_tokens ? all_tokens + offsets[i] : NULL;
    }
}

/* The fields of `rows` where they are. */
static tw_columns columns_of_rows(int with_tokens)
{
    const uint64_t stride = sizeof(tw_record);

    join_chunks(with_tokens);
    return (tw_columns){
        .struct_size = sizeof(tw_columns),
        .count = ROWS,
        .credit_issued_ns = {.values = &rows->credit_issued_ns, .stride = stride},
        .start_ns = {.values = &rows->start_ns, .stride = stride},
        .generation_start_ns = {.values = &rows->generation_start_ns, .stride = stride},
        .end_ns = {.values = &rows->end_ns, .stride = stride},
        .input_tokens = {.values = &rows->input_tokens, .stride = stride},
        .output_tokens = {.values = &rows->output_tokens, .stride = stride},
        .status = {.values = &rows->status, .stride = stride},
        .record_flags = {.values = &rows->flags, .stride = stride},
        .chunk_offsets = offsets,
        .chunk_arrival_ns = all_arrivals,
        .chunk_tokens = with_tokens ? all_tokens : NULL,
        .chunk_value_count = offsets[ROWS],
    };
}

START_TEST(columns_of_structs)
{
    for (int with_tokens = 0; with_tokens < 2; with_tokens++) {
        tw_recorder *recorder = recorder_new();
        tw_columns columns;
        size_t accepted = 0;

        make_rows(11);
        columns = columns_of_rows(with_tokens);
        assert_ok(tw_recorder_append_columns(recorder, &columns, 0, &accepted));
        assert_u64(accepted, ROWS);
        check_records(recorder, rows, ROWS);
        columns.count = 0;
        assert_ok(tw_recorder_append_columns(recorder, &columns, 0, &accepted));
        assert_u64(accepted, 0);
        tw_recorder_free(recorder);
    }
}
END_TEST

/* Packed values at odd addresses, with a byte per row that says whether there is one. */
START_TEST(columns_packed_with_validity)
{
    unsigned char *packed[8];
    uint8_t *valid[8];
    tw_columns columns;
    tw_recorder *recorder = recorder_new();

    make_rows(12);
    columns = columns_of_rows(1);
    for (int c = 0; c < 8; c++) {
        tw_column *column = c == 0   ? &columns.credit_issued_ns
                            : c == 1 ? &columns.start_ns
                            : c == 2 ? &columns.generation_start_ns
                            : c == 3 ? &columns.end_ns
                            : c == 4 ? &columns.input_tokens
                            : c == 5 ? &columns.output_tokens
                            : c == 6 ? &columns.status
                                     : &columns.record_flags;
        const size_t size = c < 6 ? 8 : 4;
        const unsigned char *from = column->values;

        packed[c] = malloc(ROWS * size + 1);
        valid[c] = malloc(ROWS);
        assert_that(packed[c] && valid[c]);
        for (size_t i = 0; i < ROWS; i++, from += sizeof(tw_record)) {
            int64_t value = 0;
            int32_t narrow = 0;

            if (size == 8)
                memcpy(&value, from, 8);
            else
                memcpy(&narrow, from, 4);
            memcpy(packed[c] + 1 + i * size, from, size);
            valid[c][i] = (uint8_t)(1 + i % 255);
            if (c < 4 ? value == NEVER : c < 6 ? value == UNKNOWN : narrow == 0) {
                valid[c][i] = 0; /* what lies there does not count */
                memset(packed[c] + 1 + i * size, 0x5b, size);
            }
        }
        *column = (tw_column){.values = packed[c] + 1, .validity = valid[c]};
    }
    assert_ok(tw_recorder_append_columns(recorder, &columns, 0, NULL));
    for (int c = 0; c < 8; c++) {
        free(packed[c]);
        free(valid[c]);
    }
    check_records(recorder, rows, ROWS);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(columns_missing)
{
    static const int64_t starts[] = {1, 2};
    const uint64_t none[] = {0, 0, 0};
    tw_columns columns = {
        .struct_size = sizeof columns, .count = 2, .start_ns = {.values = starts}};
    tw_recorder *recorder = recorder_new();
    const tw_record wanted[] = {record(1, NEVER, NEVER, UNKNOWN, UNKNOWN),
                                record(2, NEVER, NEVER, UNKNOWN, UNKNOWN),
                                record(1, NEVER, NEVER, UNKNOWN, UNKNOWN),
                                record(2, NEVER, NEVER, UNKNOWN, UNKNOWN)};

    assert_ok(tw_recorder_append_columns(recorder, &columns, 0, NULL));
    columns.chunk_offsets = none; /* no row has any */
    assert_ok(tw_recorder_append_columns(recorder, &columns, 0, NULL));
    check_records(recorder, wanted, 4);
    columns.start_ns.values = NULL;
    assert_status(tw_recorder_append_columns(recorder, &columns, 0, NULL), TW_ERR_RANGE);
    assert_i64(error_of(recorder).rule, TW_RULE_START_MISSING);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(columns_refused)
{
    tw_recorder *recorder = recorder_new();
    tw_columns columns;
    size_t accepted = 77;

    make_rows(13);
    rows[7].start_ns = NEVER;
    rows[9].status = 4;
    columns = columns_of_rows(0);
    assert_status(tw_recorder_append_columns(recorder, &columns, 0, &accepted),
                  TW_ERR_RANGE);
    assert_u64(accepted, 77);
    assert_u64(error_of(recorder).row, 7);
    assert_i64(error_of(recorder).rule, TW_RULE_START_MISSING);
    assert_u64(tw_recorder_count(recorder), 0);
    assert_ok(tw_recorder_append_columns(recorder, &columns, TW_APPEND_SKIP_INVALID,
                                         &accepted));
    assert_u64(accepted, ROWS - 2);
    assert_u64(balance_of(recorder).refused, 3);
    assert_u64(balance_of(recorder).refused_by_rule[TW_RULE_STATUS_UNKNOWN], 1);
    rows[9].status = 0;
    rows[11].flags = 2;
    assert_status(
        tw_recorder_append_columns(recorder, &columns, TW_APPEND_SKIP_INVALID, &accepted),
        TW_ERR_NOTSUP);
    assert_u64(error_of(recorder).row, 11);
    assert_i64(error_of(recorder).field, TW_FIELD_FLAGS);
    assert_u64(tw_recorder_count(recorder), ROWS - 2);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(columns_arguments)
{
    tw_recorder *recorder = recorder_new();
    tw_columns good, columns;
    size_t row = 1;

    make_rows(14);
    good = columns_of_rows(1);
    assert_status(tw_recorder_append_columns(NULL, &good, 0, NULL), TW_ERR_INVAL);
    assert_status(tw_recorder_append_columns(recorder, NULL, 0, NULL), TW_ERR_INVAL);
    assert_i64(error_of(recorder).status, TW_ERR_INVAL);
    assert_status(tw_recorder_append_columns(recorder, &good, 2, NULL), TW_ERR_NOTSUP);
    columns = good;
    columns.flags = 1;
    assert_status(tw_recorder_append_columns(recorder, &columns, 0, NULL), TW_ERR_NOTSUP);
    columns = good;
    columns.struct_size--;
    assert_status(tw_recorder_append_columns(recorder, &columns, 0, NULL), TW_ERR_ABI);
    columns = good;
    columns.count = UINT64_MAX;
    assert_status(tw_recorder_append_columns(recorder, &columns, 0, NULL), TW_ERR_INVAL);
    columns = good;
    columns.chunk_arrival_ns = NULL;
    assert_status(tw_recorder_append_columns(recorder, &columns, 0, NULL), TW_ERR_INVAL);
    for (int c = 0; c < 8; c++) {
        tw_column *each[] = {&columns.credit_issued_ns,
                             &columns.start_ns,
                             &columns.generation_start_ns,
                             &columns.end_ns,
                             &columns.input_tokens,
                             &columns.output_tokens,
                             &columns.status,
                             &columns.record_flags};
        columns = good;
        each[c]->stride = c < 6 ? 7 : 3;
        vocabulary_context("column %d", c);
        assert_status(tw_recorder_append_columns(recorder, &columns, 0, NULL),
                      TW_ERR_INVAL);
        columns = good;
        each[c]->flags = 1;
        assert_status(tw_recorder_append_columns(recorder, &columns, 0, NULL),
                      TW_ERR_NOTSUP);
        columns = good;
        each[c]->reserved = 1;
        assert_status(tw_recorder_append_columns(recorder, &columns, 0, NULL),
                      TW_ERR_NOTSUP);
    }
    vocabulary_context("%s", "offsets");
    columns = good;
    columns.chunk_value_count--; /* the last row with chunks leads outside */
    assert_status(
        tw_recorder_append_columns(recorder, &columns, TW_APPEND_SKIP_INVALID, NULL),
        TW_ERR_INVAL);
    assert_that(error_of(recorder).row > 0);
    while (offsets[row] == 0)
        row++;
    offsets[row + 1] = 0; /* below the one before */
    assert_status(tw_recorder_append_columns(recorder, &good, 0, NULL), TW_ERR_INVAL);
    assert_u64(error_of(recorder).row, row);
    assert_u64(tw_recorder_count(recorder), 0);
    assert_u64(balance_of(recorder).refused, 0);
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Reading records --------------------------------------------------------------- */

/* Reads a page of records with their chunks; the caller frees *chunks. */
static size_t read_page(const tw_recorder *recorder, uint64_t first, tw_record *page,
                        size_t capacity, size_t stride, int64_t **chunks)
{
    size_t written = 0, count = 0, read = 77;

    assert_ok(tw_recorder_read(recorder, first, page, capacity, stride, &written));
    for (size_t i = 0; i < written; i++) {
        tw_record r;
        memcpy(&r, (unsigned char *)page + i * stride, sizeof r);
        assert_that(!r.chunk_arrival_ns && !r.chunk_tokens);
        count += (size_t)r.chunk_count;
    }
    *chunks = malloc((2 * count + 1) * sizeof **chunks);
    assert_that(*chunks != NULL);
    assert_ok(tw_recorder_read_chunks(recorder, first, page, written, stride, *chunks,
                                      *chunks + count, count, &read));
    assert_u64(read, count);
    return written;
}

static void check_same_record(const tw_record *got, const tw_record *wanted)
{
    const size_t bytes = (size_t)wanted->chunk_count * sizeof(int64_t);

    assert_i64(got->credit_issued_ns, wanted->credit_issued_ns);
    assert_i64(got->start_ns, wanted->start_ns);
    assert_i64(got->generation_start_ns, wanted->generation_start_ns);
    assert_i64(got->end_ns, wanted->end_ns);
    assert_i64(got->input_tokens, wanted->input_tokens);
    assert_i64(got->output_tokens, wanted->output_tokens);
    assert_i64(got->status, wanted->status);
    assert_u64(got->flags, wanted->flags);
    assert_u64(got->chunk_count, wanted->chunk_count);
    if (bytes) {
        assert_that(memcmp(got->chunk_arrival_ns, wanted->chunk_arrival_ns, bytes) == 0);
        assert_that(!got->chunk_tokens == !wanted->chunk_tokens);
        if (got->chunk_tokens)
            assert_that(memcmp(got->chunk_tokens, wanted->chunk_tokens, bytes) == 0);
    }
}

START_TEST(read_back)
{
    static const size_t pages[] = {1, 7, 1023, 1024, 1025, ROWS, 2 * ROWS};
    const tw_clock clock = {sizeof clock, 0, 12345};
    tw_recorder *recorder = recorder_new();

    make_rows(15);
    recorder_append(recorder, rows, ROWS);
    assert_ok(tw_recorder_set_clock(recorder, &clock)); /* as appended, all the same */
    for (size_t p = 0; p < sizeof pages / sizeof pages[0]; p++) {
        tw_record *page = malloc(pages[p] * sizeof *page);
        size_t next = 0, written = 0;

        vocabulary_context("pages of %zu", pages[p]);
        assert_that(page != NULL);
        do {
            int64_t *chunks;
            written = read_page(recorder, next, page, pages[p], sizeof *page, &chunks);
            assert_u64(written, next + pages[p] <= ROWS ? pages[p] : ROWS - next);
            for (size_t i = 0; i < written; i++)
                check_same_record(&page[i], &rows[next + i]);
            free(chunks);
            next += written;
        } while (written);
        assert_u64(next, ROWS);
        free(page);
    }
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(read_with_stride)
{
    enum { MORE = 12, STRIDE = sizeof(tw_record) + MORE, COUNT = 3 };
    unsigned char bytes[1 + STRIDE * COUNT + 1];
    tw_recorder *recorder = recorder_new();
    int64_t *chunks;
    size_t written;

    make_rows(16);
    recorder_append(recorder, rows, COUNT);
    memset(bytes, 0x66, sizeof bytes);
    written = read_page(recorder, 0, (tw_record *)(void *)(bytes + 1), 99, STRIDE,
                        &chunks);
    assert_u64(written, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        tw_record r;
        memcpy(&r, bytes + 1 + i * STRIDE, sizeof r);
        check_same_record(&r, &rows[i]);
        for (size_t k = sizeof r; k < STRIDE; k++)
            assert_u64(bytes[1 + i * STRIDE + k], 0);
    }
    assert_u64(bytes[0], 0x66);
    assert_u64(bytes[sizeof bytes - 1], 0x66);
    free(chunks);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(read_arguments)
{
    tw_recorder *recorder = recorder_new();
    tw_record r = plain(), out;
    size_t written = 77;

    assert_ok(tw_recorder_read(recorder, 0, &out, 1, sizeof out, &written));
    assert_u64(written, 0);
    recorder_append(recorder, &r, 1);
    written = 77;
    assert_status(tw_recorder_read(NULL, 0, &out, 1, sizeof out, &written), TW_ERR_INVAL);
    assert_status(tw_recorder_read(recorder, 0, NULL, 1, sizeof out, &written),
                  TW_ERR_INVAL);
    assert_status(tw_recorder_read(recorder, 0, &out, 1, sizeof out, NULL), TW_ERR_INVAL);
    assert_status(tw_recorder_read(recorder, 2, &out, 1, sizeof out, &written),
                  TW_ERR_INVAL);
    assert_status(tw_recorder_read(recorder, 0, &out, 1, sizeof out - 1, &written),
                  TW_ERR_ABI);
    assert_u64(written, 77);
    assert_ok(tw_recorder_read(recorder, 1, &out, 1, sizeof out, &written));
    assert_u64(written, 0);
    assert_ok(tw_recorder_read(recorder, 0, NULL, 0, sizeof out, &written));
    assert_u64(written, 0);
    tw_recorder_free(recorder);
}
END_TEST

START_TEST(read_chunks_arguments)
{
    enum { CHUNKS = 6 };
    const int64_t counts[] = {1, 2, 3};
    const tw_record records[] = {with_chunks(plain(), rising, NULL, 3), plain(),
                                 with_chunks(plain(), rising, counts, 3)};
    tw_recorder *recorder = recorder_of(records, 3);
    int64_t arrival_ns[CHUNKS], tokens[CHUNKS];
    const size_t size = sizeof(tw_record);
    int64_t *const odd = (int64_t *)(void *)((char *)arrival_ns + 1);
    tw_record page[3];
    size_t read = 77;

    assert_ok(tw_recorder_read(recorder, 0, page, 3, size, &read));
    read = 77;
    assert_status(tw_recorder_read_chunks(NULL, 0, page, 3, size, arrival_ns, tokens,
                                          CHUNKS, &read),
                  TW_ERR_INVAL);
    assert_status(tw_recorder_read_chunks(recorder, 0, NULL, 3, size, arrival_ns, tokens,
                                          CHUNKS, &read),
                  TW_ERR_INVAL);
    assert_status(
        tw_recorder_read_chunks(recorder, 0, page, 3, size, NULL, tokens, CHUNKS, &read),
        TW_ERR_INVAL);
    assert_status(tw_recorder_read_chunks(recorder, 0, page, 3, size, arrival_ns, tokens,
                                          CHUNKS, NULL),
                  TW_ERR_INVAL);
    assert_status(
        tw_recorder_read_chunks(recorder, 0, page, 3, size, odd, tokens, 5, &read),
        TW_ERR_INVAL);
    assert_status(
        tw_recorder_read_chunks(recorder, 0, page, 3, size, tokens, odd, 5, &read),
        TW_ERR_INVAL);
    assert_status(tw_recorder_read_chunks(recorder, 0, page, 3, size, arrival_ns, tokens,
                                          CHUNKS - 1, &read),
                  TW_ERR_INVAL);
    assert_status(tw_recorder_read_chunks(recorder, 1, page, 3, size, arrival_ns, tokens,
                                          CHUNKS, &read),
                  TW_ERR_INVAL);
    assert_status(tw_recorder_read_chunks(recorder, 4, page, 0, size, arrival_ns, tokens,
                                          CHUNKS, &read),
                  TW_ERR_INVAL);
    assert_status(tw_recorder_read_chunks(recorder, 0, page, 3, size - 1, arrival_ns,
                                          tokens, CHUNKS, &read),
                  TW_ERR_ABI);
    assert_u64(read, 77);
    for (int i = 0; i < 3; i++)
        assert_that(!page[i].chunk_arrival_ns && !page[i].chunk_tokens);

    /* Appended as it is, such a record is refused rather than stored without chunks. */
    assert_status(tw_recorder_append(recorder, page, 3, size, 0, NULL), TW_ERR_RANGE);
    assert_i64(error_of(recorder).rule, TW_RULE_CHUNK_ARRIVAL_MISSING);

    assert_ok(tw_recorder_read_chunks(recorder, 0, page, 3, size, arrival_ns, tokens,
                                      CHUNKS, &read));
    assert_u64(read, CHUNKS);
    for (int i = 0; i < 3; i++) {
        check_same_record(&page[i], &records[i]);
        assert_i64(tokens[i], UNKNOWN);
        assert_i64(tokens[3 + i], counts[i]);
    }
    assert_that(page[0].chunk_arrival_ns == arrival_ns);
    assert_that(page[2].chunk_arrival_ns == arrival_ns + 3);
    assert_that(page[2].chunk_tokens == tokens + 3);

    assert_ok(tw_recorder_read_chunks(recorder, 0, page, 3, size, arrival_ns, NULL,
                                      CHUNKS, &read));
    assert_u64(read, CHUNKS);
    assert_that(page[2].chunk_arrival_ns == arrival_ns + 3 && !page[2].chunk_tokens);
    assert_ok(tw_recorder_read_chunks(recorder, 1, page, 1, size, NULL, NULL, 0, &read));
    assert_u64(read, 0);
    assert_that(!page[0].chunk_arrival_ns && page[0].chunk_count == 0);
    assert_ok(tw_recorder_read_chunks(recorder, 3, NULL, 0, size, NULL, NULL, 0, &read));
    tw_recorder_free(recorder);
}
END_TEST

/* ---- How chunks are stored --------------------------------------------------------- */

/* Stores and reads a record whose chunks have these gaps and counts; returns how many words
 * the chunks took. */
static uint64_t store_chunks(const int64_t *gaps, const int64_t *tokens, uint64_t count)
{
    int64_t arrival_ns[64], at_ns = -TIME_LIMIT;
    tw_record r = record(at_ns, at_ns, NEVER, 1, TOKENS_LIMIT - 1), back;
    tw_recorder *recorder;
    int64_t *chunks;

    assert_that(count <= 64);
    for (uint64_t i = 0; i < count; i++)
        arrival_ns[i] = at_ns += gaps[i];
    r = with_chunks(r, arrival_ns, tokens, count);
    recorder = recorder_of(&r, 1);
    check_records(recorder, &r, 1);
    assert_u64(read_page(recorder, 0, &back, 1, sizeof back, &chunks), 1);
    check_same_record(&back, &r);
    free(chunks);
    tw_recorder_free(recorder);
    return twi_chunks_plan(&r).words;
}

START_TEST(chunk_gaps)
{
    const int64_t word = INT64_C(1) << 32;
    const struct {
        int64_t gap;
        uint64_t words;
    } each[] = {{0, 1},
                {1, 1},
                {INT32_MAX, 1},
                {word / 2, 1},
                {word - 2, 1},
                {word - 1, 3},
                {word, 3},
                {word + 1, 3},
                {2 * word, 3},
                {word * 7, 3},
                {2 * word - 1, 3},
                {TIME_LIMIT - 1, 3},
                {TIME_LIMIT, 3},
                {2 * TIME_LIMIT, 3}};
    enum { EACH = sizeof each / sizeof each[0] };

    for (int i = 0; i < EACH; i++) {
        const int64_t alone[] = {each[i].gap}, amid[] = {5, each[i].gap, 0},
                      last[] = {0, 0, each[i].gap};
        vocabulary_context("gap %d", i);
        assert_u64(store_chunks(alone, NULL, 1), each[i].words);
        assert_u64(store_chunks(last, NULL, 3), each[i].words + 2);
        if (each[i].gap <= TIME_LIMIT)
            assert_u64(store_chunks(amid, NULL, 3), each[i].words + 2);
        for (int k = 0; k < EACH; k++) {
            const int64_t both[] = {each[i].gap, each[k].gap}, counts[] = {3, 4};
            if (each[i].gap > 2 * TIME_LIMIT - each[k].gap)
                continue;
            assert_u64(store_chunks(both, NULL, 2), each[i].words + each[k].words);
            assert_u64(store_chunks(both, counts, 2), each[i].words + each[k].words + 2);
        }
    }
}
END_TEST

START_TEST(chunk_counts)
{
    const struct {
        int64_t tokens;
        uint64_t bytes;
    } each[] = {{0, 1},
                {1, 1},
                {UINT8_MAX, 1},
                {UINT8_MAX + 1, 2},
                {UINT16_MAX, 2},
                {UINT16_MAX + 1, 4},
                {UINT32_MAX, 4},
                {INT64_C(1) << 32, 8},
                {TOKENS_LIMIT - 1, 8}};

    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        for (uint64_t count = 1; count <= 9; count++) {
            int64_t gaps[9], tokens[9] = {0};

            vocabulary_context("%lld tokens, %llu chunks", (long long)each[i].tokens,
                               (unsigned long long)count);
            for (uint64_t k = 0; k < 9; k++)
                gaps[k] = (int64_t)k;
            for (uint64_t at = 0; at < count; at++) {
                for (uint64_t k = 0; k < count; k++)
                    tokens[k] = k == at ? each[i].tokens : 0;
                assert_u64(store_chunks(gaps, tokens, count),
                           count + 1 + (count * each[i].bytes + 3) / 4);
            }
        }
    }
}
END_TEST

/* Counts that exceed the total, or have none, are kept all the same. */
START_TEST(chunk_counts_ignored)
{
    const int64_t counts[] = {70000, 1, 2};
    const tw_record records[] = {
        with_chunks(record(0, 10, 20, 1, 70002), rising, counts, 3),
        with_chunks(record(0, 10, 20, 1, UNKNOWN), rising, counts, 3)};
    tw_recorder *recorder = recorder_of(records, 2);
    tw_record back[2];
    int64_t *chunks;

    check_records(recorder, records, 2);
    assert_u64(read_page(recorder, 0, back, 2, sizeof *back, &chunks), 2);
    check_same_record(&back[0], &records[0]);
    check_same_record(&back[1], &records[1]);
    free(chunks);
    tw_recorder_free(recorder);
}
END_TEST

/* 4 bytes a gap, one more with counts, and little beside them. */
START_TEST(chunk_memory)
{
    enum { CHUNKS = 200, RECORDS = 3000 };
    int64_t arrival_ns[CHUNKS], tokens[CHUNKS];

    for (int i = 0; i < CHUNKS; i++) {
        arrival_ns[i] = 20000000 * INT64_C(1) * i;
        tokens[i] = 1 + i % 3;
    }
    for (int counted = 0; counted < 2; counted++) {
        const tw_record r = with_chunks(record(0, 0, arrival_ns[CHUNKS - 1], 1, 1000),
                                        arrival_ns, counted ? tokens : NULL, CHUNKS);
        tw_recorder *recorder = recorder_new();
        uint64_t bytes;

        for (int i = 0; i < RECORDS; i++)
            recorder_append(recorder, &r, 1);
        bytes = tw_recorder_memory(recorder) / RECORDS;
        vocabulary_context("%llu bytes a record", (unsigned long long)bytes);
        assert_that(bytes >= (counted ? 5 : 4) * CHUNKS);
        assert_that(bytes <= (counted ? 5 : 4) * CHUNKS + 150);
        tw_recorder_free(recorder);
    }
}
END_TEST

/* ---- Blocks and readers ------------------------------------------------------------ */

START_TEST(spans)
{
    static const uint64_t counts[] = {0, 1, 1023, 1024, 1025, 2047, 2048, 2049, 5000};
    enum { MOST = 5000 };
    tw_record *records = malloc(MOST * sizeof *records);
    twi_span held[MOST / TWI_BLOCK_ROWS + 1];
    tw_recorder *recorder = recorder_new();
    uint64_t before = 0;

    assert_that(records != NULL);
    for (int i = 0; i < MOST; i++)
        records[i] = record(i, i + 1, i + 2, i, i);
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        recorder_append(recorder, records + before, (size_t)(counts[k] - before));
        before = counts[k];
        assert_u64(twi_recorder_span_count(counts[k]), (counts[k] + 1023) / 1024);
        check_records(recorder, records, (size_t)counts[k]);
    }
    /* Published rows stay where they are while others come. */
    twi_recorder_spans(recorder, MOST, held);
    recorder_append(recorder, records, MOST);
    for (uint64_t s = 0; s < twi_recorder_span_count(MOST); s++) {
        twi_row row;
        twi_block_read(held[s].block, held[s].rows - 1, 0, &row);
        check_row(&row, &records[1024 * s + held[s].rows - 1], 0);
        twi_block_release(held[s].block);
    }
    tw_recorder_free(recorder);
    free(records);
}
END_TEST

/* [TIME] */
START_TEST(clock_offsets)
{
    tw_recorder *recorder = recorder_new();
    const tw_record r = plain();
    tw_clock clock = {sizeof clock, 0, 1000};
    twi_span span;

    recorder_append(recorder, &r, 1);
    assert_ok(tw_recorder_set_clock(recorder, &clock));
    assert_status(tw_recorder_set_clock(NULL, &clock), TW_ERR_INVAL);
    assert_status(tw_recorder_set_clock(recorder, NULL), TW_ERR_INVAL);
    clock.offset_ns = TIME_LIMIT + 1;
    assert_status(tw_recorder_set_clock(recorder, &clock), TW_ERR_INVAL);
    clock.offset_ns = TW_TIME_NONE;
    assert_status(tw_recorder_set_clock(recorder, &clock), TW_ERR_INVAL);
    clock.offset_ns = 5;
    clock.flags = 1;
    assert_status(tw_recorder_set_clock(recorder, &clock), TW_ERR_NOTSUP);
    assert_i64(error_of(recorder).status, TW_ERR_NOTSUP);
    clock.flags = 0;
    clock.struct_size = 8;
    assert_status(tw_recorder_set_clock(recorder, &clock), TW_ERR_ABI);

    tw_recorder_clear(recorder); /* keeps the clock */
    recorder_append(recorder, &r, 1);
    twi_recorder_spans(recorder, 1, &span);
    assert_i64(span.offset_ns, 1000);
    twi_block_release(span.block);
    clock = (tw_clock){sizeof clock, 0, -TIME_LIMIT};
    assert_ok(tw_recorder_set_clock(recorder, &clock));
    clock.offset_ns = TIME_LIMIT;
    assert_ok(tw_recorder_set_clock(recorder, &clock));
    tw_recorder_free(recorder);
}
END_TEST

/* ---- Reserve, clear, memory -------------------------------------------------------- */

START_TEST(reserve)
{
    enum { COUNT = 5000 };
    memory m;
    tw_recorder *recorder = recorder_in(&m);
    const tw_record r = plain();
    uint64_t calls, held;

    assert_status(tw_recorder_reserve(NULL, 1), TW_ERR_INVAL);
    calls = atomic_load(&m.calls);
    assert_ok(tw_recorder_reserve(recorder, 0));
    assert_u64(atomic_load(&m.calls), calls);
    recorder_append(recorder, &r, 1);
    assert_ok(tw_recorder_reserve(recorder, COUNT));
    assert_u64(tw_recorder_count(recorder), 1);
    calls = atomic_load(&m.calls);
    held = tw_recorder_memory(recorder);
    assert_u64(held, atomic_load(&m.live_bytes));
    assert_ok(tw_recorder_reserve(recorder, COUNT)); /* there already */
    for (int i = 0; i < COUNT; i++)
        recorder_append(recorder, &r, 1);
    assert_u64(atomic_load(&m.calls), calls);
    assert_u64(tw_recorder_memory(recorder), held);
    assert_u64(tw_recorder_count(recorder), COUNT + 1);
    /* 5001 of the 5 * 1024 rows are taken */
    assert_ok(tw_recorder_reserve(recorder, 5 * 1024 - COUNT - 1));
    assert_u64(atomic_load(&m.calls), calls);
    assert_ok(tw_recorder_reserve(recorder, 5 * 1024 - COUNT));
    assert_u64(atomic_load(&m.calls), calls + 1);
    /* A failure leaves it as it was. */
    held = tw_recorder_memory(recorder);
    for (uint64_t n = 1; n <= 4; n++) {
        memory_fail_nth(&m, n);
        assert_status(tw_recorder_reserve(recorder, 100 * 1024), TW_ERR_NOMEM);
        assert_i64(error_of(recorder).status, TW_ERR_NOMEM);
        assert_u64(tw_recorder_memory(recorder), held);
        assert_u64(tw_recorder_memory(recorder), atomic_load(&m.live_bytes));
        assert_u64(tw_recorder_count(recorder), COUNT + 1);
    }
    memory_fail_never(&m);
    assert_status(tw_recorder_reserve(recorder, UINT64_MAX), TW_ERR_NOMEM);
    assert_u64(tw_recorder_memory(recorder), held);
    assert_ok(tw_recorder_reserve(recorder, 2048));
    recorder_append(recorder, &r, 1);
    tw_recorder_free(recorder);
    memory_done(&m);
}
END_TEST

START_TEST(clear_keeps_memory)
{
    enum { COUNT = 3000 };
    static int64_t pool[COUNT][16];
    tw_record *records = malloc(COUNT * sizeof *records);
    const tw_balance none = {.struct_size = sizeof none};
    const tw_record bad = bad_record();
    uint64_t random = 3, calls, held;
    tw_balance balance;
    memory m;
    tw_recorder *recorder = recorder_in(&m);

    assert_that(records != NULL);
    for (int i = 0; i < COUNT; i++)
        records[i] = random_record(&random, pool[i], 8);
    recorder_append(recorder, records, COUNT);
    assert_status(tw_recorder_append(recorder, &bad, 1, sizeof bad, 0, NULL),
                  TW_ERR_RANGE);
    calls = atomic_load(&m.calls);
    held = tw_recorder_memory(recorder);
    for (int round = 0; round < 3; round++) {
        tw_recorder_clear(recorder);
        assert_u64(tw_recorder_count(recorder), 0);
        balance = balance_of(recorder);
        assert_same_balance(&balance, &none);
        assert_i64(error_of(recorder).status, TW_OK);
        assert_u64(tw_recorder_memory(recorder), held);
        recorder_append(recorder, records, COUNT);
        check_records(recorder, records, COUNT);
    }
    assert_u64(atomic_load(&m.calls), calls);
    free(records);
    tw_recorder_free(recorder);
    memory_done(&m);
}
END_TEST

static results before, after;

/* An analysis keeps what it was made from, whatever becomes of the recorder. */
START_TEST(blocks_outlive_clear_and_free)
{
    enum { COUNT = 2500 };
    static int64_t pool[COUNT][16], other_pool[COUNT][16];
    tw_record *records = malloc(COUNT * sizeof *records),
              *others = malloc(COUNT * sizeof *others);
    uint64_t random = 4;
    memory m;
    tw_recorder *recorder = recorder_in(&m);
    tw_analysis *first, *second;

    assert_that(records && others);
    for (int i = 0; i < COUNT; i++) {
        records[i] = random_record(&random, pool[i], 8);
        others[i] = random_record(&random, other_pool[i], 8);
    }
    recorder_append(recorder, records, COUNT);
    first = analysis_new(&recorder, 1, NULL);
    assert_ok(results_take(&before, first));
    tw_recorder_clear(recorder);
    assert_u64(tw_recorder_count(recorder), 0);
    recorder_append(recorder, others, COUNT);
    check_records(recorder, others, COUNT);
    assert_ok(results_take(&after, first));
    assert_same_results(&after, &before);

    second = analysis_of(others, COUNT, NULL); /* what it should be */
    assert_ok(results_take(&before, second));
    tw_analysis_free(second);
    second = analysis_new(&recorder, 1, NULL);
    tw_recorder_free(recorder);
    tw_analysis_free(first);
    assert_ok(results_take(&after, second));
    assert_same_results(&after, &before);
    assert_that(atomic_load(&m.live_blocks) > 0);
    tw_analysis_free(second);
    memory_done(&m); /* the last holder has freed the recorder's blocks */
    free(records);
    free(others);
}
END_TEST

/* Only the blocks that an analysis holds are lost to the recorder. */
START_TEST(clear_takes_back_what_is_free)
{
    enum { COUNT = 2000 };
    const tw_record r = plain();
    memory m;
    tw_recorder *recorder = recorder_in(&m);
    tw_analysis *analysis;
    uint64_t calls;

    for (int i = 0; i < COUNT; i++)
        recorder_append(recorder, &r, 1);
    assert_ok(tw_recorder_reserve(recorder, 3000)); /* three blocks beyond the two */
    analysis = analysis_new(&recorder, 1, NULL);
    tw_recorder_clear(recorder);
    calls = atomic_load(&m.calls);
    for (int i = 0; i < 3 * 1024; i++)
        recorder_append(recorder, &r, 1);
    assert_u64(atomic_load(&m.calls), calls);
    tw_recorder_clear(recorder);
    tw_analysis_free(analysis);
    tw_recorder_free(recorder);
    memory_done(&m);
}
END_TEST

/* ---- Rollback ---------------------------------------------------------------------- */

START_TEST(append_after_failures)
{
    enum { COUNT = 2500 };
    static int64_t pool[COUNT][64];
    tw_record *records = malloc(COUNT * sizeof *records);
    uint64_t random = 5, n;
    int32_t status = TW_ERR_NOMEM;

    assert_that(records != NULL);
    for (int i = 0; i < COUNT; i++)
        records[i] = random_record(&random, pool[i], 32);
    for (n = 1; status != TW_OK; n++) {
        memory m;
        tw_recorder *recorder = recorder_in(&m);
        size_t accepted = 77;
        tw_balance balance, now;

        vocabulary_context("allocation %d fails", (int)n);
        recorder_append(recorder, records, 700);
        balance = balance_of(recorder);
        memory_fail_nth(&m, n);
        status = tw_recorder_append(recorder, records + 700, COUNT - 700, sizeof *records,
                                    0, &accepted);
        memory_fail_never(&m);
        if (status != TW_OK) {
            assert_status(status, TW_ERR_NOMEM);
            assert_u64(accepted, 77);
            now = balance_of(recorder);
            assert_same_balance(&now, &balance);
            assert_i64(error_of(recorder).status, TW_ERR_NOMEM);
            assert_u64(tw_recorder_memory(recorder), atomic_load(&m.live_bytes));
            check_records(recorder, records, 700);
            recorder_append(recorder, records + 700, COUNT - 700);
        }
        check_records(recorder, records, COUNT);
        tw_recorder_free(recorder);
        memory_done(&m);
    }
    assert_that(n > 5); /* some blocks, their chunk tables and slabs */
    free(records);
}
END_TEST

/* Refused batches leave no trace and take no room. */
START_TEST(refused_batches_take_no_room)
{
    enum { COUNT = 1500 };
    static int64_t pool[COUNT][64];
    tw_record *records = malloc((COUNT + 1) * sizeof *records);
    uint64_t random = 6, held = 0;
    memory m;
    tw_recorder *recorder = recorder_in(&m);

    assert_that(records != NULL);
    for (int i = 0; i < COUNT; i++)
        records[i] = random_record(&random, pool[i], 32);
    records[COUNT] = bad_record();
    recorder_append(recorder, records, 100);
    for (int i = 0; i < 20; i++) {
        assert_status(tw_recorder_append(recorder, records + 100, COUNT + 1 - 100,
                                         sizeof *records, 0, NULL),
                      TW_ERR_RANGE);
        assert_u64(error_of(recorder).row, COUNT - 100);
        if (i == 0)
            held = tw_recorder_memory(recorder);
        assert_u64(tw_recorder_memory(recorder), held);
    }
    check_records(recorder, records, 100);
    assert_u64(balance_of(recorder).refused, 20);
    recorder_append(recorder, records + 100, COUNT - 100);
    assert_u64(tw_recorder_memory(recorder), held);
    check_records(recorder, records, COUNT);
    free(records);
    tw_recorder_free(recorder);
    memory_done(&m);
}
END_TEST

/* Everything at random, against a plain array. */
START_TEST(random_use)
{
    enum { MOST = 6000, CHUNKS = 6 };
    static int64_t pool[MOST][2 * CHUNKS];
    static tw_record model[MOST], batch[MOST];
    size_t count = 0;
    uint64_t random = 7, refused = 0;
    memory m;
    tw_recorder *recorder = recorder_in(&m);

    for (int step = 0; step < 400; step++) {
        const uint64_t kind = random_below(&random, 20);
        size_t size = (size_t)random_below(&random, kind < 10 ? 5 : 600), good = 0;
        const int skip = random_below(&random, 2) == 0;
        const int spoilt = random_below(&random, 3) == 0;
        size_t accepted = 0;

        vocabulary_context("step %d", step);
        if (kind == 0 || count + size > MOST) {
            tw_recorder_clear(recorder);
            count = 0;
            refused = 0;
            continue;
        }
        if (kind == 1) {
            assert_ok(tw_recorder_reserve(recorder, random_below(&random, 3000)));
            continue;
        }
        for (size_t i = 0; i < size; i++) {
            batch[i] = bad_record();
            if (!spoilt || random_below(&random, 10)) {
                batch[i] = random_record(&random, pool[count + good], CHUNKS);
                good++;
            }
        }
        if (good == size || skip) {
            assert_ok(tw_recorder_append(recorder, batch, size, sizeof *batch,
                                         skip ? TW_APPEND_SKIP_INVALID : 0, &accepted));
            assert_u64(accepted, good);
            for (size_t i = 0; i < size; i++)
                if (!twi_rules_check(&batch[i]).rule)
                    model[count++] = batch[i];
            refused += size - good;
        } else {
            assert_status(
                tw_recorder_append(recorder, batch, size, sizeof *batch, 0, &accepted),
                TW_ERR_RANGE);
            refused++;
        }
        assert_u64(balance_of(recorder).refused, refused);
        assert_u64(tw_recorder_memory(recorder), atomic_load(&m.live_bytes));
        if (step % 7 == 0)
            check_records(recorder, model, count);
    }
    check_records(recorder, model, count);
    tw_recorder_free(recorder);
    memory_done(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *rules = vocabulary_case(suite, "rules"),
          *block = vocabulary_case(suite, "block"),
          *create = vocabulary_case(suite, "create"),
          *append = vocabulary_case(suite, "append"),
          *columns = vocabulary_case(suite, "columns"),
          *read = vocabulary_case(suite, "read"),
          *chunks = vocabulary_case(suite, "chunks"),
          *room = vocabulary_case(suite, "room");

    tcase_add_test(rules, rules_refuse);
    tcase_add_test(rules, rules_accept);
    tcase_add_test(rules, rules_of_arrivals);
    tcase_add_test(rules, rules_of_many_arrivals);
    tcase_add_test(rules, rules_of_very_many_arrivals);
    tcase_add_test(rules, rules_ordinary);
    tcase_add_test(rules, rules_refuse_once);
    tcase_add_test(block, block_references);
    tcase_add_test(block, block_marks);
    tcase_add_test(block, block_offset);
    tcase_add_test(block, rows_first_and_last);
    tcase_add_test(create, record_init);
    tcase_add_test(create, recorder_options);
    tcase_add_test(create, recorder_new_is_empty);
    tcase_add_test(create, recorder_structs);
    tcase_add_test(append, append_refuses_by_rule);
    tcase_add_test(append, append_counts_first_offender_only);
    tcase_add_test(append, append_balance);
    tcase_add_test(append, append_unknown_flags);
    tcase_add_test(append, append_arguments);
    tcase_add_test(append, append_with_strides);
    tcase_add_test(append, append_copies_chunks);
    tcase_add_test(append, append_many_chunks);
    tcase_add_test(columns, columns_of_structs);
    tcase_add_test(columns, columns_packed_with_validity);
    tcase_add_test(columns, columns_missing);
    tcase_add_test(columns, columns_refused);
    tcase_add_test(columns, columns_arguments);
    tcase_add_test(read, read_back);
    tcase_add_test(read, read_with_stride);
    tcase_add_test(read, read_arguments);
    tcase_add_test(read, read_chunks_arguments);
    tcase_add_test(chunks, chunk_gaps);
    tcase_add_test(chunks, chunk_counts);
    tcase_add_test(chunks, chunk_counts_ignored);
    tcase_add_test(chunks, chunk_memory);
    tcase_add_test(append, spans);
    tcase_add_test(append, clock_offsets);
    tcase_add_test(room, reserve);
    tcase_add_test(room, clear_keeps_memory);
    tcase_add_test(room, blocks_outlive_clear_and_free);
    tcase_add_test(room, clear_takes_back_what_is_free);
    tcase_add_test(room, append_after_failures);
    tcase_add_test(room, refused_batches_take_no_room);
    tcase_add_test(room, random_use);
    return vocabulary_main(suite);
}
