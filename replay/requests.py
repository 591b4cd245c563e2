"""The live requests of a rank, named by age as the recorder names them: the newest is 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from replay.errors import ReplayError


@dataclass(eq=False, slots=True)
class Live:
    """A request (or matched message) that the program still holds.

    Attributes:
        handle: the transport's own object.
        persistent: completion leaves it alive, only freeing ends it.
        buffers: memory in use until then.
    """

    handle: Any
    persistent: bool = False
    buffers: list[Any] = field(default_factory=list)


class LiveList:
    """Live requests, oldest first. Lookups by age are lookups from the end."""

    def __init__(self, what: str = "request") -> None:
        self.what = what
        self._items: list[Live] = []

    def __len__(self) -> int:
        return len(self._items)

    def add(self, live: Live) -> Live:
        """Make `live` the newest."""
        self._items.append(live)
        return live

    def at(self, age: int) -> Live:
        """Return the one of that age.

        Raises:
            ReplayError: there is none; the trace was edited, or the recorder was wrong.
        """
        if not 0 <= age < len(self._items):
            raise ReplayError(f"no live {self.what} of age {age}; there are {len(self._items)}")
        return self._items[-1 - age]

    def remove(self, gone: Iterable[Live]) -> list[Any]:
        """Take these out, wherever they are; return the memory they used."""
        ended = set(map(id, gone))
        buffers = [b for item in self._items if id(item) in ended for b in item.buffers]
        self._items = [item for item in self._items if id(item) not in ended]
        return buffers

    def swap(self, a: Live, b: Live) -> None:
        """Let two requests change names: MPI completed `a` where the program saw `b` complete."""
        a.handle, b.handle = b.handle, a.handle
        a.buffers, b.buffers = b.buffers, a.buffers

    def left(self) -> Sequence[Live]:
        """Return what is still alive, oldest first."""
        return tuple(self._items)
