"""What plays the events of a rank: as recorded, or drawn from histograms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from scalatrace.trace.query.walk import Call

REPORT_MASK = 255

Report = Callable[[int], None]
"""Told now and then how many events are done."""


class Player(Protocol):
    """What a rank does with its events.

    Attributes:
        prepare: returns a call as `play_all` wants it, some time before it is due, in the order of the walk;
            None when that is the call itself.
    """

    prepare: Callable[[Call], Any] | None

    def play_all(self, events: Iterable[tuple[Any, int]], report: Report | None) -> None:
        """Make all calls, each once the computation before it, in nanoseconds, is over.

        Raises:
            ReplayError: MPI refused a call, or the trace contradicts itself; names the event.
        """

    def finish(self) -> int:
        """Do what is left when all calls are made; return how many messages came that no call received."""
