"""The calls of one rank, made as they were recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from scalatrace.replay.calls.by_messages import becomes_messages, by_messages
from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.common.options import Collectives, Compute, Options
from scalatrace.replay.common.whatif import WhatIf
from scalatrace.replay.engine.player import REPORT_MASK, Report
from scalatrace.replay.engine.rank import Rank
from scalatrace.replay.engine.registry import HANDLERS

if TYPE_CHECKING:
    from scalatrace.trace.query.walk import Call

__all__ = ["ExactRank"]


class ExactRank:
    """Makes the calls of one rank."""

    prepare: Callable[[Call], Any] | None = None

    def __init__(self, rank: Rank, options: Options, whatif: WhatIf) -> None:
        self._rank, self._whatif = rank, whatif
        self._messages = options.collectives is Collectives.P2P
        self._timed = options.compute is not Compute.NONE

    def play_all(self, events: Iterable[tuple[Call, int]], report: Report | None) -> None:
        """Make all calls. Those that are kept are made right here: what happens per call is what counts."""
        rank, pace, clock, issue = self._rank, self._rank.pace, self._rank.pace.clock, self._rank.mpi.issue
        kept, live, timed = rank.made.spares, rank.requests.items, self._timed
        number, event, engine_ns, last = 0, None, 0, pace.last_ns
        try:
            for number, (event, delay_ns) in enumerate(events):
                if report is not None and not number & REPORT_MASK:
                    report(number)
                spares = kept.get((event.place, event.values))
                made = spares[-1] if spares else None
                if made is None or (made.tail and live[-len(made.tail) :] != made.tail):
                    self._make(event, delay_ns)
                    last = pace.last_ns
                    continue
                if made.live is not None:
                    spares.pop()  # type: ignore[union-attr]
                    live.append(made.live)
                now = clock()
                engine_ns += now - last
                if timed:
                    pace.waited_ns += delay_ns
                    now = pace.until(last + delay_ns, now)
                issue(made.call)
                last = pace.last_ns = clock()
                tally = made.tally
                tally.calls += 1
                tally.ns += last - now
                tally.sent += made.sent
                if made.frees:
                    del live[-len(made.tail) :]
                    for maker in made.frees:
                        maker.spares.append(maker)  # type: ignore[union-attr]
                elif made.tail:
                    rank.complete(made.completes)
        except ReplayError as error:
            raise rank.told(error, number, "" if event is None else event.op) from None
        pace.engine_ns += engine_ns

    def _make(self, call: Call, delay_ns: int) -> None:
        rank = self._rank
        rank.pace.due_in(delay_ns)
        if not rank.made_again(call):
            rank.family = call.family
            handler = by_messages if self._messages and becomes_messages(call) else HANDLERS[call.op]
            handler(rank, self._whatif.view(call))

    def finish(self) -> int:
        """Nothing is left."""
        return 0
