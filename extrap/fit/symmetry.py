"""Try formulas of one dimension of the grid for another: most programs treat dimensions alike.

Traces of 4x4, 5x4, 5x5 and 6x5 ranks have three values of X, but two of Y. They confirm `20*(n//X)+100` for
messages along one dimension, and no formula with two unknowns along the other. The same formula with Y in
place of X has no unknown left, so two sizes can confirm it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scalatrace.extrap.grid.space import Space
from scalatrace.extrap.search.shared_parts import exchanged
from scalatrace.extrap.solve.features import Feature
from scalatrace.formula import Expr, names_in
from scalatrace.trace.model.symbolic import ParamRule
from scalatrace.trace.symbolic.field import Field

GIVEN_WEIGHT = 3.0
"""The weight of a formula that is taken for another dimension."""

__all__ = ["formulas_of_sides", "mirror_space"]


def formulas_of_sides(space: Space, events: Iterable[tuple[Field, Sequence[ParamRule]]]) -> tuple[Expr, ...]:
    """Return formulas of events, not of peers, that contain some but not all dimensions of the grid.

    Those over iterations are left out: they hold for the loops around their event.
    """
    sides, known = set(space.names.sizes), set(space.columns)
    formulas: dict[Expr, None] = {}
    for repeat, params in events:
        for field in (repeat, *(param.field for param in params if param.encoding is None)):
            for formula in (formula for part in field.parts for formula in part.formulas or ()):
                used = names_in(formula)
                if isinstance(formula, Expr) and used <= known and 0 < len(used & sides) < len(sides):
                    formulas[formula] = None
    return tuple(formulas)


def mirror_space(space: Space, formulas: Sequence[Expr]) -> Space:
    """Return the space with these formulas, dimensions exchanged, as the only features besides constants."""
    variants = dict.fromkeys(variant for formula in formulas for variant in exchanged(space, formula))
    return space.variant(partners=False, given=tuple(Feature(formula, GIVEN_WEIGHT) for formula in variants))
