"""A time line of a few ranks in a window: reconstructed from mean times of the trace, and of a simulated run.

A trace has no time stamps. Each call starts after the mean computation at its place after its predecessor,
and takes the mean time in it, both times the rank's load: the times that exports begin with, before they
delay calls that would end before the messages that they need. So the order of a rank's calls and its total
are exact. Single times, and the order between ranks, are not.

A simulated run has the time of each call. Its rows stand below those of the same ranks.

Each thread of a rank has a row, which begins with its first call: the time before that is not recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from scalatrace.errors import UsageError
from scalatrace.operations import MESSAGES, operation, received_bytes, sent_bytes
from scalatrace.report.costs.durations import CallDuration, CallTimes, Durations, Line, SimulatedDurations
from scalatrace.report.style import number
from scalatrace.trace.exchange.messages import ANY, NONE, Messages, world_rank
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.nodes import thread_of
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import ENDING, ages
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.threads import thread_count
from scalatrace.trace.values.vec import ANY_TAG

__all__ = [
    "Bar", "SimulateLines", "TimeLine", "TimelinePlace", "TimelineRow", "TimelineWindow", "some_ranks",
    "time_line",
]  # fmt: skip

OVERLAPPING = "no time line: threads of a rank call MPI, and the trace does not know which one made a call"

THREADS = (
    "A row is a thread of a rank, and begins with its first call: when that was is not recorded. Messages on "
    "channels that several threads use are not drawn."
)

MAX_BARS = 6000
"""Calls of all ranks that are drawn."""

MAX_WALKED = 1 << 18
"""Calls that are walked to reach a window, of all ranks."""

MAX_RANKS, DEFAULT_RANKS = 64, 16


SimulateLines = Callable[[Sequence[Line], int], Mapping[Line, CallTimes] | None]
"""Gives the times of at most so many calls of each line in a simulated run; None: they are too many."""


@dataclass(frozen=True)
class TimelineWindow:
    """Seconds since the first call."""

    first_s: float = 0.0
    last_s: float = inf


class Bar(NamedTuple):
    """One call; times in ns since the first call of its rank.

    Attributes:
        place: index into `TimeLine.places`.
        peer: world rank, NONE or ANY.
        after: index of the call of the rank that completes its request; -1: itself.
    """

    start_ns: int
    length_ns: int
    place: int
    peer: int
    nbytes: int
    after: int


class TimelinePlace(NamedTuple):
    """Operation, category and call site."""

    op: str
    category: str
    site: str


@dataclass(frozen=True)
class TimelineRow:
    """The calls of a rank, or of one of its threads; cut: there are more in the window.

    Attributes:
        name: the rank; where threads have rows, `rank.thread`.
        simulated: its times are those of a simulated run.
    """

    rank: int
    bars: tuple[Bar, ...]
    cut: bool
    name: str
    thread: int = 0
    simulated: bool = False


@dataclass(frozen=True)
class TimeLine:
    """The lines of some ranks.

    Attributes:
        arrows: messages between them: sending line and bar, receiving line and bar.
        simulated: each line has a further one below it, of a simulated run.
        note: why there are no calls; "": there are.
        timed: False: the trace has no times, so each call has the same length.
        chosen: how the ranks were chosen; "": all ranks, or those that were asked for.
        threads: what rows of threads are; "": a row is a rank.
    """

    places: tuple[TimelinePlace, ...]
    lines: tuple[TimelineRow, ...]
    arrows: tuple[tuple[int, int, int, int], ...]
    timed: bool
    chosen: str = ""
    simulated: bool = False
    note: str = ""
    threads: str = ""


def some_ranks(trace: Trace, messages: Sequence[Messages], grid: Grid) -> tuple[list[int], str]:
    """Return up to DEFAULT_RANKS ranks: all, or one in the middle of the grid and its partners.

    Returns:
        The ranks, and how they were chosen; "": all are.
    """
    if len(trace.ranks) <= DEFAULT_RANKS:
        return list(trace.ranks), ""
    middle = grid.rank([side // 2 for side in grid.dims])
    chosen = [middle if middle in trace.ranks else trace.ranks.first]
    for rank in chosen:
        if len(chosen) >= DEFAULT_RANKS // 2:
            break
        near = {partner for sent in messages for partner in sent.receivers[sent.senders == rank].tolist()}
        chosen += [partner for partner in sorted(near) if partner in trace.ranks and partner not in chosen]
    text = f"The ranks are {number(chosen[0])}{', in the middle of the grid' if chosen[0] == middle else ''}"
    text += ", its partners, and partners of these" if len(chosen) > 1 else ""
    filled = len(chosen) < DEFAULT_RANKS // 2
    remaining = (rank for rank in trace.ranks if rank not in chosen)
    while len(chosen) < DEFAULT_RANKS // 2:
        chosen.append(next(remaining))
    return sorted(chosen[:DEFAULT_RANKS]), f"{text}{', and the first ranks' if filled else ''}."


def time_line(
    trace: Trace,
    ranks: Sequence[int],
    window: TimelineWindow,
    chosen: str = "",
    simulate_lines: SimulateLines | None = None,
) -> TimeLine:
    """Reconstruct the calls of some ranks in a window, without the times of start-up and shut-down.

    Args:
        chosen: how the ranks were chosen.
        simulate_lines: gives the times of lines in a simulated run, whose rows then stand below the others,
            or alone where the trace has no times; None: there is no such run.

    Raises:
        UsageError: a rank is not in the trace, or there are more than MAX_RANKS.
    """
    if len(ranks) > MAX_RANKS:
        raise UsageError(f"a time line of {len(ranks)} ranks: the limit is {MAX_RANKS}; give fewer ranks")
    trace = trace.without_phases
    streams = trace.has_streams
    if thread_count(trace.meta) > 1 and not streams:
        return TimeLine((), (), (), True, chosen, note=OVERLAPPING)
    recorded = Durations(trace)
    rows = [(rank, thread) for rank in ranks for thread in _threads(trace, rank)]
    simulated = None if simulate_lines is None else simulate_lines(rows, MAX_WALKED)
    kinds: list[Durations] = [recorded] if recorded.timed or simulated is None else []
    kinds += [] if simulated is None else [SimulatedDurations(simulated)]
    places: dict[TimelinePlace, int] = {}
    share = max(1, len(rows) * len(kinds))
    limits = MAX_BARS // share, MAX_WALKED // share
    lines: list[TimelineRow | None] = [None] * (len(rows) * len(kinds))
    arrows: list[tuple[int, int, int, int]] = []
    for kind, durations in enumerate(kinds):
        walks = [_Walk(trace, *line, places, durations.of_line(*line), *limits) for line in rows]
        is_simulated = isinstance(durations, SimulatedDurations)
        for row, walk in enumerate(walks):
            lines[row * len(kinds) + kind] = replace(walk.line(window), simulated=is_simulated)
        arrows += [
            (a * len(kinds) + kind, i, b * len(kinds) + kind, j) for a, i, b, j in _arrows(walks, window)
        ]
    about_threads = THREADS if streams else ""
    return TimeLine(
        tuple(places),
        tuple(filter(None, lines)),
        tuple(arrows),
        kinds[0].timed,
        chosen,
        simulated is not None,
        threads=about_threads,
    )


def _threads(trace: Trace, rank: int) -> list[int]:
    """Return the threads of a rank that make calls, the first one always."""
    later = {thread_of(node) for node in trace.nodes if thread_of(node) and rank in trace.participants(node)}
    return [0, *sorted(later)]


Channel = tuple[int, int, int, int]
"""Communicator family, world ranks of sender and receiver, tag."""


class _Walk:
    """The walk of one thread of a rank.

    Attributes:
        sends, receives: channel and number of a message -> its bar.
    """

    def __init__(
        self,
        trace: Trace,
        rank: int,
        thread: int,
        places: dict[TimelinePlace, int],
        delta: CallDuration,
        max_bars: int,
        max_walked: int,
    ) -> None:
        self._trace, self._rank, self._thread, self._places = trace, rank, thread, places
        self._max_bars, self._max_walked = max_bars, max_walked
        self._delta = delta
        self._seen: Counter[tuple[bool, Channel]] = Counter()
        self._live: list[int | None] = []
        self._bars: list[Bar] = []
        self.sends: dict[tuple[Channel, int], int] = {}
        self.receives: dict[tuple[Channel, int], int] = {}
        self.wild: list[tuple[Channel, int]] = []

    def line(self, window: TimelineWindow) -> TimelineRow:
        """Walk to the end of the window."""
        first, last = window.first_s * 1e9, window.last_s * 1e9
        clock, cut = 0.0, False
        for walked, call in enumerate(self._trace.walk(self._rank, self._thread)):
            compute, comm = self._delta(call)
            start, clock = clock + compute, clock + compute + comm
            if start > last:
                break
            if walked >= self._max_walked or len(self._bars) >= self._max_bars:
                cut = True
                break
            self._take(call, start, comm, clock >= first)
        name = f"{self._rank}.{self._thread}" if self._trace.has_streams else str(self._rank)
        return TimelineRow(self._rank, tuple(self._bars), cut, name, self._thread)

    @property
    def used(self) -> set[tuple[bool, Channel]]:
        """The channels on which messages were sent or received so far."""
        return set(self._seen)

    def _take(self, call: Call, start: float, length: float, shown: bool) -> None:
        at = len(self._bars) if shown else None
        row = operation(call.op)
        if call.op in ENDING:
            self._complete(call, at)
        peer = _peer(call)
        if shown:
            place = TimelinePlace(call.op, row.category.value, call.site)
            number = self._places.setdefault(place, len(self._places))
            moved = sent_bytes(call.op, call) or received_bytes(call.op, call)
            self._bars.append(Bar(round(start), round(length), number, peer, moved, -1))
        self._messages(call, at)
        if row.makes_request:
            self._live.append(at)

    def _complete(self, call: Call, at: int | None) -> None:
        n, completed_ages = len(self._live), ages(call)
        ended = {n - 1 - age for age in completed_ages if 0 <= age < n}
        for i in ended:
            if (bar := self._live[i]) is not None and at is not None:
                self._bars[bar] = self._bars[bar]._replace(after=at)
        self._live = [bar for i, bar in enumerate(self._live) if i not in ended]

    def _messages(self, call: Call, at: int | None) -> None:
        """Number the messages of each channel, from the first call on."""
        row = operation(call.op)
        if row.category not in MESSAGES:
            return
        for sends, flow in ((True, row.sends), (False, row.recvs)):
            if flow is None or flow.peer not in call:
                continue
            peer = world_rank(call, call.raw(flow.peer))
            if peer == NONE:
                continue
            name = "sendtag" if sends else "recvtag"
            tag = call.raw(name) if name in call else call.raw("tag") if "tag" in call else ANY_TAG
            channel = (call.family, self._rank, peer, tag) if sends else (call.family, peer, self._rank, tag)
            number = self._seen[sends, channel]
            self._seen[sends, channel] += 1
            if at is None:
                continue
            if sends:
                self.sends[channel, number] = at
            elif peer == ANY or tag == ANY_TAG:
                self.wild.append((channel, at))
            else:
                self.receives[channel, number] = at


def _peer(call: Call) -> int:
    for name in operation(call.op).peers:
        if name in call:
            return world_rank(call, call.raw(name))
    return NONE


def _arrows(walks: Sequence[_Walk], window: TimelineWindow) -> Iterator[tuple[int, int, int, int]]:
    """Yield the messages between the ranks: the n-th one of a channel is the n-th that is received.

    Those on channels that several threads use have no order.
    """
    users = Counter(end for walk in walks for end in walk.used)
    sent = {
        key: (i, bar)
        for i, walk in enumerate(walks)
        for key, bar in walk.sends.items()
        if users[True, key[0]] == 1
    }
    for i, walk in enumerate(walks):
        for key, bar in walk.receives.items():
            if users[False, key[0]] == 1 and (source := sent.pop(key, None)) is not None:
                yield (*source, i, bar)
    if window.first_s > 0:  # which messages the receives before the window took is not known
        return
    for i, walk in enumerate(walks):
        for channel, bar in walk.wild:
            if users[False, channel] > 1:
                continue
            fitting = (key for key in sent if _fits(channel, key[0]))
            if (arrow := next(fitting, None)) is not None:
                yield (*sent.pop(arrow), i, bar)


def _fits(wild: Channel, sent: Channel) -> bool:
    return (
        wild[0] == sent[0]
        and wild[1] in (ANY, sent[1])
        and wild[2] == sent[2]
        and wild[3] in (ANY_TAG, sent[3])
    )
