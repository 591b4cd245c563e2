"""Classes of ranks with equal structure: per class one shape, and a formula per integer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormulaError
from scalatrace.extrap.fit.fit_types import BY_INDEX, BY_LOOPS, MIXED, PLAIN, Class, FitInput
from scalatrace.extrap.fit.sequences import by_cycle, by_end_trips, by_index, by_loops, holds
from scalatrace.extrap.fit.undetermined.rivals import is_refuted
from scalatrace.extrap.fit.undetermined.unseen import rivals_of
from scalatrace.extrap.grid.communicators import Rival
from scalatrace.formula import Cond, Const, Value
from scalatrace.trace.model.symbolic import CYCLE, INDEXED, LOOPED
from scalatrace.trace.symbolic.shapes import is_vec
from scalatrace.trace.symbolic.special_values import evaluate, symbolic

__all__ = ["classes_of", "merge_classes"]


def classes_of(fit_input: FitInput, partition: Sequence[tuple[Cond, Ints]]) -> list[Class] | None:
    result = []
    for condition, points in partition:
        points = points[fit_input.position[points] >= 0]
        if not len(points):
            continue
        group = _fit_class(fit_input, (condition,), points)
        if group is None:
            return None
        result.append(group)
    return result


def _fit_class(fit_input: FitInput, conditions: tuple[Cond, ...], points: Ints) -> Class | None:
    """Return the class of these points, if one shape and a formula per integer serve all."""
    space, values = fit_input.space, fit_input.of(points)
    first = values[0]
    if first is None or any(value is None or value.shape != first.shape for value in values):
        if all(value is None for value in values):
            return Class(conditions, points, None, None, 0)
        return _otherwise(fit_input, conditions, points)
    table = np.array([value.slots for value in values if value is not None], dtype=np.int64)
    over = space.points(points)
    formulas: list[Value] = []
    rivals: list[Rival] = []
    weight, confirmed = 0.0, True
    for column in table.T:
        solution = over.solve_unconfirmed(np.ascontiguousarray(column))
        if solution is None:
            return _otherwise(fit_input, conditions, points)
        formulas.append(symbolic(solution.formula))
        weight += solution.weight
        confirmed = confirmed and solution.confirmed
        rivals += rivals_of(space, points, column, solution)
    result = Class(conditions, points, first.shape, tuple(formulas), weight, confirmed, tuple(rivals))
    return result if confirmed else _otherwise(fit_input, conditions, points) or result


def _otherwise(fit_input: FitInput, conditions: tuple[Cond, ...], points: Ints) -> Class | None:
    """Return the class by the values themselves, where vecs look different from rank to rank."""
    space, values = fit_input.space, fit_input.of(points)
    present = [v for v in values if v is not None]
    if any(v.times < 1 or not is_vec(v.shape) for v in present):
        return None
    result = None
    if len(present) == len(values):
        result = by_cycle(fit_input, conditions, points, present)
        if result is None and fit_input.effort == BY_INDEX:
            candidates = by_index(space, conditions, points, present), by_loops(fit_input, conditions, points)
            result = min(
                (candidate for candidate in candidates if candidate is not None), key=_weight, default=None
            )
    elif fit_input.effort < MIXED:
        return None
    if result is None and fit_input.effort >= BY_LOOPS:
        result = by_loops(fit_input, conditions, points) or by_end_trips(fit_input, conditions, points)
    return result


def _weight(group: Class) -> float:
    return round(group.weight - group.length_weight, 6)


def merge_classes(fit_input: FitInput, classes: Sequence[Class]) -> list[Class] | None:
    """Merge classes with equal formulas; None if a merged class is unconfirmed."""
    groups: list[Class] = []
    for candidate in classes:
        for i, group in enumerate(groups):
            both = _union(fit_input, group, candidate)
            if both is not None:
                groups[i] = both
                break
        else:
            groups.append(candidate)
    groups = [group if group.confirmed else _confirm(fit_input, group) for group in groups]
    return groups if all(group.confirmed for group in groups) else None


def _confirm(fit_input: FitInput, group: Class) -> Class:
    """Return the class with formulas that all its points confirm, if there are any."""
    result = _fit_class(replace(fit_input, effort=PLAIN), group.conditions, group.points)
    return result or group


def _union(fit_input: FitInput, a: Class, b: Class) -> Class | None:
    if (a.formulas is None) != (b.formulas is None) or (
        a.shape != b.shape and not {INDEXED, CYCLE, LOOPED} & {a.shape, b.shape}
    ):
        return None
    points = np.sort(np.concatenate([a.points, b.points]))
    both = a.conditions + b.conditions
    if a.formulas == b.formulas and a.shape == b.shape:
        rivals = tuple(pair for pair in a.rivals if pair in b.rivals)
        return Class(both, points, a.shape, a.formulas, a.weight, a.confirmed or b.confirmed, rivals)
    for kept_class, added_class in ((a, b), (b, a)):
        if (
            kept_class.confirmed
            and not added_class.confirmed
            and kept_class.shape == added_class.shape
            and _hold(fit_input, kept_class, added_class)
        ):
            kept = (
                pair
                for pair in kept_class.rivals
                if not is_refuted(fit_input.space, added_class.points, *pair)
            )
            return Class(
                both, points, kept_class.shape, kept_class.formulas, kept_class.weight, rivals=tuple(kept)
            )
        if kept_class.shape in (INDEXED, LOOPED) and holds(fit_input, kept_class, added_class.points):
            return Class(
                both,
                points,
                kept_class.shape,
                kept_class.formulas,
                kept_class.weight,
                rivals=kept_class.rivals,
            )
    if {INDEXED, LOOPED} & {a.shape, b.shape} or _least(a, b) > max(a.weight, b.weight):
        return None
    result = _fit_class(replace(fit_input, effort=PLAIN), both, points)
    if result is None or result.weight > max(a.weight, b.weight) + 1e-9:
        return None
    return result


def _hold(fit_input: FitInput, source: Class, target: Class) -> bool:
    """Whether the formulas of a class, which change from call to call in no way, have another's values."""
    if source.shape in (INDEXED, LOOPED, CYCLE) or not source.formulas:
        return False
    columns = {name: column[target.points] for name, column in fit_input.space.columns.items()}
    table = np.array([value.slots for value in fit_input.of(target.points) if value is not None])
    try:
        return all(
            bool((np.asarray(evaluate(formula, columns)) == column).all())
            for formula, column in zip(source.formulas, table.T, strict=True)
        )
    except FormulaError:
        return False


def _least(a: Class, b: Class) -> float:
    """What formulas that serve both classes weigh at least: where both have constants, they are no longer."""
    if a.shape != b.shape or a.formulas is None or b.formulas is None or len(a.formulas) != len(b.formulas):
        return 0.0
    pairs = zip(a.formulas, b.formulas, strict=True)
    return sum(
        1.0 for one, other in pairs if one != other and isinstance(one, Const) and isinstance(other, Const)
    )
