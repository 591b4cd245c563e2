"""Least-squares lines of many segments at once, of values and of logarithms.

Lines of values follow from the moments of the points. For the squared differences of logarithms (Cornebize,
equation 5.14) there is no closed form. Gauss-Newton steps solve it: near a line f, log y - log g is
log(y / f) - (g - f) / f, a weighted linear regression with the weights 1 / f^2 and the response
f (1 + log(y / f)). So each step is one of `best_lines`, and positivity costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Floats, Ints
from scalatrace.stats.grouped_points import GroupedPoints

__all__ = ["FINAL", "Moments", "best_lines", "linearised", "log_lines", "squares"]

SINGULAR = 1e-14
"""Relative determinant below which the points of a segment have one x."""

MAX_STEPS = 40
MAX_HALVINGS = 8
SEARCH, FINAL = 1e-4, 1e-10
"""Relative decrease of the squares at which the steps end: to compare segments, and for the result."""
ROUNDING = 1e-12
MAX_ELEMENTS = 1 << 20
"""Points of all segments that are fitted together, to bound memory."""
MIN_VALUE = 1e-100


@dataclass(frozen=True)
class Moments:
    """Weighted sums over the points of each segment, as arrays of one shape."""

    w: Floats
    x: Floats
    y: Floats
    xx: Floats
    xy: Floats
    yy: Floats

    @classmethod
    def between_all(cls, x: Floats, y: Floats, w: Floats) -> Moments:
        """Return those of all segments: element [a, b] is of the points a to b, both included.

        Each row is summed by itself. Differences of sums from the first point would lose all digits where
        weights fall by ten orders of magnitude, as those of relative errors do.
        """
        n = len(x)

        def sums(values: Floats) -> Floats:
            return np.asarray(np.cumsum(np.triu(np.broadcast_to(values, (n, n))), axis=1))

        return cls(*(sums(v) for v in (w, w * x, w * y, w * x * x, w * x * y, w * y * y)))


def squares(m: Moments, slope: Floats, intercept: Floats) -> Floats:
    """Return the weighted sum of squared residuals of lines."""
    fitted = slope * (slope * m.xx + 2 * intercept * m.x) + intercept**2 * m.w
    return np.maximum(m.yy - 2 * (slope * m.xy + intercept * m.y) + fitted, 0.0)


def best_lines(m: Moments, positive: bool) -> tuple[Floats, Floats]:
    """Return slopes and intercepts with the least squares.

    Args:
        positive: neither may be negative. The optimum is then that of all lines, or it is on the border: a
            constant, or a line through the origin.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = m.w * m.xx - m.x**2
        slope = (m.w * m.xy - m.x * m.y) / determinant
        intercept = (m.y * m.xx - m.x * m.xy) / determinant
        level = np.where(m.w > 0, m.y / m.w, 0.0)
        ratio = np.where(m.xx > 0, m.xy / m.xx, 0.0)
    singular = ~(determinant > SINGULAR * m.w * m.xx)
    slope, intercept = np.where(singular, 0.0, slope), np.where(singular, level, intercept)
    if not positive:
        return slope, intercept
    level, ratio = np.maximum(level, 0.0), np.maximum(ratio, 0.0)
    none = np.zeros_like(level)
    flat = squares(m, none, level) <= squares(m, ratio, none)
    outside = (slope < 0) | (intercept < 0)
    return (
        np.where(outside, np.where(flat, none, ratio), slope),
        np.where(outside, np.where(flat, level, none), intercept),
    )


def linearised(points: GroupedPoints, f: Floats) -> tuple[Floats, Floats]:
    """Return response and weights of the linear regression that replaces the logarithmic one near f."""
    return f * (1 + np.log(points.y / f)), points.weight / f**2


def log_lines(
    points: GroupedPoints, starts: Ints, ends: Ints, positive: bool, tolerance: float = SEARCH
) -> tuple[Floats, Floats, Floats]:
    """Fit the points from each start to before its end.

    Args:
        tolerance: relative decrease of the squares at which the steps end.

    Returns:
        Slopes, intercepts and weighted sums of squares, in the order of the segments.
    """
    slope, intercept, cost = (np.empty(len(starts)) for _ in range(3))
    elements = np.cumsum(ends - starts)
    first = 0
    while first < len(starts):
        done = elements[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(elements, done + MAX_ELEMENTS, "right")))
        part = slice(first, last)
        batch = _Batch.of(points, starts[part], ends[part])
        slope[part], intercept[part], cost[part] = _descend(batch, positive, tolerance)
        first = last
    return slope, intercept, cost


@dataclass(frozen=True)
class _Batch:
    """Points of segments, one segment after the other.

    Attributes:
        segment: the number of the segment of each point.
        sums: sum over the points of each segment.
        floor: sum of squares that is a rounding error.
    """

    x: Floats
    log_y: Floats
    weight: Floats
    segment: Ints
    sums: Callable[[Floats], Floats]
    floor: float

    @classmethod
    def of(cls, points: GroupedPoints, starts: Ints, ends: Ints) -> _Batch:
        """Collect the points of segments, none of them empty."""
        lengths = ends - starts
        offsets = np.cumsum(lengths) - lengths
        segment = np.repeat(np.arange(len(starts)), lengths)
        index = np.arange(int(lengths.sum())) - offsets[segment] + starts[segment]

        def sums(values: Floats) -> Floats:
            return np.asarray(np.add.reduceat(values, offsets))

        return cls(
            points.x[index], np.log(points.y[index]), points.weight[index], segment, sums, points.floor
        )

    def values(self, slope: Floats, intercept: Floats) -> Floats:
        """Return the lines' values at the points."""
        return np.maximum(slope[self.segment] * self.x + intercept[self.segment], MIN_VALUE)

    def cost(self, slope: Floats, intercept: Floats) -> Floats:
        """Return the sums of squares of the segments."""
        return self.sums(self.weight * (self.log_y - np.log(self.values(slope, intercept))) ** 2)

    def moments(self, response: Floats, weight: Floats) -> Moments:
        """Return the moments of a weighted regression."""
        x, y = weight * self.x, weight * response
        parts = (weight, x, y, x * self.x, x * response, y * response)
        return Moments(*(self.sums(part) for part in parts))


def _descend(batch: _Batch, positive: bool, tolerance: float) -> tuple[Floats, Floats, Floats]:
    y = np.exp(batch.log_y)
    slope, intercept = best_lines(batch.moments(y, batch.weight / y**2), positive)
    cost = batch.cost(slope, intercept)
    for _ in range(MAX_STEPS):
        f = batch.values(slope, intercept)
        response = f * (1 + batch.log_y - np.log(f))
        to_slope, to_intercept = best_lines(batch.moments(response, batch.weight / f**2), positive)
        new_cost = batch.cost(to_slope, to_intercept)
        for _ in range(MAX_HALVINGS):
            worse = new_cost > cost * (1 + ROUNDING)
            if not worse.any():
                break
            to_slope = np.where(worse, (slope + to_slope) / 2, to_slope)
            to_intercept = np.where(worse, (intercept + to_intercept) / 2, to_intercept)
            new_cost = batch.cost(to_slope, to_intercept)
        better = new_cost < cost
        gain = np.max(np.where(better, cost - new_cost, 0.0) / np.maximum(cost, batch.floor))
        slope = np.where(better, to_slope, slope)
        intercept = np.where(better, to_intercept, intercept)
        cost = np.where(better, new_cost, cost)
        if gain < tolerance:
            break
    return slope, intercept, cost
