"""Reject values that no formula can give, early, by testing a few points.

A formula that holds for all points holds for these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalatrace.extrap.solve.directions import (
    MAX_FLAT_VOLUME,
    TRIPLE_FEATURES,
    Directions,
    centred,
    triples_of,
    volumes,
)
from scalatrace.trace.values.vec import SPECIAL_MAX

Ints = np.ndarray[Any, np.dtype[np.int64]]

MAX_POINTS = 20
"""Number of sampled points."""

GOLDEN_RATIO = 0.6180339887498949
"""The golden ratio's fraction: its multiples spread over all points, with no period."""

MIN_REST = 1e-3
"""Relative residual below which a feature equals the values."""

MAX_TRIPLE_FEATURES = 2 * TRIPLE_FEATURES
"""Features that are tested in triples: more than the search uses, as some may be undefined elsewhere."""

__all__ = ["Sieve", "sample_points"]


def sample_points(count: int) -> Ints:
    """Return the indices of the sampled points among `count` points."""
    if count <= MAX_POINTS:
        return np.arange(count)
    return np.unique((np.arange(1, MAX_POINTS + 1) * GOLDEN_RATIO % 1 * count).astype(np.int64))


class Sieve:
    """Feature values at the sampled points: a row per feature, the lightest first."""

    def __init__(self, table: Ints) -> None:
        table = table[(table != table[:, :1]).any(axis=1)]
        unit = centred(table)
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
        wanted = centred(values[None])[0]
        projection = self._all.projected(wanted)
        if (projection.left < MIN_REST).any() or len(np.unique(self._all.labels(projection.rest))) < len(
            projection.rest
        ):
            return True
        rest = Directions(self._light).projected(wanted).rest
        return bool((volumes(rest, self._triples) < MAX_FLAT_VOLUME).any())


def _first(table: Ints, most: int) -> list[int]:
    """Return the first rows, no two alike."""
    seen: dict[bytes, int] = {}
    for i, row in enumerate(table):
        seen.setdefault(row.tobytes(), i)
        if len(seen) == most:
            break
    return list(seen.values())
