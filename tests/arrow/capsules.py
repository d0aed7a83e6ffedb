# SPDX-License-Identifier: MIT
"""Arrow's C structs in ctypes, and what goes between them and Python's capsules."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p

RELEASE = CFUNCTYPE(None, c_void_p)


class Schema(Structure):
    _fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p),
                ("flags", c_int64), ("n_children", c_int64), ("children", c_void_p),
                ("dictionary", c_void_p), ("release", c_void_p), ("private_data", c_void_p)]


class Array(Structure):
    _fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64),
                ("n_buffers", c_int64), ("n_children", c_int64), ("buffers", c_void_p),
                ("children", c_void_p), ("dictionary", c_void_p), ("release", c_void_p),
                ("private_data", c_void_p)]


class Stream(Structure):
    _fields_ = [("get_schema", CFUNCTYPE(c_int, c_void_p, POINTER(Schema))),
                ("get_next", CFUNCTYPE(c_int, c_void_p, POINTER(Array))),
                ("get_last_error", CFUNCTYPE(c_char_p, c_void_p)), ("release", c_void_p),
                ("private_data", c_void_p)]


def release(struct):
    """Releases a schema, an array or a stream, unless it was or is another's by now."""
    if struct.release:
        RELEASE(struct.release)(ctypes.addressof(struct))
    assert not struct.release, "it was not marked as released"


_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, c_char_p]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]


def struct_of(capsule, kind, name):
    """The struct in a capsule; it lives as long as the capsule."""
    return kind.from_address(_api.PyCapsule_GetPointer(capsule, name))


class Producer:
    """An object that any engine can read: `make` fills in a stream each time it is asked."""

    def __init__(self, make):
        self.make = make
        self.streams = []

    def __arrow_c_stream__(self, requested_schema=None):
        stream = Stream()
        self.make(stream)
        self.streams.append(stream)
        return _api.PyCapsule_New(ctypes.addressof(stream), b"arrow_array_stream", None)

    def close(self):
        for stream in self.streams:
            release(stream)
