"""Quantiles of histograms, with samples distributed in each bin as in `Histogram.draw`."""

from __future__ import annotations

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.trace.values.histogram import Bin, Histogram

__all__ = ["ordered_bins", "quantiles"]


def quantiles(histogram: Histogram, shares: Floats) -> Floats:
    """Return the values that these parts of the samples, from 0 to 1, stay below.

    In a bin samples lie evenly below and above its mean, in the numbers that give that mean, as
    `Histogram.draw` has it.
    """
    u, values = [0.0], []
    bins = ordered_bins(histogram)
    total = sum(b.count for b in bins)
    for b in bins:
        below = (b.max - b.mean) / (b.max - b.min) if b.max > b.min else 0.5
        start, width = u[-1], b.count / total
        values += [b.min, b.mean, b.max]
        u += [start, start + below * width, start + width]
    result: Floats = np.interp(shares, u[1:], np.maximum.accumulate(values))
    return result


def ordered_bins(histogram: Histogram) -> list[Bin]:
    """Return the bins in the order of their means; some are empty, or rounded past a mean."""
    bins = [
        Bin(b.count, min(b.min, b.mean), max(b.max, b.mean), b.mean) for b in histogram.bins if b.count > 0
    ]
    low, high = min(histogram.min, histogram.mean), max(histogram.max, histogram.mean)
    return sorted(bins, key=lambda b: b.mean) or [Bin(histogram.count, low, high, histogram.mean)]
