#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every source file says its licence.

    check_spdx.py SOURCE_DIR
"""

import pathlib
import sys

SUFFIXES = {".c", ".h", ".in", ".cpp", ".hpp", ".py", ".sh", ".build", ".map", ".scd",
            ".go", ".java", ".js", ".lua", ".mod", ".rs", ".toml"}


def main():
    source = pathlib.Path(sys.argv[1])
    files = [source / "meson_options.txt", source / ".ci" / "run"]
    for folder in ("lib", "include", "examples", "tests", "doc"):
        files += [p for p in (source / folder).rglob("*")
                  if p.suffix in SUFFIXES or p.name == "meson.build"]
    files += [source / "meson.build"]
    bare = [path.relative_to(source) for path in files
            if path.exists() and "SPDX-License-Identifier: MIT" not in path.read_text()[:400]]
    for path in bare:
        print(f"{path}: no SPDX line", file=sys.stderr)
    print(f"{len(files)} files")
    sys.exit(bool(bare))


main()
