"""The largest and the smallest samples of a histogram.

A histogram of a computation covers all ranks. One rank has as large a part of its samples as any other, so it
has at most the mean of the largest ones. Where all samples are equal, ranks do not differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from scalatrace.trace.values.histogram import Histogram

__all__ = ["excess_of_part"]


@lru_cache(maxsize=1 << 14)
def excess_of_part(histogram: Histogram, share: float) -> tuple[float, float]:
    """Return what a part of the samples can have more and less than the mean, over the mean.

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
    left, total = wanted, 0.0
    for mean, count in bins:
        taken = min(count, left)
        total += taken * mean
        left -= taken
        if left <= 0:
            break
    return total / (wanted - left)
