"""Formulas of a symbolic trace in sympy, for a class of ranks: those at one place of the grid.

A place has each coordinate at the first rank, in the middle, or at the last one of its dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import isfinite

import sympy  # type: ignore[import-untyped]

from scalatrace.errors import ScalatraceError
from scalatrace.formula import Value, nodes
from scalatrace.predict.models.symbols import P, as_sympy
from scalatrace.trace.symbolic.evaluate import part_of
from scalatrace.trace.symbolic.field import CYCLE, INDEXED, LOOPED, Field, levels_of
from scalatrace.trace.symbolic.grid import Grid
from scalatrace.trace.symbolic.special_values import evaluate

__all__ = ["ModelPlace", "NotClosedError", "places"]


class NotClosedError(ScalatraceError):
    """A quantity without a closed formula; the message names it."""


FIRST, MIDDLE, LAST = "first", "middle", "last"


@dataclass(frozen=True)
class ModelPlace:
    """A place in a grid of a size.

    Attributes:
        grid: at which conditions are evaluated.
        where: per dimension FIRST, MIDDLE or LAST.
        inputs: values of the program's parameters.
    """

    grid: Grid
    where: tuple[str, ...]
    inputs: Mapping[str, int]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Values of all names."""
        coords = [_coordinate(where, side) for side, where in zip(self.grid.dims, self.where, strict=True)]
        return self.grid.place(self.grid.rank(coords)) | dict(self.inputs)

    @cached_property
    def symbols(self) -> dict[str, sympy.Expr]:
        """Formulas of all names in the sizes of the grid and the parameters."""
        sizes = {name: sympy.Symbol(name, integer=True, positive=True) for name in self.grid.sizes}
        symbols = {name: sympy.Symbol(name, integer=True) for name in self.inputs}
        coords = {
            name: _formula_of(where, sizes[size])
            for name, size, where in zip(self.grid.coords, sizes, self.where, strict=True)
        }
        rank: sympy.Expr = sympy.Integer(0)
        order = list(zip(coords.values(), sizes.values(), strict=True))
        for coordinate, size in reversed(order) if self.grid.column_major else order:
            rank = rank * size + coordinate
        return {**sizes, **symbols, **coords, "P": P, "r": rank}

    def value(self, formula: sympy.Expr) -> float:
        """Return the value of a formula in sizes and parameters.

        Raises:
            NotClosedError: it depends on loop counters, or is no finite number.
        """
        expression = as_sympy(sympy.sympify(formula))
        if unknown := sorted({symbol.name for symbol in expression.free_symbols} - self.numbers.keys()):
            raise NotClosedError(f"a quantity depends on {unknown[0]}")
        names = {symbol: self.numbers[symbol.name] for symbol in expression.free_symbols}
        with suppress(ArithmeticError, TypeError, ValueError):  # division by 0, complex, too large
            if isfinite(number := float(expression.subs(names).doit())):
                return number
        raise NotClosedError("a quantity is no finite number")

    def slots(self, field: Field) -> tuple[object, tuple[Value, ...]] | None:
        """Return shape and formulas of a field here; None: it has no value."""
        part = part_of(field.parts, self.numbers)
        return None if part is None or part.formulas is None else (part.shape, part.formulas)

    def closed(self, field: Field, label: str) -> sympy.Expr:
        """Return the formula of an integer that is the same in all executions, or their mean in a cycle.

        Raises:
            NotClosedError: it follows no such formula; `label` names it.
        """
        slots = self.slots(field)
        if slots is None:
            return sympy.Integer(0)
        shape, formulas = slots
        if shape is None and len(formulas) == 1:
            return self.sympy(formulas[0], label)
        if shape == CYCLE:
            return sum((self.sympy(formula, label) for formula in formulas), sympy.Integer(0)) / len(formulas)
        raise NotClosedError(f"{label} varies between executions")

    def runs(self, repeat: Field, total: sympy.Expr, trips: Sequence[sympy.Expr], label: str) -> sympy.Expr:
        """Return how often a node runs.

        Args:
            repeat: how often it runs in each entry.
            total: entries.
            trips: trip counts of the loops around it, the outermost first.
        """
        slots = self.slots(repeat)
        part = part_of(repeat.parts, self.numbers)
        if slots is None or part is None:
            return sympy.Integer(0)
        shape, formulas = slots
        if shape == INDEXED:
            count, trip_count = (self.sympy(formula, label) for formula in formulas)
            return sympy.summation(trip_count, (sympy.Symbol("i", integer=True), 0, count - 1))
        if shape == LOOPED and (levels := levels_of(part)):
            if levels > 1 or not trips:
                raise NotClosedError(f"{label} depends on several loops")
            trip_count, inner = self.sympy(formulas[1], label), trips[-1]
            left, counter = (sympy.Symbol(name, integer=True) for name in ("l1", "i1"))
            return (
                total
                / inner
                * sympy.summation(trip_count.subs(left, inner - 1 - counter), (counter, 0, inner - 1))
            )
        if shape == LOOPED:
            return total * self.sympy(formulas[1], label)
        return total * self.closed(repeat, label)

    def sympy(self, value: Value, label: str) -> sympy.Expr:
        """Return a formula as a sympy expression. Raises NotClosedError."""
        match value:
            case nodes.Const(number):
                return sympy.Integer(number)
            case nodes.Var(name):
                return self.symbols.get(name, sympy.Symbol(name, integer=True))
            case nodes.Binary(op, left, right) if op in _OPERATORS:
                with suppress(ZeroDivisionError):
                    return _OPERATORS[op](self.sympy(left, label), self.sympy(right, label))
            case nodes.Choose(cond, then, otherwise):
                return self.sympy(then if self._holds(cond, label) else otherwise, label)
            case nodes.Called(name, arguments) if name in _FUNCTIONS:
                return _FUNCTIONS[name](*(self.sympy(argument, label) for argument in arguments))
        raise NotClosedError(f"{label} is a formula that has no form in sympy")

    def _holds(self, cond: nodes.Cond, label: str) -> bool:
        """Whether a condition holds here, with the sizes of this grid."""
        try:
            return bool(evaluate(cond, self.numbers))
        except (ScalatraceError, KeyError):
            raise NotClosedError(f"{label} depends on a condition within a loop") from None


def _coordinate(where: str, side: int) -> int:
    """Return the coordinate of a place in a dimension."""
    return {FIRST: 0, MIDDLE: side // 2, LAST: side - 1}[where]


def _formula_of(where: str, size: sympy.Expr) -> sympy.Expr:
    """Return the same as a formula in the size of the dimension."""
    return {FIRST: sympy.Integer(0), MIDDLE: sympy.floor(size / 2), LAST: size - 1}[where]


def places(grid: Grid, inputs: Mapping[str, int]) -> list[ModelPlace]:
    """Return a place for each class of ranks by position: 3^d of them, fewer where sides are short."""
    spots = [(FIRST, MIDDLE, LAST)[: max(1, min(side, 3))] for side in grid.dims]
    spots = [(FIRST, LAST) if len(ends) == 2 else ends for ends in spots]
    return [ModelPlace(grid, where, inputs) for where in product(*spots)]


_OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: sympy.floor(a / b),
    "//": lambda a, b: sympy.floor(a / b),
    "%": lambda a, b: sympy.Mod(a, b),
    "<<": lambda a, b: a * 2**b,
    ">>": lambda a, b: sympy.floor(a / 2**b),
}

_FUNCTIONS = {
    "min": sympy.Min,
    "max": sympy.Max,
    "log2": lambda n: sympy.floor(sympy.log(n, 2)),
    "ceil_log2": lambda n: sympy.ceiling(sympy.log(n, 2)),
    "block": lambda n, parts, k: sympy.floor((n + parts - 1 - k) / parts),
}
