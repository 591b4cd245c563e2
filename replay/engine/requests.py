"""The live requests of a rank, identified by age as in the trace: the newest has age 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scalatrace.replay.common.errors import ReplayError
from scalatrace.replay.engine.live import Live

__all__ = ["Live", "LiveList"]


class LiveList:
    """Live requests, oldest first. Lookups by age are lookups from the end.

    Attributes:
        items: the requests; always the same list object.
    """

    def __init__(self, what: str = "request") -> None:
        self.what = what
        self.items: list[Live] = []

    def __len__(self) -> int:
        return len(self.items)

    def add(self, live: Live) -> Live:
        """Make `live` the newest."""
        self.items.append(live)
        return live

    def at(self, age: int) -> Live:
        """Return the request of an age.

        Raises:
            ReplayError: there is no such request; the trace was edited, or the recorder was wrong.
        """
        if not 0 <= age < len(self.items):
            raise ReplayError(f"no live {self.what} of age {age}; there are {len(self.items)}")
        return self.items[-1 - age]

    def newest(self, lives: Iterable[Live]) -> list[Live]:
        """Return the newest requests, oldest first, back to the oldest of these."""
        return self.items[min(self.items.index(live) for live in lives) :]

    def remove(self, gone: Iterable[Live]) -> list[Live]:
        """Remove these requests; return those that were in the list."""
        ended = list(dict.fromkeys(gone))
        if ended and self.items[-len(ended) :] == ended:
            del self.items[-len(ended) :]
            return ended
        some = set(ended)
        removed = [item for item in self.items if item in some]
        self.items[:] = [item for item in self.items if item not in some]
        return removed

    def swap(self, a: Live, b: Live) -> None:
        """Exchange the ages of two requests: MPI completed `a` where the program saw `b` complete."""
        i, j = self.items.index(a), self.items.index(b)
        self.items[i], self.items[j] = b, a

    def left(self) -> Sequence[Live]:
        """Return the requests that are still live, oldest first."""
        return tuple(self.items)
