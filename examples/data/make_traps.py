#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the three runs of doc/traps.md into a directory, in the records format.

    make_traps.py DIRECTORY
"""

import json
import pathlib
import sys

SEC = 1_000_000_000


def fast_and_slow():
    """One request that decodes for 100 s beside 99 that decode for 1 s each, one after the
    other; 101 tokens each."""
    yield {"start_ns": 0, "generation_start_ns": 0, "end_ns": 100 * SEC}
    for i in range(99):
        yield {"start_ns": i * SEC, "generation_start_ns": i * SEC, "end_ns": (i + 1) * SEC}


def bursts():
    """Every 10 s one prompt of 10,000 tokens, prefilled in 1 s and answered in 4 s."""
    for i in range(10):
        start = i * 10 * SEC
        yield {"start_ns": start, "generation_start_ns": start + SEC, "end_ns": start + 5 * SEC,
               "input_tokens": 10_000}


def stall():
    """A request is due every second. The server answers one at a time, each in 0.5 s; after
    50 s it stalls for 20 s."""
    free = 0
    for i in range(100):
        due = i * SEC
        start = max(due, free)
        busy = SEC // 2 + (20 * SEC if i == 50 else 0)
        free = start + busy
        yield {"credit_issued_ns": due, "start_ns": start, "generation_start_ns": free - SEC // 4,
               "end_ns": free, "input_tokens": 100}


def main():
    directory = pathlib.Path(sys.argv[1])
    for name, run in (("fast_and_slow", fast_and_slow), ("bursts", bursts), ("stall", stall)):
        rows = sorted(run(), key=lambda row: row["end_ns"])
        text = "".join(json.dumps({**row, "output_tokens": 101}) + "\n" for row in rows)
        (directory / f"trap_{name}.jsonl").write_text(text)


main()
