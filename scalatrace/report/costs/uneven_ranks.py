"""Ranks whose total time differs between two traces by much more than the mean of all ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalatrace.report.costs.rows import rank_totals
from scalatrace.report.style import RESOLUTION, coarse_duration
from scalatrace.trace.model.trace import Trace

__all__ = ["UnevenRanks", "uneven_ranks"]

MIN_TIMES_MEAN = 1.5
"""Difference of a rank that is named over the mean of all ranks."""

MIN_EVEN = 0.5
"""Least difference of a rank over the mean, where all ranks differ about equally."""

MIN_SUM_SHARE = 0.6
"""Part of the differences of all ranks, of either sign, that the named ranks make up."""

MAX_RANK_SHARE = 0.5
"""Part of all ranks that is named at most."""

MAX_NAMED_RANKS = 4


@dataclass(frozen=True, slots=True)
class UnevenRanks:
    """Ranks that make up most of the difference of a total.

    Attributes:
        ranks: in order; (): all ranks, about equally.
        difference_ns: mean of these ranks, above 0 where the right trace takes longer.
    """

    ranks: tuple[int, ...]
    difference_ns: float

    def __str__(self) -> str:
        if not self.ranks:
            return "all ranks"
        named, count = ", ".join(map(str, self.ranks[:MAX_NAMED_RANKS])), len(self.ranks)
        text = f"rank {named}" if count == 1 else f"ranks {named}"
        if count > MAX_NAMED_RANKS:
            text += f" and {count - MAX_NAMED_RANKS} more"
        sign = "-" if self.difference_ns < 0 else "+"
        return f"{text}: {sign}{coarse_duration(abs(self.difference_ns))}{' each' if count > 1 else ''}"


def uneven_ranks(
    traces: tuple[Trace, Trace], stat: str, whole_ns: tuple[float | None, float | None]
) -> UnevenRanks | None:
    """Return the ranks whose total of a statistic differs most; None: no clear ones, or not known.

    Totals are known in steps, so differences within the resolution of a total count as none.

    Args:
        traces: of the same ranks, or the result is None.
        stat: `load.COMPUTE` or `load.COMM`.
        whole_ns: totals of all ranks of both traces.
    """
    if traces[0].ranks != traces[1].ranks or len(traces[0].ranks) < 2:
        return None
    totals = [rank_totals(trace, stat, ns) for trace, ns in zip(traces, whole_ns, strict=True)]
    left, right = totals
    if left is None or right is None:
        return None
    differences = right - left
    differences[np.abs(differences) <= RESOLUTION * np.maximum(left, right)] = 0.0
    mean = float(differences.mean())
    chosen = np.flatnonzero(differences * np.sign(mean) >= MIN_TIMES_MEAN * abs(mean))
    if mean and not len(chosen) and (differences * np.sign(mean)).min() >= MIN_EVEN * abs(mean):
        return UnevenRanks((), mean)
    if not mean or not len(chosen) or len(chosen) > MAX_RANK_SHARE * len(differences):
        return None
    if abs(differences[chosen].sum()) < MIN_SUM_SHARE * np.abs(differences).sum():
        return None
    ranks = tuple(traces[0].ranks[int(at)] for at in chosen)
    return UnevenRanks(ranks, float(differences[chosen].mean()))
