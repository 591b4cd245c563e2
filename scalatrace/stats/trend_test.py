"""Test whether points confirm that a time depends on the number of ranks: the largest scale is held out.

The function that is fitted to the smaller scales predicts the value at the largest one. So does the constant,
which is the value at the next smaller scale. The trend is confirmed if the function is nearer than the
constant by more than the noise of the values, and if the values rise (or fall) from scale to scale.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from scalatrace.arrays import Floats
from scalatrace.stats.curve import Curve
from scalatrace.stats.forms import Factor, Form, Points, Term, forms_for
from scalatrace.stats.least_squares import solve
from scalatrace.stats.normal_form import fit_normal_form

__all__ = [
    "confirmed_trend", "constant_curve", "falling", "is_steady", "predicts_largest", "proportional_curve",
]  # fmt: skip

RUN_NOISE = 0.02
"""Equal runs differ by at least so much of a time, whatever their samples show."""

DEVIATIONS = 2.0
"""A difference of so many standard errors is more than noise."""

MIN_SCALES = 3
"""Two scales that a function is fitted to, and the one that it predicts."""

MAX_RISE = 1.001
"""A falling time may rise by so much after the largest scale: rounding."""

DOUBLINGS = 30
"""A falling time is followed so far."""


def confirmed_trend(points: Points) -> int:
    """Return 1 if the largest scale confirms that values rise with the ranks, -1 that they fall, else 0."""
    order = np.argsort(points.scales[:, 0])
    if len(order) < MIN_SCALES:
        return 0
    values, sampled, errors = points.values[order], points.errors[order], _errors(points)[order]
    steps = np.diff(values)
    sign = int(np.sign(steps[-1]))
    if (sign * steps < -DEVIATIONS * np.hypot(sampled[1:], sampled[:-1])).any():
        return 0
    last, before = (float(points.scales[order[at], 0]) for at in (-1, -2))
    smaller = _without_largest(points, order)
    predicted = smaller.predict(last)
    is_trend = sign * (predicted - smaller.predict(before)) > 0
    gain = abs(steps[-1]) - abs(values[-1] - predicted)
    return sign if is_trend and gain > DEVIATIONS * np.hypot(*errors[-2:]) else 0


def predicts_largest(points: Points, tolerance: float) -> bool:
    """Return whether the smaller scales predict the value of the largest one, up to a part of it.

    Several parameters have no order: their values count as predicted.
    """
    if points.scales.shape[1] > 1:
        return True
    order = np.argsort(points.scales[:, 0])
    if len(order) < MIN_SCALES:
        return False
    last, value = float(points.scales[order[-1], 0]), float(points.values[order[-1]])
    return abs(_without_largest(points, order).predict(last) - value) <= tolerance * abs(value)


def proportional_curve(points: Points) -> Curve:
    """Return the line through 0 and the value at the largest scale, of one parameter."""
    at = int(np.argmax(points.scales[:, 0]))
    form = Form((Term((Factor(Fraction(1)),)),))
    coefficients = np.array([points.values[at] / points.scales[at, 0]])
    return Curve.of("proportional", form, coefficients, points, 0.0)


def is_steady(points: Points) -> bool:
    """Return whether all values are that of the largest scale, apart from noise."""
    last, errors = int(np.argmax(points.scales[:, 0])), _errors(points)
    noise = DEVIATIONS * np.hypot(errors, errors[last])
    return bool((np.abs(points.values - points.values[last]) <= noise).all())


def constant_curve(points: Points) -> Curve:
    """Return the value at the largest scale as a curve; its interval follows from how much values differ."""
    form = forms_for(points.scales.shape[1], 1)[0]
    last = float(points.values[int(np.argmax(points.scales[:, 0]))])
    size = np.abs(points.values).max() or 1.0
    deviation = float(np.sqrt(np.mean(np.square(points.values - last)))) / size
    alike = replace(points, errors=np.full(len(points), _errors(points).max()))  # each point counts as much
    return Curve("constant", form, (last,), alike, deviation, solve(form, alike))


def falling(curve: Curve, nprocs: float) -> Curve | None:
    """Return the likeliest of a curve and its rivals that does not rise beyond so many ranks."""
    curves = (curve, *curve.rivals)
    chosen = max(
        (rival for rival in curves if not _rises(rival, nprocs)), key=lambda rival: rival.weight, default=None
    )
    if chosen is None or chosen is curve:
        return chosen
    return replace(chosen, rivals=tuple(replace(rival, rivals=()) for rival in curves if rival is not chosen))


def _rises(curve: Curve, nprocs: float) -> bool:
    """Return whether a curve is above its value at so many ranks on any larger number of ranks."""
    limit = max(curve.predict(nprocs), 0.0) * MAX_RISE
    return any(curve.predict(nprocs * 2.0**k) > limit for k in range(1, DOUBLINGS))


def _errors(points: Points) -> Floats:
    return np.hypot(points.errors, RUN_NOISE * points.values)


def _without_largest(points: Points, order: npt.NDArray[np.intp]) -> Curve:
    """Return the function that all points but the largest suggest; `order`: of the points by ranks."""
    rows = order[:-1]
    smaller = replace(
        points, scales=points.scales[rows], values=points.values[rows], errors=points.errors[rows]
    )
    return fit_normal_form(smaller)
