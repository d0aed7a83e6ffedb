#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The options that `timeweight COMMAND --help` lists and those in timeweight(1) are the same, with
the same arguments, and likewise those of timeweight-loadgen if it is there; libtimeweight(3) names
each public function, and no other.

    check_manual.py SOURCE_DIR TIMEWEIGHT [LOADGEN]
"""

import pathlib
import re
import subprocess
import sys

COMMANDS = ["", "report", "metrics"]
COMMON = "OPTIONS"


def helped(tool, command):
    """Options of a command: {'--window': 'BEGIN:END', '-V': ''}; the commands it lists."""
    arguments = [tool, *command.split(), "--help"]
    text = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
    options = {}
    for line in re.findall(r"^ +(-.*)$", text, flags=re.M):
        for name, argument in re.findall(r"(?:^|(?<=, ))(--?[\w?-]+)(?:=(\S+))?", line):
            options[name] = argument
    commands = re.search(r"^Commands:\n(.*?)\n\n", text, flags=re.M | re.S)
    return options, re.findall(r"^  (\w+)", commands[1], flags=re.M) if commands else []


def described(page, section):
    """Options of a section of the page."""
    text = re.search(rf"^# {section}\n(.*?)(?=^# |\Z)", page, flags=re.M | re.S)
    options = {}
    for line in re.findall(r"^(\*-.*)$", text[1] if text else "", flags=re.M):
        for name, argument in re.findall(r"\*(--?[\w?-]+)\*(?:=(\S+))?", line):
            options[name] = re.sub("_(.+?)_", r"\1", argument)
    return options


def declared(header_dir):
    names = set()
    for header in pathlib.Path(header_dir).glob("*.h*"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        names.update(re.findall(r"^TW_API\b[^;(]*?\b(\w+)\(", text, flags=re.M))
    return names


def main():
    source, tool = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    page = (source / "doc" / "timeweight.1.scd").read_text()
    overview = (source / "doc" / "libtimeweight.3.scd").read_text()
    failures, checked = [], 0

    def expect_same(what, ours, theirs):
        if ours != theirs:
            failures.append(f"{what}: in the program {ours}, in the manual {theirs}")

    common = described(page, COMMON)
    for command in COMMANDS:
        options, commands = helped(tool, command)
        own = described(page, f"OPTIONS OF {command.upper()}") if command else {}
        expect_same(f"timeweight {command}", dict(sorted(options.items())),
                    dict(sorted({**common, **own}.items())))
        checked += len(options)
        if not command:
            expect_same("commands", sorted(commands), sorted(c for c in COMMANDS if c))
    for loadgen in sys.argv[3:]:
        options, _ = helped(pathlib.Path(loadgen).resolve(), "")
        page = (source / "doc" / "timeweight-loadgen.1.scd").read_text()
        expect_same("timeweight-loadgen", dict(sorted(options.items())),
                    dict(sorted(described(page, COMMON).items())))
        checked += len(options)
    page = (source / "doc" / "timeweight.1.scd").read_text()
    for command in COMMANDS[1:]:
        if f"\n*timeweight* *{command}*" not in page:
            failures.append(f"timeweight(1): no synopsis of {command}")
    expect_same("functions", sorted(declared(source / "include" / "timeweight")),
                sorted(set(re.findall(r"\*(tw_\w+)\*\(\)", overview))))

    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{checked} options")
    sys.exit(bool(failures) or not checked)


main()
