"""The lightest formula of one, two or three features and a constant that makes given values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from extrap.directions import Directions, centred
from extrap.exact import SAMPLED, Solution, believable, exact
from extrap.features import Feature
from scalatrace.trace.counters import is_counter
from scalatrace.trace.expression import names_of

Ints = np.ndarray[Any, np.dtype[np.int64]]

__all__ = ["System"]


class System:
    """Features that tell points apart, and the points' names."""

    def __init__(self, chosen: Sequence[Feature], table: Ints, columns: Mapping[str, Ints]) -> None:
        self.features, self.table, self.columns = chosen, table, columns
        self._distinct: dict[tuple[int, ...], tuple[int, int]] = {}
        self.sample = slice(None, None, max(1, table.shape[1] // SAMPLED) if table.size else 1)
        self._directions = Directions(centred(table[:, self.sample]))

    def solve(self, values: Ints) -> Solution | None:
        """The lightest formula of as few features as will do."""
        wanted = centred(values[None, self.sample])[0]
        if not wanted.any() or not len(self.features):
            return self._best([(i,) for i in range(len(self.features))], values)
        directions = self._directions
        beside = directions.beside(wanted)
        best = self._best([(i,) for i in directions.ones(beside)], values)
        for search in (directions.pairs, directions.triples):
            best = best or self._best(search(beside), values)
        return best

    def _best(self, subsets: Iterable[tuple[int, ...]], values: Ints) -> Solution | None:
        """The lightest formula of these candidates that holds for all points."""
        best: Solution | None = None
        for subset in sorted(subsets, key=lambda s: sum(self.features[i].weight for i in s)):
            least = sum(self.features[i].weight for i in subset)
            if best is not None and least >= best.weight:
                break
            chosen = [self.features[i] for i in subset]
            evidence = self._evidence(subset)
            if not believable(chosen, len(subset), *evidence):
                continue  # whatever its coefficients
            found = exact(chosen, self.table[list(subset)], values, *evidence)
            if found is not None and (best is None or found.weight < best.weight):
                best = found
        return best

    def _evidence(self, subset: tuple[int, ...]) -> tuple[int, int]:
        """At how many points these features differ, and at how many iterations and sizes."""
        if subset not in self._distinct:
            chosen = [self.features[i] for i in subset]
            self._distinct[subset] = _different(self.table[list(subset)]), self._places(chosen)
        return self._distinct[subset]

    def _places(self, chosen: Sequence[Feature]) -> int:
        """Different values of the names that these features use; 0 unless iterations are among them."""
        names = sorted(frozenset().union(*(names_of(feature.text) for feature in chosen)))
        if not any(is_counter(name) for name in names):
            return 0
        return _different([self.columns[name] for name in names])


def _different(rows: Iterable[Ints]) -> int:
    """How many different columns rows have."""
    return len(set(zip(*(row.tolist() for row in rows), strict=True)))
