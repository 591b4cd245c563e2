"""Sample ranks of a large grid, corners included, to estimate the number of different values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from scalatrace.extrap.instantiate.ranks import rank_atoms
from scalatrace.formula import names_in
from scalatrace.trace.symbolic.field import ELEMENTS, INDEXED, LOOPED, RANKWISE, SUMMED_ELEMENTS, Field, Part
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.symbolic.special_values import evaluate
from scalatrace.trace.values.from_arrays import distinct

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

CHECKED_RANKS = 1 << 12
"""Ranks besides the corners."""

MAX_CORNERS = 64
"""Ranks of which values are looked at one by one."""

GOLDEN = 2654435761
"""A prime that leads all over the ranks (2^32 divided by the golden ratio)."""

__all__ = ["Sample"]


class Sample:
    """Sampled ranks of a grid, and their coordinates."""

    def __init__(self, grid: Grid, env: Mapping[str, Any]) -> None:
        self._grid = grid
        spread = np.arange(CHECKED_RANKS) * GOLDEN % grid.nprocs
        self.ranks: Ints = np.unique(np.concatenate([spread, np.array(self.corners)]))
        self._env = {name: row[self.ranks] if np.ndim(row) else row for name, row in env.items()}

    @cached_property
    def corners(self) -> list[int]:
        """Ranks at and next to the ends of the dimensions, and in the middle."""
        ends = [sorted({0, 1, side // 2, side - 2, side - 1} & set(range(side))) for side in self._grid.dims]
        ranks = [self._grid.rank(place) for place in product(*ends)]
        step = -(-len(ranks) // MAX_CORNERS)
        return sorted({*ranks[::step], ranks[-1]})

    def groups(self, field: Field, ranks: Mask, listed: bool) -> int:
        """Return a lower bound of the number of different values that a field has over ranks.

        Args:
            field: of the values.
            ranks: those that have one.
            listed: whether an integer of each rank's own is a group of its own, too.
        """
        left, count = ranks[self.ranks], 0
        for part in field.parts:
            holds = np.broadcast_to(np.asarray(evaluate(part.condition, self._env), dtype=bool), left.shape)
            mine, left = left & holds, left & ~holds
            if mine.any() and part.formulas is not None:
                count += self._groups(part, mine, listed)
        return count

    def _groups(self, part: Part, mine: Mask, listed: bool) -> int:
        assert part.formulas is not None
        if part.shape in (ELEMENTS, SUMMED_ELEMENTS):
            rows = [evaluate(atom, self._env) for atom in rank_atoms(part.formulas)]
        elif part.shape in (INDEXED, LOOPED):
            names = sorted(names_in(*part.formulas) & RANKWISE)
            rows = [self._env[name] for name in names]
        elif part.shape is None and not listed:
            return 1
        else:
            rows = [evaluate(formula, self._env) for formula in part.formulas]
        table = np.array([np.broadcast_to(row, mine.shape)[mine] for row in rows], dtype=np.int64)
        return len(distinct(table)[0]) if len(table) else 1
