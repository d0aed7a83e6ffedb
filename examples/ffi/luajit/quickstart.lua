-- SPDX-License-Identifier: MIT

-- examples/quickstart.c in Lua: prints the same to the last digit.

local ffi = require("ffi")
local timeweight = require("timeweight")

local MS = 1000000LL -- ns
local HALF = 20 -- of the 40 requests

local function due_ns(i)
    return (math.floor(i / 4) * 2100 + i % 4) * MS
end

local function decode_ns(i)
    return (1600 + 9 * i) * MS
end

-- The first half of the run: each request is appended when it has ended.
local function append_in_a_loop(recorder)
    for i = 0, HALF - 1 do
        local record = recorder:blank()
        record.credit_issued_ns = due_ns(i)
        record.start_ns = record.credit_issued_ns + 5 * MS
        record.generation_start_ns = record.start_ns + 100 * MS
        record.end_ns = record.generation_start_ns + decode_ns(i)
        record.input_tokens = 200
        record.output_tokens = 100
        recorder:append(record)
    end
end

-- The second half: the requests lie in columns, and one call takes them all.
local function append_columns(recorder)
    local function column()
        return ffi.new("int64_t[?]", HALF)
    end
    local due, start, first, last = column(), column(), column(), column()
    local input, output = column(), column()
    for row = 0, HALF - 1 do
        due[row] = due_ns(HALF + row)
        start[row] = due[row] + 5 * MS
        first[row] = start[row] + 100 * MS
        last[row] = first[row] + decode_ns(HALF + row)
        input[row], output[row] = 200, 100
    end
    recorder:append_columns(HALF, {
        credit_issued_ns = due,
        start_ns = start,
        generation_start_ns = first,
        end_ns = last,
        input_tokens = input,
        output_tokens = output,
    })
end

-- A row that cannot be: nothing of the call is stored, and the error says why.
local function append_nonsense(recorder)
    local done, failure = pcall(recorder.append_columns, recorder, 2, {
        start_ns = ffi.new("int64_t[2]", 0, 500 * MS),
        end_ns = ffi.new("int64_t[2]", 100 * MS, 400 * MS),
    })
    if not done and not (type(failure) == "table" and failure.rule) then
        error(failure, 0)
    end
    print("refused: " .. tostring(failure))
end

local function report(recorder)
    local analysis = timeweight.analyze({ recorder })
    local done, failure = pcall(function()
        for _, metric in ipairs(timeweight.metrics()) do
            local summary = analysis:summary(metric.id)
            if summary then
                print(string.format("%s %.17g %s", metric.tag, summary.avg, metric.unit))
            end
        end
        local ms = analysis:quantiles(timeweight.C.TW_EFFECTIVE_LATENCY, { 0.5, 0.99 })
        print(string.format("effective latency: p50 %.17g ms, p99 %.17g ms", ms[1], ms[2]))
    end)
    analysis:close()
    assert(done, failure)
end

local recorder = timeweight.recorder()
local done, failure = pcall(function()
    append_in_a_loop(recorder)
    append_columns(recorder)
    append_nonsense(recorder)
    report(recorder)
end)
recorder:close()
if not done then
    io.stderr:write("quickstart: ", tostring(failure), "\n")
    os.exit(1)
end
