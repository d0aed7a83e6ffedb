#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every definition of doc/semantics.md has an id in brackets, and at least one test that names
the id: "[MEMBER]" in a test's source.

    check_semantics.py SOURCE_DIR
"""

import pathlib
import re
import sys


def main():
    source = pathlib.Path(sys.argv[1])
    ids = re.findall(r"\*\*\[([A-Z0-9'-]+)\]\*\*", (source / "doc" / "semantics.md").read_text())
    tests = "".join(path.read_text() for suffix in ("c", "py")
                    for path in (source / "tests").rglob(f"*.{suffix}")
                    if path.name != "check_semantics.py")
    untested = [name for name in ids if f"[{name}]" not in tests]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    for name in untested:
        print(f"doc/semantics.md: no test names [{name}]", file=sys.stderr)
    for name in twice:
        print(f"doc/semantics.md: [{name}] is defined twice", file=sys.stderr)
    print(f"{len(ids)} definitions")
    sys.exit(bool(untested or twice or not ids))


main()
