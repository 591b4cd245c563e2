"""Times of computations: their mean, or a draw from a histogram, in the language's random numbers.

A histogram becomes alternatives: with the probability of its bin, a time that is evenly distributed about the
bin's mean. Each alternative rolls its own dice, so it is taken with its share of what those before it leave.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.codegen.program.tree import Duration
from scalatrace.trace.values.histogram import Bin

__all__ = ["Durations", "draw", "mean"]

Durations = tuple[Duration, ...]

DICE = 1_000_000


def mean(durations: Durations) -> str:
    """The mean of their sum in whole microseconds."""
    return str(round(sum(duration.ns for duration in durations) / 1000))


def draw(duration: Duration) -> str:
    """An expression that is another time whenever it is met."""
    if duration.histogram is None:
        return mean((duration,))
    bins = [b for b in duration.histogram.all_bins if b.count]
    return _alternatives(sorted(bins, key=lambda b: -b.count), sum(b.count for b in bins))


def _alternatives(bins: Sequence[Bin], left: int) -> str:
    first, *others = bins
    if not others:
        return _within(first)
    share = min(DICE - 1, max(1, round(DICE * first.count / left)))
    rest = _alternatives(others, left - first.count)
    return f"{_within(first)} IF RANDOM_UNIFORM(0, {DICE}) < {share} OTHERWISE {rest}"


def _within(b: Bin) -> str:
    """A time of a bin, as far above its mean as below."""
    spread = min(b.mean - b.min, b.max - b.mean)
    low, high = round((b.mean - spread) / 1000), round((b.mean + spread) / 1000)
    return f"RANDOM_UNIFORM({low}, {high + 1})" if high > low else str(low)
