"""Evaluate expressions over columns of integers (int64 arrays); common parts are evaluated once.

The interval of every result follows from those of its operands. Only a result whose interval leaves 64 bits
is checked element by element.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scalatrace.errors import FormulaError, UsageError
from scalatrace.formula import nodes
from scalatrace.formula.bounds import MAX_SHIFT, Interval, combine_intervals
from scalatrace.formula.evaluation.array_functions import ARRAY_FUNCTIONS
from scalatrace.formula.evaluation.scalar import called, exceeds
from scalatrace.formula.functions import FUNCTIONS

__all__ = ["COMPARE", "ColumnEvaluator", "binary", "call", "indicator", "spanned"]

LOW, HIGH = -(1 << 63), (1 << 63) - 1
WHOLE: Interval = (LOW, HIGH)

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}  # fmt: skip
_SCALAR: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv, "//": operator.floordiv,
    "%": operator.mod, "^": operator.xor, "&": operator.and_, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_ARRAY: dict[str, Callable[[Any, Any], Any]] = {
    **_SCALAR,
    "<<": lambda a, b: a << np.clip(b, 0, MAX_SHIFT),
    ">>": lambda a, b: a >> np.clip(b, 0, MAX_SHIFT),
}


@dataclass(slots=True)
class ColumnEvaluator:
    """Columns, and the expressions that were evaluated over them.

    Attributes:
        names: name -> int, or an int64 array; arrays broadcast against each other.
        arrays: name -> the entries of an array that `Element` nodes refer to.
        specials: name -> the integer that stands for a symbol.
    """

    names: Mapping[str, Any]
    arrays: Mapping[str, Any] = field(default_factory=dict)
    specials: Mapping[str, int] = field(default_factory=dict)
    _known: dict[Any, Any] = field(default_factory=dict)
    _intervals: dict[Any, Interval] = field(default_factory=dict)

    def value(self, value: nodes.Value) -> Any:
        """Return the integers of an expression: an array, or one int for all.

        Raises:
            FormulaError: one does not fit into 64 bits, or has no value.
            ZeroDivisionError: one divides by zero.
            KeyError: a name is not given.
        """
        if isinstance(value, nodes.Const):
            return value.value
        if value not in self._known:
            result, interval = self._compute(value)
            self._known[value], self._intervals[value] = result, interval
        return self._known[value]

    def mask(self, cond: nodes.Cond) -> Any:
        """Return where a condition holds: an array of bools, or one bool. Raises as `value`."""
        if isinstance(cond, nodes.Truth):
            return cond.value
        if cond not in self._known:
            self._known[cond] = self._holds(cond)
        return self._known[cond]

    def _holds(self, cond: nodes.Cond) -> Any:
        match cond:
            case nodes.Truth(truth):
                return truth
            case nodes.Compare(op, a, b):
                return COMPARE[op](self.value(a), self.value(b))
            case nodes.Member(e, values, outside):
                return np.isin(self.value(e), np.array(values, dtype=np.int64), invert=outside)
            case nodes.AllOf(parts):
                return self._join_conditions(parts, np.logical_and, True)
            case nodes.AnyOf(parts):
                return self._join_conditions(parts, np.logical_or, False)

    def _join_conditions(
        self, parts: Sequence[nodes.Cond], joined: Callable[[Any, Any], Any], start: bool
    ) -> Any:
        """Later parts count only where earlier ones have not decided."""
        mask: Any = start
        for part in parts:
            if not np.any(mask == start):
                break  # decided everywhere
            try:
                mask = joined(mask, self.mask(part))
            except (ZeroDivisionError, FormulaError):
                undecided = np.asarray(mask == start)
                if undecided.all():
                    raise
                merged = np.array(mask, dtype=bool)
                merged[undecided] = self._where(undecided).mask(part)
                mask = merged
        return mask

    def _interval(self, value: nodes.Value) -> Interval:
        if isinstance(value, nodes.Const):
            return value.value, value.value
        return self._intervals[value]

    def _compute(self, value: nodes.Value) -> tuple[Any, Interval]:
        match value:  # the most frequent ones first
            case nodes.Binary(op, a, b):
                return binary(op, self.value(a), self.value(b), self._interval(a), self._interval(b))
            case nodes.Var(name):
                column = self.names[name]
                return column, spanned(column)
            case nodes.Special(name):
                return self.specials[name], spanned(self.specials[name])
            case nodes.Element(array, index):
                return self._entries(self.arrays[array], index, array)
            case nodes.Item(table, index):
                return self._entries(table, index, "a table")
            case nodes.Search(table, index):
                positions = np.searchsorted(np.array(table, dtype=np.int64), self.value(index), side="right")
                return (positions if positions.ndim else int(positions)), (0, len(table))
            case nodes.Lookup(table, index):
                numbers = [self.specials[v.name] if isinstance(v, nodes.Special) else v for v in table]
                return self._entries(numbers, index, "a table")
            case nodes.Called(name, arguments):
                columns = [self.value(argument) for argument in arguments]
                return call(name, columns, [self._interval(argument) for argument in arguments])
            case nodes.Choose(cond, nodes.Const(1), nodes.Const(0)):
                return indicator(self.mask(cond)), (0, 1)
            case nodes.Choose(cond, a, b) | nodes.Select(cond, a, b):
                return self._chosen(self.mask(cond), a, b)
        raise AssertionError(value)

    def _entries(self, table: Any, index: nodes.Value, name: str) -> tuple[Any, Interval]:
        at, entries = self.value(index), np.asarray(table, dtype=np.int64)
        low, high = spanned(at)
        if low < 0 or high >= len(entries):
            wrong = low if low < 0 else high
            raise FormulaError(f"{name} has {len(entries)} entries, none with index {wrong}")
        result = entries[at]
        return (result if isinstance(result, np.ndarray) else int(result)), spanned(entries)

    def _chosen(self, held: Any, a: nodes.Value, b: nodes.Value) -> tuple[Any, Interval]:
        if not isinstance(held, np.ndarray) or held.all() or not held.any():
            branch = a if np.all(held) else b
            return self.value(branch), self._interval(branch)
        try:
            then, otherwise = self.value(a), self.value(b)
            low = min(self._interval(a)[0], self._interval(b)[0])
            return np.where(held, then, otherwise), (low, max(self._interval(a)[1], self._interval(b)[1]))
        except (ZeroDivisionError, FormulaError):  # perhaps only where the other branch is taken
            result = np.empty(held.shape, dtype=np.int64)
            result[held] = self._where(held).value(a)
            result[~held] = self._where(~held).value(b)
            return result, spanned(result)

    def _where(self, mask: Any) -> ColumnEvaluator:
        """Return the columns of some elements."""

        def some(column: Any) -> Any:
            return np.broadcast_to(column, mask.shape)[mask] if isinstance(column, np.ndarray) else column

        return ColumnEvaluator(
            {name: some(values_of_name) for name, values_of_name in self.names.items()},
            self.arrays,
            self.specials,
        )


def binary(op: str, a: Any, b: Any, of_a: Interval, of_b: Interval) -> tuple[Any, Interval]:
    """Return the result of an operator on ints or arrays with their intervals, and its interval.

    Raises:
        FormulaError: a result does not fit into 64 bits.
        ZeroDivisionError: one divides by zero.
    """
    if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
        amount = min(max(int(b), 0), MAX_SHIFT) if op in ("<<", ">>") else int(b)
        result = _SCALAR[op](int(a), amount)
        if not LOW <= result <= HIGH:
            exceeds(result)
        return result, (result, result)
    if op in ("/", "//", "%") and of_b[0] <= 0 <= of_b[1] and not np.all(b):
        raise ZeroDivisionError
    interval = combine_intervals(op, of_a, of_b) or WHOLE
    if _within(interval):
        if op in ("/", "//", "%") and not isinstance(b, np.ndarray) and b > 0 and b & (b - 1) == 0:
            return (a & (b - 1) if op == "%" else a >> int(b).bit_length() - 1), interval  # 10 times faster
        return _ARRAY[op](a, b), interval
    interval = combine_intervals(op, spanned(a), spanned(b)) or WHOLE
    if _within(interval):
        return _ARRAY[op](a, b), interval
    rows = np.broadcast_arrays(a, b)
    x, y = (row.astype(object) for row in rows)
    y = np.minimum(np.maximum(y, 0), MAX_SHIFT) if op in ("<<", ">>") else y
    exact = _SCALAR[op](x, y)
    return _store_integers(exact.reshape(-1).tolist(), rows[0].shape)


def indicator(held: Any) -> Any:
    """Return 1 where a condition holds, 0 elsewhere."""
    return held.astype(np.int64) if isinstance(held, np.ndarray) else int(held)


def call(name: str, arguments: Sequence[Any], intervals: Sequence[Interval]) -> tuple[Any, Interval]:
    """Return a function of ints or arrays with their intervals, and its interval. Raises as `binary`."""
    if not any(isinstance(argument, np.ndarray) for argument in arguments):
        result = called(name, arguments)
        if not LOW <= result <= HIGH:
            exceeds(result)
        return result, (result, result)
    function = FUNCTIONS.get(name)
    if function is None or len(arguments) != function.arity >= 0:
        return _each(name, arguments)  # which reports it
    if function.array is not None:
        return _foreign(name, function.array, arguments)
    array, bounds = ARRAY_FUNCTIONS.get(name, (None, None))
    if array is None or bounds is None:
        return _each(name, arguments)
    interval = bounds(list(intervals))
    if not _within(interval):
        return _each(name, arguments)
    with np.errstate(divide="raise"):
        try:
            return array(*arguments), interval
        except FloatingPointError:
            raise ZeroDivisionError from None


def _foreign(name: str, array: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, Interval]:
    """Return a plug-in's function of arrays."""
    try:
        with np.errstate(divide="raise", invalid="raise"):
            result = _int64(array(*arguments), name)
            return result, spanned(result)
    except FloatingPointError:
        raise ZeroDivisionError from None
    except (ArithmeticError, FormulaError, UsageError):
        raise
    except Exception as error:  # whatever it does
        raise UsageError(f"the function {name} fails: {type(error).__name__}: {error}") from None


def _each(name: str, arguments: Sequence[Any]) -> tuple[Any, Interval]:
    """Return a function called for each element, exactly."""
    rows = np.broadcast_arrays(*arguments)
    cells = zip(*(row.reshape(-1).tolist() for row in rows), strict=True)
    return _store_integers([called(name, cell) for cell in cells], rows[0].shape)


def spanned(column: Any) -> Interval:
    """Return the least and the largest element."""
    if isinstance(column, np.ndarray):
        return (int(column.min()), int(column.max())) if column.size else (0, 0)
    return int(column), int(column)


def _within(interval: Interval) -> bool:
    return interval[0] >= LOW and interval[1] <= HIGH


def _store_integers(values: Sequence[int], shape: tuple[int, ...]) -> tuple[Any, Interval]:
    """Exact integers as an array. Raises FormulaError when one does not fit."""
    low, high = min(values, default=0), max(values, default=0)
    if low < LOW or high > HIGH:
        exceeds(low if low < LOW else high)
    return np.array(values, dtype=np.int64).reshape(shape), (low, high)


def _int64(number: Any, name: str) -> Any:
    if isinstance(number, np.ndarray):
        if number.dtype.kind not in "ib":
            raise UsageError(f"the function {name} gives {number.dtype}, not integers")
        return number.astype(np.int64, copy=False)
    return int(number)
