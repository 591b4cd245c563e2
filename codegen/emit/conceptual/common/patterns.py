"""Collectives in coNCePTuaL: what it lacks becomes something with the same pattern and volume (Table 4.1).

    Allgather, Allgatherv     REDUCE + MULTICAST        Gather, Gatherv    REDUCE
    Alltoallv                 MULTICAST, mean size      Scatter, Scatterv  MULTICAST
    Reduce_scatter(_block)    a REDUCE to each rank     Scan, Exscan       REDUCE to all

Nonblocking ones (Ibcast, ...) become what the blocking ones do, where they start or where they are completed.
v-forms send the mean of their sizes. INTEGERS stand for four bytes each.
"""

from __future__ import annotations

from collections.abc import Callable

from scalatrace.formula import Binary, Const, Expr, Item, Var, add, mul
from scalatrace.formula.domain import Domain
from scalatrace.formula.polynomials import quotient
from scalatrace.operations import blocking_name, operation

__all__ = ["PATTERNS", "blocking_form", "integers", "mean"]


PATTERNS: dict[str, tuple[str, ...]] = {
    "Barrier": ("barrier",),
    "Bcast": ("multicast",),
    "Reduce": ("reduce",),
    "Allreduce": ("reduce to all",),
    "Scan": ("reduce to all",),
    "Exscan": ("reduce to all",),
    "Gather": ("reduce",),
    "Gatherv": ("reduce",),
    "Scatter": ("multicast",),
    "Scatterv": ("multicast",),
    "Allgather": ("reduce", "multicast all"),
    "Allgatherv": ("reduce", "multicast all"),
    "Alltoall": ("all to all",),
    "Alltoallv": ("all to all",),
    "Reduce_scatter": ("reduce to each",),
    "Reduce_scatter_block": ("reduce to each",),
}
"""Collective -> the statements that replace it, one after the other.

They are "barrier", "multicast" from the root, "all to all", "reduce" to the root, "reduce to all",
"reduce to each", and "multicast all" (the gathered pieces, from the root).
"""


def blocking_form(op: str) -> str:
    """Return the blocking form of a nonblocking collective in PATTERNS, else the operation."""
    name = blocking_name(op)
    return name if name in PATTERNS and not operation(op).flow_later else op


def mean(parts: list[Expr]) -> Expr:
    """The mean of sizes, rounded to a whole number of bytes; tables element by element."""
    first = parts[0]
    if all(part == first for part in parts):
        return first
    tables = [part for part in parts if isinstance(part, Item)]
    if tables and all(t.index == tables[0].index and len(t.table) == len(tables[0].table) for t in tables):
        columns = [_column(part, len(tables[0].table)) for part in parts]
        rows = tuple(round(sum(row) / len(row)) for row in zip(*columns, strict=True))
        return Const(rows[0]) if len(set(rows)) == 1 else Item(rows, tables[0].index)
    return Const(round(sum(_typical(part) for part in parts) / len(parts)))


def _column(part: Expr, length: int) -> tuple[int, ...]:
    return part.table if isinstance(part, Item) else (round(_typical(part)),) * length


def _typical(part: Expr) -> float:
    match part:
        case Const(value):
            return value
        case Item(table, _):
            return sum(table) / len(table)
        case Var(_, limit):
            return (limit or 1) / 2
        case Binary("*", a, Const(k)):
            return _typical(a) * k
        case Binary("+", a, b):
            return _typical(a) + _typical(b)
    return 0.0


def integers(nbytes: Expr) -> Expr:
    """How many integers of four bytes there are in so many bytes, at least one."""
    if isinstance(nbytes, Const | Item):
        return _each(nbytes, lambda n: max(1, -(-n // 4)))
    return quotient(add(nbytes, Const(3)), Const(4), Domain())


def divide_bytes(nbytes: Expr, n: int) -> Expr:
    """A share of so many bytes."""
    return _each(nbytes, lambda total: round(total / n))


def _each(e: Expr, change: Callable[[int], int]) -> Expr:
    match e:
        case Const(value):
            return Const(change(value))
        case Item(table, index):
            return Item(tuple(map(change, table)), index)
    scale = change(1 << 20)
    return Binary("/", mul(e, Const(scale)), Const(1 << 20))
