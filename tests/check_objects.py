#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions that not every machine has stay inside the kernel that is made for them.

In the static library, a kernel's object defines one symbol that others can see, its table;
so no inline function of a header is emitted there for the linker to choose, compiled for a
machine that the others are not. All other objects keep to the instructions and registers
that every x86-64 has, and each kernel to those of its own set, which it does use.

    check_objects.py CPU_FAMILY ARCHIVE
"""

import re
import subprocess
import sys

KERNEL = re.compile(r"kernel_kernel_(\w+)\.c\.o$|kernel_(\w+)\.o$")

# Whatever is newer than x86-64 itself, by set. The encodings of AVX and later begin with a v.
# (tzcnt is not among them: older machines read bsf, and compilers count on it.)
NEWER = {
    "AVX": re.compile(r"v(?!err|erw|mcall|mlaunch|mread|mwrite|mxo)\w+"),
    "BMI": re.compile(r"andn|bextr|bls(i|r|msk)|bzhi|mulx|pdep|pext|rorx|(sar|shl|shr)x"),
    "POPCNT": re.compile(r"popcnt"),
    "LZCNT, ADX, MOVBE": re.compile(r"lzcnt|ad[co]x|movbe"),
    "SSE3": re.compile(r"addsubp[sd]|h(add|sub)p[sd]|lddqu|mov(d|sh|sl)dup|fisttpl?l?"
                       r"|pabs[bwd]|palignr|ph(add|sub)(d|s?w)|pmaddubsw|pmulhrsw|pshufb"
                       r"|psign[bwd]"),
    "SSE4": re.compile(r"p?blend\w*|dpp[sd]|extractps|insertps|pextr[bdq]|pinsr[bdq]|mpsadbw"
                       r"|packusdw|pcmp(eq|gt)q|pcmp[ei]str[im]|phminposuw|pmaxs[bd]|pmaxu[wd]"
                       r"|pmins[bd]|pminu[wd]|pmov[sz]x\w+|pmul(dq|ld)|ptest|round[ps][sd]"
                       r"|movntdqa|crc32[bwlq]?"),
    "AES": re.compile(r"aes\w+|pclmul\w+"),
}
WIDE = re.compile(r"%(zmm\d+|k[0-7]|[xy]mm(1[6-9]|2\d|3[01]))\b")  # AVX-512's registers

# kernel: (sets that it may use, its registers, others that it must not use)
ALLOWED = {
    "avx2": ({"AVX", "BMI", "POPCNT"}, re.compile(r"%ymm\d"), WIDE),
    "avx512": ({"AVX", "BMI", "POPCNT"}, re.compile(r"%zmm\d"), None),
}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def kernel_of(member):
    match = KERNEL.search(member)
    return match and (match[1] or match[2])


def instructions(archive):
    """(member, function, mnemonic, operands) of all code."""
    member = function = None
    for line in run("objdump", "-d", "--no-show-raw-insn", archive).splitlines():
        if match := re.match(r"(\S+):\s+file format", line):
            member = match[1]
        elif match := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            function = match[1]
        elif match := re.match(r"\s*[0-9a-f]+:\s+(?:(?:rep\w*|lock|notrack|bnd|data16|cs|ds) )*"
                               r"(\S+)\s*(.*)", line):
            yield member, function, match[1], match[2]


def globals_of(archive):
    """{member: the symbols that it defines for others}."""
    symbols, member = {}, None
    for line in run("nm", "-g", "--defined-only", archive).splitlines():
        fields = line.split()
        if len(fields) == 1 and line.endswith(":"):
            member = line[:-1]
            symbols[member] = []
        elif len(fields) == 3 and not fields[2].startswith("__"):  # of sanitizers
            symbols[member].append((fields[1], fields[2]))
    return symbols


def newer_set(mnemonic):
    return next((name for name, names in NEWER.items() if names.fullmatch(mnemonic)), None)


def check_code(archive):
    failures, used, seen = {}, set(), 0
    for member, function, mnemonic, operands in instructions(archive):
        kernel = kernel_of(member)
        allowed, own, foreign = ALLOWED.get(kernel, (set(), None, None))
        seen += 1
        needs = newer_set(mnemonic)
        if not needs and re.search(r"%([yz]mm|k[0-7]\b)", operands):
            needs = "AVX"
        if needs and needs not in allowed:
            failures.setdefault((member, function), f"{mnemonic} {operands} ({needs})")
        if foreign and foreign.search(operands):
            failures.setdefault((member, function), f"{mnemonic} {operands}")
        if own and own.search(operands):
            used.add(kernel)
    return [f"{m}: {f}: {why}" for (m, f), why in failures.items()], used, seen


def main():
    family, archive = sys.argv[1:]
    symbols = globals_of(archive)
    kernels = {kernel_of(member) for member in symbols} - {None}
    failures = []

    for member, defined in symbols.items():
        kernel = kernel_of(member)
        if kernel and [name for _, name in defined] != [f"twi_kernel_{kernel}"]:
            failures.append(f"{member}: defines {[name for _, name in defined]}")
        # The linker would take any one of several.
        shared = [name for kind, name in defined if kind in "VWuvw"]
        if shared:
            failures.append(f"{member}: weak: {shared}")
    if "portable" not in kernels:
        failures.append(f"no kernels in {sorted(symbols)}")

    seen = 0
    if family == "x86_64":
        wrong, used, seen = check_code(archive)
        failures += wrong
        if not seen:
            failures.append("no code")
        for kernel in sorted((kernels & set(ALLOWED)) - used):
            failures.append(f"kernel {kernel}: none of its registers are used")
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(symbols)} objects, {seen} instructions, kernels: {' '.join(sorted(kernels))}")
    sys.exit(bool(failures))


main()
