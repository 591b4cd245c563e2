"""Intervals of expressions that have a value for all values of their variables, and that an int holds.

Such an expression may be evaluated before a condition that it stood under. Conditions within the expression
narrow its variables: in `i1 < 2 ? table[i1] : 7` the table needs two entries.
"""

from __future__ import annotations

from collections.abc import Mapping

from scalatrace.formula import (
    AllOf,
    AnyOf,
    Binary,
    Choose,
    Compare,
    Cond,
    Const,
    Item,
    Special,
    Truth,
    Value,
    Var,
    bounds,
    length,
    negate,
)
from scalatrace.formula.bounds import Interval, combine_intervals
from scalatrace.formula.nodes import Element, Member, Select

__all__ = ["interval_of"]

INT_MAX = 2**31 - 1

MAX_LENGTH = 300
"""Variables and numbers of an expression that is examined; longer ones count as without a value."""

ENTRIES = "entries of arrays"
"""Among the limits of variables: those of an element of an array."""

Limits = Mapping[str, Interval]


def interval_of(e: Value, nprocs: int) -> Interval | None:
    """Return the least and the largest value; None: it may have none, or one that an int does not hold.

    Args:
        e: constants of MPI among its alternatives do not count.
        nprocs: ranks, the largest entry of arrays of communicators (own rank, and size).
    """
    return _interval(e, {ENTRIES: (0, nprocs)}) if length(e) <= MAX_LENGTH else None


def _interval(e: Value, limits: Limits) -> Interval | None:
    result = _find_interval(e, limits)
    return result if result is not None and -INT_MAX <= result[0] <= result[1] < INT_MAX else None


def _find_interval(e: Value, limits: Limits) -> Interval | None:
    match e:
        case Element(_, index):
            return limits[ENTRIES] if _interval(index, limits) is not None else None
        case Const(value):
            return value, value
        case Var(name):
            return limits.get(name) or bounds(e)
        case Item(table, index):
            at = _interval(index, limits)
            if at is None or at[0] < 0 or at[1] >= len(table):
                return None
            entries = [entry for entry in table[at[0] : at[1] + 1] if isinstance(entry, int)]
            return (min(entries), max(entries)) if len(entries) == at[1] + 1 - at[0] else None
        case Choose(cond, a, b) | Select(cond, a, b):
            return _hull(cond, a, b, limits)
        case Binary(op, a, b):
            left, right = _interval(a, limits), _interval(b, limits)
            if left is None or right is None or op in ("<<", ">>") or (op in _DIVISIONS and right[0] <= 0):
                return None
            if op == "%" and left[0] >= 0 and left[1] < right[0]:
                return left
            return combine_intervals(op, left, right)
    return None


_DIVISIONS = ("/", "//", "%")


def _hull(cond: Cond, a: Value, b: Value, limits: Limits) -> Interval | None:
    """Return the interval of a choice; alternatives that are never chosen do not count."""
    if not _has_value(cond, limits):
        return None
    ends: list[int] = []
    for part, condition in ((a, cond), (b, negate(cond))):
        narrowed = _narrowed(limits, condition)
        if narrowed is None or isinstance(part, Special):
            continue
        interval = _interval(part, narrowed)
        if interval is None:
            return None
        ends += interval
    return (min(ends), max(ends)) if ends else None


def _has_value(cond: Cond, limits: Limits) -> bool:
    """Whether all that a condition evaluates has a value; earlier parts are conditions of later ones."""
    match cond:
        case Truth():
            return True
        case Compare(_, a, b):
            return _interval(a, limits) is not None and _interval(b, limits) is not None
        case Member(e):
            return _interval(e, limits) is not None
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                if not _has_value(part, limits):
                    return False
                narrowed = _narrowed(limits, part if isinstance(cond, AllOf) else negate(part))
                if narrowed is None:
                    return True
                limits = narrowed
    return True


def _narrowed(limits: Limits, cond: Cond) -> Limits | None:
    """Return the limits of variables under a condition; None: it never holds."""
    match cond:
        case Truth(value):
            return limits if value else None
        case AllOf(parts):
            narrowed: Limits | None = limits
            for part in parts:
                narrowed = None if narrowed is None else _narrowed(narrowed, part)
            return narrowed
        case Compare(op, Var(name) as variable, Const(value)):
            interval = limits.get(name) or bounds(variable)
            if interval is None:
                return limits
            low, high = interval
            match op:
                case "==":
                    low, high = max(low, value), min(high, value)
                case "<":
                    high = min(high, value - 1)
                case "<=":
                    high = min(high, value)
                case ">":
                    low = max(low, value + 1)
                case ">=":
                    low = max(low, value)
                case "!=":
                    low, high = low + (value == low), high - (value == high)
            return {**limits, name: (low, high)} if low <= high else None
    return limits
