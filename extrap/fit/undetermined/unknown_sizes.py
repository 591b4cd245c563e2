"""Rivals of a formula over few sizes: blocks of a problem whose size is in no parameter.

With a parameter that has nothing to do with the values, `170*(k//X)+342*(-(-k//X))` are the blocks of 4096
cells on 3, 4 and 12 ranks for k = 8, and `600*(-(-k//X))` those of 3600 cells on 2, 3 and 6 ranks for k = 5.
Formulas that are no share of a parameter or of a size are compared with blocks of any size, which may be
multiplied, and added to or subtracted from a number; multiples of shares of a parameter that has one value in
all traces, with blocks of any size as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.extrap.grid.communicators import Rival
from scalatrace.extrap.grid.space import Space
from scalatrace.extrap.solve.exact import Solution
from scalatrace.formula import Binary, Const, Expr, Var, evaluate, linear_combination, names_in, parse_number

__all__ = ["MAX_BLOCK", "problems", "with_unknown_sizes"]

MAX_BLOCK = 1 << 12
"""Cells of the smallest block that are tried."""

MIN_SIDES = 3
"""Sides that values have to be seen on; two have a block for nearly all values."""


@dataclass(frozen=True, slots=True)
class _Laws:
    """Block formulas that a formula is compared with.

    Attributes:
        multiples: multiples of blocks.
        shifted: blocks with a summand.
        remainder: a problem less one block of it.
    """

    multiples: bool = False
    shifted: bool = False
    remainder: bool = False


BLOCKS, WITH_FACTOR, WITH_SUMMAND = _Laws(), _Laws(multiples=True), _Laws(shifted=True)
ANY = _Laws(multiples=True, shifted=True, remainder=True)
REMAINDER = _Laws(remainder=True)


NUMBERS_BESIDES = 2
"""Numbers of a solution besides the factors of its features: the constant, and the denominator less one."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """The different sides of one dimension, in order, and the value at each."""

    name: str
    sides: Ints
    values: Ints


def with_unknown_sizes(space: Space, points: Ints, values: Ints, solution: Solution) -> Iterator[Rival]:
    """Yield a formula of sizes with each formula of blocks of unknown size that has the same values.

    Args:
        points: where the formula holds.
        values: one per point.
    """
    if (values < 0).any():
        return
    for name in dict.fromkeys((*space.names.sizes, "P")):
        seen = _sides(name, space.columns[name][points], values)
        if seen is None or (laws := _laws_for(space, solution, seen)) is None:
            continue
        for other in _blocks_for(seen, laws):
            if _is_equal(other, seen):
                yield solution.formula, other


def _sides(name: str, column: Ints, values: Ints) -> _Sides | None:
    """Return the values by the sides of a dimension; None if they are not of it, or too few."""
    sides, first, number = np.unique(column, return_index=True, return_inverse=True)
    own = values[first]
    is_constant = (own == own[0]).all()
    if len(sides) < MIN_SIDES or is_constant or (own[number.reshape(-1)] != values).any():
        return None
    return _Sides(name, sides, own)


def _laws_for(space: Space, solution: Solution, seen: _Sides) -> _Laws | None:
    """Return the laws that a formula is compared with; None: it is what programs compute with."""
    names, sizes = names_in(solution.formula), {"P", *space.names.sizes}
    if len(solution.coefficients) - NUMBERS_BESIDES > 1:
        return ANY
    if not names <= {*sizes, *space.inputs}:
        return None  # the block of a rank
    product = next(term for term in _terms(solution.formula) if not isinstance(term, Const))
    has_input = bool(names - sizes)
    if not _is_plain(product, sizes):
        if has_input:
            return WITH_FACTOR if _is_plain(product, sizes, with_halos=True) else ANY
        return WITH_SUMMAND if solution.has_constant else None
    if not solution.has_constant:
        is_idle = has_input and not (names - sizes) & space.varied
        return BLOCKS if is_idle and any(abs(c) > 1 for c in solution.coefficients[1:-1]) else None
    if has_input:
        return WITH_FACTOR
    if abs(solution.coefficients[0]) <= seen.sides[-1]:
        return None
    return REMAINDER if seen.values[-1] > seen.values[0] else WITH_SUMMAND


def _terms(formula: Expr) -> Iterator[Expr]:
    """Yield the terms of a sum."""
    match formula:
        case Binary("+" | "-", left, right):
            yield from _terms(left)
            yield from _terms(right)
        case _:
            yield formula


def _factors(formula: Expr) -> Iterator[Expr]:
    """Yield the factors of a product, without numbers."""
    match formula:
        case Binary("*", left, right):
            yield from _factors(left)
            yield from _factors(right)
        case Const():
            return
        case _:
            yield formula


def _is_plain(product: Expr, sizes: set[str], with_halos: bool = False) -> bool:
    """Whether its factors are sizes, parameters and shares of these, none multiplied by what divides it.

    Args:
        with_halos: whether a number may be added to a share.
    """
    factors = [_without_halo(one) if with_halos else one for one in _factors(product)]
    shares = [one for one in factors if not isinstance(one, Var)]
    divisors = {name for one in shares if isinstance(one, Binary) for name in names_in(one.right)}
    single = {one.name for one in factors if isinstance(one, Var)}
    return not divisors & single and all(
        isinstance(one, Binary) and one.op == "//" and set() < names_in(one.right) <= sizes for one in shares
    )


def _without_halo(factor: Expr) -> Expr:
    """Return the summand beside a number, or else the factor."""
    match factor:
        case Binary("+", share, Const()):
            return share
    return factor


def _blocks_for(seen: _Sides, laws: _Laws) -> Iterator[Expr]:
    """Blocks of a problem of unknown size that have these values, by laws with fewer unknowns than sides."""
    factors = [1]
    if laws.multiples and (factor := int(np.gcd.reduce(seen.values))) > 1:
        factors.append(factor)
    for factor in factors:
        for block in _blocks(seen, seen.values // factor):
            yield linear_combination(0, [factor], [block])
    if laws.shifted:
        yield from _shifted(seen, laws.multiples and len(seen.sides) > MIN_SIDES)
    if laws.remainder:
        yield from _remainders(seen)


def _blocks(seen: _Sides, blocks: Ints) -> Iterator[Expr]:
    """Problems of which these are the blocks, divided once or twice; or what is divided without the rest."""
    s, sides = seen.name, seen.sides
    for text, divisors in (("({n}//{s})", sides), ("({n}//({s}*{s}))", sides * sides)):
        yield from _of_size(text, s, blocks * divisors, blocks * divisors + divisors - 1)
    yield from _of_size("(-(-{n}//{s}))", s, (blocks - 1) * sides + 1, blocks * sides)
    if not (blocks % sides).any():
        yield from _of_size("({s}*({n}//{s}))", s, blocks, blocks + sides - 1)


def _of_size(text: str, side: str, least: Ints, most: Ints) -> Iterator[Expr]:
    if 0 < least.max() <= most.min():
        yield parse_number(text.format(n=int(least.max()), s=side))


def _shifted(seen: _Sides, multiples: bool) -> Iterator[Expr]:
    """Blocks, or multiples of them, added to or subtracted from a number."""
    steps = np.diff(seen.values)
    if (steps > 0).any() and (steps < 0).any():
        return
    more = abs(seen.values - seen.values[-1])
    sign = 1 if seen.values[0] > seen.values[-1] else -1
    for factor in dict.fromkeys([1, int(np.gcd.reduce(more))] if multiples else [1]):
        for text, size, least in problems(seen.sides, more // factor):
            block = parse_number(text.format(n=size, s=seen.name))
            constant = int(seen.values[-1]) - sign * factor * least
            yield linear_combination(constant, [sign * factor], [block])


def _remainders(seen: _Sides) -> Iterator[Expr]:
    """A problem less one block of it, as sent to all other ranks: 55-55//X is 2*X+34 on 4 to 7 ranks."""
    side, value = int(seen.sides[-1]), int(seen.values[-1])
    if side < 2:
        return
    size = value * side // (side - 1)  # within one of the problem
    for n in range(max(size - 1, 1), size + 3):
        for text in (f"({n}//{seen.name})", f"(-(-{n}//{seen.name}))"):
            yield linear_combination(n, [-1], [parse_number(text)])


def problems(sides: Ints, more: Ints) -> Iterator[tuple[str, int, int]]:
    """Yield, for blocks rounded down and up, the smallest problem that has them, and its smallest block.

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


def _is_equal(formula: Expr, seen: _Sides) -> bool:
    columns: Mapping[str, Ints] = {seen.name: seen.sides}
    return bool((np.asarray(evaluate(formula, columns)) == seen.values).all())
