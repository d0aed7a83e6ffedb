#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The documents show what the programs print: in every code block that begins with
'$ timeweight ...' or '$ quickstart', the lines that follow stand in the program's output, in
any order but to the letter. What else the documents show of code stands in a file that is
compiled or run: README.md's in examples/quickstart.c or examples/ffi, doc/embedding.md's in
tests/embedding, tests/arrow or examples/ffi, doc/loadgen.md's in tests/loadgen/generators, and
that of a README in examples/ffi in its folder.

    test_documents.py SOURCE_DIR TIMEWEIGHT QUICKSTART
"""

import pathlib
import re
import subprocess
import sys


def main():
    source = pathlib.Path(sys.argv[1])
    programs = {"timeweight": pathlib.Path(sys.argv[2]).resolve(),
                "quickstart": pathlib.Path(sys.argv[3]).resolve()}
    checked, failures = 0, []

    def unindented(text):
        lines = (line.strip() for line in text.splitlines())
        return "\n".join(re.sub("^//! *", "", line) for line in lines)  # Rust's documentation

    def files(*patterns):
        return [unindented(path.read_text(errors="replace")) for pattern in patterns
                for path in source.glob(pattern) if path.is_file() and path.suffix != ".md"]

    embedding = files("tests/embedding/*/*", "tests/arrow/*.py", "examples/ffi/**/*")
    generators = files("tests/loadgen/generators/*.c")
    readme = files("examples/quickstart.c", "examples/ffi/**/*")
    bindings = sorted((source / "examples" / "ffi").glob("*/README.md"))

    for document in [source / "README.md", *sorted((source / "doc").glob("*.md")), *bindings]:
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", document.read_text(),
                                          flags=re.M | re.S):
            first, *lines = block.splitlines()
            if language:
                folder = document.parent.relative_to(source)
                sources = (embedding if document.name == "embedding.md"
                           else generators if document.name == "loadgen.md"
                           else files(f"{folder}/**/*") if document in bindings else readme)
                checked += 1
                if not any(unindented(block) in text for text in sources):
                    failures.append(f"{document.relative_to(source)}: in no file: {block}")
                continue
            if not first.startswith("$ ") or first.split()[1] not in programs:
                continue
            _, program, *arguments = first.split()
            run = subprocess.run([programs[program], *arguments], cwd=source, text=True,
                                 capture_output=True, check=False)
            printed = set(run.stdout.splitlines())
            checked += 1
            if run.returncode or not lines:
                failures.append(f"{document.name}: {first}: {run.stderr or 'nothing shown'}")
            failures += [f"{document.name}: {first}: not printed: {line}"
                         for line in lines if line not in printed]

    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{checked} blocks")
    sys.exit(bool(failures) or not checked)


main()
