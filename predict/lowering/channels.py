"""Tags that keep messages of different communicators apart in a target with one space of tags."""

from __future__ import annotations

__all__ = ["FIRST_NUMBERED", "Tags"]

FIRST_NUMBERED = 1 << 24
"""First tag that stands for a communicator and a tag; smaller ones are those of MPI_COMM_WORLD."""

WORLD = 0


class Tags:
    """Tags by family, kind of message and tag; equal for all ranks that are lowered with this object.

    Two ranks share at most one communicator of a family, so the family is enough.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, str, int], int] = {}

    def of(self, family: int, tag: int, kind: str = "message") -> int:
        """Return the tag of a message. `kind`: "message", "partitioned" or "collective"."""
        if family == WORLD and kind == "message" and 0 <= tag < FIRST_NUMBERED:
            return tag
        key = family, kind, tag
        if key not in self._known:
            self._known[key] = FIRST_NUMBERED + len(self._known)
        return self._known[key]
