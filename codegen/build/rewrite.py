"""Expressions with parts of them replaced."""

from __future__ import annotations

from collections.abc import Callable

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
    add,
    all_of,
    choose,
    either,
    mul,
    sub,
)

__all__ = ["rewritten", "rewritten_cond"]

Change = Callable[[Expr], Expr | None]


def rewritten(e: Expr, change: Change) -> Expr:
    """The expression with each part that `change` has another for replaced, the inner ones first."""
    made = _inside(e, change)
    if type(made) is not type(e):
        return made  # became a part of itself, which is replaced already
    found = change(made)
    return made if found is None else found


def _inside(e: Expr, change: Change) -> Expr:
    def of(part: Expr) -> Expr:
        return rewritten(part, change)

    match e:
        case Const() | Var():
            return e
        case Own(family):
            return Own(of(family))
        case Size(family):
            return Size(of(family))
        case Binary("+", a, b):
            return add(of(a), of(b))
        case Binary("-", a, b):
            return sub(of(a), of(b))
        case Binary("*", a, b):
            return mul(of(a), of(b))
        case Binary(op, a, b):
            return Binary(op, of(a), of(b))
        case Choose(cond, a, b):
            return choose(rewritten_cond(cond, change), of(a), of(b))
        case Item(table, index):
            at = of(index)
            return Const(table[at.value]) if isinstance(at, Const) else Item(table, at)
    return Called(e.name, tuple(map(of, e.arguments)))


def rewritten_cond(cond: Cond, change: Change) -> Cond:
    """The condition with parts of its expressions replaced."""
    match cond:
        case Truth():
            return cond
        case Compare(op, a, b):
            return Compare(op, rewritten(a, change), rewritten(b, change))
        case AllOf(parts):
            return all_of(*(rewritten_cond(part, change) for part in parts))
        case AnyOf(parts):
            return either(*(rewritten_cond(part, change) for part in parts))
    return Member(rewritten(cond.expr, change), cond.values, cond.outside)
