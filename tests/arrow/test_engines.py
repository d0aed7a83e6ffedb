#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records from pyarrow, polars and DuckDB, and results to them, as TAP [ARROW]. What is expected
comes from the records themselves, appended one by one, or from DuckDB's own SQL.

usage: test_engines.py SHARED_LIBRARY
"""

import ctypes
import gc
import pathlib
import random
import sys
import tempfile
import time
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from fractions import Fraction

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import capsules

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "property"))
import timeweight as tw  # noqa: E402

BASE = 1_700_000_000_000_000_000
STATUS = ["ok", "failed", "cancelled"]
RULE_START_MISSING, RULE_END_BEFORE_START, RULE_NUMBER_INEXACT = 1, 4, 15
FIELD_START, FIELD_END = 2, 4
QUANTILES = [0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 1 / 3, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0]
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def equal(got, want):
    assert got == want, f"\n   got: {got!r}\n  want: {want!r}"


# ---- The library -------------------------------------------------------------------------

LIB = tw.Binding(sys.argv[1])
for _name, _result, _arguments in (
    ("tw_recorder_append_arrow", c_int32,
     [c_void_p, POINTER(capsules.Schema), POINTER(capsules.Array), c_uint32,
      POINTER(c_size_t)]),
    ("tw_recorder_append_arrow_stream", c_int32,
     [c_void_p, POINTER(capsules.Stream), c_uint32, POINTER(c_size_t)]),
    ("tw_recorder_arrow_error", c_char_p, [c_void_p]),
    ("tw_arrow_metrics", c_int32, [POINTER(capsules.Stream), c_void_p]),
    ("tw_arrow_curve", c_int32, [POINTER(capsules.Stream), c_void_p, c_int32]),
    ("tw_arrow_series", c_int32,
     [POINTER(capsules.Stream), c_void_p, c_int32, c_int64, c_int64, c_uint64]),
    ("tw_analysis_curve", c_int32,
     [c_void_p, c_int32, c_int64, c_void_p, c_size_t, c_size_t, POINTER(c_size_t),
      POINTER(c_int64)]),
):
    getattr(LIB.c, _name).restype = _result
    getattr(LIB.c, _name).argtypes = _arguments


def append_stream(recorder, source, flags=0):
    """Whatever has __arrow_c_stream__ goes in: (status, accepted)."""
    capsule = source.__arrow_c_stream__()
    stream = capsules.struct_of(capsule, capsules.Stream, b"arrow_array_stream")
    accepted = c_size_t(77)
    status = LIB.c.tw_recorder_append_arrow_stream(recorder.handle, byref(stream), flags,
                                                   byref(accepted))
    assert not stream.release, "the stream was not taken over"
    return status, accepted.value


def append_array(recorder, batch, flags=0):
    """One record batch: (status, accepted)."""
    schema_capsule, array_capsule = batch.__arrow_c_array__()
    schema = capsules.struct_of(schema_capsule, capsules.Schema, b"arrow_schema")
    array = capsules.struct_of(array_capsule, capsules.Array, b"arrow_array")
    accepted = c_size_t(77)
    status = LIB.c.tw_recorder_append_arrow(recorder.handle, byref(schema), byref(array),
                                            flags, byref(accepted))
    assert not array.release and schema.release, "the array is moved, the schema is not"
    return status, accepted.value


def words(recorder):
    return LIB.c.tw_recorder_arrow_error(recorder.handle).decode()


def recorder_of(source):
    recorder = tw.Recorder(LIB)
    status, _ = append_stream(recorder, source)
    assert status == tw.OK, f"status {status}: {words(recorder)}"
    return recorder


def stored(recorder):
    return recorder.read(0, recorder.count())


def results(analysis):
    """Every number of every metric."""
    answers = {}
    for tag, kind in LIB.kinds.items():
        status, summary = analysis.summary(tag)
        answers[tag] = status, tw.bytes_of(summary)
        if status == tw.OK and kind != tw.KIND_SCALAR:
            answers[tag] += (analysis.quantiles(tag, QUANTILES),)
    return answers


# ---- A run -------------------------------------------------------------------------------

def make_run(count, seed, unit=1000):
    """Columns as Python lists, by the names of the records format. Times are whole units, so
    that types with a coarser one hold them too."""
    dice = random.Random(seed)
    run = {name: [] for name in ("credit_issued_ns", "start_ns", "generation_start_ns", "end_ns",
                                 "input_tokens", "output_tokens", "status", "streaming",
                                 "chunk_arrival_ns", "chunk_tokens")}
    for _ in range(count):
        start = BASE + unit * dice.randrange(10_000_000)
        first = start + unit * dice.randrange(1, 200_000)
        end = first + unit * dice.randrange(1, 1_000_000)
        status = dice.choices([None, *STATUS], [10, 10, 2, 1])[0]
        chunks = sorted(unit * dice.randrange(first // unit, end // unit + 1)
                        for _ in range(dice.randrange(5))) if dice.random() < 0.5 else None
        counted = chunks is not None and dice.random() < 0.5
        open_ended = status in (None, "ok") and dice.random() < 0.03
        run["credit_issued_ns"].append(start - unit * dice.randrange(50_000)
                                       if dice.random() < 0.7 else None)
        run["start_ns"].append(start)
        run["generation_start_ns"].append(first if chunks or dice.random() < 0.9 else None)
        run["end_ns"].append(None if open_ended else end)
        run["input_tokens"].append(dice.randrange(5000) if dice.random() < 0.9 else None)
        run["output_tokens"].append(dice.randrange(20, 800) if dice.random() < 0.9 else None)
        run["status"].append(status)
        run["streaming"].append(dice.choice([True, False, None]))
        run["chunk_arrival_ns"].append(chunks)
        run["chunk_tokens"].append([dice.randrange(4) for _ in chunks] if counted else None)
    return run


class Row:
    """What the binding calls a record."""

    def __init__(self, run, i):
        self.credit, self.start = run["credit_issued_ns"][i], run["start_ns"][i]
        self.gen, self.end = run["generation_start_ns"][i], run["end_ns"][i]
        self.inp, self.out = run["input_tokens"][i], run["output_tokens"][i]
        self.arrivals, self.counts = run["chunk_arrival_ns"][i] or None, run["chunk_tokens"][i]
        self.status = STATUS.index(run["status"][i] or "ok")
        self.flags = tw.STREAMING if run["streaming"][i] else 0

    def chunk_count(self):
        return len(self.arrivals or ())


def rows(run):
    return [Row(run, i) for i in range(len(run["start_ns"]))]


def reference(run):
    return tw.Recorder(LIB, rows(run))


INT64 = pa.int64()
LISTS = {"chunk_arrival_ns": pa.list_(INT64), "chunk_tokens": pa.list_(INT64)}
TYPES = {"status": pa.string(), "streaming": pa.bool_(), **LISTS}


def arrow_table(run, **types):
    return pa.table({name: pa.array(values, {**TYPES, **types}.get(name, INT64))
                     for name, values in run.items()})


def polars_frame(run):
    lists = pl.List(pl.Int64)
    return pl.DataFrame(run, schema_overrides={
        **{name: pl.Int64 for name in run if name.endswith(("_ns", "_tokens"))},
        "chunk_arrival_ns": lists, "chunk_tokens": lists, "status": pl.String,
        "streaming": pl.Boolean})


def expect_stored(source, wanted):
    """The records of a source are those of a recorder, to the last field."""
    recorder = recorder_of(source)
    got, want = stored(recorder), stored(wanted)
    for row, (a, b) in enumerate(zip(got, want)):
        assert a == b, f"row {row}:\n   got: {a}\n  want: {b}"
    equal(len(got), len(want))
    equal(tw.bytes_of(recorder.balance()), tw.bytes_of(wanted.balance()))
    recorder.free()


# ---- In ----------------------------------------------------------------------------------

@test
def pyarrow_in():
    run = make_run(5000, 1)
    wanted, table = reference(run), arrow_table(run)
    expect_stored(table, wanted)
    shuffled = list(run)
    random.Random(7).shuffle(shuffled)
    expect_stored(table.select(shuffled).append_column("model", pa.array(["m"] * 5000)), wanted)
    # Batches of uneven length, an empty one among them, each a slice of something larger.
    cuts = [0, 1, 1, 8, 1000, 1003, 4999, 5000]
    slices = [table.slice(a, b - a).combine_chunks() for a, b in zip(cuts, cuts[1:])]
    batches = [b for t in slices for b in t.to_batches() or [pa.RecordBatch.from_pylist(
        [], schema=table.schema)]]
    equal(len(batches), 7)
    expect_stored(pa.RecordBatchReader.from_batches(table.schema, batches), wanted)
    whole = table.combine_chunks().to_batches()[0]
    expect_stored(pa.Table.from_batches([whole.slice(a, b - a) for a, b in zip(cuts, cuts[1:])]),
                  wanted)
    wanted.free()


@test
def polars_in():
    run = make_run(5000, 2)
    wanted, frame = reference(run), polars_frame(run)
    expect_stored(frame, wanted)
    expect_stored(frame.with_columns(status=pl.col("status").cast(pl.Enum(STATUS))), wanted)
    expect_stored(frame.with_columns(status=pl.col("status").cast(pl.Categorical)), wanted)
    expect_stored(pl.concat([frame[:7], frame[7:4000], frame[4000:]], rechunk=False), wanted)
    expect_stored(frame.lazy().filter(pl.col("start_ns") > 0).collect(), wanted)
    times = [name for name in run if name.endswith("_ns") and not name.startswith("chunk")]
    for unit, divisor in (("ns", 1), ("us", 1000)):
        expect_stored(frame.with_columns(
            [(pl.col(name) // divisor).cast(pl.Datetime(unit, "UTC")) for name in times]
            + [pl.col("chunk_arrival_ns").list.eval(
                (pl.element() // divisor).cast(pl.Datetime(unit)))]), wanted)
    wanted.free()


@test
def duckdb_in():
    run = make_run(5000, 3)
    wanted, records = reference(run), arrow_table(run)
    db = duckdb.connect()
    db.execute("create type status as enum ('cancelled', 'ok', 'failed')")
    db.execute("create table run as select * from records")
    expect_stored(db.sql("select * from run"), wanted)
    expect_stored(db.sql("select * replace (status::status as status) from run"), wanted)
    expect_stored(db.sql("""select * replace (make_timestamp_ns(start_ns) as start_ns,
        make_timestamp(end_ns // 1000) as end_ns, input_tokens::usmallint as input_tokens,
        output_tokens::double as output_tokens) from run"""), wanted)
    for setting in ("arrow_large_buffer_size", "arrow_output_list_view",
                    "produce_arrow_string_view"):
        db.execute(f"set {setting} = true")
        expect_stored(db.sql("select * from run"), wanted)
    wanted.free()


@test
def types_of_columns():
    """Every type that holds the values gives the same records."""
    run = make_run(700, 4, unit=1_000_000_000)
    wanted = reference(run)
    times = ["credit_issued_ns", "start_ns", "generation_start_ns", "end_ns"]
    for unit, divisor in (("s", 10**9), ("ms", 10**6), ("us", 1000), ("ns", 1)):
        for zone in (None, "Europe/Berlin"):
            kind = pa.timestamp(unit, zone)
            coarse = {**run, **{name: [v if v is None else v // divisor for v in run[name]]
                                for name in times}}
            expect_stored(arrow_table(coarse, **{name: kind for name in times}), wanted)
        for outer in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view):
            gaps = [None if chunks is None else
                    [(b - a) // divisor for a, b in zip([first, *chunks], chunks)]
                    for first, chunks in zip(run["generation_start_ns"],
                                             run["chunk_arrival_ns"])]
            expect_stored(arrow_table({**run, "chunk_arrival_ns": gaps},
                                      chunk_arrival_ns=outer(pa.duration(unit))), wanted)
    for kind in (pa.uint64(), pa.int32(), pa.uint32(), pa.int16(), pa.uint16(), pa.float64(),
                 pa.float32()):
        expect_stored(arrow_table(run, output_tokens=kind, input_tokens=kind,
                                  chunk_tokens=pa.large_list(kind)), wanted)
    expect_stored(arrow_table(run, start_ns=pa.uint64(), end_ns=pa.uint64()), wanted)
    for kind in (pa.large_string(), pa.string_view()):
        expect_stored(arrow_table(run, status=kind), wanted)
    for index in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(),
                  pa.int64(), pa.uint64()):
        for value in (pa.string(), pa.large_string()):
            expect_stored(arrow_table(run, status=pa.dictionary(index, value)), wanted)
    wanted.free()


@test
def columns_of_nulls():
    run = make_run(50, 5)
    for name in run:
        if name not in ("start_ns", "end_ns", "status"):
            run[name] = [None] * 50
    wanted = reference(run)
    expect_stored(arrow_table(run, **{name: pa.null() for name in run
                                      if run[name] == [None] * 50}), wanted)
    expect_stored(arrow_table(run).select(["status", "end_ns", "start_ns"]), wanted)
    expect_stored(arrow_table(run, chunk_arrival_ns=pa.list_(pa.null())), wanted)
    wanted.free()


@test
def single_arrays():
    run = make_run(1000, 6)
    wanted, recorder = reference(run), tw.Recorder(LIB)
    batch = arrow_table(run).to_batches()[0]
    for begin, length in ((0, 1), (1, 0), (1, 13), (14, 986)):
        equal(append_array(recorder, batch.slice(begin, length)), (tw.OK, length))
    equal(stored(recorder), stored(wanted))
    # A struct array is a record batch; its nulls are rows without a start.
    structs = pa.array([{"start_ns": 1}, None, {"start_ns": 3}])
    equal(append_array(recorder, structs, tw.SKIP_INVALID), (tw.OK, 2))
    equal(recorder.last_error().rule, RULE_START_MISSING)
    equal(append_array(recorder, structs[2:]), (tw.OK, 1))
    recorder.free()
    wanted.free()


@test
def by_the_address():
    """pyarrow's way without capsules: structs of the caller's."""
    run = make_run(100, 7)
    wanted, recorder = reference(run), tw.Recorder(LIB)
    schema, array = capsules.Schema(), capsules.Array()
    arrow_table(run).to_batches()[0]._export_to_c(ctypes.addressof(array),
                                                  ctypes.addressof(schema))
    accepted = c_size_t()
    equal(LIB.c.tw_recorder_append_arrow(recorder.handle, byref(schema), byref(array), 0,
                                         byref(accepted)), tw.OK)
    equal(accepted.value, 100)
    assert not array.release
    capsules.release(schema)
    equal(stored(recorder), stored(wanted))
    stream = capsules.Stream()
    pa.RecordBatchReader.from_batches(arrow_table(run).schema, arrow_table(run).to_batches()
                                      )._export_to_c(ctypes.addressof(stream))
    equal(LIB.c.tw_recorder_append_arrow_stream(recorder.handle, byref(stream), 0, None), tw.OK)
    equal(stored(recorder)[100:], stored(wanted))
    recorder.free()
    wanted.free()


@test
def as_documented():
    """The lines that doc/embedding.md shows."""
    lib, handle = ctypes.CDLL(sys.argv[1]), tw.Recorder(LIB)
    lib.tw_recorder_append_arrow_stream.argtypes = [c_void_p, c_void_p, c_uint32, c_void_p]
    recorder, run = handle.handle, make_run(10, 20)
    for table in (arrow_table(run), polars_frame(run)):
        pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype = ctypes.c_void_p
        pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]

        capsule = table.__arrow_c_stream__()  # or of a polars frame, a DuckDB relation
        stream = pointer_of(capsule, b"arrow_array_stream")
        status = lib.tw_recorder_append_arrow_stream(recorder, stream, 0, None)
        equal(status, tw.OK)
    equal(handle.count(), 20)
    handle.free()


# ---- Errors ------------------------------------------------------------------------------

@test
def errors_name_row_and_rule():
    run = make_run(3000, 8)
    run["end_ns"][2500] = run["start_ns"][2500] - 1
    run["generation_start_ns"][2500] = run["chunk_arrival_ns"][2500] = None
    run["chunk_tokens"][2500] = None
    run["start_ns"][2700] = None
    recorder, table = tw.Recorder(LIB), arrow_table(run)
    batches = table.to_batches(max_chunksize=400)
    equal(len(batches), 8)
    source = pa.RecordBatchReader.from_batches(table.schema, batches)
    equal(append_stream(recorder, source)[0], tw.RANGE)
    error = recorder.last_error()
    equal((error.row, error.rule, error.field), (2500, RULE_END_BEFORE_START, FIELD_END))
    equal((error.value_a, error.value_b), (run["end_ns"][2500], run["start_ns"][2500]))
    equal((recorder.count(), recorder.balance().refused), (0, 1))
    equal(append_stream(recorder, table, tw.SKIP_INVALID), (tw.OK, 2998))
    equal(recorder.balance().refused, 3)
    equal(recorder.balance().refused_by_rule[RULE_START_MISSING], 1)
    recorder.free()


@test
def errors_name_the_column():
    recorder, run = tw.Recorder(LIB), make_run(10, 9)
    table = arrow_table(run)
    dates = table.set_column(3, "end_ns", pa.array([0] * 10, pa.date32()))
    equal(append_stream(recorder, dates), (tw.NOTSUP, 77))
    equal(words(recorder),
          'end_ns: must be an integer, a float or a timestamp, not of format "tdD"')
    equal(recorder.last_error().field, FIELD_END)
    equal(append_stream(recorder, table.drop_columns(["start_ns"])), (tw.INVAL, 77))
    equal(words(recorder), "start_ns: there is no such column")
    equal(recorder.last_error().field, FIELD_START)
    equal(append_stream(recorder, table.append_column("end_ns", table["end_ns"])),
          (tw.INVAL, 77))
    equal(words(recorder), "end_ns: there are two columns of this name")
    halves = table.set_column(3, "end_ns", pa.array([0.5] * 10))
    equal(append_stream(recorder, halves), (tw.RANGE, 77))
    equal(recorder.last_error().rule, RULE_NUMBER_INEXACT)
    # DuckDB adds up in 128 bits.
    sums = duckdb.sql("select sum(i) as input_tokens, 0 as start_ns from range(3) t(i)")
    equal(append_stream(recorder, sums), (tw.NOTSUP, 77))
    equal(words(recorder),
          'input_tokens: must be an integer or a float, not of format "d:38,0"')
    equal(recorder.count(), 0)
    recorder.free()


@test
def errors_of_the_producer():
    """What a producer says when it breaks in its third batch is passed on, and nothing stays."""
    run = make_run(900, 10)
    table = arrow_table(run)

    def batches():
        yield from table.to_batches(max_chunksize=300)[:2]
        raise ValueError("the producer is out of paper")

    recorder = tw.Recorder(LIB)
    source = pa.RecordBatchReader.from_batches(table.schema, batches())
    equal(append_stream(recorder, source, tw.SKIP_INVALID), (tw.IO, 77))
    assert words(recorder).startswith("stream: get_next: "), words(recorder)
    assert "the producer is out of paper" in words(recorder), words(recorder)
    assert recorder.last_error().value_a > 0
    equal((recorder.count(), recorder.last_error().row), (0, 600))
    equal(append_stream(recorder, table), (tw.OK, 900))
    recorder.free()


# ---- Against SQL -------------------------------------------------------------------------

CONCURRENCY = """
    with event as (
        select greatest(start_ns, $begin) as t, 1 as step from run
            where start_ns < $end and ends > $begin
        union all
        select least(ends, $end), -1 from run where start_ns < $end and ends > $begin
        union all select $begin, 0 union all select $end, 0
    ), level as (
        select t, sum(sum(step)) over (order by t) as value,
               lead(t) over (order by t) - t as length
        from event group by t
    )
    select value::hugeint as value, sum(length)::hugeint as length from level
    where length > 0 group by value order by value
"""


def check_against_sql(db, analysis, begin, end):
    """Time-weighted mean and quantiles of concurrency, by DuckDB in whole numbers."""
    levels = [(int(v), int(d)) for v, d in
              db.execute(CONCURRENCY, {"begin": begin, "end": end}).fetchall()]
    total = sum(d for _, d in levels)
    equal(total, end - begin)
    status, summary = analysis.summary("effective_concurrency")
    equal(status, tw.OK)
    equal(summary.weight_ns, total)
    equal(summary.avg, float(Fraction(sum(v * d for v, d in levels), total)))
    equal((summary.min, summary.max), (levels[0][0], levels[-1][0]))
    wanted = []
    for q in QUANTILES:
        need, below = Fraction(round(q * 10**12), 10**12) * total, 0
        for value, length in levels:
            below += length
            if below >= need:
                wanted.append(float(value))
                break
    equal(analysis.quantiles("effective_concurrency", QUANTILES), (tw.OK, wanted))


def check_parquet(path, count):
    """A file goes through DuckDB to here, and DuckDB says the same about it."""
    db = duckdb.connect()
    recorder = recorder_of(db.sql(f"select * from read_parquet('{path}')"))
    equal(recorder.count(), count)
    analysis = LIB.analyze([recorder])
    begin, end = analysis.bounds()
    db.execute(f"""create table run as select *, coalesce(end_ns, {end}) as ends
                   from read_parquet('{path}')""")
    equal(db.execute("select min(coalesce(credit_issued_ns, start_ns)) from run").fetchall()[0][0],
          begin)
    check_against_sql(db, analysis, begin, end)
    middle = (begin + end) // 2
    for window in ((middle, end), (begin + 123456789, middle + 1), (middle, middle + 999)):
        part = LIB.analyze([recorder], *window)
        check_against_sql_open(db, part, window)
        part.free()
    analysis.free()
    recorder.free()


def check_against_sql_open(db, analysis, window):
    """In another window, requests in flight last until its end."""
    db.execute(f"update run set ends = {window[1]} where end_ns is null")
    check_against_sql(db, analysis, *window)


@test
def parquet_of_pyarrow():
    run = make_run(20000, 11)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/run.parquet"
        pq.write_table(arrow_table(run), path, row_group_size=3000)
        check_parquet(path, 20000)
        wanted = reference(run)
        expect_stored(duckdb.sql(f"select * from '{path}'"), wanted)
        expect_stored(pq.read_table(path), wanted)
        expect_stored(pq.ParquetFile(path).read(), wanted)
        expect_stored(pl.read_parquet(path), wanted)
        wanted.free()


@test
def parquet_of_polars():
    run = make_run(20000, 12)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/run.parquet"
        polars_frame(run).write_parquet(path, row_group_size=5000)
        check_parquet(path, 20000)
        wanted = reference(run)
        expect_stored(duckdb.sql(f"select * from '{path}'"), wanted)
        wanted.free()


@test
def parquet_of_duckdb():
    run = make_run(20000, 13)
    records = arrow_table(run)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/run.parquet"
        duckdb.sql("select * from records").write_parquet(path)
        check_parquet(path, 20000)
        wanted = reference(run)
        for source in (pq.read_table(path), pl.read_parquet(path)):
            expect_stored(source, wanted)
        wanted.free()


# ---- Out ---------------------------------------------------------------------------------

def out(function, analysis, *arguments):
    def make(stream):
        LIB.check(function, getattr(LIB.c, function)(byref(stream), analysis.handle, *arguments))
    return capsules.Producer(make)


def through_engines(producer):
    """The table as each engine has it, as columns of Python values."""
    yield "pyarrow", pa.table(producer).to_pydict()
    yield "polars", pl.DataFrame(producer).to_dict(as_series=False)
    yield "duckdb", duckdb.sql("select * from producer").to_arrow_table().to_pydict()


def summary_number(status_and_summary, bit, member):
    summary = status_and_summary[1]
    return getattr(summary, member) if summary.fields & bit else None


@test
def metrics_out():
    recorder = reference(make_run(3000, 14))
    analysis = LIB.analyze([recorder], quantiles=[0.999, 0.5])
    producer = out("tw_arrow_metrics", analysis)
    tags = [tag for tag in LIB.ids if analysis.summary(tag)[0] == tw.OK]
    points = {"p1": 0.01, "p5": 0.05, "p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75,
              "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
    for engine, table in through_engines(producer):
        equal((engine, table["metric"]), (engine, tags))
        equal(list(table), ["metric", "group", "header", "unit", "avg", "min", "max", "std",
                            *points, "count", "sum", "active_ns", "active_fraction"])
        for i, tag in enumerate(tags):
            summary = analysis.summary(tag)
            row = {name: column[i] for name, column in table.items()}
            equal(row["unit"], LIB.rows[list(LIB.ids).index(tag)].unit.decode())
            for member, bit in (("avg", tw.HAS_AVG), ("min", tw.HAS_MIN), ("max", tw.HAS_MAX),
                                ("std", tw.HAS_STD), ("sum", tw.HAS_SUM),
                                ("count", tw.HAS_COUNT), ("active_ns", tw.HAS_ACTIVE)):
                equal((tag, member, row[member]),
                      (tag, member, summary_number(summary, bit, member)))
            if LIB.kinds[tag] != tw.KIND_SCALAR:
                equal((tw.OK, [row[name] for name in points]),
                      analysis.quantiles(tag, list(points.values())))
    assert len(tags) > 25
    assert producer.streams, "no engine asked for a stream"
    producer.close()
    analysis.free()
    recorder.free()


@test
def curves_out():
    """DuckDB's mean over the curve is the metric; more than one array is read."""
    recorder = reference(make_run(9000, 15))
    analysis = LIB.analyze([recorder])
    for tag in ("effective_concurrency", "active_decode_throughput", "tokens_in_flight"):
        producer = out("tw_arrow_curve", analysis, LIB.ids[tag])
        tables = dict(through_engines(producer))
        equal(tables["polars"], tables["pyarrow"])
        equal(tables["duckdb"], tables["pyarrow"])
        assert len(tables["pyarrow"]["value"]) > 8192
        total, weight, least, most = duckdb.sql("""
            select sum(value * (end_ns - begin_ns)), sum(end_ns - begin_ns), min(value),
                   max(value) from producer""").fetchall()[0]
        _, summary = analysis.summary(tag)
        equal(int(weight), summary.active_ns or summary.weight_ns)
        equal((least, most), (summary.min, summary.max))
        assert abs(total / float(weight) - summary.avg) <= 1e-9 * summary.avg
        producer.close()
    analysis.free()
    recorder.free()


@test
def series_out():
    recorder = reference(make_run(2000, 16))
    analysis = LIB.analyze([recorder])
    begin, end = analysis.bounds()
    width = (end - begin) // 20000 + 1
    tag = "active_prefill_throughput"
    producer = out("tw_arrow_series", analysis, LIB.ids[tag], begin, width, 20001)
    tables = dict(through_engines(producer))
    equal(tables["polars"], tables["pyarrow"])
    equal(tables["duckdb"], tables["pyarrow"])
    table = tables["pyarrow"]
    equal(table["begin_ns"], [begin + width * i for i in range(20001)])
    equal([w == 0 for w in table["weight_ns"]], [m is None for m in table["mean"]])
    assert table["mean"].count(None) > 0, "no bin is empty"
    _, summary = analysis.summary(tag)
    equal(sum(table["weight_ns"]), summary.active_ns)
    mean = sum(Fraction(m) * w for m, w in zip(table["mean"], table["weight_ns"]) if w)
    assert abs(float(mean / summary.active_ns) - summary.avg) <= 1e-12 * summary.avg
    equal((min(m for m in table["min"] if m is not None),
           max(m for m in table["max"] if m is not None)), (summary.min, summary.max))
    producer.close()
    analysis.free()
    recorder.free()


@test
def there_and_back():
    """Results do not depend on the engine or on the cut into batches, to the last bit."""
    run = make_run(4000, 17)
    wanted = reference(run)
    analysis = LIB.analyze([wanted])
    expected = results(analysis)
    analysis.free()
    records = arrow_table(run)
    for source in (records, polars_frame(run), duckdb.sql("select * from records"),
                   pa.Table.from_batches(records.to_batches(max_chunksize=17))):
        recorder = recorder_of(source)
        analysis = LIB.analyze([recorder])
        equal(results(analysis), expected)
        analysis.free()
        recorder.free()
    wanted.free()


# ---- Memory ------------------------------------------------------------------------------

@test
def buffers_are_given_back():
    """pyarrow counts its bytes: none stays with the library, whatever the call came to."""
    gc.collect()
    before = pa.total_allocated_bytes()
    table = arrow_table(make_run(2000, 18))
    assert pa.total_allocated_bytes() > before
    recorder = tw.Recorder(LIB)
    equal(append_stream(recorder, table)[0], tw.OK)
    bad = table.set_column(3, "end_ns", pc.subtract(table["start_ns"], 1))
    equal(append_stream(recorder, bad)[0], tw.RANGE)
    equal(append_array(recorder, table.combine_chunks().to_batches()[0])[0], tw.OK)
    equal(append_array(recorder, bad.combine_chunks().to_batches()[0])[0], tw.RANGE)
    del table, bad
    gc.collect()
    equal(pa.total_allocated_bytes(), before)
    equal(recorder.count(), 4000)
    recorder.free()


@test
def results_outlive_the_analysis():
    """Streams and tables live on after analysis and recorder, in the analysis' memory, and give
    it back."""
    memory = tw.CountingAllocator()
    recorder = reference(make_run(9000, 19))
    analysis = LIB.analyze([recorder], allocator=memory)
    _, summary = analysis.summary("effective_concurrency")
    producers = [out("tw_arrow_metrics", analysis),
                 out("tw_arrow_curve", analysis, LIB.ids["effective_concurrency"])]
    readers = [pa.RecordBatchReader.from_stream(producer) for producer in producers]
    unread = capsules.Stream()
    LIB.check("tw_arrow_curve", LIB.c.tw_arrow_curve(
        byref(unread), analysis.handle, LIB.ids["effective_concurrency"]))
    analysis.free()
    recorder.free()
    metrics, curve = (reader.read_all() for reader in readers)
    capsules.release(unread)
    del readers
    equal(metrics["avg"][0].as_py(), summary.avg)
    begins = curve["begin_ns"].slice(8192, 100)
    assert curve.num_rows > 8192 and memory.live
    del curve, metrics
    gc.collect()
    equal(len(begins), 100)
    assert memory.live, "a slice holds its array"
    del begins
    gc.collect()
    for producer in producers:
        producer.close()
    equal(len(memory.live), 0)


def main():
    failures = 0
    print(f"# pyarrow {pa.__version__}, polars {pl.__version__}, DuckDB {duckdb.__version__}")
    print(f"1..{len(TESTS)}")
    for number, function in enumerate(TESTS, 1):
        name = function.__name__.replace("_", " ")
        begin = time.monotonic()
        try:
            function()
            print(f"ok {number} - {name} # {time.monotonic() - begin:.1f} s", flush=True)
        except Exception as error:  # a failing test must not hide the others
            failures += 1
            print(f"not ok {number} - {name}", flush=True)
            for line in f"{type(error).__name__}: {error}"[:3000].splitlines():
                print(f"# {line}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
