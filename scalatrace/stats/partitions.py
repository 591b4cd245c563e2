"""Optimal partitions of points into a given number of segments, by dynamic programming; groups of values.

The optimum over all partitions into k segments, in O(k n^2) additions of numpy; the heuristic of Cornebize
(Algorithms 5 and 6: add breakpoints greedily, then remove them greedily) can miss it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from scalatrace.arrays import Floats, Ints

__all__ = ["Bounds", "find_partitions", "group_values", "mark_allowed"]

Bounds = tuple[int, ...]
"""Index of the first point of each segment, and the number of points."""


def mark_allowed(edges: Floats, min_points: int, required: Iterable[int]) -> Floats:
    """Return 0 for each segment between two edges that a partition may contain, infinity for others.

    Args:
        edges: indices of points, ascending; element [a, b] of the result is the segment from edges[a] to
            before edges[b + 1].
        min_points: of a segment.
        required: edges that must not be inside a segment.
    """
    starts, ends = edges[:-1, None], edges[None, 1:]
    # The short segments that required edges enforce are allowed.
    short = ends - starts < min_points
    inside = np.zeros(short.shape, dtype=bool)
    for edge in required:
        inside |= (starts < edge) & (edge < ends)
        short &= ~((starts == edge) | (ends == edge))
    short &= ~((starts == edges[0]) & (ends == edges[-1]))
    return np.where(short | inside | (starts >= ends), np.inf, 0.0)


def find_partitions(cost: Floats, max_segments: int) -> list[tuple[int, ...]]:
    """Return the best partition into 1, 2, ... segments, each as indices of its edges.

    Args:
        cost: element [a, b] is the cost of the segment between the edges a and b + 1.
        max_segments: numbers without any allowed partition are left out.
    """
    best = cost[0].copy()
    choices: list[Floats] = []
    partitions = []
    for count in range(1, max_segments + 1):
        if np.isfinite(best[-1]):
            partitions.append(_trace_back(choices, len(best)))
        if count == max_segments or len(best) == 1:
            break
        # best[a - 1]: cost of all before edge a; the last segment starts there.
        totals = best[:-1, None] + cost[1:]
        choice = np.argmin(totals, axis=0)
        best = totals[choice, np.arange(len(best))]
        choices.append(choice.astype(np.float64))
    return partitions


def _trace_back(choices: list[Floats], end: int) -> tuple[int, ...]:
    """Follow the choices back from the last edge to the first."""
    edges = [end]
    for choice in reversed(choices):
        edges.append(int(choice[edges[-1] - 1]) + 1)
    return (0, *reversed(edges))


def group_values(values: Floats, max_groups: int, min_members: int) -> Ints:
    """Return the group of each value: intervals, as many as the BIC of the classification justifies.

    Minus twice the log-likelihood is n log(SS / n) - 2 sum n_g log(n_g / n), where SS is the sum of squares
    within the groups. Without the second term, half a normal distribution would look like a group.
    """
    n = len(values)
    order = np.argsort(values)
    x = values[order] - values.mean()
    sums, squares = (np.append(0.0, np.cumsum(v)) for v in (x, x * x))
    counts = np.maximum(np.arange(1, n + 1)[None, :] - np.arange(n)[:, None], 1)
    within = squares[None, 1:] - squares[:-1, None] - (sums[None, 1:] - sums[:-1, None]) ** 2 / counts
    edges = np.arange(n + 1, dtype=np.float64)
    choices = find_partitions(np.maximum(within, 0.0) + mark_allowed(edges, min_members, ()), max_groups)
    floor = max(float(values.mean() ** 2) * 1e-12 * n, np.finfo(float).tiny)

    def score(bounds: tuple[int, ...]) -> float:
        sizes = np.diff(bounds)
        total = sum(float(within[a, b - 1]) for a, b in pairwise(bounds))
        weights = float(np.sum(sizes * np.log(sizes / n)))
        return n * float(np.log(max(total, floor) / n)) - 2 * weights + 2 * len(sizes) * float(np.log(n))

    best = min(choices, key=score)
    groups = np.empty(n, dtype=np.int64)
    groups[order] = np.repeat(np.arange(len(best) - 1), np.diff(best))
    return groups
