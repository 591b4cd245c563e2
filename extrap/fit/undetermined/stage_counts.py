"""Number of stages of a tree or butterfly: 5 on 20, 25 and 30 ranks may be ceil_log2(P), which is 6 on 36.

Ranks whose partners are at distances 1, 2, 4, ... take part in one. Where the number of its calls is the same
in all traces, and is the logarithm of a size, the traces do not distinguish the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

import numpy as np

from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Const, Expr, evaluate, linear_combination, names_in, parse_number
from scalatrace.trace.symbolic.field import Field

__all__ = ["stages_among", "with_logarithms"]

MIN_STAGES = 2
"""Partners at distances 1 and 2; any rank has a neighbour."""


def stages_among(
    partners: Iterable[tuple[Iterable[int], int, int]], strides: Sequence[int], of_all: bool
) -> int:
    """Return how many powers of two, in a row from 1 on, are distances of partners.

    Args:
        partners: of each rank of a run: ranks of a communicator, the rank's own place in it, and its size.
        strides: what else may be a distance of 1: from column to column of a grid.
        of_all: whether the partners of all ranks count together. In a butterfly on a number of ranks that is
            no power of two, no rank may have all distances.
    """
    most, together = 0, (set[int](), set[int](), set[int]())
    for peers, own, size in partners:
        ahead, behind, across = together if of_all else (set[int](), set[int](), set[int]())
        for peer in peers:
            if peer >= 0:
                ahead.add((peer - own) % size)
                behind.add((own - peer) % size)
                across.add(peer ^ own)
        most = max(
            most,
            *(
                next(stages for stages in count() if stride << stages not in found)
                for found in (ahead, behind, across)
                for stride in strides
            ),
        )
    return most


def with_logarithms(space: Space, field: Field, stages: int) -> Field:
    """Return a trip count with rivals of its constants: multiples of the logarithm of a size.

    Args:
        stages: that all traces show at least.
    """
    others = [(formula, value) for formula, value in _logarithms(space) if value <= stages]
    parts = []
    for part in field.parts if others else ():
        pairs = [
            (formula, linear_combination(0, [formula.value // value], [other]))
            for formula in part.formulas or ()
            if isinstance(formula, Const) and formula.value > 1
            for other, value in others
            if formula.value % value == 0
        ]
        parts.append(replace(part, rivals=(*part.rivals, *pairs)))
    return replace(field, parts=tuple(parts)) if parts else field


def _logarithms(space: Space) -> Iterator[tuple[Expr, int]]:
    """Yield the logarithms of sizes that have one value in all traces."""
    for name in dict.fromkeys(("P", *space.names.sizes)):
        for function in ("ceil_log2", "log2"):
            formula = parse_number(f"{function}({name})")
            sizes = {n: space.columns[n][space.starts[:-1]] for n in names_in(formula)}
            values = np.asarray(evaluate(formula, sizes))
            if (values == values[0]).all() and values[0] >= MIN_STAGES:
                yield formula, int(values[0])
