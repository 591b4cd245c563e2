"""Measured points of a regression, sorted and grouped by their x, with the weights of an objective.

The weights of the logarithmic objective follow from the noise of the series, which is estimated without
knowing the function below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from scalatrace.arrays import Floats, Ints
from scalatrace.errors import UsageError

__all__ = ["GroupedPoints", "Objective", "group_points"]

MIN_RESIDUAL = 1e-7
"""Residuals below this share of the values are rounding errors, and no better fit."""
MIN_NOISE = 1e-3
"""Relative noise below which measurements count as equally precise."""

MIN_NOISE_POINTS = 20
RATIOS = 40
"""Ratios of constant to proportional noise that are tried."""
KEPT = 0.9
"""Share of the smallest errors that count; the others may be at breakpoints, or outliers."""


class Objective(Enum):
    """The residual whose weighted sum of squares is minimal: equations (5.8), (5.9) and (5.14)."""

    ORDINARY = "ordinary"
    WEIGHTED = "weighted"
    LOGARITHMIC = "logarithmic"


@dataclass(frozen=True)
class GroupedPoints:
    """Points with distinct x, ascending.

    Attributes:
        x, y: their coordinates; y is the mean (logarithmic objective: geometric mean) of the observations.
        counts: observations of each x.
        weight: of the squared residual: counts x weight of the objective.
        effective: observations that the noise allows the BIC to count; see `_weights`.
        within: sum of squares of the observations of each x around y. No line can reduce it.
        floor: smallest sum of squares that is no rounding error.
    """

    objective: Objective
    x: Floats
    y: Floats
    counts: Ints
    weight: Floats
    effective: float
    within: float
    floor: float

    def __len__(self) -> int:
        return len(self.x)


def group_points(
    x: Sequence[float] | Floats, y: Sequence[float] | Floats, objective: Objective
) -> GroupedPoints:
    """Sort and group observations.

    Raises:
        UsageError: there is none, the lengths differ, or a value is out of the objective's range.
    """
    xs, ys = _check_points(x, y, objective)
    distinct, index, counts = np.unique(xs, return_inverse=True, return_counts=True)
    logarithmic = objective is Objective.LOGARITHMIC
    response = np.log(ys) if logarithmic else ys
    means = np.bincount(index, response) / counts
    values = np.exp(means) if logarithmic else means
    scale, share = _weights(distinct, values, objective)
    within = float(np.sum(scale[index] * (response - means[index]) ** 2))
    size = float(len(xs)) if logarithmic else float(np.sum(scale[index] * ys**2))
    floor = max(size * MIN_RESIDUAL**2, np.finfo(float).tiny)
    return GroupedPoints(objective, distinct, values, counts, counts * scale, len(xs) * share, within, floor)


def _weights(x: Floats, y: Floats, objective: Objective) -> tuple[Floats, float]:
    """Return the weights of squared residuals, and the share of the points that the BIC counts.

    The BIC assumes that all residuals have one variance. Those of the logarithms do if the noise is
    proportional to y. With constant noise, few points of small y make up the sum of squares, and the BIC
    explains their noise by breakpoints. So the weights are the inverse of the estimated variance. Where
    it is below MIN_NOISE, residuals stay smaller than their weight expects. Such points do not count:
    n is replaced by the equivalent number of equal ones (Kish's effective sample size).
    """
    if objective is Objective.ORDINARY:
        return np.ones(len(x)), 1.0
    if objective is Objective.WEIGHTED:
        return np.maximum(x, 1.0) ** -2, 1.0
    noise = _relative_noise(x, y)
    bounded = np.maximum(noise, MIN_NOISE)
    expected = (noise / bounded) ** 2
    share = expected.sum() ** 2 / (expected**2).sum() / len(x) if expected.any() else 1.0
    return (bounded.max() / bounded) ** 2, float(share)


def _check_points(
    x: Sequence[float] | Floats, y: Sequence[float] | Floats, objective: Objective
) -> tuple[Floats, Floats]:
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if xs.ndim != 1 or xs.shape != ys.shape:
        raise UsageError(f"x has shape {xs.shape} and y {ys.shape}; give two arrays of one length")
    if not len(xs):
        raise UsageError("no points to fit; give at least one")
    if not (np.all(np.isfinite(xs)) and np.all(np.isfinite(ys))):
        raise UsageError("x and y must be finite numbers")
    if np.any(xs < 0):
        raise UsageError(f"x has the value {xs.min():g}; it must be 0 or more")
    if objective is Objective.LOGARITHMIC and np.any(ys <= 0):
        raise UsageError(f"y has the value {ys.min():g}; the logarithmic objective needs values above 0")
    return xs, ys


def _relative_noise(x: Floats, y: Floats) -> Floats:
    """Return the relative standard deviation of y around a piecewise linear function, at each point.

    The noise has a proportional and a constant part (Cornebize, equation (5.6)), so its relative variance is
    r^2 (1 + (c / y)^2). c is above 0 only if the errors are clearly more likely with it. With less than
    MIN_NOISE_POINTS points, all have the same noise.

    Args:
        x: ascending, distinct.
        y: above 0.
    """
    if len(x) < MIN_NOISE_POINTS:
        return np.ones(len(x))
    errors = _errors(x, y)
    inner = y[1:-1]
    candidates = np.geomspace(inner.min() / 4, inner.max() * 4, RATIOS)
    shapes = np.sqrt(1 + (np.append(0.0, candidates)[:, None] / inner) ** 2)
    scales = _trimmed_error(errors / shapes)
    if not scales.all():
        return np.full(len(x), float(scales[0]))
    # Twice the negative logarithm of a normal likelihood.
    scores = 2 * np.log(shapes).sum(axis=1) + 2 * len(inner) * np.log(scales)
    best = 1 + int(np.argmin(scores[1:]))
    if scores[0] - scores[best] < 2 * np.log(len(inner)):
        return np.full(len(x), float(scales[0]))
    return np.asarray(scales[best] * np.sqrt(1 + (candidates[best - 1] / y) ** 2))


def _errors(x: Floats, y: Floats) -> Floats:
    """Compare each point with the line through its neighbours, so that slopes do not count as noise."""
    t = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    before, after = (1 - t) * y[:-2], t * y[2:]
    return np.asarray(np.abs(y[1:-1] - before - after) / np.sqrt(y[1:-1] ** 2 + before**2 + after**2))


def _trimmed_error(errors: Floats) -> Floats:
    """Return the root mean square of the smallest errors of each row."""
    kept = max(1, int(KEPT * errors.shape[1]))
    smallest = np.partition(errors, kept - 1, axis=1)[:, :kept]
    return np.asarray(np.sqrt(np.mean(smallest**2, axis=1)))
