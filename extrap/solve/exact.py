"""Exact coefficients of a formula through points, and whether the points confirm it (§3.2.3).

As many points as features determine the coefficients; the formula is then verified on all points. It is
confirmed when the points of all sizes but any one still determine it: each size is predicted by the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.extrap.solve.features import Feature
from scalatrace.formula import Expr, linear_combination
from scalatrace.formula.linear import solve_linear

Fit = tuple[list[int], int]
"""The constant and the coefficients of features, and their denominator."""

SAMPLED = 1500
"""Points that a system is solved with, about; all are checked."""

EPSILON = 1e-9
"""A part of a feature's values that only rounding leaves of them."""

MAX_COEFFICIENT = 1 << 40
"""Larger coefficients are chance, and their products might not fit into 64 bits."""

MAX_DENOMINATOR = 96
CONSTANT = 0.3
"""Cost of an additive constant."""

MAX_SIMPLE_UNKNOWNS = 2
"""Unknowns that one spare point confirms; more need nearly as many spare points as there are unknowns."""

PLACES = 16
"""At so many different iterations and sizes even a formula of few values, such as i//X, is confirmed."""

__all__ = ["PLACES", "SAMPLED", "Fit", "Solution", "determined", "enough_points", "exact", "fit_coefficients"]


@dataclass(frozen=True, slots=True)
class Solution:
    """A formula, its weight, and its evidence.

    Attributes:
        confirmed: whether any size can be left out and the others still determine the formula.
        rivals: other formulas that hold for all points and are about as simple.
        coefficients: the constant, those of the features, and the denominator less one.
    """

    formula: Expr
    weight: float
    has_constant: bool = False
    confirmed: bool = True
    rivals: tuple[Expr, ...] = ()
    coefficients: tuple[int, ...] = ()

    @property
    def pairs(self) -> tuple[tuple[Expr, Expr], ...]:
        """The formula with each of its rivals."""
        return tuple((self.formula, rival) for rival in self.rivals)

    @property
    def is_plain(self) -> bool:
        """Return whether it is a single feature without coefficient or constant."""
        return self.is_shifted and self.coefficients[0] == 0

    @property
    def is_shifted(self) -> bool:
        """Return whether it is a feature or its negative, plus a constant."""
        return self.coefficients[1:] in ((1, 0), (-1, 0))


def enough_points(unknowns: int, distinct: int, places: int) -> bool:
    """Return whether `distinct` points suffice for a formula of `unknowns` unknowns."""
    spare = unknowns - 1 if unknowns > MAX_SIMPLE_UNKNOWNS else 1
    return distinct - unknowns >= spare or places >= PLACES


def determined(table: Ints, sizes: Ints, has_constant: bool) -> tuple[bool, bool]:
    """Return whether all sizes but some one, and all but any one, determine the coefficients of features.

    A coefficient that rests on one size alone could explain any value there.

    Args:
        table: a row per feature, a column per point.
        sizes: for each point the number of its size.
        has_constant: whether the formula has an additive constant.
    """
    result = [_independent(table[:, sizes != size], has_constant) for size in np.unique(sizes)]
    return any(result), all(result)


def _independent(table: Ints, has_constant: bool) -> bool:
    if not table.shape[1]:
        return False
    return _pivot_points(table - table[:, :1] if has_constant else table) is not None


def fit_coefficients(table: Ints, values: Ints) -> Fit | None:
    """Return the constant, the coefficients and their denominator if they hold for all points, else None."""
    solved = _coefficients(table, values)
    if solved is None:
        return None
    coefficients, denominator = solved
    if denominator > MAX_DENOMINATOR:
        return None
    first = table[:, 0].tolist()
    constant = denominator * int(values[0]) - sum(c * x for c, x in zip(coefficients, first, strict=True))
    numbers = [constant, *coefficients]
    if max(map(abs, numbers)) > MAX_COEFFICIENT:
        return None
    total = numbers[0] + sum(n * row for n, row in zip(numbers[1:], table, strict=True))
    return (numbers, denominator) if np.array_equal(total, denominator * values) else None


def exact(chosen: Sequence[Feature], fit: Fit | None, distinct: int, places: int) -> Solution | None:
    """Return the formula of these features with the `fit_coefficients` result, unless a coefficient is 0."""
    if fit is None or 0 in fit[0][1:]:
        return None
    numbers, denominator = fit
    has_constant = numbers[0] != 0
    unknowns = len(chosen) + has_constant
    weight = sum(feature.weight for feature in chosen) + 0.1 * sum(n not in (0, 1, -1) for n in numbers)
    weight += 0.5 * (denominator > 1) + CONSTANT * has_constant
    if not enough_points(unknowns, distinct, places):
        return None
    terms = [feature.formula for feature in chosen]
    formula = linear_combination(numbers[0], numbers[1:], terms, denominator)
    lengths = (*numbers, denominator - 1)
    return Solution(formula, weight, has_constant, coefficients=lengths)


def _coefficients(table: Ints, values: Ints) -> tuple[list[int], int] | None:
    """The coefficients that features have if a formula holds, and their denominator; None: no points tell."""
    differences = table - table[:, :1]
    pivots = _pivot_points(differences)
    if pivots is None:
        return None
    return solve_linear(differences[:, pivots].T.tolist(), (values[pivots] - values[0]).tolist())


def _pivot_points(differences: Ints) -> list[int] | None:
    """Return as many points as features, of which these differ from each other; None when there are none."""
    residuals = list(differences.astype(np.float64))
    result = []
    for i, row in enumerate(residuals):
        point = int(np.abs(row).argmax())
        if abs(row[point]) <= EPSILON * max(float(np.abs(differences[i]).max()), 1.0):
            return None
        result.append(point)
        for j in range(i + 1, len(residuals)):
            residuals[j] = residuals[j] - row * (residuals[j][point] / row[point])
    return result
