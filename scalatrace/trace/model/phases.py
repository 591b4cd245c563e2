"""Start-up and shut-down of a run, as `scalatrace.trace.phases` finds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scalatrace.trace.model.nodes import Event
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList

__all__ = ["Phase", "Phases", "Taken"]


@dataclass(frozen=True, slots=True)
class Phase:
    """Time of a phase, computation and calls together, in ns.

    Attributes:
        mean_ns: of the ranks.
        max_ns: no rank has more.
    """

    mean_ns: float = 0.0
    max_ns: float = 0.0


class Taken(NamedTuple):
    """A histogram that belongs to a phase.

    Attributes:
        event, pred, stat: event node, predecessor, and number of the statistic.
        ranks: that have samples in it; more where only some executions come after this predecessor.
    """

    event: Event
    pred: int
    stat: int
    histogram: Histogram
    ranks: RankList


@dataclass(frozen=True)
class Phases:
    """The phases of a trace.

    Attributes:
        taken: the histograms of start-up, and of shut-down.
    """

    start_up: Phase = Phase()
    shut_down: Phase = Phase()
    taken: tuple[tuple[Taken, ...], tuple[Taken, ...]] = ((), ())

    def __bool__(self) -> bool:
        return any(self.taken)
