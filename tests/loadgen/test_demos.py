#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The demonstrations of the load generator run and show what they say. The bounds are wide: the
machine may have other things to do.

    test_demos.py SOURCE_DIR BUILD_DIR
"""
import os
import re
import subprocess
import sys

SOURCE, BUILD = sys.argv[1:3]
ENV = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
ENV["TIMEWEIGHT_BUILD"] = os.path.abspath(BUILD)


def demo(name, *arguments):
    done = subprocess.run(["sh", os.path.join(SOURCE, "examples", f"demo-{name}.sh"),
                           *arguments], env=ENV, capture_output=True, text=True, check=False,
                          timeout=240)
    assert done.returncode == 0, f"{name}: {done.returncode} {done.stderr}\n{done.stdout}"
    return done.stdout


def between(least, got, most, what):
    assert least <= got <= most, f"{what}: {got} is not between {least} and {most}"


def worked_example():
    """At ten times the speed: the brief's times divided by ten, its rates times ten."""
    out = demo("worked-example", "10")
    contained = "Records: 200 issued = 200 ok + 0 failed"
    assert contained in out, out
    table = dict(re.findall(r"^(\w+) +[\d.]+ +([\d.]+)$", out, flags=re.M))
    for tag, brief, least, most in (
            ("benchmark_duration", 2.706, 0.99, 2),
            ("effective_decode_concurrency", 14.63, 0.8, 1.05),
            ("effective_prefill_concurrency", 0.75, 0.9, 5),
            ("effective_decode_throughput", 7263, 0.5, 1.05),
            ("effective_prefill_throughput", 14780, 0.5, 1.05),
            ("active_decode_throughput", 7550, 0.5, 1.1),
            ("active_prefill_throughput", 281408, 0.15, 1.2),
            ("effective_latency", 208.1, 0.99, 2),
            ("request_latency", 208.1, 0.99, 2)):
        between(brief * least, float(table[tag]), brief * most, tag)


def coordinated_omission():
    out = demo("coordinated-omission")
    latencies = {tag: [float(value) for value in re.findall(r"([\d.]+) ms", line)]
                 for tag, line in re.findall(r"^(\w+_latency) +\((.*)$", out, flags=re.M)}
    usual, effective = latencies["request_latency"], latencies["effective_latency"]
    between(40, usual[1], 700, "p99 of request_latency")
    between(1500, effective[1], 8000, "p99 of effective_latency")
    assert effective[1] > 2.5 * usual[1], (effective, usual)
    assert min(usual[2], effective[2]) > 1900
    rows = re.findall(r"^ +([\d.]+) +[\d.]+ +([\d.]+) +(\d+) +[\d.]+ +[\d.]+$", out,
                      flags=re.M)
    queue = {float(begin): float(mean) for begin, mean, _ in rows}
    between(0, queue[2.5], 40, "queue before the stall")
    between(140, queue[5.5], 230, "queue in the stall")
    between(150, max(int(most) for _, _, most in rows), 400, "longest queue")


def trouble():
    out = demo("trouble")
    balances = re.findall(r"^Records: (\d+) issued = (\d+) ok \+ (\d+) failed \+ (\d+) "
                          r"cancelled \+ (\d+) in flight; 0 refused$", out, flags=re.M)
    balances = [tuple(map(int, balance)) for balance in balances]
    rows = [int(n) for n in re.findall(r"^exit status: 3; rows in the records file: (\d+)$", out,
                                       flags=re.M)]
    assert len(balances) == len(rows) == 3, out
    for balance, count in zip(balances, rows):
        assert balance[0] == sum(balance[1:]) == count, (balance, count)
    failures, cut, death = balances
    assert failures[0] == 100 and 5 <= failures[2] <= 60, failures
    assert cut[4] == 8, cut
    assert death[1] > 0 and death[2] > 0, death


def main():
    failures = 0
    tests = [worked_example, coordinated_omission, trouble]
    print(f"1..{len(tests)}")
    for number, function in enumerate(tests, 1):
        name = function.__name__.replace("_", " ")
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Exception as error:  # a failing test must not hide the others
            failures += 1
            print(f"not ok {number} - {name}", flush=True)
            for line in f"{type(error).__name__}: {error}"[:5000].splitlines():
                print(f"# {line}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
