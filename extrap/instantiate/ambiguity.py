"""Refuse values that the traces do not determine: formulas with a rival that gives another value here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from scalatrace.errors import FormulaError
from scalatrace.extrap.errors import UndeterminedError
from scalatrace.extrap.fit.rivals import differing
from scalatrace.extrap.instantiate.ranks import Mask, Ranks
from scalatrace.formula import Choose, Const, Expr, names_in
from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Elastic
from scalatrace.trace.symbolic.counters import is_counter
from scalatrace.trace.symbolic.evaluate import vec_of_part
from scalatrace.trace.symbolic.field import Field, Part

__all__ = ["check_rivals"]


def check_rivals(
    ranks: Ranks, field: Field, mask: Mask, around: tuple[Elastic, ...], corners: Iterable[int]
) -> None:
    """Compare all formulas of a field with their rivals.

    Args:
        ranks: of the grid.
        field: with the rivals of its parts.
        mask: the ranks that have a value.
        around: the repeats of the loops around it.
        corners: ranks for which values that change from call to call are compared.

    Raises:
        UndeterminedError: two of them differ; says on which rank.
    """
    if not any(part.rivals for part in field.parts):
        return
    for part, mine in ranks.divided(field, mask):
        for formula, rival in part.rivals:
            where = mask if _is_condition(formula) else mine
            rank = _first_difference(ranks, part, where, (formula, rival), around, corners)
            if rank is not None:
                raise UndeterminedError(formula, rival, rank, ranks.grid)


def _is_condition(formula: Expr) -> bool:
    """Whether it is 1 where a part counts, and 0 elsewhere."""
    return isinstance(formula, Choose) and (formula.then, formula.otherwise) == (Const(1), Const(0))


def _first_difference(
    ranks: Ranks,
    part: Part,
    mine: Mask,
    pair: tuple[Expr, Expr],
    around: tuple[Elastic, ...],
    corners: Iterable[int],
) -> int | None:
    """A rank on which two formulas of a part differ."""
    formula, rival = pair
    if formula in (part.formulas or ()) and any(map(is_counter, names_in(formula, rival))):
        other = replace(part, formulas=tuple(rival if one == formula else one for one in part.formulas or ()))
        chosen = (rank for rank in corners if mine[rank])
        return next((rank for rank in chosen if _differ(ranks, part, other, rank, around)), None)
    wrong = mine & np.broadcast_to(differing(formula, rival, ranks.env), mine.shape)
    return int(wrong.argmax()) if wrong.any() else None


def _differ(ranks: Ranks, part: Part, other: Part, rank: int, around: tuple[Elastic, ...]) -> bool:
    """Whether two parts give a rank different values over its calls."""
    place = dict(_place(ranks, rank))
    loops = tuple(vec for repeat in around if (vec := elastic.at(repeat, rank)) is not None)
    if len(loops) < len(around):
        return False  # the rank does not come here
    try:
        expected = vec_of_part(part, place, loops)
    except FormulaError:
        return False  # refused elsewhere
    try:
        return vec_of_part(other, place, loops) != expected
    except FormulaError:
        return True


def _place(ranks: Ranks, rank: int) -> Iterator[tuple[str, Any]]:
    for name, value in ranks.env.items():
        yield name, int(value[rank]) if np.ndim(value) else value
