"""Lines that minimise the squared differences of logarithms (5.14), for many segments at once.

There is no closed form. Gauss-Newton steps solve it: near a line f, log y - log g is
log(y / f) - (g - f) / f, a weighted linear regression with the weights 1 / f^2 and the response
f (1 + log(y / f)). So each step is one of `best_lines`, and positivity costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scalatrace.predict.regression.lines import Moments, best_lines
from scalatrace.predict.regression.points import Floats, Ints, Points

__all__ = ["FINAL", "linearised", "log_lines"]

MAX_STEPS = 40
MAX_HALVINGS = 8
SEARCH, FINAL = 1e-4, 1e-10
"""Relative decrease of the squares at which the steps end: to compare segments, and for the result."""
ROUNDING = 1e-12
MAX_ELEMENTS = 1 << 20
"""Points of all segments that are fitted together, to bound memory."""
MIN_VALUE = 1e-100


def linearised(points: Points, f: Floats) -> tuple[Floats, Floats]:
    """Return response and weights of the linear regression that replaces the logarithmic one near f."""
    return f * (1 + np.log(points.y / f)), points.weight / f**2


def log_lines(
    points: Points, starts: Ints, ends: Ints, positive: bool, tolerance: float = SEARCH
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
    def of(cls, points: Points, starts: Ints, ends: Ints) -> _Batch:
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
        new = batch.cost(to_slope, to_intercept)
        for _ in range(MAX_HALVINGS):
            worse = new > cost * (1 + ROUNDING)
            if not worse.any():
                break
            to_slope = np.where(worse, (slope + to_slope) / 2, to_slope)
            to_intercept = np.where(worse, (intercept + to_intercept) / 2, to_intercept)
            new = batch.cost(to_slope, to_intercept)
        better = new < cost
        gain = np.max(np.where(better, cost - new, 0.0) / np.maximum(cost, batch.floor))
        slope = np.where(better, to_slope, slope)
        intercept = np.where(better, to_intercept, intercept)
        cost = np.where(better, new, cost)
        if gain < tolerance:
            break
    return slope, intercept, cost
