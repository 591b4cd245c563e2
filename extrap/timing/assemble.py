"""Assemble a valid histogram from fields that were predicted one by one, with a sample for each call.

How often a call follows each of its predecessors is predicted by curves, whose sum is only near the number of
calls. That number follows exactly from the formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

from scalatrace.extrap.timing.bins import MAX_SAMPLE, BinPart, parts_of
from scalatrace.trace.model.nodes import Event, Node, PredStats
from scalatrace.trace.model.tables import TIMES
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import calls_by_rank, total_calls
from scalatrace.trace.values.histogram import Bin, Histogram

__all__ = ["assemble", "proportional", "with_a_sample_per_call", "with_count"]


def assemble(
    count: int, mean: float, std: float, ends: tuple[float, float], parts: Sequence[BinPart]
) -> Histogram:
    """Return a histogram with this count and mean, and with the other fields as near as they can be.

    Bins keep min <= mean <= max and are ordered by their means; counts add up to `count`, means to `mean`.

    Args:
        ends: smallest and largest sample.
        parts: bins as predicted, in any order; shares need not add up to 1.
    """
    mean = _limited(mean)
    if count == 1:
        return Histogram(1, mean, mean, mean, 0.0)
    counts = proportional([part.share for part in parts], count)
    bins = [_ordered(part, n) for part, n in zip(parts, counts, strict=True) if n]
    bins = _stretched(_centred(bins, mean), mean, _limited(ends[0]), _limited(ends[1]))
    low, high = min(b.min for b in bins), max(b.max for b in bins)
    mean = min(max(mean, low), high)  # equal samples, but for the last digit
    most = sqrt(max((high - mean) * (mean - low), 0.0) * count / (count - 1))
    kept = tuple(sorted(bins, key=lambda b: b.mean)) if len(bins) > 1 else ()
    return Histogram(count, low, high, mean, min(max(std, 0.0), most), kept)


def _limited(value: float) -> float:
    return min(max(value, -MAX_SAMPLE), MAX_SAMPLE)


def with_count(histogram: Histogram, count: int) -> Histogram:
    """Return a histogram with another number of samples, and the other fields as near as they can be."""
    ends, parts = (histogram.min, histogram.max), parts_of(histogram.all_bins)
    return assemble(count, histogram.mean, histogram.std, ends, parts)


def proportional(shares: Sequence[float], count: int) -> list[int]:
    """Return integers in proportion to shares, with the sum `count`; largest remainders are rounded up."""
    total = sum(shares)
    exact = [share / total * count if total else count / len(shares) for share in shares]
    counts = [int(x) for x in exact]
    by_remainder = sorted(range(len(shares)), key=lambda i: counts[i] - exact[i])
    for i in by_remainder[: count - sum(counts)]:
        counts[i] += 1
    return counts


def _ordered(part: BinPart, count: int) -> Bin:
    """A bin with min <= mean <= max; one sample has all three the same."""
    mean = _limited(part.mean)
    if count == 1:
        return Bin(1, mean, mean, mean)
    return Bin(count, min(_limited(part.min), mean), max(_limited(part.max), mean), mean)


def _centred(bins: Sequence[Bin], mean: float) -> list[Bin]:
    """The bins with their samples' mean at `mean`: scaled where all is above 0, else shifted."""
    total = sum(b.count for b in bins)
    found = sum(b.count / total * b.mean for b in bins)
    if found > 0 and mean >= 0 and min(b.min for b in bins) >= 0:
        factor = mean / found
        return [_bin(b, b.min * factor, b.max * factor, b.mean * factor) for b in bins]
    shift = mean - found
    return [_bin(b, b.min + shift, b.max + shift, b.mean + shift) for b in bins]


def _stretched(bins: Sequence[Bin], mean: float, low: float, high: float) -> list[Bin]:
    """The bins with the smallest and the largest sample where they should be, if a bin can hold them."""
    out = sorted(bins, key=lambda b: b.mean)
    first, last = min(out, key=lambda b: b.min), max(out, key=lambda b: b.max)
    moved = []
    for b in out:
        least = low if b is first and b.count > 1 and low <= b.mean else b.min
        most = high if b is last and b.count > 1 and high >= b.mean else b.max
        moved.append(_bin(b, least, most, b.mean))
    alone = len(moved) == 1  # its mean is the histogram's, to the last digit
    return [_bin(moved[0], moved[0].min, moved[0].max, mean)] if alone else moved


def _bin(b: Bin, low: float, high: float, mean: float) -> Bin:
    mean = _limited(mean)
    return Bin(b.count, min(_limited(low), mean), max(_limited(high), mean), mean)


def with_a_sample_per_call(trace: Trace) -> None:
    """Scale the numbers of samples of each event, so that their sum is the number of its calls."""
    times = [at for at, stat in enumerate(trace.stats) if stat.name in TIMES]
    counted = [(id(event), total_calls(counts)) for event, counts in calls_by_rank(trace)]
    calls = dict(counted)

    def scaled(node: Node) -> Node:
        if isinstance(node, Event):
            stats = node.stats
            for at in times:
                stats = _scaled(stats, at, calls.get(id(node), 0))
            return replace(node, stats=stats)
        return replace(node, nodes=tuple(map(scaled, node.nodes)))

    trace.nodes = [scaled(node) for node in trace.nodes]
    trace.keep_nevents(sum(total for _, total in counted))


def _scaled(stats: tuple[PredStats, ...], at: int, calls: int) -> tuple[PredStats, ...]:
    histograms = [each.histogram(at) for each in stats]
    counts = [histogram.count for histogram in histograms if histogram is not None]
    if not counts or not calls or sum(counts) == calls:
        return stats
    # Each histogram keeps one sample or more.
    others = proportional([count - 1 for count in counts], max(0, calls - len(counts)))
    numbers = iter([1 + n for n in others])
    result = []
    for each, histogram in zip(stats, histograms, strict=True):
        if histogram is not None:
            changed = list(each.histograms)
            changed[at] = with_count(histogram, next(numbers))
            each = replace(each, histograms=tuple(changed))
        result.append(each)
    return tuple(result)
