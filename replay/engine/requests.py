"""The live requests of a rank, named by age as the recorder names them: the newest is 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scalatrace.replay.common.errors import ReplayError

if TYPE_CHECKING:
    from scalatrace.replay.engine.call_cache import Made
    from scalatrace.replay.transport.args import Status


@dataclass(eq=False, slots=True)
class Live:
    """A request (or matched message) that the program still holds.

    Attributes:
        handle: the transport's own object.
        persistent: completion leaves it alive, only freeing ends it.
        buffers: memory in use until then.
        made: the call that made it, if that is kept to be used again.
        call: what made it, whose arrays MPI may use until it ends.
        status: of a matched message, from the call that matched it.
    """

    handle: Any
    persistent: bool = False
    buffers: list[Any] = field(default_factory=list)
    made: Made | None = None
    call: Any = None
    status: Status | None = None


class LiveList:
    """Live requests, oldest first. Lookups by age are lookups from the end.

    Attributes:
        items: them, always in the same list.
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
        """Return the one of that age.

        Raises:
            ReplayError: there is none; the trace was edited, or the recorder was wrong.
        """
        if not 0 <= age < len(self.items):
            raise ReplayError(f"no live {self.what} of age {age}; there are {len(self.items)}")
        return self.items[-1 - age]

    def newest(self, lives: Iterable[Live]) -> list[Live]:
        """Return the newest ones, oldest first, back to the oldest of these."""
        return self.items[min(self.items.index(live) for live in lives) :]

    def remove(self, gone: Iterable[Live]) -> list[Live]:
        """Take these out, wherever they are; return those that were there."""
        ended = list(dict.fromkeys(gone))
        if ended and self.items[-len(ended) :] == ended:
            del self.items[-len(ended) :]
            return ended
        some = set(ended)
        removed = [item for item in self.items if item in some]
        self.items[:] = [item for item in self.items if item not in some]
        return removed

    def swap(self, a: Live, b: Live) -> None:
        """Let two requests change ages: MPI completed `a` where the program saw `b` complete."""
        i, j = self.items.index(a), self.items.index(b)
        self.items[i], self.items[j] = b, a

    def left(self) -> Sequence[Live]:
        """Return what is still alive, oldest first."""
        return tuple(self.items)
