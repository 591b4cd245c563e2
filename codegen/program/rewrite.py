"""Rebuild expressions and conditions with parts replaced."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import overload

from scalatrace.formula import add, all_of, choose, either, mul, nodes, select, sub

__all__ = ["ExprRewriter", "rewritten", "rewritten_cond"]

Change = Callable[[nodes.Expr], nodes.Expr | None]


class ExprRewriter:
    """Rebuilds expressions and conditions from their parts, inner parts first; subclasses replace parts."""

    def expr(self, e: nodes.Expr) -> nodes.Expr:
        """Return the rebuilt expression; of a choice that is decided, only the chosen part is rebuilt."""
        match e:
            case nodes.Const() | nodes.Var():
                return e
            case nodes.Element(array, index):
                return nodes.Element(array, self.expr(index))
            case nodes.Binary(op, a, b):
                return self.binary(op, self.expr(a), self.expr(b))
            case nodes.Choose(cond, a, b):
                decided = self.cond(cond)
                if isinstance(decided, nodes.Truth):
                    return self.expr(a if decided.value else b)
                return choose(decided, self.expr(a), self.expr(b))
            case nodes.Item(table, index):
                return self.item(table, self.expr(index))
            case nodes.Search(table, index):
                return self.search(table, self.expr(index))
        return nodes.Called(e.name, tuple(map(self.expr, e.arguments)))

    def value(self, value: nodes.Value) -> nodes.Value:
        """Return a rebuilt expression, symbol or choice of symbols."""
        match value:
            case nodes.Special():
                return value
            case nodes.Select(cond, a, b):
                decided = self.cond(cond)
                if isinstance(decided, nodes.Truth):
                    return self.value(a if decided.value else b)
                return select(decided, self.value(a), self.value(b))
            case nodes.Lookup(table, index):
                return self.lookup(table, self.expr(index))
        return self.expr(value)

    def binary(self, op: str, a: nodes.Expr, b: nodes.Expr) -> nodes.Expr:
        """Return an operation on rebuilt operands."""
        match op:
            case "+":
                return add(a, b)
            case "-":
                return sub(a, b)
            case "*":
                return mul(a, b)
        return nodes.Binary(op, a, b)

    def item(self, table: tuple[int, ...], index: nodes.Expr) -> nodes.Expr:
        """Return an entry of a table at a rebuilt index."""
        return nodes.Const(table[index.value]) if isinstance(index, nodes.Const) else nodes.Item(table, index)

    def search(self, table: tuple[int, ...], index: nodes.Expr) -> nodes.Expr:
        """Return the piece that a rebuilt index is in."""
        if isinstance(index, nodes.Const):
            return nodes.Const(bisect_right(table, index.value))
        return nodes.Search(table, index)

    def lookup(self, table: tuple[int | nodes.Special, ...], index: nodes.Expr) -> nodes.Value:
        """Return an entry of a table with symbols at a rebuilt index."""
        if not isinstance(index, nodes.Const):
            return nodes.Lookup(table, index)
        result = table[index.value]
        return result if isinstance(result, nodes.Special) else nodes.Const(result)

    def cond(self, cond: nodes.Cond) -> nodes.Cond:
        """Return the rebuilt condition."""
        match cond:
            case nodes.Truth():
                return cond
            case nodes.Compare(op, a, b):
                return self.compare(op, self.expr(a), self.expr(b))
            case nodes.AllOf(parts):
                return all_of(*map(self.cond, parts))
            case nodes.AnyOf(parts):
                return either(*map(self.cond, parts))
        return self.member(self.expr(cond.expr), cond.values, cond.outside)

    def compare(self, op: str, a: nodes.Expr, b: nodes.Expr) -> nodes.Cond:
        """Return a comparison of rebuilt sides."""
        return nodes.Compare(op, a, b)

    def member(self, e: nodes.Expr, values: tuple[int, ...], outside: bool) -> nodes.Cond:
        """Return a test of a rebuilt value."""
        return nodes.Member(e, values, outside)


class _Replacer(ExprRewriter):
    def __init__(self, change: Change) -> None:
        self.change = change

    def expr(self, e: nodes.Expr) -> nodes.Expr:
        rebuilt = super().expr(e)
        if type(rebuilt) is not type(e):
            return rebuilt  # one of its own parts, which is replaced already
        replaced = self.change(rebuilt)
        return rebuilt if replaced is None else replaced


@overload
def rewritten(e: nodes.Expr, change: Change) -> nodes.Expr: ...
@overload
def rewritten(e: nodes.Value, change: Change) -> nodes.Value: ...
def rewritten(e: nodes.Value, change: Change) -> nodes.Value:
    """Return an expression with parts replaced, inner parts first; `change` gives None for a part to keep."""
    return _Replacer(change).value(e)


def rewritten_cond(cond: nodes.Cond, change: Change) -> nodes.Cond:
    """Return a condition with parts of its expressions replaced."""
    return _Replacer(change).cond(cond)
