#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data flows one way: a module of lib/ includes only itself and what stands left of it in
base > kernel > store > timeline > sweep > stat > metric > analysis > series > report. The public
entry points (api*) may use all, and nothing includes them. The ways in and out of
Arrow stand beside that line: what each may use is listed, and only entry points use them.

    check_layers.py LIB_DIR
"""

import pathlib
import re
import sys

ORDER = ["base", "kernel", "store", "timeline", "sweep", "stat", "metric", "analysis", "series", "report"]
ALLOWED = {module: set(ORDER[:i + 1]) for i, module in enumerate(ORDER)}
ALLOWED["arrow/import"] = {"base", "store", "arrow/import"}
ALLOWED["arrow/export"] = {"base", "stat", "metric", "analysis", "series", "report", "arrow/export"}
ALLOWED["api"] = {*ALLOWED, "api"}


def module_of(path):
    folder = path.rpartition("/")[0]
    return folder or "api"


def main():
    lib = pathlib.Path(sys.argv[1])
    failures, seen = [], set()
    for path in sorted(lib.rglob("*.[ch]")):
        relative = path.relative_to(lib)
        module = module_of(relative.as_posix())
        if module not in ALLOWED:
            failures.append(f"{relative}: a module that check_layers.py does not know")
            continue
        seen.add(module)
        for included in re.findall(r'^#include "(.+)"$', path.read_text(), flags=re.M):
            target = module_of(included)
            if not (lib / included).exists():
                failures.append(f"{relative}: includes {included}, which is not there")
            elif target not in ALLOWED[module]:
                failures.append(f"{relative}: {module} must not use {target} ({included})")
    failures += [f"no file of module {module}" for module in ALLOWED if module not in seen]
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(bool(failures))


main()
