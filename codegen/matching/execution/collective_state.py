"""Pending collective operations: the ranks that entered, and the ranks that may leave."""

from __future__ import annotations

from collections import Counter

from scalatrace.codegen.matching.execution.mailbox import MailItem
from scalatrace.codegen.matching.execution.match_actions import CollectiveCall, Finish
from scalatrace.trace.model.nodes import Event

__all__ = ["CollectiveMismatchError", "CollectivePart", "CollectiveState"]

Stream = tuple[object, ...]
CollectiveKey = tuple[Stream, int]
"""The n-th operation of a stream."""


class CollectiveMismatchError(Exception):
    """Two ranks call different collective operations where MPI requires the same one."""

    def __init__(self, first: CollectivePart, second: CollectivePart) -> None:
        self.first, self.second = first, second


class CollectivePart(MailItem):
    """One rank's part in a collective operation."""

    __slots__ = ("collective", "event", "key", "rank")

    def __init__(self, rank: int, collective: CollectiveCall, key: CollectiveKey, event: Event) -> None:
        super().__init__()
        self.rank, self.collective, self.key, self.event = rank, collective, key, event


class CollectiveState:
    """Operations that some ranks entered and others did not. `strict`: each rank waits for all."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._entry_counts: Counter[tuple[int, Stream]] = Counter()
        self.open: dict[CollectiveKey, dict[int, CollectivePart]] = {}

    def next_key(self, rank: int, stream: Stream) -> CollectiveKey:
        """Return the operation of a stream that a rank enters next."""
        n = self._entry_counts[rank, stream]
        self._entry_counts[rank, stream] = n + 1
        return stream, n

    def enter(self, part: CollectivePart) -> list[CollectivePart]:
        """Enter a rank; return the parts that this completes. Raises CollectiveMismatchError."""
        parts = self.open.setdefault(part.key, {})
        first = next(iter(parts.values()), part)
        if first.collective.op != part.collective.op:
            raise CollectiveMismatchError(first, part)
        parts[part.rank] = part
        if len(parts) == len(part.collective.members):
            del self.open[part.key]
            return [part for part in parts.values() if not part.done]
        return [] if self._strict else _find_released(part, parts)

    def missing(self, part: CollectivePart) -> tuple[int, ...]:
        """Return the ranks that did not enter yet."""
        there = self.open.get(part.key, {})
        absent = tuple(rank for rank in part.collective.members if rank not in there)
        if not self._strict and part.collective.finish is Finish.ROOT:
            return (part.collective.root,)
        return absent

    def state(self) -> tuple[object, ...]:
        """Return the open operations, numbered relative to each other: later ones can equal earlier ones."""
        first: dict[Stream, int] = {}
        for stream, n in self.open:
            first[stream] = min(n, first.get(stream, n))
        open_parts = [(repr(s), n - first[s], tuple(sorted(parts))) for (s, n), parts in self.open.items()]
        return tuple(sorted(open_parts))


def _find_released(comer: CollectivePart, there: dict[int, CollectivePart]) -> list[CollectivePart]:
    """Return the parts that an entering rank completes although others are missing."""
    collective = comer.collective
    if collective.finish is Finish.ROOT:
        if comer.rank == collective.root:
            return [part for part in there.values() if not part.done]
        return [comer] if collective.root in there else []
    return [comer] if collective.finish is Finish.AT_ROOT and comer.rank != collective.root else []
