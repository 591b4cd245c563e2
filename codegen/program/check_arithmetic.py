"""Check that no expression computes with the number of a constant of MPI.

Constants of MPI are symbols (`scalatrace.formula.Special`), which no arithmetic accepts. Symbolic traces of
earlier versions have their numbers in formulas.
"""

from __future__ import annotations

from scalatrace.codegen.errors import GenerateError, wrong_call
from scalatrace.codegen.program.tree import BenchmarkProgram, calls
from scalatrace.formula import (
    Binary,
    Called,
    Choose,
    Const,
    Element,
    Item,
    Lookup,
    Search,
    Select,
    Value,
)
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.vec import SPECIAL, special_name

__all__ = ["check_arithmetic"]

MAX_RANK_CONSTANT = 500_000_000
"""No formula of ranks has a larger number: only sums of ranks with special values have."""

_SPECIAL = frozenset(SPECIAL.values())


def check_arithmetic(program: BenchmarkProgram) -> None:
    """Check that no argument of a call, and no array, computes with a special value.

    Raises:
        GenerateError: one does; names the call and the parameter.
    """
    for call in calls(program.body):
        for argument in call.arguments:
            if (value := _operand(argument.value, argument.kind is Kind.PEER)) is not None:
                raise wrong_call(call.op, call.site, _complaint(argument.name, value))
    for array in (program.shape.arrays if program.shape else {}).values():
        if (value := _operand(array.element, is_rank=False)) is not None:
            raise GenerateError(
                f"an array of the trace computes with {_name_constants(value)}, which is no number"
            )


def _complaint(name: str, value: int) -> str:
    return (
        f"its {name} computes with {_name_constants(value)}, which "
        "stands for no number. Formulas of earlier versions do so: extrapolate the traces again"
    )


def _name_constants(value: int) -> str:
    name = special_name(value)
    return f"MPI_{name}" if name else f"the number {value}"


def _operand(e: Value, is_rank: bool) -> int | None:
    """A special value that is an operand of arithmetic, or an index of a table; None where there is none.

    Args:
        is_rank: the expression is a rank, so that large numbers are special values plus something.
    """
    pending: list[tuple[Value, bool, bool]] = [(e, is_rank, False)]
    seen: set[tuple[int, bool, bool]] = set()
    while pending:
        part, rank, inside = pending.pop()
        if (id(part), rank, inside) in seen:  # one object stands in many places
            continue
        seen.add((id(part), rank, inside))
        if inside and (result := next((n for n in _own_numbers(part) if _is_odd(n, rank)), None)) is not None:
            return result
        match part:
            case Choose(_, a, b) | Select(_, a, b):
                pending += [(a, rank, inside), (b, rank, inside)]
            case Binary(_, a, b):
                pending += [(a, rank, True), (b, rank, True)]
            case Called(_, arguments):
                pending += [(argument, rank, True) for argument in arguments]
            case Item(_, index) | Lookup(_, index) | Search(_, index) | Element(_, index):
                pending.append((index, False, True))
    return None


def _own_numbers(e: Value) -> tuple[int, ...]:
    return (e.value,) if isinstance(e, Const) else e.table if isinstance(e, Item) else ()


def _is_odd(n: int, is_rank: bool) -> bool:
    return n in _SPECIAL or -n in _SPECIAL or (is_rank and abs(n) > MAX_RANK_CONSTANT)
