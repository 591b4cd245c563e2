"""Substitute expressions for variables, or for other expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from scalatrace.formula.conditions import compare
from scalatrace.formula.domain import Domain
from scalatrace.formula.nodes import Binary, Cond, Const, Expr, Symbolic, Value, Var
from scalatrace.formula.polynomials import combine
from scalatrace.formula.rewrite import ExprRewriter

__all__ = ["Substitution"]


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
