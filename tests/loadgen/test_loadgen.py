#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of timeweight-loadgen against the mock server and against worse ones, as TAP. All
traffic stays on the loopback, on ports that the system chooses.

    test_loadgen.py LOADGEN MOCKSERVER TIMEWEIGHT
"""
import contextlib
import fcntl
import http.client
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

LOADGEN, MOCKSERVER, TOOL = (os.path.abspath(path) for path in sys.argv[1:4])
SCRATCH = tempfile.TemporaryDirectory()
MS = 1_000_000
SEC = 1_000_000_000
KEY = "sk-do-not-tell-0123456789"
TESTS = []

# A proxy would take the traffic elsewhere.
ENV = {key: value for key, value in os.environ.items()
       if not key.lower().endswith("_proxy") and key != "OPENAI_API_KEY"}


class Skipped(Exception):
    """A test that cannot tell anything here."""


def test(function):
    TESTS.append(function)
    return function


# ---- vocabulary -------------------------------------------------------------------

def scratch(name, content=None):
    path = os.path.join(SCRATCH.name, name)
    if content is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    elif os.path.exists(path):
        os.remove(path)
    return path


def equal(got, want, what=""):
    assert got == want, f"{what}\n   got: {got!r}\n  want: {want!r}"


def contains(text, part):
    assert part in text, f"\n  {part!r} is not in {text!r}"


def between(least, got, most, what=""):
    assert least <= got <= most, f"{what}: {got} is not between {least} and {most}"


class Server:
    """The mock server while a test runs; it must end well."""

    def __init__(self, *arguments, env=None):
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(
            [MOCKSERVER, "--port", "0", *arguments], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**ENV, **(env or {})})
        line = self.process.stdout.readline()
        match = re.fullmatch(r"listening on (http://127\.0\.0\.1:(\d+))\n", line)
        assert match, f"no address: {line!r} {self.process.stderr.read()}"
        self.url, self.port = match[1], int(match[2])
        self.summary = None

    def __enter__(self):
        return self

    def health(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/health")
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def until(self, condition):
        """Waits until the counters say so."""
        for _ in range(3000):
            if condition(self.health()):
                return
            time.sleep(0.02)
        raise AssertionError(f"never happened: {self.health()}")

    def stop(self):
        if self.summary is None:
            self.process.send_signal(signal.SIGTERM)
            _, self.summary = self.process.communicate(timeout=60)
        return self.summary

    def __exit__(self, kind, *_):
        self.stop()
        self.process.stdout.close()
        if kind is None:
            equal(self.process.returncode, 0, f"the server: {self.summary}")


class Run:
    """What a run left behind."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


def start(*arguments, env=None, **options):
    return subprocess.Popen([LOADGEN, *arguments], text=True,
                            env={**ENV, **(env or {})},
                            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                               **options})


def finish(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode >= 0, f"killed by signal {-process.returncode}: {err}"
    return Run(process.returncode, out, err)


def run(*arguments, env=None, status=0):
    done = finish(start(*arguments, env=env))
    equal(done.status, status, f"exit status of {arguments}: {done.err} {done.out[-800:]}")
    return done


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def report(path, *options):
    done = subprocess.run([TOOL, "report", "--format", "json", *options, path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    equal(done.returncode, 0, done.stderr.decode())
    return done.stdout


def command(out):
    """The arguments of the command that is printed, as a shell reads them."""
    line = re.search(r"^Again: +(timeweight report .*)$", out, flags=re.M)
    assert line, f"no command in {out}"
    return line[1]


def check_again(out, json_path):
    """The command that is printed gives the numbers of the run: the JSON to the bit, the
    tables to the letter."""
    folder = os.path.dirname(TOOL)
    env = {**ENV, "PATH": folder + ":" + ENV["PATH"]}
    line = command(out)
    with open(json_path, "rb") as file:
        ours = file.read()
    theirs = subprocess.run(line + " --format=json", shell=True, check=True, env=env,
                            stdout=subprocess.PIPE).stdout
    equal(theirs, ours, "JSON")
    text = subprocess.run(line, shell=True, check=True, env=env, text=True,
                          stdout=subprocess.PIPE).stdout
    equal(out[:len(text)], text, "tables")
    return json.loads(ours)


def load(server, *arguments, status=0, env=None):
    """A run with all its outputs, checked against each other."""
    records, aiperf, summary = (scratch("run.jsonl"), scratch("aiperf.jsonl"),
                                scratch("run.json"))
    done = run(server.url, "--records", records, "--aiperf", aiperf, "--json", summary,
               *arguments, status=status, env=env)
    done.report = check_again(done.out, summary)
    done.rows = rows(records)
    done.aiperf = rows(aiperf)
    done.metrics = done.report["metrics"]
    balance = done.report["balance"]
    equal(balance["issued"], balance["ok"] + balance["failed"] + balance["cancelled"] +
          balance["in_flight"])
    equal(balance["issued"], len(done.rows))
    equal(balance["refused"], 0)
    equal(done.report["counters"]["credit_after_start"], 0)
    done.balance = balance
    return done


def counts(done):
    return tuple(done.balance[key] for key in ("ok", "failed", "cancelled", "in_flight"))


# ---- closed loop ------------------------------------------------------------------

QUICK = ("--ttft", "20", "--itl", "2")


@test
def closed_loop():
    with Server("--ttft", "50", "--itl", "10") as server:
        done = load(server, "--concurrency", "4", "--request-count", "21",
                    "--input-tokens", "37", "--output-tokens", "12")
        health = server.health()
        equal(counts(done), (21, 0, 0, 0))
        equal((health["completed"], health["most_active"]), (21, 4))
    for row in done.rows:
        equal(row["input_tokens"], 37)
        equal(row["output_tokens"], 12)
        equal(len(row["chunk_arrival_ns"]), 11)
        equal(row["chunk_arrival_ns"][-1], row["end_ns"])
        between(50 * MS, row["generation_start_ns"] - row["start_ns"], 5000 * MS)
        between(160 * MS, row["end_ns"] - row["start_ns"], 9000 * MS)
        assert row["credit_issued_ns"] <= row["start_ns"]
    contains(done.out, "Tokens:    as the server's usage counts them\n")
    assert re.search(r"^Generator: started requests late by p50 [\d.]+ ms, p99 [\d.]+ ms, "
                     r"max [\d.]+ ms; busy [\d.]+ % \(CPU [\d.]+ %\), longest turn [\d.]+ ms$", done.out,
                     flags=re.M), done.out
    # Each user's next request is due when its last one is over: behind the last token.
    ends = sorted(row["end_ns"] for row in done.rows)
    for row in done.rows:
        at_begin = row["credit_issued_ns"] - min(r["credit_issued_ns"] for r in done.rows)
        assert at_begin == 0 or any(0 <= row["credit_issued_ns"] - end for end in ends)
    between(1, server.summary.count("timing error of 252 chunks"), 1)


@test
def aiperf_export_has_the_same_numbers():
    with Server(*QUICK) as server:
        done = load(server, "--concurrency", "3", "--request-count", "30")
    theirs = json.loads(report(scratch_path("aiperf.jsonl")))
    equal(theirs["metrics"], done.metrics)
    # Failures too, but that the format does not say whether they were to stream.
    with Server(*QUICK, "--error-rate", "0.2") as server:
        done = load(server, "--concurrency", "3", "--request-count", "30", status=3)
    theirs = json.loads(report(scratch_path("aiperf.jsonl")))
    equal(theirs["balance"], done.balance)
    for tag in ("effective_latency", "adj_effective_latency", "effective_concurrency"):
        equal(theirs["metrics"][tag], done.metrics[tag])
    first = done.aiperf[0]
    equal(first["metadata"]["benchmark_phase"], "profiling")
    failed = [row for row in done.aiperf if "error" in row]
    equal(len(failed), done.balance["failed"])
    equal(failed[0]["error"], {"code": 500, "type": "RequestError",
                               "message": "HTTP 500: injected"})


def scratch_path(name):
    return os.path.join(SCRATCH.name, name)


@test
def both_endpoints_with_and_without_streams():
    with Server(*QUICK) as server:
        for endpoint in ("chat", "completions"):
            for how in ([], ["--no-stream"]):
                done = load(server, "--concurrency", "2", "--request-count", "4",
                            "--output-tokens", "5", "--endpoint", endpoint, *how)
                equal(counts(done), (4, 0, 0, 0))
                for row in done.rows:
                    equal("generation_start_ns" in row, not how)
                    equal(row.get("streaming", False), not how)
                    equal(row["output_tokens"], 5)
                equal("effective_decode_throughput" in done.metrics, not how)
        for url in (server.url + "/", server.url + "/v1", server.url + "/v1/",
                    server.url + "/v1/chat/completions"):
            run(url, "--concurrency", "1", "--request-count", "1")


@test
def tokens_are_counted_by_chunks_without_usage():
    with Server(*QUICK, "--tokens-per-chunk", "4") as server:
        with_usage = load(server, "--concurrency", "1", "--request-count", "2",
                          "--output-tokens", "9")
        equal(with_usage.rows[0]["output_tokens"], 9)
        equal(len(with_usage.rows[0]["chunk_arrival_ns"]), 2)
        without = load(server, "--concurrency", "1", "--request-count", "2",
                       "--output-tokens", "9", "--no-usage")
        equal(without.rows[0]["output_tokens"], 3)
        contains(without.out, "the server sends no usage: input the lengths asked for, "
                              "output chunks of content\n")
    with Server(*QUICK, "--no-usage") as server:
        contains(load(server, "--concurrency", "1", "--request-count", "1").out,
                 "the server sends no usage")


@test
def reasoning_is_content():
    with Server(*QUICK, "--reasoning-tokens", "3") as server:
        done = load(server, "--concurrency", "1", "--request-count", "1",
                    "--output-tokens", "8")
    equal(len(done.rows[0]["chunk_arrival_ns"]), 7)


@test
def prompts_of_a_file():
    path = scratch("prompts.txt", "one two three\n\n  \nvier f\u00fcnf\n")
    with Server(*QUICK) as server:
        done = load(server, "--concurrency", "1", "--request-count", "4", "--prompts", path)
        equal([row["input_tokens"] for row in done.rows], [3, 2, 3, 2])
        contains(run(server.url, "--concurrency", "1", "--request-count", "1", "--prompts",
                     scratch("none", "\n"), status=1).err, ": has no prompts")
        with open(path, "wb") as file:
            file.write(b"fine\n\xff\n")
        equal(run(server.url, "--concurrency", "1", "--request-count", "1", "--prompts",
                  path, status=1).err, f"timeweight-loadgen: {path}:2: must be UTF-8\n")


@test
def warmup_is_left_out():
    with Server(*QUICK) as server:
        done = load(server, "--concurrency", "2", "--request-count", "5", "--warmup", "7")
        equal(server.health()["completed"], 12)
        equal(counts(done), (5, 0, 0, 0))
    equal([row["metadata"]["benchmark_phase"] for row in done.aiperf],
          ["warmup"] * 7 + ["profiling"] * 5)


@test
def a_ramp_spreads_the_users():
    with Server(*QUICK) as server:
        done = load(server, "--concurrency", "4", "--request-count", "4", "--ramp", "0.4")
    credits = sorted(row["credit_issued_ns"] for row in done.rows)
    equal([credit - credits[0] for credit in credits], [i * 100 * MS for i in range(4)])


# ---- open loop --------------------------------------------------------------------

@test
def constant_rate():
    with Server(*QUICK) as server:
        done = load(server, "--request-rate", "40", "--arrivals", "constant",
                    "--request-count", "20")
    credits = sorted(row["credit_issued_ns"] for row in done.rows)
    equal([credit - credits[0] for credit in credits], [i * 25 * MS for i in range(20)])


@test
def random_rates_are_repeated_by_the_seed():
    with Server("--ttft", "1", "--itl", "1") as server:
        for arrivals in ("poisson", "gamma"):
            gaps = []
            for seed in ("1", "1", "2"):
                done = load(server, "--request-rate", "200", "--arrivals", arrivals,
                            "--request-count", "40", "--output-tokens", "2", "--seed", seed)
                credits = sorted(row["credit_issued_ns"] for row in done.rows)
                gaps.append([credit - credits[0] for credit in credits])
            equal(gaps[0], gaps[1])
            assert gaps[0] != gaps[2]
            between(40 / 200 / 4 * SEC, gaps[0][-1], 40 / 200 * 4 * SEC, arrivals)


@test
def waiting_for_a_place_counts():
    """One place, requests of 200 ms due every 50 ms: the i-th waits i * 150 ms."""
    with Server("--ttft", "200", "--itl", "0") as server:
        done = load(server, "--request-rate", "20", "--arrivals", "constant",
                    "--concurrency", "1", "--request-count", "8", "--output-tokens", "1")
    for i, row in enumerate(sorted(done.rows, key=lambda row: row["credit_issued_ns"])):
        wait = (row["start_ns"] - row["credit_issued_ns"]) / MS
        between(i * 150, wait, i * 150 + 1000 + 500 * i, f"wait of request {i}")
    metrics = done.metrics
    between(1250, metrics["effective_latency"]["max"], 9000)
    between(200, metrics["request_latency"]["min"], 600)
    between(4, metrics["effective_queue_depth"]["max"], 7)
    # The generator is not to blame: there was no place.
    late = re.search(r"late by p50 ([\d.]+) ms", done.out)
    between(0, float(late[1]), 100, "lateness")


MOONCAKE = "".join(
    json.dumps({"timestamp": t, "input_length": i, "output_length": o, "hash_ids": [0]}) + "\n"
    for t, i, o in ((5000, 30, 4), (5000, 12, 1), (5400, 3, 2), (6000, 700, 3)))
AZURE = ("TIMESTAMP,ContextTokens,GeneratedTokens\n"
         "2023-11-16 18:15:46.6805900,30,4\n2023-11-16 18:15:46.6805900,12,1\n"
         "2023-11-16 18:15:47.0805900,3,2\n2023-11-16 18:15:47.6805900,700,3\n")


@test
def traces_are_replayed():
    with Server(*QUICK) as server:
        for name, text in (("mooncake.jsonl", MOONCAKE), ("azure.csv", AZURE)):
            done = load(server, "--trace", scratch(name, text), "--trace-speed", "2")
            ordered = sorted(done.rows, key=lambda row: row["credit_issued_ns"])
            begin = ordered[0]["credit_issued_ns"]
            equal([row["credit_issued_ns"] - begin for row in ordered],
                  [0, 0, 200 * MS, 500 * MS])
            equal(sorted((row["input_tokens"], row["output_tokens"]) for row in done.rows),
                  [(3, 2), (12, 1), (30, 4), (700, 3)])
            equal(len(load(server, "--trace", scratch_path(name), "--trace-speed", "100",
                           "--request-count", "2").rows), 2)
        path = scratch("bad.csv", AZURE + "2023-11-16 18:15:47,x,3\n")
        equal(run(server.url, "--trace", path, status=1).err,
              f"timeweight-loadgen: {path}:6: ContextTokens: must be a whole number from "
              "0 to 10000000\n")
        contains(run(server.url, "--trace", "/nonexistent", status=1).err, "/nonexistent: ")


# ---- runs that do not go well -----------------------------------------------------

@test
def failures_are_recorded():
    with Server(*QUICK, "--error-rate", "0.2", "--stream-error-rate", "0.2",
                "--abort-rate", "0.2") as server:
        done = load(server, "--concurrency", "8", "--request-count", "100",
                    "--output-tokens", "10", status=3)
        health = server.health()
    ok, failed, cancelled, in_flight = counts(done)
    equal((ok + failed, cancelled, in_flight), (100, 0, 0))
    equal((health["completed"], health["errors"]), (ok, failed))
    between(20, failed, 80)
    reasons = {reason: int(count) for count, reason in
               re.findall(r"^ +(\d+)  (.*)$", done.out.split("Not successful:\n")[1],
                          flags=re.M)}
    equal(sum(reasons.values()), failed)
    equal({"HTTP 500: injected", "injected in the middle of a stream"} - set(reasons), set())
    equal(len(reasons), 3, "the third is what libcurl says of a broken connection")
    for row in done.rows:
        if row.get("status") == "failed":
            assert row["end_ns"] >= row["start_ns"]
            assert row.get("output_tokens") in (None, 5), row
    equal(done.metrics["error_request_count"]["avg"], failed)
    assert "adj_effective_latency" in done.metrics


@test
def cut_with_requests_in_flight():
    with Server("--ttft", "50", "--itl", "50") as server:
        done = load(server, "--concurrency", "3", "--duration", "1", "--grace", "0.2",
                    "--output-tokens", "100", status=3)
    equal(counts(done), (0, 0, 0, 3))
    contains(done.out, "     3  in flight at the end\n")
    contains(command(done.out), "--window=:")
    for row in done.rows:
        assert "end_ns" not in row and "status" not in row
        between(5, row["output_tokens"], 24)
        equal(row["output_tokens"], 1 + len(row["chunk_arrival_ns"]))
    window = done.report["window"]
    between(1.2 * SEC, window["end_ns"] - window["begin_ns"], 3 * SEC)
    between(2.9, done.metrics["effective_concurrency"]["avg"], 3)
    equal([row["metadata"]["was_cancelled"] for row in done.aiperf], [True] * 3)


@test
def grace_lets_them_end():
    with Server("--ttft", "50", "--itl", "20") as server:
        done = load(server, "--concurrency", "3", "--duration", "0.3", "--grace", "60",
                    "--output-tokens", "20")
        equal(counts(done), (3, 0, 0, 0))


@test
def requests_that_were_never_sent():
    """Ten a second are due, and one takes a second: most never get their turn."""
    with Server("--ttft", "1000", "--itl", "0") as server:
        done = load(server, "--request-rate", "10", "--arrivals", "constant",
                    "--concurrency", "1", "--duration", "1.95", "--grace", "0.3",
                    "--output-tokens", "1", status=3)
    ok, failed, cancelled, in_flight = counts(done)
    equal((ok + cancelled + in_flight, failed), (20, 0))
    between(17, cancelled, 20)
    contains(done.out, f"{cancelled:6}  due, but not sent before the end\n")
    for row in done.rows:
        if row.get("status") == "cancelled":
            equal(row["start_ns"], row["end_ns"])
    between(17, done.metrics["effective_queue_depth"]["max"], 20)


@test
def a_server_that_dies():
    records, summary = scratch("run.jsonl"), scratch("run.json")
    with Server("--ttft", "20", "--itl", "5") as server:
        process = start(server.url, "--concurrency", "5", "--request-count", "200",
                        "--output-tokens", "10", "--records", records, "--json", summary)
        server.until(lambda health: health["completed"] >= 30)
        server.process.kill()
        done = finish(process)
        server.process.wait()
        server.summary, server.process.returncode = "killed", 0
    equal(done.status, 3)
    balance = check_again(done.out, summary)["balance"]
    equal(len(rows(records)), 200)
    equal((balance["issued"], balance["ok"] + balance["failed"]), (200, 200))
    between(30, balance["ok"], 199)
    contains(done.out, "cannot connect\n")
    # A server that is gone is not hammered: 5 users, one try each in 100 ms.
    failed = sorted(row["start_ns"] for row in rows(records) if row.get("status"))
    least = (len(failed) - 10) // 5 * 100 * MS
    assert failed[-1] - failed[0] >= least, f"{(failed[-1] - failed[0]) / MS} ms"


@test
def no_server_at_all():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        done = run(f"http://127.0.0.1:{closed.getsockname()[1]}", "--concurrency", "2",
                   "--request-count", "4", status=3)
    contains(done.out, "     4  cannot connect\n")


@test
def slow_requests_time_out():
    with Server("--ttft", "10", "--itl", "100") as server:
        done = load(server, "--concurrency", "2", "--request-count", "2", "--timeout", "0.5",
                    status=3)
    equal(counts(done), (0, 2, 0, 0))
    contains(done.out, "     2  timed out\n")
    for row in done.rows:
        between(0.4 * SEC, row["end_ns"] - row["start_ns"], 8 * SEC)
        between(0, row["output_tokens"], 99)


# ---- interrupts -------------------------------------------------------------------

@test
def an_interrupt_ends_early_with_a_report():
    records, summary = scratch("run.jsonl"), scratch("run.json")
    for number in (signal.SIGINT, signal.SIGTERM):
        with Server("--ttft", "20", "--itl", "20") as server:
            process = start(server.url, "--concurrency", "4", "--duration", "600",
                            "--output-tokens", "10", "--records", records, "--json", summary)
            server.until(lambda health: health["completed"] >= 8)
            process.send_signal(number)
            begin = time.monotonic()
            done = finish(process)
            between(0, time.monotonic() - begin, 20, "time to end")
        equal(done.status, 3)
        balance = check_again(done.out, summary)["balance"]
        equal(balance["in_flight"], 0)
        between(1, balance["cancelled"], 4)
        between(8, balance["ok"], 1000)
        equal(len(rows(records)), balance["issued"])
        contains(done.out, "cancelled by an interrupt\n")


@test
def a_second_interrupt_quits():
    """The first report goes nowhere, as the pipe is full: only the second signal helps."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    fcntl.fcntl(writer, fcntl.F_SETFL, 0)
    with Server(*QUICK) as server:
        process = start(server.url, "--concurrency", "2", "--duration", "600",
                        stdout=writer)
        os.close(writer)
        server.until(lambda health: health["requests"] >= 3)
        process.send_signal(signal.SIGINT)
        process.stderr.readline()  # the last live line: the report is next
        time.sleep(0.5)
        equal(process.poll(), None)
        process.send_signal(signal.SIGINT)
        equal(process.wait(60), -signal.SIGINT)
        process.stderr.close()
    os.close(reader)


@test
def a_kill_loses_at_most_the_last_second():
    records, aiperf = scratch("run.jsonl"), scratch("aiperf.jsonl")
    with Server("--ttft", "20", "--itl", "5") as server:
        process = start(server.url, "--concurrency", "8", "--duration", "600",
                        "--output-tokens", "10", "--records", records, "--aiperf", aiperf)
        server.until(lambda health: health["completed"] >= 100)
        completed = server.health()["completed"]
        time.sleep(1)
        process.kill()
        process.communicate()
    for path in (records, aiperf):
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        whole = [json.loads(line) for line in lines[:-1]]
        assert len(whole) >= completed, f"{len(whole)} of {completed}"
        balance = json.loads(report(path, "--keep-going"))["balance"]
        equal(balance["issued"], balance["ok"])
        between(completed, balance["ok"], len(whole) + 1)


# ---- what is told -----------------------------------------------------------------

@test
def the_live_line_on_a_terminal():
    master, slave = pty.openpty()
    with Server("--ttft", "50", "--itl", "20") as server:
        process = start(server.url, "--concurrency", "2", "--request-count", "6",
                        "--output-tokens", "20", stderr=slave, stdout=subprocess.PIPE)
        os.close(slave)
        shown = b""
        while select.select([master], [], [], 60)[0]:
            try:
                piece = os.read(master, 65536)
            except OSError:  # its end
                break
            shown += piece
        process.communicate(timeout=60)
        equal(process.returncode, 0)
    os.close(master)
    frames = shown.decode().split("\r")
    frames = [frame for frame in frames if frame.startswith("[")]
    between(3, len(frames), 1000)
    pattern = (r"\[#*\.*\] [\d.]+ s  \d/6 done  \d in flight  \d+ tokens/s  0 errors"
               r"\x1b\[K")
    for frame in frames:
        assert re.fullmatch(pattern, frame.strip()), repr(frame)
    contains(frames[-1], "[####################]")
    contains(frames[-1], "6/6 done  0 in flight")


@test
def plain_lines_and_quiet():
    with Server(*QUICK) as server:
        arguments = (server.url, "--concurrency", "2", "--request-count", "6")
        done = run(*arguments)
        assert re.fullmatch(r"[\d.]+ s  6/6 done  0 in flight  \d+ tokens/s  0 errors\n",
                            done.err), done.err
        equal(run(*arguments, "--quiet").err, "")


@test
def a_timeline():
    with Server(*QUICK) as server:
        done = run(server.url, "--concurrency", "2", "--request-count", "8", "--timeline",
                   "0.1")
    table = done.out.split("Over time (means)\n")[1].split("\n\n")[0].splitlines()
    equal(table[0].split(), ["sec", "concurrency", "queue", "max", "prefill", "tok/s",
                             "decode", "tok/s"])
    between(4, len(table), 100)
    equal([line.split()[0] for line in table[1:4]], ["0.000", "0.100", "0.200"])
    between(1, float(table[1].split()[1]), 2)


@test
def a_file_on_standard_output():
    with Server(*QUICK) as server:
        arguments = (server.url, "--concurrency", "1", "--request-count", "3", "--quiet")
        equal(json.loads(run(*arguments, "--json", "-").out)["balance"]["ok"], 3)
        equal(len(run(*arguments, "--records", "-").out.splitlines()), 3)
        equal(len(run(*arguments, "--aiperf", "-").out.splitlines()), 3)


@test
def files_that_cannot_be_written():
    with Server(*QUICK) as server:
        arguments = (server.url, "--concurrency", "1", "--request-count", "3", "--quiet")
        for option in ("--records", "--aiperf", "--json"):
            contains(run(*arguments, option, "/nonexistent/file", status=1).err,
                     "timeweight-loadgen: /nonexistent/file: ")
            contains(run(*arguments, option, "/dev/full", status=1).err,
                     "timeweight-loadgen: /dev/full: No space left on device\n")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = finish(start(*arguments, stdout=full))
        equal(done.status, 1)
        contains(done.err, "standard output: No space left on device\n")


@test
def wrong_command_lines():
    url = "http://127.0.0.1:1"
    wrong = [
        [], ["--concurrency", "1"], [url], [url, "--concurrency", "1"],
        [url, "--request-count", "1"], ["ftp://x", "--concurrency", "1"],
        [url, url, "--concurrency", "1", "--request-count", "1"],
        [url, "--concurrency", "0", "--request-count", "1"],
        [url, "--concurrency", "-1", "--request-count", "1"],
        [url, "--concurrency", "1x", "--request-count", "1"],
        [url, "--request-rate", "0", "--request-count", "1"],
        [url, "--request-rate", "1", "--trace", "x"],
        [url, "--request-rate", "1e3", "--request-count", "1"],
        [url, "--concurrency", "1", "--request-count", "1", "--extra", "[1]"],
        [url, "--concurrency", "1", "--request-count", "1", "--extra", "{"],
        [url, "--concurrency", "1", "--request-count", "1", "--extra", '{"prompt": ""}'],
        [url, "--concurrency", "1", "--request-count", "1", "--arrivals", "x"],
        [url, "--concurrency", "1", "--request-count", "1", "--timeout", "0"],
        [url, "--concurrency", "1", "--request-count", "1", "--json", "-", "--records", "-"],
        [url, "--nonsense"]]
    for arguments in wrong:
        done = run(*arguments, status=2)
        equal(done.out, "")
        contains(done.err, "timeweight-loadgen: ")
    for arguments in (["x"], ["--port", "70000"], ["--error-rate", "2"], ["--ttft", "-1"],
                      ["--tokens-per-chunk", "0"], ["--api-key-env", "NOT_SET"]):
        done = subprocess.run([MOCKSERVER, *arguments], capture_output=True, check=False,
                              env=ENV)
        equal((done.returncode, done.stdout), (2, b""), arguments)
    done = subprocess.run([MOCKSERVER, "--host", "nonsense"], capture_output=True,
                          check=False, env=ENV)
    equal((done.returncode, done.stderr),
          (1, b"timeweight-mockserver: nonsense: is no IPv4 address\n"))


# ---- the API key ------------------------------------------------------------------

@test
def the_key_is_sent_and_never_told():
    records, aiperf, summary = (scratch("run.jsonl"), scratch("aiperf.jsonl"),
                                scratch("run.json"))
    files = ["--records", records, "--aiperf", aiperf, "--json", summary]
    with Server("--ttft", "200", "--itl", "20", "--api-key-env", "RIGHT",
                env={"RIGHT": KEY}) as server:
        arguments = [server.url, "--concurrency", "2", "--request-count", "2", *files]
        process = start(*arguments, env={"OPENAI_API_KEY": KEY})
        server.until(lambda health: health["active"] == 2)
        for name in ("cmdline", "environ"):
            with open(f"/proc/{process.pid}/{name}", "rb") as file:
                assert KEY.encode() not in file.read(), name
        done = finish(process)
        equal(done.status, 0)
        told = done.out + done.err
        run(*arguments, env={"MY_KEY": KEY, "OPENAI_API_KEY": "other"}, status=3)
        run(*arguments, "--api-key-env", "MY_KEY", env={"MY_KEY": KEY})
        # The server says it back.
        wrong = KEY.replace("sk", "xx")
        done = run(*arguments, env={"OPENAI_API_KEY": wrong}, status=3)
        contains(done.out, "HTTP 401: incorrect API key provided: " + "*" * len(wrong))
        told += done.out + done.err
        # The message is cut inside the key, or has it twice.
        for length in (200, 300):
            long_key = "k" * length
            done = run(*arguments, env={"OPENAI_API_KEY": long_key}, status=3)
            assert "kkkk" not in done.out + done.err
            for path in files[1::2]:
                with open(path, encoding="utf-8") as file:
                    assert "kkkk" not in file.read(), path
    assert KEY not in told and wrong not in told


# ---- other servers ----------------------------------------------------------------

class RawServer:
    """Answers each request with pieces of bytes, and times between them; then it closes the
    connection."""

    def __init__(self, pieces, context=None):
        self.pieces = pieces
        self.bodies = []
        self.context = context
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = (f"{'https' if context else 'http'}://127.0.0.1:"
                    f"{self.listener.getsockname()[1]}")
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with contextlib.suppress(OSError):
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            file = connection.makefile("rb")
            length = 0
            while (line := file.readline().strip()):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.bodies.append(json.loads(file.read(length)))
            for piece in self.pieces:
                if isinstance(piece, bytes):
                    connection.sendall(piece)
                else:
                    time.sleep(piece)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream\r\nConnection: close\r\n\r\n"


def delta(**fields):
    return json.dumps({"choices": [{"index": 0, "delta": fields}]}).encode()


STREAM = (b": welcome\r\n\r\n"
          b"event: message\r\ndata: " + delta(role="assistant", content="") + b"\r\n\r\n"
          b"data:" + delta(content="caf\u00e9") + b"\r\n\r\n"
          b": still here\r\n\r\n"
          b'data: {"choices":\r\ndata: [{"delta": {"content":\r\ndata: "b"}}]}\r\n\r\n'
          b"data: " + delta(reasoning_content="c") + b"\n\n"
          b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 6}}\r\r'
          b"data: [DONE]\r\n\r\n")


@test
def streams_cut_anywhere():
    cuts = [[HEAD + STREAM], [HEAD, STREAM],
            [HEAD, *(STREAM[i:i + 1] for i in range(len(STREAM)))],
            [HEAD, *(piece for i in range(0, len(STREAM), 7)
                     for piece in (STREAM[i:i + 7], 0.001))]]
    for pieces in cuts:
        with RawServer(pieces) as server:
            done = load(server, "--concurrency", "1", "--request-count", "1")
        row = done.rows[0]
        equal((row["input_tokens"], row["output_tokens"]), (9, 6))
        equal(len(row["chunk_arrival_ns"]), 2)


@test
def the_first_content_is_the_first_token():
    pieces = [HEAD, b"data: " + delta(role="assistant", content="") + b"\n\n", 0.4,
              b"data: " + delta(content="a") + b"\n\n", 0.3,
              b"data: " + delta(content="b") + b"\n\n", 3,
              b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n']
    with RawServer(pieces) as server:
        row = load(server, "--concurrency", "1", "--request-count", "1").rows[0]
    between(0.35 * SEC, row["generation_start_ns"] - row["start_ns"], 5 * SEC)
    # It ends with its last token, not with what comes behind it.
    between(0.2 * SEC, row["end_ns"] - row["generation_start_ns"], 2.5 * SEC)


@test
def broken_answers_fail():
    whole = json.dumps({"choices": [{"message": {"content": "a"}}],
                        "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode()
    plain = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    token = b"data: " + delta(content="a") + b"\n\n"
    answers = [
        ([HEAD + token], "the stream ended too early"),
        ([HEAD + b"data: {nonsense}\n\n"], "an event is no JSON object"),
        ([HEAD + token + b'data: {"error": {"message": "overloaded"}}\n\n'], "overloaded"),
        ([HEAD + token + b'event: error\ndata: {"object": "error", "message": "m"}\n\n'], "m"),
        ([b"HTTP/1.1 429 Slow\r\nConnection: close\r\n\r\n{\"error\": \"slower\"}"],
         "HTTP 429: slower"),
        ([b"HTTP/1.1 503 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
          b"oops"], "HTTP 503"),
        ([plain + b"<html>"], "the body is no JSON object"),
        ([b"HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n"
          b"Connection: close\r\n\r\n"], "HTTP 302"),
        ([b"nonsense\r\n\r\n"], None), ([], None)]
    for pieces, reason in answers:
        with RawServer(pieces) as server:
            done = load(server, "--concurrency", "1", "--request-count", "1", status=3)
        equal(counts(done), (0, 1, 0, 0), pieces)
        if reason:
            contains(done.out, f"     1  {reason}\n")
    # A whole body where a stream was asked for is an answer; so is a stream whose
    # connection breaks behind its end.
    for pieces in ([plain + whole], [HEAD.replace(b"Connection", b"Content-Length: 99999\r\n"
                                                  b"Connection") + token + b"data: [DONE]\n\n"]):
        with RawServer(pieces) as server:
            equal(counts(load(server, "--concurrency", "1", "--request-count", "1")),
                  (1, 0, 0, 0))


@test
def bodies_of_requests():
    with RawServer([HEAD + STREAM]) as server:
        run(server.url, "--concurrency", "1", "--request-count", "2", "--model", "a \"b\"",
            "--input-tokens", "50", "--output-tokens", "7", "--extra",
            '{"ignore_eos": true, "max_tokens": 8}')
        first, second = server.bodies
        equal((first["model"], first["max_tokens"], first["stream"], first["ignore_eos"],
               first["stream_options"]), ("a \"b\"", 8, True, True, {"include_usage": True}))
        contents = [body["messages"][0]["content"] for body in (first, second)]
        equal([len(content.split()) for content in contents], [50, 50])
        assert contents[0].split()[:12] != contents[1].split()[:12]
        server.bodies.clear()
        run(server.url, "--concurrency", "1", "--request-count", "1", "--endpoint",
            "completions", "--no-stream", "--input-tokens", "100000")
        body = server.bodies[0]
        equal(len(body["prompt"].split()), 100000)
        assert "stream" not in body and "messages" not in body


@test
def tls():
    openssl = shutil.which("openssl")
    assert openssl, "openssl is needed"
    key, cert = scratch("key.pem"), scratch("cert.pem")
    subprocess.run([openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with RawServer([HEAD + STREAM], context) as server:
        one = ("--concurrency", "1", "--request-count", "1")
        equal(counts(load(server, *one, "--cacert", cert)), (1, 0, 0, 0))
        equal(counts(load(server, *one, "--insecure")), (1, 0, 0, 0))
        done = load(server, *one, status=3)
        equal(counts(done), (0, 1, 0, 0))
        contains(done.out, "certificate")


# ---- size -------------------------------------------------------------------------

def memory_kib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"^VmRSS:\s+(\d+) kB", file.read(), flags=re.M)[1])


@test
def many_streams_lose_nothing():
    """2,000 streams at once; each token of each must arrive."""
    records, summary = scratch("run.jsonl"), scratch("run.json")
    with Server("--ttft", "5000", "--itl", "100") as server:
        process = start(server.url, "--concurrency", "2000", "--request-count", "2000",
                        "--ramp", "1", "--output-tokens", "20", "--records", records,
                        "--json", summary, "--quiet")
        server.until(lambda health: health["active"] == 2000 or
                     health["completed"] == 2000)
        done = finish(process)
        equal(server.health()["completed"], 2000)
        equal(server.health()["most_active"], 2000)
        equal(done.status, 0, done.err)
        contains(server.stop(), "timing error of 40000 chunks: p50 ")
    equal(check_again(done.out, summary)["balance"]["ok"], 2000)
    for row in rows(records):
        equal((row["output_tokens"], len(row["chunk_arrival_ns"])), (20, 19))


@test
def memory_grows_with_the_records_only():
    """Requests of 2 tokens: all that is kept of one takes less than 200 bytes."""
    if os.environ.get("SANITIZE", "none") != "none":
        raise Skipped("sanitizers keep freed memory")
    with Server("--ttft", "10", "--itl", "1") as server:
        process = start(server.url, "--concurrency", "20", "--request-count", "6000",
                        "--output-tokens", "2", "--records", scratch("run.jsonl"))
        samples = []
        for share in (2000, 5000):
            server.until(lambda health, share=share: health["completed"] >= share)
            samples.append((server.health()["completed"], memory_kib(process)))
        server_kib = memory_kib(server.process)
        equal(finish(process).status, 0)
        between(-server_kib, memory_kib(server.process) - server_kib, 2048,
                "KiB more of the server")
    (first, first_kib), (last, last_kib) = samples
    between(-first_kib, last_kib - first_kib, (last - first) * 200 / 1024 + 2048, "KiB more")


def main():
    failures = 0
    chosen = [t for t in TESTS if len(sys.argv) < 5 or t.__name__ in sys.argv[4:]]
    print(f"1..{len(chosen)}")
    for number, function in enumerate(chosen, 1):
        name = function.__name__.replace("_", " ")
        begin = time.monotonic()
        try:
            function()
            print(f"ok {number} - {name} # {time.monotonic() - begin:.1f} s", flush=True)
        except Skipped as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except Exception as error:  # a failing test must not hide the others
            failures += 1
            print(f"not ok {number} - {name}", flush=True)
            for line in f"{type(error).__name__}: {error}"[:3000].splitlines():
                print(f"# {line}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
