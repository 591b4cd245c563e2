"""Ranks of many small grids: where formulas and conditions are compared.

Two formulas of a program that are equal on all of these are equal: they are short, and the grids have every
side from the least on, so that all borders, corners and parities occur in all combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import product
from math import prod
from typing import Any

import numpy as np

from scalatrace.codegen.expr import (
    AllOf,
    AnyOf,
    Binary,
    Called,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Item,
    Member,
    Own,
    Size,
    Truth,
    Var,
    variables,
)
from scalatrace.codegen.program.grid_shape import Shape
from scalatrace.codegen.program.interpret import FUNCTIONS

__all__ = ["Mask", "Sample"]

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

SIDES = {1: 12, 2: 6, 3: 4, 4: 3}
"""How many sizes of each side there are, by the number of sides."""

UNKNOWN_TRIP_COUNT = 12
"""Loop variables whose end is not known are numbers below this."""

MAX_COMBINATIONS = 1 << 11
"""Combinations of loop variables that formulas are compared for, each on a few ranks."""

MAX_SAMPLE_RANKS = 32
"""So many ranks."""

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.floor_divide, "//": np.floor_divide,
    "%": np.mod, "^": np.bitwise_xor, "&": np.bitwise_and,
    "<<": lambda a, b: np.left_shift(a, np.clip(b, 0, 62)),
    ">>": lambda a, b: np.right_shift(a, np.clip(b, 0, 62)),
}  # fmt: skip
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}  # fmt: skip


class Sample:
    """All ranks of some grids that a benchmark can run on; `n` of them."""

    def __init__(self, shape: Shape) -> None:
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
        self._values: dict[Expr, Any] = {}
        self._masks: dict[Cond, Mask] = {}
        self._inner: dict[Any, Sample] = {}

    def column(self, name: str) -> Ints:
        """The values of a variable; of a loop's, random ones."""
        if name not in self.columns:
            self.columns[name] = self._random.integers(0, UNKNOWN_TRIP_COUNT, self.n)
        return self.columns[name]

    def mask(self, cond: Cond) -> Mask:
        """Where a condition holds."""
        if cond not in self._masks:
            with np.errstate(all="ignore"):
                self._masks[cond] = np.broadcast_to(self._holds(cond), (self.n,))
        return self._masks[cond]

    def value(self, e: Expr) -> Any:
        """The values of an expression, one per rank or one for all."""
        if e not in self._values:
            with np.errstate(all="ignore"):
                self._values[e] = self._value(e)
        return self._values[e]

    def equal(self, a: Expr, b: Expr, where: Mask) -> bool:
        """Whether two expressions are the same on these ranks, whatever loop variables are."""
        if a == b:
            return True
        if not (np.equal(self.value(a), self.value(b)) | ~where).all():
            return False
        loops = tuple(sorted({v for v in variables(a, b) if v.name not in self.fixed}, key=repr))
        if not loops:
            return True
        every = self._turning(where, loops)
        return bool(np.equal(every.value(a), every.value(b)).all())

    def _turning(self, where: Mask, loops: tuple[Var, ...]) -> Sample:
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
            self._inner[key] = inner
        return self._inner[key]

    def _holds(self, cond: Cond) -> Any:
        match cond:
            case Truth(truth):
                return np.asarray(truth)
            case Compare(op, a, b):
                return _COMPARE[op](self.value(a), self.value(b))
            case AllOf(parts):
                return np.logical_and.reduce([self.mask(part) for part in parts])
            case AnyOf(parts):
                return np.logical_or.reduce([self.mask(part) for part in parts])
            case Member(e, values, outside):
                return np.isin(self.value(e), values) != outside

    def _value(self, e: Expr) -> Any:
        match e:
            case Const(n):
                return np.asarray(n, dtype=np.int64)
            case Var(name, limit):
                return self.column(name) if name in self.fixed or not limit else self.column(name) % limit
            case Own(family):
                return self._place(family, self.shape.coords, "own")
            case Size(family):
                return self._place(family, self.shape.sizes, "size")
            case Binary(op, a, b):
                return _BINARY[op](self.value(a), self.value(b))
            case Called(name, arguments):
                given = np.broadcast_arrays(*map(self.value, arguments))
                rows = zip(*(column.reshape(-1).tolist() for column in given), strict=True)
                made = np.array([_tried(name, row) for row in rows], dtype=np.int64)
                return made.reshape(given[0].shape)
            case Choose(cond, a, b):
                return np.where(self.mask(cond), self.value(a), self.value(b))
            case Item(table, index):
                return np.array(table, dtype=np.int64)[np.clip(self.value(index), 0, len(table) - 1)]

    def _place(self, family: Expr, names: Sequence[str], what: str) -> Any:
        """Own rank in, or size of, a communicator; a random number when it is no slice of the grid."""
        slices = self.shape.slices[family.value] if isinstance(family, Const) else None
        if slices is None:
            return self.column(f"{what} {family}") + (what == "size")
        place: Any = np.asarray(what == "size", dtype=np.int64)
        for axis in slices:
            size = self.columns[self.shape.sizes[axis]]
            place = place * size + (0 if what == "size" else self.columns[names[axis]])
        return place


def _tried(name: str, row: Sequence[int]) -> int:
    try:
        return FUNCTIONS[name](*row)
    except (ArithmeticError, ValueError):
        return 0


def _runs(shape: Shape) -> list[tuple[tuple[int, ...], Mapping[str, int]]]:
    """Grids with parameters: those of the traces, and all small ones."""
    found = list(shape.seen)
    least = shape.least
    sides = [range(low, low + SIDES.get(len(least), 2)) for low in least]
    if shape.powers:
        sides = [range(0)] * len(least)
        found += [(tuple(side * 2 for side in dims), inputs) for dims, inputs in shape.seen]
    elif shape.square:
        found += [((side,) * len(least), shape.seen[0][1]) for side in sides[0]]
        sides = [range(0)] * len(least)
    values = {name: sorted({inputs[name] for _, inputs in shape.seen}) for name in shape.inputs}
    for k, dims in enumerate(product(*sides)):
        inputs = {}
        for name, known in values.items():
            some = [*known, known[-1] + 1, 2 * known[-1] + 3, known[-1] + 5]
            inputs[name] = some[k % len(some)]
        found.append((dims, inputs))
    return [(dims, inputs) for dims, inputs in found if prod(dims) > 0]


def _columns(shape: Shape, dims: tuple[int, ...], inputs: Mapping[str, int]) -> dict[str, Ints]:
    ranks = np.arange(prod(dims), dtype=np.int64)
    places = np.unravel_index(ranks, dims, order="F" if shape.column_major else "C")
    found: dict[str, Any] = dict(zip(shape.sizes, dims, strict=True)) | dict(inputs)
    found |= {"P": len(ranks), "rank": ranks}
    found |= dict(zip(shape.coords, places, strict=True))
    return {name: np.broadcast_to(np.asarray(v, dtype=np.int64), ranks.shape) for name, v in found.items()}
