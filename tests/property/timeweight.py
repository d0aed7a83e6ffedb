# SPDX-License-Identifier: MIT
"""A minimal ctypes binding of libtimeweight, as far as the property tests need it."""

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
    sizeof,
)

TIME_NONE = -(2**63)
TOKENS_NONE = -1

OK, NOMEM, INVAL, RANGE, NODATA, NOTSUP, IO, ABI = 0, -1, -2, -3, -4, -5, -6, -7

RULE_LIMIT = 32
SKIP_INVALID = 1
WINDOW_BEGIN, WINDOW_END = 1, 2
STREAMING = 1

HAS_AVG, HAS_MIN, HAS_MAX, HAS_STD = 1, 2, 4, 8
HAS_SUM, HAS_WEIGHT, HAS_ACTIVE, HAS_COUNT = 16, 32, 64, 128

KIND_CURVE, KIND_SAMPLE, KIND_SCALAR = 1, 2, 3

ALLOC_FN = CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)
FREE_FN = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_size_t)


class Allocator(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user_data", c_void_p),
        ("alloc", ALLOC_FN),
        ("free", FREE_FN),
    ]


class Record(Structure):
    _fields_ = [
        ("credit_issued_ns", c_int64),
        ("start_ns", c_int64),
        ("generation_start_ns", c_int64),
        ("end_ns", c_int64),
        ("input_tokens", c_int64),
        ("output_tokens", c_int64),
        ("chunk_arrival_ns", POINTER(c_int64)),
        ("chunk_tokens", POINTER(c_int64)),
        ("chunk_count", c_uint64),
        ("status", c_int32),
        ("flags", c_uint32),
    ]


class Column(Structure):
    _fields_ = [
        ("values", c_void_p),
        ("validity", POINTER(c_uint8)),
        ("stride", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class Columns(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("count", c_uint64),
        ("credit_issued_ns", Column),
        ("start_ns", Column),
        ("generation_start_ns", Column),
        ("end_ns", Column),
        ("input_tokens", Column),
        ("output_tokens", Column),
        ("status", Column),
        ("record_flags", Column),
        ("chunk_offsets", POINTER(c_uint64)),
        ("chunk_arrival_ns", POINTER(c_int64)),
        ("chunk_tokens", POINTER(c_int64)),
        ("chunk_value_count", c_uint64),
    ]


class RecorderOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("allocator", POINTER(Allocator)),
    ]


class Clock(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("offset_ns", c_int64),
    ]


class Balance(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("issued", c_uint64),
        ("ok", c_uint64),
        ("failed", c_uint64),
        ("cancelled", c_uint64),
        ("in_flight", c_uint64),
        ("refused", c_uint64),
        ("credit_after_start", c_uint64),
        ("chunk_tokens_ignored", c_uint64),
        ("refused_by_rule", c_uint64 * RULE_LIMIT),
        ("overlapping", c_uint64),
        ("members", c_uint64),
        ("cut_at_begin", c_uint64),
        ("cut_at_end", c_uint64),
    ]


class Error(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_int32),
        ("rule", c_int32),
        ("field", c_int32),
        ("row", c_uint64),
        ("index", c_uint64),
        ("value_a", c_int64),
        ("value_b", c_int64),
    ]


class Options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("window_begin_ns", c_int64),
        ("window_end_ns", c_int64),
        ("kernel", c_int32),
        ("threads", c_uint32),
        ("executor", c_void_p),
        ("executor_data", c_void_p),
        ("quantiles", POINTER(c_double)),
        ("allocator", POINTER(Allocator)),
        ("quantile_count", c_uint64),
    ]


class Summary(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("fields", c_uint32),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("error_bound", c_double),
        ("avg", c_double),
        ("min", c_double),
        ("max", c_double),
        ("std", c_double),
        ("sum", c_double),
        ("weight_ns", c_int64),
        ("active_ns", c_int64),
        ("count", c_uint64),
    ]


class MetricRow(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("id", c_int32),
        ("group", c_int32),
        ("kind", c_int32),
        ("mask", c_int32),
        ("better", c_int32),
        ("tag", c_char_p),
        ("header", c_char_p),
        ("unit", c_char_p),
        ("description", c_char_p),
    ]


class TwError(Exception):
    """A call that returned something other than TW_OK."""

    def __init__(self, call, status):
        super().__init__("%s returned %d" % (call, status))
        self.status = status


class CountingAllocator:
    """Hands memory out by libc's malloc family, keeps the books, fails when told to."""

    def __init__(self):
        libc = ctypes.CDLL(None)
        libc.aligned_alloc.restype = c_void_p
        libc.aligned_alloc.argtypes = [c_size_t, c_size_t]
        libc.free.argtypes = [c_void_p]
        self.live = {}
        self.faults = []
        self.failing = False
        self.refusals = 0

        def alloc(_user, size, align):
            if size == 0 or align == 0 or align & (align - 1) or align > 64:
                self.faults.append("alloc(size %d, align %d)" % (size, align))
                return None
            if self.failing:
                self.refusals += 1
                return None
            align_up = max(align, 16)
            room = (size + align_up - 1) // align_up * align_up
            pointer = libc.aligned_alloc(align_up, room)
            self.live[pointer] = (size, align)
            return pointer

        def release(_user, pointer, size, align):
            if self.live.get(pointer) != (size, align):
                self.faults.append(
                    "free(%r, %d, %d), not as allocated: %r"
                    % (pointer, size, align, self.live.get(pointer))
                )
                return
            del self.live[pointer]
            libc.free(pointer)

        self._alloc = ALLOC_FN(alloc)
        self._free = FREE_FN(release)
        self.struct = Allocator(sizeof(Allocator), 0, None, self._alloc, self._free)

    def bytes(self):
        return sum(size for size, _ in self.live.values())


def bytes_of(struct):
    return ctypes.string_at(ctypes.addressof(struct), sizeof(struct))


class Binding:
    """The shared library with its prototypes, and its registry."""

    def __init__(self, path):
        self.c = c = ctypes.CDLL(path)
        prototypes = {
            "tw_record_init": (None, [POINTER(Record), c_size_t]),
            "tw_recorder_new": (c_int32, [POINTER(c_void_p), POINTER(RecorderOptions)]),
            "tw_recorder_free": (None, [c_void_p]),
            "tw_recorder_append": (
                c_int32,
                [c_void_p, c_void_p, c_size_t, c_size_t, c_uint32, POINTER(c_size_t)],
            ),
            "tw_recorder_append_columns": (
                c_int32,
                [c_void_p, POINTER(Columns), c_uint32, POINTER(c_size_t)],
            ),
            "tw_recorder_read": (
                c_int32,
                [c_void_p, c_uint64, c_void_p, c_size_t, c_size_t, POINTER(c_size_t)],
            ),
            "tw_recorder_read_chunks": (
                c_int32,
                [
                    c_void_p,
                    c_uint64,
                    c_void_p,
                    c_size_t,
                    c_size_t,
                    POINTER(c_int64),
                    POINTER(c_int64),
                    c_size_t,
                    POINTER(c_size_t),
                ],
            ),
            "tw_recorder_reserve": (c_int32, [c_void_p, c_uint64]),
            "tw_recorder_clear": (None, [c_void_p]),
            "tw_recorder_count": (c_uint64, [c_void_p]),
            "tw_recorder_memory": (c_uint64, [c_void_p]),
            "tw_recorder_set_clock": (c_int32, [c_void_p, POINTER(Clock)]),
            "tw_recorder_balance": (c_int32, [c_void_p, POINTER(Balance)]),
            "tw_recorder_last_error": (c_int32, [c_void_p, POINTER(Error)]),
            "tw_options_init": (None, [POINTER(Options), c_size_t]),
            "tw_analyze": (
                c_int32,
                [POINTER(c_void_p), POINTER(c_void_p), c_size_t, POINTER(Options)],
            ),
            "tw_analysis_free": (None, [c_void_p]),
            "tw_analysis_bounds": (
                c_int32,
                [c_void_p, POINTER(c_int64), POINTER(c_int64)],
            ),
            "tw_analysis_balance": (c_int32, [c_void_p, POINTER(Balance)]),
            "tw_analysis_summary": (c_int32, [c_void_p, c_int32, POINTER(Summary)]),
            "tw_analysis_quantiles": (
                c_int32,
                [c_void_p, c_int32, POINTER(c_double), POINTER(c_double), c_size_t],
            ),
            "tw_metric_count": (c_size_t, []),
            "tw_metric_info": (c_int32, [c_size_t, POINTER(MetricRow)]),
            "tw_metric_find": (c_int32, [c_char_p, POINTER(c_int32)]),
        }
        for name, (result, arguments) in prototypes.items():
            function = getattr(c, name)
            function.restype = result
            function.argtypes = arguments
        self.rows = []
        for index in range(c.tw_metric_count()):
            row = MetricRow(struct_size=sizeof(MetricRow))
            self.check("tw_metric_info", c.tw_metric_info(index, byref(row)))
            self.rows.append(row)
        self.ids = {row.tag.decode(): row.id for row in self.rows}
        self.kinds = {row.tag.decode(): row.kind for row in self.rows}
        self._check_sizes()

    @staticmethod
    def check(call, status):
        if status != OK:
            raise TwError(call, status)

    def _check_sizes(self):
        """Every struct of this file must be one that the library takes for its own."""
        room = sizeof(Record) + 64
        buffer = (ctypes.c_ubyte * room)(*([0xA5] * room))
        self.c.tw_record_init(ctypes.cast(buffer, POINTER(Record)), sizeof(Record))
        record = Record.from_buffer(buffer)
        if record.start_ns != TIME_NONE or record.output_tokens != TOKENS_NONE:
            raise AssertionError("tw_record does not have the layout of this binding")
        if record.status or record.flags or set(buffer[sizeof(Record) :]) != {0xA5}:
            raise AssertionError("tw_record does not have the size of this binding")
        options = Options(kernel=7, quantile_count=7)
        self.c.tw_options_init(byref(options), sizeof(Options))
        if options.struct_size != sizeof(Options) or options.quantile_count:
            raise AssertionError("tw_options does not have the layout of this binding")
        recorder = Recorder(self)
        record.start_ns, record.end_ns, record.input_tokens = 0, 3, 5
        self.check(
            "tw_recorder_append",
            self.c.tw_recorder_append(
                recorder.handle, byref(record), 1, sizeof(Record), 0, None
            ),
        )
        recorder.set_clock(1)
        if recorder.balance().issued != 1 or recorder.last_error().status != OK:
            raise AssertionError("tw_balance or tw_error differ from this binding")
        analysis = self.analyze([recorder], quantiles=[0.5])
        status, summary = analysis.summary("effective_concurrency")
        if status != OK or summary.weight_ns != 3 or summary.avg != 1.0:
            raise AssertionError("tw_summary does not have the layout of this binding")
        if analysis.bounds() != (1, 4) or analysis.balance().issued != 1:
            raise AssertionError("tw_clock or tw_balance differ from this binding")
        analysis.free()
        recorder.free()

    def analyze(self, recorders, begin=None, end=None, quantiles=(), threads=0, kernel=0,
                allocator=None):
        handles = (c_void_p * max(1, len(recorders)))(*[r.handle for r in recorders])
        options = Options()
        self.c.tw_options_init(byref(options), sizeof(Options))
        if begin is not None:
            options.flags |= WINDOW_BEGIN
            options.window_begin_ns = begin
        if end is not None:
            options.flags |= WINDOW_END
            options.window_end_ns = end
        options.threads = threads
        options.kernel = kernel
        if quantiles:
            options.quantiles = (c_double * len(quantiles))(*quantiles)
            options.quantile_count = len(quantiles)
        if allocator is not None:
            options.allocator = ctypes.pointer(allocator.struct)
        handle = c_void_p()
        status = self.c.tw_analyze(byref(handle), handles, len(recorders), byref(options))
        self.check("tw_analyze", status)
        return Analysis(self, handle)


def pack(records):
    """An array of tw_record, and what must live as long as it."""
    array = (Record * max(1, len(records)))()
    keep = []

    def column(values):
        if values is None:
            return None
        data = (c_int64 * max(1, len(values)))(*values)
        keep.append(data)
        return ctypes.cast(data, POINTER(c_int64))

    def time(value):
        return TIME_NONE if value is None else value

    def tokens(value):
        return TOKENS_NONE if value is None else value

    for raw, record in zip(array, records):
        raw.credit_issued_ns = time(record.credit)
        raw.start_ns = time(record.start)
        raw.generation_start_ns = time(record.gen)
        raw.end_ns = time(record.end)
        raw.input_tokens = tokens(record.inp)
        raw.output_tokens = tokens(record.out)
        raw.chunk_arrival_ns = column(record.arrivals)
        raw.chunk_tokens = column(record.counts)
        raw.chunk_count = record.chunk_count()
        raw.status = record.status
        raw.flags = record.flags
    return array, keep


PACKED, STRIDED, WITH_VALIDITY = range(3)


def pack_columns(records, layouts):
    """A tw_columns, and what must live as long as it; a layout for each of 8 columns."""
    count = len(records)
    columns = Columns(struct_size=sizeof(Columns), count=count)
    keep = []

    def column(values, kind, missing, layout):
        if all(value is None for value in values):
            return Column()
        every = 3 if layout == STRIDED else 1
        data = (kind * max(1, every * count))(*([77] * (every * count)))
        validity = (c_uint8 * max(1, count))(*([1] * count))
        for k, value in enumerate(values):
            if value is None and layout == WITH_VALIDITY:
                validity[k] = 0
            else:
                data[every * k] = missing if value is None else value
        keep.extend((data, validity))
        result = Column(values=ctypes.addressof(data))
        if layout == STRIDED:
            result.stride = every * sizeof(kind)
        if layout == WITH_VALIDITY:
            result.validity = ctypes.cast(validity, POINTER(c_uint8))
        return result

    for (name, attribute, kind, missing), layout in zip(
        (
            ("credit_issued_ns", "credit", c_int64, TIME_NONE),
            ("start_ns", "start", c_int64, TIME_NONE),
            ("generation_start_ns", "gen", c_int64, TIME_NONE),
            ("end_ns", "end", c_int64, TIME_NONE),
            ("input_tokens", "inp", c_int64, TOKENS_NONE),
            ("output_tokens", "out", c_int64, TOKENS_NONE),
            ("status", "status", c_int32, 0),
            ("record_flags", "flags", c_uint32, 0),
        ),
        layouts,
    ):
        values = [getattr(record, attribute) for record in records]
        setattr(columns, name, column(values, kind, missing, layout))
    arrivals = [a for record in records for a in record.arrivals or ()]
    if arrivals:
        offsets = [0]
        for record in records:
            offsets.append(offsets[-1] + len(record.arrivals or ()))
        columns.chunk_offsets = (c_uint64 * len(offsets))(*offsets)
        columns.chunk_arrival_ns = (c_int64 * len(arrivals))(*arrivals)
        columns.chunk_value_count = len(arrivals)
        counts = [c for record in records for c in record.counts or ()]
        if counts:
            columns.chunk_tokens = (c_int64 * len(counts))(*counts)
    return columns, keep


class Recorder:
    def __init__(self, library, records=(), allocator=None, offset=0):
        self.lib = library
        self.handle = c_void_p()
        options = RecorderOptions(sizeof(RecorderOptions), 0, None)
        if allocator is not None:
            options.allocator = ctypes.pointer(allocator.struct)
        status = library.c.tw_recorder_new(byref(self.handle), byref(options))
        library.check("tw_recorder_new", status)
        if records:
            status, accepted = self.append(records)
            if status == OK and accepted != len(records):
                raise AssertionError("accepted %d of %d" % (accepted, len(records)))
            library.check("tw_recorder_append", status)
        if offset:
            self.set_clock(offset)

    def append(self, records, flags=0):
        array, keep = pack(records)
        accepted = c_size_t(12345)
        status = self.lib.c.tw_recorder_append(
            self.handle, array, len(records), sizeof(Record), flags, byref(accepted)
        )
        del keep
        return status, accepted.value

    def append_columns(self, records, layouts, flags=0):
        columns, keep = pack_columns(records, layouts)
        accepted = c_size_t(12345)
        status = self.lib.c.tw_recorder_append_columns(
            self.handle, byref(columns), flags, byref(accepted)
        )
        del keep
        return status, accepted.value

    def read(self, first, capacity):
        """Records as tuples (credit, start, gen, end, inp, out, arrivals, counts, status,
        flags), raw."""
        raw = (Record * max(1, capacity))()
        written = c_size_t()
        status = self.lib.c.tw_recorder_read(
            self.handle, first, raw, capacity, sizeof(Record), byref(written)
        )
        self.lib.check("tw_recorder_read", status)
        assert not any(r.chunk_arrival_ns or r.chunk_tokens for r in raw)
        chunks = sum(r.chunk_count for r in raw[: written.value])
        arrivals, counts = (c_int64 * max(1, chunks))(), (c_int64 * max(1, chunks))()
        read = c_size_t()
        status = self.lib.c.tw_recorder_read_chunks(
            self.handle,
            first,
            raw,
            written.value,
            sizeof(Record),
            arrivals,
            counts,
            chunks,
            byref(read),
        )
        self.lib.check("tw_recorder_read_chunks", status)
        assert read.value == chunks
        return [
            (
                r.credit_issued_ns,
                r.start_ns,
                r.generation_start_ns,
                r.end_ns,
                r.input_tokens,
                r.output_tokens,
                r.chunk_arrival_ns[: r.chunk_count] if r.chunk_count else [],
                r.chunk_tokens[: r.chunk_count] if r.chunk_tokens else [],
                r.status,
                r.flags,
            )
            for r in raw[: written.value]
        ]

    def set_clock(self, offset):
        clock = Clock(sizeof(Clock), 0, offset)
        status = self.lib.c.tw_recorder_set_clock(self.handle, byref(clock))
        self.lib.check("tw_recorder_set_clock", status)

    def reserve(self, records):
        return self.lib.c.tw_recorder_reserve(self.handle, records)

    def clear(self):
        self.lib.c.tw_recorder_clear(self.handle)

    def count(self):
        return self.lib.c.tw_recorder_count(self.handle)

    def memory(self):
        return self.lib.c.tw_recorder_memory(self.handle)

    def balance(self):
        balance = Balance(struct_size=sizeof(Balance))
        status = self.lib.c.tw_recorder_balance(self.handle, byref(balance))
        self.lib.check("tw_recorder_balance", status)
        return balance

    def last_error(self):
        error = Error(struct_size=sizeof(Error))
        status = self.lib.c.tw_recorder_last_error(self.handle, byref(error))
        self.lib.check("tw_recorder_last_error", status)
        return error

    def free(self):
        self.lib.c.tw_recorder_free(self.handle)
        self.handle = c_void_p()


class Analysis:
    def __init__(self, library, handle):
        self.lib = library
        self.handle = handle

    def bounds(self):
        begin, end = c_int64(), c_int64()
        status = self.lib.c.tw_analysis_bounds(self.handle, byref(begin), byref(end))
        self.lib.check("tw_analysis_bounds", status)
        return begin.value, end.value

    def balance(self):
        balance = Balance(struct_size=sizeof(Balance))
        status = self.lib.c.tw_analysis_balance(self.handle, byref(balance))
        self.lib.check("tw_analysis_balance", status)
        return balance

    def summary(self, tag):
        summary = Summary(struct_size=sizeof(Summary))
        status = self.lib.c.tw_analysis_summary(
            self.handle, self.lib.ids[tag], byref(summary)
        )
        return status, summary

    def quantiles(self, tag, q):
        values = (c_double * max(1, len(q)))()
        points = (c_double * max(1, len(q)))(*q)
        status = self.lib.c.tw_analysis_quantiles(
            self.handle, self.lib.ids[tag], points, values, len(q)
        )
        return status, list(values)[: len(q)]

    def free(self):
        self.lib.c.tw_analysis_free(self.handle)
        self.handle = c_void_p()
