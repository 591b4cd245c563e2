"""Search for the best breakpoints of each number, by objective."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np

from scalatrace.predict.regression.lines import Moments, best_lines, squares
from scalatrace.predict.regression.logarithmic import FINAL, linearised, log_lines
from scalatrace.predict.regression.points import Floats, Ints, Objective, Points
from scalatrace.predict.regression.segments import Bounds, allowed, partitions

__all__ = ["best_partitions", "criterion", "segment_lines"]

NEIGHBOURS = 2
"""Points before and after a breakpoint of the screening that are candidates too."""
MORE_SEGMENTS = 2
"""Partitions into so many more segments than wanted give candidates, too."""
MAX_MOVE = 8
"""Points by which one step moves a breakpoint."""
MAX_ROUNDS = 20

Costs = Callable[[Ints, Ints], Floats]
"""Sum of squares of segments, by first point and end."""


def criterion(squares_of_all: float, points: Points, segments: int) -> float:
    """Return the BIC of a partition: three parameters per segment and one per breakpoint (5.3.3)."""
    n = points.effective
    total = max(squares_of_all + points.within, points.floor)
    return (4 * segments - 1) * float(np.log(n)) + n * float(np.log(total))


def segment_lines(points: Points, bounds: Bounds, positive: bool) -> tuple[Floats, Floats, Floats]:
    """Return slope, intercept and sum of squares of each segment of a partition."""
    starts, ends = np.array(bounds[:-1]), np.array(bounds[1:])
    if points.objective is Objective.LOGARITHMIC:
        return log_lines(points, starts, ends, positive, FINAL)
    parts = (_moments(points, start, end) for start, end in pairwise(bounds))
    m = Moments(*(np.array(column) for column in zip(*parts, strict=True)))
    slope, intercept = best_lines(m, positive)
    return slope, intercept, squares(m, slope, intercept)


def _moments(points: Points, start: int, end: int) -> tuple[float, ...]:
    x, y, w = points.x[start:end], points.y[start:end], points.weight[start:end]
    return tuple(float(np.sum(v)) for v in (w, w * x, w * y, w * x * x, w * x * y, w * y * y))


def best_partitions(
    points: Points, max_segments: int, min_points: int, required: Iterable[int], positive: bool
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
        return partitions(cost + allowed(_all_edges(points), min_points, required), most)

    if points.objective is not Objective.LOGARITHMIC:
        return screened(points.y, points.weight, max_segments)
    most = max_segments + MORE_SEGMENTS
    first = screened(points.y, points.weight / points.y**2, most)
    second = screened(*linearised(points, _fitted(points, first, positive)), most)
    edges = _candidates([*first, *second], len(points))
    starts, ends = (side.ravel() for side in np.meshgrid(edges[:-1], edges[1:], indexing="ij"))
    fits = np.isfinite(allowed(edges.astype(np.float64), min_points, required)).ravel()
    costs = np.full(len(starts), np.inf)
    costs[fits] = log_lines(points, starts[fits], ends[fits], positive)[2]
    found = partitions(costs.reshape(len(edges) - 1, -1), max_segments)
    bounds = [tuple(int(edges[i]) for i in partition) for partition in found]
    return [_refined(points, each, min_points, required, positive) for each in bounds]


def _all_edges(points: Points) -> Floats:
    return np.arange(len(points) + 1, dtype=np.float64)


def _fitted(points: Points, found: list[Bounds], positive: bool) -> Floats:
    """Return the values, at all points, of the partition with the least BIC."""
    fits = [segment_lines(points, bounds, positive) for bounds in found]
    scores = [criterion(float(f[2].sum()), points, len(f[2])) for f in fits]
    best = int(np.argmin(scores))
    slope, intercept, _ = fits[best]
    lengths = np.diff(found[best])
    return np.repeat(slope, lengths) * points.x + np.repeat(intercept, lengths)


def _candidates(found: list[Bounds], n: int) -> Ints:
    """Return all breakpoints of partitions and their neighbours."""
    edges = {
        edge + shift for bounds in found for edge in bounds for shift in range(-NEIGHBOURS, NEIGHBOURS + 1)
    }
    return np.array(sorted({0, n} | {edge for edge in edges if 0 < edge < n}))


def _refined(
    points: Points, bounds: Bounds, min_points: int, required: tuple[int, ...], positive: bool
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


def _best_place(points: Points, start: int, now: int, end: int, min_points: int, positive: bool) -> int:
    first, last = max(start + min_points, now - MAX_MOVE), min(end - min_points, now + MAX_MOVE)
    middles = np.arange(first, last + 1)
    if not len(middles):
        return now
    left = log_lines(points, np.full_like(middles, start), middles, positive)[2]
    right = log_lines(points, middles, np.full_like(middles, end), positive)[2]
    return int(middles[np.argmin(left + right)])
