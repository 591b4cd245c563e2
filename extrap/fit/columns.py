"""Fit values of several integers, such as the neighbours in three dimensions, one integer at a time.

Each integer has its own classes of ranks. Classes of all integers together would be products with few ranks
in each; instead, the classes become conditions within the formula of their integer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormulaError
from scalatrace.extrap.fit.classes import classes_of, merge_classes
from scalatrace.extrap.fit.fit_types import PER_PART, PLAIN, Class, FitInput
from scalatrace.extrap.fit.sequences import rows_of
from scalatrace.extrap.grid.communicators import Rival
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Binary, Const, Expr, Symbolic, Value, choose, either, indicator, select
from scalatrace.trace.model.symbolic import CYCLE, Shape
from scalatrace.trace.symbolic.counters import Chain
from scalatrace.trace.symbolic.field import EVERYWHERE, Part
from scalatrace.trace.symbolic.shapes import Parts
from scalatrace.trace.symbolic.special_values import evaluate, symbolic

COARSE = 5
"""Classes that one integer's ranks are divided into at most."""

__all__ = ["COARSE", "by_columns"]


def by_columns(
    space: Space,
    order: Ints,
    position: Ints,
    values: Sequence[Parts | None],
    chains: Sequence[Chain | None],
) -> tuple[Part, float] | None:
    """Fit one part for all ranks; return it and the cost of its formulas, or None."""
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        return None
    table, shape = _table(present, chains)
    if len(table) < 2:
        return None
    known: dict[bytes, _Column | None] = {}
    columns = []
    for column in table:
        key = column.tobytes()
        if key not in known:
            known[key] = _column(space, order, position, column)
        fitted_column = known[key]
        if fitted_column is None:
            return None
        columns.append(fitted_column)
    formulas = tuple(column.formula for column in columns)
    rivals = tuple(dict.fromkeys(pair for column in columns for pair in column.rivals))
    return Part(EVERYWHERE, shape, formulas, rivals), sum(column.cost for column in columns)


@dataclass(frozen=True, slots=True)
class _Column:
    """The formula of one integer, and its cost."""

    formula: Value
    cost: float
    rivals: tuple[Rival, ...]


def _table(values: Sequence[Parts], chains: Sequence[Chain | None]) -> tuple[Ints, Shape]:
    """Return a row per integer, a column per rank; without rows when values have different shapes."""
    if all(value.shape == values[0].shape for value in values):
        return np.array([value.slots for value in values], dtype=np.int64).T, values[0].shape
    rows = None if any(value.times < 1 for value in values) else rows_of(values, chains)
    return np.array([] if rows is None else rows, dtype=np.int64).T, CYCLE


def _column(space: Space, order: Ints, position: Ints, column: Ints) -> _Column | None:
    scalars = [Parts(None, (value,)) for value in column.tolist()]
    fit_input = FitInput(space, position, list(scalars), [None] * len(scalars), PLAIN)
    for partition in space.partitions():
        if len(partition) > COARSE:
            continue
        classes = classes_of(fit_input, partition)
        if classes is None:
            continue
        groups = merge_classes(fit_input, classes)
        if groups is None:
            continue
        formula = _piecewise(groups)
        if _holds(formula, space, order, column):
            cost = sum(group.weight for group in groups) + PER_PART * (len(groups) - 1)
            return _Column(formula, cost, tuple(_rivals(groups)))
    return None


def _rivals(groups: Sequence[Class]) -> Iterator[Rival]:
    """Yield the rivals of classes, where their conditions hold."""
    for group in groups:
        holds = either(*group.conditions)
        for one, other in group.rivals:
            yield choose(holds, one, Const(0)), choose(holds, other, Const(0))


def _piecewise(groups: Sequence[Class]) -> Value:
    """Return one formula: that of most classes, plus the difference of the others under their conditions.

    Symbols are selected by their conditions: no arithmetic holds for them.
    """
    ordered = sorted(groups, key=lambda group: (_number(group) is not None, len(group.conditions)))
    numbers = [(group, formula) for group in ordered if (formula := _number(group)) is not None]
    value: Value = _formula(ordered[-1])
    if numbers:
        *exceptions, (_, base) = numbers
        total = base
        for group, formula in exceptions:
            first, *conditions = (indicator(condition) for condition in group.conditions)
            holds = first
            for condition in conditions:  # of classes of ranks, one holds at most
                holds = Binary("+", holds, condition)
            total = Binary("+", total, Binary("*", holds, Binary("-", formula, base)))
        value = total
    for group in ordered:
        if _number(group) is None and group is not ordered[-1]:
            value = select(either(*group.conditions), _formula(group), value)
    return value


def _formula(group: Class) -> Value:
    """Return the formula of a class; a constant of MPI is a symbol."""
    assert group.formulas is not None
    return symbolic(group.formulas[0])


def _number(group: Class) -> Expr | None:
    """Return the formula of a class; None when it is a symbol."""
    formula = _formula(group)
    return None if isinstance(formula, Symbolic) else formula


def _holds(formula: Value, space: Space, order: Ints, column: Ints) -> bool:
    try:
        found = evaluate(formula, {name: values[order] for name, values in space.columns.items()})
    except FormulaError:
        return False
    return bool(np.array_equal(np.broadcast_to(found, column.shape), column))
