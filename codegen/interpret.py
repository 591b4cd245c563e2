"""What expressions and programs mean: the plain interpreter that emitters are judged by."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from codegen.expr import (
    AllOf,
    AnyOf,
    Binary,
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
)
from codegen.program import Branch, Call, Compute, Loop, Program, Stmt

__all__ = ["Setting", "holds", "run", "value"]

_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "^": operator.xor,
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Setting:
    """Where an expression is evaluated.

    Attributes:
        variables: values by name, `rank` too.
        communicator: number -> (own rank, number of ranks a peer can be).
    """

    variables: Mapping[str, int]
    communicator: Callable[[int], tuple[int, int]]


def value(e: Expr, at: Setting) -> int:
    """The value of an expression. Raises KeyError for an unknown variable, IndexError outside a table."""
    match e:
        case Const(n):
            return n
        case Var(name):
            return at.variables[name]
        case Own(family):
            return at.communicator(value(family, at))[0]
        case Size(family):
            return at.communicator(value(family, at))[1]
        case Binary(op, a, b):
            return _BINARY[op](value(a, at), value(b, at))
        case Choose(cond, a, b):
            return value(a if holds(cond, at) else b, at)
        case Item(table, index):
            i = value(index, at)
            if i < 0:
                raise IndexError(i)
            return table[i]


def holds(cond: Cond, at: Setting) -> bool:
    """Whether a condition holds."""
    match cond:
        case Truth(truth):
            return truth
        case Compare(op, a, b):
            return _COMPARE[op](value(a, at), value(b, at))
        case AllOf(parts):
            return all(holds(part, at) for part in parts)
        case AnyOf(parts):
            return any(holds(part, at) for part in parts)
        case Member(e, values, outside):
            return (value(e, at) in values) != outside


def run(program: Program, at: Setting) -> Iterator[tuple[Call | Compute, Setting]]:
    """What one process does, one after the other, each with the variables of its moment."""
    return _body(program.body, at)


def _body(body: tuple[Stmt, ...], at: Setting) -> Iterator[tuple[Call | Compute, Setting]]:
    for stmt in body:
        match stmt:
            case Call() | Compute():
                yield stmt, at
            case Branch(cond, then, otherwise):
                yield from _body(then if holds(cond, at) else otherwise, at)
            case Loop(variable, count, inner):
                for i in range(value(count, at)):
                    yield from _body(inner, Setting({**at.variables, variable.name: i}, at.communicator))
