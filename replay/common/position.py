"""The place of a rank in its replay."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ReplayPosition"]


@dataclass(frozen=True)
class ReplayPosition:
    """How far a rank is.

    Attributes:
        event: number of the event whose call is made, from 0.
        op: operation, without `MPI_`; "" before the first call.
        computes: the rank waits for the end of a computation, not for others.
        site: where the program made the call; "" when that is not known.
    """

    event: int
    op: str
    computes: bool
    site: str = ""

    def __str__(self) -> str:
        if not self.op:
            return "before the first call"
        return f"MPI_{self.op}{f' at {self.site}' if self.site else ''} (event {self.event})"
