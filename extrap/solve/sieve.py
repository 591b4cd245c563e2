"""Whether any formula can have given values: a few points show of most that none does, for little.

What holds for all points holds for a few.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalatrace.extrap.solve.directions import FLAT, LIGHTEST, Directions, centred, threes, volumes
from scalatrace.trace.values.vec import SPECIAL_MAX

Ints = np.ndarray[Any, np.dtype[np.int64]]

ROWS = 20
"""Points that are looked at."""

GOLDEN = 0.6180339887498949
"""The golden ratio's fraction: its multiples spread over all points, with no period."""

OPEN = 1e-3
"""Features with less than this beside the values are as good as they are."""

LIGHT = 2 * LIGHTEST
"""Features that are tried three at a time: some more, since some may have no value at other points."""

__all__ = ["Sieve", "few"]


def few(count: int) -> Ints:
    """Which of so many points are looked at."""
    if count <= ROWS:
        return np.arange(count)
    return np.unique((np.arange(1, ROWS + 1) * GOLDEN % 1 * count).astype(np.int64))


class Sieve:
    """Features at the few points: a row per feature, the lightest first."""

    def __init__(self, table: Ints) -> None:
        table = table[(table != table[:, :1]).any(axis=1)]
        unit = centred(table)
        labels = Directions(unit).labels(unit)
        self._all = Directions(unit[np.sort(np.unique(labels, return_index=True)[1])])
        self._light = unit[_first(table, LIGHT)]
        triples = threes(len(self._light))
        self._triples = triples[volumes(self._light, triples) > FLAT]  # others are pairs

    def possible(self, values: Ints) -> bool:
        """Whether values at the few points are perhaps a formula's."""
        if (values == values[0]).all():
            return True
        if (values < SPECIAL_MAX).any():
            return False
        wanted = centred(values[None])[0]
        beside = self._all.beside(wanted)
        if (beside.left < OPEN).any() or len(np.unique(self._all.labels(beside.rest))) < len(beside.rest):
            return True
        rest = Directions(self._light).beside(wanted).rest
        return bool((volumes(rest, self._triples) < FLAT).any())


def _first(table: Ints, most: int) -> list[int]:
    """The first rows, no two alike."""
    seen: dict[bytes, int] = {}
    for i, row in enumerate(table):
        seen.setdefault(row.tobytes(), i)
        if len(seen) == most:
            break
    return list(seen.values())
