"""Evaluate formulas for one rank: a part of a field becomes a value vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormulaError
from scalatrace.formula import Value
from scalatrace.trace.symbolic.counters import MAX_RUNS, chain_of
from scalatrace.trace.symbolic.field import (
    CYCLE,
    ELEMENTS,
    INDEXED,
    LOOPED,
    SUMMED_ELEMENTS,
    Part,
    levels_of,
)
from scalatrace.trace.symbolic.shapes import cycle, vec_from
from scalatrace.trace.symbolic.special_values import evaluate
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.from_arrays import vec_of_array
from scalatrace.trace.values.vec import Vec

Ends = tuple[int | None, int | None]
"""The least and the greatest of some values; None: without end, or there are none."""

__all__ = ["Ends", "along", "arrays_of_part", "counted", "ends_of_part", "part_of", "vec_of_part"]

MAX_VALUES = 1 << 20
"""Values of one vec that are computed one by one."""

MAX_LISTED = 1 << 12
"""Values that the general compressor takes; it needs time for each, progressions do not."""


MAX_SCALAR_RUNS = 16
"""Executions up to which a formula is evaluated one by one; for so few, a column of numpy costs more."""


def part_of(parts: Sequence[Part], place: Mapping[str, Any]) -> Part | None:
    """Return the part whose condition holds at a place, or None."""
    return next((part for part in parts if evaluate(part.condition, place)), None)


def vec_of_part(
    part: Part, place: Mapping[str, Any], loops: tuple[Vec, ...], folded: bool = True
) -> Vec | None:
    """Return a part's vec at a place; None if it has no values there.

    Args:
        part: of which the condition holds there.
        place: the numbers that names stand for.
        loops: how often the loops around run there, the outermost first.
        folded: whether values over executions are put into as few terms as can be, which takes its time.

    Raises:
        FormulaError: a formula has no value there, or too many.
    """
    if part.formulas is None:
        return None
    if part.shape == INDEXED:
        return counted(part.formulas[0], part.formulas[1], place, folded)
    if part.shape in (ELEMENTS, SUMMED_ELEMENTS):
        return counted(part.formulas[1], part.formulas[2], place, folded)
    if part.shape == LOOPED:
        levels, value = levels_of(part), part.formulas[1]
        if levels:
            return along(value, place, loops[-levels:], len(loops) > levels, folded)
        return Vec(int(evaluate(value, place)))
    slots = [int(evaluate(formula, place)) for formula in part.formulas]
    return cycle(slots) if part.shape == CYCLE else vec_from(part.shape, iter(slots))


def ends_of_part(part: Part, place: Mapping[str, Any], loops: tuple[Vec, ...]) -> Ends | None:
    """Return the least and the greatest value of `vec_of_part` without making the vec."""
    values: Ints | None = None
    if part.formulas is not None and part.shape == INDEXED:
        values = _number_executions(part.formulas[0], part.formulas[1], place)
    elif part.formulas is not None and part.shape == LOOPED and (levels := levels_of(part)):
        values = _along(part.formulas[1], place, loops[-levels:])
    if values is not None:
        return (int(values.min()), int(values.max())) if len(values) else (None, None)
    vec = vec_of_part(part, place, loops)
    vec = None if vec is None else Vec.decode(vec.terms)  # whose values fit into 64 bits
    return None if vec is None else (vec.smallest(), vec.largest())


def along(
    formula: Value, place: Mapping[str, Any], loops: tuple[Vec, ...], endless: bool, folded: bool = True
) -> Vec:
    """Return the vec along loops; `endless`: more loops surround them, so it begins again.

    Raises:
        FormulaError: it has no value, or too many.
    """
    values = _along(formula, place, loops)
    if (values == values[0]).all():
        return Vec(int(values[0]))
    if not folded:
        return Vec(((0, 0, *values.tolist()),)) if endless else Vec(tuple(values.tolist()))
    if len(values) <= MAX_LISTED:
        row = values.tolist()
        return cycle(row) if endless else vec_of(row)
    vec = vec_of_array(values)
    return Vec(((0, 0, *cast("tuple[Any, ...]", vec.terms)),)) if endless else vec


def _along(formula: Value, place: Mapping[str, Any], loops: tuple[Vec, ...]) -> Ints:
    """Return the values along loops; of what never runs a 0."""
    chain = chain_of(loops)
    assert chain is not None
    if not chain.small:
        raise FormulaError(f"a value changes over more than {MAX_RUNS} executions: too many")
    if not chain.runs:
        return np.zeros(1, dtype=np.int64)
    columns = chain.columns(0)
    if chain.runs > MAX_SCALAR_RUNS:
        return np.broadcast_to(evaluate(formula, {**place, **columns}), (chain.runs,))
    rows = zip(*(np.broadcast_to(column, (chain.runs,)).tolist() for column in columns.values()), strict=True)
    values = [int(evaluate(formula, {**place, **dict(zip(columns, row, strict=True))})) for row in rows]
    return np.array(values, dtype=np.int64)


def arrays_of_part(part: Part, place: Mapping[str, Any], loops: tuple[Vec, ...]) -> list[tuple[int, Vec]]:
    """Return length and elements of the arrays of a part at a place: one for each execution within its loops.

    Raises:
        FormulaError: a formula has no value there, or there are too many executions.
    """
    assert part.formulas is not None
    levels, (length, element) = levels_of(part), part.formulas[1:]
    if not levels:
        return [(int(evaluate(length, place)), counted(length, element, place))]
    chain = chain_of(loops[-levels:])
    assert chain is not None
    if not chain.small:
        raise FormulaError(f"an array changes over more than {MAX_RUNS} executions: too many")
    columns = chain.columns(0)
    results_by_place: dict[tuple[int, ...], tuple[int, Vec]] = {}
    result = []
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        if row not in results_by_place:
            inner_place = {**place, **dict(zip(columns, row, strict=True))}
            results_by_place[row] = int(evaluate(length, inner_place)), counted(length, element, inner_place)
        result.append(results_by_place[row])
    return result


def counted(length: Value, value: Value, place: Mapping[str, Any], folded: bool = True) -> Vec:
    """Return the vec of a value over the execution number. Raises FormulaError."""
    values = _number_executions(length, value, place)
    if not folded and len(values):
        return Vec(int(values[0]) if (values == values[0]).all() else tuple(values.tolist()))
    return vec_of(values.tolist()) if len(values) <= MAX_LISTED else vec_of_array(values)


def _number_executions(length: Value, value: Value, place: Mapping[str, Any]) -> Ints:
    """Return the values over the number of the execution."""
    n = int(evaluate(length, place))
    if n < 0:
        raise FormulaError(f"a value changes over {n} executions: must be at least 0")
    if n > MAX_VALUES:
        raise FormulaError(f"a value changes over {n} executions: too many to write down")
    return np.broadcast_to(evaluate(value, {**place, "i": np.arange(n)}), (n,))
