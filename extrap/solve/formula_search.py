"""Find the formula of least weight, with one, two or three features and a constant, for given values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from scalatrace.extrap.solve.directions import Directions, centred
from scalatrace.extrap.solve.exact import SAMPLED, Solution, determined, enough_points, exact
from scalatrace.extrap.solve.features import Feature
from scalatrace.formula import names_in
from scalatrace.trace.symbolic.counters import is_counter
from scalatrace.trace.symbolic.field import RANKWISE

Ints = np.ndarray[Any, np.dtype[np.int64]]

__all__ = ["System"]


class System:
    """Features that tell points apart, and the points' names.

    Attributes:
        runs: the trace that each point is of.
    """

    def __init__(
        self, chosen: Sequence[Feature], table: Ints, columns: Mapping[str, Ints], runs: Ints
    ) -> None:
        self.features, self.table, self.columns, self.runs = chosen, table, columns, runs
        self._distinct: dict[tuple[int, ...], tuple[int, int]] = {}
        self._determined: dict[tuple[tuple[int, ...], bool], tuple[bool, bool]] = {}
        self.sample = slice(None, None, max(1, table.shape[1] // SAMPLED) if table.size else 1)
        self._directions = Directions(centred(table[:, self.sample]))

    def solve(self, values: Ints) -> Solution | None:
        """The lightest confirmed formula of as few features as will do; else the lightest of any."""
        wanted = centred(values[None, self.sample])[0]
        if not wanted.any() or not len(self.features):
            return self._best([(i,) for i in range(len(self.features))], values)
        directions = self._directions
        projection = directions.projected(wanted)
        best = self._best([(i,) for i in directions.singles(projection)], values)
        for search in (directions.pairs, directions.triples):
            if best is not None and best.confirmed:
                break
            found = self._best(search(projection), values)
            best = found if best is None or (found is not None and found.confirmed) else best
        return best

    def _best(self, subsets: Iterable[tuple[int, ...]], values: Ints) -> Solution | None:
        """The lightest formula of these candidates that holds for all points, a confirmed one if any is."""
        best: Solution | None = None
        unconfirmed: Solution | None = None
        for subset in sorted(subsets, key=lambda s: sum(self.features[i].weight for i in s)):
            least = sum(self.features[i].weight for i in subset)
            if best is not None and least >= best.weight:
                break
            chosen = [self.features[i] for i in subset]
            evidence = self._evidence(subset)
            if not enough_points(len(subset), *evidence):
                continue  # whatever its coefficients
            found = exact(chosen, self.table[list(subset)], values, *evidence)
            if found is None or (best is not None and found.weight >= best.weight):
                continue
            by_some, by_all = self._determined_by(subset, found.has_constant)
            if by_all:
                best = found
            elif by_some and (unconfirmed is None or found.weight < unconfirmed.weight):
                unconfirmed = replace(found, confirmed=False)
        return best or unconfirmed

    def _evidence(self, subset: tuple[int, ...]) -> tuple[int, int]:
        """At how many points these features differ, and at how many iterations and sizes."""
        if subset not in self._distinct:
            chosen = [self.features[i] for i in subset]
            self._distinct[subset] = _different(self.table[list(subset)]), self._places(chosen)
        return self._distinct[subset]

    def _determined_by(self, subset: tuple[int, ...], has_constant: bool) -> tuple[bool, bool]:
        """Whether all sizes but some one, and but any one, determine these features' coefficients."""
        key = subset, has_constant
        if key not in self._determined:
            names = frozenset().union(*(names_in(self.features[i].formula) for i in subset))
            sizes = _numbered([self.columns[name] for name in sorted(names & self._size_names)])
            sizes = self.runs if sizes is None else sizes
            table = self.table[list(subset)][:, self.sample]
            self._determined[key] = determined(table, sizes[self.sample], has_constant)
        return self._determined[key]

    @cached_property
    def _size_names(self) -> frozenset[str]:
        """Names with one value in each trace: sizes of the grid, and parameters."""
        _, first, run_of = np.unique(self.runs, return_index=True, return_inverse=True)
        constant = (name for name, c in self.columns.items() if np.array_equal(c[first][run_of], c))
        return frozenset(name for name in constant if not is_counter(name) and name not in RANKWISE | {"i"})

    def _places(self, chosen: Sequence[Feature]) -> int:
        """Different values of the names that these features use; 0 unless iterations are among them."""
        names = sorted(frozenset().union(*(names_in(feature.formula) for feature in chosen)))
        if not any(is_counter(name) for name in names):
            return 0
        return _different([self.columns[name] for name in names])


def _numbered(rows: Sequence[Ints]) -> Ints | None:
    """For each column of rows a number, the same where columns are equal; None without rows."""
    if not rows:
        return None
    numbers: Ints = np.unique(np.stack(rows), axis=1, return_inverse=True)[1].reshape(-1)
    return numbers


def _different(rows: Iterable[Ints]) -> int:
    """How many different columns rows have."""
    return len(set(zip(*(row.tolist() for row in rows), strict=True)))
