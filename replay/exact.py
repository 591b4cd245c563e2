"""Issue the calls of one rank as they were recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from scalatrace.replay.calls.by_messages import becomes_messages, by_messages
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.options import CollectiveMode, ComputeMode, ReplayOptions
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.engine.handlers import HANDLERS
from scalatrace.replay.engine.player import REPORT_MASK, Report
from scalatrace.replay.engine.rank import RankReplay

if TYPE_CHECKING:
    from scalatrace.trace.query.walk import Call

__all__ = ["ExactPlayer"]


class ExactPlayer:
    """Issues the calls of one rank."""

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
