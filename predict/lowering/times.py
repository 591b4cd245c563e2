"""Recorded times of the calls of a rank: means per predecessor, corrected by the rank's load."""

from __future__ import annotations

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
        self._known: dict[tuple[Place, int], float] = {}
        self._factor = scale

    def start(self, rank: int) -> None:
        """Begin with the calls of a rank; those of other ranks are forgotten."""
        self._known.clear()
        self._factor = self._scale * self._loads.over_means(rank)

    def of(self, call: Call) -> float:
        """Return the time of a call of the rank, ns; 0 where none was recorded."""
        key = call.place, call.pred
        ns = self._known.get(key)
        if ns is None:
            histogram = call.stat(self._stat)
            ns = self._known[key] = max(0.0, histogram.mean * self._factor) if histogram else 0.0
        return ns
