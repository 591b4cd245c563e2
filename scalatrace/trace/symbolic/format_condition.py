"""Format conditions on ranks for people: `x>0 and y<Y-1`, `0<x<X-1`, `rank==0`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from scalatrace.formula import AllOf, AnyOf, Compare, Cond, Const, Var, format_text
from scalatrace.formula.nodes import Member

__all__ = ["format_condition", "with_rank"]

_COORDS = frozenset("xyzw")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OWN_RANK = re.compile(r"\br\b")


def format_condition(condition: Cond) -> str:
    """Format a condition: a constant stands on the right, and `and` and `or` join comparisons."""
    match condition:
        case AllOf(parts):
            return " and ".join(_conjuncts(parts))
        case AnyOf(parts):
            return " or ".join(map(_operand, parts))
        case Compare(op, Const() as left, right):
            return with_rank(f"{format_text(right)}{_TURNED[op]}{format_text(left)}")
        case Compare("!=", Var(name), Const(0)) if name in _COORDS:
            return f"{name}>0"
        case Compare("!=", Var(name), most) if name in _COORDS and format_text(most) == f"{name.upper()}-1":
            return f"{name}<{name.upper()}-1"
        case Member(e, values, outside):
            text, (op, word) = format_text(e), ("!=", " and ") if outside else ("==", " or ")
            return with_rank(word.join(f"{text}{op}{value}" for value in dict.fromkeys(values)))
    return with_rank(format_text(condition))


def with_rank(text: str) -> str:
    """Return a formula's text with the own rank as `rank`, the word of relative peers: `rank + 1`."""
    return _OWN_RANK.sub("rank", text)


def _operand(condition: Cond) -> str:
    """Format one of several alternatives or conjuncts."""
    text = format_condition(condition)
    return f"({text})" if " and " in text or " or " in text else text


def _conjuncts(parts: Sequence[Cond]) -> Iterator[str]:
    """Yield the texts of conditions that hold together; neighbouring bounds of a value are one: `0<x<X-1`."""
    pending = list(parts)
    while pending:
        match pending:
            case [
                Compare("<" | "<=" as low, least, value),
                Compare("<" | "<=" as high, bounded, most),
                *pending,
            ] if value == bounded:
                yield with_rank(f"{format_text(least)}{low}{format_text(value)}{high}{format_text(most)}")
            case [part, *pending]:
                yield _operand(part)
