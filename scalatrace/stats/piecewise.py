"""Piecewise linear regression with as many breakpoints as the BIC justifies (Cornebize, section 5.3.3).

In: sizes and durations. Out: a `PiecewiseLinear` function. Breakpoints of each number are searched by dynamic
programming; with the logarithmic objective, a linear regression screens them, and the exact sums of squares
decide between the candidates.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scalatrace.arrays import Floats, Ints
from scalatrace.errors import UsageError
from scalatrace.stats.grouped_points import GroupedPoints, Objective, group_points
from scalatrace.stats.lines import FINAL, Moments, best_lines, linearised, log_lines, squares
from scalatrace.stats.partitions import Bounds, find_partitions, mark_allowed

__all__ = ["LinePiece", "Objective", "PiecewiseLinear", "best_partitions", "fit_piecewise", "segment_lines"]

MAX_BREAKPOINTS = 6
MIN_POINTS = 5
NEIGHBOURS = 2
"""GroupedPoints before and after a breakpoint of the screening that are candidates too."""
MORE_SEGMENTS = 2
"""Partitions into so many more segments than wanted give candidates, too."""
MAX_MOVE = 8
"""GroupedPoints by which one step moves a breakpoint."""
MAX_ROUNDS = 20


@dataclass(frozen=True)
class LinePiece:
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
class PiecewiseLinear:
    """A piecewise linear function.

    Attributes:
        pieces: by ascending x; the first one also holds for smaller x.
        bic: Bayesian information criterion; comparable between fits of the same data and objective.
    """

    pieces: tuple[LinePiece, ...]
    objective: Objective
    bic: float

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The smallest x of each piece but the first."""
        return tuple(piece.from_x for piece in self.pieces[1:])

    def piece(self, x: float) -> LinePiece:
        """Return the piece that x is in."""
        return self.pieces[bisect_right(self.breakpoints, x)]

    def at(self, x: float) -> float:
        """Return the value at x."""
        return self.piece(x).at(x)


def fit_piecewise(
    x: Sequence[float] | Floats,
    y: Sequence[float] | Floats,
    objective: Objective | str = Objective.LOGARITHMIC,
    *,
    max_breakpoints: int = MAX_BREAKPOINTS,
    min_points: int = MIN_POINTS,
    positive: bool = True,
    breakpoints: Iterable[float] = (),
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
        breakpoints: x at which a piece must start (a change of protocol); those outside the data are ignored.

    Raises:
        UsageError: no points, unequal lengths, an unknown objective, or values that it does not allow.
    """
    if max_breakpoints < 0 or min_points < 1:
        raise UsageError(f"max_breakpoints={max_breakpoints}, min_points={min_points}: use 0 and 1 or more")
    points = group_points(x, y, _objective(objective))
    required = sorted({int(i) for i in np.searchsorted(points.x, list(breakpoints)) if 0 < i < len(points)})
    segments = max_breakpoints + len(required) + 1
    candidates = best_partitions(points, segments, min_points, required, positive)
    functions = [_function(points, bounds, positive) for bounds in candidates]
    return min(functions, key=lambda result: result.bic)


def _objective(name: Objective | str) -> Objective:
    try:
        return Objective(name)
    except ValueError:
        objectives = ", ".join(objective.value for objective in Objective)
        raise UsageError(f"objective {name!r} is unknown; use one of {objectives}") from None


def _function(points: GroupedPoints, bounds: Bounds, positive: bool) -> PiecewiseLinear:
    slope, intercept, squares = segment_lines(points, bounds, positive)
    pieces = tuple(
        LinePiece(float(points.x[start]), float(a), float(b), *_residuals(points, start, end, a, b))
        for (start, end), a, b in zip(pairwise(bounds), slope, intercept, strict=True)
    )
    return PiecewiseLinear(pieces, points.objective, criterion(float(squares.sum()), points, len(pieces)))


def _residuals(
    points: GroupedPoints, start: int, end: int, slope: float, intercept: float
) -> tuple[float, int]:
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


def criterion(squares_of_all: float, points: GroupedPoints, segments: int) -> float:
    """Return the BIC of a partition: three parameters per segment and one per breakpoint (5.3.3)."""
    n = points.effective
    total = max(squares_of_all + points.within, points.floor)
    return (4 * segments - 1) * float(np.log(n)) + n * float(np.log(total))


def segment_lines(points: GroupedPoints, bounds: Bounds, positive: bool) -> tuple[Floats, Floats, Floats]:
    """Return slope, intercept and sum of squares of each segment of a partition."""
    starts, ends = np.array(bounds[:-1]), np.array(bounds[1:])
    if points.objective is Objective.LOGARITHMIC:
        return log_lines(points, starts, ends, positive, FINAL)
    parts = (_moments(points, start, end) for start, end in pairwise(bounds))
    m = Moments(*(np.array(column) for column in zip(*parts, strict=True)))
    slope, intercept = best_lines(m, positive)
    return slope, intercept, squares(m, slope, intercept)


def _moments(points: GroupedPoints, start: int, end: int) -> tuple[float, ...]:
    x, y, w = points.x[start:end], points.y[start:end], points.weight[start:end]
    return tuple(float(np.sum(v)) for v in (w, w * x, w * y, w * x * x, w * x * y, w * y * y))


def best_partitions(
    points: GroupedPoints, max_segments: int, min_points: int, required: Iterable[int], positive: bool
) -> list[Bounds]:
    """Return a partition for each number of segments that is possible.

    Args:
        min_points: of a segment; those that end at a required breakpoint may be shorter.
        required: indices of points at which a segment must start.
    """
    required = tuple(required)

    def screened(response: Floats, weight: Floats, most: int) -> list[Bounds]:
        m = Moments.between_all(points.x, response, weight)
        cost = squares(m, *best_lines(m, positive))
        return find_partitions(cost + mark_allowed(_all_edges(points), min_points, required), most)

    if points.objective is not Objective.LOGARITHMIC:
        return screened(points.y, points.weight, max_segments)
    most = max_segments + MORE_SEGMENTS
    first = screened(points.y, points.weight / points.y**2, most)
    second = screened(*linearised(points, _fit_partition(points, first, positive)), most)
    edges = _candidates([*first, *second], len(points))
    starts, ends = (side.ravel() for side in np.meshgrid(edges[:-1], edges[1:], indexing="ij"))
    fits = np.isfinite(mark_allowed(edges.astype(np.float64), min_points, required)).ravel()
    costs = np.full(len(starts), np.inf)
    costs[fits] = log_lines(points, starts[fits], ends[fits], positive)[2]
    partitions = find_partitions(costs.reshape(len(edges) - 1, -1), max_segments)
    bounds = [tuple(int(edges[i]) for i in partition) for partition in partitions]
    return [
        _refine_breakpoints(points, breakpoints, min_points, required, positive) for breakpoints in bounds
    ]


def _all_edges(points: GroupedPoints) -> Floats:
    return np.arange(len(points) + 1, dtype=np.float64)


def _fit_partition(points: GroupedPoints, partitions: list[Bounds], positive: bool) -> Floats:
    """Return the values, at all points, of the partition with the least BIC."""
    fits = [segment_lines(points, bounds, positive) for bounds in partitions]
    scores = [criterion(float(f[2].sum()), points, len(f[2])) for f in fits]
    best = int(np.argmin(scores))
    slope, intercept, _ = fits[best]
    lengths = np.diff(partitions[best])
    return np.repeat(slope, lengths) * points.x + np.repeat(intercept, lengths)


def _candidates(partitions: list[Bounds], n: int) -> Ints:
    """Return all breakpoints of partitions and their neighbours."""
    edges = {
        edge + shift
        for bounds in partitions
        for edge in bounds
        for shift in range(-NEIGHBOURS, NEIGHBOURS + 1)
    }
    return np.array(sorted({0, n} | {edge for edge in edges if 0 < edge < n}))


def _refine_breakpoints(
    points: GroupedPoints, bounds: Bounds, min_points: int, required: tuple[int, ...], positive: bool
) -> Bounds:
    """Move single breakpoints to where the exact sum of squares is least, until none moves."""
    places = list(bounds)
    for _ in range(MAX_ROUNDS):
        before = list(places)
        for i in range(1, len(places) - 1):
            if places[i] not in required:
                places[i] = _best_place(points, places[i - 1], places[i], places[i + 1], min_points, positive)
        if places == before:
            break
    return tuple(places)


def _best_place(
    points: GroupedPoints, start: int, now: int, end: int, min_points: int, positive: bool
) -> int:
    first, last = max(start + min_points, now - MAX_MOVE), min(end - min_points, now + MAX_MOVE)
    middles = np.arange(first, last + 1)
    if not len(middles):
        return now
    left = log_lines(points, np.full_like(middles, start), middles, positive)[2]
    right = log_lines(points, middles, np.full_like(middles, end), positive)[2]
    return int(middles[np.argmin(left + right)])
