"""The live requests of a rank, named by age as the recorder names them: the newest is 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from replay.errors import ReplayError

if TYPE_CHECKING:
    from replay.made import Made


@dataclass(eq=False, slots=True)
class Live:
    """A request (or matched message) that the program still holds.

    Attributes:
        handle: the transport's own object.
        persistent: completion leaves it alive, only freeing ends it.
        buffers: memory in use until then.
        made: the call that made it, if that is kept to be used again.
        call: what made it, whose arrays MPI may use until it ends.
    """

    handle: Any
    persistent: bool = False
    buffers: list[Any] = field(default_factory=list)
    made: Made | None = None
    call: Any = None


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

    def remove(self, gone: Iterable[Live]) -> list[Live]:
        """Take these out, wherever they are; return those that were there."""
        ended = dict.fromkeys(gone)
        if len(ended) == len(self._items) and all(item in ended for item in self._items):
            removed, self._items = self._items, []
            return removed
        removed = [item for item in self._items if item in ended]
        self._items = [item for item in self._items if item not in ended]
        return removed

    def swap(self, a: Live, b: Live) -> None:
        """Let two requests change ages: MPI completed `a` where the program saw `b` complete."""
        i, j = self._items.index(a), self._items.index(b)
        self._items[i], self._items[j] = b, a

    def left(self) -> Sequence[Live]:
        """Return what is still alive, oldest first."""
        return tuple(self._items)
