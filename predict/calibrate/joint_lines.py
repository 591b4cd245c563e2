"""Fit the time of a message by lines over its size, all segments at once, with parameters that make sense.

    T(n) = A_s + n B_s    for messages in segment s,    0 < A_0 <= A_1 <= ...    and 0 < B_s

A_s holds the latency, so a longer message has no smaller one; B_s is the time per byte. Lines that are fitted
one by one break this where the time per byte grows: the last intercept falls to 0. The increments of A, and
all B, are the unknowns of one least-squares problem without negative solutions; residuals are relative.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalatrace.arrays import Floats
from scalatrace.predict.calibrate.typical import Series
from scalatrace.stats.least_squares import solve_nonnegative

Indices = npt.NDArray[np.intp]

__all__ = ["JointLine", "joint_lines"]

MIN_FIXED_SHARE = 0.05
"""Least constant time of a message, as a part of the shortest one."""
MIN_PER_BYTE_NS = 2e-6
"""Least time per byte: more than 0 in a platform file, which has six digits."""

MAX_SEGMENTS = 16
MIN_SIZES = 5
"""Sizes of a segment, at least."""
MAX_EXCESS = 0.02
"""A segment is divided if its lines are off by so much more than lines without these conditions."""


@dataclass(frozen=True)
class JointLine:
    """The time of messages of `from_bytes` and more: fixed_ns + n per_byte_ns."""

    from_bytes: int
    fixed_ns: float
    per_byte_ns: float


def joint_lines(points: Series, starts: Sequence[int], free: Callable[[float], float]) -> list[JointLine]:
    """Return a line per segment; segments are divided where the conditions cost accuracy.

    Args:
        points: sizes, ascending, and times.
        starts: smallest size of each segment, the first is 0.
        free: time by size, fitted without the conditions.
    """
    sizes, ns = (np.array(values, float) for values in points)
    unavoidable = np.abs(np.array([free(size) for size in sizes]) / ns - 1)
    starts = list(starts)
    while True:
        segment = np.array([bisect_right(starts, size) - 1 for size in sizes])
        fixed, per_byte = _solve(segment, len(starts), sizes, ns)
        excess = np.abs((fixed[segment] + sizes * per_byte[segment]) / ns - 1) - unavoidable
        split = _worst(segment, len(starts), sizes, excess)
        if split is None or len(starts) >= MAX_SEGMENTS:
            return [JointLine(*row) for row in zip(starts, fixed.tolist(), per_byte.tolist(), strict=True)]
        starts = sorted({*starts, split})


def _solve(
    segment: Indices,
    count: int,
    sizes: Floats,
    ns: Floats,
) -> tuple[Floats, Floats]:
    """Return A and B of each segment."""
    least = MIN_FIXED_SHARE * float(ns.min())
    steps = (segment[:, None] >= np.arange(count)).astype(float)
    slopes = (segment[:, None] == np.arange(count)) * sizes[:, None]
    design = np.concatenate([steps, slopes], axis=1) / ns[:, None]
    solution = solve_nonnegative(design, 1 - (least + sizes * MIN_PER_BYTE_NS) / ns)
    return least + np.cumsum(solution[:count]), MIN_PER_BYTE_NS + solution[count:]


def _worst(
    segment: Indices,
    count: int,
    sizes: Floats,
    excess: Floats,
) -> int | None:
    """Return the size at which to divide the segment with the largest excess; None: none is worth it."""
    worst, split = MAX_EXCESS, None
    for number in range(count):
        members = segment == number
        if members.sum() >= 2 * MIN_SIZES and (mean := float(excess[members].mean())) > worst:
            worst, split = mean, int(np.sort(sizes[members])[members.sum() // 2])
    return split
