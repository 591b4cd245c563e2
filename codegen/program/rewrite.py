"""Rebuild expressions and conditions with parts replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from scalatrace.formula import (
    AllOf,
    AnyOf,
    Binary,
    Called,
    Choose,
    Compare,
    Cond,
    Const,
    Element,
    Expr,
    Item,
    Lookup,
    Member,
    Select,
    Special,
    Truth,
    Value,
    Var,
    add,
    all_of,
    choose,
    either,
    mul,
    select,
    sub,
)

__all__ = ["Rewriter", "rewritten", "rewritten_cond"]

Change = Callable[[Expr], Expr | None]


class Rewriter:
    """Rebuilds expressions and conditions from their parts, inner parts first; subclasses replace parts."""

    def expr(self, e: Expr) -> Expr:
        """Return the rebuilt expression; of a choice that is decided, only the chosen part is rebuilt."""
        match e:
            case Const() | Var():
                return e
            case Element(array, index):
                return Element(array, self.expr(index))
            case Binary(op, a, b):
                return self.binary(op, self.expr(a), self.expr(b))
            case Choose(cond, a, b):
                decided = self.cond(cond)
                if isinstance(decided, Truth):
                    return self.expr(a if decided.value else b)
                return choose(decided, self.expr(a), self.expr(b))
            case Item(table, index):
                return self.item(table, self.expr(index))
        return Called(e.name, tuple(map(self.expr, e.arguments)))

    def value(self, value: Value) -> Value:
        """Return a rebuilt expression, symbol or choice of symbols."""
        match value:
            case Special():
                return value
            case Select(cond, a, b):
                decided = self.cond(cond)
                if isinstance(decided, Truth):
                    return self.value(a if decided.value else b)
                return select(decided, self.value(a), self.value(b))
            case Lookup(table, index):
                return self.lookup(table, self.expr(index))
        return self.expr(value)

    def binary(self, op: str, a: Expr, b: Expr) -> Expr:
        """Return an operation on rebuilt operands."""
        match op:
            case "+":
                return add(a, b)
            case "-":
                return sub(a, b)
            case "*":
                return mul(a, b)
        return Binary(op, a, b)

    def item(self, table: tuple[int, ...], index: Expr) -> Expr:
        """Return an entry of a table at a rebuilt index."""
        return Const(table[index.value]) if isinstance(index, Const) else Item(table, index)

    def lookup(self, table: tuple[int | Special, ...], index: Expr) -> Value:
        """Return an entry of a table with symbols at a rebuilt index."""
        if not isinstance(index, Const):
            return Lookup(table, index)
        result = table[index.value]
        return result if isinstance(result, Special) else Const(result)

    def cond(self, cond: Cond) -> Cond:
        """Return the rebuilt condition."""
        match cond:
            case Truth():
                return cond
            case Compare(op, a, b):
                return self.compare(op, self.expr(a), self.expr(b))
            case AllOf(parts):
                return all_of(*map(self.cond, parts))
            case AnyOf(parts):
                return either(*map(self.cond, parts))
        return self.member(self.expr(cond.expr), cond.values, cond.outside)

    def compare(self, op: str, a: Expr, b: Expr) -> Cond:
        """Return a comparison of rebuilt sides."""
        return Compare(op, a, b)

    def member(self, e: Expr, values: tuple[int, ...], outside: bool) -> Cond:
        """Return a test of a rebuilt value."""
        return Member(e, values, outside)


class _Replacer(Rewriter):
    def __init__(self, change: Change) -> None:
        self.change = change

    def expr(self, e: Expr) -> Expr:
        rebuilt = super().expr(e)
        if type(rebuilt) is not type(e):
            return rebuilt  # one of its own parts, which is replaced already
        replaced = self.change(rebuilt)
        return rebuilt if replaced is None else replaced


@overload
def rewritten(e: Expr, change: Change) -> Expr: ...
@overload
def rewritten(e: Value, change: Change) -> Value: ...
def rewritten(e: Value, change: Change) -> Value:
    """Return an expression with parts replaced, inner parts first; `change` gives None for a part to keep."""
    return _Replacer(change).value(e)


def rewritten_cond(cond: Cond, change: Change) -> Cond:
    """Return a condition with parts of its expressions replaced."""
    return _Replacer(change).cond(cond)
