# SPDX-License-Identifier: MIT
"""cffi loads timeweight.cdef unchanged and calls the library, and examples/ffi/layout.c, whose
output TIMEWEIGHT_LAYOUT names, knows each of its structs and members.

    check_cffi.py TIMEWEIGHT_CDEF
"""

import os
import pathlib
import sys

import cffi


def main():
    ffi = cffi.FFI()
    ffi.cdef(pathlib.Path(sys.argv[1]).read_text(encoding="ascii"))
    lib = ffi.dlopen(os.environ.get("TIMEWEIGHT_LIBRARY", "libtimeweight.so.0"))

    declared = set()
    typedefs, tags, _ = ffi.list_types()
    for name in typedefs + [tag for tag in tags if tag not in typedefs]:
        kind = ffi.typeof(name if name in typedefs else f"struct {name}")
        if kind.kind != "struct" or not kind.fields:
            continue
        declared.add(f"{name} {ffi.sizeof(kind)}")
        for member, field in kind.fields:
            declared.add(f"{name}.{member} {field.offset} {ffi.sizeof(field.type)}")
    compiled = set(pathlib.Path(os.environ["TIMEWEIGHT_LAYOUT"]).read_text("ascii").splitlines())
    if declared != compiled or len(compiled) < 100:
        sys.exit("\n".join(sorted(declared ^ compiled)))

    recorders = ffi.new("tw_recorder *[1]")
    assert lib.tw_recorder_new(recorders, ffi.NULL) == lib.TW_OK
    recorder = ffi.gc(recorders[0], lib.tw_recorder_free)
    record = ffi.new("tw_record *")
    lib.tw_record_init(record, ffi.sizeof("tw_record"))
    assert record.output_tokens == lib.TW_TOKENS_NONE
    record.start_ns, record.end_ns = 10**18, 10**18 + 5
    assert lib.tw_recorder_append(recorder, record, 1, ffi.sizeof("tw_record"), 0,
                                  ffi.NULL) == lib.TW_OK
    analyses = ffi.new("tw_analysis *[1]")
    assert lib.tw_analyze(analyses, recorders, 1, ffi.NULL) == lib.TW_OK
    analysis = ffi.gc(analyses[0], lib.tw_analysis_free)
    summary = ffi.new("tw_summary *", {"struct_size": ffi.sizeof("tw_summary")})
    assert lib.tw_analysis_summary(analysis, lib.TW_EFFECTIVE_CONCURRENCY, summary) == lib.TW_OK
    assert (summary.avg, summary.weight_ns) == (1.0, 5)
    print(f"{len(compiled)} lines of layout")


main()
