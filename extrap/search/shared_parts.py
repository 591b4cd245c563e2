"""Parts of the formulas of a program: what it computes for one call it uses for others.

A width `n//X + 2` that one call shows makes `(n//X + 2)*(n//Y + 2) - 1` a short formula for another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import permutations

from scalatrace.extrap.grid.space import Space
from scalatrace.extrap.search.costs import formula_bits
from scalatrace.formula import Choose, Cond, Expr, Value, Var, children, names_in
from scalatrace.formula.substitute import Substitution

__all__ = ["shared_parts"]

MIN_BITS = 8
"""Shorter parts are soon found without being named."""

MAX_BITS = 40

MAX_PARTS = 48
"""Those that most formulas have."""


def shared_parts(space: Space, formulas: Iterable[Value]) -> tuple[Expr, ...]:
    """Return the parts that formulas of sizes, parameters and coordinates consist of, the most frequent first.

    Dimensions of the grid are exchanged: most programs treat them alike.
    """
    counts: Counter[Expr] = Counter()
    for formula in set(formulas):
        counts.update({mirrored for part in _parts(formula) for mirrored in _exchanged(space, part)})
    known = set(space.columns)
    fitting = [
        (-count, bits, k, part)
        for k, (part, count) in enumerate(counts.items())
        if names_in(part) <= known and MIN_BITS <= (bits := formula_bits(part, {})) <= MAX_BITS
    ]
    return tuple(part for *_, part in sorted(fitting)[:MAX_PARTS])


def _parts(formula: Value | Cond) -> Iterator[Expr]:
    if isinstance(formula, Expr) and not isinstance(formula, Choose):
        yield formula
    for part in children(formula):
        yield from _parts(part)


def _exchanged(space: Space, part: Expr) -> Iterator[Expr]:
    """Yield a formula with the dimensions of the grid in each order."""
    sizes, coords = space.names.sizes, space.names.coords
    if not names_in(part) & {*sizes, *coords}:
        yield part
        return
    for order in permutations(range(len(sizes))):
        names: dict[str, Expr] = {sizes[i]: Var(sizes[k]) for i, k in enumerate(order)}
        names |= {coords[i]: Var(coords[k]) for i, k in enumerate(order)}
        yield Substitution(names).number(part)
