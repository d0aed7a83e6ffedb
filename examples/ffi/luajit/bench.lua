-- SPDX-License-Identifier: MIT

-- See bench.c.

local ffi = require("ffi")
local timeweight = require("timeweight")

local ROWS = 1000000

ffi.cdef [[
typedef struct { int64_t seconds; int64_t ns; } bench_time;
int clock_gettime(int clock, bench_time *time);
]]

local function now_ns()
    local time = ffi.new("bench_time")
    ffi.C.clock_gettime(1, time) -- CLOCK_MONOTONIC
    return tonumber(time.seconds) * 1e9 + tonumber(time.ns)
end

local function best(append)
    local best_ns = math.huge
    for _ = 1, 10 do
        local recorder = timeweight.recorder()
        local begin = now_ns()
        append(recorder)
        best_ns = math.min(best_ns, now_ns() - begin)
        recorder:close()
    end
    return best_ns / ROWS
end

local loop = best(function(recorder)
    for row = 0, ROWS - 1 do
        local i = row * 1000LL
        local record = recorder:blank()
        record.credit_issued_ns = i
        record.start_ns = i + 5
        record.generation_start_ns = i + 100
        record.end_ns = i + 5000
        record.input_tokens = 200
        record.output_tokens = 100
        recorder:append(record)
    end
end)

local function column(first, step)
    local values = ffi.new("int64_t[?]", ROWS)
    for i = 0, ROWS - 1 do
        values[i] = first + step * i
    end
    return values
end
local columns = {
    credit_issued_ns = column(0, 1000),
    start_ns = column(5, 1000),
    generation_start_ns = column(100, 1000),
    end_ns = column(5000, 1000),
    input_tokens = column(200, 0),
    output_tokens = column(100, 0),
}
local rows = best(function(recorder)
    recorder:append_columns(ROWS, columns)
end)
print(string.format("luajit %.1f %.1f", loop, rows))
