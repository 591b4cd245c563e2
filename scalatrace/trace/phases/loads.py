"""Loads of the ranks over the whole run, from those between start-up and shut-down, and the reverse.

A trace stores the total of each rank between the phases as a power of 2^(1/16) over the mean. What a rank has
in a phase follows from histograms over all ranks. Older files store totals of the whole run. The time in a
phase cannot be subtracted from these, since their rounding hides what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.trace.model.trace_tables import LOAD_STEPS
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["load_between", "load_of_run"]

MAX_RANKS = 1 << 22
"""Ranks up to which totals are computed."""

MAX_STEP = 1023
"""Largest step of a load in a file, and the negative of the smallest."""

MAX_SHARE = 2 ** (0.5 / LOAD_STEPS) - 1
"""Share of the phases below which totals of the whole run serve as totals between them."""

Taken = Sequence[tuple[Histogram, RankList]]
"""Histograms of a statistic, each with the ranks that have samples in it."""


def load_of_run(trace: Trace, stat: int, taken: Taken) -> Vec | None:
    """Return the load of a statistic over the whole run, from that between the phases; None: not known.

    Args:
        stat: number of the statistic.
        taken: its histograms in the phases.
    """
    load, n = trace.load[stat], len(trace.ranks)
    if load is None or not taken:
        return load
    if n > MAX_RANKS:
        return None
    inside = _per_rank(trace.ranks, taken)
    relative = np.exp2(np.array(load.first(n), dtype=np.float64) / LOAD_STEPS)
    between = max(0.0, _total(trace, stat) - float(inside.sum()))
    totals = relative * (between / float(relative.sum())) + inside
    mean = float(totals.mean())
    if mean <= 0:
        return load
    steps = LOAD_STEPS * np.log2(np.maximum(totals / mean, 2.0 ** (-MAX_STEP / LOAD_STEPS)))
    return vec_of(np.clip(np.rint(steps), -MAX_STEP, MAX_STEP).astype(int).tolist())


def load_between(trace: Trace, stat: int, taken: Taken) -> Vec | None:
    """Return the load of a statistic between the phases; None: only that of the whole run was stored."""
    if trace.load_between:
        return trace.load[stat]
    inside = sum(histogram.total for histogram, _ in taken)
    return trace.load[stat] if inside <= MAX_SHARE * _total(trace, stat) else None


def _total(trace: Trace, stat: int) -> float:
    rows = (row.histograms for leaf in trace.leaves() for row in leaf.stats)
    return sum(h.total for row in rows if stat < len(row) and (h := row[stat]) is not None)


def _per_rank(ranks: RankList, taken: Taken) -> Floats:
    """Return what each rank has in some histograms, on average."""
    sums = np.zeros(len(ranks))
    for histogram, ranks_of_histogram in taken:
        for start, stop in ranks_of_histogram.runs:
            first = ranks.index(start)
            sums[first : first + stop - start] += histogram.total / len(ranks_of_histogram)
    return sums
