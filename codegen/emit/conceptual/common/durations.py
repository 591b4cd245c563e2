"""Times of computations in whole microseconds: their mean, or random numbers drawn from a histogram.

A histogram becomes alternatives: with the probability of its bin, a time that is evenly distributed about the
bin's mean. Each alternative draws its own random number, so it has its share of what the previous ones leave.
"""

from __future__ import annotations

from collections.abc import Sequence

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.emit.conceptual.common.expr_writer import total
from scalatrace.codegen.program.tree import Duration
from scalatrace.trace.values.histogram import Bin

__all__ = ["Durations", "draw", "drawn_sum", "mean"]

Durations = tuple[Duration, ...]

RESOLUTION = 1_000_000
"""Probabilities are multiples of 1 / RESOLUTION."""


def mean(durations: Durations) -> t.Expr:
    """Return the mean of the durations' sum."""
    return t.Integer(round(sum(duration.ns for duration in durations) / 1000))


def drawn_sum(durations: Durations) -> t.Expr:
    """Return the sum of a draw from each duration."""
    return total([draw(duration) for duration in durations])


def draw(duration: Duration) -> t.Expr:
    """Return an expression that draws another time whenever it is evaluated."""
    if duration.histogram is None:
        return mean((duration,))
    bins = [b for b in duration.histogram.drawn_bins if b.count]
    return _alternatives(sorted(bins, key=lambda b: -b.count), sum(b.count for b in bins))


def _alternatives(bins: Sequence[Bin], left: int) -> t.Expr:
    first, *others = bins
    if not others:
        return _within(first)
    share = min(RESOLUTION - 1, max(1, round(RESOLUTION * first.count / left)))
    rest = _alternatives(others, left - first.count)
    return t.Conditional(_within(first), t.Compare("<", _uniform(0, RESOLUTION), t.Integer(share)), rest)


def _within(b: Bin) -> t.Expr:
    """Return a time of a bin, as far above its mean as below."""
    spread = min(b.mean - b.min, b.max - b.mean)
    low, high = round((b.mean - spread) / 1000), round((b.mean + spread) / 1000)
    return _uniform(low, high + 1) if high > low else t.Integer(low)


def _uniform(low: int, stop: int) -> t.Expr:
    return t.Call("RANDOM_UNIFORM", (t.Integer(low), t.Integer(stop)))
