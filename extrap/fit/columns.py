"""Fit values of several integers, such as the neighbours in three dimensions, one integer at a time.

Each integer has its own classes of ranks. Classes of all integers together would be products with few ranks
in each; instead, the classes become conditions within the formula of their integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scalatrace.errors import FormulaError
from scalatrace.extrap.fit.classes import classes_of, merged
from scalatrace.extrap.fit.fit_types import PER_PART, PLAIN, Class, FitInput
from scalatrace.extrap.fit.sequences import rows_of
from scalatrace.extrap.grid.space import Space
from scalatrace.trace.model.rules import CYCLE, Shape
from scalatrace.trace.symbolic.expression import evaluate
from scalatrace.trace.symbolic.shapes import Parts
from scalatrace.trace.values.vec import SPECIAL_MAX

Ints = np.ndarray[Any, np.dtype[np.int64]]

COARSE = 5
"""Classes that one integer's ranks are divided into at most."""

__all__ = ["COARSE", "by_columns"]


def by_columns(
    space: Space, order: Ints, position: Ints, values: Sequence[Parts | None]
) -> tuple[Shape, tuple[str, ...], float] | None:
    """A shape and formulas that hold for all ranks, and what they cost; None: none."""
    given = [value for value in values if value is not None]
    if len(given) < len(values):
        return None
    table, shape = _table(given)
    if len(table) < 2:
        return None
    known: dict[bytes, tuple[str, float] | None] = {}
    formulas, cost = [], 0.0
    for column in table:
        key = column.tobytes()
        if key not in known:
            known[key] = _column(space, order, position, column)
        found = known[key]
        if found is None:
            return None
        formulas.append(found[0])
        cost += found[1]
    return shape, tuple(formulas), cost


def _table(values: Sequence[Parts]) -> tuple[Ints, Shape]:
    """A row per integer, a column per rank; without rows when values have different shapes."""
    if all(value.shape == values[0].shape for value in values):
        return np.array([value.slots for value in values], dtype=np.int64).T, values[0].shape
    rows = None if any(value.times < 1 for value in values) else rows_of(values)
    return np.array([] if rows is None else rows, dtype=np.int64).T, CYCLE


def _column(space: Space, order: Ints, position: Ints, column: Ints) -> tuple[str, float] | None:
    scalars = [Parts(None, (value,)) for value in column.tolist()]
    fit_input = FitInput(space, position, list(scalars), [None] * len(scalars), PLAIN)
    for partition in space.partitions():
        if len(partition) > COARSE:
            continue
        classes = classes_of(fit_input, partition)
        if classes is None:
            continue
        groups = merged(fit_input, classes)
        if groups is None:
            continue
        text = _piecewise(groups)
        if _holds(text, space, order, column):
            cost = sum(group.weight for group in groups) + PER_PART * (len(groups) - 1)
            return text, cost
    return None


def _piecewise(groups: Sequence[Class]) -> str:
    """One formula: that of most classes, and what the others differ by where their conditions hold.

    Special values of MPI are chosen by their conditions: sums with them would mean nothing.
    """
    ordered = sorted(groups, key=lambda group: (not _is_special(group), len(group.conditions)))
    *others, base = ordered
    text = _formula(base)
    for group in (g for g in others if not _is_special(g)):
        text += f"+({_condition(group)})*(({_formula(group)})-({_formula(base)}))"
    for group in filter(_is_special, others):
        text = f"choose({_condition(group)},{_formula(group)},{text})"
    return text


def _formula(group: Class) -> str:
    assert group.formulas is not None
    return group.formulas[0]


def _condition(group: Class) -> str:
    return "+".join(f"({c})" for c in group.conditions)


def _is_special(group: Class) -> bool:
    """Whether the value of a class is a constant of MPI."""
    text = _formula(group)
    return text.lstrip("-").isdigit() and int(text) < SPECIAL_MAX


def _holds(text: str, space: Space, order: Ints, column: Ints) -> bool:
    try:
        found = evaluate(text, {name: values[order] for name, values in space.columns.items()})
    except FormulaError:
        return False
    return bool(np.array_equal(np.broadcast_to(found, column.shape), column))
