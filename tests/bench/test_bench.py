#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark runs to its end on small workloads, its peers agree with the library, and
every figure comes out, in the table and in the JSON. No time is judged.

    test_bench.py BENCH
"""

import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bench.json"
        run = subprocess.run([sys.argv[1], "--quick", "--json", path], text=True,
                             capture_output=True, check=False)
        print(run.stdout)
        if run.returncode:
            sys.exit(f"bench failed: {run.stderr}")
        result = json.loads(path.read_text())

    ratios, seconds = result["ratios"], result["seconds"]
    for ratio in ratios:
        name = f"{ratio['goal']}, {ratio['workload']}"
        if "missing" in ratio:
            print(f"not measured: {name}: {ratio['missing']}")
            if "AIPerf" not in name and "numpy" not in name and "simdjson" not in name:
                failures.append(f"not measured: {name}")
        elif not (0 < ratio["min"] <= ratio["median"] <= ratio["max"] and ratio["of_least"] > 0):
            failures.append(f"no figure: {ratio}")
        if ratio["verdict"] != "-":
            failures.append(f"a small workload was judged: {ratio}")
        if ratio["goal"] not in run.stdout:
            failures.append(f"not in the table: {name}")
    for times in seconds:
        if not 0 < times["min"] <= times["median"] <= times["max"]:
            failures.append(f"no time: {times}")
    if not result["machine"]["compiler"] or len(ratios) < 29 or len(seconds) < 25:
        failures.append(f"too little was measured: {result['machine']}")

    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(bool(failures))


main()
