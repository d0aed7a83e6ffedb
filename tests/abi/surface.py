#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a C file that holds the public interface and nothing else: an empty body for every
function that the headers declare, and a mention of every enum and constant, which no function
names because integers cross the ABI.

    surface.py HEADER_DIR... >surface.c
"""

import pathlib
import re
import sys


def main():
    text = "".join(re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
                   for folder in sys.argv[1:]
                   for header in sorted(pathlib.Path(folder).glob("*.h")))
    print("#include <timeweight/timeweight.h>")
    for name in re.findall(r"^enum (tw_\w+) \{", text, flags=re.M):
        print(f"static enum {name} *use_{name} __attribute__((used));")
    constants = re.findall(r"^#define (TW_(?!VERSION)\w+) (?=[(\w])(?!__attribute|extern)", text,
                           flags=re.M)
    for name in constants:
        print(f"enum constant_{name} {{ THE_{name} = {name} }};")
        print(f"static enum constant_{name} *use_{name} __attribute__((used));")
    functions = re.findall(r"^TW_API\b([^;]*\));", text, flags=re.M)
    for function in functions:
        signature = " ".join(function.split())
        print(signature, "{}" if signature.startswith("void ") else "{ return 0; }")
    if not functions or not constants:
        sys.exit("no interface found")


main()
