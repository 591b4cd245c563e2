"""Bins of several histograms that stand for the same part of the samples.

Bins adapt to each run's samples, so those of two runs need not correspond. With the same number of bins in
all runs the i-th ones may; otherwise, or where that does not look so, every histogram is cut anew where the
bins of the one with most samples end, by the parts of the samples below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scalatrace.extrap.timing.curves.points import Array
from scalatrace.trace.values.histogram import Bin, Histogram

__all__ = ["MAX_SAMPLE", "Part", "by_order", "by_quantile", "quantiles"]

MAX_SAMPLE = float(1 << 62)
"""The file's numbers are below 2^64; predictions far beyond the traces may be larger."""

GRID = 1024
"""Quantiles that stand for a distribution when it is cut anew."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a histogram's samples: its share of them, the smallest, the largest, their mean."""

    share: float
    min: float
    max: float
    mean: float


def by_order(histograms: Sequence[Histogram]) -> list[list[Part]] | None:
    """Return the bins of each histogram as parts; None unless all have as many."""
    ordered = [_bins(h) for h in histograms]
    if len({len(bins) for bins in ordered}) != 1:
        return None
    return [_parts(bins) for bins in ordered]


def by_quantile(histograms: Sequence[Histogram]) -> list[list[Part]]:
    """Return each histogram cut at the same shares: those of the bins of the one with most samples."""
    reference = max(histograms, key=lambda h: (len(h.all_bins), h.count))
    shares = [part.share for part in _parts(_bins(reference))]
    ends = np.round(np.cumsum([0.0, *shares]) * GRID).astype(int)
    cells = [(a, b) for a, b in pairwise(ends) if b > a]
    return [_cut(h, cells) for h in histograms]


def quantiles(histogram: Histogram, shares: Array) -> Array:
    """Return the values that these parts of the samples, from 0 to 1, stay below.

    In a bin samples lie evenly below and above its mean, in the numbers that give that mean, as
    `Histogram.draw` has it.
    """
    u, values = [0.0], []
    bins = _bins(histogram)
    total = sum(b.count for b in bins)
    for b in bins:
        below = (b.max - b.mean) / (b.max - b.min) if b.max > b.min else 0.5
        start, width = u[-1], b.count / total
        values += [b.min, b.mean, b.max]
        u += [start, start + below * width, start + width]
    result: Array = np.interp(shares, u[1:], np.maximum.accumulate(values))
    return result


def _bins(histogram: Histogram) -> list[Bin]:
    """The bins in the order of their means; some are empty, or rounded past a mean."""
    bins = [
        Bin(b.count, min(b.min, b.mean), max(b.max, b.mean), b.mean) for b in histogram.bins if b.count > 0
    ]
    low, high = min(histogram.min, histogram.mean), max(histogram.max, histogram.mean)
    return sorted(bins, key=lambda b: b.mean) or [Bin(histogram.count, low, high, histogram.mean)]


def _parts(bins: Sequence[Bin]) -> list[Part]:
    total = sum(b.count for b in bins)
    return [Part(b.count / total, b.min, b.max, b.mean) for b in bins]


def _cut(histogram: Histogram, cells: Sequence[tuple[int, int]]) -> list[Part]:
    """The parts of one histogram between marks of the grid."""
    values = quantiles(histogram, (np.arange(GRID) + 0.5) / GRID)
    edges = quantiles(histogram, np.arange(GRID + 1) / GRID)
    edges[0], edges[-1] = histogram.min, histogram.max
    parts = []
    for a, b in cells:
        mean, low, high = float(values[a:b].mean()), float(edges[a]), float(edges[b])
        parts.append(Part((b - a) / GRID, min(low, mean), max(high, mean), mean))
    return parts
