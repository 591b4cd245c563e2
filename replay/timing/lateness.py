"""Time that passes without a call, and by how much a rank is late.

A rank that waits for messages nobody knows lets the time pass that the program waited for them.
When it is late, what it would wait for has come: there it catches up. Computation is never shortened.
"""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.replay.timing.pace import NAP_NS, Pace

WAITING_NAP_NS = 100_000
"""So long may a message lie there at first while its receiver waits for one."""


@dataclass
class CatchingUp:
    """The lateness of one rank.

    Attributes:
        pace: its deadlines.
        behind_ns: how late it is.
    """

    pace: Pace
    behind_ns: int = 0

    def called(self, start_ns: int, planned_ns: int) -> None:
        """Note that what began then, and was to take so long, has ended."""
        self.behind_ns = max(0, self.behind_ns + self.pace.last_ns - start_ns - planned_ns)

    def compute(self, ns: int) -> None:
        """Let computation pass."""
        if ns > 0:
            start = self.pace.last_ns
            self._pass(ns)
            self.called(start, ns)

    def wait_for_others(self, ns: int) -> None:
        """Let time pass in which the program waited for others: less if the rank is late."""
        start = self.pace.last_ns
        self.wait_within(ns)
        self.called(start, ns)

    def wait_within(self, ns: int) -> None:
        """Do so as a part of something whose end will be noted."""
        if ns > self.behind_ns:
            self.pace.nap_ns = WAITING_NAP_NS
            self._pass(ns - self.behind_ns)
            self.pace.nap_ns = NAP_NS

    def _pass(self, ns: int) -> None:
        self.pace.due_in(ns)
        self.pace.wait()
        self.pace.called()
