#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges what changed between two dumps of the interface by the rules of doc/abi.md: functions
and constants stay, structs grow at the end. Exits with 0 (the same), 4 (additions only) or
12 (a break), as abidiff numbers them.

    compare.py OLD.abi NEW.abi
"""

import sys
import xml.etree.ElementTree as ET


class Interface:
    """The functions, structs and enums of a dump, by name, with types spelled out."""

    def __init__(self, path):
        root = ET.parse(path).getroot()
        self.soname = root.get("soname")
        self.types = {element.get("id"): element for element in root.iter() if element.get("id")}
        self.symbols = {symbol.get("name"): symbol.get("version")
                        for symbol in root.iter("elf-symbol")}
        self.functions = {
            function.get("name"): [self.spell(part.get("type-id"))
                                   for part in function if part.tag in ("parameter", "return")]
            for function in root.iter("function-decl") if function.get("name") in self.symbols
        }
        self.structs = {
            struct.get("name"): (int(struct.get("size-in-bits", 0)), self.members(struct))
            for struct in root.iter("class-decl") if struct.get("name").startswith("tw_")
        }
        self.enums = {
            enum.get("name"): {e.get("name"): e.get("value") for e in enum.iter("enumerator")}
            for enum in root.iter("enum-decl")
            if enum.get("name").startswith(("tw_", "constant_TW_"))
        }

    def members(self, struct):
        return [(member.get("layout-offset-in-bits"), variable.get("name"),
                 self.spell(variable.get("type-id")))
                for member in struct.iter("data-member") for variable in member.iter("var-decl")]

    def spell(self, type_id):
        """A type without its typedefs, whose names differ between C libraries."""
        kind = self.types[type_id]
        inner = kind.get("type-id")
        if kind.tag == "typedef-decl":
            return self.spell(inner)
        if kind.tag == "pointer-type-def":
            return f"pointer to {self.spell(inner)}"
        if kind.tag == "qualified-type-def":
            return f"const {self.spell(inner)}"
        if kind.tag == "array-type-def":
            lengths = "".join(f"[{part.get('length')}]" for part in kind.iter("subrange"))
            return f"array {lengths} of {self.spell(inner)}"
        if kind.tag == "function-type":
            parts = [self.spell(p.get("type-id")) for p in kind if p.get("type-id")]
            return f"function ({', '.join(parts)})"
        return f"{kind.get('name')}"


def judge_structs(old, new, breaks, additions):
    for name, (size, members) in old.items():
        if name not in new:
            breaks.append(f"struct {name} is gone")
            continue
        new_size, new_members = new[name]
        for before, now in zip(members, new_members):
            if before != now:
                breaks.append(f"struct {name}: {' '.join(before)}: now {' '.join(now)}")
                break
        else:
            if len(new_members) < len(members) or new_size < size:
                breaks.append(f"struct {name} has shrunk")
            elif (len(new_members), new_size) != (len(members), size):
                additions.append(f"struct {name} has grown at its end")


def judge_enums(old, new, breaks, additions):
    for name, values in old.items():
        now = new.get(name, {})
        for constant, value in values.items():
            if now.get(constant) != value:
                breaks.append(f"{constant} = {value}: now {now.get(constant, 'gone')}")
        additions += [f"{constant} = {now[constant]}" for constant in now
                      if constant not in values]


def judge(old, new):
    breaks, additions = [], []
    if old.soname != new.soname:
        breaks.append(f"soname {old.soname}: now {new.soname}")
    for symbol, version in old.symbols.items():
        if new.symbols.get(symbol) != version:
            breaks.append(f"symbol {symbol}@{version}: now {new.symbols.get(symbol, 'gone')}")
        elif old.functions[symbol] != new.functions[symbol]:
            breaks.append(f"{symbol}: {old.functions[symbol]}: now {new.functions[symbol]}")
    additions += [f"symbol {name}" for name in new.symbols if name not in old.symbols]
    judge_structs(old.structs, new.structs, breaks, additions)
    additions += [f"struct {name}" for name in new.structs if name not in old.structs]
    judge_enums(old.enums, new.enums, breaks, additions)
    additions += [f"enum {name}" for name in new.enums if name not in old.enums]
    return breaks, additions


def main():
    old, new = (Interface(path) for path in sys.argv[1:])
    if not (old.functions and old.structs and old.enums):
        sys.exit("the old dump holds no interface")
    breaks, additions = judge(old, new)
    for line in breaks:
        print("break:", line)
    for line in additions:
        print("added:", line)
    sys.exit(12 if breaks else 4 if additions else 0)


main()
