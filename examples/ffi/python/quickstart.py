# SPDX-License-Identifier: MIT
"""examples/quickstart.c in Python: prints the same to the last digit."""

import numpy as np
import timeweight

MS = 1_000_000  # ns
HALF = 20  # of the 40 requests


def main():
    with timeweight.Recorder() as recorder:
        # The first half of the run: each request is appended when it has ended.
        for i in range(HALF):
            due = i // 4 * 2100 * MS + i % 4 * MS
            recorder.append(
                credit_issued_ns=due,
                start_ns=due + 5 * MS,
                generation_start_ns=due + 105 * MS,
                end_ns=due + (1705 + 9 * i) * MS,
                input_tokens=200,
                output_tokens=100,
            )

        # The second half: the requests lie in columns, and one call takes them all.
        i = np.arange(HALF, 2 * HALF)
        due = i // 4 * 2100 * MS + i % 4 * MS
        recorder.append_columns(
            credit_issued_ns=due,
            start_ns=due + 5 * MS,
            generation_start_ns=due + 105 * MS,
            end_ns=due + (1705 + 9 * i) * MS,
            input_tokens=np.full(HALF, 200),
            output_tokens=np.full(HALF, 100),
        )

        # A row that cannot be: nothing of the call is stored, and the error says why.
        try:
            recorder.append_columns(start_ns=[0, 500 * MS], end_ns=[100 * MS, 400 * MS])
        except timeweight.RecordError as error:
            print(f"refused: {error}")

        with timeweight.analyze(recorder) as analysis:
            for metric, summary in analysis.summaries():
                print(f"{metric.tag} {summary.avg:.17g} {metric.unit}")
            p50, p99 = analysis.quantiles("effective_latency", [0.5, 0.99])
            print(f"effective latency: p50 {p50:.17g} ms, p99 {p99:.17g} ms")


main()
