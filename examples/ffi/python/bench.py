# SPDX-License-Identifier: MIT
"""See bench.c."""

import time

import numpy as np
import timeweight

ROWS = 1_000_000


def best(append):
    took = []
    for _ in range(10):
        with timeweight.Recorder() as recorder:
            begin = time.perf_counter_ns()
            append(recorder)
            took.append(time.perf_counter_ns() - begin)
    return min(took) / ROWS


def loop(recorder):
    for i in range(0, ROWS * 1000, 1000):
        recorder.append(i + 5, i + 5000, generation_start_ns=i + 100, credit_issued_ns=i,
                        input_tokens=200, output_tokens=100)


due = np.arange(0, ROWS * 1000, 1000)
table = {"credit_issued_ns": due, "start_ns": due + 5, "generation_start_ns": due + 100,
         "end_ns": due + 5000, "input_tokens": np.full(ROWS, 200),
         "output_tokens": np.full(ROWS, 100)}
print(f"python {best(loop):.1f} {best(lambda recorder: recorder.append_columns(**table)):.1f}")
