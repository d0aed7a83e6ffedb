-- SPDX-License-Identifier: MIT

-- timeweight.cdef is loaded unchanged, and its sizes and offsets are those of the compiler:
-- TIMEWEIGHT_LAYOUT names the output of examples/ffi/layout.c. And what the quick start does not
-- use works.

local ffi = require("ffi")
local timeweight = require("timeweight")
local C = timeweight.C

local checked = 0
for line in io.lines(assert(os.getenv("TIMEWEIGHT_LAYOUT"))) do
    local kind, rest = line:match("^([%w_]+)(.*)$")
    kind = kind:match("^Arrow") and "struct " .. kind or kind
    local member, offset = rest:match("^%.([%w_]+) (%d+) %d+$")
    if member then
        assert(ffi.offsetof(kind, member) == tonumber(offset), line)
    else
        assert(ffi.sizeof(kind) == tonumber(rest), line)
    end
    checked = checked + 1
end
assert(checked > 100, "a layout of " .. checked .. " lines")

local function refused(action, ...)
    local done, failure = pcall(action, ...)
    assert(not done, "nothing failed")
    return failure
end

local recorder = timeweight.recorder()
local record = recorder:blank()
record.start_ns, record.end_ns = 5, 4
local failure = refused(recorder.append, recorder, record)
assert(failure.name == "TW_ERR_RANGE" and failure.rule == "end_before_start")
assert(failure.field == "end_ns" and failure.row == 0)
assert(failure.value_a == 4 and failure.value_b == 5)
assert(recorder:count() == 0)

local epoch = 1760000000123456789LL -- beyond what a number holds
record = recorder:blank()
record.start_ns, record.end_ns, record.status = epoch, epoch + 1, C.TW_RECORD_FAILED
recorder:append(record)
recorder:append_columns(1, {
    start_ns = ffi.new("int64_t[1]", epoch + 1),
    generation_start_ns = ffi.new("int64_t[1]", epoch + 1),
    end_ns = ffi.new("int64_t[1]", epoch + 4),
    chunk_offsets = ffi.new("uint64_t[2]", 0, 2),
    chunk_arrival_ns = ffi.new("int64_t[2]", epoch + 2, epoch + 4),
    chunk_value_count = 2,
})
local analysis = timeweight.analyze({ recorder }, epoch, epoch + 4)
local summary = analysis:summary(C.TW_EFFECTIVE_CONCURRENCY)
assert(summary.avg == 1 and summary.weight_ns == 4)
assert(analysis:summary(C.TW_INTER_CHUNK_LATENCY).count == 2)
assert(analysis:summary(C.TW_EFFECTIVE_LATENCY) == nil)
assert(analysis:quantiles(C.TW_EFFECTIVE_LATENCY, { 0.5 }) == nil)
failure = refused(analysis.quantiles, analysis, C.TW_EFFECTIVE_CONCURRENCY, { 1.5 })
assert(failure.name == "TW_ERR_INVAL")
assert(analysis:report(C.TW_FORMAT_TEXT):find("Effective Concurrency (requests)", 1, true))
analysis:close()
recorder:close()
recorder:close()
assert(tostring(refused(recorder.count, recorder)):find("closed"))
print(checked .. " lines of layout")
