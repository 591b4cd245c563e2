"""Find one, two or three features that, with a constant, give the values: least squares by directions.

Features and values are centred and scaled to unit vectors in the space of the points. The values lie in the
plane of two features exactly when the parts of the two that are orthogonal to the values are parallel. So no
pair is tried: the orthogonal parts are labelled by direction, and equal labels are candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from scalatrace.arrays import Floats, Ints
from scalatrace.trace.values.vec import SPECIAL_MAX

__all__ = [
    "MAX_CANDIDATES",
    "MAX_FLAT_VOLUME",
    "TRIPLE_FEATURES",
    "Directions",
    "Projection",
    "Sieve",
    "centre_rows",
    "out_of_reach",
    "sample_points",
    "scale_rows",
    "triples_of",
    "volumes",
]


TOLERANCE = 1e-9
"""Share of the values' variance that a formula may seem to miss before it is checked exactly."""

MAX_ROUNDING_SHARE = 1e-10
"""Share of the values' squares that rounding leaves of them at most."""

LABEL_TOLERANCE = 1e-7
"""Directions differ by more; rounding keeps equal singles far nearer to each other."""

MAX_FLAT_VOLUME = 1e-6
"""Square of the volume that three directions in a plane seem to span at most."""

MAX_CANDIDATES = 400
"""Sets of features that are returned at most: as many pass through a few points whatever the values."""

TRIPLE_FEATURES = 14
"""Features that are tried three at a time."""


MAX_POINTS = 20
"""Number of sampled points."""

GOLDEN_RATIO = 0.6180339887498949
"""The golden ratio's fraction: its multiples spread over all points, with no period."""

MIN_REST = 1e-3
"""Relative residual below which a feature equals the values."""

MAX_TRIPLE_FEATURES = 2 * TRIPLE_FEATURES
"""Features that are tested in triples: more than the search uses, as some may be undefined elsewhere."""


def centre_rows(table: Ints) -> Floats:
    """Return rows less their mean, scaled to length 1; 0 for constant rows."""
    rows = table.astype(np.float64)
    rows -= rows.mean(axis=1, keepdims=True)
    return scale_rows(rows)


def out_of_reach(unit: Floats, subsets: Ints, values: Ints) -> list[bool]:
    """Return a mask of subsets of rows: true only if values are no linear combination of the rows.

    Args:
        unit: rows of length 1.
        subsets: [nsubsets, size] numbers of rows.
    """
    residuals = np.repeat(values[None].astype(np.float64), len(subsets), axis=0)
    limit = MAX_ROUNDING_SHARE * np.square(residuals[0]).sum()
    directions: list[Floats] = []
    for rows in subsets.T:
        direction = unit[rows]
        for before in directions:
            direction = direction - _dots(before, direction) * before
        direction = scale_rows(direction)
        residuals -= _dots(direction, residuals) * direction
        directions.append(direction)
    result: list[bool] = (np.square(residuals).sum(axis=1) > limit).tolist()
    return result


def _dots(a: Floats, b: Floats) -> Floats:
    """Return the scalar products of the rows of two tables, as a column."""
    products: Floats = np.einsum("ij,ij->i", a, b)[:, None]
    return products


def scale_rows(rows: Floats) -> Floats:
    """Return rows scaled to length 1; zeros stay."""
    length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    unit: Floats = rows / np.where(length > 0, length, 1)
    return unit


@lru_cache(maxsize=16)
def triples_of(count: int) -> Ints:
    """Return all triples of `count` items."""
    return np.array(list(combinations(range(count), 3)), dtype=np.int64).reshape(-1, 3)


def volumes(unit: Floats, subsets: Ints) -> Floats:
    """Return the squared volumes that triples of directions span."""
    gram = unit @ unit.T
    a, b, c = (gram[subsets[:, i], subsets[:, j]] for i, j in ((0, 1), (0, 2), (1, 2)))
    result: Floats = 1 + 2 * a * b * c - a * a - b * b - c * c
    return result


def _labels(keys: Floats) -> Ints:
    """Numbers for keys, the same for what is the same but for rounding."""
    order = np.argsort(keys)
    labels = np.empty(len(keys), dtype=np.int64)
    labels[order] = np.cumsum(np.diff(keys[order], prepend=-1.0) > LABEL_TOLERANCE)
    return labels


@dataclass(frozen=True, slots=True)
class Projection:
    """Features split into a part along the values and an orthogonal rest.

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
        self._light = unit[:TRIPLE_FEATURES] @ unit[:TRIPLE_FEATURES].T

    def labels(self, unit: Floats) -> Ints:
        """Return numbers of directions, equal for equal or opposite directions."""
        return _labels(np.abs(unit @ self._view))

    def projected(self, wanted: Floats) -> Projection:
        """Split all features along values, which are centred and of length 1."""
        along = self.unit @ wanted
        rest = self.unit - along[:, None] * wanted
        left = np.sqrt(np.square(rest).sum(axis=1))
        return Projection(along, left, rest / np.where(left > 0, left, 1)[:, None])

    def singles(self, projection: Projection) -> list[int]:
        """Return features that give the values with a factor and a constant."""
        result: list[int] = np.flatnonzero(1 - projection.along**2 < TOLERANCE).tolist()
        return result

    def pairs(self, projection: Projection) -> list[tuple[int, int]]:
        """Return the first pairs of features whose plane contains the values."""
        candidates: list[tuple[int, int]] = []
        for i, partners in self._planes(projection):
            g, a, b = self.unit[partners] @ self.unit[i], projection.along[i], projection.along[partners]
            det = 1 - g * g
            regular = det > TOLERANCE
            missed = 1 - (a * a + b * b - 2 * a * b * g) / np.where(regular, det, 1)
            candidates += [(i, j) for j in partners[regular & (missed < TOLERANCE)].tolist()]
            if len(candidates) >= MAX_CANDIDATES:
                break
        return candidates[:MAX_CANDIDATES]

    def _planes(self, projection: Projection) -> Iterator[tuple[int, Ints]]:
        """Features, each with those after it in whose common plane the values seem to be."""
        labels = self.labels(projection.rest)
        near = projection.left**2 < 4 * TOLERANCE
        kinds = np.unique(np.stack([labels, self._labels]), axis=1)[0]
        shared = (np.bincount(kinds) > 1)[labels]  # with features of more than one direction
        for i in np.flatnonzero(shared | near.any()).tolist():
            after = slice(i + 1, None)
            partners = np.flatnonzero((labels[after] == labels[i]) | near[i] | near[after]) + i + 1
            if len(partners):
                yield i, partners

    def triples(self, projection: Projection) -> list[tuple[int, ...]]:
        """Return the first triples of the lightest features that span the values."""
        subsets = triples_of(len(self._light))
        near = projection.left[:TRIPLE_FEATURES][subsets].min(axis=1, initial=1) ** 2 < 4 * TOLERANCE
        subsets = subsets[near | (volumes(projection.rest[:TRIPLE_FEATURES], subsets) < MAX_FLAT_VOLUME)]
        grams = self._light[subsets[:, :, None], subsets[:, None, :]]
        regular = np.abs(np.linalg.det(grams)) > TOLERANCE
        subsets, grams = subsets[regular], grams[regular]
        right = projection.along[subsets]
        coefficients = np.linalg.solve(grams, right[:, :, None])[:, :, 0]
        missed = 1 - (coefficients * right).sum(axis=1)
        return [tuple(subset) for subset in subsets[missed < TOLERANCE][:MAX_CANDIDATES].tolist()]


def sample_points(count: int) -> Ints:
    """Return the indices of the sampled points among `count` points."""
    if count <= MAX_POINTS:
        return np.arange(count)
    return np.unique((np.arange(1, MAX_POINTS + 1) * GOLDEN_RATIO % 1 * count).astype(np.int64))


class Sieve:
    """Feature values at the sampled points: a row per feature, the lightest first."""

    def __init__(self, table: Ints) -> None:
        table = table[(table != table[:, :1]).any(axis=1)]
        unit = centre_rows(table)
        labels = Directions(unit).labels(unit)
        self._all = Directions(unit[np.sort(np.unique(labels, return_index=True)[1])])
        self._light = unit[_first(table, MAX_TRIPLE_FEATURES)]
        triples = triples_of(len(self._light))
        self._triples = triples[volumes(self._light, triples) > MAX_FLAT_VOLUME]  # others are pairs

    def possible(self, values: Ints) -> bool:
        """Return whether a formula may give these values at the sampled points."""
        if (values == values[0]).all():
            return True
        if (values < SPECIAL_MAX).any():
            return False
        wanted = centre_rows(values[None])[0]
        projection = self._all.projected(wanted)
        if (projection.left < MIN_REST).any() or len(np.unique(self._all.labels(projection.rest))) < len(
            projection.rest
        ):
            return True
        residuals = Directions(self._light).projected(wanted).rest
        return bool((volumes(residuals, self._triples) < MAX_FLAT_VOLUME).any())


def _first(table: Ints, most: int) -> list[int]:
    """Return the first rows, no two alike."""
    seen: dict[bytes, int] = {}
    for i, row in enumerate(table):
        seen.setdefault(row.tobytes(), i)
        if len(seen) == most:
            break
    return list(seen.values())
