"""Read the binary file of one rank of a DUMPI trace. All numbers are big-endian.

    8 bytes   ff aa dd 'D' 'U' 'M' 'P' 'I'
    body      u32, u32 seconds that times of the CPU and of the clock count from; then records
    header    u8 u8 u8 version, ...
    sizes     u32 count, u32 bytes of each datatype (since 0.6.6; may be missing)
    index     the same 8 bytes, then u64 offsets of: sizes, addresses, counters, header, body, footer,
              keyvals; the first three were added one after the other, so the index may be shorter

    record    u16 function   u8 mask: 1|2 statuses, 4 time of the CPU, 8 of the clock, 64 thread, 128 counters
              u16 thread     times of entry and exit, CPU first: u16 seconds, u32 ns each
              u8 count and two u64 for each counter     arguments (layout.py)

The layout is documented in sst-dumpi's traceformat.dox; details are those of its io.c and iodefs.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from scalatrace.convert.dumpi.layout import END_OF_STREAM, RecordArgument, layouts
from scalatrace.errors import FormatError

__all__ = ["DumpiCall", "DumpiFile", "DumpiStatus"]

_MAGIC = b"\xff\xaa\xddDUMPI"
_SECTIONS = ("sizes", "addresses", "counters", "header", "body", "footer", "keyvals")
_STATUSES, _CPU_TIME, _CLOCK_TIME, _THREAD, _COUNTERS = 3, 4, 8, 64, 128
_TIMES = struct.Struct(">HIHI")
_BYTES = {"b": 1, "h": 2, "i": 4, "q": 8}
_NS = 1_000_000_000
_WRAP_S = 1 << 16
"""Seconds are stored in 16 bits: longer runs begin again at 0."""

_MAX_BACK_S = 3600
"""A call of another thread may have begun so long before the end of the call that was written before it."""


@dataclass(frozen=True, slots=True)
class DumpiStatus:
    """A status: bytes, source and tag of what was received."""

    nbytes: int
    source: int
    tag: int | None


@dataclass(slots=True)
class DumpiCall:
    """A call.

    Attributes:
        name: without `MPI_`; `Function_enter` and `Function_exit` are of the program's functions.
        arguments: by name; arrays are tuples.
        start_ns, end_ns: on a clock of the rank; None where no times were recorded.
        at: byte of its record.
    """

    name: str
    arguments: dict[str, Any]
    start_ns: int | None
    end_ns: int | None
    thread: int
    at: int


class DumpiFile:
    """The file of one rank; its header, tables and calls. Raises FormatError with the byte of the file.

    Attributes:
        version: of the DUMPI that wrote it.
        sizes: bytes of datatypes by their numbers; None where the file has none.
        functions: names of the program's functions by their addresses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data = path.read_bytes()
        if self._data[:8] != _MAGIC:
            raise FormatError("no DUMPI trace: the file does not begin with its magic", path, 0)
        self._offsets = self._read_index()
        self._at = self._offsets["header"]
        self.version = tuple(self._integer("B") for _ in range(3))
        self.sizes = self._read_sizes()
        self.functions = self._read_functions()

    def calls(self) -> Iterator[DumpiCall]:
        """Yield the calls, in the order in which they ended."""
        self._at = self._offsets["body"]
        self._integer("i")
        self._integer("i")
        table, clock_ns = layouts(), _Clock()
        while True:
            start = self._at
            number = self._integer("H")
            if number == END_OF_STREAM:
                return
            if number > END_OF_STREAM:
                raise FormatError(
                    f"functions have the numbers 0 to {END_OF_STREAM - 1}, not {number}", self.path, start
                )
            mask = self._integer("B")
            thread = self._integer("H") if mask & _THREAD else 0
            times = [self._times() for bit in (_CPU_TIME, _CLOCK_TIME) if mask & bit]
            if mask & _COUNTERS:
                self._take(16 * self._integer("B"))
            layout = table[number]
            arguments = self._arguments(layout.arguments, layout.codes, bool(mask & _STATUSES))
            begin_ns, end_ns = clock_ns.unwrap(times[-1]) if times else (None, None)
            yield DumpiCall(layout.name, arguments, begin_ns, end_ns, thread, start)

    def _arguments(
        self, layout: tuple[RecordArgument, ...], codes: str, has_statuses: bool
    ) -> dict[str, Any]:
        if codes:
            values = self._unpack(f">{codes}")
            return {
                argument.name: value for argument, value in zip(layout, values, strict=True) if argument.name
            }
        result: dict[str, Any] = {}
        for argument in layout:
            if argument.at_root and result.get("commrank", result.get("oldcommrank")) != result.get("root"):
                continue
            if argument.kind == "t":
                result[argument.name] = self._statuses() if has_statuses else ()
                continue
            depth = 0 if argument.since and self.version < argument.since else argument.depth
            result[argument.name] = self._values(argument.kind, depth)
        return result

    def _values(self, kind: str, depth: int) -> Any:
        if not depth:
            return (
                self._take(self._integer("i")).decode("utf-8", "replace")
                if kind == "s"
                else self._integer(kind)
            )
        count = self._integer("i")
        if count < 0 or count > len(self._data):
            raise FormatError(
                f"an array of {count} values does not fit into the file", self.path, self._at - 4
            )
        if depth == 1 and kind in _BYTES:
            return self._unpack(f">{count}{kind}")
        return tuple(self._values(kind, depth - 1) for _ in range(count))

    def _statuses(self) -> tuple[DumpiStatus, ...]:
        result = []
        has_tag = self.version >= (0, 6, 3)
        for _ in range(self._integer("i")):
            nbytes, source, _, _ = self._unpack(">iibb")
            result.append(DumpiStatus(nbytes, source, self._integer("i") if has_tag else None))
        return tuple(result)

    def _times(self) -> tuple[int, int, int, int]:
        begin_s, begin_ns, end_s, end_ns = _TIMES.unpack(self._take(_TIMES.size))
        return begin_s, begin_ns, end_s, end_ns

    def _read_index(self) -> dict[str, int]:
        for count in range(len(_SECTIONS), 3, -1):
            at = len(self._data) - 8 * (count + 1)
            if at >= 8 and self._data[at : at + 8] == _MAGIC:
                offsets = struct.unpack_from(f">{count}Q", self._data, at + 8)
                result = dict(zip(_SECTIONS[-count:], offsets, strict=True))
                for name, offset in result.items():
                    if offset >= len(self._data):
                        raise FormatError(
                            f"the section of {name} lies behind the end of the file", self.path, at
                        )
                if not result["header"] or not result["body"]:
                    raise FormatError("the file has no header or no calls", self.path, at)
                return result
        raise FormatError("the file ends without an index: it is cut off", self.path, len(self._data))

    def _read_sizes(self) -> tuple[int, ...] | None:
        if not self._offsets.get("sizes"):
            return None
        self._at = self._offsets["sizes"]
        return tuple(self._values("i", 1))

    def _read_functions(self) -> dict[int, str]:
        if not self._offsets.get("addresses"):
            return {}
        self._at = self._offsets["addresses"]
        result: dict[int, str] = {}
        for _ in range(self._integer("i")):
            address = self._integer("q")
            name = self._take(self._integer("H")).decode("utf-8", "replace")
            result[address] = f"{address:#x}" if name in ("", "<none>") else name
        return result

    def _unpack(self, codes: str) -> tuple[Any, ...]:
        layout = _struct(codes)
        at = self._at
        self._take(layout.size)
        return layout.unpack_from(self._data, at)

    def _integer(self, code: str) -> int:
        return int(self._unpack(f">{code}")[0])

    def _take(self, nbytes: int) -> bytes:
        at, self._at = self._at, self._at + nbytes
        if nbytes < 0 or self._at > len(self._data):
            raise FormatError("a record is longer than the file", self.path, at)
        return self._data[at : self._at]


@cache
def _struct(codes: str) -> struct.Struct:
    return struct.Struct(codes)


class _Clock:
    """Makes times of records, whose seconds have 16 bits, ascend."""

    def __init__(self) -> None:
        self._last_s = self._base_s = 0

    def unwrap(self, times: tuple[int, int, int, int]) -> tuple[int, int]:
        begin_s, begin_ns, end_s, end_ns = times
        return self._seconds(begin_s) * _NS + begin_ns, self._seconds(end_s) * _NS + end_ns

    def _seconds(self, seconds: int) -> int:
        if seconds < self._last_s - _MAX_BACK_S:
            self._base_s += _WRAP_S
        self._last_s = seconds
        return self._base_s + seconds
