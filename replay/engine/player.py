"""The interface of the two ways to replay a rank: events as recorded, or sampled from histograms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from scalatrace.trace.query.walk import Call

REPORT_MASK = 255

Report = Callable[[int], None]
"""Called regularly with the number of events done."""


class Player(Protocol):
    """Replays the events of one rank.

    Attributes:
        prepare: returns a call as `play_all` wants it, some time before it is due, in the order of the walk;
            None when that is the call itself.
    """

    prepare: Callable[[Call], Any] | None

    def play_all(self, events: Iterable[tuple[Any, int]], report: Report | None) -> None:
        """Issue all calls, each after the computation before it (in nanoseconds).

        Raises:
            ReplayError: MPI returned an error, or the trace is inconsistent; names the event.
        """

    def finish(self) -> int:
        """Finish when all calls are issued; return the number of messages that no call received."""
