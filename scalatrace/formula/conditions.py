"""Constructors of conditions, decided where bounds decide them, and of choices between values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import overload

from scalatrace.errors import FormulaError
from scalatrace.formula.arithmetic import linear
from scalatrace.formula.bounds import bounds
from scalatrace.formula.nodes import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Choose,
    Compare,
    Cond,
    Const,
    Expr,
    Item,
    Lookup,
    Member,
    Search,
    Select,
    Special,
    Symbolic,
    Truth,
    Value,
)
from scalatrace.formula.parts import specials_in

__all__ = [
    "all_of",
    "choose",
    "compare",
    "either",
    "entry",
    "indicator",
    "is_nonzero",
    "map_leaves",
    "negate",
    "number",
    "number_or",
    "select",
    "separated",
]

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def choose(cond: Cond, then: Expr, otherwise: Expr) -> Expr:
    """Return a choice of two values; one alone if the condition is decided or makes no difference."""
    if isinstance(cond, Truth):
        return then if cond.value else otherwise
    return then if then == otherwise else Choose(cond, then, otherwise)


def select(cond: Cond, then: Value, otherwise: Value) -> Value:
    """Return a choice of two values that may be symbols."""
    if isinstance(cond, Truth):
        return then if cond.value else otherwise
    if then == otherwise:
        return then
    if isinstance(then, Symbolic) or isinstance(otherwise, Symbolic):
        return Select(cond, then, otherwise)
    return Choose(cond, then, otherwise)


def entry(table: Sequence[int | Special], index: Expr) -> Value:
    """Return an entry of a static table."""
    numbers = tuple(value for value in table if isinstance(value, int))
    return Item(numbers, index) if len(numbers) == len(table) else Lookup(tuple(table), index)


def separated(lookup: Lookup, change: Callable[[Expr], Value]) -> Value:
    """Return a table entry whose symbols are selected by conditions.

    Args:
        change: changes the expression of the numbers.
    """
    specials = sorted({v for v in lookup.table if isinstance(v, Special)}, key=lambda special: special.name)
    numbers = [v for v in lookup.table if isinstance(v, int)]
    if numbers:
        entries = tuple(v if isinstance(v, int) else numbers[0] for v in lookup.table)
        value = change(Const(numbers[0]) if len(set(entries)) == 1 else Item(entries, lookup.index))
    else:
        value = specials.pop()
    for special in specials:
        flags = Item(tuple(int(v == special) for v in lookup.table), lookup.index)
        value = select(is_nonzero(flags), special, value)
    return value


def number(value: Value) -> Expr:
    """Return a value that has to be a number. Raises FormulaError for a symbol or a choice of one."""
    if isinstance(value, Symbolic):
        names = " or ".join(sorted(specials_in(value)))
        raise FormulaError(f"{names} stands for no number: no formula can compute with it")
    return value


def number_or(value: Value, default: int) -> Expr:
    """Return a value with a number in place of each symbol."""
    match value:
        case Special():
            return Const(default)
        case Select(cond, then, otherwise):
            return choose(cond, number_or(then, default), number_or(otherwise, default))
        case Lookup(table, index):
            return Item(tuple(entry if isinstance(entry, int) else default for entry in table), index)
    return value


def indicator(cond: Cond) -> Expr:
    """Return 1 where a condition holds, else 0."""
    return choose(cond, Const(1), Const(0))


def compare(op: str, a: Expr, b: Expr) -> Cond:
    """Return a comparison, decided where bounds decide it."""
    n, terms = linear(b)
    if terms:
        return Compare(op, a, b)
    shift, left_terms = linear(a)
    if len(left_terms) == 1 and shift:
        (term, k), *_ = left_terms.items()
        if k == 1:
            return compare(op, term, Const(n - shift))
    interval = bounds(a)
    if interval is not None:
        low, high = interval
        verdicts = {
            "==": (low == high == n, n < low or n > high),
            "<": (high < n, low >= n),
            "<=": (high <= n, low > n),
        }
        positive = {"!=": "==", ">=": "<", ">": "<="}.get(op, op)
        yes, no = verdicts[positive] if positive == op else verdicts[positive][::-1]
        if yes or no:
            return Truth(yes)
        if op == "!=" and high - low == 1:
            return Compare("==", a, Const(low + high - n))
        if (op, n) == (">=", high) or (op, n) == (">", high - 1):
            return Compare("==", a, Const(high))
        if (op, n) == ("<", low + 1) or (op, n) == ("<=", low):
            return Compare("==", a, Const(low))
        if (op, n) == (">=", low + 1):
            return Compare("!=", a, Const(low))
        if (op, n) == ("<", high):
            return Compare("!=", a, Const(high))
    return Compare(op, a, b)


def negate(cond: Cond) -> Cond:
    """Return the negation of a condition."""
    match cond:
        case Truth(value):
            return Truth(not value)
        case Compare(op, a, b):
            return compare(_OPPOSITE[op], a, b)
        case AllOf(parts):
            return either(*map(negate, parts))
        case AnyOf(parts):
            return all_of(*map(negate, parts))
        case Member(e, values, outside):
            return Member(e, values, not outside)


def all_of(*conds: Cond) -> Cond:
    """Return the conjunction of conditions."""
    return _joined(AllOf, TRUE, FALSE, conds)


def either(*conds: Cond) -> Cond:
    """Return the disjunction of conditions."""
    return _joined(AnyOf, FALSE, TRUE, conds)


def _joined(kind: type[AllOf | AnyOf], neutral: Cond, decisive: Cond, conds: Iterable[Cond]) -> Cond:
    parts = (part for c in conds for part in (c.parts if isinstance(c, kind) else (c,)))
    flat = tuple(dict.fromkeys(part for part in parts if part != neutral))
    if decisive in flat:
        return decisive
    return neutral if not flat else flat[0] if len(flat) == 1 else kind(flat)


def is_nonzero(e: Expr) -> Cond:
    """Return the condition that a nonnegative expression is not 0."""
    match e:
        case Choose(cond, a, b):
            return either(all_of(cond, is_nonzero(a)), all_of(negate(cond), is_nonzero(b)))
        case Item(table, index) if not isinstance(index, Search):
            return _where(index, tuple(i for i, value in enumerate(table) if value), len(table))
    return compare("!=", e, Const(0))


def _where(index: Expr, chosen: tuple[int, ...], n: int) -> Cond:
    """Return whether an index from 0 to below n is one of these, in as few words as possible."""
    if not chosen or len(chosen) == n:
        return Truth(bool(chosen))
    left_out = tuple(sorted(set(range(n)) - set(chosen)))
    if chosen[-1] - chosen[0] + 1 == len(chosen):
        if chosen[0] == 0:
            return compare("<", index, Const(len(chosen)))
        if chosen[-1] == n - 1:
            return compare(">=", index, Const(chosen[0]))
    if len(chosen) == 1:
        return compare("==", index, Const(chosen[0]))
    if len(left_out) == 1:
        return compare("!=", index, Const(left_out[0]))
    return Member(index, chosen) if len(chosen) <= len(left_out) else Member(index, left_out, outside=True)


@overload
def map_leaves(value: Expr, change: Callable[[Expr], Expr]) -> Expr: ...
@overload
def map_leaves(value: Value, change: Callable[[Expr], Value]) -> Value: ...
def map_leaves(value: Value, change: Callable[[Expr], Value]) -> Value:
    """Return the value with a function applied to each alternative of its choices; symbols stay."""
    match value:
        case Special():
            return value
        case Choose(cond, then, otherwise) | Select(cond, then, otherwise):
            return select(cond, map_leaves(then, change), map_leaves(otherwise, change))
        case Lookup():
            return separated(value, change)
    return change(value)
