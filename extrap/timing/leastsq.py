"""Weighted least squares for many forms at once, with leave-one-out errors.

Each value counts by its standard error. What a fit would have said of a point without having seen it follows
from
the leverage h of the point: the residual r becomes r / (1 - h), so nothing is fitted twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from extrap.timing.points import Array, Points
from extrap.timing.terms import Form

__all__ = ["Solved", "solve", "solve_all", "solve_fields"]

ALONE = 1e-9
"""Less of a point's value than this comes from the others: they cannot predict it."""
SINGULAR = 1e-7
"""Least ratio of the singular values of a usable design, its columns being scaled alike."""


@dataclass(frozen=True, slots=True)
class Solved:
    """A form fitted to points.

    Attributes:
        coefficients: of the form's terms.
        root: a matrix R with the coefficients' covariance R R^T, for errors as the points say.
        misfit: sum of the squared residuals in standard errors.
        left_out: each point's leave-one-out error in the points' standard errors; infinite where it
            determines a term alone.
        press: sum of the squared leave-one-out errors, each in standard errors of its own: one of a point
            that the others hardly tell is expected to be large.
    """

    coefficients: Array
    root: Array
    misfit: float
    left_out: Array
    press: float


def solve(form: Form, points: Points) -> Solved | None:
    """Return the fit of one form; None when the points do not determine it."""
    return solve_all([form], points)[0]


def solve_all(forms: Sequence[Form], points: Points) -> list[Solved | None]:
    """Return the fit of each form; None for those that the points do not determine."""
    found: list[Solved | None] = [None] * len(forms)
    for size in {len(form) for form in forms}:
        if size > len(points):
            continue
        which = [i for i, form in enumerate(forms) if len(form) == size]
        designs = _designs(tuple(forms[i] for i in which), points.scales.tobytes(), points.scales.shape)
        solutions = _solve(designs, points.values[None], points.errors[None])
        for i, solved in zip(which, solutions, strict=True):
            found[i] = solved
    return found


def solve_fields(form: Form, fields: Sequence[Points]) -> list[Solved | None]:
    """Return the fits of one form to several quantities at the same scales."""
    if not fields or len(form) > len(fields[0]):
        return [None] * len(fields)
    design = _designs((form,), fields[0].scales.tobytes(), fields[0].scales.shape)
    return _solve(design, np.stack([f.values for f in fields]), np.stack([f.errors for f in fields]))


@lru_cache(maxsize=64)
def _designs(forms: tuple[Form, ...], scales: bytes, shape: tuple[int, int]) -> Array:
    """Return the designs of forms of one size, which all histograms of the same traces share."""
    rows = np.frombuffer(scales).reshape(shape)
    return np.stack([form.design(rows) for form in forms])


def _solve(designs: Array, values: Array, errors: Array) -> list[Solved | None]:
    """Solve designs (forms, points, terms) for values (quantities, points): one form or one quantity."""
    units = np.abs(designs).max(axis=1, keepdims=True)
    usable = np.isfinite(units).all(axis=(1, 2)) & (units > 0).all(axis=(1, 2))
    units = np.where(usable[:, None, None], units, 1.0)
    safe = np.where(usable[:, None, None], designs, 0.0) / units
    weighted = safe / errors[:, :, None]
    norms = np.linalg.norm(weighted, axis=1, keepdims=True)
    norms = np.where(norms > 0, norms, 1.0)
    u, s, vt = np.linalg.svd(weighted / norms, full_matrices=False)
    usable = usable & (s[:, -1] > SINGULAR * s[:, 0])
    target = values / errors
    within = (u * target[:, :, None]).sum(axis=1)
    inverse = np.where(usable[:, None], 1 / np.where(s > 0, s, 1), 0)
    back = vt.transpose(0, 2, 1) * inverse[:, None, :] / (norms * units).transpose(0, 2, 1)
    coefficients = (back * within[:, None, :]).sum(axis=2)
    residuals = target - (u * within[:, None, :]).sum(axis=2)
    rest = 1 - np.square(u).sum(axis=2)
    alone = (rest < ALONE).any(axis=1)
    left_out = np.where(alone[:, None], np.inf, residuals / np.maximum(rest, ALONE))
    press = np.where(alone, np.inf, (np.square(residuals) / np.maximum(rest, ALONE)).sum(axis=1))
    misfit = np.square(residuals).sum(axis=1)
    return [
        Solved(coefficients[i], back[i], float(misfit[i]), left_out[i], float(press[i]))
        if usable[i]
        else None
        for i in range(len(u))
    ]
