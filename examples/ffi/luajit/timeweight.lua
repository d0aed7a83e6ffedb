-- SPDX-License-Identifier: MIT

-- libtimeweight for LuaJIT. Declarations come from timeweight.cdef as it is installed; pkg-config
-- knows where: pkg-config --variable=cdef timeweight. TIMEWEIGHT_CDEF and TIMEWEIGHT_LIBRARY may
-- name it and the shared library by their paths.
--
-- A number of Lua holds integers up to 2^53 only, and epoch nanoseconds are beyond it: times are
-- int64_t (such as 5LL), or numbers where they are small.

local ffi = require("ffi")

local function cdef_path()
    local path = os.getenv("TIMEWEIGHT_CDEF")
    if not path then
        local command = assert(io.popen("pkg-config --variable=cdef timeweight"))
        path = command:read("*l")
        command:close()
    end
    assert(path and path ~= "", "pkg-config does not know timeweight")
    return path
end

local file = assert(io.open(cdef_path()))
ffi.cdef(file:read("*a"))
file:close()

local C = ffi.load(os.getenv("TIMEWEIGHT_LIBRARY") or
    (ffi.os == "OSX" and "libtimeweight.0.dylib" or "libtimeweight.so.0"))

local M = { C = C }

local function sized(kind)
    local value = ffi.new(kind)
    value.struct_size = ffi.sizeof(kind)
    return value
end

local function text(pointer)
    return pointer ~= nil and ffi.string(pointer) or nil
end

-- An error is a table { status, name, message }, and of a refused record { rule, field, row,
-- index, value_a, value_b } too; tostring() gives the message.
local Failure = { __tostring = function(failure) return failure.message end }

local function fail(status, refused)
    local failure = { status = status, name = text(C.tw_status_name(status)),
        message = text(C.tw_strerror(status)) }
    local rule = refused and text(C.tw_rule_name(refused.rule))
    if rule then
        failure.rule = rule
        failure.field = text(C.tw_field_name(refused.field)) or "record"
        failure.row, failure.index = tonumber(refused.row), tonumber(refused.index)
        failure.value_a, failure.value_b = refused.value_a, refused.value_b
        failure.message = string.format("row %d: %s %s [%s]", failure.row, failure.field,
            text(C.tw_rule_text(refused.rule)), rule)
    end
    error(setmetatable(failure, Failure), 0)
end

local function check(status)
    if status ~= C.TW_OK then
        fail(status)
    end
end

-- Makes an object of the library, which the collector releases if close() does not.
local function own(kind, free, create)
    local out = ffi.new(kind .. " *[1]")
    check(create(out))
    return ffi.gc(out[0], free)
end

local function close(self)
    if self.handle ~= nil then
        self.free(ffi.gc(self.handle, nil))
        self.handle = nil
    end
end

local function open(self)
    return self.handle or error("closed", 3)
end

local Recorder = { close = close }
Recorder.__index = Recorder

-- An empty recorder.
function M.recorder()
    local handle = own("tw_recorder", C.tw_recorder_free, function(out)
        return C.tw_recorder_new(out, nil)
    end)
    return setmetatable({ handle = handle, free = C.tw_recorder_free,
        record = ffi.new("tw_record") }, Recorder)
end

local RECORD_SIZE = ffi.sizeof("tw_record")

function Recorder:check(status)
    if status ~= C.TW_OK then
        local refused = sized("tw_error")
        check(C.tw_recorder_last_error(open(self), refused))
        fail(status, refused.status == status and refused or nil)
    end
end

-- An empty tw_record, the same one each time: set its members, then append() it.
function Recorder:blank()
    C.tw_record_init(self.record, RECORD_SIZE)
    return self.record
end

-- Appends a tw_record.
function Recorder:append(record)
    self:check(C.tw_recorder_append(open(self), record, 1, RECORD_SIZE, 0, nil))
end

-- Appends count requests from arrays: columns is a table of the members of tw_columns. All or
-- none.
function Recorder:append_columns(count, columns)
    local table = sized("tw_columns")
    table.count = count
    for name, values in pairs(columns) do
        if name:sub(1, 6) == "chunk_" then
            table[name] = values
        else
            table[name].values = values
        end
    end
    self:check(C.tw_recorder_append_columns(open(self), table, 0, nil))
end

-- Number of records stored.
function Recorder:count()
    return tonumber(C.tw_recorder_count(open(self)))
end

-- All metrics, in the order of a report: { id, tag, header, unit, description }.
function M.metrics()
    local metrics = {}
    for index = 0, tonumber(C.tw_metric_count()) - 1 do
        local row = sized("tw_metric_row")
        check(C.tw_metric_info(index, row))
        metrics[#metrics + 1] = { id = row.id, tag = text(row.tag), header = text(row.header),
            unit = text(row.unit), description = text(row.description) }
    end
    return metrics
end

local Analysis = { close = close }
Analysis.__index = Analysis

-- Analyses recorders as one run; begin_ns and end_ns may be nil: the run's own edges.
function M.analyze(recorders, begin_ns, end_ns)
    local handles = ffi.new("tw_recorder *[?]", #recorders)
    for i, recorder in ipairs(recorders) do
        handles[i - 1] = open(recorder)
    end
    local options = sized("tw_options")
    if begin_ns then
        options.flags = options.flags + C.TW_WINDOW_BEGIN
        options.window_begin_ns = begin_ns
    end
    if end_ns then
        options.flags = options.flags + C.TW_WINDOW_END
        options.window_end_ns = end_ns
    end
    local handle = own("tw_analysis", C.tw_analysis_free, function(out)
        return C.tw_analyze(out, handles, #recorders, options)
    end)
    return setmetatable({ handle = handle, free = C.tw_analysis_free }, Analysis)
end

-- A tw_summary, or nil if the metric was not measured in this run.
function Analysis:summary(metric)
    local summary = sized("tw_summary")
    local status = C.tw_analysis_summary(open(self), metric, summary)
    if status == C.TW_ERR_NODATA then
        return nil
    end
    check(status)
    return summary
end

-- A table of the values at each q, or nil if the metric was not measured in this run.
function Analysis:quantiles(metric, q)
    local values = ffi.new("double[?]", #q)
    local status = C.tw_analysis_quantiles(open(self), metric, ffi.new("double[?]", #q, q),
        values, #q)
    if status == C.TW_ERR_NODATA then
        return nil
    end
    check(status)
    local found = {}
    for i = 1, #q do
        found[i] = values[i - 1]
    end
    return found
end

-- The whole report; format: C.TW_FORMAT_TEXT and so on.
function Analysis:report(format)
    local pieces = {}
    local write = ffi.cast("tw_write_fn", function(_, bytes, length)
        pieces[#pieces + 1] = ffi.string(bytes, length)
        return 0
    end)
    local status = C.tw_report_write(open(self), format, nil, write, nil)
    write:free()
    check(status)
    return table.concat(pieces)
end

return M
