#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data flows one way: a module of lib/ includes only itself and what stands left of it in
store > timeline > sweep > stat > metric > analysis > report. base may be used by all; the
public entry points (api*) may use all, and nothing includes them.

    check_layers.py LIB_DIR
"""

import pathlib
import re
import sys

ORDER = ["base", "store", "timeline", "sweep", "stat", "metric", "analysis", "report", "api"]


def main():
    lib = pathlib.Path(sys.argv[1])
    failures, seen = [], set()
    for path in sorted(lib.rglob("*.[ch]")):
        relative = path.relative_to(lib)
        module = relative.parts[0] if len(relative.parts) > 1 else "api"
        if module not in ORDER:
            failures.append(f"{relative}: a module that check_layers.py does not know")
            continue
        seen.add(module)
        for included in re.findall(r'^#include "(.+)"$', path.read_text(), flags=re.M):
            target = included.split("/")[0] if "/" in included else "api"
            if not (lib / included).exists():
                failures.append(f"{relative}: includes {included}, which is not there")
            elif target not in ORDER or ORDER.index(target) > ORDER.index(module):
                failures.append(f"{relative}: {module} must not use {target} ({included})")
    failures += [f"no file of module {module}" for module in ORDER if module not in seen]
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(bool(failures))


main()
