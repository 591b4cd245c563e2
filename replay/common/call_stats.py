"""Statistics of the calls that a rank issued: their number, time in them and bytes sent.

`replay.compare` compares them with the trace (dissertation, §3.4.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """Number of calls, nanoseconds in MPI and bytes sent."""

    calls: int = 0
    ns: int = 0
    sent: int = 0


class CallStats:
    """A tally for each operation and communicator family. Callers keep the tally they add to."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, int], Tally] = {}

    def of(self, op: str, family: int) -> Tally:
        """Return the tally of an operation on the communicators of a family."""
        return self._tallies.setdefault((op, family), Tally())

    def rows(self) -> Iterator[tuple[str, int, Tally]]:
        """Yield (operation, family, tally) of all operations with calls."""
        for (op, family), tally in self._tallies.items():
            if tally.calls:
                yield op, family, tally
