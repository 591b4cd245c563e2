"""Estimate the noise of a series without knowing the function below it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "relative_noise"]

Floats = NDArray[np.float64]

MIN_POINTS = 20
RATIOS = 40
"""Ratios of constant to proportional noise that are tried."""
KEPT = 0.9
"""Share of the smallest errors that count; the others may be at breakpoints, or outliers."""


def relative_noise(x: Floats, y: Floats) -> Floats:
    """Return the relative standard deviation of y around a piecewise linear function, at each point.

    The noise has a proportional and a constant part (Cornebize, equation (5.6)), so its relative variance is
    r^2 (1 + (c / y)^2). c is above 0 only if the errors are clearly more likely with it. With less than
    MIN_POINTS points, all have the same noise.

    Args:
        x: ascending, distinct.
        y: above 0.
    """
    if len(x) < MIN_POINTS:
        return np.ones(len(x))
    errors = _errors(x, y)
    inner = y[1:-1]
    candidates = np.geomspace(inner.min() / 4, inner.max() * 4, RATIOS)
    shapes = np.sqrt(1 + (np.append(0.0, candidates)[:, None] / inner) ** 2)
    scales = _trimmed(errors / shapes)
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


def _trimmed(errors: Floats) -> Floats:
    """Return the root mean square of the smallest errors of each row."""
    kept = max(1, int(KEPT * errors.shape[1]))
    smallest = np.partition(errors, kept - 1, axis=1)[:, :kept]
    return np.asarray(np.sqrt(np.mean(smallest**2, axis=1)))
