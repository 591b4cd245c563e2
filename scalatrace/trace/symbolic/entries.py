"""Recognise lists whose entries exist on some ranks only: neighbours on a grid, which end at its border.

Fits write such a list as one formula of the counter i, with the indicators c1, c2, ... of the entries:

    v1*c1*(i == 0) + v2*c2*(i == c1) + v3*c3*(i == c1 + c2) + ...

People read it as `[v1 if c1, v2 if c2, v3 if c3 ..]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scalatrace.formula import Binary, Choose, Compare, Const, Var, format_text
from scalatrace.formula.nodes import Cond, Expr

__all__ = ["ListEntry", "conditional_entries"]


class ListEntry(NamedTuple):
    """An entry of a list: its value, and the conditions under which it exists; no conditions: always."""

    value: Expr
    conditions: tuple[Cond, ...]


def conditional_entries(formula: Expr) -> list[ListEntry] | None:
    """Return the entries of a list that a formula of a counter describes; None: it is another formula."""
    terms = _operands(formula, "+")
    entries: list[ListEntry] = []
    before: Expr = Const(0)
    for term in terms:
        split = _split_term(term)
        if split is None or format_text(split[1]) != format_text(before):
            return None
        entry, _ = split
        entries.append(entry)
        count = _product([_indicator(condition) for condition in entry.conditions])
        before = count if before == Const(0) else Binary("+", before, count)
    return entries if len(entries) > 1 else None


def _split_term(term: Expr) -> tuple[ListEntry, Expr] | None:
    """Return the entry of a term and the index at which it comes; None: the term is none of a list."""
    *factors, turn = _operands(term, "*")
    condition = _condition(turn)
    if not factors or not isinstance(condition, Compare) or condition.op != "==":
        return None
    if not isinstance(condition.left, Var):
        return None
    values = [factor for factor in factors if _condition(factor) is None]
    conditions = tuple(c for factor in factors if (c := _condition(factor)) is not None)
    return ListEntry(_product(values), conditions), condition.right


def _operands(expr: Expr, op: str) -> list[Expr]:
    """Return the operands of a sum or product that is nested to the left."""
    operands: list[Expr] = []
    while isinstance(expr, Binary) and expr.op == op:
        operands.append(expr.right)
        expr = expr.left
    return [expr, *reversed(operands)]


def _condition(expr: Expr) -> Cond | None:
    """Return the condition whose indicator, 1 or 0, an expression is."""
    is_indicator = isinstance(expr, Choose) and expr.then == Const(1) and expr.otherwise == Const(0)
    return expr.cond if isinstance(expr, Choose) and is_indicator else None


def _indicator(condition: Cond) -> Expr:
    return Choose(condition, Const(1), Const(0))


def _product(factors: Sequence[Expr]) -> Expr:
    """Return a product that is nested to the left, without factors 1."""
    needed = [factor for factor in factors if factor != Const(1)]
    if not needed:
        return Const(1)
    product, *further = needed
    for factor in further:
        product = Binary("*", product, factor)
    return product
