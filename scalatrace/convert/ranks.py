"""Compress the calls of one rank after the other, and merge them into one trace file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from os import PathLike
from typing import Any
from zlib import crc32

from scalatrace.core.binding import COMM_NULL, COMM_SELF, COMM_WORLD, Core, family
from scalatrace.operations import communicates, is_collective, may_overlap
from scalatrace.trace.model.tables import Datatype, Kind
from scalatrace.trace.values.vec import INT64, SPECIAL_MAX

__all__ = ["CallError", "RankCalls", "write_trace"]

FIRST_NAMED = 1 << 20
"""Ordinals of communicators whose making is not among the calls begin here."""

MAX_NAMED_SIDES = 4
"""Sides of a grid that an error names."""

MAX_TIME_NS = float(1 << 63)

_PREDEFINED = {"world": COMM_WORLD, "self": COMM_SELF, "null": COMM_NULL}


class CallError(Exception):
    """A call that no trace can have: parameter, value and reason. Converters add the file and the place."""


@dataclass(frozen=True)
class _Comm:
    """A communicator of the rank: the name of its family, own rank, number of peers."""

    name: int
    own: int
    size: int


class RankCalls:
    """Appends the calls of one rank to a compressor."""

    def __init__(self, rank: int, nprocs: int, stats: Sequence[str] = ()) -> None:
        self.rank, self.core = rank, Core(rank, nprocs)
        self.core.set_option("threads", 1)
        self.core.define_comm(COMM_WORLD, 0, "world", range(nprocs))
        for stat in stats:
            self.core.define_stat(stat)
        self._ops: dict[tuple[str, tuple[tuple[str, Kind], ...]], int] = {}
        self._comms: dict[object, _Comm] = {"world": _Comm(COMM_WORLD, rank, nprocs)}
        self._made: dict[int, int] = {}

    def append(
        self,
        op: str,
        params: Sequence[tuple[str, Kind, Any]],
        frames: Sequence[str] = (),
        stats: Sequence[float] = (),
        thread: int = 0,
    ) -> None:
        """Append a call.

        Args:
            params: name, kind and value; a communicator is a key of `comm`, a datatype a `Datatype`, arrays
                and strings are themselves.
            frames: of the call site, innermost first.
            thread: that made it.

        Raises:
            CallError: a value takes more than 64 bits, a peer or root is not in the communicator, or a
                process grid has more ranks than it.
        """
        schema = tuple((name, kind) for name, kind, _ in params)
        op_number = self._ops.get((op, schema))
        if op_number is None:
            kinds = [(name, int(kind)) for name, kind in schema]
            op_number = self.core.define_op(op, kinds, communicates(op), is_collective(op), may_overlap(op))
            self._ops[op, schema] = op_number
        signature = self.core.define_signature(frames) if frames else 0
        at = next((value for _, kind, value in params if kind is Kind.COMM), "world")
        comm = self._comms.get(at) or self._comms["world"]
        for name, kind, value in params:
            _check_value(name, kind, value, comm.size if at in self._comms else None)
        if any(ns >= MAX_TIME_NS for ns in stats):
            raise CallError(f"its time of {max(stats):.4g} ns is not below 2^63 ns")
        values = [self._store_value(kind, value) for _, kind, value in params]
        self.core.append(op_number, values, signature, comm.own, comm.size, stats, thread)

    def comm(
        self,
        key: object,
        kind: str,
        members: Sequence[int],
        parent: object = "world",
        remote: Sequence[int] | None = None,
        ordinal: int | None = None,
    ) -> None:
        """Define a communicator of this rank, unless it is known.

        Args:
            key: how calls name it.
            ordinal: number of the call on the parent that makes it, the same on all members; None: not known.
        """
        if key in self._comms:
            return
        own_rank = members.index(self.rank) if self.rank in members else -1
        size = len(members if remote is None else remote)
        if kind in _PREDEFINED:
            self._comms[key] = _Comm(_PREDEFINED[kind], max(own_rank, 0), max(size, 1))
            return
        above = self._comms[parent].name if parent in self._comms else COMM_WORLD
        if ordinal is None:
            ordinal = FIRST_NAMED + crc32(repr((kind, tuple(members), remote)).encode())
        name = family(above, ordinal)
        self.core.define_comm(name, above, kind, members, remote)
        self._comms[key] = _Comm(name, max(own_rank, 0), max(size, 1))

    def next_ordinal(self, parent: object) -> int:
        """Return the number of the next call that makes communicators from a parent."""
        name = self._comms[parent].name
        self._made[name] = self._made.get(name, -1) + 1
        return self._made[name]

    def _store_value(self, kind: Kind, value: Any) -> int:
        if isinstance(value, Datatype):
            return int(self.core.define_type(value.description, value.size, value.extent))
        if kind is Kind.COMM and value in self._comms:
            return self._comms[value].name
        if kind is Kind.ARRAY and not isinstance(value, int):
            return int(self.core.array(value))
        return int(self.core.string(value)) if isinstance(value, str) else int(value)


def _check_value(name: str, kind: Kind, value: Any, size: int | None) -> None:
    """Check a parameter on a communicator of `size` ranks; None: it is not known. Raises CallError."""
    if kind is Kind.COMM:
        return
    if isinstance(value, int):
        if value not in INT64:
            raise CallError(f"its {name} {value} takes more than 64 bits")
        has_rank = kind is Kind.PEER or (name == "root" and kind is Kind.INT)
        if has_rank and size is not None and value >= SPECIAL_MAX and not 0 <= value < size:
            raise CallError(f"its {name} {value} is none of the ranks 0 to {size - 1} of its communicator")
    elif kind is Kind.ARRAY and value:
        if min(value) not in INT64 or max(value) not in INT64:
            raise CallError(f"a value of its {name} takes more than 64 bits")
        if name == "dims" and size is not None and (min(value) < 1 or prod(value) > size):
            sides = "x".join(map(str, value[:MAX_NAMED_SIDES]))
            raise CallError(f"its {name} {sides:.60} are no grid within the {size} ranks of its communicator")


def write_trace(
    ranks: Iterable[int],
    record: Callable[[int], RankCalls],
    path: str | PathLike[str],
    meta: Mapping[str, str],
) -> None:
    """Record each rank, merge neighbours as in a reduction, and write the trace.

    Args:
        ranks: all ranks, ascending.
        record: gives the calls of a rank.
        meta: entries of the header.
    """
    waiting: list[tuple[int, Core]] = []  # sizes of groups of ranks, each less than the one before
    try:
        for rank in ranks:
            core, size = record(rank).core, 1
            core.finish()
            while waiting and waiting[-1][0] == size:
                core, size = _merge_halves(waiting.pop()[1], core), 2 * size
            waiting.append((size, core))
        while len(waiting) > 1:
            (_, last), (size, before) = waiting.pop(), waiting.pop()
            waiting.append((size, _merge_halves(before, last)))
        core = waiting[0][1]
        for key, value in meta.items():
            core.set_meta(key, value)
        core.write(path)
    finally:
        for _, core in waiting:
            core.close()


def _merge_halves(lower: Core, upper: Core) -> Core:
    lower.merge_core(upper)
    upper.close()
    return lower
