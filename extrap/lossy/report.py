"""Report of dropped calls and reasons: by operation and call site, and by rank."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scalatrace.extrap.lossy.calls import Reason
from scalatrace.operations import Category, operation

if TYPE_CHECKING:
    from scalatrace.extrap.lossy.state import LossyState

__all__ = ["Loss", "Losses", "losses_of"]


@dataclass(frozen=True, slots=True)
class Loss:
    """Dropped calls of one operation and call site, for one reason.

    Attributes:
        ranks: rank -> calls.
    """

    op: str
    site: str
    reason: Reason
    ranks: dict[int, int]

    @property
    def calls(self) -> int:
        """Calls of all ranks."""
        return sum(self.ranks.values())


@dataclass(frozen=True, slots=True)
class Losses:
    """The dropped calls of one trace.

    Attributes:
        events: calls before.
        nulled: calls of which one half goes to MPI_PROC_NULL now.
        averaged: remaining calls whose counts are means.
    """

    nprocs: int
    grid: str
    events: int
    losses: tuple[Loss, ...]
    nulled: int
    averaged: int

    @property
    def dropped(self) -> int:
        """Calls that are gone."""
        return sum(loss.calls for loss in self.losses)

    @property
    def share(self) -> float:
        """Part of the calls that is gone."""
        return self.dropped / self.events if self.events else 0.0

    @property
    def averaged_share(self) -> float:
        """Part of the calls whose counts are means."""
        return self.averaged / self.events if self.events else 0.0

    def plain(self) -> dict[str, Any]:
        """Return the losses as plain data."""
        return {
            "ranks": self.nprocs,
            "grid": self.grid,
            "events": self.events,
            "dropped": self.dropped,
            "share": self.share,
            "halves_to_proc_null": self.nulled,
            "with_mean_counts": self.averaged,
            "calls": [
                {
                    "op": loss.op,
                    "site": loss.site,
                    "reason": loss.reason.words,
                    "dropped": loss.calls,
                    "share": loss.calls / self.events,
                    "by_rank": {str(rank): n for rank, n in sorted(loss.ranks.items())},
                }
                for loss in self.losses
            ],
        }


def losses_of(state: LossyState) -> Losses:
    """Return the dropped calls of a trace, most frequent first."""
    ranks_of: dict[tuple[str, str, Reason], Counter[int]] = {}
    marks = state.calls.marks
    for number in np.flatnonzero(marks).tolist():
        call = state.calls.calls[number]
        key = call.op, call.site, Reason(int(marks[number]))
        ranks_of.setdefault(key, Counter())[call.rank] += 1
    losses = [Loss(*key, dict(ranks)) for key, ranks in ranks_of.items()]
    losses.sort(key=lambda loss: (-loss.calls, loss.op, loss.site, loss.reason))
    nulled = sum(
        state.calls.kept(number) and operation(state.calls.calls[number].op).category is Category.SENDRECV
        for number, names in state.repair.nulled.items()
        if names
    )
    averaged = sum(map(state.calls.kept, state.means))
    return Losses(
        state.trace.nprocs,
        str(state.places.grid),
        len(state.calls.calls),
        tuple(losses),
        int(nulled),
        averaged,
    )
