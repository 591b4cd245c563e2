"""Weighted least squares: many forms at once, with leave-one-out errors, and without negative coefficients.

Each value of a form is weighted by its standard error. The leave-one-out residual of a point follows from its
leverage h: the residual r becomes r / (1 - h), so no fit is repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scalatrace.arrays import Floats, Mask
from scalatrace.stats.forms import Form, Points

__all__ = ["Solutions", "Solved", "solve", "solve_all", "solve_fields", "solve_nonnegative"]

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

    coefficients: Floats
    root: Floats
    misfit: float
    left_out: Floats
    press: float


@dataclass(frozen=True, slots=True)
class Solutions:
    """Many fits: as `Solved`, each attribute with one more axis before, or several."""

    usable: Mask
    coefficients: Floats
    root: Floats
    misfit: Floats
    left_out: Floats
    press: Floats

    def __getitem__(self, at: tuple[int, ...]) -> Solved | None:
        """The fit at an index; None when the points do not determine it."""
        if not self.usable[at]:
            return None
        misfit, press = float(self.misfit[at]), float(self.press[at])
        return Solved(self.coefficients[at], self.root[at], misfit, self.left_out[at], press)


def solve(form: Form, points: Points) -> Solved | None:
    """Return the fit of one form; None when the points do not determine it."""
    return solve_fields(form, [points])[0]


def solve_all(forms: Sequence[Form], fields: Sequence[Points]) -> Iterator[tuple[list[int], Solutions]]:
    """Solve all forms for each of several quantities at the same scales.

    Yields:
        the forms of one length, those that are no longer than there are points, and their fits: an axis for
        quantities, one for these forms.
    """
    values, errors = (np.stack([getattr(f, name) for f in fields])[:, None] for name in ("values", "errors"))
    scales = fields[0].scales
    for size, indices, chosen in _by_length(tuple(forms)):
        if size <= len(scales):
            yield indices, _solve(_designs(chosen, scales.tobytes(), scales.shape), values, errors)


@lru_cache(maxsize=64)
def _by_length(forms: tuple[Form, ...]) -> list[tuple[int, list[int], tuple[Form, ...]]]:
    """The different lengths of forms, the places of those that have it, and these."""
    places: dict[int, list[int]] = {}
    for i, form in enumerate(forms):
        places.setdefault(len(form), []).append(i)
    return [(n, indices, tuple(forms[i] for i in indices)) for n, indices in sorted(places.items())]


def solve_fields(form: Form, fields: Sequence[Points]) -> list[Solved | None]:
    """Return the fits of one form to several quantities at the same scales."""
    for _, solutions in solve_all([form], fields) if fields else ():
        return [solutions[i, 0] for i in range(len(fields))]
    return [None] * len(fields)


@lru_cache(maxsize=64)
def _designs(forms: tuple[Form, ...], scales: bytes, shape: tuple[int, int]) -> Floats:
    """Return the designs of forms of one size, which all histograms of the same traces share."""
    rows = np.frombuffer(scales).reshape(shape)
    return np.stack([form.design(rows) for form in forms])


def _solve(designs: Floats, values: Floats, errors: Floats) -> Solutions:
    """Solve designs (forms, points, terms) for values (quantities, 1, points)."""
    units = np.abs(designs).max(axis=1, keepdims=True)
    usable = np.isfinite(units).all(axis=(1, 2)) & (units > 0).all(axis=(1, 2))
    units = np.where(usable[:, None, None], units, 1.0)
    safe = np.where(usable[:, None, None], designs, 0.0) / units
    weighted = safe / errors[..., None]
    norms = np.linalg.norm(weighted, axis=-2, keepdims=True)
    norms = np.where(norms > 0, norms, 1.0)
    u, s, vt = np.linalg.svd(weighted / norms, full_matrices=False)
    usable = usable & (s[..., -1] > SINGULAR * s[..., 0])
    target = values / errors
    within = (u * target[..., None]).sum(axis=-2)
    inverse = np.where(usable[..., None], 1 / np.where(s > 0, s, 1), 0)
    back = vt.swapaxes(-1, -2) * inverse[..., None, :] / (norms * units).swapaxes(-1, -2)
    coefficients = (back * within[..., None, :]).sum(axis=-1)
    residuals = target - (u * within[..., None, :]).sum(axis=-1)
    slack = 1 - np.square(u).sum(axis=-1)
    alone = (slack < ALONE).any(axis=-1)
    left_out = np.where(alone[..., None], np.inf, residuals / np.maximum(slack, ALONE))
    press = np.where(alone, np.inf, (np.square(residuals) / np.maximum(slack, ALONE)).sum(axis=-1))
    return Solutions(usable, coefficients, back, np.square(residuals).sum(axis=-1), left_out, press)


def solve_nonnegative(design: Floats, values: Floats, weights: Floats | None = None) -> Floats:
    """Return the least-squares coefficients, none of them negative; `weights` multiply residuals."""
    from scipy.optimize import nnls

    weighted, target = (design, values) if weights is None else (design * weights[:, None], values * weights)
    norms = np.linalg.norm(weighted, axis=0)
    norms[norms == 0] = 1.0
    coefficients: Floats = nnls(weighted / norms, target)[0] / norms
    return coefficients
