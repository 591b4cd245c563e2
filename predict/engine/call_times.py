"""Times of calls from a trace's histograms: computation before them, and the time inside."""

from __future__ import annotations

import ctypes

import numpy as np

from scalatrace.predict.engine import binding
from scalatrace.predict.engine.binding import PS
from scalatrace.predict.engine.fields import pointer
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import LOAD_STEPS, Trace
from scalatrace.trace.query.load import COMM, COMPUTE, NEAR
from scalatrace.trace.values.from_arrays import Ints
from scalatrace.trace.values.histogram import Histogram

__all__ = ["CallTimes", "load_factors"]


class CallTimes:
    """Computation before each event node, by the call before it.

    Args:
        drawn: keep bins to draw from, besides the means.
    """

    def __init__(self, trace: Trace, drawn: bool) -> None:
        self._trace, self._drawn = trace, drawn
        self._compute, self._inside = trace.stat_index.get(COMPUTE), trace.stat_index.get(COMM)
        self._kept: list[object] = []

    def before(self, event: Event) -> ctypes.Array[binding.Times] | None:
        """Return the C structures of an event's computation times; None where nothing was recorded."""
        if self._compute is None:
            return None
        factor = self._trace.stats[self._compute].resolution * PS
        known = [
            self._times(stats.pred, histogram, factor)
            for stats in event.stats
            if self._compute < len(stats.histograms) and (histogram := stats.histograms[self._compute])
        ]
        return (binding.Times * len(known))(*known) if known else None

    def _times(self, pred: int, histogram: Histogram, factor: float) -> binding.Times:
        made = binding.Times(pred=pred, mean_ps=max(0, round(histogram.mean * factor)))
        if self._drawn:
            bins = histogram.drawn_bins
            share = np.cumsum([b.count for b in bins], dtype=float)
            table = np.array([(b.min * factor, b.mean * factor, b.max * factor) for b in bins], dtype=float)
            rows = np.ascontiguousarray(np.column_stack((share / share[-1], table)))
            self._kept.append(rows)
            made.nbins, made.bins = len(bins), pointer(rows, ctypes.c_double)
        return made

    def inside(self, event: Event) -> int:
        """Return the mean time of an event's calls in picoseconds, as recorded."""
        if self._inside is None:
            return 0
        known = [
            histogram
            for stats in event.stats
            if self._inside < len(stats.histograms) and (histogram := stats.histograms[self._inside])
        ]
        count = sum(histogram.count for histogram in known)
        total = sum(histogram.total for histogram in known)
        return round(total / count * self._trace.stats[self._inside].resolution * PS) if count else 0


def load_factors(trace: Trace, means_ps: Ints) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """Return a factor on the means of each rank's calls; None where a trace has no totals of ranks.

    The same as `scalatrace.trace.query.load.Loads`, for all ranks at once.

    Args:
        means_ps: [nranks] what the means of a rank's calls add up to.
    """
    vec = trace.load_of(COMPUTE)
    if vec is None:
        return None
    loads = 2.0 ** (np.array(vec.first(trace.nprocs), dtype=float) / LOAD_STEPS)
    mean = float(means_ps.mean())
    if mean <= 0:
        return loads
    factors = np.where(means_ps > 0, loads * mean / np.maximum(means_ps, 1), loads)
    near = (factors >= 1 / NEAR) & (factors <= NEAR) & (means_ps > 0)
    return np.where(near, 1.0, factors)
