"""Functions of several expressions of loop variables, tabulated over the iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.interpret import InterpretSetting, value
from scalatrace.codegen.program.values import of_vec
from scalatrace.errors import FormulaError
from scalatrace.formula import Const, Expr, Value, Var, add, mul, variables
from scalatrace.trace.values.compress import vec_of

__all__ = ["combine", "list_combinations"]

MAX_ITERATIONS = 1 << 14
"""Iterations whose values are tabulated."""

TabulatedValues = list[tuple[int, ...]]


def combine(parts: Sequence[Value], of: Callable[..., int]) -> Value:
    """A function of expressions that hold nothing but loop variables, as an expression of those.

    Raises:
        GenerateError: a variable has no known limit, or there are too many iterations.
    """
    every, rows = list_combinations(parts)
    index: Expr = Const(0)
    for variable in every:
        assert variable.limit is not None
        index = add(mul(index, Const(variable.limit)), variable)
    return of_vec(vec_of([of(*row) for row in rows]), index)


def list_combinations(parts: Sequence[Value]) -> tuple[list[Var], TabulatedValues]:
    """The loop variables, and the values of expressions for each of their combinations.

    Raises:
        GenerateError: as in `combine`.
    """
    every = list(dict.fromkeys(variables(*parts)))
    total = 1
    for variable in every:
        total *= variable.limit or MAX_ITERATIONS + 1
    if total > MAX_ITERATIONS:
        raise GenerateError(f"its values follow no formula in over {MAX_ITERATIONS} iterations")
    rows: TabulatedValues = []
    for numbers in product(*(range(v.limit or 0) for v in every)):
        at = InterpretSetting({v.name: n for v, n in zip(every, numbers, strict=True)}, lambda family: (0, 1))
        try:
            rows.append(tuple(value(part, at) for part in parts))
        except FormulaError:  # an iteration that there is not
            rows.append(rows[-1] if rows else (0,) * len(parts))
    return every, rows
