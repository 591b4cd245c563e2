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

from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.quantiles import ordered_bins, quantiles

__all__ = ["MAX_SAMPLE", "BinPart", "by_order", "by_quantile", "parts_of"]

MAX_SAMPLE = float(1 << 62)
"""The file's numbers are below 2^64; predictions far beyond the traces may be larger."""

GRID = 1024
"""Quantiles that stand for a distribution when it is cut anew."""


@dataclass(frozen=True, slots=True)
class BinPart:
    """A part of a histogram's samples: its share of them, the smallest, the largest, their mean."""

    share: float
    min: float
    max: float
    mean: float


def by_order(histograms: Sequence[Histogram]) -> list[list[BinPart]] | None:
    """Return the bins of each histogram as parts; None unless all have as many."""
    ordered = [ordered_bins(h) for h in histograms]
    if len({len(bins) for bins in ordered}) != 1:
        return None
    return [parts_of(bins) for bins in ordered]


def by_quantile(histograms: Sequence[Histogram]) -> list[list[BinPart]]:
    """Return each histogram cut at the same shares: those of the bins of the one with most samples."""
    reference = max(histograms, key=lambda h: (len(h.all_bins), h.count))
    shares = [part.share for part in parts_of(ordered_bins(reference))]
    ends = np.round(np.cumsum([0.0, *shares]) * GRID).astype(int)
    cells = [(a, b) for a, b in pairwise(ends) if b > a]
    return [_cut(h, cells) for h in histograms]


def parts_of(bins: Sequence[Bin]) -> list[BinPart]:
    total = sum(b.count for b in bins)
    return [BinPart(b.count / total, b.min, b.max, b.mean) for b in bins]


def _cut(histogram: Histogram, cells: Sequence[tuple[int, int]]) -> list[BinPart]:
    """The parts of one histogram between marks of the grid."""
    values = quantiles(histogram, (np.arange(GRID) + 0.5) / GRID)
    edges = quantiles(histogram, np.arange(GRID + 1) / GRID)
    edges[0], edges[-1] = histogram.min, histogram.max
    parts = []
    for a, b in cells:
        mean, low, high = float(values[a:b].mean()), float(edges[a]), float(edges[b])
        parts.append(BinPart((b - a) / GRID, min(low, mean), max(high, mean), mean))
    return parts
