"""Decide how often a loop runs by the calls that run in its first iterations only.

A loop that ends within its body runs once more than the calls at the end of the body. On 3 to 6 ranks,
`ceil_log2(X)` and `X//2+X%2` give the same trip count. If a call runs in the first `X//2` iterations, it is
the latter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scalatrace.arrays import Ints, Mask
from scalatrace.errors import FormulaError
from scalatrace.extrap.fit.undetermined.rivals import points_of_parts, probes_of
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Choose, Compare, Cond, Const, Expr, Value, Var, evaluate
from scalatrace.trace.model.symbolic import Rule
from scalatrace.trace.symbolic.field import LOOPED, Field, Part

__all__ = ["decided_by_partial_trips"]

Columns = Mapping[str, Ints]


@dataclass(frozen=True, slots=True)
class _FirstTrips:
    """The number of first iterations of a loop in which a call runs, where the last of conditions holds."""

    count: Expr
    conditions: Sequence[Cond]

    def are_ended_by(self, trips: Expr, columns: Columns, mask: Mask) -> bool:
        """Return whether a loop runs as often as the call, or once more, on all ranks that make the call."""
        here = mask & _holding(self.conditions, columns)
        try:
            more = np.asarray(evaluate(trips, columns)) - np.asarray(evaluate(self.count, columns))
        except FormulaError:
            return False
        return bool(np.isin(np.broadcast_to(more, here.shape)[here], (0, 1)).all())


def decided_by_partial_trips(
    space: Space, repeat: Field, points: Iterable[int], children: Sequence[Rule]
) -> Field | None:
    """Return the trip counts of a loop that go with the calls in its first iterations; None if none do.

    Args:
        repeat: how often the loop runs, at these points.
        children: the content of the loop.
    """
    first_trips = list(_first_trips(children))
    if not first_trips:
        return repeat
    probes, before, parts = probes_of(space), list[Cond](), list[Part]()
    for part, own in points_of_parts(space, repeat, points):
        before.append(part.condition)
        mask = _holding(before, probes)
        formula = part.formulas[0] if part.formulas and part.shape is None else None

        def goes(trips: Expr, mask: Mask = mask) -> bool:
            return all(first.are_ended_by(trips, probes, mask) for first in first_trips)

        if isinstance(formula, Expr) and goes(formula):
            rivals = tuple(pair for pair in part.rivals if pair[0] != formula or goes(pair[1]))
            part = replace(part, rivals=rivals)
        elif isinstance(formula, Expr):
            sums = (_sum(space, own, formula, first.count) for first in first_trips)
            trips = next((trips for trips in sums if trips is not None and goes(trips)), None)
            if trips is None:
                return None
            part = replace(part, formulas=(trips,), rivals=())
        parts.append(part)
    return replace(repeat, parts=tuple(parts))


def _first_trips(children: Sequence[Rule]) -> Iterator[_FirstTrips]:
    for child in children:
        conditions: list[Cond] = []
        for part in child.repeat.parts:
            conditions.append(part.condition)
            if part.shape == LOOPED and (count := _bound(part.formulas or ())) is not None:
                yield _FirstTrips(count, tuple(conditions))


def _bound(formulas: Sequence[Value]) -> Expr | None:
    """Return K of the repeat `i1 < K` within the innermost loop; None for other repeats."""
    match tuple(formulas):
        case (Const(1), Choose(Compare("<", Var("i1"), count), Const(1), Const(0))):
            return count
    return None


def _sum(space: Space, points: Ints, trips: Expr, count: Expr) -> Expr | None:
    """Return trip counts as a count plus a formula of what is more; None if there is no formula."""
    columns = {name: column[points] for name, column in space.columns.items()}
    more = np.asarray(evaluate(trips, columns)) - np.asarray(evaluate(count, columns))
    solution = space.points(points).solve(np.ascontiguousarray(np.broadcast_to(more, points.shape)))
    return None if solution is None else count + solution.formula


def _holding(conditions: Sequence[Cond], columns: Columns) -> Mask:
    """Return where the last of some conditions holds, and none before."""
    masks = [
        np.broadcast_to(np.asarray(evaluate(one, columns), bool), columns["r"].shape) for one in conditions
    ]
    before: Mask = np.any(masks[:-1], axis=0) if masks[1:] else np.zeros_like(masks[0])
    return masks[-1] & ~before
