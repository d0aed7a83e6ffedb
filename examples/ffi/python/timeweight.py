# SPDX-License-Identifier: MIT
"""libtimeweight for Python: exact time-weighted metrics of load tests. Needs the shared library
and NumPy, no compiler.

    with timeweight.Recorder() as recorder:
        recorder.append(start_ns=0, generation_start_ns=100, end_ns=900, output_tokens=9)
        with timeweight.analyze(recorder) as analysis:
            print(analysis.summary("effective_concurrency").avg)

Times are integers in ns of one monotonic clock. None, and in arrays the least int64 (which is
NumPy's NaT), mean "not recorded". The library is loaded from the path in TIMEWEIGHT_LIBRARY, or
by its name.
"""

import ctypes
import operator
import os
import struct
import sys
import weakref
from collections import namedtuple

import numpy as np

TIME_NONE = -(2**63)
TOKENS_NONE = -1

# tw_status
OK = 0
ERR_NOMEM, ERR_INVAL, ERR_RANGE, ERR_NODATA, ERR_NOTSUP, ERR_IO, ERR_ABI = range(-1, -8, -1)

# tw_record_status and tw_record_flags
RECORD_OK, RECORD_FAILED, RECORD_CANCELLED = 0, 1, 2
RECORD_STREAMING = 1

_SKIP_INVALID = 1
_WINDOW_BEGIN, _WINDOW_END = 1, 2
_FORMATS = {"text": 1, "csv": 2, "json": 3}
_RULE_LIMIT = 32
_PAGE = 65536

# ---------------------------------------------------------------- the interface in C

_i32, _u32, _i64, _u64 = ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64
_double, _size, _pointer = ctypes.c_double, ctypes.c_size_t, ctypes.c_void_p


class _Sized(ctypes.Structure):
    """A struct that begins with its own size."""

    def __init__(self, **values):
        super().__init__(struct_size=ctypes.sizeof(self), **values)


class tw_error(_Sized):
    _fields_ = [("struct_size", _u32), ("status", _i32), ("rule", _i32), ("field", _i32),
                ("row", _u64), ("index", _u64), ("value_a", _i64), ("value_b", _i64)]


class tw_record(ctypes.Structure):
    _fields_ = [("credit_issued_ns", _i64), ("start_ns", _i64), ("generation_start_ns", _i64),
                ("end_ns", _i64), ("input_tokens", _i64), ("output_tokens", _i64),
                ("chunk_arrival_ns", _pointer), ("chunk_tokens", _pointer),
                ("chunk_count", _u64), ("status", _i32), ("flags", _u32)]


class tw_column(ctypes.Structure):
    _fields_ = [("values", _pointer), ("validity", _pointer), ("stride", _u64),
                ("flags", _u32), ("reserved", _u32)]


class tw_columns(_Sized):
    _fields_ = [("struct_size", _u32), ("flags", _u32), ("count", _u64),
                ("credit_issued_ns", tw_column), ("start_ns", tw_column),
                ("generation_start_ns", tw_column), ("end_ns", tw_column),
                ("input_tokens", tw_column), ("output_tokens", tw_column),
                ("status", tw_column), ("record_flags", tw_column),
                ("chunk_offsets", _pointer), ("chunk_arrival_ns", _pointer),
                ("chunk_tokens", _pointer), ("chunk_value_count", _u64)]


class tw_clock(_Sized):
    _fields_ = [("struct_size", _u32), ("flags", _u32), ("offset_ns", _i64)]


class tw_balance(_Sized):
    _fields_ = [("struct_size", _u32), ("flags", _u32), ("issued", _u64), ("ok", _u64),
                ("failed", _u64), ("cancelled", _u64), ("in_flight", _u64), ("refused", _u64),
                ("credit_after_start", _u64), ("chunk_tokens_ignored", _u64),
                ("refused_by_rule", _u64 * _RULE_LIMIT), ("overlapping", _u64),
                ("members", _u64), ("cut_at_begin", _u64), ("cut_at_end", _u64)]


class tw_metric_row(_Sized):
    _fields_ = [("struct_size", _u32), ("id", _i32), ("group", _i32), ("kind", _i32),
                ("mask", _i32), ("better", _i32), ("tag", ctypes.c_char_p),
                ("header", ctypes.c_char_p), ("unit", ctypes.c_char_p),
                ("description", ctypes.c_char_p)]


class tw_options(_Sized):
    _fields_ = [("struct_size", _u32), ("flags", _u32), ("window_begin_ns", _i64),
                ("window_end_ns", _i64), ("kernel", _i32), ("threads", _u32),
                ("executor", _pointer), ("executor_data", _pointer), ("quantiles", _pointer),
                ("allocator", _pointer), ("quantile_count", _u64)]


class tw_summary(_Sized):
    _fields_ = [("struct_size", _u32), ("fields", _u32), ("flags", _u32), ("reserved", _u32),
                ("error_bound", _double), ("avg", _double), ("min", _double), ("max", _double),
                ("std", _double), ("sum", _double), ("weight_ns", _i64), ("active_ns", _i64),
                ("count", _u64)]


class tw_segment(ctypes.Structure):
    _fields_ = [("begin_ns", _i64), ("end_ns", _i64), ("value", _double)]


class tw_bin(ctypes.Structure):
    _fields_ = [("begin_ns", _i64), ("weight_ns", _i64), ("mean", _double), ("min", _double),
                ("max", _double)]


class tw_report_options(_Sized):
    _fields_ = [("struct_size", _u32), ("flags", _u32), ("counter_names", _pointer),
                ("counter_values", _pointer), ("counter_count", _u64)]


class ArrowArrayStream(ctypes.Structure):
    _fields_ = [("get_schema", _pointer), ("get_next", _pointer), ("get_last_error", _pointer),
                ("release", _pointer), ("private_data", _pointer)]


_tw_write_fn = ctypes.CFUNCTYPE(_i32, _pointer, _pointer, _size)

_FUNCTIONS = {
    "tw_version_string": (ctypes.c_char_p, []),
    "tw_strerror": (ctypes.c_char_p, [_i32]),
    "tw_status_name": (ctypes.c_char_p, [_i32]),
    "tw_rule_name": (ctypes.c_char_p, [_i32]),
    "tw_rule_text": (ctypes.c_char_p, [_i32]),
    "tw_field_name": (ctypes.c_char_p, [_i32]),
    "tw_recorder_new": (_i32, [_pointer, _pointer]),
    "tw_recorder_free": (None, [_pointer]),
    "tw_recorder_append": (_i32, [_pointer, _pointer, _size, _size, _u32, _pointer]),
    "tw_recorder_append_columns": (_i32, [_pointer, _pointer, _u32, _pointer]),
    "tw_recorder_append_arrow_stream": (_i32, [_pointer, _pointer, _u32, _pointer]),
    "tw_recorder_arrow_error": (ctypes.c_char_p, [_pointer]),
    "tw_recorder_reserve": (_i32, [_pointer, _u64]),
    "tw_recorder_clear": (None, [_pointer]),
    "tw_recorder_count": (_u64, [_pointer]),
    "tw_recorder_memory": (_u64, [_pointer]),
    "tw_recorder_set_clock": (_i32, [_pointer, _pointer]),
    "tw_recorder_balance": (_i32, [_pointer, _pointer]),
    "tw_recorder_last_error": (_i32, [_pointer, _pointer]),
    "tw_metric_count": (_size, []),
    "tw_metric_info": (_i32, [_size, _pointer]),
    "tw_analyze": (_i32, [_pointer, _pointer, _size, _pointer]),
    "tw_analysis_free": (None, [_pointer]),
    "tw_analysis_window": (_i32, [_pointer, _pointer, _i64, _i64]),
    "tw_analysis_bounds": (_i32, [_pointer, _pointer, _pointer]),
    "tw_analysis_balance": (_i32, [_pointer, _pointer]),
    "tw_analysis_summary": (_i32, [_pointer, _i32, _pointer]),
    "tw_analysis_quantiles": (_i32, [_pointer, _i32, _pointer, _pointer, _size]),
    "tw_analysis_curve": (_i32, [_pointer, _i32, _i64, _pointer, _size, _size, _pointer,
                                 _pointer]),
    "tw_analysis_series": (_i32, [_pointer, _i32, _i64, _i64, _pointer, _size, _size]),
    "tw_arrow_metrics": (_i32, [_pointer, _pointer]),
    "tw_arrow_curve": (_i32, [_pointer, _pointer, _i32]),
    "tw_arrow_series": (_i32, [_pointer, _pointer, _i32, _i64, _i64, _u64]),
    "tw_report_write": (_i32, [_pointer, _i32, _pointer, _tw_write_fn, _pointer]),
}


def _load():
    name = "libtimeweight.0.dylib" if sys.platform == "darwin" else "libtimeweight.so.0"
    library = ctypes.CDLL(os.environ.get("TIMEWEIGHT_LIBRARY", name))
    for function, (result, arguments) in _FUNCTIONS.items():
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


_lib = _load()
_ref = ctypes.byref


# ---------------------------------------------------------------- errors


class Error(Exception):
    """A call failed. `status` is the number and `name` its constant, such as TW_ERR_INVAL."""

    def __init__(self, status, message=None):
        self.status = status
        self.name = (_lib.tw_status_name(status) or b"").decode()
        super().__init__(message or _lib.tw_strerror(status).decode())


class RecordError(Error, ValueError):
    """A record was refused: which rule it breaks, in which row of the call, and with what.

    `rule` and `rule_name` say why, `field` names the member at fault, `row` and, for chunks,
    `index` where; `value_a` is its value, `value_b` what it was compared with."""

    def __init__(self, error):
        self.rule = error.rule
        self.rule_name = _lib.tw_rule_name(error.rule).decode()
        self.field = (_lib.tw_field_name(error.field) or b"record").decode()
        self.row, self.index = error.row, error.index
        self.value_a, self.value_b = error.value_a, error.value_b
        text = _lib.tw_rule_text(error.rule).decode()
        super().__init__(error.status, f"row {self.row}: {self.field} {text} [{self.rule_name}]")


def _check(status):
    if status != OK:
        raise Error(status)


# ---------------------------------------------------------------- recorder

_TIMES = ("credit_issued_ns", "start_ns", "generation_start_ns", "end_ns")
_TOKENS = ("input_tokens", "output_tokens")
_RECORD_SIZE = ctypes.sizeof(tw_record)
_PACK_RECORD = struct.Struct("@6q2PQiI").pack_into  # checks ranges, which ctypes does not

_DTYPES = {**dict.fromkeys(_TIMES + _TOKENS, np.int64), "status": np.int32,
           "record_flags": np.uint32}


def _integers(name, values, dtype):
    """The values as an array of dtype, without a copy where they are one already."""
    array = np.asanyarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name}: a column has one dimension, this has {array.ndim}")
    if array.dtype.kind in "mM":  # NaT is the least int64: not recorded
        unit = "timedelta64[ns]" if array.dtype.kind == "m" else "datetime64[ns]"
        array = array.astype(unit, copy=False).view(np.int64)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name}: integers are needed, not {array.dtype}")
    if not np.can_cast(array.dtype, dtype):
        limits = np.iinfo(dtype)
        recorded = np.ma.compressed(array)
        if recorded.size and (int(recorded.min()) < limits.min
                              or int(recorded.max()) > limits.max):
            raise OverflowError(f"{name}: a value is beyond {limits.dtype}")
    return array.astype(dtype, copy=False)


def _packed(name, values, dtype=np.int64):
    return np.ascontiguousarray(_integers(name, values, dtype))


def _int64(name, value):
    """The value, which ctypes would cut to 64 bits without a word."""
    value = operator.index(value)
    if not -(2**63) <= value < 2**63:
        raise OverflowError(f"{name}: beyond int64")
    return value


class _Handle:
    """Owns an object of the library: until close(), the end of a with block or collection."""

    def __init__(self, pointer, release):
        self._address = pointer
        self._finalizer = weakref.finalize(self, release, pointer)

    def close(self):
        """Releases the object; what is closed already stays closed."""
        self._address = None
        self._finalizer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def _open(self):
        if self._address is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._address


class Recorder(_Handle):
    """Keeps one record per request. One thread at a time writes to a recorder."""

    def __init__(self):
        pointer = _pointer()
        _check(_lib.tw_recorder_new(_ref(pointer), None))
        super().__init__(pointer.value, _lib.tw_recorder_free)
        self._record = tw_record()  # the one that append() fills
        self._record_ref = _ref(self._record)

    def append(self, start_ns, end_ns=None, *, generation_start_ns=None, credit_issued_ns=None,
               input_tokens=None, output_tokens=None, status=RECORD_OK, streaming=False,
               chunk_arrival_ns=None, chunk_tokens=None):
        """Appends one request. RecordError: nothing was stored."""
        arrivals = counts = None
        if chunk_arrival_ns is not None:
            arrivals = _packed("chunk_arrival_ns", chunk_arrival_ns)
        if chunk_tokens is not None:
            counts = _packed("chunk_tokens", chunk_tokens)
            if arrivals is None or len(counts) != len(arrivals):
                raise ValueError("chunk_tokens: as many as chunk_arrival_ns are needed")
        try:
            _PACK_RECORD(
                self._record, 0,
                TIME_NONE if credit_issued_ns is None else credit_issued_ns,
                start_ns,
                TIME_NONE if generation_start_ns is None else generation_start_ns,
                TIME_NONE if end_ns is None else end_ns,
                TOKENS_NONE if input_tokens is None else input_tokens,
                TOKENS_NONE if output_tokens is None else output_tokens,
                0 if arrivals is None else arrivals.ctypes.data,
                0 if counts is None else counts.ctypes.data,
                0 if arrivals is None else len(arrivals),
                status,
                RECORD_STREAMING if streaming else 0,
            )
        except struct.error as error:
            raise ValueError(f"times and tokens are integers of 64 bits: {error}") from None
        result = _lib.tw_recorder_append(self._open, self._record_ref, 1, _RECORD_SIZE, 0, None)
        if result != OK:
            self._fail(result)

    def append_columns(self, *, skip_invalid=False, chunk_offsets=None, chunk_arrival_ns=None,
                       chunk_tokens=None, **columns):
        """Appends many requests in one call and returns how many were stored.

        Columns are named like the parameters of append() (with record_flags for streaming):
        arrays of integers or datetime64, strided or not; masked values are "not recorded".
        Arrays of int64 are read where they lie. Row i has the chunks from chunk_offsets[i] up
        to chunk_offsets[i + 1] of chunk_arrival_ns and chunk_tokens. With skip_invalid bad rows
        are left out and counted in balance(); without it the call is all or nothing."""
        table = tw_columns()
        alive = []  # what the pointers lead to

        for name, values in columns.items():
            if name not in _DTYPES:
                raise TypeError(f"there is no column {name}")
            if values is None:
                continue
            array = _integers(name, values, _DTYPES[name])
            if alive and len(array) != table.count:
                raise ValueError(f"{name}: {len(array)} rows, other columns have {table.count}")
            table.count = len(array)
            column = getattr(table, name)
            mask = np.ma.getmaskarray(array) if np.ma.isMaskedArray(array) else None
            if mask is not None and mask.any():
                valid = np.ascontiguousarray(~mask, dtype=np.uint8)
                column.validity = valid.ctypes.data
                alive.append(valid)
            array = np.asarray(array)
            if array.strides[0] < array.itemsize:  # reversed, or one value for all
                array = np.ascontiguousarray(array)
            column.values, column.stride = array.ctypes.data, array.strides[0]
            alive.append(array)

        if chunk_offsets is not None:
            offsets = _packed("chunk_offsets", chunk_offsets, np.uint64)
            if len(offsets) != table.count + 1:
                raise ValueError(f"chunk_offsets: {table.count + 1} are needed")
            table.chunk_offsets = offsets.ctypes.data
            alive.append(offsets)
        if chunk_arrival_ns is not None:
            arrivals = _packed("chunk_arrival_ns", chunk_arrival_ns)
            table.chunk_arrival_ns = arrivals.ctypes.data
            table.chunk_value_count = len(arrivals)
            alive.append(arrivals)
        if chunk_tokens is not None:
            counts = _packed("chunk_tokens", chunk_tokens)
            if len(counts) != table.chunk_value_count:
                raise ValueError("chunk_tokens: as many as chunk_arrival_ns are needed")
            table.chunk_tokens = counts.ctypes.data
            alive.append(counts)

        accepted = _size()
        result = _lib.tw_recorder_append_columns(
            self._open, _ref(table), _SKIP_INVALID if skip_invalid else 0, _ref(accepted))
        if result != OK:
            self._fail(result)
        return accepted.value

    def append_arrow(self, data, *, skip_invalid=False):
        """Appends a table of Arrow: whatever has __arrow_c_stream__, such as a pyarrow Table, a
        polars DataFrame or a DuckDB relation, with columns named as in append(). Returns how
        many rows were stored; otherwise as append_columns()."""
        recorder = self._open
        capsule = data.__arrow_c_stream__()
        stream = _pointer_of(capsule, _STREAM)
        accepted = _size()
        result = _lib.tw_recorder_append_arrow_stream(
            recorder, stream, _SKIP_INVALID if skip_invalid else 0, _ref(accepted))
        if result != OK:
            self._fail(result, _lib.tw_recorder_arrow_error(recorder).decode(errors="replace"))
        return accepted.value

    def reserve(self, records):
        """Makes room for that many more records now."""
        _check(_lib.tw_recorder_reserve(self._open, _int64("records", records)))

    def clear(self):
        """Forgets all records. No analyze() of this recorder may be running."""
        _lib.tw_recorder_clear(self._open)

    def set_clock(self, offset_ns):
        """What to add to this recorder's times when an analysis begins."""
        clock = tw_clock(offset_ns=_int64("offset_ns", offset_ns))
        _check(_lib.tw_recorder_set_clock(self._open, _ref(clock)))

    def balance(self):
        """Where every record went: see Balance."""
        return _balance(_lib.tw_recorder_balance, self._open)

    def memory(self):
        """Bytes that the recorder holds."""
        return _lib.tw_recorder_memory(self._open)

    def __len__(self):
        return _lib.tw_recorder_count(self._open)

    def _fail(self, status, words=None):
        error = tw_error()
        _check(_lib.tw_recorder_last_error(self._open, _ref(error)))
        if error.status == status and error.rule:
            raise RecordError(error)
        raise Error(status, words)


Balance = namedtuple("Balance", [name for name, _ in tw_balance._fields_[2:]])
Balance.__doc__ = "Counts of records; refused_by_rule is a dict of the rules that were broken."


def _balance(function, pointer):
    counts = tw_balance()
    _check(function(pointer, _ref(counts)))
    values = {name: getattr(counts, name) for name in Balance._fields}
    values["refused_by_rule"] = {_lib.tw_rule_name(rule).decode(): count
                                 for rule, count in enumerate(counts.refused_by_rule) if count}
    return Balance(**values)


# ---------------------------------------------------------------- Arrow

_STREAM = b"arrow_array_stream"

_get_pointer = ("PyCapsule_GetPointer", ctypes.pythonapi)
_pointer_of = ctypes.PYFUNCTYPE(_pointer, ctypes.py_object, ctypes.c_char_p)(_get_pointer)
_pointer_of_dying = ctypes.PYFUNCTYPE(_pointer, _pointer, ctypes.c_char_p)(_get_pointer)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, _pointer, ctypes.c_char_p, _pointer)(
    ("PyCapsule_New", ctypes.pythonapi))

_given = {}  # by their addresses: streams whose capsules are alive


@ctypes.PYFUNCTYPE(None, _pointer)
def _forget_capsule(capsule):
    stream = _given.pop(_pointer_of_dying(capsule, _STREAM))
    if stream.release:  # nobody has taken it over
        ctypes.CFUNCTYPE(None, _pointer)(stream.release)(ctypes.addressof(stream))


class ArrowStream:
    """A result for engines that speak Arrow: pyarrow.table(result), polars.DataFrame(result)."""

    def __init__(self, analysis, function, *arguments):
        self._make = lambda stream: function(stream, analysis._open, *arguments)
        self.__arrow_c_stream__()  # fails now rather than in the engine

    def __arrow_c_stream__(self, requested_schema=None):
        stream = ArrowArrayStream()
        _check(self._make(_ref(stream)))
        _given[ctypes.addressof(stream)] = stream
        return _new_capsule(ctypes.addressof(stream), _STREAM,
                            ctypes.cast(_forget_capsule, _pointer))


# ---------------------------------------------------------------- the registry

Metric = namedtuple("Metric", "id group kind mask better tag header unit description")
Metric.__doc__ = "A row of the registry: see tw_metric_row."


def _registry():
    for index in range(_lib.tw_metric_count()):
        row = tw_metric_row()
        _check(_lib.tw_metric_info(index, _ref(row)))
        values = (getattr(row, name) for name in Metric._fields)
        yield Metric(*(v.decode() if isinstance(v, bytes) else v for v in values))


METRICS = tuple(_registry())  # in the order of a report
_IDS = {metric.tag: metric.id for metric in METRICS}


def _metric_id(metric):
    if isinstance(metric, Metric):
        return metric.id
    if metric not in _IDS:
        raise KeyError(f"there is no metric {metric!r}")
    return _IDS[metric]


# ---------------------------------------------------------------- analysis

Summary = namedtuple("Summary", "avg min max std sum weight_ns active_ns count")
Summary.__doc__ = "One metric in numbers, in its unit; what it does not have is None."


def analyze(recorders, *, begin_ns=None, end_ns=None, quantiles=()):
    """Analyses a recorder, or several of them as one run.

    The window's edges are those of the run where they are not given. `quantiles` are to be at
    hand beside the standard ones."""
    if isinstance(recorders, Recorder):
        recorders = [recorders]
    pointers = (_pointer * len(recorders))(*(recorder._open for recorder in recorders))
    q = np.ascontiguousarray(quantiles, dtype=np.float64)
    options = tw_options(quantiles=q.ctypes.data, quantile_count=q.size)
    if begin_ns is not None:
        options.flags |= _WINDOW_BEGIN
        options.window_begin_ns = _int64("begin_ns", begin_ns)
    if end_ns is not None:
        options.flags |= _WINDOW_END
        options.window_end_ns = _int64("end_ns", end_ns)
    pointer = _pointer()
    _check(_lib.tw_analyze(_ref(pointer), pointers, len(recorders), _ref(options)))
    return Analysis(pointer.value)


class Analysis(_Handle):
    """An immutable result of analyze(). Any thread may ask it; metrics are named by tag or by a
    row of METRICS."""

    def __init__(self, pointer):
        super().__init__(pointer, _lib.tw_analysis_free)

    def summary(self, metric):
        """The metric's Summary, or None if it was not measured in this run."""
        summary = tw_summary()
        status = _lib.tw_analysis_summary(self._open, _metric_id(metric), _ref(summary))
        if status == ERR_NODATA:
            return None
        _check(status)
        return Summary(*(getattr(summary, name) if summary.fields >> bit & 1 else None
                         for bit, name in enumerate(Summary._fields)))

    def summaries(self):
        """Yields (Metric, Summary) of all that was measured, in the order of a report."""
        for metric in METRICS:
            summary = self.summary(metric)
            if summary is not None:
                yield metric, summary

    def quantiles(self, metric, q):
        """An array of the metric's quantiles, or None if it was not measured in this run."""
        q = np.ascontiguousarray(q, dtype=np.float64)
        values = np.empty(q.shape)
        status = _lib.tw_analysis_quantiles(self._open, _metric_id(metric), q.ctypes.data,
                                            values.ctypes.data, q.size)
        if status == ERR_NODATA:
            return None
        _check(status)
        return values

    def window(self, begin_ns, end_ns):
        """Another window of the same records, as an Analysis of its own."""
        pointer = _pointer()
        _check(_lib.tw_analysis_window(_ref(pointer), self._open, _int64("begin_ns", begin_ns),
                                       _int64("end_ns", end_ns)))
        return Analysis(pointer.value)

    def bounds(self):
        """(begin_ns, end_ns) of the window."""
        begin, end = _i64(), _i64()
        _check(_lib.tw_analysis_bounds(self._open, _ref(begin), _ref(end)))
        return begin.value, end.value

    def balance(self):
        """Where every record went, with the window's members: see Balance."""
        return _balance(_lib.tw_analysis_balance, self._open)

    def curve(self, metric):
        """The metric's curve as an array of (begin_ns, end_ns, value), or None."""
        pages, written, next_ns = [], _size(), _i64()
        from_ns, end_ns = self.bounds()
        while True:
            page = np.zeros(_PAGE, np.dtype(tw_segment))
            status = _lib.tw_analysis_curve(
                self._open, _metric_id(metric), from_ns, page.ctypes.data, _PAGE,
                page.itemsize, _ref(written), _ref(next_ns))
            if status == ERR_NODATA:
                return None
            _check(status)
            pages.append(page[:written.value])
            from_ns = next_ns.value
            if from_ns == end_ns:
                return np.concatenate(pages)

    def series(self, metric, begin_ns, width_ns, count):
        """The metric's curve in `count` bins: an array of (begin_ns, weight_ns, mean, min, max),
        or None."""
        bins = np.zeros(count, np.dtype(tw_bin))
        status = _lib.tw_analysis_series(
            self._open, _metric_id(metric), _int64("begin_ns", begin_ns),
            _int64("width_ns", width_ns), bins.ctypes.data, count, bins.itemsize)
        if status == ERR_NODATA:
            return None
        _check(status)
        return bins

    def arrow_metrics(self):
        """All that was measured as an ArrowStream: a row per metric."""
        return ArrowStream(self, _lib.tw_arrow_metrics)

    def arrow_curve(self, metric):
        """curve() as an ArrowStream; Error (TW_ERR_NODATA) if it was not measured."""
        return ArrowStream(self, _lib.tw_arrow_curve, _metric_id(metric))

    def arrow_series(self, metric, begin_ns, width_ns, count):
        """series() as an ArrowStream; Error (TW_ERR_NODATA) if it was not measured."""
        return ArrowStream(self, _lib.tw_arrow_series, _metric_id(metric),
                           _int64("begin_ns", begin_ns), _int64("width_ns", width_ns), count)

    def report(self, form="text", counters=None):
        """The whole report as a string: "text", "csv" or "json", with counters of your own."""
        counters = counters or {}
        names = (ctypes.c_char_p * len(counters))(*(name.encode() for name in counters))
        values = (_u64 * len(counters))(*counters.values())
        options = tw_report_options(
            counter_names=ctypes.cast(names, _pointer).value,
            counter_values=ctypes.cast(values, _pointer).value, counter_count=len(counters))
        pieces = []

        @_tw_write_fn
        def write(_, data, length):
            pieces.append(ctypes.string_at(data, length))
            return 0

        _check(_lib.tw_report_write(self._open, _FORMATS[form], _ref(options), write, None))
        return b"".join(pieces).decode()


def version():
    """The version of the library that runs, such as "0.1.0"."""
    return _lib.tw_version_string().decode()
