# SPDX-License-Identifier: MIT
"""What the library must answer, in exact rational arithmetic, with no thought of speed.

Every rule is written down from the definitions (the words in capitals are theirs), one
after the other: pieces of curves, segments, statistics, members, balance.
"""

from dataclasses import dataclass, fields
from fractions import Fraction
from math import isqrt

LIMIT = 2**61
TOKENS_LIMIT = 2**40
OK, FAILED, CANCELLED = 0, 1, 2
STREAMING = 1
INF = float("inf")
GIGA = 10**9
RATE_UNIT = Fraction(1, 2**59)

# tw_rule and tw_field
(START_MISSING, TIME_RANGE, GENERATION_BEFORE_START, END_BEFORE_START,
 END_BEFORE_GENERATION, END_MISSING, STATUS_UNKNOWN, TOKENS_RANGE, CHUNK_ARRIVAL_MISSING,
 CHUNK_COUNT_RANGE, CHUNK_BEFORE_GENERATION, CHUNK_ORDER, CHUNK_AFTER_END,
 CHUNK_TOKENS_RANGE) = range(1, 15)
(F_CREDIT, F_START, F_GENERATION, F_END, F_INPUT, F_OUTPUT, F_ARRIVAL, F_COUNTS, F_COUNT,
 F_STATUS, F_FLAGS) = range(1, 12)


@dataclass(frozen=True)
class Rec:
    """One record; None is "not recorded". claimed_count is for wrong records only."""

    start: int = None
    gen: int = None
    end: int = None
    credit: int = None
    inp: int = None
    out: int = None
    arrivals: tuple = None
    counts: tuple = None
    status: int = OK
    flags: int = 0
    claimed_count: int = None

    def __repr__(self):
        parts = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                parts.append("%s=%r" % (field.name, value))
        return "Rec(%s)" % ", ".join(parts)

    def chunk_count(self):
        if self.claimed_count is not None:
            return self.claimed_count
        return 0 if self.arrivals is None else len(self.arrivals)

    def chunked(self):
        return self.chunk_count() > 0

    def shifted(self, by):
        def move(time):
            return None if time is None else time + by

        arrivals = self.arrivals and tuple(a + by for a in self.arrivals)
        return Rec(move(self.start), move(self.gen), move(self.end), move(self.credit),
                   self.inp, self.out, arrivals, self.counts, self.status, self.flags,
                   self.claimed_count)


def violations(r):
    """VALID: every true statement {(rule, field): values at fault} against the record."""
    found = {}

    def against(rule, field, value):
        found.setdefault((rule, field), set()).add(value)

    times = [(F_CREDIT, r.credit), (F_START, r.start)]
    times += [(F_GENERATION, r.gen), (F_END, r.end)]
    if r.status not in (OK, FAILED, CANCELLED):
        against(STATUS_UNKNOWN, F_STATUS, r.status)
    if r.start is None:
        against(START_MISSING, F_START, None)
    for field, time in times:
        if time is not None and not -LIMIT <= time <= LIMIT:
            against(TIME_RANGE, field, time)
    if r.start is not None and r.gen is not None and r.gen < r.start:
        against(GENERATION_BEFORE_START, F_GENERATION, r.gen)
    if r.start is not None and r.end is not None and r.end < r.start:
        against(END_BEFORE_START, F_END, r.end)
    if r.gen is not None and r.end is not None and r.end < r.gen:
        against(END_BEFORE_GENERATION, F_END, r.end)
    if r.end is None and r.status in (FAILED, CANCELLED):
        against(END_MISSING, F_END, None)
    for field, tokens in ((F_INPUT, r.inp), (F_OUTPUT, r.out)):
        if tokens is not None and not 0 <= tokens < TOKENS_LIMIT:
            against(TOKENS_RANGE, field, tokens)
    if r.chunk_count() > 0:
        if r.chunk_count() >= TOKENS_LIMIT:
            against(CHUNK_COUNT_RANGE, F_COUNT, r.chunk_count())
        if r.arrivals is None:
            against(CHUNK_ARRIVAL_MISSING, F_ARRIVAL, 0)
        if r.gen is None:
            against(CHUNK_BEFORE_GENERATION, F_GENERATION, None)
            if r.arrivals:
                against(CHUNK_BEFORE_GENERATION, F_ARRIVAL, r.arrivals[0])
        before = None
        for arrival in r.arrivals or ():
            if not -LIMIT <= arrival <= LIMIT:
                against(TIME_RANGE, F_ARRIVAL, arrival)
            if r.gen is not None and arrival < r.gen:
                against(CHUNK_BEFORE_GENERATION, F_ARRIVAL, arrival)
            if before is not None and arrival < before:
                against(CHUNK_ORDER, F_ARRIVAL, arrival)
            if r.end is not None and arrival > r.end:
                against(CHUNK_AFTER_END, F_ARRIVAL, arrival)
            before = arrival
        for count in r.counts or ():
            if not 0 <= count < TOKENS_LIMIT:
                against(CHUNK_TOKENS_RANGE, F_COUNTS, count)
    return found


# ---------------------------------------------------------------- one record


def credit_of(r):
    """CREDIT: every use of credit_issued means min(credit_issued, start)."""
    return None if r.credit is None else min(r.credit, r.start)


def latest_known(r):
    if r.end is not None:
        return r.end
    known = (r.start, r.gen) + (r.arrivals or ())
    return max(t for t in known if t is not None)


def counts_ignored(r):
    """CHUNK: counts without output_tokens, or that sum to more than them."""
    if not r.chunked() or r.counts is None:
        return False
    return r.out is None or sum(r.counts) > r.out


def token_arrivals(r):
    """CHUNK: (tokens of arrival 0, [(left, right, tokens) of each positive gap])."""
    edges = sorted(set((r.gen,) + r.arrivals))
    gaps = list(zip(edges, edges[1:]))
    if r.counts is not None and not counts_ignored(r):
        at = {}
        for arrival, count in zip(r.arrivals, r.counts):
            at[arrival] = at.get(arrival, 0) + count
        first = r.out - sum(r.counts) + at.get(r.gen, 0)
        return first, [(a, b, Fraction(at[b])) for a, b in gaps]
    return 1, [(a, b, Fraction(r.out - 1, len(gaps))) for a, b in gaps]


def eligible(r, curve):
    waits = r.gen is None and r.flags & STREAMING
    if curve == "C0":
        return r.credit is not None
    if curve == "C1":
        return True
    if curve == "C2":
        return r.gen is not None or waits
    if curve == "C3":
        return r.gen is not None
    if curve in ("C4", "C8"):
        return r.gen is not None and r.inp is not None
    if curve in ("C5", "C7"):
        if r.out is None or r.out < 1 or r.gen is None:
            return False
        return r.chunked() or r.end is not None
    if curve == "C6":
        return eligible(r, "C4") or eligible(r, "C5")
    if curve == "C9":
        if r.gen is not None:
            return r.inp is not None or r.out is not None
        return bool(waits) and r.inp is not None
    raise KeyError(curve)


def pieces(r, curve, window_end):
    """The intervals [a, b), b > a, that a record puts on a curve, and their amounts."""
    # OPEN: what has no end lasts until the end of the window.
    end = window_end if r.end is None else r.end
    found = []
    if not eligible(r, curve):
        return found
    if curve == "C0":
        found.append((credit_of(r), r.start, 1))
    elif curve == "C1":
        found.append((r.start, end, 1))
    elif curve == "C2":
        found.append((r.start, end if r.gen is None else r.gen, 1))
    elif curve == "C3":
        found.append((r.gen, end, 1))
    elif curve == "C4":
        if r.gen > r.start:
            found.append((r.start, r.gen, Fraction(r.inp * GIGA, r.gen - r.start)))
    elif curve == "C5":
        if r.chunked():
            for a, b, tokens in token_arrivals(r)[1]:
                found.append((a, b, tokens * GIGA / (b - a)))
        elif end > r.gen:
            found.append((r.gen, end, Fraction((r.out - 1) * GIGA, end - r.gen)))
    elif curve == "C9":
        if r.inp is not None:
            found.append((r.start, end, r.inp))
        if r.gen is not None and r.out:
            first, gaps = token_arrivals(r) if r.chunked() else (r.out, [])
            if not gaps:
                first = r.out
            found.append((r.gen, end, first))
            for _, right, tokens in gaps:
                found.append((right, end, tokens))
    else:
        raise KeyError(curve)
    return [(a, b, amount) for a, b, amount in found if b > a]


# ---------------------------------------------------------------- statistics


def root(square):
    """The square root of a Fraction, to some 150 bits after the point."""
    shift = 512
    scaled = (square.numerator << (2 * shift)) // square.denominator
    return Fraction(isqrt(scaled), 1 << shift)


class Numbers:
    """What a metric comes to; None where a member has no value."""

    def __init__(self):
        self.kind = None
        self.avg = self.min = self.max = self.std = self.sum = None
        self.weight = self.active = self.count = None
        self.slack = Fraction(0)
        self.largest = Fraction(0)


class CurveNumbers(Numbers):
    def __init__(self, segments, weight, active, slack):
        super().__init__()
        self.kind = "curve"
        by_value = {}
        for value, duration in segments:
            by_value[value] = by_value.get(value, 0) + duration
        self.levels = sorted(by_value.items())
        self.total = sum(duration for _, duration in self.levels)
        self.avg = sum(Fraction(v) * d for v, d in self.levels) / self.total
        self.min, self.max = self.levels[0][0], self.levels[-1][0]
        self.std = root(sum((v - self.avg) ** 2 * d for v, d in self.levels) / self.total)
        self.weight, self.active = weight, active
        self.slack = slack
        self.largest = max(abs(self.min), abs(self.max))

    def quantile(self, q):
        """Q: the least v whose cumulative duration is >= q D."""
        reached = 0
        for value, duration in self.levels:
            reached += duration
            if reached >= q * self.total:
                return value
        raise AssertionError("q above 1")


class SampleNumbers(Numbers):
    def __init__(self, values, infinities=0, rates=False):
        super().__init__()
        self.kind = "sample"
        self.values = sorted(values)
        self.adjusted = infinities > 0
        self.count = len(values) + infinities
        self.min = self.values[0]
        self.largest = self.values[-1]
        if self.adjusted:
            self.values += [INF] * infinities
            self.avg = self.max = self.sum = INF
        else:
            self.sum = sum(self.values)
            self.avg = Fraction(self.sum) / self.count
            self.max = self.values[-1]
            self.std = root(sum((v - self.avg) ** 2 for v in self.values) / self.count)
        self.slack = RATE_UNIT if rates else Fraction(0)

    def quantile(self, q):
        if self.adjusted:
            for index, value in enumerate(self.values):
                if index + 1 >= q * self.count:
                    return value
            raise AssertionError("q above 1")
        rank = q * (self.count - 1)
        low = rank.numerator // rank.denominator
        high = min(low + 1, self.count - 1)
        return self.values[low] + (self.values[high] - self.values[low]) * (rank - low)


class ScalarNumbers(Numbers):
    def __init__(self, value):
        super().__init__()
        self.kind = "scalar"
        self.avg = Fraction(value)


CURVE_METRICS = {
    "effective_concurrency": ("C1", None),
    "effective_decode_throughput": ("C5", None),
    "effective_prefill_throughput": ("C4", None),
    "effective_decode_concurrency": ("C3", None),
    "effective_prefill_concurrency": ("C2", None),
    "effective_total_throughput": ("C6", None),
    "effective_decode_throughput_per_user": ("C7", None),
    "effective_prefill_throughput_per_user": ("C8", None),
    "tokens_in_flight": ("C9", None),
    "effective_queue_depth": ("C0", None),
    "active_decode_throughput": ("C5", "C3"),
    "active_prefill_throughput": ("C4", "C2"),
    "active_decode_throughput_per_user": ("C7", "C3"),
    "active_prefill_throughput_per_user": ("C8", "C2"),
    "active_total_throughput": ("C6", "C1"),
}
RATES = ("C4", "C5", "C6", "C7", "C8")


class BeginAfterEnd(Exception):
    """The window's begin lies after its end."""


class Oracle:
    """The analysis of records, with the window's edges where they are set."""

    def __init__(self, records, begin=None, end=None):
        self.records = records
        self._window(begin, end)
        self._balance()
        self.metrics = {}
        self._curves()
        self._samples()
        self._scalars()

    def _window(self, begin, end):
        """WIN: from the first credit to the last response, where an edge is not set."""
        self.first_credit = None
        last = None
        if self.records:
            self.first_credit = min(
                r.start if r.credit is None else credit_of(r) for r in self.records
            )
            last = max(latest_known(r) for r in self.records)
        if begin is None:
            begin = self.first_credit
        if end is None:
            end = last
        if begin is None:
            begin = 0 if end is None else end
        if end is None:
            end = begin
        if begin > end:
            raise BeginAfterEnd()
        self.begin, self.end = begin, end
        # MEMBER
        self.members = [
            r
            for r in self.records
            if r.end is not None
            and (
                begin < r.end <= end
                or (r.end == begin and begin <= self.first_credit)
            )
        ]

    def _balance(self):
        records = self.records
        begin, end = self.begin, self.end
        self.balance = {
            "issued": len(records),
            "ok": sum(r.status == OK and r.end is not None for r in records),
            "failed": sum(r.status == FAILED for r in records),
            "cancelled": sum(r.status == CANCELLED for r in records),
            "in_flight": sum(r.end is None for r in records),
            "credit_after_start": sum(
                r.credit is not None and r.credit > r.start for r in records
            ),
            "chunk_tokens_ignored": sum(counts_ignored(r) for r in records),
            "overlapping": sum(
                max(begin, r.start) < min(end, end if r.end is None else r.end)
                or any(r is m for m in self.members)
                for r in records
            ),
            "members": len(self.members),
            "cut_at_begin": sum(
                r.start < begin and (r.end is None or begin < r.end) for r in records
            ),
            "cut_at_end": sum(r.start < end < latest_known(r) for r in records),
        }

    def _curves(self):
        begin, end = self.begin, self.end
        simple = ("C0", "C1", "C2", "C3", "C4", "C5", "C9")
        # CLIP: by time, not by record.
        clipped = {}
        edges = {begin, end}
        for curve in simple:
            clipped[curve] = []
            for r in self.records:
                for a, b, amount in pieces(r, curve, end):
                    a, b = max(a, begin), min(b, end)
                    if b > a:
                        clipped[curve].append((a, b, amount))
                        edges.update((a, b))
        edges = sorted(edges)
        spans = list(zip(edges, edges[1:]))
        values = {}
        index = {edge: i for i, edge in enumerate(edges)}
        for curve in simple:
            values[curve] = [0] * len(spans)
            for a, b, amount in clipped[curve]:
                for i in range(index[a], index[b]):
                    values[curve][i] += amount
        values["C6"] = [x + y for x, y in zip(values["C4"], values["C5"])]
        for curve, above, below in (("C7", "C5", "C3"), ("C8", "C4", "C2")):
            values[curve] = [
                Fraction(x) / y if y else 0 for x, y in zip(values[above], values[below])
            ]
        for tag, (curve, mask) in CURVE_METRICS.items():
            self.metrics[tag] = None
            if begin == end or not any(eligible(r, curve) for r in self.records):
                continue
            segments = [
                (value, b - a)
                for i, ((a, b), value) in enumerate(zip(spans, values[curve]))
                if mask is None or values[mask][i] > 0
            ]
            if not segments:
                continue
            slack = RATE_UNIT * len(self.records) if curve in RATES else Fraction(0)
            active = None if mask is None else sum(d for _, d in segments)
            self.metrics[tag] = CurveNumbers(segments, end - begin, active, slack)

    def _samples(self):
        done = [r for r in self.members if r.status == OK]
        bad = [r for r in self.members if r.status != OK]

        def ms(ns):
            return Fraction(ns, 10**6)

        latency = [ms(r.end - credit_of(r)) for r in done if r.credit is not None]
        request = [ms(r.end - r.start) for r in done]
        chunked = [r for r in done if r.chunked()]
        two = [r for r in done if r.gen is not None and r.out is not None and r.out >= 2]
        samples = {
            "effective_latency": latency,
            "credit_to_start_latency": [
                ms(r.start - credit_of(r)) for r in done if r.credit is not None
            ],
            "request_latency": request,
            "time_to_first_token": [
                ms(r.gen - r.start) for r in done if r.gen is not None
            ],
            "time_to_second_token": [ms(r.arrivals[0] - r.gen) for r in chunked],
            "inter_token_latency": [ms(r.end - r.gen) / (r.out - 1) for r in two],
            "inter_chunk_latency": [
                ms(b - a)
                for r in chunked
                for a, b in zip((r.gen,) + r.arrivals, r.arrivals)
            ],
            "output_token_throughput_per_user": [
                Fraction((r.out - 1) * GIGA, r.end - r.gen) for r in two if r.end > r.gen
            ],
            "input_sequence_length": [r.inp for r in done if r.inp is not None],
            "output_sequence_length": [r.out for r in done if r.out is not None],
        }
        for tag, values in samples.items():
            rates = tag == "output_token_throughput_per_user"
            self.metrics[tag] = SampleNumbers(values, rates=rates) if values else None
        for tag, values, missing in (
            ("adj_effective_latency", latency, [r for r in bad if r.credit is not None]),
            ("adj_request_latency", request, bad),
        ):
            self.metrics[tag] = None
            if values and missing:
                self.metrics[tag] = SampleNumbers(values, len(missing))

    def _scalars(self):
        done = [r for r in self.members if r.status == OK]
        width = self.end - self.begin
        values = {
            "request_count": len(done),
            "error_request_count": len(self.members) - len(done),
            "benchmark_duration": Fraction(width, GIGA),
        }
        output = sum(r.out or 0 for r in done)
        total = output + sum(r.inp or 0 for r in done)
        for tag, amount in (
            ("request_throughput", len(done)),
            ("output_token_throughput", output),
            ("total_token_throughput", total),
        ):
            values[tag] = Fraction(amount * GIGA, width) if width else None
        for tag, value in values.items():
            emitted = self.records and value is not None
            self.metrics[tag] = ScalarNumbers(value) if emitted else None


def rounded_q(q):
    """q, rounded to 12 decimal places; None for the few that lie half-way."""
    scaled = Fraction(q) * 10**12
    floor = scaled.numerator // scaled.denominator
    rest = scaled - floor
    if rest == Fraction(1, 2):
        return None
    return Fraction(floor + (rest > Fraction(1, 2)), 10**12)
