#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The functions that the headers declare, the version script lists and the shared library
exports are the same; the archive defines no global symbol without a prefix; nothing is
writable data.

    check_symbols.py HEADER_DIR MAP SHARED_LIBRARY ARCHIVE
"""

import pathlib
import re
import subprocess
import sys


def declared(header_dir):
    names = set()
    for header in pathlib.Path(header_dir).glob("*.h*"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        names.update(re.findall(r"^TW_API\b[^;(]*?\b(\w+)\(", text, flags=re.M))
    return names


def listed(map_file):
    text = pathlib.Path(map_file).read_text()
    exported = text.split("global:")[1].split("local:")[0]
    lines = [line.strip() for line in exported.splitlines() if line.strip()]
    bad = [line for line in lines if not re.fullmatch(r"\w+;", line)]
    if bad:
        sys.exit(f"{map_file}: not one symbol per line: {bad}")
    return {line.rstrip(";") for line in lines}


def nm(path, *options):
    output = subprocess.run(["nm", *options, path], check=True, capture_output=True, text=True)
    for line in output.stdout.splitlines():
        fields = line.split()
        if len(fields) == 3:
            yield fields[1], re.sub(r"@@?.*", "", fields[2])


def main():
    header_dir, map_file, shared, archive = sys.argv[1:]
    failures = []

    def expect_same(what, a, b):
        if a != b:
            failures.append(f"{what}: only here {sorted(a - b)}, only there {sorted(b - a)}")

    in_headers, in_map = declared(header_dir), listed(map_file)
    exported = {name for kind, name in nm(shared, "-D", "--defined-only") if kind != "A"}
    if not in_headers:
        failures.append("no declarations found")
    expect_same("headers and version script", in_headers, in_map)
    expect_same("headers and shared library", in_headers, exported)

    symbols = list(nm(archive, "-g", "--defined-only"))
    public = {name for _, name in symbols if name.startswith("tw_")}
    expect_same("headers and archive", in_headers, public)
    loose = sorted(n for _, n in symbols if not re.match(r"twi?_", n) and not n.startswith("__"))
    if loose:
        failures.append(f"archive: symbols without a prefix: {loose}")
    # Tables of pointers lie in .data.rel.ro: read-only once they are relocated. Sanitizers add
    # data of their own.
    table = subprocess.run(["objdump", "-t", archive], check=True, capture_output=True, text=True)
    writable = sorted(
        m[2]
        for m in re.finditer(r" (\.(?:t?data|t?bss)\S*|\*COM\*)\t[0-9a-f]+ +(?:\.hidden )?(\S+)$",
                             table.stdout, flags=re.M)
        if not m[1].startswith(".data.rel.ro") and not re.match(r"\.|__|_\$?asan|asan", m[2])
    )
    if writable:
        failures.append(f"archive: writable data: {writable}")

    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(in_headers)} functions")
    sys.exit(bool(failures))


main()
