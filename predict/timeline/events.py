"""Calls with their times and messages, for the exports of events."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scalatrace.executor.operations import COLLECTIVES
from scalatrace.predict.engine.call_log import CallLog
from scalatrace.predict.engine.simulate import Simulator
from scalatrace.predict.lowering import LoweringTarget, TraceLowering
from scalatrace.predict.platform import Platform
from scalatrace.predict.timeline.lines import Line, TimelineLines
from scalatrace.predict.timeline.needs import Finished, Posted, Received, SentMessage
from scalatrace.predict.timeline.times import TimelineTimes, call_times
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.trace import Trace

__all__ = ["Timeline", "TimelineEvent", "TimelineMessage"]

CALLS = LoweringTarget(frozenset({*COLLECTIVES, "gatherv", "scatterv"}), groups=True, several_sizes=True)
"""Collectives stay calls."""

PS_PER_NS = 1000


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
        thread: of the rank.
    """

    rank: int
    call: Call
    start_ns: int
    end_ns: int
    messages: tuple[TimelineMessage, ...]
    posted: tuple[int, ...] = ()
    finished: tuple[int, ...] = ()
    thread: int = 0


class Timeline:
    """The calls of some ranks in a window of time.

    Attributes:
        lines: rank and thread of each line. Ranks have one line, or one for each thread that makes calls.

    Args:
        trace: without receives from any source.
        ranks: None: all.
        window_ns: calls that overlap it are given; None: all calls.
        platform: times are those of a run that is simulated on it, without the times of start-up and
            shut-down, as `simulate` leaves them out; None: times are reconstructed from recorded means.

    Raises:
        UsageError: a rank is not in the trace, or a receive names no source.
        LimitError: the calls are too many.
        ScalatraceError: the trace cannot be simulated.
    """

    def __init__(
        self,
        trace: Trace,
        ranks: Iterable[int] | None = None,
        window_ns: tuple[float, float] | None = None,
        platform: Platform | None = None,
    ) -> None:
        trace = trace if platform is None else trace.without_phases
        self._lowering = TraceLowering(trace, CALLS, ranks=ranks)
        self.trace = self._lowering.trace
        self.ranks = list(self._lowering.ranks)
        self._window = window_ns
        self._lines = TimelineLines(self._lowering)
        self.lines, self.has_threads = self._lines.lines, self._lines.has_threads
        self._times = call_times(self._lines) if platform is None else _simulated_times(self._lines, platform)

    @property
    def end_ns(self) -> int:
        """Time of the last end of a call."""
        return max((times.ends[-1] for times in self._times if times.ends), default=0)

    def count(self) -> int:
        """Return the number of calls in the window."""
        return sum(len(self._inside(times)) for times in self._times)

    def inside(self, rank: int) -> range:
        """Return the numbers of a rank's calls that are in the window, where it has one line."""
        return self._inside(self._times[self.lines.index((rank, 0))])

    def label(self, line: Line) -> str:
        """Return the name of a line: its rank, with the thread where ranks have several."""
        return f"{line[0]}.{line[1]}" if self.has_threads else str(line[0])

    def events(self, rank: int, thread: int = 0) -> Iterator[TimelineEvent]:
        """Yield the calls of a line in the window, in order."""
        times = self._times[self.lines.index((rank, thread))]
        inside = self._inside(times)
        for i, (step, parts) in enumerate(self._lines.of(rank, thread)):
            if i >= inside.stop:
                return
            if i in inside:
                yield TimelineEvent(
                    rank, step.call, times.starts[i], times.ends[i],
                    tuple(
                        self._message(part) for part in parts
                        if isinstance(part, SentMessage | Received) and self._lines.is_ordered(part.key)
                    ),
                    tuple(part.request for part in parts if isinstance(part, Posted)),
                    tuple(part.request for part in parts if isinstance(part, Finished)),
                    thread,
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


def _simulated_times(lines: TimelineLines, platform: Platform) -> list[TimelineTimes]:
    """Return the times of all lines in a run of the whole trace on a platform, in their order.

    Times are whole ns. A call begins at least 1 ns after the end of the one before it, and takes at least
    1 ns, as the formats of viewers need it; so calls that take no time may move by some ns.

    Raises:
        ScalatraceError: the trace cannot be simulated, or has more calls than `CallLog` keeps.
    """
    trace = lines.lowering.trace
    simulator = Simulator(trace)
    log = CallLog(trace, simulator.program, lines.lines)
    simulator.run(platform, call_log=log)
    return [_whole_ns(log.of(rank, thread).tolist()) for rank, thread in lines.lines]


def _whole_ns(times_ps: list[list[int]]) -> TimelineTimes:
    result, last_ns = TimelineTimes(), -1
    for start_ps, end_ps in times_ps:
        start_ns = max(round(start_ps / PS_PER_NS), last_ns + 1)
        last_ns = max(round(end_ps / PS_PER_NS), start_ns + 1)
        result.starts.append(start_ns)
        result.ends.append(last_ns)
    return result
