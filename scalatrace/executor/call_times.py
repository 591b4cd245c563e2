"""Times of calls from a trace's histograms: computation before them, and the time inside."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import chain
from math import inf

import numpy as np
from numpy.typing import NDArray

from scalatrace.errors import LimitError
from scalatrace.executor import binding
from scalatrace.executor.binding import MAX_PS, PS
from scalatrace.executor.fields import pointer
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import LOAD_STEPS
from scalatrace.trace.query.load import COMM, COMPUTE, near
from scalatrace.trace.query.requests import POLLING
from scalatrace.trace.values.histogram import Histogram

__all__ = ["PrecedingCallTimes", "TooLongCallError", "excess_of_part", "load_factors", "picoseconds"]

LONGEST = "2^63 ps (106 days), the longest time of a simulation"


class TooLongCallError(LimitError):
    """A time that a simulation cannot represent."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} exceeds {LONGEST}; use a smaller --compute-scale, a faster platform, or fewer steps"
        )


def picoseconds(ps: float, what: str) -> int:
    """Round a time to an integer. Raises TooLongCallError where it has more than 63 bits."""
    if not abs(ps) < MAX_PS:
        raise TooLongCallError(f"{what} of {ps / PS / 1e9:.4g} s")
    return round(ps)


class PrecedingCallTimes:
    """Computation before each event node, by the call before it: means, and on demand bins to draw from.

    Attributes:
        compute_ps: sum of all computation of the events seen so far, on all ranks.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.compute_ps = 0.0
        self._compute, self._inside = trace.stat_index.get(COMPUTE), trace.stat_index.get(COMM)
        self._polls = trace.stat_index.get("polls")
        self._without_bins: list[tuple[ctypes.Array[binding.EngineTimes], list[Histogram]]] = []
        self._without_excess: list[tuple[ctypes.Array[binding.EngineTimes], Event, list[Histogram]]] = []
        self._bins: list[object] = []  # that structures point to

    def before(self, event: Event) -> ctypes.Array[binding.EngineTimes] | None:
        """Return the C structures of an event's computation times; None where nothing was recorded."""
        if self._compute is None:
            return None
        after_pred = event.histograms_by_pred(self._compute)
        if not after_pred:
            return None
        what = f"a mean computation before {self._trace.ops[event.op].name}"
        times = (binding.EngineTimes * len(after_pred))(
            *(
                binding.EngineTimes(pred=pred, mean_ps=max(0, picoseconds(h.mean * self._ps, what)))
                for pred, h in after_pred
            )
        )
        histograms = [histogram for _, histogram in after_pred]
        self._without_bins.append((times, histograms))
        self._without_excess.append((times, event, histograms))
        self.compute_ps += sum(histogram.total for _, histogram in after_pred) * self._ps
        return times

    @property
    def _ps(self) -> float:
        """Picoseconds of a unit of the computation times."""
        return 0.0 if self._compute is None else self._trace.stats[self._compute].resolution * PS

    def add_bins(self, spread: float) -> None:
        """Add the bins of all histograms to the structures made so far.

        Args:
            spread: of the ranks' loads, as of `Histogram.within_ranks`.
        """
        for call_times, histograms in self._without_bins:
            for times, histogram in zip(call_times, histograms, strict=True):
                bins = histogram.within_ranks(spread).drawn_bins
                share = np.cumsum([b.count for b in bins], dtype=float)
                table = np.array([(b.min, b.mean, b.max) for b in bins], dtype=float) * self._ps
                rows = np.ascontiguousarray(np.column_stack((share / share[-1], table)))
                self._bins.append(rows)
                times.nbins, times.bins = len(bins), pointer(rows, ctypes.c_double)
        self._without_bins.clear()

    def add_excess(self) -> None:
        """Add to all structures made so far what one rank can have more and less than the mean."""
        for call_times, event, histograms in self._without_excess:
            share = 1 / max(len(self._trace.participants(event)), 1)
            for times, histogram in zip(call_times, histograms, strict=True):
                times.more, times.less = excess_of_part(histogram, share)
        self._without_excess.clear()

    def inside(self, event: Event) -> int:
        """Return the mean time of an event's calls in picoseconds, as recorded."""
        histograms = [histogram for _, histogram in event.histograms_by_pred(self._inside)]
        count = sum(histogram.count for histogram in histograms)
        if not count:
            return 0
        mean = sum(histogram.total for histogram in histograms) / count
        return picoseconds(mean * self._inside_ps, f"a mean time in {self._trace.ops[event.op].name}")

    def polled(self, event: Event) -> tuple[int, int]:
        """Return the mean time of polls that found nothing, before a poll that did, in ps; and their sum.

        A poll that finds something is taken to be as long as the shortest poll of the trace.
        """
        histograms = [histogram for _, histogram in event.histograms_by_pred(self._inside)]
        count = sum(histogram.count for histogram in histograms)
        total = sum(histogram.total for histogram in histograms) - count * self._shortest_poll
        if not count:
            return 0, 0
        total_ps = max(0, round(total * self._inside_ps))
        picoseconds(total_ps / count, f"a mean time of polls in {self._trace.ops[event.op].name}")
        return total_ps // count, total_ps

    @cached_property
    def _shortest_poll(self) -> float:
        """Time of one poll: the least of any one, or of the mean of the polls until one finds something."""
        shortest = inf
        polling = (event for event in self._trace.leaves() if self._trace.ops[event.op].name in POLLING)
        for stats in chain.from_iterable(event.stats for event in polling):
            times, polls = stats.histogram(self._inside), stats.histogram(self._polls)
            if times is not None:
                shortest = min(shortest, times.min, times.mean / max(1.0, polls.mean if polls else 1.0))
        return shortest

    @property
    def _inside_ps(self) -> float:
        """Picoseconds of a unit of the times inside calls."""
        return 0.0 if self._inside is None else self._trace.stats[self._inside].resolution * PS


def load_factors(
    trace: Trace, means: NDArray[np.float64]
) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """Return a factor on the means of each rank's calls; None where a trace has no totals of ranks.

    The same as `scalatrace.trace.query.load.Loads`, for all ranks at once.

    Args:
        means: [nranks] what the means of a rank's calls add up to.
    """
    vec = trace.load_of(COMPUTE)
    if vec is None:
        return None
    steps = vec.first(trace.nprocs)
    loads = 2.0 ** (np.array(steps, dtype=float) / LOAD_STEPS)
    mean = float(means.mean())
    if mean <= 0:
        return loads
    factors = np.where(means > 0, loads * mean / np.maximum(means, 1), loads)
    limit = near(steps)
    explained = (factors >= 1 / limit) & (factors <= limit) & (means > 0)
    return np.where(explained, 1.0, factors)


@lru_cache(maxsize=1 << 14)
def excess_of_part(histogram: Histogram, share: float) -> tuple[float, float]:
    """Return what a part of the samples can have more and less than the mean, over the mean.

    A histogram of a computation covers all ranks. One rank has as large a part of its samples as any other,
    so it has at most the mean of the largest ones. Where all samples are equal, ranks do not differ.

    Args:
        share: of the samples, above 0.
    """
    if histogram.mean <= 0:
        return 0.0, 0.0
    bins = sorted((b.mean, b.count) for b in histogram.drawn_bins)
    wanted = share * sum(count for _, count in bins)
    low, high = _mean_of_first(bins, wanted), _mean_of_first(reversed(bins), wanted)
    return max(high / histogram.mean - 1, 0.0), max(1 - low / histogram.mean, 0.0)


def _mean_of_first(bins: Iterable[tuple[float, int]], wanted: float) -> float:
    missing, total = wanted, 0.0
    for mean, count in bins:
        taken = min(count, missing)
        total += taken * mean
        missing -= taken
        if missing <= 0:
            break
    return total / (wanted - missing)
