"""Load of each rank relative to the mean computation of its calls, and times of its calls by their means.

Histograms cover all ranks that make a call. A trace also keeps each rank's total, in steps (`LOAD_STEPS`).
Where ranks make different calls, the means of these calls explain most of the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.trace.model.call import Call, CompiledEvent
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.model.trace_tables import LOAD_STEPS, OLD_LOAD_STEPS
from scalatrace.trace.query.contexts import TooLongError, executions_after
from scalatrace.trace.query.counting import executions_of

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["COMM", "COMPUTE", "Loads", "MeanTimes", "Means", "near", "spread_of"]

COMPUTE, COMM = "compute_ns", "comm_ns"
"""The statistics of the time before a call and in it."""

MAX_SPREAD_RANKS = 64
"""Ranks whose factors are compared."""


class Means:
    """Sums of the means of a statistic after each predecessor.

    Attributes:
        per_rank: the total of all ranks over their number.
    """

    def __init__(self, trace: Trace, stat: str) -> None:
        self._trace = trace
        self._means: dict[tuple[int, int], float] = {}
        self._whole: dict[int, float] = {}
        index, total = trace.stat_index.get(stat), 0.0
        for leaf in trace.leaves() if index is not None else ():
            histograms = [
                (pred, histogram) for pred, histogram in leaf.histograms_by_pred(index) if histogram.count
            ]
            for pred, histogram in histograms:
                self._means[id(leaf), pred] = histogram.total / histogram.count
            if histograms:
                sum_of_leaf = sum(h.total for _, h in histograms)
                self._whole[id(leaf)] = sum_of_leaf / sum(h.count for _, h in histograms)
                total += sum_of_leaf
        self.per_rank = total / len(trace.ranks)

    def of(self, rank: int, wanted: Callable[[Event], bool] = lambda event: True) -> float:
        """Return the sum over a rank's calls of the event nodes that are wanted.

        Where what came before each would take too long to find out, the mean after any call stands for it.
        """
        try:
            return sum(
                times * self._means.get((id(leaf), pred), 0.0)
                for leaf, pred, times in executions_after(self._trace, rank)
                if wanted(leaf)
            )
        except TooLongError:
            executed = executions_of(self._trace, rank)
            return sum(n * self.after_any(leaf) for leaf, n in executed if wanted(leaf))

    def after_any(self, event: Event) -> float:
        """Return the mean of a node's calls by all ranks, after any call; 0 where none was recorded."""
        return self._whole.get(id(event), 0.0)


class Loads:
    """Ratio of the ranks' totals of one statistic to the sums of their calls' means."""

    def __init__(self, trace: Trace, stat: str) -> None:
        self._trace, self._stat = trace, stat
        steps = trace.load_of(stat)
        self.kept = steps is not None
        self._near = 1.0 if steps is None else near(islice(steps, len(trace.ranks)))
        self.means = Means(trace, stat)

    def over_means(self, rank: int) -> float:
        """Return the factor on the means of the rank's calls; 1.0 where no totals were kept.

        It is 1.0, too, where the means are within a step of the rank's total (`near`).
        """
        if not self.kept:
            return 1.0
        load, own_mean = self._trace.load_factor(self._stat, rank), self.means.of(rank)
        if own_mean <= 0 or self.means.per_rank <= 0:
            return load
        factor = load * self.means.per_rank / own_mean
        return 1.0 if 1 / self._near <= factor <= self._near else factor

    def spread(self) -> float:
        """Return the standard deviation of `over_means`, over its mean, of at most 64 ranks spread evenly."""
        ranks = self._trace.ranks
        step = -(-len(ranks) // MAX_SPREAD_RANKS)
        chosen = range(0, len(ranks), step) if self.kept else ()
        return spread_of([self.over_means(ranks[at]) for at in chosen])


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
        means: dict[tuple[CompiledEvent, int], float] = {}

        def of(call: Call) -> float:
            key = call.place, call.pred
            ns = means.get(key)
            if ns is None:
                histogram = call.stat(self._stat)
                ns = means[key] = max(0.0, histogram.mean * factor) if histogram else 0.0
            return ns

        return of

    def of_nodes(self, rank: int) -> Callable[[Event], float]:
        """Return a function that gives the mean time of a node's calls by the rank, after any call, ns."""
        factor = self._scale * self._loads.over_means(rank)
        return lambda event: max(0.0, self._loads.means.after_any(event) * factor)


def near(steps: Iterable[int]) -> float:
    """Return the factor within which means of calls explain the totals of ranks, which are rounded to steps.

    Args:
        steps: of all ranks; coarser in files of an older version.
    """
    fine = any(step % (LOAD_STEPS // OLD_LOAD_STEPS) for step in steps)
    exponent = 1 / LOAD_STEPS if fine else 1 / (2 * OLD_LOAD_STEPS)
    return float(2.0**exponent)


def spread_of(factors: Sequence[float] | Floats) -> float:
    """Return the standard deviation of positive numbers over their mean; 0 for none."""
    return float(np.std(factors) / np.mean(factors)) if len(factors) else 0.0
