"""Calls with their times and messages, for the exports of events."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scalatrace.executor.operations import COLLECTIVES
from scalatrace.predict.lowering import LoweringTarget, TraceLowering
from scalatrace.predict.timeline.needs import Finished, Posted, RankMessages, Received, SentMessage
from scalatrace.predict.timeline.times import TimelineTimes, call_times
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.trace import Trace

__all__ = ["Timeline", "TimelineEvent", "TimelineMessage"]

CALLS = LoweringTarget(frozenset({*COLLECTIVES, "gatherv", "scatterv"}), groups=True, several_sizes=True)
"""Collectives stay calls."""


class TimelineMessage(NamedTuple):
    """A message that a call begins to send or completes to receive, between world ranks.

    Attributes:
        sent: whether this is its sending end.
        nbytes: size; at the receiving end that of the buffer.
        name: the same at both ends, and no other message's.
        request: number of the rank's request; None where the call is blocking.
    """

    sent: bool
    source: int
    dest: int
    tag: int
    nbytes: int
    name: str
    request: int | None

    @property
    def peer(self) -> int:
        """World rank of the other end."""
        return self.dest if self.sent else self.source


class TimelineEvent(NamedTuple):
    """A call of a world rank. Times in ns since the start of the program.

    Attributes:
        posted: requests of the receives that it begins.
        finished: requests of the sends that it ends.
    """

    rank: int
    call: Call
    start_ns: int
    end_ns: int
    messages: tuple[TimelineMessage, ...]
    posted: tuple[int, ...] = ()
    finished: tuple[int, ...] = ()


class Timeline:
    """The calls of some ranks in a window of time.

    Args:
        trace: without receives from any source.
        ranks: None: all.
        window_ns: calls that overlap it are given; None: all calls.

    Raises:
        UsageError: a rank is not in the trace, or a receive names no source.
        LimitError: the calls are too many.
    """

    def __init__(
        self, trace: Trace, ranks: Iterable[int] | None = None, window_ns: tuple[float, float] | None = None
    ) -> None:
        self._lowering = TraceLowering(trace, CALLS, ranks=ranks)
        self.trace = self._lowering.trace
        self.ranks = list(self._lowering.ranks)
        self._window = window_ns
        self._times = call_times(self._lowering)

    @property
    def end_ns(self) -> int:
        """Time of the last end of a call."""
        return max((times.ends[-1] for times in self._times if times.ends), default=0)

    def count(self) -> int:
        """Return the number of calls in the window."""
        return sum(len(self._inside(times)) for times in self._times)

    def inside(self, rank: int) -> range:
        """Return the numbers of a rank's calls that are in the window."""
        return self._inside(self._times[self.ranks.index(rank)])

    def events(self, rank: int) -> Iterator[TimelineEvent]:
        """Yield the calls of a world rank in the window, in order."""
        number = self.ranks.index(rank)
        times, messages = self._times[number], RankMessages(number)
        inside = self._inside(times)
        for i, step in enumerate(self._lowering.steps(rank)):
            if i >= inside.stop:
                return
            parts = [part for action in step.actions for part in messages.of(action)]
            if i in inside:
                yield TimelineEvent(
                    rank, step.call, times.starts[i], times.ends[i],
                    tuple(self._message(part) for part in parts if isinstance(part, SentMessage | Received)),
                    tuple(part.request for part in parts if isinstance(part, Posted)),
                    tuple(part.request for part in parts if isinstance(part, Finished)),
                )  # fmt: skip

    def _inside(self, times: TimelineTimes) -> range:
        """Return the numbers of the calls in the window."""
        if self._window is None:
            return range(len(times.starts))
        low, high = self._window
        return range(bisect_left(times.ends, low), bisect_right(times.starts, high))

    def _message(self, end: SentMessage | Received) -> TimelineMessage:
        source, dest, tag = end.key
        name = f"{source}.{dest}.{tag}.{end.serial}"
        return TimelineMessage(
            isinstance(end, SentMessage),
            self.ranks[source],
            self.ranks[dest],
            tag,
            end.nbytes,
            name,
            end.request,
        )
