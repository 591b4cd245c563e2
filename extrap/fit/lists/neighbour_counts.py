"""Fit how often calls run that run once, or several times, for each neighbour of a rank."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import combinations

import numpy as np

from scalatrace.extrap.fit.fit_types import Samples
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Called, Compare, Const, Expr, Var, add, evaluate, indicator
from scalatrace.trace.symbolic.field import EVERYWHERE, Field, Part

__all__ = ["fit_neighbour_count"]


def fit_neighbour_count(space: Space, samples: Samples) -> Field | None:
    """Return the field of a multiple of the number of a rank's neighbours; None if the samples are none.

    Samples without a value count as 0.
    """
    values = [(0,) if value is None else value.slots for value in samples.values()]
    if any(value is not None and value.shape is not None for value in samples.values()):
        return None
    numbers = np.array(values, dtype=np.int64).reshape(-1)
    least = numbers.min()
    if least < 0 or least == numbers.max():
        return None
    points = np.array(list(samples), dtype=np.int64)
    columns = {name: column[points] for name, column in space.columns.items()}
    for count in _neighbour_counts(space):
        own = np.asarray(evaluate(count, columns))
        factor = int(numbers.max()) // max(int(own.max()), 1)
        if factor and np.array_equal(factor * own, numbers):
            return Field((Part(EVERYWHERE, None, (Const(factor) * count if factor > 1 else count,)),))
    return None


def _neighbour_counts(space: Space) -> Iterator[Expr]:
    """Yield how many neighbours a rank has: along some dimensions, across faces, across edges and corners.

    Along a dimension, those at a distance of two may be among them.
    """
    lines = [
        (Var(coord), Var(size)) for coord, size in zip(space.names.coords, space.names.sizes, strict=True)
    ]
    along = [indicator(Compare("<", Const(0), c)) + indicator(Compare("<", c, size - 1)) for c, size in lines]
    deep: list[Expr] = [
        Called("min", (c, Const(2))) + Called("min", (size - 1 - c, Const(2))) for c, size in lines
    ]
    for counts in (along, deep):
        for n in range(1, len(counts) + 1):
            yield from (reduce(add, some) for some in combinations(counts, n))
    if len(along) > 1:
        around: Expr = Const(1)
        for count in along:
            around = around * (count + 1)
        yield around - 1
