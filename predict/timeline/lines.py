"""The lines of a time line: the calls of each rank, or of each of its threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from scalatrace.predict.lowering import (
    LoweredStep,
    LoweredStreams,
    RecvMessage,
    SendMessage,
    TraceLowering,
)
from scalatrace.predict.lowering.lower import RankLowering
from scalatrace.predict.timeline.needs import ChannelKey, Entered, NeededPart, RankParts
from scalatrace.trace.model.nodes import thread_of

__all__ = ["Line", "LineStep", "TimelineLines"]

Line = tuple[int, int]
"""World rank and thread."""

LineStep = tuple[LoweredStep, list[NeededPart | Entered]]
"""A call, with the beginnings and ends of its messages and collectives."""


class TimelineLines:
    """The lines of a lowered trace.

    Attributes:
        lines: rank by rank, and the threads of each that make calls.
        has_threads: whether ranks have several threads.
    """

    def __init__(self, lowering: TraceLowering) -> None:
        trace = lowering.trace
        self.lowering, self.has_threads = lowering, trace.has_streams
        threads = defaultdict[int, list[int]](lambda: [0])
        for node in trace.nodes:
            if number := thread_of(node):
                for rank in trace.participants(node):
                    threads[rank].append(number)
        self.lines: list[Line] = [(rank, thread) for rank in lowering.ranks for thread in threads[rank]]
        self._unordered: set[ChannelKey] = self._find_unordered() if self.has_threads else set()

    def is_ordered(self, key: ChannelKey) -> bool:
        """Return whether one thread sends and one receives the messages of a channel: they have an order."""
        return key not in self._unordered

    def steps(self) -> Iterator[tuple[int, Iterator[LineStep]]]:
        """Yield the number of the rank and the calls of each line."""
        number, streams = -1, None
        for rank, thread in self.lines:
            if not thread:
                number, streams = number + 1, self._streams(number + 1, rank) if self.has_threads else None
            yield number, self._plain(number, rank) if streams is None else streams.steps(thread)

    def of(self, rank: int, thread: int) -> Iterator[LineStep]:
        """Return the calls of one line."""
        number = list(self.lowering.ranks).index(rank)
        if self.has_threads:
            return self._streams(number, rank).steps(thread)
        return self._plain(number, rank)

    def _plain(self, number: int, rank: int) -> Iterator[LineStep]:
        parts = RankParts(number, by_family=False)
        for step in self.lowering.steps(rank):
            yield step, parts.of(step)

    def _streams(self, number: int, rank: int) -> LoweredStreams[LineStep]:
        parts = RankParts(number, by_family=True)
        lowerings: dict[int, RankLowering] = {}
        for own_rank, thread in self.lines:
            if own_rank == rank:
                lowerings[thread] = self.lowering.rank_lowering(lowerings.get(0))
        return LoweredStreams(
            self.lowering.trace,
            rank,
            lowerings,
            lambda step: (step, parts.of(step)),
            self.lowering.computed(rank),
        )

    def _find_unordered(self) -> set[ChannelKey]:
        """Return the channels on which several threads send, or several receive."""
        users = defaultdict[tuple[bool, ChannelKey], set[int]](set)
        for (_, thread), (number, steps) in zip(self.lines, self.steps(), strict=True):
            for step, _ in steps:
                for action in step.actions:
                    if isinstance(action, SendMessage):
                        users[True, (number, action.peer, action.tag)].add(thread)
                    elif isinstance(action, RecvMessage):
                        users[False, (action.peer, number, action.tag)].add(thread)
        return {key for (_, key), threads in users.items() if len(threads) > 1}
