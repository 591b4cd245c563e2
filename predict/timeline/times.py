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
from scalatrace.predict.timeline.lines import LineStep, TimelineLines
from scalatrace.predict.timeline.needs import (
    Board,
    Entered,
    Need,
    NeededPart,
    Posted,
    Received,
    SentMessage,
)
from scalatrace.trace.model.call import Call
from scalatrace.trace.query.load import COMM, MeanTimes

__all__ = ["MAX_CALLS", "TimelineTimes", "call_times"]

MAX_CALLS = 1 << 26
"""Calls whose times are kept: 1 GiB."""

MAX_NS = 1 << 63
"""A time line is shorter: formats have 64 bits for a time."""


@dataclass
class TimelineTimes:
    """Times of the calls of a line, ns since the start of the program.

    Attributes:
        starts, ends: in the order of the walk; a call starts after the one before has ended.
    """

    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))


def call_times(lines: TimelineLines) -> list[TimelineTimes]:
    """Return the times of all lines, in their order.

    Messages without a partner set no bounds.

    Raises:
        LimitError: the calls are more than MAX_CALLS, or the times longer than MAX_NS.
    """
    lowering = lines.lowering
    ncalls = sum(lowering.trace.nevents(rank) for rank in lowering.ranks)
    if ncalls > MAX_CALLS:
        raise LimitError(
            f"times of {ncalls:,} calls need too much memory, the limit is {MAX_CALLS:,}; choose fewer ranks"
        )
    return _Clocks(lines).run()


class _Clocks:
    """Runs one line after the other, each until it needs a message or a collective that is not there yet."""

    def __init__(self, lines: TimelineLines) -> None:
        self._board = Board()
        self._waiting: dict[Hashable, list[int]] = defaultdict(list)
        self._results = [TimelineTimes() for _ in lines.lines]
        self._ready = deque(range(len(lines.lines)))
        self._resigned: set[int] = set()
        self._lines = lines
        communicated = MeanTimes(lines.lowering.trace, COMM)
        self._running = [
            self._run(line, number, steps, communicated.of_rank(lines.lowering.ranks[number]))
            for line, (number, steps) in enumerate(lines.steps())
        ]

    def run(self) -> list[TimelineTimes]:
        """Run all lines to their ends; where all wait, one goes on without what it waits for."""
        while True:
            while self._ready:
                line = self._ready.popleft()
                place = next(self._running[line], None)
                if place is not None:
                    self._waiting[place].append(line)
            if not self._waiting:
                return self._results
            place = next(iter(self._waiting))
            self._resigned.update(self._waiting[place])
            self._wake(place)

    def _wake(self, place: Hashable) -> None:
        if place in self._waiting:
            self._ready.extend(self._waiting.pop(place))

    def _run(
        self, line: int, number: int, steps: Iterator[LineStep], communicated: Callable[[Call], float]
    ) -> Iterator[Hashable]:
        """Run a line of a rank; yield the place of what it needs when that is not there."""
        result = self._results[line]
        clock, end = 0.0, -1
        for step, parts in steps:
            begin = clock + step.compute_ns
            start, bound = max(round(begin), end + 1), 0
            for part in parts:
                for need, nranks in self._needs(part, number, start):
                    while (time := self._board.bound(need, nranks)) is None:
                        yield need.place
                        if line in self._resigned:
                            self._resigned.discard(line)
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

    def _needs(self, part: NeededPart | Entered, number: int, start: int) -> Iterator[tuple[Need, int]]:
        """Record what a part does for others; yield its needs, and the ranks of its collective or 0."""
        if isinstance(part, Entered):
            self._board.enter(part.need, part.position, start)
            self._wake(part.need.place)
            yield part.need, part.nranks
            return
        if isinstance(part, SentMessage) and self._lines.is_ordered(part.key):
            self._board.send(part.key, part.serial, start)
            self._wake(part.key)
        if self._lines.has_threads and part.request is not None:
            request_key = ("request", number, part.request)
            if isinstance(part, SentMessage | Posted):
                self._board.send(request_key, 0, start)
                self._wake(request_key)
            else:
                yield Need(request_key, 0), 0
        if isinstance(part, Received) and self._lines.is_ordered(part.key):
            yield Need(part.key, part.serial), 0
