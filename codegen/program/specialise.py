"""Values of expressions on one rank, and sets of ranks with equal values.

A language whose statements name tasks needs expressions that do not depend on the rank. So each expression is
evaluated on each rank as far as the rank decides it, and ranks with equal results are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.communicators import OWN
from scalatrace.codegen.program.conditions import RANK
from scalatrace.formula import (
    FALSE,
    Binary,
    Choose,
    Cond,
    Const,
    Expr,
    Item,
    Special,
    Truth,
    Value,
    Var,
    add,
    bounds,
    choose,
    compare,
    div,
    entry,
    mod,
    number,
    xor,
)
from scalatrace.formula.rewrite import TableRewriter
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList

__all__ = ["Specialiser", "per_value"]

Classes = list[tuple[RankList, tuple[Value, ...]]]


class Specialiser:
    """Looks at expressions of one trace's program from each rank."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._views: dict[int, _RankView] = {}

    @overload
    def expr(self, e: Expr, rank: int) -> Expr: ...
    @overload
    def expr(self, e: Value, rank: int) -> Value: ...
    def expr(self, e: Value, rank: int) -> Value:
        """Return an expression on a rank, in terms of loop variables."""
        return self._view(rank).value(e)

    def cond(self, cond: Cond, rank: int) -> Cond:
        """Return a condition on a rank."""
        return self._view(rank).condition(cond)

    def _view(self, rank: int) -> _RankView:
        if rank not in self._views:
            self._views[rank] = _RankView(self.trace, rank)
        return self._views[rank]

    def classes(self, exprs: Sequence[Value], ranks: RankList) -> Classes:
        """Sets of ranks for which all these are the same."""
        ranks_of: dict[tuple[Value, ...], list[int]] = {}
        for rank in ranks:
            ranks_of.setdefault(tuple(self.expr(e, rank) for e in exprs), []).append(rank)
        return [(RankList(members), seen) for seen, members in ranks_of.items()]

    def conditions(self, cond: Cond, ranks: RankList) -> list[tuple[RankList, Cond]]:
        """Sets of ranks for which a condition is the same; those for which it never holds are left out."""
        ranks_of: dict[Cond, list[int]] = {}
        for rank in ranks:
            ranks_of.setdefault(self.cond(cond, rank), []).append(rank)
        return [(RankList(members), seen) for seen, members in ranks_of.items() if seen != FALSE]


class _RankView(TableRewriter):
    """Replaces all that depends on the rank by the values of one rank."""

    def __init__(self, trace: Trace, rank: int) -> None:
        self.trace, self.rank = trace, rank
        self._seen: dict[Expr, Expr] = {}

    def number(self, e: Expr) -> Expr:
        result = self._seen.get(e)
        if result is None:
            result = self._seen[e] = super().number(e)
        return result

    def variable(self, variable: Var) -> Expr:
        return Const(self.rank) if variable.name == RANK else variable

    def element(self, array: str, index: Expr) -> Expr:
        return self.of_families(index, array == OWN)

    def of_families(self, family: Expr, wants_rank: bool) -> Expr:
        """Return the rank in a communicator, or its number of peers; a table if it varies."""

        def of(number: int) -> int:
            comm = self.trace.communicator(number, self.rank)
            return comm.rank if wants_rank else max(len(comm.peers), 1)

        return per_value(family, of)

    def item(self, table: tuple[int, ...], index: Expr) -> Expr:
        return (
            super().item(table, index) if isinstance(index, Const) else number(_shorten_table(table, index))
        )

    def lookup(self, table: tuple[int | Special, ...], index: Expr) -> Value:
        return super().lookup(table, index) if isinstance(index, Const) else _shorten_table(table, index)

    def binary(self, op: str, a: Expr, b: Expr) -> Expr:
        if op == "^":
            return xor(a, b)
        if op not in ("//", "/", "%") or not isinstance(b, Const):
            return super().binary(op, a, b)
        if isinstance(a, Const):
            return Const(a.value % b.value if op == "%" else a.value // b.value)
        return mod(a, b.value) if op == "%" else div(a, b.value)

    def compare(self, op: str, a: Expr, b: Expr) -> Cond:
        return compare(op, a, b)

    def member(self, e: Expr, values: tuple[int, ...], outside: bool) -> Cond:
        if isinstance(e, Const):
            return Truth((e.value in values) != outside)
        return super().member(e, values, outside)


def _shorten_table(table: tuple[int | Special, ...], index: Expr) -> Value:
    """A table's row: with an index that begins at a constant, without what stands before it."""
    if isinstance(index, Binary) and index.op == "+" and isinstance(index.right, Const):
        start, offset = index.right.value, index.left
        if isinstance(offset, Var) and offset.limit:
            row = table[start : start + offset.limit]
            if len(set(row)) != 1:
                return entry(row, offset)  # empty for ranks that never come here
            return row[0] if isinstance(row[0], Special) else Const(row[0])
    return entry(table, index)


def per_value(e: Expr, of: Callable[[int], int]) -> Expr:
    """A function of an expression's value, worked out for each value that it can have.

    Raises:
        GenerateError: the values have no known bounds.
    """
    match e:
        case Const(value):
            return Const(of(value))
        case Item(table, index):
            return _row(tuple(map(of, table)), index)
        case Choose(cond, a, b):
            return choose(cond, per_value(a, of), per_value(b, of))
    limits = bounds(e)
    if limits is None:
        raise GenerateError("a communicator varies without a known limit")
    return _row(tuple(map(of, range(limits[0], limits[1] + 1))), add(e, Const(-limits[0])))


def _row(values: tuple[int, ...], index: Expr) -> Expr:
    return Const(values[0]) if len(set(values)) == 1 else Item(values, index)
