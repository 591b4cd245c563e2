"""Write the senders that an execution found into the receives from any source, and into starts.

The call that makes a persistent request has one source, and each start may get a message of another sender.
Where they differ, the source stays open, and Start and Startall get two more parameters: arrays of world
ranks and of tags, with an entry for each request that they start. It is open for a request that is no such
receive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from scalatrace.codegen.matching.alignment.packing import PackedRow, gather_rows, pack_peers
from scalatrace.errors import FormatError
from scalatrace.executor.matching import MatchedNode, SlotState
from scalatrace.trace.model.elastic import Columns, Groups, Value
from scalatrace.trace.model.nodes import Event, Peer
from scalatrace.trace.model.tables import Communicator, IntArray, Kind, Op
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import STARTED_SOURCES, STARTED_TAGS, STARTING
from scalatrace.trace.query.walk import calls
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, PROC_NULL, Vec

__all__ = ["Matches", "is_open", "name_starts", "resolve_event"]

Rows: TypeAlias = dict[int, MatchedNode]
"""What a node matched, by rank."""

Matches: TypeAlias = dict[int, Rows]
"""Id of an event node -> what it matched."""


class Slot(NamedTuple):
    """What a receive got: see `MatchedNode.slots`."""

    source: int
    tag: int
    family: int
    state: int


def row(matched: MatchedNode, value: Callable[[Slot, int], int]) -> PackedRow:
    """Return the values of slots, given with the number of their execution.

    What is repeated swallows what it repeats before it.
    """
    slots = [Slot(*slot) for slot in matched.slots.tolist()]
    cells: list[Any] = []
    at, skipped = 0, 0
    for first, last, times in [*matched.repeats.tolist(), (len(slots), len(slots), 0)]:
        cells += [value(slot, i + skipped) for i, slot in enumerate(slots[at:last], at)]
        at = last
        inner, skipped = cells[len(cells) - (last - first) :], skipped + times * (last - first)
        while inner and cells[-len(inner) :] == inner:
            del cells[-len(inner) :]
            times += 1
        if inner:
            cells.append((times, 0, *inner))
    return tuple(cells)


def name_starts(trace: Trace, starts: Collection[Event], matches: Matches) -> tuple[Trace, dict[int, Event]]:
    """Return the trace with the tables that starts need, and id of a start -> the start with its senders.

    Starts stay as they are where all of each request have one sender.

    Args:
        starts: nodes of Start and Startall.
    """
    slots = (matched.slots for rows in matches.values() for matched in rows.values())
    if not any((states[:, 3] == SlotState.DIFFERS).any() for states in slots):
        return trace, {}
    more = ((STARTED_SOURCES, Kind.ARRAY), (STARTED_TAGS, Kind.ARRAY))
    ops = [Op(op.name, (*op.params, *more)) if op.name in STARTING else op for op in trace.ops]
    arrays = _StartArrays(list(trace.arrays))
    result = {
        id(event): replace(
            event,
            params=(*event.params, *(gather_rows(column) for column in arrays.columns(matches[id(event)]))),
        )
        for event in starts
    }
    return replace(trace, ops=ops, arrays=arrays.table), result


class _StartArrays:
    """The table of arrays, to which those of starts are added once each."""

    def __init__(self, table: list[IntArray]) -> None:
        self.table = table
        self._numbers: dict[tuple[int, ...], int] = {}

    def columns(self, rows: Rows) -> Iterator[dict[int, PackedRow]]:
        """Yield sources and tags of each rank's starts, as indices of arrays."""
        for column, nothing in ((0, ANY_SOURCE), (1, ANY_TAG)):
            yield {rank: self._row(matched, column, nothing) for rank, matched in rows.items()}

    def _row(self, matched: MatchedNode, column: int, nothing: int) -> PackedRow:
        """Return the arrays of a rank's starts: of each, the entries that follow it."""
        slots = matched.slots
        begins = np.flatnonzero(slots[:, 3] == SlotState.STARTED)
        numbers = np.zeros((len(begins), 4), dtype=np.int64)
        for i, begin in enumerate(begins.tolist()):
            started = slots[begin + 1 : begin + 1 + int(slots[begin, 0])]
            filled = (started[:, 3] == SlotState.FILLED) | (started[:, 3] == SlotState.DIFFERS)
            numbers[i, 0] = self._number(tuple(np.where(filled, started[:, column], nothing).tolist()))
        repeats = matched.repeats.copy()
        repeats[:, :2] = np.searchsorted(begins, repeats[:, :2])
        return row(MatchedNode(numbers, repeats), lambda slot, _: slot.source)

    def _number(self, values: tuple[int, ...]) -> int:
        if values not in self._numbers:
            self._numbers[values] = len(self.table)
            self.table.append(IntArray(len(values), Vec(compress(values))))
        return self._numbers[values]


def resolve_event(trace: Trace, event: Event, rows: Rows) -> Event:
    """Return a receive or probe with the sources and tags that its executions matched."""
    op, params = trace.ops[event.op], list(event.params)
    at = op.index("source")
    if at is not None and rows and (is_open(event, at) or _is_cancelled(rows)):
        peers = {rank: row(matched, _Peers(trace, event, rank, at)) for rank, matched in rows.items()}
        params[at] = pack_peers(peers, {rank: _place(trace, rank, matched) for rank, matched in rows.items()})
    at = op.index("recvtag" if op.index("recvtag") is not None else "tag")
    if at is not None and is_open(event, at) and rows:
        tags = {rank: row(matched, _ReceivedTags(trace, event, rank, at)) for rank, matched in rows.items()}
        params[at] = gather_rows(tags)
    return replace(event, params=tuple(params))


def _is_cancelled(rows: Rows) -> bool:
    return any(
        (matched.slots[:, 0][matched.slots[:, 3] == SlotState.FILLED] == PROC_NULL).any()
        for matched in rows.values()
    )


def _communicator(trace: Trace, family: int, rank: int) -> Communicator | None:
    """Return a rank's communicator of a family; None where it is in none."""
    try:
        return trace.communicator(family, rank)
    except FormatError:
        return None


def _place(trace: Trace, rank: int, matched: MatchedNode) -> tuple[int, int] | None:
    """Return the receiver's number in the communicator and that one's size; None when there are several."""
    families = set(matched.slots[:, 2].tolist())
    if len(families) != 1 or (comm := _communicator(trace, families.pop(), rank)) is None:
        return None
    return comm.rank, max(len(comm.peers), 1)


class _RecordedParameter:
    """What a receive named in its executions, for those that no message or several ones filled."""

    def __init__(self, trace: Trace, event: Event, rank: int, at: int) -> None:
        self._calls, self._known = calls(trace, event, rank), list[int]()
        self.at = at

    def value(self, number: int) -> int:
        """Return the parameter of an execution."""
        while len(self._known) <= number:
            self._known.append(next(self._calls).values[self.at])
        return self._known[number]


class _ReceivedTags(_RecordedParameter):
    def __call__(self, slot: Slot, number: int) -> int:
        """Return the tag that an execution names in the end."""
        return slot.tag if slot.state == SlotState.FILLED else self.value(number)


class _Peers(_RecordedParameter):
    """Senders as numbers in communicators."""

    def __init__(self, trace: Trace, event: Event, rank: int, at: int) -> None:
        super().__init__(trace, event, rank, at)
        self._trace, self._rank = trace, rank
        self._numbers: dict[int, dict[int, int]] = {}

    def __call__(self, slot: Slot, number: int) -> int:
        """Return the sender that an execution names in the end."""
        if slot.state != SlotState.FILLED:
            return self.value(number)
        if slot.source == PROC_NULL:
            return PROC_NULL
        if slot.family not in self._numbers:
            comm = self._trace.communicator(slot.family, self._rank)
            self._numbers[slot.family] = {world: i for i, world in enumerate(comm.peers)}
        return self._numbers[slot.family][slot.source]


def is_open(event: Event, at: int) -> bool:
    """Return whether a parameter of any rank is MPI_ANY_SOURCE or MPI_ANY_TAG."""
    param = event.params[at]
    value = param.value if isinstance(param, Peer) else param
    return any(_mentions(vec.terms) for vec in _vecs(value))


def _vecs(value: Value) -> list[Vec]:
    if isinstance(value, Groups):
        return [vec for _, vec in value.groups]
    return [value.vec] if isinstance(value, Columns) else [value] if isinstance(value, Vec) else []


def _mentions(terms: object) -> bool:
    if isinstance(terms, tuple):
        return any(map(_mentions, terms))
    return terms in (ANY_SOURCE, ANY_TAG)
