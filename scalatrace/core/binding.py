"""ctypes binding of the native core (include/st_core.h). One `Core` is one rank's compressor.

The recorder does not come by here: its shim calls the library directly. This serves tools that
compress calls or merge parts, and tests that drive the compressor without MPI.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import cache
from os import PathLike, fsencode, fspath
from pathlib import Path
from typing import Any

from scalatrace.errors import CoreError, FormatError, ScalatraceError, UsageError

__all__ = ["COMM_NULL", "COMM_SELF", "COMM_WORLD", "Core", "family", "library", "library_path"]

MAX_VALUES = 24
MAX_STATS = 16

COMM_WORLD, COMM_SELF, COMM_NULL = 1, 2, 3

E_MEMORY, E_IO, E_FORMAT, E_USAGE = -1, -2, -3, -4


class StEvent(ctypes.Structure):
    """struct st_event."""

    _fields_ = (
        ("op", c_uint32),
        ("self", c_int32),
        ("size", c_int32),
        ("nvalues", c_uint32),
        ("thread", c_uint32),
        ("signature", c_uint64),
        ("values", c_int64 * MAX_VALUES),
        ("stats", c_double * MAX_STATS),
    )


_INT64_P, _STRINGS = POINTER(c_int64), POINTER(c_char_p)

_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "st_core_new": (c_void_p, (c_int, c_int)),
    "st_core_free": (None, (c_void_p,)),
    "st_core_error": (c_char_p, (c_void_p,)),
    "st_define_op": (c_int, (c_void_p, c_char_p, c_int, _STRINGS, POINTER(c_int))),
    "st_set_communicating": (c_int, (c_void_p, c_int)),
    "st_set_collective": (c_int, (c_void_p, c_int)),
    "st_set_overlapping": (c_int, (c_void_p, c_int)),
    "st_core_end_use": (c_int, (c_void_p, c_uint32, c_int64)),
    "st_core_use": (c_int, (c_void_p, c_uint32, c_int64, c_uint32, c_int)),
    "st_define_stat": (c_int, (c_void_p, c_char_p, c_double)),
    "st_array": (c_uint64, (c_void_p, _INT64_P, c_size_t)),
    "st_string": (c_uint64, (c_void_p, c_char_p, c_size_t)),
    "st_define_type": (c_uint64, (c_void_p, c_char_p, c_int64, c_int64)),
    "st_define_comm": (
        c_int,
        (c_void_p, c_uint64, c_uint64, c_char_p, _INT64_P, c_size_t, _INT64_P, c_size_t),
    ),
    "st_set_policy": (c_int, (c_void_p, c_char_p, c_int)),
    "st_set_option": (c_int, (c_void_p, c_char_p, c_int64)),
    "st_add_site_range": (c_int, (c_void_p, c_char_p, c_uint64, c_uint64)),
    "st_family": (c_uint64, (c_uint64, c_uint64)),
    "st_define_signature": (c_uint64, (c_void_p, _STRINGS, c_size_t)),
    "st_set_meta": (c_int, (c_void_p, c_char_p, c_char_p)),
    "st_set_count": (c_int, (c_void_p, c_char_p, c_uint64)),
    "st_core_append": (c_int, (c_void_p, POINTER(StEvent))),
    "st_flatlog_open": (c_int, (c_void_p, c_char_p)),
    "st_flatlog_close": (c_int, (c_void_p,)),
    "st_core_nevents": (c_uint64, (c_void_p,)),
    "st_core_nbytes": (c_uint64, (c_void_p,)),
    "st_core_finish": (c_int, (c_void_p,)),
    "st_core_pack": (c_int, (c_void_p, POINTER(c_void_p), POINTER(c_size_t))),
    "st_core_merge": (c_int, (c_void_p, c_void_p, c_size_t)),
    "st_free": (None, (c_void_p,)),
    "st_core_write": (c_int, (c_void_p, c_char_p, c_int)),
    "st_core_write_part": (c_int, (c_void_p, c_char_p)),
    "st_core_write_packed": (c_int, (c_void_p, c_char_p, c_size_t, c_char_p)),
    "st_core_read_part": (c_void_p, (c_char_p, c_char_p, c_size_t)),
    "st_format_version": (c_int, ()),
    "st_core_version": (c_char_p, ()),
}


def library_path() -> Path:
    """The core library: $SCALATRACE_CORE, or the one installed beside this file. It may not exist."""
    path = os.environ.get("SCALATRACE_CORE")
    return Path(path) if path else Path(__file__).with_name("libscalatrace_core.so")


@cache
def library() -> Any:
    """The loaded library with its functions' types. Raises CoreError when it cannot be loaded."""
    path = library_path()
    try:
        loaded = ctypes.CDLL(str(path))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise CoreError(f"cannot load the native core {path}: {error}") from None
    return loaded


def family(parent: int, ordinal: int) -> int:
    """Name of the family of communicators that the `ordinal`-th (from 0) call on `parent` makes."""
    return int(library().st_family(parent, ordinal))


class Core:
    """The compressor of one rank; a context manager that frees it.

    Methods raise UsageError, FormatError, CoreError or MemoryError as the library's error codes say.
    """

    def __init__(self, rank: int, nprocs: int) -> None:
        self._open(library().st_core_new(rank, nprocs))

    def _open(self, handle: int | None) -> None:
        if not handle:
            raise CoreError("the native core could not be made")
        self._lib, self._handle = library(), handle
        self._event = StEvent(size=1)

    @classmethod
    def read_part(cls, path: str | PathLike[str]) -> Core:
        """The core that a part file holds. Raises FormatError."""
        error = ctypes.create_string_buffer(512)
        handle = library().st_core_read_part(fsencode(path), error, len(error))
        if not handle:
            raise FormatError(error.value.decode(errors="replace").removeprefix(f"{fspath(path)}: "), path)
        self = cls.__new__(cls)
        self._open(handle)
        return self

    @property
    def _as_parameter_(self) -> int:
        """What ctypes hands to native code that takes an st_core *."""
        return self._handle

    def __enter__(self) -> Core:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the core; more than once does no harm."""
        if self._handle:
            self._lib.st_core_free(self._handle)
            self._handle = 0

    def _check_code(self, code: int) -> int:
        if code >= 0:
            return code
        reason = self._lib.st_core_error(self._handle).decode(errors="replace")
        if code == E_MEMORY:
            raise MemoryError(reason)
        if code == E_FORMAT:
            raise FormatError(reason)
        raise {E_IO: ScalatraceError, E_USAGE: UsageError}.get(code, CoreError)(reason)

    def define_op(
        self,
        name: str,
        params: Sequence[tuple[str, int]],
        communicates: bool = False,
        collective: bool = False,
        overlaps: bool = False,
    ) -> int:
        """Register an operation with its (parameter, kind) pairs; the number that `append` takes.

        Args:
            communicates: whether its calls end start-up, where their communicator has several ranks.
            collective: whether threads that make its calls on one communicator take turns.
            overlaps: whether threads may make its calls at the same time on one object.
        """
        names, kinds = _strings([name for name, _ in params]), (c_int * len(params))(*(k for _, k in params))
        op = self._check_code(self._lib.st_define_op(self._handle, _bytes(name), len(params), names, kinds))
        if communicates:
            self._check_code(self._lib.st_set_communicating(self._handle, op))
        if collective:
            self._check_code(self._lib.st_set_collective(self._handle, op))
        if overlaps:
            self._check_code(self._lib.st_set_overlapping(self._handle, op))
        return op

    def define_stat(self, name: str, resolution: float = 1.0) -> int:
        """Register a statistic; its index in the samples that `append` takes."""
        return self._check_code(self._lib.st_define_stat(self._handle, _bytes(name), resolution))

    def array(self, values: Sequence[int]) -> int:
        """Name of an array of integers."""
        return _to_signed(self._lib.st_array(self._handle, _int64s(values), len(values)))

    def string(self, text: str) -> int:
        """Name of a string."""
        raw = _bytes(text)
        return _to_signed(self._lib.st_string(self._handle, raw, len(raw)))

    def define_type(self, description: str, size: int, extent: int) -> int:
        """Name of a datatype."""
        return _to_signed(self._lib.st_define_type(self._handle, _bytes(description), size, extent))

    def set_policy(self, parameter: str, limit: int) -> None:
        """Say what is recorded of a parameter: 0 all, n > 0 a histogram past n terms, -1 nothing."""
        self._check_code(self._lib.st_set_policy(self._handle, _bytes(parameter), limit))

    def set_option(self, name: str, value: int) -> None:
        """Set an option before the first event.

        These are "signature_tolerance", "loop_alignment", "loop_agnostic", "fold_recursion" and "threads".
        """
        self._check_code(self._lib.st_set_option(self._handle, _bytes(name), value))

    def add_site_range(self, file: str, low: int, high: int) -> None:
        """Take the call sites of a file in these lines (native: offsets) for one."""
        self._check_code(self._lib.st_add_site_range(self._handle, _bytes(file), low, high))

    def define_comm(
        self, family: int, parent: int, kind: str, members: Sequence[int], remote: Sequence[int] | None = None
    ) -> None:
        """Define the communicator of a family that this rank is in."""
        far, nfar = (None, 0) if remote is None else (_int64s(remote), len(remote))
        mine = _int64s(members)
        self._check_code(
            self._lib.st_define_comm(
                self._handle, family, parent, _bytes(kind), mine, len(members), far, nfar
            )
        )

    def define_signature(self, frames: Sequence[str]) -> int:
        """Name of a stack signature; frames innermost first."""
        return int(self._lib.st_define_signature(self._handle, _strings(frames), len(frames)))

    def set_meta(self, key: str, value: str) -> None:
        """Set a header entry."""
        self._check_code(self._lib.st_set_meta(self._handle, _bytes(key), _bytes(value)))

    def set_count(self, op: str, ncalls: int) -> None:
        """Say how often an operation was called but not recorded."""
        self._check_code(self._lib.st_set_count(self._handle, _bytes(op), ncalls))

    def append(
        self,
        op: int,
        values: Sequence[int] = (),
        signature: int = 0,
        own: int = 0,
        size: int = 1,
        stats: Sequence[float] = (),
        thread: int = 0,
    ) -> None:
        """Append a call. `own`, `size`: the caller's rank in, and the size of, the call's communicator.

        Statistics that are not given have no sample. `thread`: of the rank, see `st_event`.
        """
        event, n = self._event, len(values)
        event.thread = thread
        event.op, event.self, event.size, event.nvalues, event.signature = op, own, size, n, signature
        event.values[:n] = [_to_signed(value) for value in values]
        event.stats[:] = [*stats, *[float("nan")] * (MAX_STATS - len(stats))]
        self._check_code(self._lib.st_core_append(self._handle, ctypes.byref(event)))

    def use_request(self, creator: int, ordinal: int, thread: int, overlaps: bool = False) -> None:
        """Note that a thread uses a persistent request, the `ordinal`-th one of thread `creator`."""
        self._check_code(self._lib.st_core_use(self._handle, creator, ordinal, thread, int(overlaps)))

    def end_request(self, creator: int, ordinal: int) -> None:
        """Note that a persistent request is freed."""
        self._check_code(self._lib.st_core_end_use(self._handle, creator, ordinal))

    def flatlog_open(self, path: str | PathLike[str]) -> None:
        """Write each call appended from now on to a flat log."""
        self._check_code(self._lib.st_flatlog_open(self._handle, fsencode(path)))

    def flatlog_close(self) -> None:
        """End the flat log."""
        self._check_code(self._lib.st_flatlog_close(self._handle))

    @property
    def nevents(self) -> int:
        """Calls appended so far."""
        return int(self._lib.st_core_nevents(self._handle))

    @property
    def nbytes(self) -> int:
        """Bytes of heap the core holds, roughly."""
        return int(self._lib.st_core_nbytes(self._handle))

    def finish(self) -> None:
        """Close all open loops."""
        self._check_code(self._lib.st_core_finish(self._handle))

    def pack(self) -> bytes:
        """The finished core as bytes for another core's `merge`."""
        data, n = self._pack_core()
        try:
            return ctypes.string_at(data, n.value) if data.value else b""
        finally:
            self._lib.st_free(data)

    def _pack_core(self) -> tuple[c_void_p, c_size_t]:
        """The same in memory that is to be freed."""
        data, n = c_void_p(), c_size_t()
        self._check_code(self._lib.st_core_pack(self._handle, ctypes.byref(data), ctypes.byref(n)))
        return data, n

    def merge(self, packed: bytes) -> None:
        """Take in another rank's (or subtree's) packed core; lowest ranks first."""
        self._check_code(self._lib.st_core_merge(self._handle, packed, len(packed)))

    def merge_core(self, other: Core) -> int:
        """Do the same with a core of this process; the bytes of its message."""
        data, n = other._pack_core()
        try:
            self._check_code(self._lib.st_core_merge(self._handle, data, n))
        finally:
            self._lib.st_free(data)
        return n.value

    def write(self, path: str | PathLike[str], compress: bool = True) -> None:
        """Write the trace file."""
        self._check_code(self._lib.st_core_write(self._handle, fsencode(path), int(compress)))

    def write_part(self, path: str | PathLike[str]) -> None:
        """Write a part file, for `read_part`."""
        self._check_code(self._lib.st_core_write_part(self._handle, fsencode(path)))

    def write_packed(self, packed: bytes, path: str | PathLike[str]) -> None:
        """Write what `pack` returned as a part file."""
        self._check_code(self._lib.st_core_write_packed(self._handle, packed, len(packed), fsencode(path)))


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _strings(texts: Sequence[str]) -> Any:
    return (c_char_p * len(texts))(*map(_bytes, texts))


def _int64s(values: Sequence[int]) -> Any:
    return (c_int64 * len(values))(*values)


def _to_signed(name: int) -> int:
    """A 64-bit name as the int64 that an event's values hold."""
    return name - (1 << 64) if name >= 1 << 63 else name
