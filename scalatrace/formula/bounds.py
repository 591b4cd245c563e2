"""Constant bounds of expressions."""

from __future__ import annotations

from scalatrace.formula.nodes import (
    Binary,
    Choose,
    Const,
    Expr,
    Item,
    Lookup,
    Search,
    Select,
    Special,
    Value,
    Var,
)

__all__ = ["MAX_SHIFT", "Interval", "bounds", "combine_intervals", "number_bounds"]

Interval = tuple[int, int]
"""The least and the largest value."""

MAX_SHIFT = 62
"""Shift amounts are clipped to 0..MAX_SHIFT."""


def number_bounds(value: Value) -> Interval | None:
    """Return `bounds` of a value that may be a symbol; None also for one that is never a number."""
    match value:
        case Special():
            return None
        case Select(_, Special(), other) | Select(_, other, Special()):
            return number_bounds(other)
        case Select(_, a, b):
            return _hull(number_bounds(a), number_bounds(b))
        case Lookup(table, _):
            numbers = [entry for entry in table if isinstance(entry, int)]
            return (min(numbers), max(numbers)) if numbers else None
    return bounds(value)


def bounds(e: Expr) -> Interval | None:
    """Return the least and the largest value of an expression; None if they are not easily known."""
    match e:
        case Const(value):
            return value, value
        case Var(_, limit, least):
            return (least, limit - 1) if limit else None
        case Search(table, _):
            return 0, len(table)
        case Item() | Choose() | Binary():
            try:
                return e._bounds
            except AttributeError:
                # Parts are shared: written out as a tree, an expression can be as long as the run.
                result = _bounds(e)
                object.__setattr__(e, "_bounds", result)
                return result
    return None


def _bounds(e: Item | Choose | Binary) -> Interval | None:
    match e:
        case Item(table, _):
            return (min(table), max(table)) if table else None
        case Choose(_, a, b):
            return _hull(bounds(a), bounds(b))
        case Binary(op, a, b):
            return _binary_bounds(op, a, b)


def _hull(a: Interval | None, b: Interval | None) -> Interval | None:
    return (min(a[0], b[0]), max(a[1], b[1])) if a and b else None


def _binary_bounds(op: str, a: Expr, b: Expr) -> Interval | None:
    left, right = bounds(a), bounds(b)
    if op == "%" and right and right[0] > 0:
        return (0, right[1] - 1)
    return combine_intervals(op, left, right) if left and right else None


def combine_intervals(op: str, a: Interval, b: Interval) -> Interval | None:
    """Return an interval that holds all results of an operator; of bits, a power of two around them.

    None: the bits of negative numbers have no interval.
    """
    match op:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "*":
            ends = [x * y for x in a for y in b]
            return min(ends), max(ends)
        case "/" | "//":
            most = max(abs(a[0]), abs(a[1]))
            return (a[0] // b[1], a[1] // b[0]) if a[0] >= 0 and b[0] > 0 else (-most, most)
        case "%":
            return (0, b[1] - 1) if b[0] > 0 else (min(b[0] + 1, 0), max(b[1] - 1, 0))
        case "<<":
            ends = [x << min(max(y, 0), MAX_SHIFT) for x in a for y in b]
            return min(ends), max(ends)
        case ">>":
            return min(a[0], 0), max(a[1], 0)
    if a[0] >= 0 and b[0] >= 0:
        return 0, (1 << max(a[1].bit_length(), b[1].bit_length())) - 1
    return (0, max(a[1], b[1])) if op == "&" and (a[0] >= 0 or b[0] >= 0) else None
