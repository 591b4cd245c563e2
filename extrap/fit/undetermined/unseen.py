"""Rivals of a formula that no points exclude: other formulas, constants of one side, and blocks.

Ranks inside the second dimension may be in traces with three columns only: what is 3 there may be any
function of the columns. The blocks of 36 cells on 4, 5, 7 and 8 ranks, rounded up, are 13-P.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormulaError
from scalatrace.extrap.fit.undetermined.rivals import shares_of_numbers
from scalatrace.extrap.fit.undetermined.unknown_sizes import problems, with_unknown_sizes
from scalatrace.extrap.grid.communicators import Rival
from scalatrace.extrap.grid.space import Space
from scalatrace.extrap.solve.exact import Solution
from scalatrace.formula import (
    Binary,
    Cond,
    Const,
    Expr,
    Value,
    Var,
    add,
    children,
    evaluate,
    linear_combination,
    names_in,
    parse_number,
    sub,
)
from scalatrace.formula.rewrite import Substitution

__all__ = ["constants_of_one_side", "rivals_of"]

MAX_SLOPE = 4
"""Cells by which blocks fall, at most, as a side grows by one."""

NO_COUNTERS: Mapping[str, Ints] = MappingProxyType({})

MIN_SIDES = 3
"""Sides that values have to be seen on; two have a block for nearly all values."""


def rivals_of(
    space: Space, points: Ints, values: Ints, solution: Solution, counters: Mapping[str, Ints] = NO_COUNTERS
) -> Iterator[Rival]:
    """Yield a formula with each of its rivals.

    Args:
        points: where the formula holds.
        values: one per point.
        counters: a value of each counter of the formula per point.
    """
    yield from constants_of_one_side(space, points, solution.formula)
    if _counts_groups(space, solution.formula):
        return  # which call sites have shown
    yield from _blocks_of_unknown_size(space, points, values, solution.formula, counters)
    yield from with_unknown_sizes(space, points, values, solution)
    yield from solution.pairs


def _counts_groups(space: Space, part: Value | Cond) -> bool:
    """Return whether a formula has the number of groups of ranks in it."""
    group = space.names.structure.group
    if group and isinstance(part, Binary) and part.op == "//" and part.right == Const(group):
        return bool(names_in(part.left) <= {"P", *space.names.sizes})
    return bool(group) and any(_counts_groups(space, inner) for inner in children(part))


def constants_of_one_side(space: Space, points: Ints, formula: Value) -> Iterator[Rival]:
    """Yield a constant with its rivals on the only side of a dimension that these points show.

    Ranks inside the second dimension are in traces with three columns only: of 24 points, 8 may be `n//Y`,
    the rank 3 further may be Y further, and 7 may be Y+4.
    """
    if not isinstance(formula, Const) or abs(formula.value) <= 1:
        return
    for size in space.one_sided(points):
        side = int(space.columns[size][points[0]])
        found = [] if space.names.partners else list(_shares(space, points, formula.value, size))
        found += (step for step in space.steps() if size in names_in(step))
        for other in found:
            if _is_everywhere(space, points, other, formula.value):
                yield formula, other
        yield formula, linear_combination(formula.value - side, [1], [Var(size)])


def _shares(space: Space, points: Ints, value: int, size: str) -> Iterator[Expr]:
    """Multiples of a parameter's share along a dimension."""
    for name in space.inputs:
        share = int(space.columns[name][points[0]] // space.columns[size][points[0]])
        if share > 1 and value % share == 0:
            yield linear_combination(0, [value // share], [Binary("//", Var(name), Var(size))])


def _is_everywhere(space: Space, points: Ints, formula: Expr, value: int) -> bool:
    columns = {name: space.columns[name][points] for name in names_in(formula)}
    return bool((np.asarray(evaluate(formula, columns)) == value).all())


def _blocks_of_unknown_size(
    space: Space, points: Ints, values: Ints, formula: Value, counters: Mapping[str, Ints]
) -> Iterator[Rival]:
    """Yield a formula that falls as a side of the grid grows, with blocks of a problem in place of that side.

    Negative values are distances to other ranks.
    """
    names = names_in(formula)
    sizes = sorted(names & {"P", *space.names.sizes})
    if not isinstance(formula, Expr) or (values < 0).any() or any(shares_of_numbers(formula)):
        return
    if len(names) == 1 and sizes:
        yield from _block_in_place_of(space, points, values, formula, sizes[0])
        return
    columns = {name: counters[name] if name in counters else space.columns[name][points] for name in names}
    for name in sizes:
        sides = np.unique(columns[name])
        falling, rest = _split(formula, name)
        if len(sides) >= MIN_SIDES and _falls(falling, columns, name):
            for other in _sides_by_blocks(name, tuple(sides.tolist())):
                yield formula, add(rest, Substitution({name: other}).number(falling))


def _split(formula: Expr, name: str) -> tuple[Expr, Expr]:
    """Return the terms of a sum that are multiples of a name, and the other terms."""
    match formula:
        case Binary("+" | "-" as op, left, right):
            (a, b), (c, d) = _split(left, name), _split(right, name)
            return (add(a, c), add(b, d)) if op == "+" else (sub(a, c), sub(b, d))
    return (formula, Const(0)) if name in names_in(formula) and _is_product(formula) else (Const(0), formula)


def _is_product(formula: Expr) -> bool:
    return isinstance(formula, Const | Var) or (
        isinstance(formula, Binary)
        and formula.op == "*"
        and all(map(_is_product, (formula.left, formula.right)))
    )


def _falls(formula: Expr, columns: Mapping[str, Ints], name: str) -> bool:
    """Return whether a formula is smaller on a side that is longer by one, and nowhere larger."""
    try:
        longer = {**columns, name: columns[name] + 1}
        more = np.asarray(evaluate(formula, longer)) - np.asarray(evaluate(formula, columns))
    except FormulaError:
        return False
    return bool((more <= 0).all() and (more < 0).any())


@lru_cache(maxsize=1 << 10)
def _sides_by_blocks(name: str, sides: tuple[int, ...]) -> tuple[Expr, ...]:
    """Blocks of a problem, subtracted from a number, that are just these sides of the grid."""
    result = []
    row = np.array(sides, dtype=np.int64)
    for slope in range(1, MAX_SLOPE + 1):
        for text, size, least in problems(row, slope * (row[-1] - row)):
            block = parse_number(text.format(n=size, s=name))
            result.append(linear_combination(slope * sides[-1] + least, [-1], [block], slope))
    return tuple(result)


def _block_in_place_of(space: Space, points: Ints, values: Ints, formula: Expr, name: str) -> Iterator[Rival]:
    """Yield a formula of one side alone, with the multiple of a block plus a constant that has its values."""
    sides, first = np.unique(space.columns[name][points], return_index=True)
    falling = values[first]
    if len(sides) < MIN_SIDES or (np.diff(falling) > 0).any() or falling[0] == falling[-1]:
        return
    factor = int(np.gcd.reduce(falling - falling[-1]))
    more = (falling - falling[-1]) // factor
    for text, size, least in problems(sides, more):
        block = parse_number(text.format(n=size, s=name))
        yield formula, linear_combination(int(falling[-1]) - factor * least, [factor], [block])
