"""Which one, two or three of many features make given values, with a constant: least squares by directions.

Features and values are directions in the space of the points. Values are in the plane of two features just
where what these have beside the values points one way; so no pair is tried, but what is left of each feature
is sorted, and what is equal stands together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

NEAR = 1e-9
"""Share of the values' variance that a formula may seem to miss before it is checked exactly."""

SAME = 1e-7
"""Directions differ by more; rounding keeps equal ones far nearer to each other."""

FLAT = 1e-6
"""Square of the volume that three directions in a plane seem to span at most."""

MOST_CANDIDATES = 400
LIGHTEST = 14
"""Features that are tried three at a time."""

__all__ = ["FLAT", "LIGHTEST", "Beside", "Directions", "centred", "threes", "volumes"]


def centred(table: Ints) -> Floats:
    """Rows without their mean, of length 1; 0 where all of a row is equal."""
    rows = table.astype(np.float64)
    rows -= rows.mean(axis=1, keepdims=True)
    length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    unit: Floats = rows / np.where(length > 0, length, 1)
    return unit


@lru_cache(maxsize=16)
def threes(count: int) -> Ints:
    """All triples of so many things."""
    return np.array(list(combinations(range(count), 3)), dtype=np.int64).reshape(-1, 3)


def volumes(unit: Floats, subsets: Ints) -> Floats:
    """Squares of the volumes that triples of directions span."""
    gram = unit @ unit.T
    a, b, c = (gram[subsets[:, i], subsets[:, j]] for i, j in ((0, 1), (0, 2), (1, 2)))
    found: Floats = 1 + 2 * a * b * c - a * a - b * b - c * c
    return found


def _labels(keys: Floats) -> Ints:
    """Numbers for keys, the same for what is the same but for rounding."""
    order = np.argsort(keys)
    labels = np.empty(len(keys), dtype=np.int64)
    labels[order] = np.cumsum(np.diff(keys[order], prepend=-1.0) > SAME)
    return labels


@dataclass(frozen=True, slots=True)
class Beside:
    """What features have beside values.

    Attributes:
        along: cosine between each feature and the values.
        left: length of the rest.
        rest: the rest's direction.
    """

    along: Floats
    left: Floats
    rest: Floats


class Directions:
    """Features, centred and of length 1: a row per feature, the lightest first."""

    def __init__(self, unit: Floats) -> None:
        self.unit = unit
        self._view = np.random.default_rng(1).standard_normal(unit.shape[1])
        self._labels = self.labels(unit)
        self._light = unit[:LIGHTEST] @ unit[:LIGHTEST].T

    def labels(self, unit: Floats) -> Ints:
        """Numbers for directions, the same where they point the same or the opposite way."""
        return _labels(np.abs(unit @ self._view))

    def beside(self, wanted: Floats) -> Beside:
        """What the features have beside values, which are centred and of length 1."""
        along = self.unit @ wanted
        rest = self.unit - along[:, None] * wanted
        left = np.sqrt(np.square(rest).sum(axis=1))
        return Beside(along, left, rest / np.where(left > 0, left, 1)[:, None])

    def ones(self, beside: Beside) -> list[int]:
        """Features that are as good as the values."""
        found: list[int] = np.flatnonzero(1 - beside.along**2 < NEAR).tolist()
        return found

    def pairs(self, beside: Beside) -> list[tuple[int, int]]:
        """The first pairs of features that make the values."""
        found: list[tuple[int, int]] = []
        for i, others in self._planes(beside):
            g, a, b = self.unit[others] @ self.unit[i], beside.along[i], beside.along[others]
            det = 1 - g * g
            regular = det > NEAR
            missed = 1 - (a * a + b * b - 2 * a * b * g) / np.where(regular, det, 1)
            found += [(i, j) for j in others[regular & (missed < NEAR)].tolist()]
            if len(found) >= MOST_CANDIDATES:
                break
        return found[:MOST_CANDIDATES]

    def _planes(self, beside: Beside) -> Iterator[tuple[int, Ints]]:
        """Features, each with those after it in whose common plane the values seem to be."""
        labels = self.labels(beside.rest)
        near = beside.left**2 < 4 * NEAR
        kinds = np.unique(np.stack([labels, self._labels]), axis=1)[0]
        shared = (np.bincount(kinds) > 1)[labels]  # with features of more than one direction
        for i in np.flatnonzero(shared | near.any()).tolist():
            after = slice(i + 1, None)
            others = np.flatnonzero((labels[after] == labels[i]) | near[i] | near[after]) + i + 1
            if len(others):
                yield i, others

    def triples(self, beside: Beside) -> list[tuple[int, ...]]:
        """The first triples of the lightest features that make the values."""
        subsets = threes(len(self._light))
        near = beside.left[:LIGHTEST][subsets].min(axis=1, initial=1) ** 2 < 4 * NEAR
        subsets = subsets[near | (volumes(beside.rest[:LIGHTEST], subsets) < FLAT)]
        grams = self._light[subsets[:, :, None], subsets[:, None, :]]
        regular = np.abs(np.linalg.det(grams)) > NEAR
        subsets, grams = subsets[regular], grams[regular]
        right = beside.along[subsets]
        found = np.linalg.solve(grams, right[:, :, None])[:, :, 0]
        missed = 1 - (found * right).sum(axis=1)
        return [tuple(subset) for subset in subsets[missed < NEAR][:MOST_CANDIDATES].tolist()]
