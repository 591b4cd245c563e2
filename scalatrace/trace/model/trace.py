"""The trace: header, tables and one tree of nodes. The only thing handed from tool to tool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from scalatrace.errors import FormatError, UsageError
from scalatrace.trace.model.callsite import Stack
from scalatrace.trace.model.nodes import Event, Node, Sequence, events
from scalatrace.trace.model.tables import (
    Communicator,
    Datatype,
    Family,
    IntArray,
    LargeLayout,
    Layout,
    Op,
    Stat,
    layout_of,
)
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    import numpy as np

    from scalatrace.trace.query.walk import Call

__all__ = ["LOAD_STEPS", "NO_PRED", "START", "Trace"]

T = TypeVar("T")

START = (-1, 0)
"""Entry 0 of the predecessor table: the start of the program."""

LOAD_STEPS = 4
"""Steps of `Trace.load` in a factor of two."""

NO_PRED = -1
"""Predecessor index of a (op, signature) pair that is in no table: no statistics were kept for it."""


@dataclass
class Trace:
    """A recorded run of an MPI program; see docs/format.md for each field.

    Attributes:
        nprocs: ranks of the run.
        ranks: the ranks that are in the trace; all of them unless given.
        meta: "program", "mpi", "date", "options", ...
        ops, stats, frames, signatures, comms, types, strings, arrays, preds: the tables that nodes index.
        counts: operation name -> calls that were counted but not recorded.
        load: per statistic None or a vec over `ranks` of round(4 log2(total of the rank / mean total)).
        nodes: the root nodes; their content is met once.
    """

    nprocs: int
    nodes: list[Node] = field(default_factory=list)
    ranks: RankList = field(default_factory=RankList)
    meta: dict[str, str] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    stats: list[Stat] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    signatures: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    comms: list[Family] = field(default_factory=list)
    types: list[Datatype] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    arrays: list[IntArray] = field(default_factory=list)
    preds: list[tuple[int, int]] = field(default_factory=lambda: [START])
    counts: dict[str, int] = field(default_factory=dict)
    load: list[Vec | None] = field(default_factory=list)

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
        self._participants: dict[int, RankList] = {}
        self._in_table: list[Node] = []  # keeps the nodes of the table, hence their ids

    def walk(self, rank: int) -> Iterator[Call]:
        """The calls of a world rank, one after the other, from the compressed form.

        Raises:
            UsageError: the rank is not in the trace.
            FormatError: while iterating, when the trace contradicts itself.
        """
        from scalatrace.trace.query.walk import walk

        self._known(rank)
        return walk(self, rank)

    def nevents(self, rank: int | None = None) -> int:
        """Number of calls of a rank, or of all ranks, without walking.

        Raises:
            UsageError: there are very many ranks, and how often each calls is told by formulas.
        """
        from scalatrace.trace.query import counting

        if rank is None:
            return counting.nevents(self)
        self._known(rank)
        return sum(n for _, n in counting.executions_of(self, rank))

    def counted(self) -> int | None:
        """Number of calls of all ranks; None where `nevents` refuses to count them, or takes long."""
        from scalatrace.trace.query import counting

        try:
            return None if counting.takes_long(self.nodes) else self.nevents()
        except UsageError:
            return None

    @property
    def nnodes(self) -> int:
        """Number of nodes in the tree."""
        return sum(_size(node) for node in self.nodes)

    def leaves(self) -> Iterator[Event]:
        """The event nodes, in order."""
        return events(self.nodes)

    def participants(self, node: Node) -> RankList:
        """The ranks that take part in a node of this trace.

        Raises:
            UsageError: the node is not in this trace (nodes are told apart by identity).
        """
        from scalatrace.trace.query import counting

        found = self._participants.get(id(node))
        if found is None:  # nodes are immutable: other ones are in no table yet
            self._participants, self._in_table = counting.participants(self), list(self.nodes)
            found = self._participants.get(id(node))
        if found is None:
            raise UsageError("the node is not in this trace")
        return found

    def matrix(self, what: str = "bytes") -> np.ndarray[Any, Any]:
        """What each rank (row) sent to each rank (column) point to point; see `trace.query.matrix`."""
        from scalatrace.trace.query.matrix import matrix

        return matrix(self, what)

    def communicator(self, family: int, rank: int) -> Communicator:
        """The communicator of a family that a world rank is in.

        Raises:
            FormatError: there is no such family, or the rank is in none of its communicators.
        """
        found = self._communicators.get((family, rank))
        if found is None:
            found = self._communicators[family, rank] = self._communicator(family, rank)
        return found

    def _communicator(self, family: int, rank: int) -> Communicator:
        kind = _entry(self.comms, family, "communicator").kind
        if kind == "self" and self.comms[family].members.terms == ():
            return Communicator(family, kind, (rank,), 0)
        if kind == "null" and self.comms[family].members.terms == ():
            return Communicator(family, kind, (), -1)
        found = self.layout(family).of(rank)
        if found is None:
            raise FormatError(f"rank {rank} is in no communicator of family {family}")
        members, position, remote = found
        return Communicator(family, kind, members, position, remote)

    def layout(self, family: int) -> Layout | LargeLayout:
        """The instances of a family. Raises FormatError when its description contradicts itself."""
        if family not in self._layouts:
            try:
                self._layouts[family] = layout_of(_entry(self.comms, family, "communicator"), self.nprocs)
            except ValueError as error:
                raise FormatError(f"{error} (family {family})") from None
        return self._layouts[family]

    def datatype(self, index: int) -> Datatype:
        """An entry of `types`. Raises FormatError when there is none."""
        return _entry(self.types, index, "datatype")

    def string(self, index: int) -> str:
        """An entry of `strings`. Raises FormatError when there is none."""
        return _entry(self.strings, index, "string")

    def array(self, index: int, own: int = 0) -> tuple[int, ...]:
        """The values of an entry of `arrays` for a caller with this rank in the call's communicator.

        Raises FormatError when there is none.
        """
        array = _entry(self.arrays, index, "array")
        key = index, own if array.relative else 0
        if key not in self._arrays:
            self._arrays[key] = array.of(own)
        return self._arrays[key]

    def stack(self, signature: int) -> Stack:
        """The frames of a stack signature, innermost first; interned, so equal stacks are one object."""
        return self.stacks[signature]

    @cached_property
    def stacks(self) -> list[Stack]:
        """`signatures` with their frames' texts."""
        return [tuple(self.frames[frame] for frame in frames) for frames in self.signatures]

    @cached_property
    def pred_index(self) -> dict[tuple[int, int], int]:
        """(op, signature) -> index into `preds`."""
        return {pair: i for i, pair in enumerate(self.preds)}

    @cached_property
    def stat_index(self) -> dict[str, int]:
        """Statistic name -> index into `stats`."""
        return {stat.name: i for i, stat in enumerate(self.stats)}

    def has_load(self, stat: str) -> bool:
        """Whether the trace stores each rank's share of the total of a statistic."""
        return self._load(stat) is not None

    def _load(self, stat: str) -> Vec | None:
        index = self.stat_index.get(stat)
        return self.load[index] if index is not None and index < len(self.load) else None

    def load_factor(self, stat: str, rank: int) -> float:
        """The rank's total of a statistic over the mean total of the ranks; 1.0 where none was kept."""
        vec = self._load(stat)
        return 1.0 if vec is None else float(2.0 ** (vec[self.ranks.index(rank)] / LOAD_STEPS))

    def _known(self, rank: int) -> None:
        if rank not in self.ranks:
            raise UsageError(f"rank {rank} is not in the trace: it has {self.ranks} of {self.nprocs} ranks")


def _size(node: Node) -> int:
    return 1 + sum(_size(child) for child in node.nodes) if isinstance(node, Sequence) else 1


def _entry(table: list[T], index: int, what: str) -> T:
    if not 0 <= index < len(table):
        raise FormatError(f"there is no {what} {index}: the table has {len(table)}")
    return table[index]
