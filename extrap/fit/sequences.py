"""Fit value vectors whose structure differs between ranks: cycles, indexed values, loop counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from scalatrace.arrays import Ints
from scalatrace.errors import FormulaError
from scalatrace.extrap.fit.fit_types import MAX_INDEXED_VALUES, PER_PART, Class, FitInput
from scalatrace.extrap.fit.undetermined.unseen import rivals_of
from scalatrace.extrap.grid.communicators import Rival
from scalatrace.extrap.grid.space import Space
from scalatrace.formula import Compare, Cond, Const, Value, Var, indicator
from scalatrace.trace.model.symbolic import CYCLE, INDEXED, LOOPED, Shape
from scalatrace.trace.symbolic.counters import Chain, rows_equal
from scalatrace.trace.symbolic.shapes import Parts, is_vec, vec_from
from scalatrace.trace.symbolic.special_values import evaluate, symbolic

MAX_CYCLE_VALUES = 256
"""Values that a cycle has at most."""

MIN_CYCLE_SIZES = 3
"""Sizes that confirm a cycle of numbers that depend on sizes: on two, blocks are of some rounding each."""

__all__ = ["by_cycle", "by_end_trips", "by_index", "by_loops", "holds", "list_values"]


def by_cycle(
    fit_input: FitInput, conditions: tuple[Cond, ...], points: Ints, values: Sequence[Parts]
) -> Class | None:
    """Fit the class as vecs that repeat the same few values, such as neighbours in a loop over them."""
    if sum(v.times for v in values) > MAX_INDEXED_VALUES:
        return None
    rows = rows_of(values, fit_input.around(points))
    if rows is None:
        return None
    space = fit_input.space
    weight, formulas, rivals = 0.5, list[Value](), list[Rival]()
    for column in np.array(rows, dtype=np.int64).T:
        solution = space.points(points).solve(np.ascontiguousarray(column))
        if solution is None:
            return None
        weight += solution.weight
        formulas.append(symbolic(solution.formula))
        rivals += rivals_of(space, points, column, solution)
    followed = any(not isinstance(formula, Const) for formula in formulas)
    if followed and not space.names.partners and len(np.unique(space.all_runs()[points])) < MIN_CYCLE_SIZES:
        return None
    return Class(conditions, points, CYCLE, tuple(formulas), weight, rivals=tuple(rivals))


def rows_of(values: Sequence[Parts], chains: Sequence[Chain | None]) -> list[tuple[int, ...]] | None:
    """Return the few values that each vec repeats, equally many for all.

    They are as many as belong to one execution of what is around, or in a loop with other calls as few as do.
    In a loop whose trip counts differ they are not as many as iterations: then values follow the iteration.
    """
    known = {value: list_values(value, value.times) for value in values}
    own_width, shortest = values[0].width, max(map(_shortest, known.values()))
    trips = {None if chain is None else chain.repeat.constant for chain in chains}
    widths = (
        [own_width]
        if own_width > 1 and all(v.width == own_width and v.times % own_width == 0 for v in values)
        else []
    )
    if len(trips) == 1 or shortest not in trips:
        widths.append(shortest)
    for width in widths:
        if 2 <= width <= MAX_CYCLE_VALUES and all(
            len(row) >= width and row[width:] == row[:-width] for row in known.values()
        ):
            return [known[value][:width] for value in values]
    return None


@lru_cache(maxsize=1 << 12)
def _values(shape: Shape, slots: tuple[int, ...], times: int) -> tuple[int, ...]:
    """Return the first values of a vec; each partition into classes asks for them."""
    return vec_from(shape, iter(slots)).first(times)


@lru_cache(maxsize=1 << 12)
def _shortest(listed: tuple[int, ...]) -> int:
    """Return the fewest values that the others repeat; all of them when they are not repeated."""
    for width in range(1, min(MAX_CYCLE_VALUES, len(listed) - 1) + 1):
        if listed[width:] == listed[:-width]:
            return width
    return len(listed)


def list_values(value: Parts, times: int) -> tuple[int, ...]:
    """Return the first values of a vec."""
    return _values(value.shape, value.slots, times)


def by_index(
    space: Space, conditions: tuple[Cond, ...], points: Ints, values: Sequence[Parts]
) -> Class | None:
    """Fit the class as vecs whose values follow the execution number: 1 2 4 8, or round robin."""
    lengths = np.array([v.times for v in values], dtype=np.int64)
    if lengths.sum() > MAX_INDEXED_VALUES or lengths.max() < 2:
        return None
    length = space.points(points).solve(lengths)
    if length is None:
        return None
    rows = [list_values(v, v.times) for v in values]
    index = np.concatenate([np.arange(n) for n in lengths])
    flat = np.concatenate([np.array(row, dtype=np.int64) for row in rows])
    value = space.solve_indexed(np.repeat(points, lengths), index, flat)
    if value is None:
        return None
    weight = length.weight + value.weight + PER_PART
    rivals = (
        *rivals_of(space, points, lengths, length),
        *rivals_of(space, np.repeat(points, lengths), flat, value, {"i": index}),
    )
    formulas = length.formula, value.formula
    return Class(conditions, points, INDEXED, formulas, weight, rivals=rivals, length_weight=length.weight)


def by_loops(fit_input: FitInput, conditions: tuple[Cond, ...], points: Ints) -> Class | None:
    """Fit the class as vecs whose values follow the iterations of the loops around them."""
    chains = fit_input.around(points)
    deep = {0 if chain is None else len(chain.levels) for chain in chains}
    if len(deep) != 1 or any(chain is not None and not chain.small for chain in chains):
        return None
    whole = []
    for value, chain in zip(fit_input.of(points), chains, strict=True):
        runs = 1 if chain is None else chain.runs
        if value is not None and value.times != runs:
            return None
        whole.append(_list_values(value, runs))
    levels = deep.pop()
    if sum(map(len, whole)) > MAX_INDEXED_VALUES:
        return None
    for depth in range(levels, -1, -1):
        periods = [_period(row, chain, depth) for row, chain in zip(whole, chains, strict=True)]
        if all(periods):
            columns = [{} if chain is None else chain.columns(depth) for chain in chains]
            rows = _cut(whole, periods)
            result = _fit_counted(fit_input.space, conditions, points, columns, rows, levels - depth)
            if result is not None:
                return result
    return None


def by_end_trips(fit_input: FitInput, conditions: tuple[Cond, ...], points: Ints) -> Class | None:
    """Fit the class as what runs once in some of the first, or of the last, iterations of each loop."""
    for counter in ("i1", "l1"):
        found = [
            _end_trips(value, chain, counter)
            for value, chain in zip(fit_input.of(points), fit_input.around(points), strict=True)
        ]
        counts = [trips for trips in found if trips is not None]
        if len(counts) == len(found):
            return _fit_end_trips(fit_input, conditions, points, counts, counter)
    return None


_EndTrips = tuple[Ints, Mapping[str, Ints]]
"""How many iterations of each execution of a loop have a call, and the counters of the loops around."""


def _end_trips(value: Parts | None, chain: Chain | None, counter: str) -> _EndTrips | None:
    """Return in how many iterations something runs, if these are the first (`i1`) or the last ones (`l1`)."""
    if value is None or chain is None or not chain.small or value.times != chain.runs or not value.times:
        return None
    row = _list_values(value, chain.runs)
    done, left = chain.counters[-1]
    starts = done == 0
    execution = np.cumsum(starts) - 1
    counts = np.bincount(execution, row).astype(np.int64)
    if not np.array_equal(row, (done if counter == "i1" else left) < counts[execution]):
        return None
    outer = {
        name: column[starts] for name, column in chain.columns(0).items() if name not in ("i", "i1", "l1")
    }
    return counts, outer


def _fit_end_trips(
    fit_input: FitInput, conditions: tuple[Cond, ...], points: Ints, trips: Sequence[_EndTrips], counter: str
) -> Class | None:
    """Return the class by a formula of sizes, or else over the counters of the loops around."""
    space, levels, numbers, seen_at = fit_input.space, 1, dict[str, Ints](), points
    if all((counts == counts[0]).all() for counts, _ in trips):
        flat = np.array([counts[0] for counts, _ in trips], dtype=np.int64)
        solution = space.points(points).solve(flat)
    else:
        levels = 1 + len(trips[0][1]) // 2
        if any(outer.keys() != trips[0][1].keys() for _, outer in trips):
            return None
        seen_at = np.repeat(points, [len(counts) for counts, _ in trips])
        flat = np.concatenate([counts for counts, _ in trips])
        numbers = {name: np.concatenate([outer[name] for _, outer in trips]) for name in trips[0][1]}
        solution = space.solve_counted(seen_at, numbers, flat)
    if solution is None:
        return None
    rivals = tuple(
        (indicator(Compare("<", Var(counter), count)), indicator(Compare("<", Var(counter), rival)))
        for count, rival in rivals_of(space, seen_at, flat, solution, numbers)
    )
    formulas = Const(levels), indicator(Compare("<", Var(counter), solution.formula))
    return Class(conditions, points, LOOPED, formulas, solution.weight + PER_PART, rivals=rivals)


def _list_values(value: Parts | None, runs: int) -> Ints:
    if value is None:
        return np.zeros(runs, dtype=np.int64)
    return np.array(list_values(value, runs), dtype=np.int64)


def _period(row: Ints, chain: Chain | None, depth: int) -> int:
    """Values within an iteration of the loop at a depth, if they are the same in each; else 0."""
    if chain is None:
        return len(row)
    period = chain.period(depth)
    return period if period and rows_equal(row, len(row) // period) else 0


def _cut(rows: Sequence[Ints], lengths: Sequence[int]) -> list[Ints]:
    return [row[:length] for row, length in zip(rows, lengths, strict=True)]


def _fit_counted(
    space: Space,
    conditions: tuple[Cond, ...],
    points: Ints,
    columns: Sequence[Mapping[str, Ints]],
    rows: Sequence[Ints],
    levels: int,
) -> Class | None:
    """Return the class by a formula over counters."""
    numbers = {name: np.concatenate([column[name] for column in columns]) for name in columns[0]}
    lengths = [len(row) for row in rows]
    repeated, flat = np.repeat(points, lengths), np.concatenate(rows)
    value = space.solve_counted(repeated, numbers, flat)
    if value is None:
        return None
    rivals = tuple(rivals_of(space, repeated, flat, value, numbers))
    weight = value.weight + PER_PART
    formulas = Const(levels), value.formula
    return Class(conditions, points, LOOPED, formulas, weight, rivals=rivals)


def holds(fit_input: FitInput, group: Class, points: Ints) -> bool:
    """Return whether the formulas of a class hold at other points."""
    values, chains = fit_input.of(points), fit_input.around(points)
    assert group.formulas is not None
    first, formula = group.formulas
    for point, value, chain in zip(points, values, chains, strict=True):
        place = {name: int(numbers[point]) for name, numbers in fit_input.space.columns.items()}
        if value is None or value.times < 1 or not is_vec(value.shape):
            return False
        row = _list_values(value, value.times)
        if group.shape == INDEXED:
            count = int(evaluate(first, place))
            numbers: Mapping[str, Any] = {"i": np.arange(len(row))}
        elif chain is None or not chain.small or chain.runs != len(row):
            return False
        else:
            assert isinstance(first, Const)
            depth = len(chain.levels) - first.value
            count = _period(row, chain, depth)
            numbers = chain.columns(depth) if count else {}
        if count < 1 or (group.shape == INDEXED and count != len(row)):
            return False
        try:
            expected = np.broadcast_to(evaluate(formula, {**place, **numbers}), (count,))
        except FormulaError:
            return False
        if not np.array_equal(expected, row[:count]):
            return False
    return True
