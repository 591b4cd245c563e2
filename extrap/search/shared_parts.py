"""Parts of the formulas of a program: what it computes for one call it uses for others.

A width `n//X + 2` that one call shows makes `(n//X + 2)*(n//Y + 2) - 1` a short formula for another one. What
a rank sends its neighbour receives: so formulas at the places of neighbours are such parts, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations

from scalatrace.extrap.grid.space import Space
from scalatrace.extrap.search.costs import formula_bits
from scalatrace.formula import Binary, Choose, Cond, Expr, Value, Var, children, names_in
from scalatrace.formula.rewrite import Substitution
from scalatrace.trace.symbolic.counters import is_counter

__all__ = ["exchanged", "shared_parts"]

MIN_BITS = 8
"""Shorter parts are soon found without being named."""

MAX_BITS, MAX_SHIFTED_BITS = 40, 100

MAX_PARTS, MAX_SHIFTED = 48, 16
"""Those that most formulas have, and those at the places of neighbours."""


def shared_parts(space: Space, formulas: Iterable[Value]) -> tuple[Expr, ...]:
    """Return the parts of formulas, the most frequent first, and formulas of neighbours.

    Dimensions of the grid are exchanged: most programs treat them alike.

    Args:
        formulas: those that need no parts of others to be believed.
    """
    given = [formula for formula in dict.fromkeys(formulas) if isinstance(formula, Expr)]
    counts: Counter[Expr] = Counter()
    for formula in given:
        counts.update({mirrored for part in _parts(formula) for mirrored in exchanged(space, part)})
    shifted = dict.fromkeys((moved for formula in given for moved in _shifted(space, formula)), 1)
    return (
        *_most_frequent(space, counts, MAX_PARTS, MAX_BITS),
        *_most_frequent(space, shifted, MAX_SHIFTED, MAX_SHIFTED_BITS),
    )


def _most_frequent(space: Space, counts: Mapping[Expr, int], most: int, longest: int) -> list[Expr]:
    """Return the parts that are neither short nor long, and have names of all calls only."""
    fitting = [
        (-count, bits, k, part)
        for k, (part, count) in enumerate(counts.items())
        if (names := names_in(part))
        and all(name in space.columns or is_counter(name) for name in names)
        and not _divides_number(part)
        and MIN_BITS <= (bits := formula_bits(part, {})) <= longest
    ]
    return [part for *_, part in sorted(fitting)[:most]]


def _shifted(space: Space, formula: Expr) -> Iterator[Expr]:
    """Yield a formula at the places of both neighbours along each dimension, on a ring or on a line."""
    for size, coord in zip(space.names.sizes, space.names.coords, strict=True):
        if coord in names_in(formula):
            for step in (-1, 1):
                there = Var(coord) + step
                yield Substitution({coord: there % Var(size)}).number(formula)
                yield Substitution({coord: there}).number(formula)


def _parts(formula: Value | Cond) -> Iterator[Expr]:
    if isinstance(formula, Expr) and not isinstance(formula, Choose):
        yield formula
    for part in children(formula):
        yield from _parts(part)


def _divides_number(part: Value | Cond) -> bool:
    """Return whether a number is divided, in place of which another one may stand in the program."""
    if isinstance(part, Binary) and part.op == "//" and not names_in(part.left):
        return True
    return any(map(_divides_number, children(part)))


def exchanged(space: Space, part: Expr) -> Iterator[Expr]:
    """Yield a formula with the dimensions of the grid in each order."""
    sizes, coords = space.names.sizes, space.names.coords
    if not names_in(part) & {*sizes, *coords}:
        yield part
        return
    for order in permutations(range(len(sizes))):
        names: dict[str, Expr] = {sizes[i]: Var(sizes[k]) for i, k in enumerate(order)}
        names |= {coords[i]: Var(coords[k]) for i, k in enumerate(order)}
        yield Substitution(names).number(part)
