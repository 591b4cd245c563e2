"""Rivals of a formula that no points tell from it: other formulas, constants of one side, and blocks.

Ranks inside the second dimension may be in traces with three columns only: what is 3 there may be any
function of the columns. The blocks of 36 cells on 4, 5, 7 and 8 ranks, rounded up, are 13-P.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scalatrace.extrap.fit.fit_types import Ints, Rival
from scalatrace.extrap.fit.rivals import shares_of_numbers
from scalatrace.extrap.grid.space import Space
from scalatrace.extrap.solve.exact import Solution
from scalatrace.formula import (
    Binary,
    Const,
    Expr,
    Value,
    Var,
    evaluate,
    linear_combination,
    names_in,
    parse_number,
)

__all__ = ["constants_of_one_side", "rivals_of"]

MAX_BLOCK = 1 << 12
"""Cells of the smallest block that are tried."""

MIN_SIDES = 3
"""Sides that values have to be seen on; two have a block for nearly all values."""


def rivals_of(space: Space, points: Ints, values: Ints, solution: Solution) -> Iterator[Rival]:
    """A formula with each of its rivals.

    Args:
        points: where the formula holds.
        values: one per point.
    """
    yield from constants_of_one_side(space, points, solution.formula)
    yield from _blocks_of_unknown_size(space, points, values, solution.formula)
    yield from solution.pairs


def constants_of_one_side(space: Space, points: Ints, formula: Value) -> Iterator[Rival]:
    """A constant, with what it may be on the only side of a dimension that these points show, of several.

    Ranks inside the second dimension are in traces with three columns only: of 24 points, 8 may be `n//Y`,
    and the rank 3 further may be Y further.
    """
    if not isinstance(formula, Const):
        return
    for size in space.names.sizes:
        sides = space.columns[size]
        side = int(sides[points[0]])
        if (sides[points] != side).any() or (sides == side).all():
            continue
        found = [] if space.names.partners else list(_shares(space, points, formula.value, size))
        found += _steps(space, size) if space.names.partners or space.names.lists else ()
        yield from (
            (formula, other) for other in found if _is_everywhere(space, points, other, formula.value)
        )


def _shares(space: Space, points: Ints, value: int, size: str) -> Iterator[Expr]:
    """Multiples of a parameter's share along a dimension."""
    for name in space.inputs:
        share = int(space.columns[name][points[0]] // space.columns[size][points[0]])
        if share > 1 and value % share == 0:
            yield linear_combination(0, [value // share], [Binary("//", Var(name), Var(size))])


def _steps(space: Space, size: str) -> Iterator[Expr]:
    """A side itself, and the distances between neighbours in the grid that it decides."""
    yield from (one for one in space.steps() if size in names_in(one))
    yield Var(size)


def _is_everywhere(space: Space, points: Ints, formula: Expr, value: int) -> bool:
    columns = {name: space.columns[name][points] for name in names_in(formula)}
    return abs(value) > 1 and bool((np.asarray(evaluate(formula, columns)) == value).all())


def _blocks_of_unknown_size(space: Space, points: Ints, values: Ints, formula: Value) -> Iterator[Rival]:
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
