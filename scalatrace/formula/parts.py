"""Parts of expressions and conditions: variables, leaves, literal numbers, length."""

from __future__ import annotations

from collections.abc import Iterator

from scalatrace.formula.nodes import (
    AllOf,
    AnyOf,
    Binary,
    Called,
    Choose,
    Compare,
    Cond,
    Const,
    Element,
    Expr,
    Item,
    Lookup,
    Member,
    Select,
    Special,
    Truth,
    Value,
    Var,
)

__all__ = [
    "children",
    "functions_in",
    "leaves",
    "length",
    "mentions",
    "names_in",
    "numbers_in",
    "specials_in",
    "variables",
]


def children(part: Value | Cond) -> tuple[Value | Cond, ...]:
    """The parts of an expression or condition, in order."""
    match part:
        case Element(_, e) | Item(_, e) | Lookup(_, e) | Member(e, _, _):
            return (e,)
        case Binary(_, a, b) | Compare(_, a, b):
            return a, b
        case Choose(cond, a, b) | Select(cond, a, b):
            return cond, a, b
        case Called(_, arguments):
            return arguments
        case AllOf(conds) | AnyOf(conds):
            return conds
    return ()


def variables(*parts: Value | Cond) -> Iterator[Var]:
    """The variables, in order and as often as they stand there."""
    for part in parts:
        if isinstance(part, Var):
            yield part
        else:
            yield from variables(*children(part))


def names_in(*parts: Value | Cond) -> set[str]:
    """The names of the variables."""
    return {variable.name for variable in variables(*parts)}


def functions_in(*parts: Value | Cond) -> set[str]:
    """The names of the functions that are called."""
    result: set[str] = set()
    for part in parts:
        if isinstance(part, Called):
            result.add(part.name)
        result |= functions_in(*children(part))
    return result


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
        case Const():
            return False
    return True


def length(*parts: Value | Cond) -> int:
    """How many variables and numbers there are, as often as they would be written."""
    return sum(1 if isinstance(part, Const | Var | Special | Truth) else _length(part) for part in parts)


def _length(part: Value | Cond) -> int:
    try:
        return part._length  # type: ignore[union-attr]
    except AttributeError:
        match part:
            case Element(_, e) | Item(_, e) | Lookup(_, e) | Member(e, _, _):
                result = 1 + length(e)
            case Binary(_, a, b) | Compare(_, a, b):
                result = length(a, b)
            case Choose(cond, a, b) | Select(cond, a, b):
                result = length(cond, a, b)
            case Called(_, arguments):
                result = length(*arguments)
            case AllOf(conds) | AnyOf(conds):
                result = length(*conds)
        object.__setattr__(part, "_length", result)
        return result


def leaves(value: Value) -> Iterator[Value]:
    """The alternatives of a value's choices."""
    if isinstance(value, Choose | Select):
        yield from leaves(value.then)
        yield from leaves(value.otherwise)
    else:
        yield value


def specials_in(value: Value) -> set[str]:
    """The names of the symbols that a value can be."""
    result: set[str] = set()
    for leaf in leaves(value):
        if isinstance(leaf, Special):
            result.add(leaf.name)
        elif isinstance(leaf, Lookup):
            result |= {entry.name for entry in leaf.table if isinstance(entry, Special)}
    return result


def numbers_in(e: Value, operands: bool = False) -> set[int]:
    """The numbers that a value can be, as far as they are written out in it.

    Args:
        operands: the numbers in its sums, products and quotients too.
    """
    result: set[int] = set()
    for leaf in leaves(e):
        match leaf:
            case Const(value):
                result.add(value)
            case Item(table, _):
                result.update(table)
            case Lookup(entries, _):
                result.update(entry for entry in entries if isinstance(entry, int))
            case Binary(_, a, b) if operands:
                result |= numbers_in(a, True) | numbers_in(b, True)
    return result
