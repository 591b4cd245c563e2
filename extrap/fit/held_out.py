"""Compare a field that was fitted without the largest trace with the values of that trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormulaError
from scalatrace.extrap.errors import ExtrapolationError
from scalatrace.extrap.fit.fit_field import shown
from scalatrace.extrap.fit.fit_types import MAX_INDEXED_VALUES, PLAIN, Chains, Class, FitInput, Samples
from scalatrace.extrap.fit.sequences import holds, list_values
from scalatrace.extrap.fit.undetermined.rivals import differing
from scalatrace.extrap.grid.space import Run, Space
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.symbolic.field import CYCLE, INDEXED, LOOPED, Field, Part
from scalatrace.trace.symbolic.shapes import Parts, cycle, is_vec, vec_from
from scalatrace.trace.symbolic.special_values import evaluate
from scalatrace.trace.values.vec import Vec

MIN_TRACES = 4
"""From so many traces on, the largest is predicted from the others before it is used."""

__all__ = ["Mismatch", "first_mismatch", "is_ambiguous", "is_predictable", "misprediction_error"]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A mispredicted value of a point, and its prediction."""

    point: int
    predicted: Parts | None
    recorded: Parts | None


def is_predictable(runs: Sequence[Run]) -> bool:
    """Return whether the others determine the last run: each size that it changes also varies among them."""
    *smaller, last = runs
    columns = [*zip(*(run.grid.dims for run in smaller), strict=True)]
    columns += [tuple(run.inputs[name] for run in smaller) for name in sorted(last.inputs)]
    own = [*last.grid.dims, *(last.inputs[name] for name in sorted(last.inputs))]
    varied = all(len(set(seen)) > 1 or size == seen[0] for seen, size in zip(columns, own, strict=True))
    return len(runs) >= MIN_TRACES and varied


def first_mismatch(
    space: Space, field: Field, samples: Samples, chains: Chains | None, start: int
) -> Mismatch | None:
    """Return the first value from point `start` on that a field mispredicts, or None."""
    order = np.array(sorted(point for point in samples if point >= start), dtype=np.int64)
    values = [samples[int(point)] for point in order]
    around = [None if chains is None else chains[int(point)] for point in order]
    position = np.full(int(space.starts[-1]), -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    fit_input = FitInput(space, position, values, around, PLAIN)
    left = order
    for part in field.parts:
        if not len(left):
            break
        columns = {name: column[left] for name, column in space.columns.items()}
        mask = np.broadcast_to(np.asarray(evaluate(part.condition, columns), dtype=bool), left.shape)
        result = _of_part(fit_input, part, left[mask])
        if result is not None:
            return result
        left = left[~mask]
    return next((Mismatch(int(p), None, v) for p in left if (v := samples[int(p)]) is not None), None)


def is_ambiguous(space: Space, field: Field, start: int) -> bool:
    """Return whether formulas of a field differ from their rivals on the points from `start` on."""
    columns = {name: column[start:] for name, column in space.columns.items()}
    return any(
        differing(formula, rival, columns).any() for part in field.parts for formula, rival in part.rivals
    )


def _of_part(fit_input: FitInput, part: Part, points: Ints) -> Mismatch | None:
    """Return the first value that a part predicts wrongly."""
    if part.formulas is None:
        values = zip(points, fit_input.of(points), strict=True)
        return next((Mismatch(int(p), None, value) for p, value in values if value is not None), None)
    if part.shape in (INDEXED, LOOPED):
        return _of_sequence(fit_input, part, points)
    columns = {name: column[points] for name, column in fit_input.space.columns.items()}
    try:
        rows = [np.broadcast_to(evaluate(formula, columns), points.shape) for formula in part.formulas]
    except FormulaError:
        rows = [np.zeros(points.shape, dtype=np.int64)] * len(part.formulas)
    for k, (point, value) in enumerate(zip(points, fit_input.of(points), strict=True)):
        slots = tuple(int(row[k]) for row in rows)
        if not _is_equal(part, slots, value):
            return Mismatch(int(point), Parts(part.shape, slots), value)
    return None


def _of_sequence(fit_input: FitInput, part: Part, points: Ints) -> Mismatch | None:
    """Return the result of `_of_part` for values that follow the execution number or loop iterations."""
    one = Class((), points, part.shape, part.formulas, 0)
    for point, value in zip(points, fit_input.of(points), strict=True):
        if value is not None and not holds(fit_input, one, np.array([point])):
            return Mismatch(int(point), None, value)
    return None


def _is_equal(part: Part, slots: tuple[int, ...], value: Parts | None) -> bool:
    """Return whether predicted integers are a value: as stored, or as far as the value is used."""
    if value is None:
        return False
    if part.shape == value.shape:
        if part.shape is None or slots == value.slots:
            return slots == value.slots
    elif part.shape != CYCLE and not is_vec(part.shape):
        return True  # another sequence of a table's entries, which only the whole trace compares
    if not is_vec(value.shape) or not 0 < value.times <= MAX_INDEXED_VALUES:
        return False
    try:
        return _predict(part, slots).first(value.times) == list_values(value, value.times)
    except ValueError:
        return False


def _predict(part: Part, slots: tuple[int, ...]) -> Vec:
    return cycle(slots) if part.shape == CYCLE else vec_from(part.shape, iter(slots))


def misprediction_error(
    what: str, space: Space, mismatch: Mismatch, kind: Kind | None = None
) -> ExtrapolationError:
    """Return the error for a quantity of the largest trace that the smaller traces mispredict."""
    run, rank = space.runs[-1], mismatch.point - int(space.starts[-2])
    predicted = "another value" if mismatch.predicted is None else shown(mismatch.predicted, kind)
    return ExtrapolationError(
        f"the formula for {what} that follows from the smaller traces does not hold for "
        f"{run.grid.nprocs} ranks ({run.grid}), rank {rank}:\n"
        f"  predicted {predicted}, recorded {shown(mismatch.recorded, kind)}\n"
        "A larger size could break the rule again"
    )
