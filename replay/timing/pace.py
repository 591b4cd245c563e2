"""Wait in place of computing.

The wait ends at an absolute deadline, counted from the end of the call before: the time that the engine needs
between two calls (walking the trace, preparing arguments) is part of the wait. Time beyond the deadline is
added up for the report.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from scalatrace.replay.common.options import ComputeMode

Clock = Callable[[], int]

SLEEP_SLACK_NS = 100_000
"""A sleep may end this much late; the last stretch before a deadline, and a shorter wait, is spun."""

NAP_NS = 500_000
"""First interval between polls for messages while a rank computes, asleep."""

MAX_NAP_FACTOR = 10
"""Factor up to which the interval grows: each poll takes time from ranks that share the core."""

SHORT_NS = 50_000
"""Shorter waits never yield the processor: it may take milliseconds to get it back."""

YIELD_NS = 20_000
"""The processor is yielded only while more than this is left."""

AHEAD_NS = 100_000
"""Later events are prepared only while more than this is left; each may take this long."""


WAITING_NAP_NS = 100_000
"""First interval between polls for messages while the rank waits."""


@dataclass
class Pace:
    """The deadlines of one rank.

    Attributes:
        compute: how to wait.
        clock: nanoseconds, monotonic.
        last_ns: when the call before returned.
        deadline_ns: when the next call is due.
        waited_ns: computation so far, in full.
        late_ns: sum of the times beyond deadlines.
        engine_ns: the engine's own time between calls, hidden or not.
        rests_until_ns: when the last wait ends.
        nap_ns: how long to sleep at first when something polls.
        poll: called regularly in longer waits; returns whether it did something.
        idle: does a part of later work; returns False when there is none.
    """

    compute: ComputeMode
    clock: Clock = time.perf_counter_ns
    sleep: Callable[[float], None] = time.sleep
    idle: Callable[[], bool] = lambda: False
    poll: Callable[[], bool] | None = None
    last_ns: int = 0
    deadline_ns: int = 0
    waited_ns: int = 0
    late_ns: int = 0
    engine_ns: int = 0
    rests_until_ns: int = 0
    nap_ns: int = NAP_NS

    def start(self) -> None:
        """Set the time from which the first deadline counts."""
        self.last_ns = self.deadline_ns = self.clock()

    def due_in(self, ns: int) -> None:
        """Set the deadline of the next call: this long after the end of the last one."""
        self.deadline_ns = self.last_ns + ns
        self.waited_ns += ns

    def wait(self) -> int:
        """Wait until the next call is due; return the time then."""
        now = self.clock()
        self.engine_ns += now - self.last_ns
        return now if self.compute is ComputeMode.NONE else self.until(self.deadline_ns, now)

    def until(self, deadline_ns: int, now: int) -> int:
        """Wait until a deadline; return the time then, which is later when it has passed."""
        left_ns = deadline_ns - now
        if left_ns > 0:
            left_ns = self._rest(deadline_ns, left_ns)
        self.late_ns -= left_ns
        return deadline_ns - left_ns

    def _rest(self, deadline_ns: int, left_ns: int) -> int:
        """Wait until the deadline; return the time left, which is negative."""
        self.rests_until_ns = deadline_ns
        lets_go = self.compute is ComputeMode.SPIN and left_ns > SHORT_NS
        while left_ns > AHEAD_NS and self.idle():
            left_ns = deadline_ns - self.clock()
        if self.compute is ComputeMode.SLEEP:
            left_ns = self._sleep(deadline_ns, left_ns)
        while left_ns > 0:
            if lets_go and left_ns > YIELD_NS:
                if self.poll is not None:
                    self.poll()
                os.sched_yield()  # with more ranks than cores, others compute meanwhile
            left_ns = deadline_ns - self.clock()
        return left_ns

    def _sleep(self, deadline_ns: int, left_ns: int) -> int:
        """Sleep until shortly before the deadline, in parts if `poll` is set; return the time left."""
        longest = self.nap_ns
        while left_ns > SLEEP_SLACK_NS:
            nap = left_ns - SLEEP_SLACK_NS
            if self.poll is not None:
                if self.poll():
                    longest = self.nap_ns
                    left_ns = deadline_ns - self.clock()
                    continue
                nap = min(nap, longest)
                longest = min(2 * longest, MAX_NAP_FACTOR * self.nap_ns)
            self.sleep(nap / 1e9)
            left_ns = deadline_ns - self.clock()
        return left_ns

    def called(self) -> int:
        """Record the end of a call; return the time."""
        self.last_ns = self.deadline_ns = now = (
            self.clock()
        )  # a further call of the same event is due at once
        return now


@dataclass
class Lateness:
    """How late a rank is. A late rank waits less for messages that the replay does not receive.

    Computation is never shortened.

    Attributes:
        pace: deadlines of the rank.
        behind_ns: how late the rank is.
    """

    pace: Pace
    behind_ns: int = 0

    def ended(self, start_ns: int, planned_ns: int) -> None:
        """Update the lateness after something that began at `start_ns` and should take `planned_ns`."""
        self.behind_ns = max(0, self.behind_ns + self.pace.last_ns - start_ns - planned_ns)

    def compute(self, ns: int) -> None:
        """Wait for the time of a computation."""
        if ns > 0:
            start = self.pace.last_ns
            self._pass(ns)
            self.ended(start, ns)

    def wait_for_others(self, ns: int) -> None:
        """Wait as long as the program waited for other ranks, less if the rank is late."""
        start = self.pace.last_ns
        self.wait_within(ns)
        self.ended(start, ns)

    def wait_within(self, ns: int) -> None:
        """Do the same inside something whose end will be passed to `ended`."""
        if ns > self.behind_ns:
            self.pace.nap_ns = WAITING_NAP_NS
            self._pass(ns - self.behind_ns)
            self.pace.nap_ns = NAP_NS

    def _pass(self, ns: int) -> None:
        self.pace.due_in(ns)
        self.pace.wait()
        self.pace.called()
