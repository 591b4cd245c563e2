"""Fit piecewise linear functions, with as many breakpoints as the BIC justifies."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scalatrace.errors import UsageError
from scalatrace.predict.regression.lines import Piece
from scalatrace.predict.regression.partition_search import best_partitions, criterion, segment_lines
from scalatrace.predict.regression.points import Floats, Objective, Points, grouped
from scalatrace.predict.regression.segments import Bounds

__all__ = ["PiecewiseLinear", "fit"]

MAX_BREAKPOINTS = 6
MIN_POINTS = 5


@dataclass(frozen=True)
class PiecewiseLinear:
    """A piecewise linear function.

    Attributes:
        pieces: by ascending x; the first one also holds for smaller x.
        bic: Bayesian information criterion; comparable between fits of the same data and objective.
    """

    pieces: tuple[Piece, ...]
    objective: Objective
    bic: float

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The smallest x of each piece but the first."""
        return tuple(piece.from_x for piece in self.pieces[1:])

    def piece(self, x: float) -> Piece:
        """Return the piece that x is in."""
        return self.pieces[bisect_right(self.breakpoints, x)]

    def at(self, x: float) -> float:
        """Return the value at x."""
        return self.piece(x).at(x)


def fit(
    x: Sequence[float] | Floats,
    y: Sequence[float] | Floats,
    objective: Objective | str = Objective.LOGARITHMIC,
    *,
    max_breakpoints: int = MAX_BREAKPOINTS,
    min_points: int = MIN_POINTS,
    positive: bool = True,
    known: Iterable[float] = (),
) -> PiecewiseLinear:
    """Fit a piecewise linear function (Cornebize, section 5.3.3).

    Memory and time grow with the square of the number of distinct x: 40 MB and 1 s for 1,000.

    Args:
        x: sizes, 0 or more, in any order; they may repeat.
        y: durations.
        objective: ordinary, weighted (by 1 / x) or logarithmic.
        max_breakpoints: beside the known ones.
        min_points: distinct x of a piece.
        positive: no negative slope or intercept.
        known: x at which a piece must start (a change of protocol); those outside the data are ignored.

    Raises:
        UsageError: no points, unequal lengths, an unknown objective, or values that it does not allow.
    """
    if max_breakpoints < 0 or min_points < 1:
        raise UsageError(f"max_breakpoints={max_breakpoints}, min_points={min_points}: use 0 and 1 or more")
    points = grouped(x, y, _objective(objective))
    required = sorted({int(i) for i in np.searchsorted(points.x, list(known)) if 0 < i < len(points)})
    segments = max_breakpoints + len(required) + 1
    candidates = best_partitions(points, segments, min_points, required, positive)
    results = [_function(points, bounds, positive) for bounds in candidates]
    return min(results, key=lambda result: result.bic)


def _objective(name: Objective | str) -> Objective:
    try:
        return Objective(name)
    except ValueError:
        known = ", ".join(each.value for each in Objective)
        raise UsageError(f"objective {name!r} is unknown; use one of {known}") from None


def _function(points: Points, bounds: Bounds, positive: bool) -> PiecewiseLinear:
    slope, intercept, squares = segment_lines(points, bounds, positive)
    pieces = tuple(
        Piece(float(points.x[start]), float(a), float(b), *_residuals(points, start, end, a, b))
        for (start, end), a, b in zip(pairwise(bounds), slope, intercept, strict=True)
    )
    return PiecewiseLinear(pieces, points.objective, criterion(float(squares.sum()), points, len(pieces)))


def _residuals(points: Points, start: int, end: int, slope: float, intercept: float) -> tuple[float, int]:
    """Return the deviation of the residuals, and the number of observations."""
    part = slice(start, end)
    x, y, counts = points.x[part], points.y[part], points.counts[part]
    line = slope * x + intercept
    if points.objective is Objective.LOGARITHMIC:
        residual = np.log(y / np.maximum(line, np.finfo(float).tiny))
    elif points.objective is Objective.WEIGHTED:
        residual = (y - line) / np.maximum(x, 1.0)
    else:
        residual = y - line
    observations = int(counts.sum())
    squared = float(np.sum(counts * residual**2))
    return float(np.sqrt(squared / max(1, observations - 2))), observations
