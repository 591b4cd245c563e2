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

__all__ = ["bounds", "number_bounds"]


def number_bounds(value: Value) -> tuple[int, int] | None:
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


def bounds(e: Expr) -> tuple[int, int] | None:
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


def _bounds(e: Item | Choose | Binary) -> tuple[int, int] | None:
    match e:
        case Item(table, _):
            return (min(table), max(table)) if table else None
        case Choose(_, a, b):
            return _hull(bounds(a), bounds(b))
        case Binary(op, a, b):
            return _binary_bounds(op, a, b)


def _hull(a: tuple[int, int] | None, b: tuple[int, int] | None) -> tuple[int, int] | None:
    return (min(a[0], b[0]), max(a[1], b[1])) if a and b else None


def _binary_bounds(op: str, a: Expr, b: Expr) -> tuple[int, int] | None:
    left, right = bounds(a), bounds(b)
    if op == "%" and right and right[0] > 0:
        return (0, right[1] - 1)
    if not left or not right:
        return None
    (low, high), (least, most) = left, right
    if op == "+":
        return low + least, high + most
    if op == "-":
        return low - most, high - least
    if op == "*":
        ends = [x * y for x in left for y in right]
        return min(ends), max(ends)
    if op in ("/", "//") and low >= 0 and least > 0:
        return low // most, high // least
    return None
