"""The simplest exact formula through given points (§3.2.3, with a richer basis).

Candidates come from least squares in floating point; each is verified with integers on all points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.extrap.solve.exact import Solution
from scalatrace.extrap.solve.features import Feature, Names, features
from scalatrace.extrap.solve.formula_search import System
from scalatrace.formula import Const, evaluate_all
from scalatrace.trace.values.vec import SPECIAL_MAX

__all__ = ["Basis", "PointSolver", "Solution"]


MAX_EQUAL = 12
"""Features with the values of a lighter one that are kept as its rivals."""


class Basis:
    """The columns of all features over all ranks of all traces, evaluated once."""

    def __init__(
        self,
        names: Names,
        columns: Mapping[str, Ints],
        runs: Ints,
        accept_unconfirmed: bool = False,
        given: Sequence[Feature] = (),
    ) -> None:
        """Evaluate the features.

        Args:
            columns: a value of each name for each point.
            runs: the number of each point's trace.
            given: if any, these instead of all; values are one of them, or constant.
        """
        self.columns, self.runs, self.accept_unconfirmed = columns, runs, accept_unconfirmed
        self.partners = names.partners
        self.is_given = bool(given)
        offered = tuple(given) or features(names)
        values = evaluate_all([feature.formula for feature in offered], columns)
        finite = [(f, row) for f, row in zip(offered, values, strict=True) if row is not None]
        self.features = [feature for feature, _ in finite]
        self.table: Ints = np.empty((len(finite), len(next(iter(columns.values())))), dtype=np.int64)
        for i, (_, row) in enumerate(finite):
            self.table[i] = row


class PointSolver:
    """Formulas of observed values at points: some of a basis' columns."""

    def __init__(self, basis: Basis, chosen: Ints | None = None) -> None:
        self._basis, self._chosen = basis, chosen
        self._known: dict[bytes, Solution | None] = {}

    def solve(self, values: Ints) -> Solution | None:
        """Find the simplest formula with exactly these values that the sizes confirm, or None."""
        result = self.solve_unconfirmed(values)
        return result if result is not None and result.confirmed else None

    def solve_unconfirmed(self, values: Ints) -> Solution | None:
        """Solve as `solve`; without a confirmed formula, return one that more points may confirm."""
        key = values.tobytes()
        if key not in self._known:
            self._known[key] = self._solve(values)
        return self._known[key]

    def _solve(self, values: Ints) -> Solution | None:
        first, accept = int(values[0]), self._basis.accept_unconfirmed
        if (values == first).all():
            return Solution(Const(first), 0, has_constant=True, confirmed=self._several_runs or accept)
        if (values < SPECIAL_MAX).any():
            return None  # MPI's constants follow no formula
        if self._basis.is_given:
            return self._equal_to(values)
        result = self._system.solve(values)
        return replace(result, confirmed=True) if accept and result is not None else result

    def _equal_to(self, values: Ints) -> Solution | None:
        """Return the first given formula with these values; the others are its rivals."""
        table = self._basis.table if self._chosen is None else self._basis.table[:, self._chosen]
        found = np.flatnonzero((table == values).all(axis=1))
        if not len(found) or len(set(values.tolist())) < 2:
            return None
        feature, *others = (self._basis.features[i] for i in found)
        return Solution(feature.formula, feature.weight, rivals=tuple(one.formula for one in others))

    @cached_property
    def _runs(self) -> Ints:
        return self._basis.runs if self._chosen is None else self._basis.runs[self._chosen]

    @cached_property
    def _several_runs(self) -> bool:
        return bool((self._runs != self._runs[0]).any())

    @cached_property
    def _system(self) -> System:
        """The features that tell points apart; of equal ones the lightest, with the others as its rivals."""
        table = self._basis.table if self._chosen is None else self._basis.table[:, self._chosen]
        seen: dict[bytes, int] = {}
        kept: list[int] = []
        equal: dict[int, list[Feature]] = {}
        for i in np.flatnonzero((table != table[:, :1]).any(axis=1)).tolist():
            number = seen.setdefault(table[i].tobytes(), len(kept))
            if number == len(kept):
                kept.append(i)
            elif len(equal.setdefault(number, [])) < MAX_EQUAL:
                equal[number].append(self._basis.features[i])
        columns = self._basis.columns
        if self._chosen is None:
            self._basis.table = np.empty((0, 0), dtype=np.int64)  # nobody else's, and large
        else:
            columns = {name: column[self._chosen] for name, column in columns.items()}
        chosen = [self._basis.features[i] for i in kept]
        accept, partners = self._basis.accept_unconfirmed, self._basis.partners
        return System(chosen, table[kept], columns, self._runs, equal, accept, partners)
