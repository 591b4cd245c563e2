"""One handler per MPI operation, found by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalatrace.replay.engine.rank import RankReplay

Handler = Callable[["RankReplay", Any], None]
"""Issues the call that an event (a `Call` of the walk) describes."""

HANDLERS: dict[str, Handler] = {}


def handles(*ops: str) -> Callable[[Handler], Handler]:
    """Register a function as the handler of these operations (names without `MPI_`)."""

    def register(handler: Handler) -> Handler:
        for op in ops:
            if op in HANDLERS:
                raise ValueError(f"two handlers for {op}")
            HANDLERS[op] = handler
        return handler

    return register


def missing(ops: Iterable[str]) -> list[str]:
    """Return the operations that no handler knows, sorted."""
    return sorted(set(ops) - HANDLERS.keys())
