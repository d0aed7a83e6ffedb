#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the reader's corpus: a byte that chooses the format, then lines.

    make_seeds.py DIRECTORY
"""

import json
import pathlib
import sys

BASE = 1700000000000000000
RECORDS = [
    {"start_ns": BASE},
    {"credit_issued_ns": BASE - 5, "start_ns": BASE, "generation_start_ns": BASE + 10,
     "end_ns": BASE + 60, "input_tokens": 10, "output_tokens": 4,
     "chunk_arrival_ns": [BASE + 20, BASE + 60], "chunk_tokens": [1, 2]},
    {"start_ns": BASE, "end_ns": BASE + 7, "status": "failed", "streaming": True},
    {"start_ns": None, "end_ns": -1, "extra": {"nested": [1, 2, {"x": "\u00e9"}]}},
]


def value(number, unit="ms"):
    return {"value": number, "unit": unit}


AIPERF = [
    {"metadata": {"credit_issued_ns": BASE, "request_start_ns": BASE + 3,
                  "request_end_ns": BASE + 2000000, "benchmark_phase": "profiling",
                  "was_cancelled": False},
     "metrics": {"time_to_first_token": value(0.25), "inter_chunk_latency": value([0.5, 1.25]),
                 "input_sequence_length": value(200, "tokens"),
                 "output_sequence_length": value(3, "tokens"), "request_latency": value(2.0)}},
    {"metadata": {"timestamp_ns": BASE, "credit_phase": "profiling"},
     "metrics": {"max_response_timestamp": value(BASE + 9000000, "ns"),
                 "time_to_first_token": value(1.5)}, "error": None},
    {"metadata": {"request_start_ns": BASE, "cancellation_time_ns": BASE + 5,
                  "was_cancelled": True}, "metrics": {},
     "error": {"code": 499, "type": "RequestCancellationError", "message": "m"}},
    {"metadata": {"request_start_ns": BASE, "benchmark_phase": "warmup"}, "metrics": {}},
]


def main():
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name, choice, rows in (("records", b"\x02", RECORDS), ("aiperf", b"\x01", AIPERF)):
        lines = [json.dumps(row) for row in rows]
        for i, line in enumerate(lines):
            (directory / f"{name}_{i}").write_bytes(choice + line.encode())
            (directory / f"auto_{name}_{i}").write_bytes(b"\x00" + line.encode())
        (directory / f"{name}_all").write_bytes(choice + "\n".join(lines).encode())
    (directory / "nesting").write_bytes(b"\x02" + b'{"a":' + b"[" * 3000)
    (directory / "number").write_bytes(b'\x02{"start_ns": 18446744073709551616}')


main()
