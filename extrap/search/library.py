"""The library of a search: what programs compute of their ranks, each with a meaning and a formula.

A rule of programs that the search lacks is an entry here, not a search of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import ceil, log2

import numpy as np

from scalatrace.errors import FormulaError
from scalatrace.extrap.grid.space import Space
from scalatrace.extrap.search.bank import Leaf, Unit, literals
from scalatrace.extrap.search.costs import BLOCK, LISTED, NAME, literal_bits
from scalatrace.extrap.search.rows import Rows
from scalatrace.formula import Called, Compare, Const, Expr, Var, evaluate, indicator, names_in
from scalatrace.trace.symbolic.counters import is_counter
from scalatrace.trace.symbolic.field import RANKWISE

__all__ = ["DISTRIBUTIONS", "Place", "leaves", "places"]

Blocks = Callable[[Expr, Expr, Expr], Expr]
"""The formula of n elements, the number of parts, and which part."""

DISTRIBUTIONS: dict[str, Blocks] = {
    "first parts longer": lambda n, s, c: Called("block", (n, s, c)),
    "last part longer": lambda n, s, c: n // s + indicator(Compare("==", c, s - 1)) * (n % s),
    "last part shorter": lambda n, s, c: Called("min", (-(-n // s), n - c * -(-n // s))),
    "cut evenly": lambda n, s, c: (c + 1) * n // s - c * n // s,
}
"""Sizes of blocks: part c of n elements in s parts."""

STARTS: dict[str, Blocks] = {
    "first parts longer": lambda n, s, c: Called("block_start", (n, s, c)),
    "cut evenly": lambda n, s, c: c * n // s,
}
"""Where blocks begin."""

MIRRORED = 5
"""Bits of where a block begins that is counted from the other end."""

SHARED = 3
"""Bits of a part of another formula of the program, besides which part."""

TRIPS = 6
"""Bits of the trip count of a loop around."""

BACKWARDS = 3
"""Bits of the iterations that are left, besides those of a counter."""


def leaves(space: Space, rows: Rows, sized_only: bool) -> list[Leaf]:
    """Return names, literals and entries of the library for rows; without those of a rank if `sized_only`."""
    total = len(rows.columns["P"])
    numbers = {name for name in rows.columns if is_counter(name)}
    result = list(literals(total))
    for formula, bits, unit in _entries(space, rows, sized_only):
        try:
            value = evaluate(formula, rows.columns)
        except FormulaError:
            continue  # a part of another formula, which holds on fewer grids
        column = np.broadcast_to(np.asarray(value), (total,)).astype(np.int64)
        sized = names_in(formula) <= rows.sized or (bits == TRIPS and rows.is_sized(column))
        if not sized_only or sized or names_in(formula) <= rows.sized | numbers:
            result.append(Leaf(formula, bits, unit, column, sized))
    return result


Entry = tuple[Expr, int, Unit]


Place = tuple[Expr, Expr, int]
"""A number of parts, one of these, and the bits of the choice."""


def places(space: Space, rows: Rows, sized_only: bool) -> list[Place]:
    """Return the parts that numbers without a parameter are divided into: of a rank, and of an iteration."""
    result = [] if sized_only else divisors(space, rows)
    counters = [Var(name) for name in rows.columns if is_counter(name) and name[0] == "i"]
    for parts, _, bits in divisors(space, rows):
        result += [(parts, counter, bits + NAME) for counter in counters]
        result += [(parts, counter + 1, bits + NAME + 4) for counter in counters]
    if sized_only and not counters:
        result += [(parts, Const(0), bits) for parts, _, bits in divisors(space, rows)]
    return result


def divisors(space: Space, rows: Rows) -> list[Place]:
    """Return what is divided by: the number of parts, the part of a rank, and the bits of the choice."""
    pairs: list[Place] = [(Var(size), Var(coord), NAME) for size, coord in space.divisors]
    if (rows.columns["P"] > 1).all():
        pairs.append((Var("P") - 1, Var("r") - 1, NAME + 4))
    return pairs


def _entries(space: Space, rows: Rows, sized_only: bool) -> Iterator[Entry]:
    names = space.names
    yield from ((Var(size), NAME, Unit.RANKS) for size in names.sizes)
    if len(names.sizes) > 1:
        yield Var("P"), NAME, Unit.RANKS
    yield from ((Var(name), NAME, Unit.ELEMENTS) for name in names.inputs)
    counters = [Var(name) for name in rows.columns if is_counter(name)]
    for counter in counters:
        yield counter, NAME + BACKWARDS * (counter.name[0] == "l"), Unit.LEVEL
    for level in range(1, len(counters)):
        if f"i{level}" in rows.columns:
            yield Var(f"i{level}") + Var(f"l{level}") + 1, TRIPS, Unit.LEVEL
    if not sized_only:
        yield from ((Var(coord), NAME, Unit.RANKS) for coord in names.coords)
        if len(names.sizes) > 1:
            yield Var("r"), NAME, Unit.RANKS
        yield from _neighbours(names.sizes, names.coords)
    yield from _blocks(space, rows, counters, sized_only)
    for part in (part for part in space.shared_parts if names_in(part) <= rows.columns.keys()):
        unit = Unit.ELEMENTS if names_in(part) & set(names.inputs) else Unit.RANKS
        yield part, shared_bits(space), unit


def shared_bits(space: Space) -> int:
    """Return the bits of a part of another formula of the program."""
    return SHARED + ceil(log2(len(space.shared_parts) or 1))


def _blocks(space: Space, rows: Rows, counters: Sequence[Var], sized_only: bool) -> Iterator[Entry]:
    """Yield the blocks of each parameter along each dimension: of this rank, and of those around it.

    Shares rounded up, and to the nearest number, are those of all ranks.
    """
    for name, (parts, coord, bits) in product(space.names.inputs, divisors(space, rows)):
        n: Expr = Var(name)
        for share in (-(-n // parts), (2 * n + parts) // (2 * parts)):
            yield share, BLOCK + NAME + bits, Unit.ELEMENTS
        if not sized_only:
            starts = (kind(n, parts, parts - 1 - coord) for kind in STARTS.values())
            yield from ((start, BLOCK + NAME + bits + MIRRORED, Unit.ELEMENTS) for start in starts)
        indices = _indices(parts, coord, counters)
        if sized_only:
            indices = ((index, own) for index, own in indices if not names_in(index) & RANKWISE)
        for index, own in indices:
            here, most = (np.asarray(evaluate(e, rows.samples)) for e in (index, parts))
            if (here < 0).any() or (here >= most).any():
                continue
            for kind in (*DISTRIBUTIONS.values(), *STARTS.values()):
                yield kind(n, parts, index), BLOCK + NAME + bits + own, Unit.ELEMENTS


def _indices(parts: Expr, coord: Expr, counters: Sequence[Var]) -> Iterator[tuple[Expr, int]]:
    """Yield which part: the own one, a neighbour's, that of an iteration, one that travels around a ring."""
    yield coord, 0
    yield (coord + 1) % parts, 7
    yield (coord - 1) % parts, 7
    yield coord + 1, 2
    yield coord - 1, 2
    for counter in (c for c in counters if c.name[0] == "i"):
        yield counter, NAME
        yield counter + 1, NAME + 4
        for shift in (-2, -1, 0, 1, 2):
            more = literal_bits(shift) if shift else 0
            forward, backward = coord + counter, coord - counter
            if shift:
                forward, backward = forward + Const(shift), backward + Const(shift)
            yield forward % parts, NAME + 5 + more
            yield backward % parts, NAME + 5 + more


def _neighbours(sizes: Sequence[str], coords: Sequence[str]) -> Iterator[Entry]:
    """Yield how many neighbours a rank has across faces: along each dimension, and in all."""
    total: Expr | None = None
    for size, coord in zip(sizes, coords, strict=True):
        c, s = Var(coord), Var(size)
        along = indicator(Compare("<", Const(0), c)) + indicator(Compare("<", c, s - 1))
        yield along, LISTED, Unit.COUNT
        total = along if total is None else total + along
    if total is not None and len(sizes) > 1:
        yield total, LISTED, Unit.COUNT
