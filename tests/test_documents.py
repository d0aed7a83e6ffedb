#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The documents show what the programs print: in every code block that begins with
'$ timeweight ...' or '$ quickstart', the lines that follow stand in the program's output, in
any order but to the letter. A block of C that has a main() is the quick start. What
doc/embedding.md shows stands in a file of tests/embedding, block by block, and the C of
doc/loadgen.md in one of tests/loadgen/generators.

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
        return "\n".join(line.strip() for line in text.splitlines())

    embedding = [unindented(path.read_text())
                 for path in (source / "tests" / "embedding").glob("*/*")]

    generators = [unindented(path.read_text())
                  for path in (source / "tests" / "loadgen" / "generators").glob("*.c")]

    for document in [source / "README.md", *sorted((source / "doc").glob("*.md"))]:
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", document.read_text(),
                                          flags=re.M | re.S):
            first, *lines = block.splitlines()
            if document.name == "embedding.md":
                checked += 1
                if not any(unindented(block) in text for text in embedding):
                    failures.append(f"{document.name}: not in tests/embedding: {block}")
                continue
            if document.name == "loadgen.md" and language == "c":
                checked += 1
                if not any(unindented(block) in text for text in generators):
                    failures.append(f"{document.name}: not in tests/loadgen: {block}")
            if "int main(void)" in block:
                checked += 1
                if block != (source / "examples" / "quickstart.c").read_text():
                    failures.append(f"{document.name}: the quick start is another")
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
