"""Rebuild expressions and conditions with parts replaced, or with expressions for variables."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import cast, overload

from scalatrace.formula.conditions import all_of, choose, compare, either, select
from scalatrace.formula.domain import Domain
from scalatrace.formula.nodes import (
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
    Search,
    Select,
    Special,
    Symbolic,
    Truth,
    Value,
    Var,
)
from scalatrace.formula.polynomials import combine

__all__ = ["ExprRewriter", "Substitution", "TableRewriter", "rewritten", "rewritten_cond"]

Change = Callable[[Expr], Expr | None]


class ExprRewriter:
    """Rebuilds expressions and conditions from their parts, inner parts first; subclasses replace parts.

    Of a choice that is decided, only the chosen part is rebuilt.
    """

    def number(self, e: Expr) -> Expr:
        """Return the rebuilt expression."""
        match e:
            case Const():
                return e
            case Var():
                return self.variable(e)
            case Binary(op, a, b):
                return self.binary(op, self.number(a), self.number(b))
            case Choose(cond, a, b):
                decided = self.condition(cond)
                if isinstance(decided, Truth):
                    return self.number(a if decided.value else b)
                return choose(decided, self.number(a), self.number(b))
            case Called(name, arguments):
                return self.called(name, tuple(map(self.number, arguments)))
            case Item(table, index):
                return self.item(table, self.number(index))
            case Search(table, index):
                return self.search(table, self.number(index))
            case Element(array, index):
                return self.element(array, self.number(index))

    def value(self, value: Value) -> Value:
        """Return a rebuilt expression, symbol or choice of symbols."""
        match value:
            case Special():
                return value
            case Select(cond, a, b):
                decided = self.condition(cond)
                if isinstance(decided, Truth):
                    return self.value(a if decided.value else b)
                return select(decided, self.value(a), self.value(b))
            case Lookup(table, index):
                return self.lookup(table, self.number(index))
        return self.number(value)

    def condition(self, cond: Cond) -> Cond:
        """Return the rebuilt condition."""
        match cond:
            case Truth():
                return cond
            case Compare(op, a, b):
                return self.compare(op, self.number(a), self.number(b))
            case AllOf(parts):
                return all_of(*map(self.condition, parts))
            case AnyOf(parts):
                return either(*map(self.condition, parts))
            case Member(e, values, outside):
                return self.member(self.number(e), values, outside)

    def variable(self, variable: Var) -> Expr:
        """Return what takes the place of a variable."""
        return variable

    def binary(self, op: str, a: Expr, b: Expr) -> Expr:
        """Return an operation on rebuilt operands."""
        return combine(op, a, b)

    def called(self, name: str, arguments: tuple[Expr, ...]) -> Expr:
        """Return a function of rebuilt arguments."""
        return Called(name, arguments)

    def element(self, array: str, index: Expr) -> Expr:
        """Return an element of an array at a rebuilt index."""
        return Element(array, index)

    def item(self, table: tuple[int, ...], index: Expr) -> Expr:
        """Return an entry of a table at a rebuilt index."""
        return Item(table, index)

    def search(self, table: tuple[int, ...], index: Expr) -> Expr:
        """Return the piece that a rebuilt index is in."""
        return Search(table, index)

    def lookup(self, table: tuple[int | Special, ...], index: Expr) -> Value:
        """Return an entry of a table with symbols at a rebuilt index."""
        return Lookup(table, index)

    def compare(self, op: str, a: Expr, b: Expr) -> Cond:
        """Return a comparison of rebuilt sides."""
        return Compare(op, a, b)

    def member(self, e: Expr, values: tuple[int, ...], outside: bool) -> Cond:
        """Return a test of a rebuilt value."""
        return Member(e, values, outside)


class TableRewriter(ExprRewriter):
    """A rewriter that reads the entries of tables whose index has become a number."""

    def item(self, table: tuple[int, ...], index: Expr) -> Expr:
        return Const(table[index.value]) if isinstance(index, Const) else Item(table, index)

    def search(self, table: tuple[int, ...], index: Expr) -> Expr:
        return Const(bisect_right(table, index.value)) if isinstance(index, Const) else Search(table, index)

    def lookup(self, table: tuple[int | Special, ...], index: Expr) -> Value:
        if not isinstance(index, Const):
            return Lookup(table, index)
        result = table[index.value]
        return result if isinstance(result, Special) else Const(result)


class Substitution(ExprRewriter):
    """Substitution of expressions for named variables; simplifies sums and choices.

    Args:
        names: the expressions.
        domain: of what is put in place; quotients by its positive variables are simplified.
        parts: expressions, each with what takes its place wherever it stands.
    """

    def __init__(
        self,
        names: Mapping[str, Expr],
        domain: Domain | None = None,
        parts: Mapping[Expr, Expr] | None = None,
    ) -> None:
        self._names, self._domain = names, domain or Domain()
        self._known: dict[Value | Cond, Value | Cond] = {}
        self._known.update((parts or {}).items())

    def number(self, e: Expr) -> Expr:
        """Substitute in an expression."""
        if e not in self._known:
            self._known[e] = super().number(e)
        return cast("Expr", self._known[e])

    def value(self, value: Value) -> Value:
        """Substitute in a value, which may be a symbol."""
        if not isinstance(value, Symbolic):
            return self.number(value)
        if value not in self._known:
            self._known[value] = super().value(value)
        return cast("Value", self._known[value])

    def condition(self, cond: Cond) -> Cond:
        """Substitute in a condition."""
        if cond not in self._known:
            self._known[cond] = super().condition(cond)
        return cast("Cond", self._known[cond])

    def variable(self, variable: Var) -> Expr:
        return self._names.get(variable.name, variable)

    def binary(self, op: str, a: Expr, b: Expr) -> Expr:
        return combine(op, a, b, self._domain if self._is_positive(b) else None)

    def compare(self, op: str, a: Expr, b: Expr) -> Cond:
        return compare(op, a, b)

    def _is_positive(self, e: Expr) -> bool:
        """Return whether a divisor is a positive number or variable, or a multiple of one."""
        match e:
            case Const(value):
                return value > 0
            case Binary("*", Var() as variable, Const(factor)):
                return factor > 0 and self._is_positive(variable)
            case Var():
                least = self._domain.lower.get(e)
                return isinstance(least, Const) and least.value > 0
        return False


class _Replacer(TableRewriter):
    def __init__(self, change: Change) -> None:
        self.change = change

    def number(self, e: Expr) -> Expr:
        rebuilt = super().number(e)
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
    return _Replacer(change).condition(cond)
