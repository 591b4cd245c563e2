"""Expressions of places in a grid, taken apart and put together for tasks that have something in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scalatrace.codegen.emit.conceptual.scalable.expr_translator import RANK
from scalatrace.codegen.program.rewrite import rewritten
from scalatrace.codegen.program.tree import MpiCall
from scalatrace.formula import Binary, Choose, Cond, Const, Expr, Item, Var, mul

__all__ = ["choice_in", "exchanged", "multiplied", "of_task", "with_peer"]


def choice_in(e: Expr, local: Callable[[Cond], bool]) -> Choose | None:
    """Return a choice within an expression whose condition depends on the task (`local`)."""
    match e:
        case Choose(cond, a, b):
            return e if local(cond) else choice_in(a, local) or choice_in(b, local)
        case Binary(_, a, b):
            return choice_in(a, local) or choice_in(b, local)
    return None


def exchanged(e: Expr, old: Expr, new: Expr) -> Expr:
    """An expression with one part replaced."""
    if e == old:
        return new
    return rewritten(e, lambda part: new if part == old else None)


def with_peer(call: MpiCall, name: str, peer: Expr) -> MpiCall:
    """A call with another peer."""
    arguments = (replace(a, value=peer) if a.name == name else a for a in call.arguments)
    return replace(call, arguments=tuple(arguments))


def multiplied(leaf: Expr, size: int) -> Expr:
    """So many elements of a size; a negative number is none."""
    if isinstance(leaf, Const):
        return Const(max(0, leaf.value) * size)
    if isinstance(leaf, Item):
        return Item(tuple(max(0, v) * size for v in leaf.table), leaf.index)
    return mul(leaf, Const(size))


def of_task(e: Expr, task: Expr) -> Expr:
    """An expression for one task."""
    return rewritten(e, lambda part: task if isinstance(part, Var) and part.name == RANK.name else None)
