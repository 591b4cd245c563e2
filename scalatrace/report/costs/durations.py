"""Times of the calls of a rank for time lines: recorded ones, and those of a simulated run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from scalatrace.trace.model.call import Call
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import COMM, COMPUTE, MeanTimes

__all__ = ["CallDuration", "CallTimes", "Durations", "Line", "SimulatedDurations"]

Line = tuple[int, int]
"""Rank and thread."""

CallTimes = np.ndarray[tuple[int, int], np.dtype[np.float64]]
"""[calls, 2] start and end of each call, ns."""

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

    def of_line(self, rank: int, thread: int = 0) -> CallDuration:
        """Return a function that gives computation before a call of a rank's thread, and time in it, ns."""
        before, inside = self._compute.of_rank(rank), self._comm.of_rank(rank)
        if not self.timed:
            return lambda call: (before(call), UNTIMED_NS)
        return lambda call: (before(call), inside(call))

    def of_nodes(self, rank: int) -> Callable[[Event], tuple[float, float]]:
        """Return a function that gives mean times of a node's calls by a rank, as `of_line` of a call."""
        before, inside = self._compute.of_nodes(rank), self._comm.of_nodes(rank)
        return lambda event: (before(event), inside(event) if self.timed else UNTIMED_NS)


class SimulatedDurations(Durations):
    """Times of the calls of a simulated run.

    Args:
        times: of each line, [calls, 2] start and end of each call in the order of the walk, ns.
    """

    def __init__(self, times: Mapping[Line, CallTimes]) -> None:
        self.timed, self._times = True, times

    def of_line(self, rank: int, thread: int = 0) -> CallDuration:
        """Return a function that takes the calls of a line in their order; see `Durations.of_line`."""
        times = self._times[rank, thread]
        ends = np.concatenate(([0.0], times[:-1, 1])) if len(times) else np.zeros(0)
        pairs = zip((times[:, 0] - ends).tolist(), (times[:, 1] - times[:, 0]).tolist(), strict=True)
        return lambda call: next(pairs)
