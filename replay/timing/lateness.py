"""How late a rank is, and where it catches up.

Where the program waited for messages that the replay does not receive, a rank waits as long as the program
did. A late rank waits less: there it catches up. Computation is never shortened.
"""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.replay.timing.pace import NAP_NS, Pace

WAITING_NAP_NS = 100_000
"""First interval between polls for messages while the rank waits."""


@dataclass
class Lateness:
    """The lateness of one rank.

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
