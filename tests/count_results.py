#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints one line per test of a Meson test log: PASS, FAIL or SKIP and its name.

    count_results.py TESTLOG.json
"""

import json
import sys

OUTCOMES = {"OK": "PASS", "EXPECTEDFAIL": "PASS", "SKIP": "SKIP"}

with open(sys.argv[1], encoding="utf-8") as log:
    results = [json.loads(line) for line in log if line.strip()]
for result in results:
    print(OUTCOMES.get(result["result"], "FAIL"), result["name"])
sys.exit(not results)
