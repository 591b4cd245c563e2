"""The replay of one rank: walk its events, hand each to its handler.

trace.walk(rank) -> handler of the event's operation -> transport
                 `- compute time of the event after its predecessor -> pace
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from replay import calls as _registered  # noqa: F401  (the handlers)
from replay.calls.by_messages import becomes_messages, by_messages
from replay.delays import Delays
from replay.drawn import is_probabilistic
from replay.errors import ReplayError
from replay.options import Collectives, Compute, Options
from replay.pace import Pace
from replay.probable import ProbableRank
from replay.rank import Rank
from replay.registry import HANDLERS
from replay.result import RankResult
from replay.transport import Transport
from replay.whatif import WhatIf
from scalatrace.trace.counting import executions_of
from scalatrace.trace.walk import distinct_calls

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.walk import Call


def run(
    trace: Trace, transport: Transport, options: Options, report: Callable[[int], None] | None = None
) -> RankResult:
    """Issue all calls of the transport's rank, in order and at their time.

    Args:
        report: told now and then how many events are done.

    Raises:
        ReplayError: MPI refused a call, or the trace contradicts itself; names the event.
    """
    pace = Pace(options.compute)
    rank = Rank(transport, pace, options.io_folder)
    whatif = WhatIf(options.rules)
    ahead = Ahead(trace.walk(transport.rank), Delays(trace, transport.rank, options, whatif))
    pace.idle = ahead.more
    rank.most_buffered = most_buffered(trace, transport.rank, whatif)
    player: Player = ExactRank(rank, options, whatif)
    if is_probabilistic(trace):
        player = ProbableRank(trace, rank, transport, options, whatif)
    play = player.play
    pace.start()
    start = pace.clock()
    if options.compute is Compute.NONE and isinstance(player, ExactRank):
        player.play_all(trace.walk(transport.rank), report)
    else:
        for number, (event, delay_ns) in enumerate(ahead):
            if report is not None and not number & REPORT_MASK:
                report(number)
            try:
                play(event, delay_ns)
            except ReplayError as error:
                raise rank.told(error, number, event.op) from None
    received = player.finish()
    result = RankResult.of(rank, pace.clock() - start)
    rank.detach()
    return replace(result, received=received)


REPORT_MASK = 255


def most_buffered(trace: Trace, rank: int, whatif: WhatIf) -> int:
    """Return the bytes of the largest buffered send of a rank."""
    most = 0
    for leaf, times in executions_of(trace, rank):
        if "bsend" in trace.ops[leaf.op].name.lower():
            for call, _ in distinct_calls(trace, leaf, rank, times):
                event = whatif.view(call)
                most = max(most, event["count"] * event["datatype"].size)
    return most


class Player(Protocol):
    """What a rank does with its events."""

    def play(self, call: Call, delay_ns: int) -> None:
        """Make a call once the computation before it is over."""

    def finish(self) -> int:
        """Do what is left when all calls are made; return how many messages came that no call received."""


class ExactRank:
    """Makes the calls of one rank as they were recorded."""

    def __init__(self, rank: Rank, options: Options, whatif: WhatIf) -> None:
        self._rank, self._whatif = rank, whatif
        self._messages = options.collectives is Collectives.P2P

    def play(self, call: Call, delay_ns: int) -> None:
        """Make a call once the computation before it is over."""
        rank = self._rank
        rank.pace.due_in(delay_ns)
        made = rank.made.find((call.place, call.values))
        if made is not None:
            rank.make_again(made)
            return
        rank.family = call.family
        handler = by_messages if self._messages and becomes_messages(call) else HANDLERS[call.op]
        handler(rank, self._whatif.view(call))

    def play_all(self, events: Iterable[Call], report: Callable[[int], None] | None) -> None:
        """Make all calls one right after the other: what `play` does, where nothing is waited for."""
        rank, pace, clock, issue = self._rank, self._rank.pace, self._rank.pace.clock, self._rank.mpi.issue
        kept, add = rank.made.spares, rank.requests.add
        number, event, engine_ns, last = 0, None, 0, pace.last_ns
        try:
            for number, event in enumerate(events):
                if report is not None and not number & REPORT_MASK:
                    report(number)
                spares = kept.get((event.place, event.values))
                if not spares:
                    self.play(event, 0)
                    last = pace.last_ns
                    continue
                made = spares[-1]
                if made.live is not None:
                    spares.pop()
                    add(made.live)
                start = clock()
                engine_ns += start - last
                issue(made.call)
                last = pace.last_ns = clock()
                tally = made.tally
                tally.calls += 1
                tally.ns += last - start
                tally.sent += made.sent
        except ReplayError as error:
            raise rank.told(error, number, "" if event is None else event.op) from None
        pace.engine_ns += engine_ns

    def finish(self) -> int:
        """Nothing is left."""
        return 0


class Ahead:
    """The events of a rank with the nanoseconds to compute before each, some of them walked to beforehand."""

    MOST = 1024

    def __init__(self, walk: Iterator[Call], delays: Delays) -> None:
        self._walk = ((event, delays.before(event)) for event in walk)
        self._ready: deque[tuple[Call, int]] = deque()

    def __iter__(self) -> Iterator[tuple[Call, int]]:
        while True:
            while self._ready:
                yield self._ready.popleft()
            item = next(self._walk, None)
            if item is None:
                return
            yield item

    def more(self) -> bool:
        """Walk to one event more; False when that is not possible or there are enough."""
        item = next(self._walk, None) if len(self._ready) < self.MOST else None
        if item is None:
            return False
        self._ready.append(item)
        return True
