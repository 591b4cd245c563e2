"""The simplest exact formula through given points (§3.2.3, with a richer basis).

Linear systems over one, two or three features and a constant; what floating point finds is verified with
integers on all points. With more points than unknowns the spare ones check the formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from extrap.features import Feature, Names, features
from scalatrace.errors import FormulaError
from scalatrace.trace.counters import is_counter
from scalatrace.trace.expression import column, names_of
from scalatrace.trace.values import SPECIAL_MAX

Ints = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

SAMPLED = 1500
"""Points that a system is solved with, about; all are checked."""

NEAR = 1e-9
"""Share of the values' variance that a formula may seem to miss before it is checked exactly."""

NEAR_INTEGER = 1e-7
"""So near a coefficient is an integer; the formula is checked exactly anyway."""

MOST_CANDIDATES = 400
LIGHTEST = 14
"""Features that are tried three at a time."""

LARGEST_DENOMINATOR = 96
CONSTANT = 0.3
"""What a constant beside the features costs."""

FEW = 2
"""Unknowns that one spare point confirms; more need nearly as many spare points as there are unknowns."""

PLAIN, PLAIN_UNKNOWNS = 2.0, 3
"""Without spare points only sizes and products of two are believed, and so many unknowns."""

PLACES = 16
"""At so many different iterations and sizes even a formula of few values, such as i//X, is confirmed."""

SPARELESS = 4.0
"""What a formula costs more when no point is left to check it."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A formula and its weight; not sure: no point was left to check it."""

    text: str
    weight: float
    sure: bool = True


class Basis:
    """The columns of all features over all ranks of all traces, evaluated once."""

    def __init__(self, names: Names, columns: Mapping[str, Ints]) -> None:
        self.columns = columns
        self.features: list[Feature] = []
        rows = []
        count = len(next(iter(columns.values())))
        with np.errstate(divide="raise", invalid="raise"):
            for feature in features(names):
                try:
                    row = column(feature.text, columns)
                except FormulaError:
                    continue  # it divides by zero somewhere
                self.features.append(feature)
                rows.append(np.broadcast_to(np.asarray(row, dtype=np.int64), (count,)))
        self.table: Ints = np.array(rows, dtype=np.int64).reshape(len(rows), count)


class Points:
    """Where values were seen: some of a basis' columns."""

    def __init__(self, basis: Basis, chosen: Ints | None = None) -> None:
        self._basis, self._chosen = basis, chosen
        self._known: dict[bytes, Solution | None] = {}

    def solve(self, values: Ints) -> Solution | None:
        """The simplest formula with exactly these values; None when there is none."""
        key = values.tobytes()
        if key not in self._known:
            self._known[key] = self._solve(values)
        return self._known[key]

    def _solve(self, values: Ints) -> Solution | None:
        first = int(values[0])
        if (values == first).all():
            return Solution(str(first), 0)
        if (values < SPECIAL_MAX).any():
            return None  # MPI's constants follow no formula
        return self._system.solve(values)

    @cached_property
    def _system(self) -> _System:
        """The features that tell points apart, no two alike."""
        table = self._basis.table if self._chosen is None else self._basis.table[:, self._chosen]
        seen: set[bytes] = set()
        kept = []
        for i in np.flatnonzero((table != table[:, :1]).any(axis=1)).tolist():
            key = table[i].tobytes()
            if key not in seen:
                seen.add(key)
                kept.append(i)
        columns = self._basis.columns
        if self._chosen is None:
            self._basis.table = np.empty((0, 0), dtype=np.int64)  # nobody else's, and large
        else:
            columns = {name: column[self._chosen] for name, column in columns.items()}
        return _System([self._basis.features[i] for i in kept], table[kept], columns)


KEPT = 32
"""Systems whose products are kept: megabytes each."""


@lru_cache(maxsize=8)
def _upper(count: int) -> tuple[Ints, Ints]:
    """All pairs."""
    first, second = np.triu_indices(count, 1)
    return first, second


@lru_cache(maxsize=8)
def _threes(count: int) -> Ints:
    """All triples."""
    return np.array(list(combinations(range(count), 3)), dtype=np.int64).reshape(-1, 3)


class _System:
    """Least squares over one, two or three features at once, by their products with each other."""

    def __init__(self, chosen: Sequence[Feature], table: Ints, columns: Mapping[str, Ints]) -> None:
        self.features, self.table, self.columns = chosen, table, columns
        self._distinct: dict[tuple[int, ...], tuple[int, int]] = {}
        step = max(1, table.shape[1] // SAMPLED) if table.size else 1
        self.sample = slice(None, None, step)
        some = table[:, self.sample].astype(np.float64)
        centred = some - some.mean(axis=1, keepdims=True)
        length = np.sqrt((centred**2).sum(axis=1, keepdims=True))
        self.unit = centred / np.where(length > 0, length, 1)
        self._gram: Floats | None = None

    @property
    def gram(self) -> Floats:
        """The products of all features with each other; kept for the systems used last."""
        if self._gram is None:
            self._gram = self.unit @ self.unit.T
        _RECENT.pop(id(self), None)
        _RECENT[id(self)] = self
        while len(_RECENT) > KEPT:
            _RECENT.pop(next(iter(_RECENT)))._gram = None
        return self._gram

    def solve(self, values: Ints) -> Solution | None:
        """The lightest formula of as few features as will do."""
        wanted = values[self.sample].astype(np.float64)
        wanted = wanted - wanted.mean()
        norm = np.sqrt((wanted**2).sum())
        if norm == 0 or not len(self.features):
            return self._best([(i,) for i in range(len(self.features))], values) if norm == 0 else None
        along = self.unit @ (wanted / norm)
        for subsets in (self._ones(along), self._pairs(along), self._triples(along)):
            best = self._best(subsets, values)
            if best is not None:
                return best
        return None

    def _ones(self, along: Floats) -> list[tuple[int, ...]]:
        return [(int(i),) for i in np.flatnonzero(1 - along**2 < NEAR)]

    def _pairs(self, along: Floats) -> list[tuple[int, ...]]:
        upper, lower = _upper(len(along))
        g, a, b = self.gram[upper, lower], along[upper], along[lower]
        det = 1 - g * g
        regular = det > NEAR
        det = np.where(regular, det, 1)
        left = 1 - (a * a + b * b - 2 * a * b * g) / det
        found = np.flatnonzero(regular & (left < NEAR))
        return [(int(upper[k]), int(lower[k])) for k in found[:MOST_CANDIDATES]]

    def _triples(self, along: Floats) -> list[tuple[int, ...]]:
        light = min(len(along), LIGHTEST)
        subsets = _threes(light)
        grams = self.gram[subsets[:, :, None], subsets[:, None, :]]
        regular = np.abs(np.linalg.det(grams)) > NEAR
        subsets, grams = subsets[regular], grams[regular]
        if not len(subsets):
            return []
        right = along[subsets]
        found = np.linalg.solve(grams, right[:, :, None])[:, :, 0]
        left = 1 - (found * right).sum(axis=1)
        return [tuple(map(int, subset)) for subset in subsets[left < NEAR][:MOST_CANDIDATES]]

    def _best(self, subsets: Sequence[tuple[int, ...]], values: Ints) -> Solution | None:
        """The lightest formula of these candidates that holds for all points."""
        best: Solution | None = None
        for subset in sorted(subsets, key=lambda s: sum(self.features[i].weight for i in s)):
            least = sum(self.features[i].weight for i in subset)
            if best is not None and least >= best.weight:
                break
            chosen = [self.features[i] for i in subset]
            evidence = self._evidence(subset)
            if not _believable(chosen, len(subset), *evidence):
                continue  # whatever its coefficients
            found = _exact(chosen, self.table[list(subset)], values, *evidence)
            if found is not None and (best is None or found.weight < best.weight):
                best = found
        return best

    def _evidence(self, subset: tuple[int, ...]) -> tuple[int, int]:
        """At how many points these features differ, and at how many iterations and sizes."""
        if subset not in self._distinct:
            table, chosen = self.table[list(subset)], [self.features[i] for i in subset]
            self._distinct[subset] = len(np.unique(table, axis=1).T), self._places(chosen)
        return self._distinct[subset]

    def _places(self, chosen: Sequence[Feature]) -> int:
        """Different values of the names that these features use; 0 unless iterations are among them."""
        names = sorted(frozenset().union(*(names_of(feature.text) for feature in chosen)))
        if not any(is_counter(name) for name in names):
            return 0
        return len(np.unique(np.array([self.columns[name] for name in names]), axis=1).T)


_RECENT: dict[int, _System] = {}
"""Systems with their products, the one used last at the end."""


def _confirmed(unknowns: int, distinct: int, places: int) -> bool:
    """Whether so many different points are enough for a formula of so many unknowns."""
    return distinct - unknowns >= (unknowns - 1 if unknowns > FEW else 1) or places >= PLACES


def _believable(chosen: Sequence[Feature], unknowns: int, distinct: int, places: int) -> bool:
    """Whether a formula is confirmed, or so plain that it is believed without spare points."""
    if _confirmed(unknowns, distinct, places):
        return True
    if distinct > unknowns:
        return False  # many coefficients through hardly more points say nothing
    return unknowns <= PLAIN_UNKNOWNS and all(feature.weight <= PLAIN for feature in chosen)


def _exact(
    chosen: Sequence[Feature], table: Ints, values: Ints, distinct: int, places: int
) -> Solution | None:
    """The formula with rational coefficients over these features, if it holds for all points."""
    scale = np.maximum(np.abs(table).max(axis=1), 1).astype(np.float64)
    step = max(1, len(values) // SAMPLED)
    system = np.column_stack([np.ones(len(values[::step])), (table[:, ::step] / scale[:, None]).T])
    coefficients = np.linalg.lstsq(system, values[::step].astype(np.float64), rcond=None)[0]
    numbers, denominator = _rational([coefficients[0], *(coefficients[1:] / scale)])
    if denominator > LARGEST_DENOMINATOR:
        return None
    if 0 in numbers[1:]:
        return None  # a shorter formula does
    total = numbers[0] + sum(n * row for n, row in zip(numbers[1:], table, strict=True))
    if not np.array_equal(total, denominator * values):
        return None
    unknowns = len(chosen) + (numbers[0] != 0)
    weight = sum(feature.weight for feature in chosen) + 0.1 * sum(n not in (0, 1, -1) for n in numbers)
    weight += 0.5 * (denominator > 1) + CONSTANT * (numbers[0] != 0)
    if not _believable(chosen, unknowns, distinct, places):
        return None
    sure = _confirmed(unknowns, distinct, places)
    weight += 0.0 if sure else SPARELESS
    return Solution(_text(numbers, denominator, chosen), weight, sure)


def _rational(coefficients: Sequence[float]) -> tuple[list[int], int]:
    """Numerators and the common denominator of what these coefficients are near to."""
    near = [round(c) for c in coefficients]
    if all(abs(c - n) < NEAR_INTEGER for c, n in zip(coefficients, near, strict=True)):
        return near, 1
    fractions = [Fraction(float(c)).limit_denominator(LARGEST_DENOMINATOR) for c in coefficients]
    denominator = int(np.lcm.reduce([f.denominator for f in fractions]))
    return [int(f * denominator) for f in fractions], denominator


def _text(numbers: Sequence[int], denominator: int, chosen: Sequence[Feature]) -> str:
    terms = [_term(n, feature.text) for n, feature in zip(numbers[1:], chosen, strict=True)]
    if numbers[0]:
        terms.append(f"{numbers[0]:+}")
    text = "".join(terms).removeprefix("+")
    return text if denominator == 1 else f"({text})//{denominator}"


def _term(number: int, text: str) -> str:
    inner = text if text.isidentifier() else f"({text})" if any(c in text for c in "+-%/<=>") else text
    if abs(number) == 1:
        return ("+" if number > 0 else "-") + inner
    return f"{number:+}*{inner}"
