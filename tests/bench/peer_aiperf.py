#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The functions of AIPerf's own sweep-line module, for the same metrics.

    peer_aiperf.py COLUMNS
"""

from importlib.metadata import version

import numpy as np
from aiperf.analysis import sweepline

from serve import serve


def compute(start, first, end, inputs, outputs):
    users = sweepline.concurrency_sweep_line(start, end)
    decoding = sweepline.concurrency_sweep_line(first, end)
    prefilling = sweepline.concurrency_sweep_line(start, first)
    decode = sweepline.throughput_sweep_line(first, end, outputs)
    prefill = sweepline.prefill_throughput_sweep_line(start, first, inputs)
    total = sweepline.total_throughput_sweep_line(start, first, end, inputs,
                                                  output_tokens=outputs)
    in_flight = sweepline.tokens_in_flight_sweep_line(start, first, end, inputs,
                                                      output_tokens=outputs)
    decode_per_user = sweepline.divide_step_functions(*decode, *decoding)
    prefill_per_user = sweepline.divide_step_functions(*prefill, *prefilling)
    curves = sweepline.SweepLineCurves(
        *users, *decode, *prefill, *decoding, *prefilling, *total, *decode_per_user,
        *prefill_per_user, *in_flight)
    results = curves.compute_metrics(float(start.min()), float(end.max()))
    return {tag: (r.avg, r.min, r.max, r.std, r.p50, r.p90, r.p95, r.p99)
            for tag, r in results.items()}


if __name__ == "__main__":
    serve(compute, f"aiperf {version('aiperf')}, numpy {np.__version__}")
