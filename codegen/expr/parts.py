"""Which variables stand in an expression or a condition."""

from __future__ import annotations

from collections.abc import Iterator

from codegen.expr.nodes import (
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
    Var,
)  # fmt: skip

__all__ = ["mentions", "names_in", "variables"]


def variables(*parts: Expr | Cond) -> Iterator[Var]:
    """The variables, in order and as often as they stand there."""
    for part in parts:
        match part:
            case Var():
                yield part
            case Own(e) | Size(e) | Item(_, e) | Member(e, _, _):
                yield from variables(e)
            case Binary(_, a, b) | Compare(_, a, b):
                yield from variables(a, b)
            case Choose(cond, a, b):
                yield from variables(cond, a, b)
            case Called(_, arguments):
                yield from variables(*arguments)
            case AllOf(conds) | AnyOf(conds):
                yield from variables(*conds)


def names_in(*parts: Expr | Cond) -> set[str]:
    """The names of the variables."""
    return {variable.name for variable in variables(*parts)}


def mentions(e: Expr, variable: Var) -> bool:
    """Whether a sum, product, quotient or table index holds a variable; of a choice, the safe answer."""
    match e:
        case Var():
            return e == variable
        case Binary(_, a, b):
            return mentions(a, variable) or mentions(b, variable)
        case Item(_, index):
            return mentions(index, variable)
        case Called(_, arguments):
            return any(mentions(a, variable) for a in arguments)
        case Const() | Size():
            return False
    return True
