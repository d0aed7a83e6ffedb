# SPDX-License-Identifier: MIT
"""What the peers in Python share: they read the columns that the benchmark wrote, and then
do what it asks for on standard input, line by line.

    run      computes all metrics and prints the seconds that it took
    results  prints the numbers of the last run: avg min max std p50 p90 p95 p99 per metric
"""

import sys
import time

import numpy as np

METRICS = (
    "effective_concurrency",
    "effective_decode_throughput",
    "effective_prefill_throughput",
    "effective_decode_concurrency",
    "effective_prefill_concurrency",
    "effective_total_throughput",
    "effective_decode_throughput_per_user",
    "effective_prefill_throughput_per_user",
    "tokens_in_flight",
    "active_decode_throughput",
    "active_prefill_throughput",
    "active_decode_throughput_per_user",
    "active_prefill_throughput_per_user",
    "active_total_throughput",
)


def read_columns(path):
    """start, first, end, input, output as float64; times are ns since the earliest start."""
    numbers = np.fromfile(path, dtype=np.int64)
    return numbers[1:].reshape(5, numbers[0]).astype(np.float64)


def serve(compute, version):
    """compute(start, first, end, input, output): the eight numbers of each metric by its
    name, in tokens, requests and seconds."""
    columns = read_columns(sys.argv[1])
    results = {}
    print(version, flush=True)
    for line in sys.stdin:
        if line.strip() == "run":
            begin = time.perf_counter()
            results = compute(*columns)
            print(f"{time.perf_counter() - begin:.9f}", flush=True)
        else:
            for metric in METRICS:
                print(*(f"{float(number):.17g}" for number in results[metric]), flush=True)
