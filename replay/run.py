"""The replay of one rank: walk its events and pass each to its handler.

trace.walk(rank) -> handler of the event's operation -> transport
                 `- compute time of the event after its predecessor -> pace
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

from scalatrace.replay import calls as _registered  # noqa: F401  (the handlers)
from scalatrace.replay.calls.by_messages import becomes_messages, by_messages
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.options import CollectiveMode, ComputeMode, ReplayOptions
from scalatrace.replay.common.position import ReplayPosition
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.engine.handlers import HANDLERS
from scalatrace.replay.engine.player import REPORT_MASK, Player, Report
from scalatrace.replay.engine.preparation import ACCEPT_PORT, CREATE_DYNAMIC_WINDOW, DynamicWindows, Ports
from scalatrace.replay.engine.rank import RankReplay
from scalatrace.replay.engine.senders import senders_of
from scalatrace.replay.probabilistic.largest import is_buffered, largest_sent
from scalatrace.replay.probabilistic.rank import ProbabilisticPlayer
from scalatrace.replay.probabilistic.sampled_calls import is_probabilistic
from scalatrace.replay.result import RankResult
from scalatrace.replay.threads import RankThreads
from scalatrace.replay.timing.compute_times import ComputeTimes
from scalatrace.replay.timing.pace import Pace
from scalatrace.replay.transport.backoff import sleep_precisely
from scalatrace.replay.transport.base import Transport
from scalatrace.trace.model.callsite import short_frame

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.trace.query.walk import Call

__all__ = ["position_of"]

Watch = Callable[[Callable[[], ReplayPosition]], AbstractContextManager[None]]
"""Watches a rank while it is replayed; takes a function that returns where the rank is."""


def run(
    trace: Trace,
    transport: Transport,
    options: ReplayOptions,
    report: Report | None = None,
    watch: Watch = lambda position: nullcontext(),
) -> RankResult:
    """Issue all calls of the transport's rank, in order and at their time.

    Args:
        report: called regularly with the number of events done.
        watch: makes the context in which the calls are issued.

    Raises:
        ReplayError: MPI returned an error, or the trace is inconsistent; names the event.
    """
    pace = Pace(options.compute)
    rank = RankReplay(transport, pace, options.io_folder)
    whatif = WhatIf(options.rules)
    _prepare(trace, rank, whatif)
    rank.max_buffered_nbytes = largest_sent(trace, transport.rank, whatif, is_buffered)
    if trace.has_streams:
        return _run_threads(trace, rank, options, whatif, report, watch)
    player: Player = ExactPlayer(rank, options, whatif)
    if is_probabilistic(trace):
        player = ProbabilisticPlayer(trace, rank, transport, options, whatif)
    else:
        rank.senders = senders_of(trace, transport.rank)
    walk, prepare = trace.walk(transport.rank), player.prepare
    if options.compute is ComputeMode.NONE:
        events: Iterable[tuple[Any, int]] = zip(map(prepare, walk) if prepare else walk, repeat(0))
    else:
        before = ComputeTimes(trace, transport.rank, options, whatif).before
        events = ahead = Ahead((prepare(call) if prepare else call, before(call)) for call in walk)
        pace.idle = ahead.more
    with watch(partial(position_of, rank)):
        transport.gather(b"")  # start together, also with a rank that took long to plan
        sleep_precisely()
        pace.start()
        start = pace.clock()
        player.play_all(events, report)
        wall_ns = pace.clock() - start
        received = player.finish()
    result = RankResult.of(rank, wall_ns)
    rank.detach()
    return replace(result, received=received)


def _run_threads(
    trace: Trace,
    rank: RankReplay,
    options: ReplayOptions,
    whatif: WhatIf,
    report: Report | None,
    watch: Watch,
) -> RankResult:
    """Issue the calls of each thread of the rank in a thread."""
    threads = RankThreads(trace, rank, options, whatif)
    with watch(partial(threads.position, position_of)):
        rank.mpi.gather(b"")
        sleep_precisely()
        start = rank.pace.clock()
        threads.play_all(report)
        wall_ns = rank.pace.clock() - start
    rank.detach()
    return threads.result(wall_ns)


def _prepare(trace: Trace, rank: RankReplay, whatif: WhatIf) -> None:
    """Make what the calls of all ranks refer to, after one walk of this rank's; all ranks call it."""
    called = {op.name for op in trace.ops}
    needed: list[DynamicWindows | Ports] = []
    if CREATE_DYNAMIC_WINDOW in called:
        needed.append(DynamicWindows(rank, whatif))
    if ACCEPT_PORT in called:
        needed.append(Ports(rank))
    if needed:
        for call in trace.walk(rank.mpi.rank):
            for watcher in needed:
                watcher.see(call)
    for watcher in needed:
        watcher.finish()


class Ahead:
    """The events of a rank, each with the nanoseconds to compute before it; some are prepared early."""

    MAX_PREPARED = 1024

    def __init__(self, events: Iterator[tuple[Any, int]]) -> None:
        self._walk = events
        self._ready: deque[tuple[Any, int]] = deque()

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        while True:
            while self._ready:
                yield self._ready.popleft()
            item = next(self._walk, None)
            if item is None:
                return
            yield item

    def more(self) -> bool:
        """Prepare one more event; return False at the end, or when enough are prepared."""
        item = next(self._walk, None) if len(self._ready) < self.MAX_PREPARED else None
        if item is None:
            return False
        self._ready.append(item)
        return True


class ExactPlayer:
    """Issues the calls of one rank as they were recorded."""

    prepare: Callable[[Call], Any] | None = None

    def __init__(self, rank: RankReplay, options: ReplayOptions, whatif: WhatIf) -> None:
        self._rank, self._whatif = rank, whatif
        self._messages = options.collectives is CollectiveMode.P2P
        self._timed = options.compute is not ComputeMode.NONE

    def play_all(self, events: Iterable[tuple[Call, int]], report: Report | None) -> None:
        """Issue all calls. Calls of the cache are issued here, inline: the cost per call is what matters."""
        rank, pace, clock, issue = self._rank, self._rank.pace, self._rank.pace.clock, self._rank.mpi.issue
        cached, live, timed = rank.cache.free, rank.requests.items, self._timed
        number, event, engine_ns, last = 0, None, 0, pace.last_ns
        try:
            for number, (event, delay_ns) in enumerate(events):
                if report is not None and not number & REPORT_MASK:
                    report(number)
                rank.at = number, event
                free = cached.get((event.place, event.values))
                prepared = free[-1] if free else None
                newest = prepared.newest_requests if prepared else ()
                if prepared is None or (newest and live[-len(newest) :] != newest):
                    self._issue(event, delay_ns)
                    last = pace.last_ns
                    continue
                if prepared.live is not None:
                    free.pop()  # type: ignore[union-attr]
                    live.append(prepared.live)
                now = clock()
                engine_ns += now - last
                if timed:
                    pace.waited_ns += delay_ns
                    now = pace.until(last + delay_ns, now)
                issue(prepared.call)
                last = pace.last_ns = clock()
                tally = prepared.tally
                tally.calls += 1
                tally.ns += last - now
                tally.sent += prepared.sent
                if prepared.makers:
                    del live[-len(newest) :]
                    for maker in prepared.makers:
                        maker.free.append(maker)  # type: ignore[union-attr]
                elif newest:
                    rank.complete(prepared.completes)
        except ReplayError as error:
            raise rank.with_location(error, number, "" if event is None else event.op) from None
        pace.engine_ns += engine_ns

    def _issue(self, call: Call, delay_ns: int) -> None:
        rank = self._rank
        rank.pace.due_in(delay_ns)
        if not rank.replay_cached(call):
            rank.family = call.family
            handler = by_messages if self._messages and becomes_messages(call) else HANDLERS[call.op]
            handler(rank, self._whatif.view(call))

    def finish(self) -> int:
        """No message is left; return 0."""
        return 0


def position_of(rank: RankReplay) -> ReplayPosition:
    """Return where a rank is. It may go on meanwhile: number and event belong together in any case."""
    number, event = rank.at
    if event is None:
        return ReplayPosition(0, "", False)
    stack = event.place.trace.stack(event.place.node.signature)
    computes = rank.pace.rests_until_ns > rank.pace.clock()
    return ReplayPosition(number, event.op, computes, short_frame(stack[0]) if stack else "")
