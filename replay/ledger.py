"""What a rank has really issued: calls per operation and bytes handed over, counted at the transport.

The expected side is counted from the trace by `scalatrace.ops`; the two meet in `replay.compare` (§3.4.1).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Ledger:
    """Calls, nanoseconds in MPI and bytes handed over, by operation."""

    calls: Counter[str] = field(default_factory=Counter)
    mpi_ns: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)

    def add(self, op: str, ns: int, sent: int) -> None:
        """Count a call."""
        self.calls[op] += 1
        self.mpi_ns[op] += ns
        self.sent[op] += sent
