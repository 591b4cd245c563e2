"""Remove rivals that have the values of a formula by coincidence, because the traces are small.

On 4, 9 and 16 ranks, the logarithm of P, rounded down, equals the side of the grid. On 4, 5 and 6 ranks,
P-P//4 equals P-1. Partners are accepted without traces on more ranks that would exclude these rivals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from scalatrace.extrap.fit.undetermined.rivals import with_rivals_that
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Binary, Expr, children, evaluate, functions_in, names_in
from scalatrace.trace.symbolic.field import Field
from scalatrace.trace.symbolic.grid import NAMES

__all__ = ["without_coincidences", "without_logarithms"]


def without_coincidences(space: Space, field: Field) -> Field:
    """Return the field of partners without rivals that are coincidences."""

    def keep(formula: Expr, rival: Expr) -> bool:
        return not (_adds_logarithm(space, formula, rival) or _adds_number(space, formula, rival))

    return with_rivals_that(field, keep)


def without_logarithms(space: Space, field: Field) -> Field:
    """Return the field of a count: where parameters alone give it, a logarithm rounded down is no rival."""
    inputs = set(space.inputs)
    parts = [
        replace(part, rivals=tuple(p for p in part.rivals if not _adds_logarithm(space, *p)))
        if any(names and names <= inputs for pair in part.rivals for names in map(names_in, pair))
        else part
        for part in field.parts
    ]
    return replace(field, parts=tuple(parts))


def _adds_logarithm(space: Space, formula: Expr, rival: Expr) -> bool:
    """Return whether a rival has a logarithm rounded down that is not of powers of two, without stages."""
    names = space.names
    if names.stages or names.butterflies or "log2" in functions_in(formula):
        return False
    sizes = space.columns["P"]
    return "log2" in functions_in(rival) and bool((sizes & (sizes - 1)).any())


def _adds_number(space: Space, formula: Expr, rival: Expr) -> bool:
    """Whether a rival has a summand of sizes that is one number in all traces, and the formula has none."""
    return _has_number(space, rival) and not _has_number(space, formula)


def _has_number(space: Space, formula: Expr) -> bool:
    for summand in _summands(formula):
        values = np.asarray(evaluate(summand, {name: space.columns[name] for name in names_in(summand)}))
        if (values == values.flat[0]).all():
            return True
    return False


def _summands(formula: Expr) -> Iterator[Expr]:
    """Yield the formulas of sizes that a sum of two consists of, without names and numbers."""
    if isinstance(formula, Binary) and formula.op in "+-":
        for side in (formula.left, formula.right):
            if children(side) and names_in(side) <= {"P", *NAMES}:
                yield side
