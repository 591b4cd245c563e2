"""Start and end times of all calls, on one clock.

A rank computes and communicates as long as it did on average, after the same predecessor. Where that would
end a receive before its message is sent, or a collective before others enter it, the call ends later, and so
does all that follows: the forward correction of the controlled logical clock (Rabenseifner 1997).

The executor computes no such times: it keeps sums instead of the times of each call, skips iterations that
are equal, needs all ranks, and derives the time inside of calls from a platform.
"""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from scalatrace.errors import LimitError
from scalatrace.predict.lowering import CollectiveAction, LoweredAction, LoweredStep, TraceLowering
from scalatrace.predict.timeline.needs import Board, Need, RankMessages, Received, SentMessage, find_awaited
from scalatrace.trace.model.call import Call
from scalatrace.trace.query.load import COMM, MeanTimes

__all__ = ["MAX_CALLS", "TimelineTimes", "call_times"]

MAX_CALLS = 1 << 26
"""Calls whose times are kept: 1 GiB."""

MAX_NS = 1 << 63
"""A time line is shorter: formats have 64 bits for a time."""


@dataclass
class TimelineTimes:
    """Times of the calls of a rank, ns since the start of the program.

    Attributes:
        starts, ends: in the order of the walk; a call starts after the one before has ended.
    """

    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))


def call_times(lowering: TraceLowering) -> list[TimelineTimes]:
    """Return the times of all ranks of a lowered trace, in its order.

    Messages without a partner set no bounds.

    Raises:
        LimitError: the calls are more than MAX_CALLS, or the times longer than MAX_NS.
    """
    ncalls = sum(lowering.trace.nevents(rank) for rank in lowering.ranks)
    if ncalls > MAX_CALLS:
        raise LimitError(
            f"times of {ncalls:,} calls need too much memory, the limit is {MAX_CALLS:,}; choose fewer ranks"
        )
    return _Clocks(lowering).run()


class _Clocks:
    """Runs one rank after the other, each until it needs a message or a collective that is not there yet."""

    def __init__(self, lowering: TraceLowering) -> None:
        self._board = Board()
        self._waiting: dict[Hashable, list[int]] = defaultdict(list)
        self._results = [TimelineTimes() for _ in lowering.ranks]
        self._ready = deque(range(len(lowering.ranks)))
        self._resigned: set[int] = set()
        communicated = MeanTimes(lowering.trace, COMM)
        self._ranks = [
            self._rank(number, lowering.steps(rank), communicated.of_rank(rank))
            for number, rank in enumerate(lowering.ranks)
        ]

    def run(self) -> list[TimelineTimes]:
        """Run all ranks to their ends; where all wait, one goes on without what it waits for."""
        while True:
            while self._ready:
                number = self._ready.popleft()
                place = next(self._ranks[number], None)
                if place is not None:
                    self._waiting[place].append(number)
            if not self._waiting:
                return self._results
            place = next(iter(self._waiting))
            self._resigned.update(self._waiting[place])
            self._wake(place)

    def _wake(self, place: Hashable) -> None:
        if place in self._waiting:
            self._ready.extend(self._waiting.pop(place))

    def _rank(
        self, number: int, steps: Iterator[LoweredStep], communicated: Callable[[Call], float]
    ) -> Iterator[Hashable]:
        """Run a rank; yield the place of what it needs when that is not there."""
        result, messages = self._results[number], RankMessages(number)
        counts: dict[Hashable, int] = defaultdict(int)
        clock, end = 0.0, -1
        for step in steps:
            begin = clock + step.compute_ns
            start, bound = max(round(begin), end + 1), 0
            for action in step.actions:
                for need, nranks in self._needs(action, start, messages, counts):
                    while (time := self._board.bound(need, nranks)) is None:
                        yield need.place
                        if number in self._resigned:
                            self._resigned.discard(number)
                            break
                    bound = max(bound, (time or 0) + 1)
            clock = max(begin + communicated(step.call), start + 1.0, float(bound))
            if clock >= MAX_NS:
                raise LimitError(
                    f"the time line of rank {number} passes 2^63 ns (292 years) in {step.call.op}; "
                    "the times of the trace are damaged or scaled"
                )
            end = round(clock)
            result.starts.append(start)
            result.ends.append(end)

    def _needs(
        self, action: LoweredAction, start: int, messages: RankMessages, counts: dict[Hashable, int]
    ) -> Iterator[tuple[Need, int]]:
        """Record what an action does for others; yield its needs, and the ranks of its collective or 0."""
        if isinstance(action, CollectiveAction):
            place = ("collective", action.members)
            need = Need(place, counts[place], find_awaited(action))
            counts[place] += 1
            self._board.enter(need, action.shape.rank, start)
            self._wake(place)
            yield need, action.shape.nranks
            return
        for message in messages.of(action):
            if isinstance(message, SentMessage):
                self._board.send(message, start)
                self._wake(message.key)
            elif isinstance(message, Received):
                yield Need(message.key, message.serial), 0
