"""The walk of one thread of a rank for its row: calls, or where they are many, loops of equal iterations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from sys import maxsize

from scalatrace.operations import MESSAGES, operation, received_bytes, sent_bytes
from scalatrace.report.costs.durations import CallDuration
from scalatrace.report.page.timeline.rows import (
    UNNUMBERED,
    Bar,
    MessageEnd,
    TimelineItem,
    TimelineLoop,
    TimelinePlace,
    TimelineRow,
    TimelineWindow,
)
from scalatrace.trace.exchange.messages import ANY, NONE, world_rank
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.requests import ENDING, ages
from scalatrace.trace.query.walk import WalkStep, compiled
from scalatrace.trace.values.vec import ANY_TAG

__all__ = ["Channel", "RowLimits", "RowWalk", "SharedTables", "match_any_source"]

MIN_REPEATED = 4
"""Iterations of a loop that is kept as one: the first is another one, since another call precedes it."""

Channel = tuple[int, int, int, int]
"""Communicator family, world ranks of sender and receiver, tag."""

_ChannelEnd = tuple[bool, int]
"""Whether messages are sent, and the number of the channel."""


@dataclass
class SharedTables:
    """Numbers of places and channels, which all rows use."""

    places: dict[TimelinePlace, int] = field(default_factory=dict)
    channels: dict[Channel, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RowLimits:
    """The most calls of a row: kept, and walked to reach a window."""

    bars: int
    walked: int


class _EndError(Exception):
    """The walk is at the end of the window, or of what may be kept."""


@dataclass
class _LoopMark:
    """A loop of `items`, whose calls are numbers of bars; all but the first of its `total` iterations."""

    times: int
    total: int
    start: float
    period: float
    items: list[int | _LoopMark]
    moved: Counter[_ChannelEnd]


class RowWalk:
    """The walk of one thread of a rank.

    Args:
        duration: gives the computation before a call and the time in it; takes calls in their order.
        folds: loops of equal iterations are walked twice only.
        start_ns: when the first computation begins.

    Attributes:
        used: ends of channels of which messages were sent or received.
        wild: receives from any source or with any tag, up to a loop of such: what they ask for, and the bar.
    """

    def __init__(
        self,
        trace: Trace,
        rank: int,
        thread: int,
        tables: SharedTables,
        duration: CallDuration,
        limits: RowLimits,
        window: TimelineWindow,
        folds: bool,
        start_ns: float = 0.0,
    ) -> None:
        self._trace, self._rank, self._thread, self._tables = trace, rank, thread, tables
        self._duration, self._limits, self._folds = duration, limits, folds
        self._first, self._last = window.first_s * 1e9, window.last_s * 1e9
        self._clock, self._pred, self._nwalked, self._cut = start_ns, 0, 0, False
        self._nfolding, self._folds_wild = 0, False
        self._seen: Counter[_ChannelEnd] = Counter()
        self._live: list[int | None] = []
        self._bars: list[Bar] = []
        self._items: list[int | _LoopMark] = []
        self.wild: list[tuple[Channel, int]] = []
        self._walk()

    @property
    def used(self) -> set[_ChannelEnd]:
        """Ends of channels of which messages were sent or received."""
        return set(self._seen)

    @property
    def received(self) -> set[MessageEnd]:
        """The messages of receives that name their sender and tag."""
        return {bar.received for bar in self._bars}

    @property
    def sends(self) -> dict[MessageEnd, Channel]:
        """The messages that calls outside of loops sent."""
        names = {number: channel for channel, number in self._tables.channels.items()}
        outside = (self._bars[item].sent for item in self._items if isinstance(item, int))
        return {sent: names[sent.channel] for sent in outside if sent.channel >= 0}

    def receive(self, bar: int, end: MessageEnd) -> None:
        """Set the message of a receive from any source."""
        self._bars[bar] = self._bars[bar]._replace(received=end)

    def row(self, unordered: set[_ChannelEnd]) -> TimelineRow:
        """Return the row, without the messages of channel ends that several threads use."""
        name = f"{self._rank}.{self._thread}" if self._trace.has_streams else str(self._rank)
        items = tuple(self._resolve(self._items, unordered))
        return TimelineRow(self._rank, items, self._cut, name, self._thread, end_ns=round(self._clock))

    def _resolve(
        self, items: Iterable[int | _LoopMark], unordered: set[_ChannelEnd]
    ) -> Iterable[TimelineItem]:
        for item in items:
            if isinstance(item, int):
                bar = self._bars[item]
                if (True, bar.sent.channel) in unordered:
                    bar = bar._replace(sent=UNNUMBERED)
                if (False, bar.received.channel) in unordered:
                    bar = bar._replace(received=UNNUMBERED)
                yield bar
                continue
            sent, received = (
                tuple((channel, n) for (sends, channel), n in item.moved.items() if sends is wanted)
                for wanted in (True, False)
            )
            inner = tuple(self._resolve(item.items, unordered))
            yield TimelineLoop(item.times, item.start, item.period, inner, sent, received, item.total, 1)

    def _walk(self) -> None:
        try:
            if self._folds:
                nodes = self._trace.stream(self._thread)
                self._run(compiled(self._trace, nodes, self._rank))
            else:
                for call in self._trace.walk(self._rank, self._thread):
                    self._take(call)
        except _EndError:
            pass

    def _run(self, steps: Iterable[WalkStep]) -> None:
        for step in steps:
            times = step.times()
            if not step.steady or times < MIN_REPEATED:
                self._iterate(step, times)
            else:
                self._iterate(step, 1)
                self._fold(step, times - 1)

    def _iterate(self, step: WalkStep, times: int) -> None:
        if step.place is None:
            for _ in range(times):
                self._run(step.steps)
            return
        for values in islice(step.place.rows, times):
            self._take(Call(step.place, values, self._pred))
            self._pred = step.place.own_pred

    def _fold(self, step: WalkStep, times: int) -> None:
        """Keep the next iterations as a loop, unless each one leaves further requests open."""
        nlive, nbars, start, seen = len(self._live), len(self._bars), self._clock, self._seen.copy()
        around, self._items = self._items, []
        self._nfolding += 1
        is_equal = False
        try:
            self._iterate(step, 1)
            is_equal = len(self._live) == nlive and self._clock > start
        finally:
            self._nfolding -= 1
            body, self._items = self._items, around
            if not is_equal:
                self._items += body
        if not is_equal:
            self._forget_early(nbars)
            self._iterate(step, times - 1)
            return
        moved, period, total = self._seen - seen, self._clock - start, times + 1
        crosses = any(bar is not None and bar >= nbars for bar in self._live)
        times -= crosses  # another call than in the loop completes the requests of the last iteration
        self._items.append(_LoopMark(times, total, start, period, body, moved))
        if crosses:
            self._complete_in_next(step, nbars)
        self._clock = start + period * times
        for end, n in moved.items():
            self._seen[end] += n * (times - 1)
        self._forget_early(nbars)
        if self._clock > self._last:
            raise _EndError
        self._iterate(step, int(crosses))

    def _complete_in_next(self, step: WalkStep, first_bar: int) -> None:
        """Walk one more iteration, which completes requests of the last one, and forget it.

        Args:
            first_bar: of the loop.
        """
        nbars, nwild, kept = len(self._bars), len(self.wild), (self._items, self._seen.copy(), self._clock)
        limits, last = self._limits, self._last
        self._items, self._limits, self._last = [], RowLimits(maxsize, maxsize), inf
        self._iterate(step, 1)
        del self._bars[nbars:], self.wild[nwild:]
        self._items, self._seen, self._clock = kept
        self._limits, self._last = limits, last
        self._live = [None if bar is not None and bar >= first_bar else bar for bar in self._live]

    def _forget_early(self, nbars: int) -> None:
        """Drop the bars from a number on if all are before the window."""
        if self._nfolding or self._clock >= self._first:
            return
        del self._bars[nbars:]
        self._live = [None if bar is not None and bar >= nbars else bar for bar in self._live]
        while self._items and (isinstance(self._items[-1], _LoopMark) or self._items[-1] >= nbars):
            self._items.pop()

    def _take(self, call: Call) -> None:
        compute, comm = self._duration(call)
        start, end = self._clock + compute, self._clock + compute + comm
        if start > self._last:
            raise _EndError
        if self._nwalked >= self._limits.walked or len(self._bars) >= self._limits.bars:
            self._cut = True
            raise _EndError
        self._nwalked += 1
        self._clock = end
        self._add(call, start, comm, end >= self._first or self._nfolding > 0)

    def _add(self, call: Call, start: float, length: float, is_shown: bool) -> None:
        at = len(self._bars) if is_shown else None
        row = operation(call.op)
        if call.op in ENDING:
            self._complete(call, start + length)
        if at is not None:
            place = TimelinePlace(call.op, row.category.value, call.site)
            number = self._tables.places.setdefault(place, len(self._tables.places))
            nbytes = sent_bytes(call.op, call) or received_bytes(call.op, call)
            self._bars.append(Bar(round(start), round(length), number, _peer(call), nbytes, round(length)))
            self._items.append(at)
        self._number_messages(call, at)
        if row.makes_request:
            self._live.append(at)

    def _complete(self, call: Call, end: float) -> None:
        n, completed_ages = len(self._live), ages(call)
        ended = {n - 1 - age for age in completed_ages if 0 <= age < n}
        for i in ended:
            if (bar := self._live[i]) is not None:
                self._bars[bar] = self._bars[bar]._replace(done_ns=round(end - self._bars[bar].start_ns))
        self._live = [bar for i, bar in enumerate(self._live) if i not in ended]

    def _number_messages(self, call: Call, at: int | None) -> None:
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
            number = self._tables.channels.setdefault(channel, len(self._tables.channels))
            message = MessageEnd(number, self._seen[sends, number])
            self._seen[sends, number] += 1
            if at is None:
                continue
            if sends:
                self._bars[at] = self._bars[at]._replace(sent=message)
            elif peer == ANY or tag == ANY_TAG:
                self._folds_wild = self._folds_wild or self._nfolding > 0
                if not self._folds_wild:  # which messages the receives of a loop take is not known
                    self.wild.append((channel, at))
            else:
                self._bars[at] = self._bars[at]._replace(received=message)


def _peer(call: Call) -> int:
    for name in operation(call.op).peers:
        if name in call:
            return world_rank(call, call.raw(name))
    return NONE


def match_any_source(walks: Iterable[RowWalk], unordered: set[_ChannelEnd], tables: SharedTables) -> None:
    """Give receives from any source, or with any tag, the first messages that fit and that no other has."""
    walks = list(walks)
    received = set().union(*(walk.received for walk in walks))
    sent = {
        message: channel
        for walk in walks
        for message, channel in walk.sends.items()
        if (True, message.channel) not in unordered and message not in received
    }
    for walk in walks:
        for channel, bar in walk.wild:
            if (False, tables.channels[channel]) in unordered:
                continue
            fitting = (message for message, name in sent.items() if _fits(channel, name))
            if (message := next(fitting, None)) is not None:
                del sent[message]
                walk.receive(bar, message)


def _fits(wild: Channel, sent: Channel) -> bool:
    return (
        wild[0] == sent[0]
        and wild[1] in (ANY, sent[1])
        and wild[2] == sent[2]
        and wild[3] in (ANY_TAG, sent[3])
    )
