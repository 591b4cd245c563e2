"""Conditions for the ranks that take part in an event: the simplest, and others as simple.

Several conditions may hold for the same ranks of all traces, such as `2*x<X` and `x<X-1` on 2 and 3 columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from scalatrace.arrays import Ints, Mask
from scalatrace.extrap.grid.communicators import Rival
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Cond, all_of, evaluate, indicator, parse_condition

__all__ = ["SimpleConditions"]


AS_SIMPLE = 0.5
"""How much more a condition may weigh than the simplest one and still be as credible."""

MAX_RIVALS = 4


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
