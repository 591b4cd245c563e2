"""Ranks of many small grids, on which formulas and conditions are compared one by one.

The grids have every combination of sides from the least on (`SIDES`), so that all borders, corners and
parities occur. Expressions that agree there are exchanged for each other in programs; `reach` states the
sizes for which that was checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from itertools import product
from math import prod
from typing import Any

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.codegen.program.communicators import SIZE
from scalatrace.codegen.program.grid_shape import GridShape
from scalatrace.errors import FormulaError
from scalatrace.formula import Cond, Const, Element, Expr, Value, Var, evaluate, names_in, variables
from scalatrace.formula.evaluation.columns import ColumnEvaluator
from scalatrace.formula.rewrite import rewritten, rewritten_cond
from scalatrace.trace.values.vec import SPECIAL

__all__ = ["Mask", "RankSample"]

Mask = np.ndarray[Any, np.dtype[np.bool_]]

SIDES = {1: 12, 2: 6, 3: 4, 4: 3}
"""How many sizes of each side there are, by the number of sides."""

UNKNOWN_TRIP_COUNT = 12
"""Loop variables whose end is not known are numbers below this."""

MAX_COMBINATIONS = 1 << 11
"""Combinations of loop variables that formulas are compared for, each on a few ranks."""

MAX_SAMPLE_RANKS = 32
"""So many ranks."""


class RankSample:
    """All ranks of some grids that a benchmark can run on; `n` of them."""

    def __init__(self, shape: GridShape) -> None:
        self.shape = shape
        runs = list(_runs(shape))
        parts = [_columns(shape, dims, inputs) for dims, inputs in runs]
        self.columns: dict[str, Ints] = {
            name: np.concatenate([part[name] for part in parts]) for name in parts[0]
        }
        self.n = len(self.columns["rank"])
        self.everyone: Mask = np.ones(self.n, dtype=bool)
        self._random = np.random.default_rng(1)
        self.fixed = frozenset(self.columns)
        self._values: dict[Value, Any] = {}
        self._masks: dict[Cond, Mask] = {}
        self._inner: dict[Any, RankSample] = {}
        self._extra: dict[str, Ints] = {}
        self._evaluator = ColumnEvaluator(_RankNames(self), specials=SPECIAL)

    @property
    def reach(self) -> str:
        """The grids on which expressions are compared."""
        sides = " x ".join(
            f"{low}..{low + SIDES.get(len(self.shape.least), 2) - 1}" for low in self.shape.least
        )
        return f"the sizes of the traces and grids of {sides} ranks"

    def column(self, name: str) -> Ints:
        """The values of a variable; of a loop's, random ones."""
        if name not in self.columns:
            self.columns[name] = self._random.integers(0, UNKNOWN_TRIP_COUNT, self.n)
        return self.columns[name]

    def mask(self, cond: Cond) -> Mask:
        """Where a condition holds."""
        if cond not in self._masks:
            self._masks[cond] = np.broadcast_to(self._evaluate_or_zero(cond).astype(bool), (self.n,))
        return self._masks[cond]

    def value(self, e: Value) -> Any:
        """The values of an expression, one per rank or one for all."""
        if e not in self._values:
            self._values[e] = self._evaluate_or_zero(e)
        return self._values[e]

    def agree(self, a: Value, b: Value, where: Mask) -> bool:
        """Whether two expressions have the same values on these ranks, for all values of loop variables.

        That is a check up to `reach`, no proof.
        """
        if a == b:
            return True
        if not (np.equal(self.value(a), self.value(b)) | ~where).all():
            return False
        loops = tuple(sorted({v for v in variables(a, b) if v.name not in self.fixed}, key=repr))
        if not loops:
            return True
        every = self._sample_loops(where, loops)
        return bool(np.equal(every.value(a), every.value(b)).all())

    def _sample_loops(self, where: Mask, loops: tuple[Var, ...]) -> RankSample:
        """Some of these ranks, each with all values of the loop variables."""
        key = where.tobytes(), loops
        if key not in self._inner:
            ends = [min(v.limit or UNKNOWN_TRIP_COUNT, MAX_COMBINATIONS) for v in loops]
            table = np.stack(np.unravel_index(np.arange(prod(ends)), ends))
            if table.shape[1] > MAX_COMBINATIONS:
                table = table[:, self._random.choice(table.shape[1], MAX_COMBINATIONS, replace=False)]
            points = np.flatnonzero(where)
            points = points[:: max(1, len(points) // MAX_SAMPLE_RANKS)]
            inner = copy(self)
            inner.columns = {n: np.repeat(c[points], table.shape[1]) for n, c in self.columns.items()}
            inner.columns |= {v.name: np.tile(row, len(points)) for v, row in zip(loops, table, strict=True)}
            inner.n, inner._values, inner._masks = len(points) * table.shape[1], {}, {}
            inner._extra, inner._evaluator = {}, ColumnEvaluator(_RankNames(inner), specials=SPECIAL)
            self._inner[key] = inner
        return self._inner[key]

    def _evaluate_or_zero(self, part: Value | Cond) -> Any:
        """Return the values of an expression; 0 where undefined: programs never evaluate it there."""
        part = self._name_columns(part)
        try:
            if isinstance(part, Cond):
                return np.asarray(self._evaluator.mask(part))
            return np.asarray(self._evaluator.value(part))
        except (FormulaError, ZeroDivisionError):
            columns = {name: self.named(name) for name in names_in(part)}
            points = ({name: int(column[k]) for name, column in columns.items()} for k in range(self.n))
            return np.array([_or_zero(part, point) for point in points], dtype=np.int64)

    def _name_columns(self, part: Any) -> Any:
        """An expression or condition with a variable for each column: bounded ones, and entries of arrays."""

        def change(e: Expr) -> Expr | None:
            if isinstance(e, Element):
                name = f"{e.array} {e.index}"
                if name not in self._extra:
                    self._extra[name] = np.broadcast_to(self._of_slice(e.array, e.index), (self.n,))
                return Var(name)
            if isinstance(e, Var) and e.limit and e.name not in self.fixed:
                name = f"{e.name} below {e.limit}"
                if name not in self._extra:
                    self._extra[name] = self.column(e.name) % e.limit
                return Var(name)
            return None

        return rewritten_cond(part, change) if isinstance(part, Cond) else rewritten(part, change)

    def named(self, name: str) -> Ints:
        """The column of a variable of a renamed expression."""
        return self._extra[name] if name in self._extra else self.column(name)

    def _of_slice(self, array: str, family: Expr) -> Any:
        slices = self.shape.slices[family.value] if isinstance(family, Const) else None
        if slices is None:
            return self.column(f"{array} {family}") + (array == SIZE)
        place: Any = np.asarray(array == SIZE, dtype=np.int64)
        for axis in slices:
            size = self.columns[self.shape.sizes[axis]]
            place = place * size + (0 if array == SIZE else self.columns[self.shape.coords[axis]])
        return place


class _RankNames(Mapping[str, Any]):
    """The columns of a sample by name, made when they are asked for."""

    def __init__(self, sample: RankSample) -> None:
        self._sample = sample

    def __getitem__(self, name: str) -> Ints:
        return self._sample.named(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sample.columns)

    def __len__(self) -> int:
        return len(self._sample.columns)


def _or_zero(part: Value | Cond, names: Mapping[str, int]) -> int:
    try:
        return int(evaluate(part, names, specials=SPECIAL))
    except FormulaError:
        return 0


def _runs(shape: GridShape) -> list[tuple[tuple[int, ...], Mapping[str, int]]]:
    """Grids with parameters: those of the traces, and all small ones."""
    runs = list(shape.seen)
    least = shape.least
    sides = [range(low, low + SIDES.get(len(least), 2)) for low in least]
    if shape.powers:
        sides = [range(0)] * len(least)
        runs += [(tuple(side * 2 for side in dims), inputs) for dims, inputs in shape.seen]
    elif shape.square:
        runs += [((side,) * len(least), shape.seen[0][1]) for side in sides[0]]
        sides = [range(0)] * len(least)
    values = {name: sorted({inputs[name] for _, inputs in shape.seen}) for name in shape.inputs}
    for k, dims in enumerate(product(*sides)):
        inputs = {}
        for name, column in values.items():
            trip_counts = [*column, column[-1] + 1, 2 * column[-1] + 3, column[-1] + 5]
            inputs[name] = trip_counts[k % len(trip_counts)]
        runs.append((dims, inputs))
    return [(dims, inputs) for dims, inputs in runs if prod(dims) > 0]


def _columns(shape: GridShape, dims: tuple[int, ...], inputs: Mapping[str, int]) -> dict[str, Ints]:
    ranks = np.arange(prod(dims), dtype=np.int64)
    places = np.unravel_index(ranks, dims, order="F" if shape.column_major else "C")
    columns: dict[str, Any] = dict(zip(shape.sizes, dims, strict=True)) | dict(inputs)
    columns |= {"P": len(ranks), "rank": ranks}
    columns |= dict(zip(shape.coords, places, strict=True))
    return {name: np.broadcast_to(np.asarray(v, dtype=np.int64), ranks.shape) for name, v in columns.items()}
