"""The rows of a time line: calls, and loops of calls that repeat at equal times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

__all__ = [
    "UNNUMBERED", "Arrow", "Bar", "MessageEnd", "TimeLine", "TimelineItem", "TimelineLoop", "TimelineOutline",
    "TimelinePlace", "TimelineRow", "TimelineWindow", "arrows",
]  # fmt: skip

MAX_DRAWN = 1 << 16
"""Calls of one row that Python repeats, for plots."""


@dataclass(frozen=True)
class TimelineWindow:
    """Seconds since the first call."""

    first_s: float = 0.0
    last_s: float = inf


class MessageEnd(NamedTuple):
    """An end of a message: the n-th message that is sent on a channel is the n-th that is received.

    Attributes:
        channel: number of the channel (communicator family, sender, receiver, tag); -1: not known.
        number: of the message on it, from 0.
    """

    channel: int
    number: int


UNNUMBERED = MessageEnd(-1, 0)


class Bar(NamedTuple):
    """One call; times in ns since the first call of its rank.

    Attributes:
        place: index into `TimeLine.places`.
        peer: world rank, NONE or ANY.
        done_ns: from its start to the end of the call that completes its request, or of itself.
        sent, received: its message, if it is the end of one.
    """

    start_ns: int
    length_ns: int
    place: int
    peer: int
    nbytes: int
    done_ns: int
    sent: MessageEnd = UNNUMBERED
    received: MessageEnd = UNNUMBERED


@dataclass(frozen=True)
class TimelineLoop:
    """Calls that repeat: the first repetition starts at `start_ns`, each next one `period_ns` later.

    Attributes:
        items: of the first repetition.
        total: iterations of the loop in the program; `skipped` of them come before those of this item.
        sent, received: channels, and how many messages on each a repetition sends or receives.
    """

    times: int
    start_ns: float
    period_ns: float
    items: tuple[TimelineItem, ...]
    sent: tuple[tuple[int, int], ...]
    received: tuple[tuple[int, int], ...]
    total: int
    skipped: int


TimelineItem = Bar | TimelineLoop


@dataclass(frozen=True)
class TimelineOutline:
    """How the time of a row is divided.

    Attributes:
        start_ns, width_ns: start of the first bin, and width of each.
        categories: computation, then those of the calls.
        shares: [bins][categories] thousandths of a bin's width.
    """

    start_ns: float
    width_ns: float
    categories: tuple[str, ...]
    shares: tuple[tuple[int, ...], ...]

    @property
    def end_ns(self) -> float:
        """End of the last bin."""
        return self.start_ns + len(self.shares) * self.width_ns


@dataclass(frozen=True)
class TimelineRow:
    """The calls of a rank, or of one of its threads; cut: there are more in the window.

    Attributes:
        name: the rank; where threads have rows, `rank.thread`.
        simulated: its times are those of a simulated run.
        alike: ranks with equal numbers of calls and equal partners, this one included; 0: not counted.
        end_ns: end of the last call that `items` hold.
        outline: of the whole row, where `items` do not hold all of its calls; None: they do.
    """

    rank: int
    items: tuple[TimelineItem, ...]
    cut: bool
    name: str
    thread: int = 0
    simulated: bool = False
    alike: int = 0
    end_ns: int = 0
    outline: TimelineOutline | None = None

    def bars(self, window: TimelineWindow | None = None, max_bars: int = MAX_DRAWN) -> list[Bar]:
        """Return the calls that overlap a window, with loops repeated; at most `max_bars`."""
        within = window or TimelineWindow()
        found: list[Bar] = []
        for bar in _repeat(self.items, within.first_s * 1e9, within.last_s * 1e9):
            if len(found) == max_bars:
                break
            found.append(bar)
        return found


@dataclass(frozen=True)
class TimeLine:
    """The lines of some ranks.

    Attributes:
        simulated_note: on the rows of a simulated run; "": there are none.
        note: why there are no calls; "": there are.
        timed: False: the trace has no times, so each call has the same length.
        chosen: how the ranks were chosen; "": all ranks, or those that were asked for.
        threads: what rows of threads are; "": a row is a rank.
        window: what to show first, ns; (): not asked for.
        iteration_ns: mean length of an iteration of the outermost loop that takes most time; 0: none.
        iteration_ends: its first and last call, as numbers of `places`; (): not known.
    """

    places: tuple[TimelinePlace, ...]
    lines: tuple[TimelineRow, ...]
    timed: bool
    chosen: str = ""
    simulated_note: str = ""
    note: str = ""
    threads: str = ""
    window: tuple[float, ...] = ()
    iteration_ns: float = 0.0
    iteration_ends: tuple[int, ...] = ()


class TimelinePlace(NamedTuple):
    """Operation, category and call site."""

    op: str
    category: str
    site: str


class Arrow(NamedTuple):
    """A message between two rows: their numbers, and its ends."""

    sender: int
    send: Bar
    receiver: int
    receive: Bar


def arrows(lines: tuple[TimelineRow, ...], bars: list[list[Bar]]) -> list[Arrow]:
    """Return the messages between calls of rows, which belong to the same kind of rows.

    Args:
        bars: of each row, as `TimelineRow.bars` returns them.
    """
    sent = {
        (lines[row].simulated, bar.sent): (row, bar)
        for row, calls in enumerate(bars)
        for bar in calls
        if bar.sent.channel >= 0
    }
    found = []
    for row, calls in enumerate(bars):
        for bar in calls:
            source = sent.get((lines[row].simulated, bar.received))
            if source is not None:
                found.append(Arrow(*source, row, bar))
    return found


def _repeat(items: tuple[TimelineItem, ...], first: float, last: float) -> Iterator[Bar]:
    """Yield the calls that overlap a window, ns, in their order."""
    for item in items:
        if isinstance(item, Bar):
            if item.start_ns <= last and item.start_ns + item.length_ns >= first:
                yield item
            continue
        for number in range(*_overlapping(item, first, last)):
            shift = number * item.period_ns
            for bar in _repeat(item.items, first - shift, last - shift):
                yield bar._replace(
                    start_ns=round(bar.start_ns + shift),
                    sent=_later(bar.sent, dict(item.sent), number),
                    received=_later(bar.received, dict(item.received), number),
                )


def _overlapping(loop: TimelineLoop, first: float, last: float) -> tuple[int, int]:
    """Return the first repetition that may overlap a window, and the one behind the last."""
    if loop.period_ns <= 0:
        return 0, loop.times
    begin = max(0.0, (first - loop.start_ns) // loop.period_ns)
    end = min(loop.times, (last - loop.start_ns) // loop.period_ns + 1)
    return int(min(begin, loop.times)), max(0, int(end))


def _later(end: MessageEnd, per_repetition: dict[int, int], number: int) -> MessageEnd:
    return end._replace(number=end.number + number * per_repetition.get(end.channel, 0))
