"""Numbers of communicators, one for all their ranks."""

from __future__ import annotations

from scalatrace.trace.model.tables import Communicator
from scalatrace.trace.values.vec import UNDEFINED

__all__ = ["Instances"]


class Instances:
    """The communicators seen so far.

    Attributes:
        members: of each communicator by its number, the world ranks of both groups, in order.
    """

    def __init__(self) -> None:
        self.members: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, tuple[int, ...]], int | None] = {}
        self._seen: dict[tuple[int, int, int], tuple[Communicator, int | None]] = {}

    def number(self, comm: Communicator) -> int | None:
        """Return the number of a communicator; None if it has processes of another world."""
        key = comm.family, id(comm.members), id(comm.remote)  # ranks share them; they are kept alive below
        if key not in self._seen:
            self._seen[key] = comm, self._number(comm)
        return self._seen[key][1]

    def _number(self, comm: Communicator) -> int | None:
        everyone = tuple(sorted((*comm.members, *(comm.remote or ()))))
        if (comm.family, everyone) not in self._numbers:
            known = UNDEFINED not in everyone
            self._numbers[comm.family, everyone] = len(self.members) if known else None
            if known:
                self.members.append(everyone)
        return self._numbers[comm.family, everyone]
