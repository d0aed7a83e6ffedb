#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the public interface as plain declarations, for foreign function interfaces that read C
(LuaJIT's ffi.cdef, Python's cffi): the headers through the preprocessor, without those of the
system, and their integer constants as an enum.

    make_cdef.py OUTPUT VERSION INCLUDE_DIR... -- COMPILER...
"""

import pathlib
import re
import subprocess
import sys
import tempfile

SYSTEM_HEADERS = ["stddef.h", "stdint.h"]
HEADER = "#include <timeweight/timeweight.h>\n"


def preprocess(compiler, includes, text, *options):
    # TIMEWEIGHT_STATIC: declarations without attributes.
    run = subprocess.run(
        [*compiler, "-E", "-P", "-nostdinc", "-DTIMEWEIGHT_STATIC", *options,
         *(f"-I{folder}" for folder in includes), "-x", "c", "-"],
        input=text, text=True, capture_output=True, check=False)
    if run.returncode:
        sys.exit(run.stderr)
    return run.stdout


def tidy(lines):
    """Without blank lines, and without what compilers leave of a macro before a declaration."""
    tidied, depth, begins = [], 0, True
    for line in filter(str.strip, lines):
        tidied.append(line.strip() if begins else line.rstrip())
        depth += line.count("{") - line.count("}")
        begins = depth == 0 and tidied[-1].endswith((";", "}"))
    return "\n".join(tidied)


def constants(compiler, includes):
    """The macros that are integers of 32 bits, as an int of C is: [(name, value)]."""
    macros = preprocess(compiler, includes, HEADER, "-dM")
    names = re.findall(r"^#define (TW_\w+) .*\d", macros, flags=re.M)
    expanded = preprocess(compiler, includes,
                          HEADER + "".join(f"@{i} {name}\n" for i, name in enumerate(names)))
    values = dict(re.findall(r"^@(\d+) (.*)$", expanded, flags=re.M))
    for index, name in enumerate(names):
        value = values[str(index)]
        if re.fullmatch(r"[\s\d()|<+-]+", value):
            number = eval(value)  # digits and operators that C and Python share
            if -(2**31) <= number < 2**31:
                yield name, number


def main():
    output, version, *rest = sys.argv[1:]
    split = rest.index("--")
    includes, compiler = rest[:split], rest[split + 1:]
    with tempfile.TemporaryDirectory() as empty:
        for header in SYSTEM_HEADERS:
            (pathlib.Path(empty) / header).touch()
        includes.append(empty)
        lines = preprocess(compiler, includes, HEADER).splitlines()
        numbers = sorted(constants(compiler, includes))
    declarations = tidy(lines)
    if "tw_analyze(" not in declarations or "#" in declarations or not numbers:
        sys.exit("the preprocessor left no plain declarations")
    members = ",\n".join(f"    {name} = {number}" for name, number in numbers)
    pathlib.Path(output).write_text(
        f"/* SPDX-License-Identifier: MIT */\n"
        f"/* libtimeweight {version}, generated from its headers: for ffi.cdef() of LuaJIT and of\n"
        f"   cffi. C programs include timeweight/timeweight.h. */\n"
        f"{declarations}\nenum {{\n{members}\n}};\n", encoding="ascii")


main()
