"""Times of consecutive ranks, recorded or simulated, for the chart of times by rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.report.costs.efficiency import Efficiency

__all__ = ["RankBin", "rank_bins"]

MAX_BINS = 128
"""Sets of consecutive ranks whose times are drawn."""


@dataclass(frozen=True)
class RankBin:
    """Times of consecutive ranks in ns: least, mean and most of computation, and in MPI."""

    first: int
    last: int
    compute_ns: tuple[float, float, float]
    comm_ns: tuple[float, float, float]


def rank_bins(times: Efficiency) -> tuple[RankBin, ...]:
    """Return the times of at most MAX_BINS sets of consecutive ranks."""
    count = len(times.ranks)
    size = -(-count // MAX_BINS)
    starts = np.arange(0, count, size)
    lengths = np.diff([*starts.tolist(), count])

    def spread(values: Floats) -> list[tuple[float, float, float]]:
        least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        mean = np.add.reduceat(values, starts) / lengths
        return list(zip(least.tolist(), mean.tolist(), most.tolist(), strict=True))

    firsts = [times.ranks[start] for start in starts.tolist()]
    lasts = [times.ranks[min(start + size, count) - 1] for start in starts.tolist()]
    return tuple(map(RankBin, firsts, lasts, spread(times.compute_ns), spread(times.comm_ns)))
