"""Times of the calls of a rank for time lines: recorded ones, and those of a simulated run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from scalatrace.trace.model.call import Call
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.load import COMM, COMPUTE, Means, MeanTimes

__all__ = ["CallDuration", "Durations", "SimulatedDurations", "Times"]

Times = np.ndarray[tuple[int], np.dtype[np.float64]]

CallDuration = Callable[[Call], tuple[float, float]]
"""Computation before a call, and time in it, ns."""

UNTIMED_NS = 1000.0
"""Length of calls where the trace has no times."""


class Durations:
    """Recorded times of the calls of a trace.

    Args:
        trace: with the times that are drawn.
    """

    def __init__(self, trace: Trace) -> None:
        self.timed = COMM in trace.stat_index
        self._compute, self._comm = MeanTimes(trace, COMPUTE), MeanTimes(trace, COMM)

    def of_rank(self, rank: int) -> CallDuration:
        """Return a function that gives computation before a call of the rank, and time in it, ns."""
        before, inside = self._compute.of_rank(rank), self._comm.of_rank(rank)
        if not self.timed:
            return lambda call: (before(call), UNTIMED_NS)
        return lambda call: (before(call), inside(call))


class SimulatedDurations(Durations):
    """Times of the calls of a simulated run: means of call sites, times what fits to each rank's totals.

    Args:
        inside_ns: id of an event node -> mean time of its calls.
        totals: computation and time in calls of each rank of the trace, in their order, ns.
    """

    def __init__(self, trace: Trace, inside_ns: Mapping[int, float], totals: tuple[Times, Times]) -> None:
        super().__init__(trace)
        self.timed = True
        self._trace, self._inside_ns, self._totals = trace, inside_ns, totals
        self._means = Means(trace, COMPUTE)

    def of_rank(self, rank: int) -> CallDuration:
        """Return a function that gives computation before a call of the rank, and time in it, ns."""
        at = self._trace.ranks.index(rank)
        computed, inside = (float(total[at]) for total in self._totals)
        unit = next((stat.resolution for stat in self._trace.stats if stat.name == COMPUTE), 1.0)
        recorded = self._means.of(rank) * unit
        means = sum(n * self._inside_ns.get(id(event), 0.0) for event, n in executions_of(self._trace, rank))
        scale = computed / recorded if recorded > 0 else 0.0
        factor = inside / means if means > 0 else 0.0

        def times(call: Call) -> tuple[float, float]:
            histogram = call.stat(COMPUTE)
            mean = histogram.mean if histogram else 0.0
            return mean * scale, self._inside_ns.get(id(call.node), 0.0) * factor

        return times
