"""Blocks of a problem whose size nobody gave, as rivals of formulas that fall as a side of the grid grows.

The blocks of 36 cells on 4, 5, 7 and 8 ranks, rounded up, are 13-P.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scalatrace.extrap.fit.fit_types import Ints, Rival
from scalatrace.extrap.fit.rivals import shares_of_numbers
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Expr, Value, linear_combination, names_in, parse_number

__all__ = ["blocks_of_unknown_size"]

MAX_BLOCK = 1 << 12
"""Cells of the smallest block that are tried."""

MIN_SIDES = 3
"""Sides that values have to be seen on; two have a block for nearly all values."""


def blocks_of_unknown_size(space: Space, points: Ints, values: Ints, formula: Value) -> Iterator[Rival]:
    """The multiple of a block plus a constant that has the values of a formula of one side of the grid.

    Negative values are distances to other ranks.

    Args:
        points: where the values are.
        values: one per point.
        formula: has these values.
    """
    names = names_in(formula)
    if len(names) != 1 or not names <= {"P", *space.names.sizes} or not isinstance(formula, Expr):
        return
    name = min(names)
    if any(shares_of_numbers(formula)):
        return
    sides, first = np.unique(space.columns[name][points], return_index=True)
    falling = values[first]
    if len(sides) < MIN_SIDES or falling[-1] < 0 or (np.diff(falling) > 0).any():
        return
    factor = int(np.gcd.reduce(falling - falling[-1]))
    more = (falling - falling[-1]) // factor
    for text, size, least in _problems(sides, more):
        block = parse_number(text.format(n=size, s=name))
        yield formula, linear_combination(int(falling[-1]) - factor * least, [factor], [block])


def _problems(sides: Ints, more: Ints) -> Iterator[tuple[str, int, int]]:
    """For blocks rounded down and up: the smallest problem that has them, and its smallest block.

    Args:
        more: by how much the block of each side is larger than the smallest.
    """
    blocks = np.arange(MAX_BLOCK)[:, None] + more[None, :]
    down = (blocks * sides).max(axis=1), (blocks * sides + sides - 1).min(axis=1)
    up = ((blocks - 1) * sides + 1).max(axis=1), (blocks * sides).min(axis=1)
    for text, (low, high) in (("({n}//{s})", down), ("(-(-{n}//{s}))", up)):
        found: Any = np.flatnonzero((low <= high) & (low > 0))
        if len(found):
            yield text, int(low[found[0]]), int(found[0])
