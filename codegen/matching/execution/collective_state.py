"""Collective operations under way: who has come, and who may go."""

from __future__ import annotations

from collections import Counter

from scalatrace.codegen.matching.execution.mailbox import Item
from scalatrace.codegen.matching.execution.match_actions import Finish, Meeting
from scalatrace.trace.model.nodes import Event

__all__ = ["Meetings", "MismatchError", "Part"]

Stream = tuple[object, ...]
Key = tuple[Stream, int]
"""The n-th operation of a stream."""


class MismatchError(Exception):
    """Two ranks make different collective calls where MPI wants one."""

    def __init__(self, first: Part, second: Part) -> None:
        self.first, self.second = first, second


class Part(Item):
    """One rank's part in a collective operation."""

    __slots__ = ("event", "key", "meeting", "rank")

    def __init__(self, rank: int, meeting: Meeting, key: Key, event: Event) -> None:
        super().__init__()
        self.rank, self.meeting, self.key, self.event = rank, meeting, key, event


class Meetings:
    """All operations that some ranks have come to and others not. `strict`: everybody waits for everybody."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._met: Counter[tuple[int, Stream]] = Counter()
        self.open: dict[Key, dict[int, Part]] = {}

    def next_key(self, rank: int, stream: Stream) -> Key:
        """Which operation of a stream a rank comes to next."""
        n = self._met[rank, stream]
        self._met[rank, stream] = n + 1
        return stream, n

    def come(self, part: Part) -> list[Part]:
        """A rank comes; the parts that are done thereby. Raises MismatchError."""
        parts = self.open.setdefault(part.key, {})
        first = next(iter(parts.values()), part)
        if first.meeting.op != part.meeting.op:
            raise MismatchError(first, part)
        parts[part.rank] = part
        if len(parts) == len(part.meeting.members):
            del self.open[part.key]
            return [part for part in parts.values() if not part.done]
        return [] if self._strict else _released(part, parts)

    def missing(self, part: Part) -> tuple[int, ...]:
        """Who has not come yet."""
        there = self.open.get(part.key, {})
        absent = tuple(rank for rank in part.meeting.members if rank not in there)
        if not self._strict and part.meeting.finish is Finish.ROOT:
            return (part.meeting.root,)
        return absent

    def state(self) -> tuple[object, ...]:
        """The open operations, named relative to each other: later ones can be equal to earlier ones."""
        first: dict[Stream, int] = {}
        for stream, n in self.open:
            first[stream] = min(n, first.get(stream, n))
        found = [(repr(s), n - first[s], tuple(sorted(parts))) for (s, n), parts in self.open.items()]
        return tuple(sorted(found))


def _released(comer: Part, there: dict[int, Part]) -> list[Part]:
    """Who is done before all have come, now that one more has: whoever has all data it needs."""
    meeting = comer.meeting
    if meeting.finish is Finish.ROOT:
        if comer.rank == meeting.root:
            return [part for part in there.values() if not part.done]
        return [comer] if meeting.root in there else []
    return [comer] if meeting.finish is Finish.AT_ROOT and comer.rank != meeting.root else []
