#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the tool's JSON report with expected numbers, as TAP.

usage: python3 test_conformance.py PATH_TO_TIMEWEIGHT

The cases are found through the environment variable TW_EXTRA_DATA:
conformance/NAME.jsonl with NAME.expect.json, and samples/aiperf/NAME/profile_export.jsonl
with expect.json. Without it the test is skipped (exit status 77).
"""
import glob
import json
import math
import os
import re
import subprocess
import sys

TOLERANCE = 1e-9
STATISTIC = re.compile(r"avg|min|max|std|sum|count|p\d+(\.\d+)?")


def report(tool, path, window):
    options = [f"--window={window[0]}:{window[1]}"] if window else []
    done = subprocess.run([tool, "report", "--format=json", *options, path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"exit status {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout, parse_constant=lambda name: math.nan)


def differs(name, got, want, largest):
    """A std is as exact as the values that it is computed from."""
    scale = largest if name == "std" else abs(want)
    return not abs(got - want) <= TOLERANCE * scale


def compare_metric(tag, got, want):
    numbers = {k: v for k, v in got.items() if STATISTIC.fullmatch(k)}
    for name in sorted(set(numbers) ^ set(want)):
        yield f"{tag}.{name}: {'missing' if name in want else 'not expected'}"
    largest = max((abs(v) for k, v in want.items() if k not in ("sum", "count", "std")),
                  default=0)
    for name in sorted(set(numbers) & set(want)):
        if differs(name, numbers[name], want[name], largest):
            yield f"{tag}.{name}: {numbers[name]!r}, not {want[name]!r}"


def compare(got, want):
    if got["window"] != want["window"]:
        yield f"window: {got['window']}, not {want['window']}"
    if "records" in want and got["balance"]["issued"] != want["records"]:
        yield f"records: {got['balance']['issued']}, not {want['records']}"
    for tag in sorted(set(got["metrics"]) ^ set(want["metrics"])):
        yield f"{tag}: {'missing' if tag in want['metrics'] else 'not expected'}"
    for tag in sorted(set(got["metrics"]) & set(want["metrics"])):
        yield from compare_metric(tag, got["metrics"][tag], want["metrics"][tag])


def cases(root):
    for path in sorted(glob.glob(os.path.join(root, "conformance", "*.jsonl"))):
        yield path, path[:-len(".jsonl")] + ".expect.json"
    for path in sorted(glob.glob(os.path.join(root, "samples", "aiperf", "*",
                                              "expect.json"))):
        yield os.path.join(os.path.dirname(path), "profile_export.jsonl"), path


def check(tool, path, expect_path):
    with open(expect_path, encoding="utf-8") as file:
        want = json.load(file)
    try:
        return list(compare(report(tool, path, want.get("window_given")), want))
    except (AssertionError, ValueError, KeyError) as error:
        return [f"{type(error).__name__}: {error}"]


def main():
    root = os.environ.get("TW_EXTRA_DATA")
    if not root:
        print("1..0 # SKIP TW_EXTRA_DATA is not set")
        return 77
    found = list(cases(root))
    failures = 0
    print(f"1..{len(found)}")
    for number, (path, expect_path) in enumerate(found, 1):
        problems = check(sys.argv[1], path, expect_path)
        failures += bool(problems)
        verdict = "not ok" if problems else "ok"
        print(f"{verdict} {number} - {os.path.relpath(path, root)}")
        for problem in problems[:10]:
            print(f"# {problem}")
    if not found:
        print("# no cases under TW_EXTRA_DATA")
    return 1 if failures or not found else 0


if __name__ == "__main__":
    sys.exit(main())
