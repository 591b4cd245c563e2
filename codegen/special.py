"""Tables in which constants of MPI stand between ordinary ranks: PROC_NULL at the edge of a mesh."""

from __future__ import annotations

from collections.abc import Callable

from codegen.expr import Binary, Const, Expr, Item, add, choose, is_nonzero
from scalatrace.trace.values import SPECIAL_MAX

__all__ = ["apart"]


def apart(leaf: Expr, decoded: Callable[[Expr], Expr]) -> Expr:
    """An expression with special values among others, where only the others are encoded.

    Raises:
        ValueError: something else than sums of one table.
    """
    if isinstance(leaf, Item):
        return _table(leaf, decoded)
    if isinstance(leaf, Binary) and leaf.op == "+":
        for table, rest in ((leaf.left, leaf.right), (leaf.right, leaf.left)):
            if isinstance(table, Item):
                return _table(table, lambda e, more=rest: decoded(add(e, more)))  # type: ignore[misc]
    raise ValueError(f"special values within {leaf}")


def _table(item: Item, decoded: Callable[[Expr], Expr]) -> Expr:
    special = sorted({value for value in item.table if value < SPECIAL_MAX})
    ordinary = [value for value in item.table if value >= SPECIAL_MAX]
    fill = ordinary[0] if ordinary else 0
    rest = tuple(value if value >= SPECIAL_MAX else fill for value in item.table)
    plain: Expr = Const(fill) if len(set(rest)) == 1 else Item(rest, item.index)
    e = decoded(plain)
    for value in special:
        flags = Item(tuple(int(v == value) for v in item.table), item.index)
        e = choose(is_nonzero(flags), Const(value), e)
    return e
