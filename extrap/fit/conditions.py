"""Conditions for the ranks that take part in an event: the simplest, others as simple, and those on borders.

Several conditions may hold for the same ranks of all traces, such as `2*x<X` and `x<X-1` on 2 and 3 columns.

Of 26 neighbours in three dimensions each exists where some coordinates are not at an end. Classes of ranks by
all borders would have too few ranks each; a condition on the coordinates that matter is confirmed by all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np

from scalatrace.arrays import Ints, Mask
from scalatrace.extrap.grid.communicators import Rival
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Cond, Expr, all_of, evaluate, indicator, parse_condition

__all__ = ["SimpleConditions", "border_condition"]


AS_SIMPLE = 0.5
"""How much more a condition may weigh than the simplest one and still be as credible."""

MAX_RIVALS = 4


MIN_RUNS = 2
"""Traces that must have ranks on both sides of a condition."""


class SimpleConditions:
    """Conditions on the ranks of all traces, with their weights; the lightest first."""

    def __init__(self, space: Space) -> None:
        offered: dict[Cond, float] = {}
        for weight, condition in _list_conditions(space):
            offered.setdefault(condition, weight)
        self._conditions = sorted(offered.items(), key=lambda item: item[1])
        size = int(space.starts[-1])
        self._masks: Mask = np.empty((len(self._conditions), size), dtype=bool)
        for k, (condition, _) in enumerate(self._conditions):
            self._masks[k] = np.broadcast_to(np.asarray(evaluate(condition, space.columns), dtype=bool), size)

    def simplest(self, order: Ints, points: Ints) -> tuple[Cond, tuple[Rival, ...]] | None:
        """Return the simplest condition for `points` and no others of `order`, and its rivals.

        Returns:
            The condition, and pairs of it and one that is as simple, as formulas (1 or 0). None: there is no
            condition.
        """
        wanted = np.isin(order, points)
        equal = np.flatnonzero((self._masks[:, order] == wanted).all(axis=1))
        if not len(equal):
            return None
        best, least = self._conditions[int(equal[0])]
        near = [self._conditions[int(k)] for k in equal[1:]]
        rivals = [condition for condition, weight in near if weight <= least + AS_SIMPLE]
        return best, tuple((indicator(best), indicator(rival)) for rival in rivals[:MAX_RIVALS])


def _list_conditions(space: Space) -> Iterator[tuple[float, Cond]]:
    pairs = list(zip(space.names.coords, space.names.sizes, strict=True))
    terms = [
        [parse_condition(text) for text in (f"0<{c}", f"{c}<{s}-1", f"{c}==0", f"{c}=={s}-1")]
        for c, s in pairs
    ]
    for count in range(1, len(terms) + 1):
        for chosen in combinations(terms, count):
            for terms_of_dims in product(*chosen):
                yield 0.4 + 0.6 * count, all_of(*terms_of_dims)
    yield from ((1.2, parse_condition(text)) for text in ("r==0", "0<r", "r==P-1", "r<P-1"))
    for weight, conditions in space.conditions():
        for condition in conditions:
            yield weight, condition


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
        fewer = [term for term in few if term != k]
        if fewer and not _all_hold(holds, fewer, absent).any():
            few = fewer
    condition, full = (all_of(*(terms[k] for k in chosen)) for chosen in (few, kept))
    return condition, (indicator(condition), indicator(full))


def _terms(space: Space) -> list[str]:
    """Conditions on one coordinate, those that are dropped first where fewer do first."""
    pairs = list(zip(space.names.coords, space.names.sizes, strict=True))
    ends = [text for c, s in pairs for text in (f"{c}==0", f"{c}=={s}-1")]
    return [*ends, *(text for c, s in pairs for text in (f"0<{c}", f"{c}<{s}-1"))]


def _all_hold(holds: Sequence[Mask], chosen: Sequence[int], points: Ints) -> Mask:
    result: Mask = np.logical_and.reduce([holds[k][points] for k in chosen])
    return result
