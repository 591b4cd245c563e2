"""Formulas with special values of MPI: reading, writing and evaluating them.

In a formula, MPI_PROC_NULL and the like are symbols (`scalatrace.formula.Special`). In files and in value
vectors they are the integers of `scalatrace.trace.values.vec`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scalatrace import formula
from scalatrace.formula import Cond, Const, Expr, Special, Value
from scalatrace.trace.values.vec import SPECIAL, special_name

__all__ = ["as_int", "constant", "evaluate", "looked_up", "read", "stored", "symbolic", "written"]


def evaluate(value: Value | Cond, names: Mapping[str, Any]) -> Any:
    """Return the value of a formula or condition: an int, or an int64 array where a name stands for one.

    Raises:
        FormulaError: it has no value, or none within 64 bits.
    """
    return formula.evaluate(value, names, specials=SPECIAL)


def as_int(value: Value, names: Mapping[str, int]) -> int:
    """Return the value of a formula in which all names stand for integers. Raises FormulaError."""
    return int(evaluate(value, names))


def constant(number: int) -> Const | Special:
    """Return an integer as a formula: a symbol where it stands for a constant of MPI."""
    name = special_name(number)
    return Const(number) if name is None else Special(name)


def looked_up(numbers: Sequence[int], index: Expr) -> Value:
    """Return an entry of a table of integers, some of which may stand for constants of MPI."""
    return formula.entry([c.value if isinstance(c := constant(n), Const) else c for n in numbers], index)


def stored(value: Value) -> int | None:
    """Return the integer of a number or symbol; None of any other formula."""
    match value:
        case Const(number):
            return number
        case Special(name):
            return SPECIAL[name]
    return None


def symbolic(value: Value) -> Value:
    """Return a formula with a symbol in place of an integer that stands for a constant of MPI."""
    return constant(value.value) if isinstance(value, Const) else value


def read(text: str) -> Value:
    """Return the formula of a text in a file. Raises FormulaError."""
    return formula.parse(text, specials=SPECIAL)


def written(value: Value) -> str:
    """Return the text of a formula in a file, with integers for special values."""
    return formula.format_text(value, specials=SPECIAL)
