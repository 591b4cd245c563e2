"""What a rank has really issued, counted at the transport: calls, time in them and bytes handed over.

The expected side is counted from the trace by `scalatrace.ops`; the two meet in `replay.compare` (§3.4.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """Calls, nanoseconds in MPI and bytes handed over."""

    calls: int = 0
    ns: int = 0
    sent: int = 0


class Ledger:
    """A tally for each operation and communicator family. Callers keep the one they add to."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, int], Tally] = {}

    def of(self, op: str, family: int) -> Tally:
        """Return the tally of an operation on the communicators of a family."""
        return self._tallies.setdefault((op, family), Tally())

    def rows(self) -> Iterator[tuple[str, int, Tally]]:
        """Yield (operation, family, tally) of what was called."""
        for (op, family), tally in self._tallies.items():
            if tally.calls:
                yield op, family, tally
