"""Find the participants of an event by the borders of the grid.

Of 26 neighbours in three dimensions each exists where some coordinates are not at an end. Classes of ranks by
all borders would have too few ranks each; a condition on the coordinates that matter is confirmed by all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Cond, Expr, all_of, evaluate, indicator, parse_condition

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

MIN_RUNS = 2
"""Traces that must have ranks on both sides of a condition."""

__all__ = ["border_condition"]


def border_condition(space: Space, running: Ints, absent: Ints) -> tuple[Cond, tuple[Expr, Expr]] | None:
    """Return the condition for ranks that take part; None if it is no condition on borders.

    Args:
        space: where the points are.
        running: points that take part.
        absent: points that do not.

    Returns:
        The condition with the fewest terms, and its rival: as formulas (1 or 0) that condition, and the one
        with all terms that hold for `running`.
    """
    run_of = space.all_runs()
    both = np.intersect1d(run_of[running], run_of[absent])
    if len(both) < MIN_RUNS:
        return None
    terms = [parse_condition(text) for text in _terms(space)]
    holds = [np.asarray(evaluate(term, space.columns), dtype=bool) for term in terms]
    kept = [k for k, mask in enumerate(holds) if mask[running].all()]
    if not kept or _all_hold(holds, kept, absent).any():
        return None
    few = list(kept)
    for k in kept:
        fewer = [one for one in few if one != k]
        if fewer and not _all_hold(holds, fewer, absent).any():
            few = fewer
    condition, full = (all_of(*(terms[k] for k in some)) for some in (few, kept))
    return condition, (indicator(condition), indicator(full))


def _terms(space: Space) -> list[str]:
    """Conditions on one coordinate, those that are dropped first where fewer do first."""
    pairs = list(zip(space.names.coords, space.names.sizes, strict=True))
    ends = [text for c, s in pairs for text in (f"{c}==0", f"{c}=={s}-1")]
    return [*ends, *(text for c, s in pairs for text in (f"0<{c}", f"{c}<{s}-1"))]


def _all_hold(holds: Sequence[Mask], chosen: Sequence[int], points: Ints) -> Mask:
    result: Mask = np.logical_and.reduce([holds[k][points] for k in chosen])
    return result
