# SPDX-License-Identifier: MIT
"""Properties of libtimeweight, searched with Hypothesis.

    python3 test_property.py PATH_TO_libtimeweight.so [unittest arguments]

The same library gives the same examples on every run. TW_PROPERTY_EXAMPLES sets their
number (default 250, about a minute on one core). What fails is shrunk and printed.
Exit status 77: Hypothesis is not there.
"""

import os
import random
import struct
import sys
import unittest
from fractions import Fraction

try:
    from hypothesis import HealthCheck, assume, given, note, settings
    from hypothesis import strategies as st
    from hypothesis.stateful import (
        Bundle,
        RuleBasedStateMachine,
        consumes,
        initialize,
        invariant,
        precondition,
        rule,
    )
except ImportError:
    print("test_property.py: needs Hypothesis (Debian: python3-hypothesis); skipped")
    sys.exit(77)

sys.dont_write_bytecode = True  # leave nothing beside the sources

import oracle
import timeweight as tw
from oracle import LIMIT, TOKENS_LIMIT, BeginAfterEnd, Oracle, Rec, rounded_q

EXAMPLES = int(os.environ.get("TW_PROPERTY_EXAMPLES", "250"))
LIBRARY = None

STANDARD_Q = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]
EPOCH = 1_760_000_000_000_000_000


settings.register_profile(
    "timeweight",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=False,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("timeweight")


def effort(share):
    return settings(max_examples=max(1, int(EXAMPLES * share)))


# ---------------------------------------------------------------- strategies

# Functions are named and strategies are made once: Hypothesis reads the source of each
# lambda that it is given, which takes longer than all the rest.
EXTREME = st.sampled_from([0, 1, -1, LIMIT, LIMIT - 1, -LIMIT, 1 - LIMIT])
EXTREME_TIMES = EXTREME | st.integers(-LIMIT, LIMIT)
KINDS = st.sampled_from(["grid", "grid", "grid", "fine", "extreme"])
BASES = st.sampled_from([0, EPOCH, -LIMIT, LIMIT - 12 * 10**9, -7])
UNITS = st.sampled_from([1, 10, 1000003, 10**9])
TICKS = st.integers(0, 12)
NANOSECONDS = st.integers(0, 12 * 10**9)
NO_OR_YES = st.booleans()


@st.composite
def grid_times(draw, base, unit, ticks=TICKS):
    return base + unit * draw(ticks)


@st.composite
def clocks(draw):
    """A strategy for times: a coarse grid for ties, odd nanoseconds, or the extremes."""
    kind = draw(KINDS)
    if kind == "extreme":
        return EXTREME_TIMES
    base = draw(BASES)
    if kind == "fine":
        return grid_times(base, 1, NANOSECONDS)
    return grid_times(base, draw(UNITS))


STATE_TIMES = grid_times(0, 1000)
TOKENS = (
    st.integers(0, 5)
    | st.integers(0, 4000)
    | st.sampled_from([TOKENS_LIMIT - 1, TOKENS_LIMIT - 2, 2**32])
    | st.none()
)
PHASES = st.sampled_from(["all", "all", "no end", "no gen", "no gen, no end"])
CREDITS = st.sampled_from(["none", "any", "early"])
AMOUNTS = st.integers(0, 3) | st.sampled_from([TOKENS_LIMIT - 1, 1000])
FEW = st.integers(0, 3)
UP_TO_FIVE = st.integers(0, 5)
STATUSES = st.sampled_from([oracle.OK] * 3 + [oracle.FAILED, oracle.CANCELLED])
FLAGS = st.sampled_from([0, oracle.STREAMING])


@st.composite
def valid_records(draw, times):
    """One record that breaks no rule."""
    start, gen, end = sorted((draw(times), draw(times), draw(times)))
    has = draw(PHASES)
    if "no gen" in has:
        gen = None
    if "no end" in has:
        end = None
    credit, order = None, draw(CREDITS)
    if order != "none":
        credit = draw(times)
        credit = min(credit, start) if order == "early" else credit
    inp, out = draw(TOKENS), draw(TOKENS)
    arrivals = counts = None
    if gen is not None and draw(NO_OR_YES):
        drawn = [draw(times) for _ in range(draw(UP_TO_FIVE))]
        high = LIMIT if end is None else end
        arrivals = tuple(sorted(min(max(t, gen), high) for t in drawn))
        if draw(NO_OR_YES):
            counts = tuple(draw(AMOUNTS) for _ in arrivals)
            if sum(counts) < TOKENS_LIMIT - 3 and draw(NO_OR_YES):
                out = sum(counts) + draw(FEW)
    status = oracle.OK if end is None else draw(STATUSES)
    flags = draw(FLAGS)
    return Rec(start, gen, end, credit, inp, out, arrivals, counts, status, flags)


@st.composite
def runs(draw, min_size=0, max_size=8, windowed=True):
    """Records of one run, and the two edges of a window (None: not set)."""
    times = draw(clocks())
    records = draw(st.lists(valid_records(times), min_size=min_size, max_size=max_size))
    begin = end = None
    if windowed:
        begin = draw(times) if draw(NO_OR_YES) else None
        end = draw(times) if draw(NO_OR_YES) else None
        if begin is not None and end is not None:
            begin, end = min(begin, end), max(begin, end)
    return records, begin, end


FRACTIONS = st.sampled_from(
    sorted({k / n for n in (1, 2, 3, 7, 10, 24) for k in range(n + 1)})
)
ANY_Q = FRACTIONS | st.floats(0, 1) | st.sampled_from([1e-13, 4e-13, 1 - 1e-13, 0.999])
LISTS_OF_Q = st.lists(ANY_Q, max_size=5)


@st.composite
def quantile_lists(draw):
    return [q for q in draw(LISTS_OF_Q) if rounded_q(q) is not None]


NEAR = st.sampled_from([0, EPOCH, LIMIT, -LIMIT, LIMIT - 4, 4 - LIMIT])
FAR = st.sampled_from([2**63 - 1, 1 - 2**63, LIMIT + 1, -LIMIT - 1, 0])
STEPS = st.integers(-6, 6)
ONE_IN_EIGHT = st.sampled_from([False] * 7 + [True])
WRONG_TOKENS = st.sampled_from(
    [-2, -3, TOKENS_LIMIT - 1, TOKENS_LIMIT, 2**63 - 1, 1 - 2**63, -(2**63)]
)
SMALL_TOKENS = st.none() | st.integers(0, 9)
UP_TO_FOUR = st.integers(0, 4)
WRONG_AMOUNTS = st.sampled_from([-1, -2, TOKENS_LIMIT, TOKENS_LIMIT - 1, 2**63 - 1])
CLAIMS = st.integers(0, 2)
HUGE_CLAIMS = st.sampled_from([TOKENS_LIMIT, TOKENS_LIMIT + 1, 2**64 - 1])
ANY_STATUS = st.sampled_from([0] * 6 + [1, 2, 3, -1, 2**31 - 1, -(2**31)])


@st.composite
def maybe_wrong_records(draw):
    """A record of which anything may be wrong, times and counts mostly close together."""
    near = draw(NEAR)
    far = draw(ONE_IN_EIGHT)

    def time():
        if far and draw(ONE_IN_EIGHT):
            return draw(FAR)
        return near + draw(STEPS)

    def tokens():
        return draw(WRONG_TOKENS) if draw(ONE_IN_EIGHT) else draw(SMALL_TOKENS)

    start, gen, end = time(), time(), time()
    if draw(NO_OR_YES):
        start, gen, end = sorted((start, gen, end))
    if draw(ONE_IN_EIGHT):
        start = None
    if draw(ONE_IN_EIGHT):
        gen = None
    if draw(ONE_IN_EIGHT):
        end = None
    credit = time() if draw(NO_OR_YES) else None
    inp, out = tokens(), tokens()
    arrivals = counts = claimed = None
    if draw(NO_OR_YES):
        drawn = [time() for _ in range(draw(UP_TO_FOUR))]
        if draw(NO_OR_YES):
            low = start if gen is None else gen
            low = near if low is None else low
            high = max(low, near + 6 if end is None else end)
            drawn = sorted(min(max(t, low), high) for t in drawn)
        arrivals = tuple(drawn)
        if draw(NO_OR_YES):
            wrong = draw(ONE_IN_EIGHT)
            counts = tuple(
                draw(WRONG_AMOUNTS) if wrong and draw(NO_OR_YES) else draw(UP_TO_FOUR)
                for _ in arrivals
            )
        if draw(ONE_IN_EIGHT):
            arrivals, counts, claimed = None, None, draw(CLAIMS)
        elif draw(ONE_IN_EIGHT):
            claimed = draw(HUGE_CLAIMS)
    return Rec(start, gen, end, credit, inp, out, arrivals, counts, draw(ANY_STATUS),
               draw(FLAGS), claimed)


def seeded_run(seed, count, slots, grid):
    """A closed loop of `slots` users, for runs too long to draw one by one."""
    rng = random.Random(seed)
    free = [(0, slot) for slot in range(slots)]
    records = []
    while len(records) < count:
        free.sort()
        ready, slot = free.pop(0)
        start = ready + rng.randrange(0, 3) * grid
        gen = start + rng.randrange(0, 6) * grid
        gen += rng.randrange(grid) if grid > 9 else 0
        end = gen + rng.randrange(0, 30) * grid
        out = rng.randrange(0, 40)
        arrivals = counts = None
        if rng.random() < 0.4:
            count_here = rng.randrange(6)
            arrivals = tuple(sorted(rng.randint(gen, end) for _ in range(count_here)))
            if rng.random() < 0.5:
                counts = tuple(rng.randrange(4) for _ in arrivals)
        status, has_gen, has_end = oracle.OK, True, True
        chance = rng.random()
        if chance < 0.1:
            status = rng.choice([oracle.FAILED, oracle.CANCELLED])
            has_gen = rng.random() < 0.5
        elif chance > 0.99:
            has_end = False
        if not has_gen:
            arrivals = counts = None
        records.append(
            Rec(start, gen if has_gen else None, end if has_end else None,
                ready if rng.random() < 0.9 else None, rng.randrange(0, 3000), out,
                arrivals, counts, status, rng.randrange(2))
        )
        free.append((end, slot))
    return records


# ---------------------------------------------------------------- comparison


def close(got, exact, absolute=0):
    if exact == oracle.INF:
        return got == oracle.INF
    if got != got or got in (oracle.INF, -oracle.INF):
        return False
    return abs(Fraction(got) - exact) <= Fraction(abs(exact)) / 10**12 + absolute


def bits(values):
    return struct.pack("<%dd" % len(values), *values)


def snapshot(analysis, q=()):
    """Every bit that an analysis answers, but for the origin of time."""
    answers = []
    balance = analysis.balance()
    answers.append(tw.bytes_of(balance))
    begin, end = analysis.bounds()
    answers.append(end - begin)
    for tag in analysis.lib.ids:
        status, summary = analysis.summary(tag)
        answers.append((tag, status, tw.bytes_of(summary)))
        status, values = analysis.quantiles(tag, [0.0] + STANDARD_Q + [1.0] + list(q))
        answers.append((tag, status, bits(values)))
    return answers


def expected_fields(numbers, kind):
    fields = tw.HAS_AVG
    if kind == tw.KIND_SCALAR:
        return fields
    fields |= tw.HAS_MIN | tw.HAS_MAX
    if numbers.std is not None:
        fields |= tw.HAS_STD
    if kind == tw.KIND_CURVE:
        fields |= tw.HAS_WEIGHT
        if numbers.active is not None:
            fields |= tw.HAS_ACTIVE
    else:
        fields |= tw.HAS_SUM | tw.HAS_COUNT
    return fields


class Checks(unittest.TestCase):
    maxDiff = None

    def compare_metric(self, analysis, tag, numbers, q):
        library = analysis.lib
        kind = library.kinds[tag]
        status, got = analysis.summary(tag)
        if numbers is None:
            self.assertEqual(status, tw.NODATA, "%s must not be emitted" % tag)
            status, _ = analysis.quantiles(tag, q)
            self.assertIn(
                status, (tw.NOTSUP,) if kind == tw.KIND_SCALAR else (tw.NODATA,), tag
            )
            return
        self.assertEqual(status, tw.OK, "%s must be emitted" % tag)
        self.assertEqual(got.fields, expected_fields(numbers, kind), "%s.fields" % tag)
        self.assertEqual((got.flags, got.reserved, got.error_bound), (0, 0, 0.0), tag)
        for member, exact, absolute in (
            ("avg", numbers.avg, numbers.slack),
            ("min", numbers.min, numbers.slack),
            ("max", numbers.max, numbers.slack),
            ("sum", numbers.sum, numbers.slack * (numbers.count or 0)),
        ):
            value = getattr(got, member)
            if exact is None:
                self.assertEqual(value, 0.0, "%s.%s" % (tag, member))
            elif not close(value, exact, absolute):
                self.fail("%s.%s is %r, not %r" % (tag, member, value, float(exact)))
        if numbers.std is None:
            self.assertEqual(got.std, 0.0, "%s.std" % tag)
        else:
            allowed = Fraction(numbers.largest) / 10**12 + numbers.slack
            if got.std != got.std or abs(Fraction(got.std) - numbers.std) > allowed:
                self.fail("%s.std is %r, not %r" % (tag, got.std, float(numbers.std)))
        for member, exact in (
            ("weight_ns", numbers.weight),
            ("active_ns", numbers.active),
            ("count", numbers.count),
        ):
            self.assertEqual(getattr(got, member), exact or 0, "%s.%s" % (tag, member))
        status, values = analysis.quantiles(tag, q)
        if kind == tw.KIND_SCALAR:
            self.assertEqual(status, tw.NOTSUP, tag)
            return
        self.assertEqual(status, tw.OK, tag)
        for point, value in zip(q, values):
            exact = numbers.quantile(rounded_q(point))
            if not close(value, exact, numbers.slack):
                self.fail(
                    "%s at quantile %r is %r, not %r" % (tag, point, value, float(exact))
                )
        status, ladder = analysis.quantiles(tag, [0.0] + STANDARD_Q + [1.0])
        self.assertEqual(status, tw.OK)
        self.assertEqual(ladder, sorted(ladder), "%s: quantiles in order" % tag)
        self.assertEqual((ladder[0], ladder[-1]), (got.min, got.max), "%s: ends" % tag)
        self.assertTrue(got.min <= got.avg <= got.max, "%s: min <= avg <= max" % tag)

    def compare(self, analysis, expected, q=()):
        self.assertEqual(analysis.bounds(), (expected.begin, expected.end), "bounds")
        balance = analysis.balance()
        for member, exact in expected.balance.items():
            self.assertEqual(getattr(balance, member), exact, "balance: %s" % member)
        self.assertEqual(set(analysis.lib.ids), set(expected.metrics), "tags")
        points = [0.0] + STANDARD_Q + [1.0] + list(q)
        for tag in analysis.lib.ids:
            self.compare_metric(analysis, tag, expected.metrics[tag], points)

    def analyze_once(self, records, q=(), **options):
        recorder = tw.Recorder(LIBRARY, records)
        try:
            analysis = LIBRARY.analyze([recorder], **options)
        finally:
            recorder.free()
        try:
            return snapshot(analysis, q)
        finally:
            analysis.free()

    def differential(self, records, begin, end, q=(), named=()):
        recorder = tw.Recorder(LIBRARY, records)
        try:
            try:
                expected = Oracle(records, begin, end)
            except BeginAfterEnd:
                with self.assertRaises(tw.TwError) as raised:
                    LIBRARY.analyze([recorder], begin, end)
                self.assertEqual(raised.exception.status, tw.INVAL)
                return
            analysis = LIBRARY.analyze([recorder], begin, end, quantiles=named)
        finally:
            recorder.free()
        try:
            self.compare(analysis, expected, list(q) + list(named))
        finally:
            analysis.free()


# ---------------------------------------------------------------- properties


class Definitions(Checks):
    """The library answers what the definitions say, number for number."""

    @effort(9)
    @given(runs(), quantile_lists(), quantile_lists())
    def test_any_run(self, run, q, named):
        self.differential(*run, q, named)

    @effort(1)
    @given(runs(min_size=9, max_size=24), quantile_lists())
    def test_crowded_run(self, run, q):
        self.differential(*run, q)

    @effort(0.1)
    @given(
        st.integers(0, 2**32 - 1),
        st.integers(30, 200),
        st.integers(1, 9),
        st.sampled_from([1, 1000, 10**6]),
        st.booleans(),
    )
    def test_long_closed_loop(self, seed, count, slots, grid, cut):
        records = seeded_run(seed, count, slots, grid)
        begin = end = None
        if cut:
            begin, end = sorted(records[k].start for k in (count // 3, count // 2))
        self.differential(records, begin, end, [0.123, 0.999])

    @effort(0.1)
    @given(
        st.integers(0, 2**32 - 1),
        st.integers(40, 120),
        st.sampled_from([300, 2**20 + 5, 10**9, 2**50]),
        st.sampled_from([2, 50, 300, 100000]),
        quantile_lists(),
    )
    def test_crowded_values(self, seed, count, length, spread, q):
        """Many values that differ in their last digits only."""
        rng = random.Random(seed)
        records, now = [], 0
        for _ in range(count):
            gen = now + length + rng.randrange(spread)
            end = gen + length + rng.randrange(spread)
            out = 1000 + rng.randrange(spread)
            records.append(Rec(now, gen, end, now - rng.randrange(spread), 777, out))
            now = end
        self.differential(records, None, None, q)

    @effort(2)
    @given(st.data())
    def test_default_window_spelled_out(self, data):
        records, _, _ = data.draw(runs(min_size=1, windowed=False))
        expected = Oracle(records)
        self.assertEqual(
            self.analyze_once(records),
            self.analyze_once(records, begin=expected.begin, end=expected.end),
        )


class Validation(Checks):
    """Accepted if and only if valid; what is said about a refusal is true."""

    @effort(16)
    @given(maybe_wrong_records())
    def test_one_record(self, record):
        wrong = oracle.violations(record)
        recorder = tw.Recorder(LIBRARY)
        try:
            status, accepted = recorder.append([record])
            error, balance = recorder.last_error(), recorder.balance()
        finally:
            recorder.free()
        if not wrong:
            self.assertEqual((status, accepted, balance.issued), (tw.OK, 1, 1))
            self.assertEqual((error.status, error.rule, error.field), (tw.OK, 0, 0))
            self.assertEqual(balance.refused, 0)
            return
        note("true statements: %r" % wrong)
        self.assertEqual((status, balance.issued), (tw.RANGE, 0), "refused: %r" % wrong)
        self.assertEqual((error.status, error.row), (tw.RANGE, 0))
        self.assertIn((error.rule, error.field), wrong)
        values = {
            tw.TIME_NONE if value is None else min(value, 2**63 - 1)
            for value in wrong[error.rule, error.field]
        }
        self.assertIn(error.value_a, values, "value_a")
        elements = {oracle.F_ARRIVAL: record.arrivals, oracle.F_COUNTS: record.counts}
        if elements.get(error.field):
            self.assertEqual(error.value_a, elements[error.field][error.index], "index")
        else:
            self.assertEqual(error.index, 0, "index")
        refused = [k for k in range(tw.RULE_LIMIT) if balance.refused_by_rule[k]]
        self.assertEqual((balance.refused, refused), (1, [error.rule]))
        self.assertEqual(balance.refused_by_rule[error.rule], 1)

    @effort(3)
    @given(st.lists(maybe_wrong_records(), max_size=6), st.booleans())
    def test_batches(self, records, skip):
        good = [r for r in records if not oracle.violations(r)]
        bad = [k for k, r in enumerate(records) if oracle.violations(r)]
        recorder = tw.Recorder(LIBRARY)
        try:
            status, accepted = recorder.append(records, tw.SKIP_INVALID if skip else 0)
            error, balance = recorder.last_error(), recorder.balance()
            if bad:
                self.assertEqual(error.row, bad[0], "the first that was refused")
                self.assertIn(
                    (error.rule, error.field), oracle.violations(records[bad[0]])
                )
            if skip or not bad:
                self.assertEqual((status, accepted), (tw.OK, len(good)))
                self.assertEqual((balance.issued, balance.refused), (len(good), len(bad)))
            else:
                self.assertEqual((status, balance.issued), (tw.RANGE, 0))
                self.assertEqual(balance.refused, 1)
            self.assertEqual(sum(balance.refused_by_rule), balance.refused)
            if skip and all(abs(r.start) < LIMIT for r in good):
                analysis = LIBRARY.analyze([recorder])
                try:
                    self.compare(analysis, Oracle(good))
                finally:
                    analysis.free()
        finally:
            recorder.free()


class Storage(Checks):
    """Records come back as they went in; columns are records written otherwise."""

    @staticmethod
    def raw(record):
        def time(value):
            return tw.TIME_NONE if value is None else value

        return (
            time(record.credit),
            time(record.start),
            time(record.gen),
            time(record.end),
            tw.TOKENS_NONE if record.inp is None else record.inp,
            tw.TOKENS_NONE if record.out is None else record.out,
            list(record.arrivals or ()),
            list(record.counts or ()),
            record.status,
            record.flags,
        )

    @effort(1)
    @given(runs(max_size=12, windowed=False), st.integers(0, 12), st.integers(0, 13))
    def test_read_back(self, run, first, capacity):
        records = run[0]
        first = min(first, len(records))
        recorder = tw.Recorder(LIBRARY, records)
        try:
            self.assertEqual(
                recorder.read(first, capacity),
                [self.raw(r) for r in records[first : first + capacity]],
            )
        finally:
            recorder.free()

    @effort(4)
    @given(
        st.lists(maybe_wrong_records() | valid_records(STATE_TIMES), max_size=6),
        st.booleans(),
        st.booleans(),
        st.lists(st.integers(0, 2), min_size=8, max_size=8),
    )
    def test_columns(self, records, counted, skip, layouts):
        rows = []
        for r in records:
            arrivals = r.arrivals or None
            counts = None
            if arrivals and counted:
                counts = r.counts or (0,) * len(arrivals)
            rows.append(Rec(r.start, r.gen, r.end, r.credit, r.inp, r.out, arrivals,
                            counts, r.status, r.flags))
        flags = tw.SKIP_INVALID if skip else 0
        by_row, by_column = tw.Recorder(LIBRARY), tw.Recorder(LIBRARY)
        try:
            self.assertEqual(
                by_column.append_columns(rows, layouts, flags), by_row.append(rows, flags)
            )
            for question in (tw.Recorder.last_error, tw.Recorder.balance):
                self.assertEqual(
                    tw.bytes_of(question(by_column)), tw.bytes_of(question(by_row))
                )
            stored = by_row.count()
            self.assertEqual(by_column.read(0, stored + 1), by_row.read(0, stored + 1))
        finally:
            by_row.free()
            by_column.free()


class Laws(Checks):
    """Relations between two questions; mostly the same bits."""

    @effort(2)
    @given(st.data())
    def test_permutation(self, data):
        records, begin, end = data.draw(runs(min_size=2))
        other = data.draw(st.permutations(records))
        try:
            Oracle(records, begin, end)
        except BeginAfterEnd:
            assume(False)
        self.assertEqual(
            self.analyze_once(records, begin=begin, end=end),
            self.analyze_once(other, begin=begin, end=end),
        )

    @effort(2)
    @given(st.data())
    def test_recorders_with_clocks(self, data):
        records, begin, end = data.draw(runs())
        try:
            Oracle(records, begin, end)
        except BeginAfterEnd:
            assume(False)
        count = data.draw(st.integers(1, 4), label="recorders")
        parts = [[] for _ in range(count)]
        for record in records:
            parts[data.draw(st.integers(0, count - 1))].append(record)
        recorders = []
        for part in parts:
            times = [
                t for r in part
                for t in (r.start, r.gen, r.end, r.credit) + (r.arrivals or ())
                if t is not None
            ]
            low = max(-LIMIT, max(times, default=0) - LIMIT)
            high = min(LIMIT, min(times, default=0) + LIMIT)
            offset = data.draw(st.sampled_from([0, low, high]) | st.integers(low, high))
            stored = [r.shifted(-offset) for r in part]
            recorders.append(tw.Recorder(LIBRARY, stored, offset=offset))
        analysis = LIBRARY.analyze(recorders, begin, end)
        for recorder in recorders:
            recorder.free()
        try:
            self.assertEqual(
                snapshot(analysis), self.analyze_once(records, begin=begin, end=end)
            )
        finally:
            analysis.free()

    @effort(1)
    @given(st.data())
    def test_clock_out_of_range(self, data):
        records, _, _ = data.draw(runs(min_size=1, windowed=False))
        times = [
            t for r in records
            for t in (r.start, r.gen, r.end, oracle.credit_of(r)) + (r.arrivals or ())
            if t is not None
        ]
        offset = data.draw(
            st.integers(-LIMIT, LIMIT)
            | st.sampled_from(
                [LIMIT - max(times) + k for k in (-1, 0, 1)]
                + [-LIMIT - min(times) + k for k in (-1, 0, 1)]
            )
        )
        assume(-LIMIT <= offset <= LIMIT)
        fits = all(-LIMIT <= t + offset <= LIMIT for t in times)
        recorder = tw.Recorder(LIBRARY, records, offset=offset)
        try:
            if fits:
                analysis = LIBRARY.analyze([recorder])
                try:
                    self.compare(analysis, Oracle([r.shifted(offset) for r in records]))
                finally:
                    analysis.free()
            else:
                with self.assertRaises(tw.TwError) as raised:
                    LIBRARY.analyze([recorder])
                self.assertEqual(raised.exception.status, tw.RANGE)
        finally:
            recorder.free()

    @effort(2)
    @given(st.data())
    def test_time_shift(self, data):
        records, begin, end = data.draw(runs(min_size=1))
        try:
            Oracle(records, begin, end)
        except BeginAfterEnd:
            assume(False)
        times = [
            t for r in records
            for t in (r.start, r.gen, r.end, r.credit) + (r.arrivals or ())
            if t is not None
        ] + [t for t in (begin, end) if t is not None]
        low, high = -LIMIT - min(times), LIMIT - max(times)
        by = data.draw(st.sampled_from([low, high]) | st.integers(low, high))
        self.assertEqual(
            self.analyze_once(records, begin=begin, end=end),
            self.analyze_once(
                [r.shifted(by) for r in records],
                begin=None if begin is None else begin + by,
                end=None if end is None else end + by,
            ),
        )

    @effort(2)
    @given(st.data())
    def test_tiles_add_up(self, data):
        times = data.draw(clocks())
        records = data.draw(st.lists(valid_records(times), min_size=1, max_size=8))
        expected = Oracle(records)
        cuts = data.draw(st.lists(times, max_size=4))
        edges = sorted(
            [expected.begin, expected.end]
            + [c for c in cuts if expected.begin < c < expected.end]
        )
        edges = [e for k, e in enumerate(edges) if k < 1 or k == len(edges) - 1
                 or e != edges[k - 1]]
        recorder = tw.Recorder(LIBRARY, records)
        whole = LIBRARY.analyze([recorder])
        tiles = [LIBRARY.analyze([recorder], a, b) for a, b in zip(edges, edges[1:])]
        recorder.free()
        try:
            self.assertEqual(
                whole.balance().members, sum(t.balance().members for t in tiles)
            )
            for tag, kind in LIBRARY.kinds.items():
                self.tile(tag, kind, whole, tiles)
        finally:
            for analysis in [whole] + tiles:
                analysis.free()

    def tile(self, tag, kind, whole, tiles):
        status, total = whole.summary(tag)
        parts = [s for status, s in (t.summary(tag) for t in tiles) if status == tw.OK]
        if status != tw.OK:
            if not tag.startswith("adj_"):
                self.assertEqual(parts, [], tag)
            return
        if kind == tw.KIND_CURVE:
            active = total.fields & tw.HAS_ACTIVE

            def length(s):
                return s.active_ns if active else s.weight_ns

            self.assertEqual(length(total), sum(map(length, parts)), tag)
            integral = Fraction(total.avg) * length(total)
            pieces = sum(Fraction(s.avg) * length(s) for s in parts)
            slack = 10 * oracle.RATE_UNIT * length(total)
            self.assertLessEqual(abs(integral - pieces), integral / 10**12 + slack, tag)
            self.assertEqual(total.max, max(s.max for s in parts), tag)
            self.assertEqual(total.min, min(s.min for s in parts), tag)
        elif kind == tw.KIND_SAMPLE and not tag.startswith("adj_"):
            self.assertEqual(total.count, sum(s.count for s in parts), tag)
            self.assertEqual(total.max, max(s.max for s in parts), tag)
            self.assertEqual(total.min, min(s.min for s in parts), tag)
        elif tag in ("request_count", "error_request_count"):
            self.assertEqual(total.avg, sum(s.avg for s in parts), tag)

    @effort(1)
    @given(runs(), quantile_lists())
    def test_named_quantiles(self, run, q):
        """Naming quantiles, asking one by one or all at once: the same bits."""
        records, begin, end = run
        try:
            Oracle(records, begin, end)
        except BeginAfterEnd:
            assume(False)
        recorder = tw.Recorder(LIBRARY, records)
        named = LIBRARY.analyze([recorder], begin, end, quantiles=q)
        plain = LIBRARY.analyze([recorder], begin, end)
        recorder.free()
        try:
            self.assertEqual(snapshot(named, q), snapshot(plain, q))
            for tag in LIBRARY.ids:
                _, together = plain.quantiles(tag, q)
                single = [plain.quantiles(tag, [point])[1][0] for point in q]
                self.assertEqual(bits(together), bits(single), tag)
        finally:
            named.free()
            plain.free()

    @effort(0.05)
    @given(st.integers(0, 2**32 - 1), st.sampled_from([1500, 5000, 12000]),
           st.integers(1, 40))
    def test_long_runs(self, seed, count, slots):
        """Order, recorders, threads, kernel and clock change no bit of a long run."""
        records = seeded_run(seed, count, slots, 1000)
        begin, end = records[count // 5].start, records[count // 5 * 4].start
        rng = random.Random(seed)
        q = [0.123456789, 0.777, 0.9999]
        for edges in ((None, None), (begin, max(begin, end))):
            first = self.analyze_once(records, q, begin=edges[0], end=edges[1])
            other = list(records)
            rng.shuffle(other)
            parts = [other[k::3] for k in range(3)]
            offsets = [0, 10**15 + 7, -EPOCH]
            recorders = [
                tw.Recorder(LIBRARY, [r.shifted(-o) for r in part], offset=o)
                for part, o in zip(parts, offsets)
            ]
            analysis = LIBRARY.analyze(
                recorders, edges[0], edges[1], q, threads=4, kernel=1
            )
            for recorder in recorders:
                recorder.free()
            self.assertEqual(snapshot(analysis, q), first)
            analysis.free()

    @effort(1)
    @given(runs(min_size=1), st.integers(0, 5))
    def test_threads_and_kernels(self, run, threads):
        records, begin, end = run
        try:
            Oracle(records, begin, end)
        except BeginAfterEnd:
            assume(False)
        self.assertEqual(
            self.analyze_once(records, begin=begin, end=end),
            self.analyze_once(records, begin=begin, end=end, threads=threads, kernel=1),
        )


# ---------------------------------------------------------------- the recorder's life

class RecorderLife(RuleBasedStateMachine):
    """A recorder and the analyses made from it, in any order of calls."""

    analyses = Bundle("analyses")

    def __init__(self):
        super().__init__()
        self.checks = Checks()
        self.memory = tw.CountingAllocator()
        self.kept_memory = tw.CountingAllocator()
        self.open = []
        self._start()

    def _start(self):
        self.recorder = tw.Recorder(LIBRARY, allocator=self.memory)
        self.records = []
        self.offset = 0
        self.refused = 0
        self.error = (tw.OK, 0)

    @rule(records=st.lists(valid_records(STATE_TIMES), max_size=5))
    def append(self, records):
        assert self.recorder.append(records) == (tw.OK, len(records))
        self.records += records

    @rule(
        record=valid_records(STATE_TIMES),
        count=st.sampled_from([1, 300, 1100]),
    )
    def append_many(self, record, count):
        """Enough to fill blocks, without chunks to keep it quick."""
        plain = Rec(record.start, record.gen, record.end, record.credit, record.inp,
                    record.out, None, None, record.status, record.flags)
        if len(self.records) > 2500:
            return
        assert self.recorder.append([plain] * count) == (tw.OK, count)
        self.records += [plain] * count

    @rule(
        records=st.lists(maybe_wrong_records() | valid_records(STATE_TIMES), max_size=4)
    )
    def append_all_or_nothing(self, records):
        bad = [k for k, r in enumerate(records) if oracle.violations(r)]
        if not bad:
            return
        status, _ = self.recorder.append(records)
        assert status == tw.RANGE, status
        self.refused += 1
        self.error = (tw.RANGE, bad[0])

    @rule(
        records=st.lists(valid_records(STATE_TIMES), max_size=4),
        wrong=st.lists(maybe_wrong_records(), max_size=2),
        at=st.integers(0, 4),
    )
    def append_skipping(self, records, wrong, at):
        wrong = [r for r in wrong if oracle.violations(r)]
        mixed = records[:at] + wrong + records[at:]
        assert self.recorder.append(mixed, tw.SKIP_INVALID) == (tw.OK, len(records))
        self.records += records
        if wrong:
            self.refused += len(wrong)
            self.error = (tw.RANGE, len(records[:at]))

    @rule(records=st.lists(valid_records(STATE_TIMES), min_size=1, max_size=3),
          call=st.booleans(), skip=st.booleans())
    def append_unknown_flag(self, records, call, skip):
        flags = tw.SKIP_INVALID if skip else 0
        if call:
            flags |= 2
        else:
            last = records[-1]
            records[-1] = Rec(last.start, last.gen, last.end, flags=2, status=last.status)
        status, _ = self.recorder.append(records, flags)
        assert status == tw.NOTSUP, status
        self.error = (tw.NOTSUP, None)

    @rule(records=st.lists(valid_records(STATE_TIMES), min_size=1, max_size=5))
    def append_without_memory(self, records):
        """Where memory is short nothing happens; where it was there already, all does."""
        self.memory.failing, self.memory.refusals = True, 0
        status, accepted = self.recorder.append(records)
        self.memory.failing = False
        if self.memory.refusals:
            assert status == tw.NOMEM, status
            self.error = (tw.NOMEM, None)
        else:
            assert (status, accepted) == (tw.OK, len(records))
            self.records += records

    @rule(count=st.sampled_from([0, 1, 10, 2000]), record=valid_records(STATE_TIMES))
    def reserve(self, count, record):
        """What was reserved can be appended when no memory is left."""
        assert self.recorder.reserve(count) == tw.OK
        plain = Rec(record.start, record.gen, record.end)
        self.memory.failing, self.memory.refusals = True, 0
        use = min(count, 10)
        result = self.recorder.append([plain] * use)
        self.memory.failing = False
        assert result == (tw.OK, use), result
        assert not self.memory.refusals
        self.records += [plain] * use

    @rule()
    def clear(self):
        self.recorder.clear()
        self.records = []
        self.refused = 0
        self.error = (tw.OK, 0)

    @rule()
    def renew(self):
        """Free the recorder under the analyses, and make another."""
        self.recorder.free()
        self._start()

    @rule(offset=st.sampled_from([0, 5, -1000, 10**12]))
    def set_clock(self, offset):
        self.recorder.set_clock(offset)
        self.offset = offset

    @rule(
        target=analyses,
        begin=st.none() | STATE_TIMES,
        q=quantile_lists(),
        exact=st.booleans(),
    )
    def analyze(self, begin, q, exact):
        try:
            expected = Oracle([], begin) if begin is None or not self.records else None
            if self.records:
                shifted = [r.shifted(self.offset) for r in self.records]
                if len(shifted) > 60:
                    latest = max(oracle.latest_known(r) for r in shifted)
                    if begin is not None and begin > latest:
                        raise BeginAfterEnd()
                    expected = None
                else:
                    expected = Oracle(shifted, begin)
        except BeginAfterEnd:
            try:
                LIBRARY.analyze([self.recorder], begin, allocator=self.kept_memory)
            except tw.TwError as error:
                assert error.status == tw.INVAL
            else:
                raise AssertionError("a window that begins after its end")
            return None
        analysis = LIBRARY.analyze(
            [self.recorder], begin, quantiles=q, allocator=self.kept_memory
        )
        self.open.append(analysis)
        if expected is not None and exact:
            self.checks.compare(analysis, expected, q)
        assert analysis.balance().issued == len(self.records)
        return [analysis, snapshot(analysis, q), q]

    @rule(kept=analyses)
    def ask_again(self, kept):
        if kept is not None and kept[0] in self.open:
            assert snapshot(kept[0], kept[2]) == kept[1], "an analysis has changed"

    @rule(kept=consumes(analyses))
    def free_analysis(self, kept):
        if kept is not None:
            assert snapshot(kept[0], kept[2]) == kept[1], "an analysis has changed"
            kept[0].free()
            self.open.remove(kept[0])

    @invariant()
    def counts(self):
        assert self.recorder.count() == len(self.records)
        balance = self.recorder.balance()
        assert balance.issued == len(self.records)
        assert balance.issued == (
            balance.ok + balance.failed + balance.cancelled + balance.in_flight
        )
        assert balance.refused == sum(balance.refused_by_rule) == self.refused
        if len(self.records) <= 60:
            for member, exact in Oracle(self.records).balance.items():
                windowed = ("overlapping", "members", "cut_at_begin", "cut_at_end")
                got = getattr(balance, member)
                assert got == (0 if member in windowed else exact), (member, got, exact)
        error = self.recorder.last_error()
        assert error.status == self.error[0], (error.status, self.error)
        if self.error[1] is not None:
            assert error.row == self.error[1]

    @invariant()
    def books(self):
        """The recorder holds what it says, and everything went back as it came."""
        assert not self.memory.faults and not self.kept_memory.faults, (
            self.memory.faults + self.kept_memory.faults
        )
        if not self.open:
            held, said = self.memory.bytes(), self.recorder.memory()
            assert held == said, "holds %d bytes, says %d" % (held, said)

    def teardown(self):
        self.recorder.free()
        for analysis in self.open:
            analysis.free()
        assert not self.memory.live, "a recorder's memory was not released"
        assert not self.kept_memory.live, "an analysis's memory was not released"


class Life(RecorderLife.TestCase):
    settings = settings(effort(0.5), stateful_step_count=25)


def main():
    global LIBRARY
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    LIBRARY = tw.Binding(sys.argv[1])
    program = unittest.main(argv=[sys.argv[0]] + sys.argv[2:], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
