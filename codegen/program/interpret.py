"""What expressions and programs mean: the plain interpreter that emitters are judged by."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from scalatrace.codegen.expr import (
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
)
from scalatrace.codegen.program.tree import Branch, Call, Compute, Loop, Program, Stmt

__all__ = ["FUNCTIONS", "Setting", "holds", "run", "value"]

_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "//": operator.floordiv,
    "%": operator.mod,
    "^": operator.xor,
    "&": operator.and_,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def log2(n: int) -> int:
    """The exponent of a power of two, rounded down; -1 of what is below 1."""
    return n.bit_length() - 1 if n > 0 else -1


def block(n: int, parts: int, k: int) -> int:
    """How many of n things part k of so many has, the first ones one more where it does not divide."""
    return n // parts + (k % parts < n % parts)


def diagonal(n: int, parts: int, shift: int, sign: int) -> int:
    """The points of a diagonal of cells: the sum over c of block(c) * block(shift + sign c)."""
    return sum(block(n, parts, c) * block(n, parts, shift + sign * c) for c in range(parts))


FUNCTIONS: dict[str, Callable[..., int]] = {
    "log2": log2,
    "min": min,
    "max": max,
    "block": block,
    "diagonal": diagonal,
}
"""What formulas call."""

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
        case Called(name, arguments):
            return FUNCTIONS[name](*(value(a, at) for a in arguments))
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
