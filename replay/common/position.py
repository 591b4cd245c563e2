"""The place of a rank in its replay."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Position"]


@dataclass(frozen=True)
class Position:
    """How far a rank is.

    Attributes:
        events: number of calls so far, with the one that is made.
        place: operation and call site of that one.
        computes: the rank waits for the end of a computation, not for others.
    """

    events: int
    place: str
    computes: bool

    def __str__(self) -> str:
        return f"call {self.events}, {self.place}"
