"""Header and tables of a trace, with the look-ups that turn a call's stored integers into objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Self, TypeVar

from scalatrace.errors import FormatError
from scalatrace.trace.model.callsite import Stack
from scalatrace.trace.model.tables import (
    Communicator,
    Datatype,
    Family,
    IntArray,
    LargeLayout,
    Layout,
    Op,
    RecordedStat,
    layout_of,
)
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["LOAD_STEPS", "OLD_LOAD_STEPS", "START", "TraceHeader", "TraceTables"]

T = TypeVar("T")

START = (-1, 0)
"""Entry 0 of the predecessor table: the start of the program."""

LOAD_STEPS = 16
"""Steps of `Trace.load` in a factor of two."""

OLD_LOAD_STEPS = 4
"""Those of files that do not say how many."""


@dataclass(kw_only=True)
class TraceHeader:
    """What a trace has whether or not its sizes are bound.

    Attributes:
        meta: "program", "mpi", "date", "options", ...
        ops: the operations with their parameters.
        stats: the statistics.
    """

    meta: dict[str, str] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    stats: list[RecordedStat] = field(default_factory=list)

    def rename_frames(self, name: Callable[[str], str]) -> Self:
        """Return the trace with other texts of its frames."""
        raise NotImplementedError

    @cached_property
    def stat_index(self) -> dict[str, int]:
        """Statistic name -> index into `stats`."""
        return {stat.name: i for i, stat in enumerate(self.stats)}


@dataclass
class TraceTables(TraceHeader):
    """Header and tables of a trace of one size; see docs/reference/format.md for each field.

    Attributes:
        nprocs: ranks of the run.
        ranks: the ranks that are in the trace; all of them unless given.
        ops, stats, frames, signatures, comms, types, strings, arrays, preds: the tables that nodes index.
        counts: operation name -> calls that were counted but not recorded.
    """

    nprocs: int
    _: KW_ONLY
    ranks: RankList = field(default_factory=RankList)
    frames: list[str] = field(default_factory=list)
    signatures: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    comms: list[Family] = field(default_factory=list)
    types: list[Datatype] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    arrays: list[IntArray] = field(default_factory=list)
    preds: list[tuple[int, int]] = field(default_factory=lambda: [START])
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.ranks):
            self.ranks = RankList.all(self.nprocs)
        if not self.comms:
            world = Vec(((self.nprocs, 1, 0),)) if self.nprocs > 1 else Vec((0,))
            empty = Vec(())
            self.comms = [
                Family("world", -1, Vec(self.nprocs), world),
                Family("self", -1, empty, empty),
                Family("null", -1, empty, empty),
            ]
        self._layouts: dict[int, Layout | LargeLayout] = {}
        self._communicators: dict[tuple[int, int], Communicator] = {}
        self._arrays: dict[tuple[int, int], tuple[int, ...]] = {}

    def communicator(self, family: int, rank: int) -> Communicator:
        """Return the communicator of a family that a world rank is in.

        Raises:
            FormatError: there is no such family, or the rank is in none of its communicators.
        """
        result = self._communicators.get((family, rank))
        if result is None:
            result = self._communicators[family, rank] = self._communicator(family, rank)
        return result

    def _communicator(self, family: int, rank: int) -> Communicator:
        kind = _entry(self.comms, family, "communicator").kind
        if kind == "self" and self.comms[family].members.terms == ():
            return Communicator(family, kind, (rank,), 0)
        if kind == "null" and self.comms[family].members.terms == ():
            return Communicator(family, kind, (), -1)
        instance = self.layout(family).of(rank)
        if instance is None:
            raise FormatError(f"rank {rank} is in no communicator of family {family}")
        members, position, remote = instance
        return Communicator(family, kind, members, position, remote)

    def layout(self, family: int) -> Layout | LargeLayout:
        """Return the instances of a family. Raises FormatError if its description contradicts itself."""
        if family not in self._layouts:
            try:
                self._layouts[family] = layout_of(_entry(self.comms, family, "communicator"), self.nprocs)
            except ValueError as error:
                raise FormatError(f"{error} (family {family})") from None
        return self._layouts[family]

    def is_world(self, family: int) -> bool:
        """Return whether the communicator of a family has all ranks of the run, in any order.

        Raises FormatError when there is no such family or its description contradicts itself.
        """
        if family == 0:
            return True
        entry = _entry(self.comms, family, "communicator")
        low = entry.members.smallest()
        if entry.kind in ("self", "null") or entry.remote_members is not None or low is None or low < 0:
            return False  # a negative member is a process of another run
        return self.layout(family).sizes == [self.nprocs]

    def datatype(self, index: int) -> Datatype:
        """Return an entry of `types`. Raises FormatError if it is missing."""
        return _entry(self.types, index, "datatype")

    def string(self, index: int) -> str:
        """Return an entry of `strings`. Raises FormatError if it is missing."""
        return _entry(self.strings, index, "string")

    def array(self, index: int, rank: int = 0) -> tuple[int, ...]:
        """Return the values of an entry of `arrays` for a caller with this rank in the call's communicator.

        Raises FormatError when there is none.
        """
        array = self.stored_array(index)
        key = index, rank if array.relative else 0
        if key not in self._arrays:
            self._arrays[key] = array.of(rank)
        return self._arrays[key]

    def stored_array(self, index: int) -> IntArray:
        """Return an entry of `arrays`. Raises FormatError if it is missing."""
        return _entry(self.arrays, index, "array")

    def stack(self, signature: int) -> Stack:
        """Return the frames of a stack signature, innermost first; equal stacks are one object."""
        return self.stacks[signature]

    @cached_property
    def stacks(self) -> list[Stack]:
        """`signatures` with their frames' texts."""
        return [tuple(self.frames[frame] for frame in frames) for frames in self.signatures]

    @cached_property
    def pred_index(self) -> dict[tuple[int, int], int]:
        """(op, signature) -> index into `preds`."""
        return {pair: i for i, pair in enumerate(self.preds)}


def _entry(table: list[T], index: int, name: str) -> T:
    if not 0 <= index < len(table):
        raise FormatError(f"there is no {name} {index}: the table has {len(table)}")
    return table[index]
