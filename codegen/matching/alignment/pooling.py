"""Histograms of samples that were kept apart and now belong together, and shares of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from scalatrace.trace.values.histogram import MAX_BINS, Bin, Histogram

__all__ = ["pooled", "share"]


def share(histogram: Histogram, part: int, whole: int) -> Histogram:
    """The histogram of `part` of `whole` executions, distributed as all are; itself when those are all."""
    if part == whole:
        return histogram
    count = max(1, round(histogram.count * part / whole))
    return replace(histogram, count=count, bins=_spread(histogram.bins, count))


def _spread(bins: Sequence[Bin], count: int) -> tuple[Bin, ...]:
    """The bins with so many samples in all, as evenly thinned as whole numbers allow; empty ones go away."""
    whole, seen, result, given = sum(b.count for b in bins), 0, [], 0
    for b in bins:
        seen += b.count
        upto = round(count * seen / whole)
        if upto > given:
            result.append(b._replace(count=upto - given))
        given = upto
    return tuple(result) if len(result) > 1 else ()


def pooled(histograms: Sequence[Histogram]) -> Histogram:
    """The histogram of all samples: exact but for bins, of which neighbours are joined if they are many."""
    if len(histograms) == 1:
        return histograms[0]
    count = sum(h.count for h in histograms)
    mean = sum(h.total for h in histograms) / count
    square = sum(h.count * (h.std**2 + (h.mean - mean) ** 2) for h in histograms) / count
    bins = sorted((b for h in histograms for b in h.all_bins), key=lambda b: b.mean)
    limit = min(MAX_BINS, max(len(h.all_bins) for h in histograms) + 1)
    while len(bins) > limit:
        at = min(range(len(bins) - 1), key=lambda i: bins[i + 1].mean - bins[i].mean)
        bins[at : at + 2] = [_joined(bins[at], bins[at + 1])]
    low, high = min(h.min for h in histograms), max(h.max for h in histograms)
    return Histogram(count, low, high, mean, math.sqrt(square), tuple(bins) if len(bins) > 1 else ())


def _joined(a: Bin, b: Bin) -> Bin:
    count = a.count + b.count
    mean = (a.mean * a.count + b.mean * b.count) / count
    return Bin(count, min(a.min, b.min), max(a.max, b.max), mean)
