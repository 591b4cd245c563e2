"""Recorded times of the calls of a rank: means per predecessor, corrected by the rank's load."""

from __future__ import annotations

from collections.abc import Callable

from scalatrace.trace.model.call import Call, Place
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import Loads

__all__ = ["MeanTimes"]


class MeanTimes:
    """Means of a statistic, in ns, as a replay uses them.

    Args:
        stat: `load.COMPUTE` (before a call) or `load.COMM` (in it).
        scale: factor on all times.
    """

    def __init__(self, trace: Trace, stat: str, scale: float = 1.0) -> None:
        self._stat, self._scale = stat, scale
        self._loads = Loads(trace, stat)

    def of_rank(self, rank: int) -> Callable[[Call], float]:
        """Return a function that gives the time of a call of the rank, ns; 0 where none was recorded."""
        factor = self._scale * self._loads.over_means(rank)
        known: dict[tuple[Place, int], float] = {}

        def of(call: Call) -> float:
            key = call.place, call.pred
            ns = known.get(key)
            if ns is None:
                histogram = call.stat(self._stat)
                ns = known[key] = max(0.0, histogram.mean * factor) if histogram else 0.0
            return ns

        return of
