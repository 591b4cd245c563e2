"""Least-squares lines of many segments at once, from the moments of their points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalatrace.predict.regression.points import Floats

__all__ = ["Moments", "Piece", "best_lines", "squares"]

SINGULAR = 1e-14
"""Relative determinant below which the points of a segment have one x."""


@dataclass(frozen=True)
class Piece:
    """One line of a piecewise function.

    Attributes:
        from_x: smallest x of the piece; it ends before that of the next one.
        slope, intercept: y = slope * x + intercept.
        deviation: standard deviation of the residuals, in the objective's terms: of y, of y / x, or of
            log y, which is the relative error.
        points: observations in the piece.
    """

    from_x: float
    slope: float
    intercept: float
    deviation: float
    points: int

    def at(self, x: float) -> float:
        """Return the value of the line."""
        return self.slope * x + self.intercept


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
