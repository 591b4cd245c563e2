"""Expressions as one rank sees them, and sets of ranks that see the same.

Languages that speak of tasks, not of this process, say who does something and what: so what depends on the
rank is taken out of expressions, by looking at them from each rank and putting equal results together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.expr import (
    FALSE,
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
    bounds,
    choose,
    compare,
    div,
    either,
    mod,
    mul,
    xor,
)
from scalatrace.codegen.program.conditions import RANK
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.values.ranklist import RankList

__all__ = ["Specialiser", "per_value"]

Classes = list[tuple[RankList, tuple[Expr, ...]]]


class Specialiser:
    """Looks at expressions of one trace's program."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def expr(self, e: Expr, rank: int) -> Expr:
        """The expression for a rank: of loop variables only."""
        match e:
            case Const():
                return e
            case Var(name):
                return Const(rank) if name == RANK else e
            case Own(family) | Size(family):
                return self.of_families(self.expr(family, rank), rank, isinstance(e, Own))
            case Item(table, index):
                at = self.expr(index, rank)
                return Const(table[at.value]) if isinstance(at, Const) else _shortened(table, at)
            case Choose(cond, a, b):
                decided = self.cond(cond, rank)
                if isinstance(decided, Truth):
                    return self.expr(a if decided.value else b, rank)
                return choose(decided, self.expr(a, rank), self.expr(b, rank))
            case Binary(op, a, b):
                return _combined(op, self.expr(a, rank), self.expr(b, rank))
            case Called(name, arguments):
                return Called(name, tuple(self.expr(a, rank) for a in arguments))

    def of_families(self, family: Expr, rank: int, own: bool) -> Expr:
        """The own rank in a communicator, or its number of peers; by a table where that varies."""

        def of(number: int) -> int:
            comm = self.trace.communicator(number, rank)
            return comm.rank if own else max(len(comm.peers), 1)

        return per_value(family, of)

    def cond(self, cond: Cond, rank: int) -> Cond:
        """The condition for a rank."""
        match cond:
            case Truth():
                return cond
            case Compare(op, a, b):
                return compare(op, self.expr(a, rank), self.expr(b, rank))
            case AllOf(parts):
                return all_of(*(self.cond(part, rank) for part in parts))
            case AnyOf(parts):
                return either(*(self.cond(part, rank) for part in parts))
            case Member(e, values, outside):
                at = self.expr(e, rank)
                if isinstance(at, Const):
                    return Truth((at.value in values) != outside)
                return Member(at, values, outside)

    def classes(self, exprs: Sequence[Expr], ranks: RankList) -> Classes:
        """Sets of ranks for which all these are the same."""
        found: dict[tuple[Expr, ...], list[int]] = {}
        for rank in ranks:
            found.setdefault(tuple(self.expr(e, rank) for e in exprs), []).append(rank)
        return [(RankList(some), seen) for seen, some in found.items()]

    def conditions(self, cond: Cond, ranks: RankList) -> list[tuple[RankList, Cond]]:
        """Sets of ranks for which a condition is the same; those for which it never holds are left out."""
        found: dict[Cond, list[int]] = {}
        for rank in ranks:
            found.setdefault(self.cond(cond, rank), []).append(rank)
        return [(RankList(some), seen) for seen, some in found.items() if seen != FALSE]


def _shortened(table: tuple[int, ...], index: Expr) -> Expr:
    """A table's row: with an index that begins at a constant, without what stands before it."""
    if isinstance(index, Binary) and index.op == "+" and isinstance(index.right, Const):
        start, rest = index.right.value, index.left
        if isinstance(rest, Var) and rest.limit:
            row = table[start : start + rest.limit]
            return Const(row[0]) if len(set(row)) == 1 else Item(row, rest)
    return Item(table, index)


def _combined(op: str, a: Expr, b: Expr) -> Expr:
    match op:
        case "+":
            return add(a, b)
        case "-":
            return add(a, mul(b, Const(-1)))
        case "*":
            return mul(a, b)
        case "^":
            return xor(a, b)
    if isinstance(b, Const):
        if isinstance(a, Const):
            return Const(a.value % b.value if op == "%" else a.value // b.value)
        return mod(a, b.value) if op == "%" else div(a, b.value)
    return Binary(op, a, b)


def per_value(e: Expr, of: Callable[[int], int]) -> Expr:
    """A function of an expression's value, worked out for each value that it can have.

    Raises:
        GenerateError: nobody knows which those are.
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
