#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the `timeweight` tool and of the simulation, as TAP.

usage: python3 test_cli.py PATH_TO_TIMEWEIGHT PATH_TO_SIMULATE DATA_DIR
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

TOOL, SIMULATE, DATA = sys.argv[1:4]
SAMPLE = os.path.join(DATA, "worked_example.jsonl")
SCRATCH = tempfile.TemporaryDirectory()
BAD_JSON = "row: must be one valid JSON object"
TESTS = []


def test(function):
    TESTS.append(function)
    return function


# ---- vocabulary -------------------------------------------------------------------

def scratch(name, content=None):
    path = os.path.join(SCRATCH.name, name)
    if content is not None:
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    return path


def rows(*objects):
    return "".join(json.dumps(o) + "\n" for o in objects)


def run(*arguments, stdin=b""):
    """Runs the tool; any end but an exit status is a failure of its own."""
    done = subprocess.run([TOOL, *arguments], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode >= 0, f"killed by signal {-done.returncode}: {arguments}"
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def equal(got, want):
    assert got == want, f"\n   got: {got!r}\n  want: {want!r}"


def contains(text, part):
    assert part in text, f"\n  {part!r} is not in {text!r}"


def report(content, *options):
    """The JSON report of a file with this content."""
    path = scratch("in.jsonl", content)
    status, out, err = run("report", "--format", "json", *options, path)
    assert status == 0, f"status {status}: {err}"
    equal(out.count("\n"), 1)
    return json.loads(out)


def refused(content, message, *options):
    """The run ends with exactly this message, behind the file's name, and no output."""
    path = scratch("bad.jsonl", content)
    status, out, err = run("report", *options, path)
    equal((status, out, err), (1, "", f"{path}:{message}\n"))


def not_json(content, line, *options):
    """The same where the end of the message is the parser's."""
    path = scratch("bad.jsonl", content)
    status, out, err = run("report", *options, path)
    equal((status, out), (1, ""))
    assert err.startswith(f"{path}:{line}: {BAD_JSON} ("), err
    equal(err.count("\n"), 1)


def usage_error(part, *arguments):
    status, out, err = run(*arguments)
    equal((status, out), (2, ""))
    contains(err, part)


def simulate(*arguments):
    done = subprocess.run([SIMULATE, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


ROW = {"credit_issued_ns": 5, "start_ns": 10, "generation_start_ns": 20, "end_ns": 50,
       "input_tokens": 8, "output_tokens": 4}


def changed(**fields):
    return {**ROW, **fields}


def ms(value):
    return {"value": value, "unit": "ms"}


def ns(value):
    return {"value": value, "unit": "ns"}


def tokens(value):
    return {"value": value, "unit": "tokens"}


def aiperf(metadata=None, metrics=None, **top):
    """A row of the newest generation, with changes; None removes a key."""
    base_metadata = {"session_num": 1, "credit_issued_ns": 1700000000000000000,
                     "request_start_ns": 1700000000000100000,
                     "request_end_ns": 1700000000100000000,
                     "benchmark_phase": "profiling", "was_cancelled": False}
    base_metrics = {"time_to_first_token": ms(40.0), "request_latency": ms(99.9),
                    "inter_chunk_latency": ms([20.5, 39.4]),
                    "input_sequence_length": tokens(200),
                    "output_sequence_length": tokens(3)}

    def merge(base, changes):
        merged = {**base, **(changes or {})}
        return {k: v for k, v in merged.items() if v is not None}

    return {"metadata": merge(base_metadata, metadata),
            "metrics": merge(base_metrics, metrics), **top}


def same_metrics(*reports):
    for other in reports[1:]:
        equal(other["metrics"], reports[0]["metrics"])
        equal(other["window"], reports[0]["window"])


# ---- the command line -------------------------------------------------------------

@test
def help_is_printed():
    for arguments, part in ((["--help"], "report FILE..."),
                            (["report", "--help"], "--window"),
                            (["metrics", "--help"], "Usage: timeweight metrics")):
        status, out, err = run(*arguments)
        equal((status, err), (0, ""))
        contains(out, part)
        contains(out, "Usage: timeweight")


@test
def version_is_printed():
    status, out, err = run("--version")
    equal((status, err), (0, ""))
    assert out.startswith("timeweight 0."), out


@test
def wrong_command_lines_exit_2():
    usage_error("which command?")
    usage_error("no such command: nonsense", "nonsense")
    usage_error("which file?", "report")
    usage_error("takes no argument: x", "metrics", "x")
    usage_error("--nonsense", "report", "--nonsense", SAMPLE)
    usage_error("--nonsense", "--nonsense")
    usage_error("--format: unknown: 'xml'", "report", "--format", "xml", SAMPLE)
    usage_error("--input: unknown: 'csv'", "report", "--input", "csv", SAMPLE)


@test
def wrong_windows_exit_2():
    edge = "an edge must be a whole number of ns in [-2^61, 2^61], or empty"
    for window, part in (("5", "must be BEGIN:END"), ("", "must be BEGIN:END"),
                         (":", "must name an edge"), ("a:b", edge), ("1.5:", edge),
                         ("1:2:3", edge), (" 1:2", edge), ("1: 2", edge), ("+1:2", edge),
                         ("0x1:", edge), ("-:3", edge), ("1e3:", edge),
                         (":2305843009213693953", edge), ("-2305843009213693953:", edge),
                         ("99999999999999999999:", edge),
                         ("5:4", "must not begin after its end")):
        usage_error(f"--window: '{window}': {part}",
                    "report", f"--window={window}", SAMPLE)


@test
def wrong_quantiles_exit_2():
    words = "must be decimal numbers with commas between them"
    for quantiles, part in (("", words), ("x", words), ("0.5,", words), (",0.5", words),
                            ("0.5 ", words), ("nan", words), ("-0.5", words),
                            ("1e-3", words), ("0x1p-1", words), (".", words),
                            ("0.5;0.6", words), ("0.1.2", words),
                            ("1.5", "must lie in [0, 1]"),
                            ("0.5,99", "must lie in [0, 1]"),
                            (",".join(["0.5"] * 257), "are too many")):
        usage_error(part, "report", f"--quantiles={quantiles}", SAMPLE)


@test
def metrics_are_listed():
    status, out, err = run("metrics")
    equal((status, err), (0, ""))
    lines = out.splitlines()
    equal(lines[0].split(), ["tag", "header", "unit", "group", "kind", "mask", "better",
                             "description"])
    starts = [lines[0].index(word) for word in lines[0].split()]
    table = {}
    for line in lines[1:]:
        cells = [line[a:b].strip() for a, b in zip(starts, starts[1:] + [None])]
        assert all(cells), line
        table[cells[0]] = cells
    equal(table["active_prefill_throughput"][2:7],
          ["tokens/sec", "active", "curve", "effective_prefill_concurrency", "higher"])
    equal(table["effective_latency"][2:7], ["ms", "effective", "sample", "-", "lower"])
    equal(table["request_count"][3:6], ["default", "scalar", "-"])
    emitted = report(open(SAMPLE, "rb").read())["metrics"]
    assert set(emitted) <= set(table), set(emitted) - set(table)
    for tag, metric in emitted.items():
        equal([metric["header"], metric["unit"], metric["group"].lower()],
              table[tag][1:4])


# ---- reading ----------------------------------------------------------------------

@test
def text_is_the_default():
    status, out, err = run("report", SAMPLE)
    equal((status, err), (0, ""))
    for part in ("LLM Metrics: Effective", "LLM Metrics: Active",
                 "Effective Concurrency"):
        contains(out, part)


@test
def json_has_the_documented_shape():
    got = report(rows(ROW))
    equal(list(got), ["schema", "library", "window", "balance", "counters", "metrics"])
    equal(got["window"], {"begin_ns": 5, "end_ns": 50})
    equal(got["balance"]["issued"], 1)
    equal(got["metrics"]["effective_latency"]["avg"], 45e-6)


@test
def options_may_follow_files():
    status, out, _ = run("report", SAMPLE, "--format", "json")
    equal(status, 0)
    equal(json.loads(out)["balance"]["issued"], 200)


@test
def line_ends_blank_lines_and_byte_order_mark():
    plain = report(rows(ROW, changed(end_ns=60)))
    lines = [json.dumps(ROW), json.dumps(changed(end_ns=60))]
    same_metrics(plain, report("\n".join(lines)), report("\r\n".join(lines) + "\r\n"),
                 report("\n\n \t\n".join(lines) + "\n\n"),
                 report("\ufeff" + "\n".join(lines)), report("  " + " \n  ".join(lines)))


@test
def blank_lines_count_in_the_numbering():
    refused("\n \n" + rows(ROW) + "\r\n" + rows(changed(end_ns=9)),
            "5: end_ns: must not be earlier than start_ns (9 < 10)")


@test
def records_are_exact_to_the_nanosecond():
    base = 1785796781511535631
    got = report(rows({"start_ns": base, "end_ns": base + 1}))
    equal(got["window"], {"begin_ns": base, "end_ns": base + 1})
    equal(got["metrics"]["request_latency"]["avg"], 1e-6)


@test
def unknown_keys_and_nulls_are_ignored():
    plain = report(rows({"start_ns": 1, "generation_start_ns": 2, "end_ns": 9}))
    full = {"comment": {"a": [1, {"b": None}]}, "start_ns": 1, "generation_start_ns": 2,
            "end_ns": 9, "credit_issued_ns": None, "input_tokens": None, "status": None,
            "output_tokens": None, "chunk_arrival_ns": None, "chunk_tokens": None,
            "streaming": None, "z": "\\\"}{][\u00e9"}
    same_metrics(plain, report(rows(full)))


@test
def the_last_of_duplicate_keys_wins():
    want = report(rows({"start_ns": 5, "end_ns": 9}))
    same_metrics(want, report('{"start_ns":1,"end_ns":9,"start_ns":5}\n'),
                 report('{"start_ns":5,"input_tokens":3,"end_ns":9,"input_tokens":null}'))
    chunked = report(rows(changed(chunk_arrival_ns=[30, 40])))
    twice = json.dumps(ROW)[:-1] + ',"chunk_arrival_ns":[21],"chunk_arrival_ns":[30,40]}'
    same_metrics(chunked, report(twice))


@test
def escaped_keys_are_the_same_keys():
    same_metrics(report(rows({"start_ns": 1, "end_ns": 4})),
                 report('{"start\\u005fns":1,"\\u0065nd_ns":4}'))


@test
def statuses_and_streaming():
    got = report(rows(ROW, changed(status="ok"), changed(status="failed"),
                      changed(status="cancelled"), {"start_ns": 12, "streaming": True},
                      {"start_ns": 12, "streaming": False}))
    balance = got["balance"]
    equal([balance[k] for k in ("issued", "ok", "failed", "cancelled", "in_flight")],
          [6, 2, 1, 1, 2])
    one = report(rows(ROW, {"start_ns": 12, "streaming": True}))
    none = report(rows(ROW, {"start_ns": 12}))
    assert one["metrics"]["effective_prefill_concurrency"]["avg"] > \
        none["metrics"]["effective_prefill_concurrency"]["avg"]


@test
def chunk_tokens_are_used():
    plain = report(rows(changed(chunk_arrival_ns=[30, 50])))
    counted = report(rows(changed(chunk_arrival_ns=[30, 50], chunk_tokens=[2, 1])))
    assert plain["metrics"]["effective_decode_throughput"] != \
        counted["metrics"]["effective_decode_throughput"]
    same_metrics(plain,
                 report(rows(changed(chunk_arrival_ns=[30, 50], chunk_tokens=None))))
    same_metrics(report(rows(ROW)), report(rows(changed(chunk_arrival_ns=[]))),
                 report(rows(changed(chunk_arrival_ns=[], chunk_tokens=[]))))


@test
def standard_input_is_a_file():
    content = open(SAMPLE, "rb").read()
    status, out, err = run("report", "--format", "json", "-", stdin=content)
    equal((status, err), (0, ""))
    same_metrics(report(content), json.loads(out))
    status, out, err = run("report", "-", stdin=b'\n{"start_ns": []}\n')
    equal((status, out, err), (1, "", "<stdin>:2: start_ns: must be a 64-bit integer\n"))


@test
def standard_input_may_come_byte_by_byte():
    content = rows(ROW, changed(end_ns=77)).encode()
    with subprocess.Popen([TOOL, "report", "--format", "json", "-"], bufsize=0,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for byte in content:
            process.stdin.write(bytes([byte]))
        process.stdin.close()
        same_metrics(report(content), json.loads(process.stdout.read()))
    equal(process.returncode, 0)


@test
def several_files_are_one_run():
    lines = open(SAMPLE, "rb").read().splitlines(True)
    whole = report(b"".join(lines))
    paths = [scratch(f"part{i}.jsonl", b"".join(lines[i::3])) for i in range(3)]
    status, out, err = run("report", "--format", "json", *paths)
    equal((status, err), (0, ""))
    equal(json.loads(out), whole)
    status, out, err = run("report", "--format", "json", paths[2], "-", paths[0],
                           stdin=open(paths[1], "rb").read())
    equal((status, err), (0, ""))
    equal(json.loads(out), whole)


@test
def files_of_both_formats_are_one_run():
    both = [scratch("a.jsonl"), scratch("r.jsonl")]
    simulate("--requests", "20", "--aiperf", both[0], "--records", both[1])
    status, out, err = run("report", "--format", "json", *both)
    equal((status, err), (0, ""))
    got = json.loads(out)
    equal(got["balance"]["issued"], 40)
    equal(got["counters"]["warmup_rows_left_out"], 0)


@test
def long_lines():
    padding = "x" * (11 << 20)
    same_metrics(report(rows(ROW)), report(rows({"note": padding, **ROW})),
                 report(rows({**ROW, "note": [1.5] * (3 << 20)})))
    many = list(range(21, 21 + (1 << 20)))
    got = report(rows({**ROW, "end_ns": 1 << 30, "chunk_arrival_ns": many}))
    equal(got["metrics"]["inter_chunk_latency"]["count"], 1 << 20)
    refused(rows(ROW) + rows({"note": padding, **ROW, "end_ns": 1}),
            "2: end_ns: must not be earlier than start_ns (1 < 10)")


@test
def memory_does_not_grow_with_the_file():
    line = rows({"note": "y" * (1 << 20), "start_ns": 1, "end_ns": 2}).encode()
    with subprocess.Popen([TOOL, "report", "-"], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as process:
        for _ in range(200):
            process.stdin.write(line)
        process.stdin.flush()
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            peak = [line.split()[1] for line in file if line.startswith("VmHWM:")]
        process.stdin.close()
    equal(process.returncode, 0)
    assert int(peak[0]) < 100 << 10, f"{peak[0]} KiB"


# ---- bad rows ---------------------------------------------------------------------

@test
def rules_of_the_library():
    good = rows(ROW)
    for row, message in (
            ({}, None), ({"end_ns": 1}, None),
            (changed(start_ns=None), "start_ns: must be recorded"),
            (changed(generation_start_ns=9),
             "generation_start_ns: must not be earlier than start_ns (9 < 10)"),
            (changed(end_ns=9, generation_start_ns=None),
             "end_ns: must not be earlier than start_ns (9 < 10)"),
            (changed(end_ns=15), "end_ns: must not be earlier than generation_start_ns "
                                 "(15 < 20)"),
            (changed(end_ns=None, status="failed"),
             "end_ns: must be recorded for a failed or cancelled request"),
            (changed(end_ns=2**61 + 1),
             "end_ns: must lie in [-2^61, 2^61] (2305843009213693953)"),
            (changed(credit_issued_ns=-2**63 + 1),
             "credit_issued_ns: must lie in [-2^61, 2^61] (-9223372036854775807)"),
            (changed(input_tokens=-2), "input_tokens: must lie in [0, 2^40) (-2)"),
            (changed(output_tokens=2**40),
             "output_tokens: must lie in [0, 2^40) (1099511627776)"),
            (changed(chunk_arrival_ns=[19]),
             "chunk_arrival_ns: must not be earlier than generation_start_ns, which must "
             "be recorded (19 < 20)"),
            (changed(chunk_arrival_ns=[30], generation_start_ns=None),
             "chunk_arrival_ns: must not be earlier than generation_start_ns, which must "
             "be recorded (30)"),
            (changed(chunk_arrival_ns=[30, 29]),
             "chunk_arrival_ns: must not be earlier than the chunk before (29 < 30)"),
            (changed(chunk_arrival_ns=[30, 51]),
             "chunk_arrival_ns: must not be later than end_ns (51 > 50)"),
            (changed(chunk_arrival_ns=[30], chunk_tokens=[-1]),
             "chunk_tokens: must lie in [0, 2^40) (-1)")):
        message = message or "start_ns: must be recorded"
        refused(good + rows(row), "2: " + message)


@test
def the_marks_of_missing_values_are_no_values():
    low = -2**63
    refused(rows(changed(start_ns=low)),
            f"1: start_ns: must lie in [-2^61, 2^61] ({low})")
    refused(rows(changed(credit_issued_ns=low)),
            f"1: credit_issued_ns: must lie in [-2^61, 2^61] ({low})")
    for field in ("input_tokens", "output_tokens"):
        refused(rows(changed(**{field: -1})), f"1: {field}: must lie in [0, 2^40) (-1)")


@test
def integers_are_integers():
    for field in ("credit_issued_ns", "start_ns", "generation_start_ns", "end_ns",
                  "input_tokens", "output_tokens"):
        for value in ("1.5", "30.0", "3e1", '"30"', "true", "[30]", '{"value":30}',
                      "9223372036854775808", "-9223372036854775809", "030", "+30", "30x",
                      "0x1e", "nul", "NaN", "1e400", "99999999999999999999999", "-",
                      "--1"):
            text = json.dumps(changed(**{field: 30})).replace(f'"{field}": 30',
                                                              f'"{field}": {value}')
            refused(text, f"1: {field}: must be a 64-bit integer")


@test
def other_types():
    for row, message in (
            (changed(status="OK"), 'status: must be "ok", "failed" or "cancelled"'),
            (changed(status=1), 'status: must be "ok", "failed" or "cancelled"'),
            (changed(streaming=1), "streaming: must be true or false"),
            (changed(streaming="true"), "streaming: must be true or false"),
            (changed(chunk_arrival_ns=30),
             "chunk_arrival_ns: must be an array of 64-bit integers"),
            (changed(chunk_arrival_ns={}),
             "chunk_arrival_ns: must be an array of 64-bit integers"),
            (changed(chunk_arrival_ns=[30, None]),
             "chunk_arrival_ns: must be an array of 64-bit integers"),
            (changed(chunk_arrival_ns=[30.0]),
             "chunk_arrival_ns: must be an array of 64-bit integers"),
            (changed(chunk_arrival_ns=[[30]]),
             "chunk_arrival_ns: must be an array of 64-bit integers"),
            (changed(chunk_arrival_ns=[30], chunk_tokens=["1"]),
             "chunk_tokens: must be an array of 64-bit integers"),
            (changed(chunk_arrival_ns=[30], chunk_tokens=[1, 1]),
             "chunk_tokens: must be as long as chunk_arrival_ns"),
            (changed(chunk_arrival_ns=[30], chunk_tokens=[]),
             "chunk_tokens: must be as long as chunk_arrival_ns"),
            (changed(chunk_tokens=[1]),
             "chunk_tokens: must be as long as chunk_arrival_ns")):
        refused(rows(ROW, row), "2: " + message)


@test
def rows_that_are_not_objects():
    row = json.dumps(ROW)
    for text in ("[]", "[{}]", "12", '"start_ns"', "null", "true", f"[{row}]"):
        refused(rows(ROW) + text, "2: row: must be a JSON object")
    refused(row + row, "1: row: must be one JSON object, with nothing behind it")
    refused(row + "}", "1: row: must be one JSON object, with nothing behind it")


@test
def broken_json():
    row = json.dumps(ROW)
    for text in (row + "x", row + ",", row[:-1], row[:-1] + ",}", row[:-1] + ',"a"}',
                 row[:-1] + ',"a":}', row[:-1] + " 1}", "{" + row,
                 row.replace(",", "", 1), row.replace(":", "", 1), row[1:], "{", "}",
                 "{]", '{"a', "garbage",
                 "\x01", row[:-1] + ',"a":"\t"}', row[:-1] + ',"a":[1}'):
        path = scratch("bad.jsonl", rows(ROW) + text)
        status, out, err = run("report", path)
        equal((status, out), (1, ""))
        assert err.startswith(f"{path}:2: row: must be "), (text, err)
    not_json('{"start_ns":1,"a":"\udcff"}'.encode(errors="surrogateescape"), 1)
    refused("\ufeff\ufeff" + row, "1: row: must be a JSON object")
    not_json('{"start_ns":1,"\\ud800":2}', 1)


@test
def nul_bytes_and_garbage():
    for content in (b"\0", b'{"start_ns":1\0}', b'{"start_ns":1,"a":"\0"}',
                    b'{"start_ns":1}\0'):
        refused(content, "1: row: must not contain NUL bytes")
    for name, content in (("elf", open(TOOL, "rb").read(1 << 16)), ("ff", b"\xff" * 5000),
                          ("gzip", b"\x1f\x8b\x08" + bytes(range(256)) * 20),
                          ("utf16", rows(ROW).encode("utf-16"))):
        status, out, err = run("report", scratch(name, content))
        equal((status, out), (1, ""))
        contains(err, ": row: must ")


@test
def nesting_bombs():
    deep = 100000
    refused("[" * deep, "1: row: must be a JSON object")
    refused("[" * deep + "]" * deep, "1: row: must be a JSON object")
    not_json('{"start_ns":1,"a":' + "[" * deep, 1)
    not_json('{"a":' * deep, 1)
    not_json('{"start_ns":1,"a":' + '{"a":' * deep + "}", 1)
    for field in ("start_ns", "chunk_arrival_ns", "status"):
        path = scratch("bomb",
                       f'{{"start_ns":1,"{field}":' + "[" * deep + "]" * deep + "}")
        status, _, err = run("report", path)
        equal(status, 1)
        contains(err, f"1: {field}: must be")
    # Under a key that nobody reads it is skipped, without recursion.
    report('{"start_ns":1,"end_ns":2,"a":' + "[" * deep + "]" * deep + "}")


@test
def unknown_formats():
    message = "row: must be of a known format: aiperf (with metadata) or records " \
              "(with start_ns)"
    refused('{"a":1}\n' + rows(ROW), "1: " + message)
    refused("\n{}", "2: " + message)
    refused(rows({"end_ns": 3}), "1: start_ns: must be recorded", "--input=records")
    refused(rows(ROW), "1: metadata: must be an object", "--input=aiperf")
    refused(rows(aiperf()), "1: start_ns: must be recorded", "--input=records")
    refused(rows(ROW, aiperf()), "2: start_ns: must be recorded")
    refused(rows(aiperf(), ROW), "2: metadata: must be an object")


@test
def files_that_cannot_be_read():
    missing = scratch("missing.jsonl")
    for path, why in ((missing, "No such file or directory"),
                      (SCRATCH.name, "Is a directory"), (scratch("empty", ""), "no rows"),
                      (scratch("blank", "\n \n\n"), "no rows"),
                      (scratch("bom", "\ufeff"), "no rows")):
        equal(run("report", path), (1, "", f"{path}: {why}\n"))
        equal(run("report", SAMPLE, path), (1, "", f"{path}: {why}\n"))
    equal(run("report", "-"), (1, "", "<stdin>: no rows\n"))


@test
def every_truncation_is_told_or_shortens():
    for content in (rows(ROW, changed(chunk_arrival_ns=[30, 40], status="ok")),
                    rows(aiperf(), aiperf(error=None))):
        content = content.encode()
        for length in range(len(content)):
            path = scratch("cut.jsonl", content[:length])
            status, out, err = run("report", "--format", "json", path)
            complete = content[:length].count(b"\n")
            if content[length:length + 1] == b"\n":
                complete += 1  # only the newline is missing
            rest = content[:length].rpartition(b"\n")[2]
            if complete > 0 and (not rest or content[length:length + 1] == b"\n"):
                equal((status, err), (0, ""))
                equal(json.loads(out)["balance"]["issued"], complete)
            else:
                equal((status, out), (1, ""))
                assert err.startswith(path), err


@test
def random_damage_never_crashes():
    dice = random.Random(20240229)
    sources = [rows(ROW, changed(chunk_arrival_ns=[30, 40], chunk_tokens=[1, 2])),
               rows(aiperf(), aiperf({"benchmark_phase": "warmup"}))]
    for _ in range(400):
        content = bytearray(dice.choice(sources).encode())
        for _ in range(dice.randint(1, 6)):
            at = dice.randrange(len(content))
            what = dice.randrange(4)
            if what == 0:
                content[at] = dice.randrange(256)
            elif what == 1:
                del content[at:at + dice.randint(1, 20)]
            elif what == 2:
                content[at:at] = dice.choice(b'{}[]",:\\-.e0n').to_bytes(1, "big")
            else:
                content[at:at] = content[at:at + 30]
            if not content:
                content = bytearray(b"{")
        options = dice.choice(([], ["--keep-going"]))
        status, _, err = run("report", *options, "-", stdin=bytes(content))
        assert status in (0, 1), (status, bytes(content))
        assert status == 0 or err, bytes(content)


# ---- keep going -------------------------------------------------------------------

@test
def bad_rows_are_skipped_and_counted():
    path = scratch("mixed.jsonl", rows(ROW) + "oops\n" + rows(changed(end_ns=1))
                   + "\n" + rows(changed(status=3), changed(end_ns=70)) + '{"start_ns":')
    status, out, err = run("report", "--keep-going", "--format", "json", path)
    equal(status, 0)
    assert err.startswith(f"timeweight: rows skipped: 4, the first: {path}:2: row: "), err
    equal(err.count("\n"), 1)
    got = json.loads(out)
    equal(got["counters"]["rows_skipped"], 4)
    equal((got["balance"]["issued"], got["balance"]["refused"]), (2, 1))
    same_metrics(report(rows(ROW, changed(end_ns=70))), got)


@test
def without_bad_rows_keep_going_is_silent():
    got = report(rows(ROW), "--keep-going")
    equal(got["counters"]["rows_skipped"], 0)
    assert "rows_skipped" not in report(rows(ROW))["counters"]
    assert "warmup_rows_left_out" not in got["counters"]


@test
def something_must_remain():
    path = scratch("bad.jsonl", "oops\n" + rows(changed(end_ns=1)))
    status, out, err = run("report", "--keep-going", path)
    equal((status, out), (1, ""))
    contains(err, "timeweight: no records (rows skipped: 2, warm-up rows left out: 0)\n")
    contains(err, f"timeweight: rows skipped: 2, the first: {path}:1: ")
    equal(run("report", "--keep-going", scratch("none", "\n"))[0], 1)
    warmup = scratch("warm.jsonl", rows(aiperf({"benchmark_phase": "warmup"})))
    equal(run("report", warmup),
          (1, "", "timeweight: no records (rows skipped: 0, warm-up rows left out: 1)\n"))


@test
def keep_going_finds_the_format_after_bad_rows():
    got = report("oops\n{}\n" + rows(aiperf()), "--keep-going")
    equal(got["counters"]["rows_skipped"], 2)
    equal(got["balance"]["issued"], 1)


# ---- windows and quantiles --------------------------------------------------------

@test
def windows():
    content = open(SAMPLE, "rb").read()
    default = report(content)
    begin, end = default["window"]["begin_ns"], default["window"]["end_ns"]
    for window in (f"{begin}:{end}", f"{begin}:", f":{end}"):
        equal(report(content, "--window", window), default)
    half = (begin + end) // 2
    left = report(content, "--window", f":{half}")
    right = report(content, "--window", f"{half}:")
    equal(left["window"], {"begin_ns": begin, "end_ns": half})
    equal(right["window"], {"begin_ns": half, "end_ns": end})
    equal(sum(part["metrics"]["request_count"]["avg"] for part in (left, right)), 200)
    equal(report(rows(ROW), "--window=-5:30")["window"], {"begin_ns": -5, "end_ns": 30})
    empty = report(rows(ROW), "--window=7:7")
    equal(empty["window"], {"begin_ns": 7, "end_ns": 7})
    assert "effective_concurrency" not in empty["metrics"]
    limit = 2**61
    equal(report(rows(ROW), f"--window={-limit}:{limit}")["window"],
          {"begin_ns": -limit, "end_ns": limit})


@test
def a_window_beyond_the_run():
    message = "timeweight: --window: must not begin after the end of the run, nor end " \
              "before its begin\n"
    path = scratch("in.jsonl", rows(ROW))
    equal(run("report", "--window=51:", path), (1, "", message))
    equal(run("report", "--window=:4", path), (1, "", message))
    equal(run("report", "--window=50:", path)[0], 0)


@test
def quantiles_are_added():
    content = open(SAMPLE, "rb").read()
    default = report(content)["metrics"]
    more = report(content, "--quantiles", "0.999,0.5,0,1,0.123456")["metrics"]
    equal(list(default), list(more))
    for tag, metric in default.items():
        for name, value in metric.items():
            equal(more[tag][name], value)
    latency = more["request_latency"]
    equal((latency["p0"], latency["p100"]), (latency["min"], latency["max"]))
    assert latency["p99"] <= latency["p99.9"] <= latency["max"]
    assert latency["p10"] <= latency["p12.3456"] <= latency["p25"]
    status, out, _ = run("report", "--quantiles=0.999", SAMPLE)
    equal(status, 0)
    contains(out, "p99.9")


# ---- AIPerf -----------------------------------------------------------------------

START = 1700000000000100000
MS = 1000000


@test
def the_newest_generation():
    row = aiperf()
    same_metrics(report(rows(row)), report(rows({
        "credit_issued_ns": START - 100000, "start_ns": START,
        "generation_start_ns": START + 40 * MS, "end_ns": START + 999 * MS // 10,
        "input_tokens": 200, "output_tokens": 3,
        "chunk_arrival_ns": [START + 605 * MS // 10, START + 999 * MS // 10]})))
    equal(report(rows(row))["counters"]["end_adjusted_rows"], 0)


@test
def the_middle_generation():
    row = {"metadata": {"request_start_ns": START, "request_ack_ns": None,
                        "request_end_ns": START + 100 * MS + 23, "conversation_id": None,
                        "benchmark_phase": "profiling", "was_cancelled": False,
                        "cancellation_time_ns": None},
           "metrics": {"time_to_first_token": ms(31.742933999999998),
                       "inter_chunk_latency": ms([17.868007, 18.349401999999998]),
                       "request_latency": ms(67.960343),
                       "input_sequence_length": tokens(100),
                       "output_sequence_length": tokens(3)},
           "error": None}
    first = START + 31742934
    same_metrics(report(rows(row)), report(rows({
        "start_ns": START, "generation_start_ns": first, "end_ns": START + 100 * MS + 23,
        "input_tokens": 100, "output_tokens": 3,
        "chunk_arrival_ns": [first + 17868007, first + 17868007 + 18349402]})))


@test
def the_oldest_generation():
    ok = {"metadata": {"timestamp_ns": START, "credit_phase": "profiling"},
          "metrics": {"ttft": ms(75.45567799999999), "request_latency": ms(80),
                      "min_request_timestamp": ns(START),
                      "max_response_timestamp": ns(START + 80 * MS),
                      "input_sequence_length": tokens(10),
                      "output_sequence_length": tokens(2),
                      "inter_chunk_latency": ms([4.544322])}, "error": None}
    gone = {"metadata": {"timestamp_ns": START + 5, "credit_phase": "profiling"},
            "metrics": {"error_request_count": {"value": 1, "unit": "requests"}},
            "error": {"code": 499, "type": "RequestCancellationError", "message": "x"}}
    want = report(rows(
        {"start_ns": START, "generation_start_ns": START + 75455678,
         "end_ns": START + 80 * MS, "input_tokens": 10, "output_tokens": 2,
         "chunk_arrival_ns": [START + 80 * MS]},
        {"start_ns": START + 5, "end_ns": START + 5, "status": "cancelled"}))
    same_metrics(want, report(rows(ok, gone)))
    del ok["metadata"]["timestamp_ns"]
    same_metrics(want, report(rows(ok, gone)))
    equal(report(rows(ok, gone))["balance"]["cancelled"], 1)


@test
def starts_and_ends_have_an_order():
    def window(metadata, metrics=None, **top):
        got = report(rows(aiperf({"credit_issued_ns": None, **metadata},
                                 {"inter_chunk_latency": None, "request_latency": None,
                                  "time_to_first_token": None, **(metrics or {})},
                                 **top)))
        return got["window"]["begin_ns"] - START, got["window"]["end_ns"] - START

    equal(window({"timestamp_ns": 1}, {"min_request_timestamp": ns(2),
                                       "max_response_timestamp": ns(3)}), (0, 99900000))
    equal(window({"request_start_ns": None, "timestamp_ns": START + 1},
                 {"min_request_timestamp": ns(2)}), (1, 99900000))
    equal(window({"request_start_ns": None}, {"min_request_timestamp": ns(START + 2)}),
          (2, 99900000))
    late = START + 7 * MS
    equal(window({"request_end_ns": None}, {"max_response_timestamp": ns(late),
                                            "request_latency": ms(5.0)}), (0, 7 * MS))
    equal(window({"request_end_ns": None}, {"request_latency": ms(5)}), (0, 5 * MS))
    error = {"code": 500, "type": "x", "message": "y"}
    equal(window({"request_end_ns": None, "cancellation_time_ns": late},
                 {"request_latency": ms(5)}, error=error), (0, 7 * MS))
    equal(window({"request_end_ns": START + 9, "cancellation_time_ns": late},
                 error=error), (0, 9))
    equal(window({"request_end_ns": None}, error=error), (0, 0))


@test
def errors_and_cancellations():
    def balance(metadata=None, **top):
        got = report(rows(aiperf(metadata, **top)))["balance"]
        return got["ok"], got["failed"], got["cancelled"]

    equal(balance(), (1, 0, 0))
    equal(balance(error=None), (1, 0, 0))
    equal(balance(error={"code": 500}), (0, 1, 0))
    equal(balance(error={}), (0, 1, 0))
    equal(balance(error={"code": None, "message": "m"}), (0, 1, 0))
    equal(balance(error="broken"), (0, 1, 0))
    equal(balance(error={"code": 499, "details": {"code": 1}}), (0, 0, 1))
    equal(balance({"was_cancelled": True}), (0, 0, 1))
    equal(balance({"was_cancelled": True}, error={"code": 500}), (0, 0, 1))


@test
def warm_up_rows_are_left_out():
    want = report(rows(aiperf()))
    for phase in ({"benchmark_phase": "warmup"},
                  {"benchmark_phase": None, "credit_phase": "warmup"}):
        got = report(rows(aiperf(phase), aiperf(), aiperf(phase)))
        equal(got["counters"]["warmup_rows_left_out"], 2)
        equal(got["balance"]["issued"], 1)
        same_metrics(want, got)


@test
def ends_move_to_the_last_arrival():
    late = {"inter_chunk_latency": ms([20.5, 39.400001])}
    got = report(rows(aiperf(), aiperf(metrics=late)))
    equal(got["counters"]["end_adjusted_rows"], 1)
    equal(got["window"]["end_ns"], START + 99900001)
    # The first token is an arrival too.
    got = report(rows(aiperf({"request_end_ns": START + 1},
                             {"inter_chunk_latency": None})))
    equal(got["counters"]["end_adjusted_rows"], 1)
    equal(got["window"]["end_ns"], START + 40 * MS)
    # Tokens that came before an error did come.
    got = report(rows(aiperf({"request_end_ns": None}, error={"code": 500})))
    equal(got["counters"]["end_adjusted_rows"], 1)
    equal(got["window"]["end_ns"], START + 99900000)


@test
def rows_without_chunks_or_tokens():
    got = report(rows(aiperf(metrics={"inter_chunk_latency": None})))["metrics"]
    assert "inter_chunk_latency" not in got and "effective_decode_throughput" in got
    same_metrics(report(rows(aiperf(metrics={"inter_chunk_latency": None}))),
                 report(rows(aiperf(metrics={"inter_chunk_latency": ms([])}))),
                 report(rows(aiperf(metrics={"inter_chunk_latency": ms(None)}))))
    got = report(rows(aiperf(metrics={k: None for k in aiperf()["metrics"]})))["metrics"]
    assert "time_to_first_token" not in got and "effective_concurrency" in got
    bare = aiperf()
    del bare["metrics"]
    equal(report(rows(bare))["metrics"], got)


@test
def whole_token_counts_may_look_like_fractions():
    same_metrics(report(rows(aiperf())),
                 report(rows(aiperf(metrics={"input_sequence_length": tokens(200.0),
                                             "output_sequence_length": tokens(3.0)}))),
                 report(rows(aiperf()).replace('"value": 200,', '"value": 2e2,')))


@test
def bad_aiperf_rows():
    edge = {"credit_issued_ns": -2**61, "request_start_ns": 2**61,
            "request_end_ns": 2**61}
    near = 2**63 - 1000
    for row, message in (
            (aiperf(metrics={"time_to_first_token": ms("40")}),
             "time_to_first_token: must be a number of milliseconds"),
            (aiperf(metrics={"time_to_first_token": 40}),
             "time_to_first_token: must be an object with a value"),
            (aiperf(metrics={"time_to_first_token": {"unit": "ms"}}),
             "time_to_first_token: must be an object with a value"),
            (aiperf(metrics={"time_to_first_token": {"value": 40, "unit": "s"}}),
             "time_to_first_token: must be in ms"),
            (aiperf(metrics={"inter_chunk_latency": {"value": [1], "unit": "ns"}}),
             "inter_chunk_latency: must be in ms"),
            (aiperf(metrics={"max_response_timestamp": ms(3)}),
             "max_response_timestamp: must be in ns"),
            (aiperf(metrics={"time_to_first_token": ms(1e300)}),
             "time_to_first_token: must be shorter than 2^61 ns"),
            (aiperf(metrics={"time_to_first_token": ms(-1.0)}),
             "generation_start_ns: must not be earlier than start_ns "
             f"({START - MS} < {START})"),
            (aiperf(metrics={"inter_chunk_latency": ms(20.5)}),
             "inter_chunk_latency: must be an array of milliseconds"),
            (aiperf(metrics={"inter_chunk_latency": ms([20.5, None])}),
             "inter_chunk_latency: must be an array of milliseconds"),
            (aiperf(metrics={"inter_chunk_latency": ms([20.5, -0.000001])}),
             "inter_chunk_latency: must not be negative"),
            (aiperf(metrics={"inter_chunk_latency": ms([1e18])}),
             "inter_chunk_latency: must be shorter than 2^61 ns"),
            (aiperf(metrics={"inter_chunk_latency": ms([2e12] * 5)}),
             "inter_chunk_latency: must lie in [-2^61, 2^61]"),
            (aiperf(metrics={"time_to_first_token": None}),
             "inter_chunk_latency: must come with time_to_first_token"),
            (aiperf({"request_start_ns": near}, {"time_to_first_token": ms(1)}),
             "time_to_first_token: must lie in [-2^61, 2^61]"),
            (aiperf({"request_start_ns": near, "request_end_ns": None},
                    {"time_to_first_token": None, "inter_chunk_latency": None}),
             "request_latency: must lie in [-2^61, 2^61]"),
            (aiperf(edge, {"request_latency": None}),
             "generation_start_ns: must lie in [-2^61, 2^61] (2305843009253693952)"),
            (aiperf(metrics={"input_sequence_length": tokens(200.5)}),
             "input_sequence_length: must be a whole number"),
            (aiperf(metrics={"input_sequence_length": tokens("200")}),
             "input_sequence_length: must be a whole number"),
            (aiperf(metrics={"output_sequence_length": tokens(-1)}),
             "output_sequence_length: must lie in [0, 2^40) (-1)"),
            (aiperf(metrics={"output_sequence_length": tokens(-1.0)}),
             "output_sequence_length: must lie in [0, 2^40) (-1)"),
            (aiperf(metrics={"output_sequence_length": tokens(-2)}),
             "output_tokens: must lie in [0, 2^40) (-2)"),
            (aiperf(metrics={"output_sequence_length": tokens(1e30)}),
             "output_sequence_length: must lie in [0, 2^40)"),
            (aiperf({"request_start_ns": None}), "request_start_ns: must be recorded"),
            (aiperf({"request_start_ns": 1.5}),
             "request_start_ns: must be a 64-bit integer"),
            (aiperf({"request_end_ns": "x"}), "request_end_ns: must be a 64-bit integer"),
            (aiperf({"request_end_ns": None}, {"request_latency": None}),
             "request_end_ns: must be recorded, or request_latency"),
            (aiperf({"request_end_ns": START - 1},
                    {"time_to_first_token": None, "inter_chunk_latency": None}),
             f"end_ns: must not be earlier than start_ns ({START - 1} < {START})"),
            (aiperf({"benchmark_phase": 3}), "benchmark_phase: must be a string"),
            (aiperf({"was_cancelled": "no"}), "was_cancelled: must be true or false"),
            ({"metadata": None}, "metadata: must be an object"),
            ({"metadata": []}, "metadata: must be an object"),
            ({"metrics": {}}, "metadata: must be an object"),
            ({**aiperf(), "metrics": []}, "metrics: must be an object")):
        refused(rows(aiperf(), row), "2: " + message)
    refused(rows(aiperf()).replace("40.0", "NaN"),
            "1: time_to_first_token: must be a number of milliseconds")
    refused(rows(aiperf()).replace("40.0", "1e400"),
            "1: time_to_first_token: must be a number of milliseconds")
    refused(rows(aiperf()).replace("20.5", "-Infinity"),
            "1: inter_chunk_latency: must be an array of milliseconds")


@test
def the_last_of_duplicate_keys_wins_in_aiperf_too():
    want = report(rows(aiperf()))
    text = json.dumps(aiperf())
    other = json.dumps(aiperf({"request_start_ns": 5, "benchmark_phase": "warmup"}))
    merged = other[:-1] + "," + text[1:]
    same_metrics(want, report(merged))
    metric = '"time_to_first_token": {"value": 3, "value": 40.0, "unit": "ms"}'
    same_metrics(want, report(text.replace(
        '"time_to_first_token": {"value": 40.0, "unit": "ms"}', metric)))
    none = report(rows(aiperf(metrics={"inter_chunk_latency": None})))
    same_metrics(none, report(text.replace('39.4], "unit"',
                                           '39.4], "value": null, "unit"')))


# ---- output -----------------------------------------------------------------------

@test
def a_full_disk_is_an_error():
    for arguments in (["report", SAMPLE], ["report", "--format=json", SAMPLE],
                      ["metrics"], ["--help"], ["--version"], ["report", "--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOL, *arguments], stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        equal(done.returncode, 1)
        equal(done.stderr, b"timeweight: standard output: No space left on device\n")
    with open("/dev/full", "wb") as full:
        for arguments in ([], ["--records", "-"], ["--aiperf", "-"]):
            done = subprocess.run([SIMULATE, *arguments], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
            equal(done.returncode, 1)
            assert done.stderr


@test
def a_closed_pipe_is_an_error():
    for arguments in (["report", SAMPLE], ["metrics"], ["--help"]):
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = subprocess.run([TOOL, *arguments], stdout=write_end,
                              stderr=subprocess.PIPE, check=False)
        os.close(write_end)
        equal(done.returncode, 1)
        equal(done.stderr, b"timeweight: standard output: Broken pipe\n")


# ---- the simulation ---------------------------------------------------------------

@test
def both_formats_give_the_same_report():
    for options in ([], ["--no-chunks"], ["--jitter", "0"], ["--output-tokens", "1"],
                    ["--jitter", "50000", "--requests", "40", "--seed", "9"]):
        records, aiperf_path = scratch("s.records"), scratch("s.aiperf")
        text = simulate(*options, "--records", records, "--aiperf", aiperf_path)
        same_metrics(report(open(records, "rb").read()),
                     report(open(aiperf_path, "rb").read()))
        status, out, _ = run("report", records)
        equal((status, out), (0, text.decode()))
        equal(simulate(*options, "--records", "-"), open(records, "rb").read())
        equal(simulate(*options, "--aiperf", "-"), open(aiperf_path, "rb").read())


@test
def the_sample_is_reproducible():
    equal(simulate("--records", "-"), open(SAMPLE, "rb").read())
    assert simulate("--seed", "2", "--records", "-") != open(SAMPLE, "rb").read()


@test
def the_sample_is_the_worked_example():
    metrics = report(open(SAMPLE, "rb").read())["metrics"]
    for tag, want, tolerance in (("effective_decode_concurrency", 14.63, 0.01),
                                 ("effective_prefill_concurrency", 0.75, 0.01),
                                 ("effective_prefill_throughput", 1477.97, 0.005),
                                 ("effective_decode_throughput", 726.33, 0.005),
                                 ("effective_latency", 2081, 0.001),
                                 ("request_latency", 2081, 0.001),
                                 ("benchmark_duration", 27.06, 0.005)):
        got = metrics[tag]["avg"]
        assert abs(got - want) <= tolerance * want, f"{tag}: {got}, not {want}"
    assert 28000 <= metrics["active_prefill_throughput"]["avg"] <= 32000
    equal(metrics["effective_prefill_concurrency"]["p50"], 0)
    equal(metrics["effective_prefill_concurrency"]["p99"], 16)
    equal(metrics["effective_decode_concurrency"]["p50"], 16)


@test
def wrong_simulations_exit_2():
    for arguments in (["--requests", "0"], ["--requests", "x"], ["--requests", "1.5"],
                      ["--seed", "-1"], ["--jitter", "99999999999999999999"], ["x"],
                      ["--records", "-", "--aiperf", "-"], ["--nonsense"]):
        done = subprocess.run([SIMULATE, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        equal((done.returncode, done.stdout), (2, b""))
    done = subprocess.run([SIMULATE, "--records", "/nonexistent/file"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(done.returncode, 1)


@test
def signals_end_the_tool_without_half_a_report():
    for number in (signal.SIGINT, signal.SIGTERM):
        tool = subprocess.Popen([TOOL, "report", "-"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(SAMPLE, "rb") as sample:
            tool.stdin.write(sample.read(100_000))
        tool.stdin.flush()
        tool.send_signal(number)
        out, _ = tool.communicate()
        equal((tool.returncode, out), (-number, b""))


def main():
    failures = 0
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
