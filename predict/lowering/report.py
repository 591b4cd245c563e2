"""Account of a lowering: which calls became what, and what is lost."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Any

__all__ = ["Account", "Outcome"]


class Outcome(StrEnum):
    """How much of a call is in the result."""

    KEPT = "kept"
    LOWERED = "lowered"
    LOST = "lost"


class Account:
    """Calls and bytes by operation, outcome and treatment."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, Outcome, str]] = Counter()
        self._nbytes: Counter[tuple[str, Outcome, str]] = Counter()

    def add(self, operation: str, outcome: Outcome, treatment: str = "", nbytes: int = 0) -> None:
        """Count a call. `treatment`: what became of it, or why it is lost."""
        self._calls[operation, outcome, treatment] += 1
        self._nbytes[operation, outcome, treatment] += nbytes

    def rows(self) -> list[dict[str, Any]]:
        """Return operation, outcome, treatment, calls and bytes sent; what is lost comes last."""
        order = list(Outcome)
        keys = sorted(self._calls, key=lambda key: (order.index(key[1]), key[0], key[2]))
        return [
            {
                "operation": f"MPI_{operation}", "outcome": str(outcome), "treatment": treatment,
                "calls": self._calls[operation, outcome, treatment],
                "bytes": self._nbytes[operation, outcome, treatment],
            }
            for operation, outcome, treatment in keys
        ]  # fmt: skip

    def count(self, outcome: Outcome) -> int:
        """Return the number of calls with an outcome."""
        return sum(n for (_, its_outcome, _), n in self._calls.items() if its_outcome is outcome)
