"""Special values of MPI (PROC_NULL, ANY_TAG) in expressions: conditions choose them, arithmetic has none."""

from __future__ import annotations

from collections.abc import Callable

from scalatrace.codegen.errors import GenerateError, where
from scalatrace.codegen.program.tree import Call, Program, calls
from scalatrace.formula import Binary, Called, Choose, Const, Element, Expr, Item, choose, is_nonzero
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.vec import SPECIAL, SPECIAL_MAX, special_name

__all__ = ["check_arithmetic", "separate"]

MAX_RANK_CONSTANT = 500_000_000
"""No formula of ranks has a larger number: only sums of ranks with special values have."""

_SPECIAL = frozenset(SPECIAL.values())


def separate(item: Item, of_ordinary: Callable[[Expr], Expr]) -> Expr:
    """Return a table entry whose special values are chosen by conditions.

    Args:
        of_ordinary: changes the expression of the ordinary values.
    """
    special = sorted({value for value in item.table if value < SPECIAL_MAX})
    ordinary = [value for value in item.table if value >= SPECIAL_MAX]
    fill = ordinary[0] if ordinary else 0
    rest = tuple(value if value >= SPECIAL_MAX else fill for value in item.table)
    e = of_ordinary(Const(fill) if len(set(rest)) == 1 else Item(rest, item.index))
    for value in special:
        flags = Item(tuple(int(v == value) for v in item.table), item.index)
        e = choose(is_nonzero(flags), Const(value), e)
    return e


def check_arithmetic(program: Program) -> None:
    """Check that no argument of a call, and no array, computes with a special value.

    Raises:
        GenerateError: one does; names the call and the parameter.
    """
    for call in calls(program.body):
        for argument in call.arguments:
            if (value := _operand(argument.value, argument.kind is Kind.PEER)) is not None:
                raise GenerateError(_complaint(call, argument.name, value))
    for array in (program.shape.arrays if program.shape else {}).values():
        if (value := _operand(array.element, is_rank=False)) is not None:
            raise GenerateError(f"an array of the trace computes with {_named(value)}, which is no number")


def _complaint(call: Call, name: str, value: int) -> str:
    return (
        f"MPI_{call.op}{where(call.site)}: its {name} computes with {_named(value)}, which "
        "stands for no number. Formulas of earlier versions do so: extrapolate the traces again"
    )


def _named(value: int) -> str:
    name = special_name(value)
    return f"MPI_{name}" if name else f"the number {value}"


def _operand(e: Expr, is_rank: bool) -> int | None:
    """A special value that is an operand of arithmetic, or an index of a table; None where there is none.

    Args:
        is_rank: the expression is a rank, so that large numbers are special values plus something.
    """
    left = [(e, is_rank, False)]
    seen: set[tuple[int, bool, bool]] = set()
    while left:
        part, rank, inside = left.pop()
        if (id(part), rank, inside) in seen:  # one object stands in many places
            continue
        seen.add((id(part), rank, inside))
        if inside and (found := next((n for n in _own_numbers(part) if _is_odd(n, rank)), None)) is not None:
            return found
        match part:
            case Choose(_, a, b):
                left += [(a, rank, inside), (b, rank, inside)]
            case Binary(_, a, b):
                left += [(a, rank, True), (b, rank, True)]
            case Called(_, arguments):
                left += [(argument, rank, True) for argument in arguments]
            case Item(_, index) | Element(_, index):
                left.append((index, False, True))
    return None


def _own_numbers(e: Expr) -> tuple[int, ...]:
    return (e.value,) if isinstance(e, Const) else e.table if isinstance(e, Item) else ()


def _is_odd(n: int, is_rank: bool) -> bool:
    return n in _SPECIAL or -n in _SPECIAL or (is_rank and abs(n) > MAX_RANK_CONSTANT)
