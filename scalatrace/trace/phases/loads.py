"""Loads of the ranks without the times of start-up and shut-down.

A trace stores the total of each rank as a power of 2^(1/16) over the mean. What a rank has in a phase follows
from histograms over all ranks, so it has their deviation. Both make an error of what is left:

    rank's total   |------ start-up ------|----------- left ----------|
                                  <- deviation ->           <- rounding ->
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scalatrace.trace.model.trace import LOAD_STEPS, OLD_LOAD_STEPS, Trace
from scalatrace.trace.values.compress import compress
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["remaining_load"]

MAX_RANKS = 1 << 22
"""Ranks up to which totals are computed."""

MAX_STEP = 1023
"""Largest step of a load in a file, and the negative of the smallest."""

MAX_ERROR = 0.2
"""Error of the ranks' totals over their mean up to which they are kept."""

MIN_DEVIATION = 3.0
"""Deviation of the ranks' totals over their error from which on they are kept, however large the error."""

Totals = NDArray[np.float64]


def remaining_load(trace: Trace, stat: int, taken: Sequence[tuple[Histogram, RankList]]) -> Vec | None:
    """Return the load of a statistic without some histograms; None where it is not known.

    Args:
        stat: number of the statistic.
        taken: the histograms, each with the ranks that have samples in it.
    """
    load, n = trace.load[stat], len(trace.ranks)
    if load is None or not taken:
        return load
    if n > MAX_RANKS:
        return None
    rows = (row.histograms for leaf in trace.leaves() for row in leaf.stats)
    whole = sum(h.total for row in rows if stat < len(row) and (h := row[stat]) is not None)
    steps = np.array(load.first(n), dtype=np.float64)
    relative = np.exp2(steps / LOAD_STEPS)
    totals = relative * (whole / n / relative.mean())
    sums, variances = _per_rank(trace.ranks, taken)
    left = totals - sums
    coarse = not (steps % (LOAD_STEPS // OLD_LOAD_STEPS)).any()
    half_step = 2 ** (0.5 / (OLD_LOAD_STEPS if coarse and steps.any() else LOAD_STEPS)) - 1
    return _steps(left, totals * half_step + np.sqrt(variances))


def _per_rank(ranks: RankList, taken: Sequence[tuple[Histogram, RankList]]) -> tuple[Totals, Totals]:
    """Return what each rank has in some histograms, and the variance of that."""
    sums, variances = np.zeros(len(ranks)), np.zeros(len(ranks))
    for histogram, some in taken:
        share = histogram.count / max(len(some), 1)  # samples of a rank; below 1: not all have one
        variance = share * histogram.std**2 + max(0.0, share * (1 - share)) * histogram.mean**2
        for start, stop in some.runs:
            first = ranks.index(start)
            part = slice(first, first + stop - start)
            sums[part] += share * histogram.mean
            variances[part] += variance
    return sums, variances


def _steps(left: Totals, error: Totals) -> Vec | None:
    """Return totals as steps over their mean: fine or coarse ones as their error asks for, or None."""
    mean = float(left.mean())
    if mean <= 0:
        return None
    left = np.maximum(left, np.maximum(error / 2, mean * 1e-9))
    mean, relative = float(left.mean()), float(error.mean() / left.mean())
    is_clear = float(left.std()) >= MIN_DEVIATION * float(error.mean())
    if relative > MAX_ERROR and not is_clear:
        return None
    unit = 1 if relative <= 2 ** (1 / LOAD_STEPS) - 1 else LOAD_STEPS // OLD_LOAD_STEPS
    exact = LOAD_STEPS / unit * np.log2(left / mean)
    limit = MAX_STEP // unit
    steps = np.clip(np.rint(exact), -limit, limit).astype(int) * unit
    return Vec(int(steps[0])) if (steps == steps[0]).all() else Vec(compress(steps.tolist()))
