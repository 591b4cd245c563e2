"""Substitute expressions for variables, or for other expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from scalatrace.formula.arithmetic import add, mul, sub
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
    Truth,
    Value,
    Var,
)
from scalatrace.formula.polynomials import quotient, remainder

__all__ = ["Substitution"]


class Substitution:
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
        return cast("Expr", self.value(e))

    def value(self, value: Value) -> Value:
        """Substitute in a value, which may be a symbol."""
        if value not in self._known:
            self._known[value] = self._value(value)
        return cast("Value", self._known[value])

    def condition(self, cond: Cond) -> Cond:
        """Substitute in a condition."""
        if cond not in self._known:
            self._known[cond] = self._condition(cond)
        return cast("Cond", self._known[cond])

    def _value(self, value: Value) -> Value:
        match value:
            case Const() | Special():
                return value
            case Var(name):
                return self._names.get(name, value)
            case Binary(op, a, b):
                return self._binary(op, self.number(a), self.number(b))
            case Choose(cond, a, b):
                return choose(self.condition(cond), self.number(a), self.number(b))
            case Select(cond, then, otherwise):
                return select(self.condition(cond), self.value(then), self.value(otherwise))
            case Called(name, arguments):
                return Called(name, tuple(map(self.number, arguments)))
            case Item(table, index):
                return Item(table, self.number(index))
            case Search(table, index):
                return Search(table, self.number(index))
            case Lookup(entries, index):
                return Lookup(entries, self.number(index))
            case Element(array, index):
                return Element(array, self.number(index))

    def _binary(self, op: str, a: Expr, b: Expr) -> Expr:
        match op:
            case "+":
                return add(a, b)
            case "-":
                return sub(a, b)
            case "*":
                return mul(a, b)
            case "//" | "%" if self._is_positive(b):
                return quotient(a, b, self._domain) if op == "//" else remainder(a, b, self._domain)
        return Binary(op, a, b)

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

    def _condition(self, cond: Cond) -> Cond:
        match cond:
            case Truth():
                return cond
            case Compare(op, a, b):
                return compare(op, self.number(a), self.number(b))
            case AllOf(parts):
                return all_of(*map(self.condition, parts))
            case AnyOf(parts):
                return either(*map(self.condition, parts))
            case Member(e, values, outside):
                return Member(self.number(e), values, outside)
