"""Read GOAL schedules in the binary form that LogGOPSim runs. Numbers are little-endian, without padding.

    u64 magic 4223   u32 ranks   u8 highest cpu   u8 highest nic
    per rank:  u64 begin, u64 end of its part, counted after the magic
    part:      u32 nodes   u32 roots   u32 number of each root (a node without dependencies)
               per node: u32 dependencies, u8 type, u32 peer, u64 size, u32 tag, u8 cpu, u8 nic,
                         u32 count and u32 place of the nodes that need its end,
                         u32 count and u32 place of those that need its beginning
               u32 numbers of nodes, which these places count

The layout is that of `serialize_mmap` in LogGOPSim's Parser.hpp.
"""

from __future__ import annotations

import struct
from os import PathLike
from pathlib import Path
from typing import NoReturn

from scalatrace.convert.schedules.goal_text import MAX_RANKS
from scalatrace.convert.schedules.model import ANY, OperationKind, OperationSchedule, ScheduledOperation
from scalatrace.errors import FormatError

__all__ = ["GOAL_MAGICS", "read_goal_binary"]

_MAGIC, _SPENT_MAGIC = struct.pack("<Q", 4223), struct.pack("<Q", 2342)

GOAL_MAGICS = (_MAGIC, _SPENT_MAGIC)
"""First bytes of a schedule, and of one that LogGOPSim has changed while it ran."""

_ANY32 = (1 << 32) - 1
_NODE = struct.Struct("<IBIQIBBIIII")
_KINDS = {kind.value: kind for kind in (OperationKind.SEND, OperationKind.RECV, OperationKind.CALC)}


def read_goal_binary(path: str | PathLike[str]) -> OperationSchedule:
    """Read a schedule. Raises FormatError."""
    data = Path(path).read_bytes()
    if data[:8] == _SPENT_MAGIC:
        raise FormatError(
            "LogGOPSim has changed this file while it ran; run txt2bin on the text form again", path
        )
    if data[:8] != _MAGIC:
        raise FormatError("no GOAL schedule: the file does not begin with its magic", path, 0)
    return _BinaryReader(data, path).read()


class _BinaryReader:
    def __init__(self, data: bytes, path: str | PathLike[str]) -> None:
        self._data, self._path, self._nranks = data, path, 0

    def read(self) -> OperationSchedule:
        self._nranks = self._numbers("<I", 8)[0]
        if not 1 <= self._nranks <= MAX_RANKS:
            self._fail(f"it claims {self._nranks} ranks, expected 1 to {MAX_RANKS}", 8)
        bounds = self._numbers(f"<{2 * self._nranks}Q", 14)
        ranks = [self._rank(8 + bounds[2 * rank], 8 + bounds[2 * rank + 1]) for rank in range(self._nranks)]
        return OperationSchedule(ranks, [self._path], is_text=False)

    def _rank(self, begin: int, end: int) -> list[ScheduledOperation]:
        nnodes, nroots = self._numbers("<II", begin)
        first = begin + 8 + 4 * nroots
        appendix = first + _NODE.size * nnodes
        if not appendix <= end <= len(self._data):
            self._fail(f"{nnodes} operations do not fit into the part of the rank", begin)
        numbers = self._numbers(f"<{(end - appendix) // 4}I", appendix)
        operations: list[ScheduledOperation] = []
        edges: list[tuple[int, int, int, int]] = []
        for number in range(nnodes):
            at = first + _NODE.size * number
            _, kind, peer, size, tag, cpu, _, *needed = _NODE.unpack_from(self._data, at)
            operations.append(self._operation(kind, peer, size, tag, cpu, at))
            edges.append((needed[0], needed[1], needed[2], needed[3]))
        for number, (nended, ended, nbegun, begun) in enumerate(edges):
            for count, place, by_end in ((nended, ended, True), (nbegun, begun, False)):
                later = numbers[place : place + count]
                if len(later) != count or any(other >= nnodes for other in later):
                    self._fail("it lists dependencies that are not there", operations[number].place)
                for other in later:
                    (operations[other].ended if by_end else operations[other].begun).append(number)
        return operations

    def _operation(self, kind: int, peer: int, size: int, tag: int, cpu: int, at: int) -> ScheduledOperation:
        if kind not in _KINDS:
            self._fail(f"operations have the types 1 to 3, not {kind}", at)
        if kind == OperationKind.CALC:
            return ScheduledOperation(OperationKind.CALC, size, place=at, cpu=cpu)
        receives = kind == OperationKind.RECV
        peer, tag = (ANY if receives and value == _ANY32 else value for value in (peer, tag))
        if peer >= self._nranks:
            self._fail(f"rank {peer} is not one of {self._nranks} ranks", at)
        return ScheduledOperation(_KINDS[kind], size, peer, tag, at, cpu)

    def _numbers(self, layout: str, at: int) -> tuple[int, ...]:
        if at + struct.calcsize(layout) > len(self._data):
            self._fail("the file ends too early", min(at, len(self._data)))
        return struct.unpack_from(layout, self._data, at)

    def _fail(self, reason: str, at: int) -> NoReturn:
        raise FormatError(reason, self._path, at)
