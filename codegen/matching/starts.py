"""Name the sender of each start of a persistent receive from any source.

The call that makes the request has one source, and each start may get a message of another sender. Where they
differ, the source stays open, and Start and Startall get two more parameters: arrays of world ranks and of
tags, with an entry for each request that they start. It is open for a request that is no such receive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from scalatrace.codegen.matching.alignment.packing import Row, gathered, row
from scalatrace.codegen.matching.execution.mailbox import Repeated, Slot, Starts
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.tables import IntArray, Kind, Op
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import STARTED_SOURCES, STARTED_TAGS, STARTING
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.vec import ANY_SOURCE, ANY_TAG, Vec

__all__ = ["Items", "with_senders_of_starts"]

Items = list[Slot | Starts | Repeated]


def with_senders_of_starts(
    trace: Trace, starts: list[tuple[Event, Mapping[int, Items]]]
) -> tuple[Trace, dict[int, Event]]:
    """Return the trace with the tables that starts need, and id of a start -> the start with its senders.

    Args:
        starts: nodes of Start and Startall, and of each rank what its requests get.
    """
    if not any(_differs(items) for _, rows in starts for items in rows.values()):
        return trace, {}
    more = ((STARTED_SOURCES, Kind.ARRAY), (STARTED_TAGS, Kind.ARRAY))
    ops = [Op(op.name, (*op.params, *more)) if op.name in STARTING else op for op in trace.ops]
    arrays = _Arrays(list(trace.arrays))
    result = {
        id(event): replace(
            event, params=(*event.params, *(gathered(column) for column in arrays.columns(rows)))
        )
        for event, rows in starts
    }
    return replace(trace, ops=ops, arrays=arrays.table), result


def _differs(items: Items) -> bool:
    return any(
        slot is not None and slot.request is not None and slot.request.differs
        for start in _starts(items)
        for slot in start.slots
    )


def _starts(items: Items) -> Iterator[Starts]:
    for item in items:
        if isinstance(item, Starts):
            yield item
        elif isinstance(item, Repeated):
            yield from _starts(list(item.slots))


class _Arrays:
    """The table of arrays, to which those of starts are added once each."""

    def __init__(self, table: list[IntArray]) -> None:
        self.table = table
        self._numbers: dict[tuple[int, ...], int] = {}

    def columns(self, rows: Mapping[int, Items]) -> Iterator[dict[int, Row]]:
        """Yield sources and tags of each rank's starts, as indices of arrays."""
        yield {rank: row(items, self._sources) for rank, items in rows.items()}
        yield {rank: row(items, self._tags) for rank, items in rows.items()}

    def _sources(self, start: Starts) -> int:
        return self._number(
            tuple(ANY_SOURCE if slot is None or slot.source is None else slot.source for slot in start.slots)
        )

    def _tags(self, start: Starts) -> int:
        return self._number(tuple(ANY_TAG if slot is None else slot.tag for slot in start.slots))

    def _number(self, values: tuple[int, ...]) -> int:
        if values not in self._numbers:
            self._numbers[values] = len(self.table)
            self.table.append(IntArray(len(values), Vec(compress(values))))
        return self._numbers[values]
