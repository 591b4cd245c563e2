"""Quantiles of histograms, with samples distributed in each bin as in `Histogram.draw`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from scalatrace.arrays import Floats
from scalatrace.trace.values.histogram import Bin, Histogram

__all__ = ["ordered_bins", "pooled_quantile", "quantiles"]


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


def pooled_quantile(histograms: Iterable[Histogram], share: float) -> float:
    """Return the least value that a part of the samples of all histograms, from 0 to 1, does not exceed.

    In a bin samples lie as `quantiles` has them. Bins of different histograms may overlap.

    Raises:
        ValueError: there are no histograms.
    """
    starts, ends, weights = _pieces(histograms)
    points = np.sort(np.concatenate((starts, ends)))
    points = points[np.append(True, points[1:] > points[:-1])]  # np.unique would import numpy.ma
    wanted = share * float(weights.sum())
    low, high = (
        -1,
        len(points) - 1,
    )  # the count at points[low] is below the wanted one, that at points[high] not
    while high - low > 1:
        middle = (low + high) // 2
        reached = _count_until(points[middle], starts, ends, weights) >= wanted
        low, high = (low, middle) if reached else (middle, high)
    if low < 0:
        return float(points[0])
    below = _count_until(points[low], starts, ends, weights)
    # Between two points, the count grows evenly by the pieces that cover the space between them.
    covering = (starts <= points[low]) & (ends >= points[high]) & (ends > starts)
    width = points[high] - points[low]
    growth = float((weights[covering] / (ends[covering] - starts[covering])).sum()) * width
    part = min(1.0, (wanted - below) / growth) if growth > 0 else 1.0
    return float(points[low] + part * width)


def _pieces(histograms: Iterable[Histogram]) -> tuple[Floats, Floats, Floats]:
    """Return starts, ends and counts of the spaces in which samples lie evenly: two of each bin.

    The bins of each histogram are in the order of `ordered_bins`, all histograms at once.
    """
    rows: list[tuple[float, ...]] = []
    for number, histogram in enumerate(histograms):
        bins = [b for b in histogram.bins if b.count > 0]
        bins = bins or [Bin(histogram.count, histogram.min, histogram.max, histogram.mean)]
        factor = histogram.count / sum(b.count for b in bins)  # counts of bins are rounded
        rows += [(number, factor * b.count, *b[1:]) for b in bins]
    if not rows:
        raise ValueError("no histograms to pool")
    table = np.array(rows, dtype=np.float64)
    _, weights, low, high, mean = table[np.lexsort((table[:, 4], table[:, 0]))].T
    low, high = np.minimum(low, mean), np.maximum(high, mean)
    widths = np.where(high > low, high - low, 1.0)
    below = np.where(high > low, (high - mean) / widths, 0.5)
    starts, ends = np.stack((low, mean), axis=1), np.stack((mean, high), axis=1)
    shares = np.stack((weights * below, weights * (1 - below)), axis=1)
    return starts.ravel(), ends.ravel(), shares.ravel()


def _count_until(value: float, starts: Floats, ends: Floats, weights: Floats) -> float:
    """Return the number of samples that do not exceed a value."""
    widths = np.where(ends > starts, ends - starts, 1.0)
    shares = np.where(ends > value, np.clip((value - starts) / widths, 0.0, 1.0), 1.0)
    return float((weights * shares).sum())
